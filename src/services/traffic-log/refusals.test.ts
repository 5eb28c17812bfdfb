import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openTrafficLog, root } from '../../../test/harness/traffic-log.ts'
import { createLog } from '../../kernel/log.ts'
import { type CountedRefusal, createRefusals } from './refusals.ts'

const { waypost, log, admin } = await openTrafficLog()
const url = `GET ${root}/refusals`
const refusal = { transport: 'mqtt', address: '192.0.2.7', reason: 'bad_credentials' }

suite('refusals', () => {
  test('refusals of the same kind within a second are stored as one row with a count and all known fields', async () => {
    const details = { clientId: 'pump', username: 'pump@default', versionName: 'app-v1', detail: 'Wrong password' }
    for (let n = 0; n < 1000; n++) log.recordRefusal({ ...refusal, ...details, tenantId: 'default' })
    log.recordRefusal({ ...refusal, tenantId: 'default', endpointId: 'ep-1', reason: 'token_suspended' })
    log.recordRefusal({ ...refusal, tenantId: 'other' })
    const { body } = await eventually(async () => {
      const answer = await admin(url)
      assert.equal(answer.body.totalElements, 2, answer.text)
      return answer
    })
    const { createdAt, ...first } = body.content.find(({ count }: { count: number }) => count > 1)
    assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000)
    assert.deepEqual(first, {
      count: 1000,
      tenantId: 'default',
      transport: 'mqtt',
      address: '192.0.2.7',
      reason: 'bad_credentials',
      clientId: 'pump',
      username: 'pump@default',
      appVersionName: 'app-v1',
      detail: 'Wrong password',
    })
    const filtered = await admin(`${url}?reason=token_suspended&fromCreatedAt=2026-01-01T00:00:00Z`)
    assert.equal(filtered.body.totalElements, 1)
    assert.equal(filtered.body.content[0].endpointId, 'ep-1')
    const ofEndpoint = await admin(`${url}?endpointIds=ep-1,none`)
    assert.deepEqual(ofEndpoint.body.content, filtered.body.content)
    assert.equal((await admin(`${url}?endpointIds=none`)).body.totalElements, 0)
    const tooMany = Array.from({ length: 1001 }, (_, n) => `e${n}`).join()
    assert.equal((await admin(`${url}?endpointIds=${tooMany}`)).status, 400)
    assert.equal((await admin(`${url}?toCreatedAt=2026-01-01T00:00:00Z`)).body.totalElements, 0)
    const pages = await Promise.all([0, 1, 2].map((page) => admin(`${url}?page=${page}&size=1`)))
    assert.deepEqual(
      pages.map((page) => page.body.content.length),
      [1, 1, 0],
    )
  })

  test('a caller with the scope sees only refusals of its own tenant', async () => {
    assert.equal((await waypost.as(undefined)(url)).status, 401)
    assert.equal((await waypost.as(aCaller())(url)).status, 403)
    assert.equal((await waypost.as(aCaller({ on: { 'tenant-system': ['endpoint:read'] } }))(url)).status, 403)
    assert.equal((await waypost.as(aCaller({ on: { 'tenant-system': ['tenant:refusal:read'] } }))(url)).status, 200)
    const other = waypost.as(aTenantAdmin('other'))
    assert.equal((await other(url)).body.totalElements, 1)
    assert.equal((await other(`${url}?tenantId=default`)).status, 403)
  })

  test('refusals without a tenant are visible to administrators of the platform', async () => {
    log.recordRefusal({ ...refusal, reason: 'token_unknown' })
    const platform = waypost.as(aPlatformAdmin())
    await eventually(async () => {
      const { body } = await platform(url)
      assert.deepEqual(
        body.content.map(({ reason, tenantId }: { reason: string; tenantId?: string }) => [reason, tenantId]),
        [['token_unknown', undefined]],
      )
    })
    assert.equal((await platform(`${url}?tenantId=default`)).body.totalElements, 2)
    assert.equal((await admin(`${url}?reason=token_unknown`)).body.totalElements, 0)
  })

  const bad = [
    'page=x',
    'size=0',
    'size=1001',
    'fromCreatedAt=soon',
    'fromCreatedAt=2026-02-30',
    `reason=${'x'.repeat(65)}`,
    'reason=%00',
  ]
  for (const query of bad)
    test(`refusals with the query ${query.slice(0, 30)} are rejected with 400`, async () => {
      const answer = await admin(`${url}?${query}`)
      assert.equal(answer.status, 400, answer.text)
      assert.ok(answer.body.message.includes(query.split('=')[0]), answer.text)
    })
})

suite('a flood of refusals', () => {
  const silentLog = createLog({ level: 'silent', format: 'json' })
  const refusalsWrittenBy = async (write: (rows: CountedRefusal[]) => Promise<void>) =>
    createRefusals({ now: () => new Date(), log: await silentLog, write })

  test('a flood of refusals takes a bounded number of rows, loses no count, and does not displace refusals of other tenants', async () => {
    const rows: CountedRefusal[] = []
    const refusals = await refusalsWrittenBy(async (given) => void rows.push(...given))
    for (let n = 0; n < 100_000; n++)
      refusals.add({ ...refusal, tenantId: 'loud', address: `10.0.${n >> 8}.${n & 255}` })
    for (let n = 0; n < 3; n++) refusals.add({ ...refusal, tenantId: 'quiet', address: `10.1.0.${n}` })
    for (let n = 0; n < 5000; n++) refusals.add({ ...refusal, tenantId: `t-${n}` })
    await refusals.flush()
    assert.ok(rows.length <= 401, String(rows.length))
    assert.equal(
      rows.reduce((sum, { count }) => sum + count, 0),
      105_003,
    )
    assert.equal(rows.filter(({ tenantId, address }) => tenantId === 'quiet' && address).length, 3)
  })

  test('texts from unauthenticated clients are truncated, and NUL and lone surrogates replaced', async () => {
    const rows: CountedRefusal[] = []
    const refusals = await refusalsWrittenBy(async (given) => void rows.push(...given))
    refusals.add({ ...refusal, clientId: `\0\ud800${'x'.repeat(70_000)}`, username: 'y'.repeat(70_000) })
    await refusals.flush()
    assert.equal(rows[0]?.clientId, `\ufffd\ufffd${'x'.repeat(253)}`)
    assert.equal(rows[0]?.username?.length, 255)
  })

  test('a failed write is retried', async () => {
    const written: CountedRefusal[] = []
    let isUnreachable = true
    const refusals = await refusalsWrittenBy(async (rows) => {
      if (isUnreachable) throw new Error('unreachable')
      written.push(...rows)
    })
    refusals.add(refusal)
    refusals.add(refusal)
    await refusals.flush()
    isUnreachable = false
    refusals.add(refusal)
    await refusals.flush()
    assert.deepEqual(
      written.map(({ count }) => count),
      [3],
    )
  })

  test('after the stop, new refusals are ignored, no write is retried and no timer is left', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    let writes = 0
    const refusals = await refusalsWrittenBy(async () => {
      writes++
      throw new Error('unreachable')
    })
    refusals.add(refusal)
    await refusals.stop()
    assert.equal(writes, 1)
    refusals.add(refusal)
    context.mock.timers.tick(10_000)
    await refusals.flush()
    assert.equal(writes, 1)
  })
})
