import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { openTrafficLog, root } from '../../../test/harness/traffic-log.ts'
import { EndpointUnregistered } from '../register/events.ts'

const { waypost, log: _, admin, record, pack } = await openTrafficLog()
const url = `GET ${root}/endpoint-traffic`
const ids = (answer: { body: { content: { correlationId: string }[] } }) =>
  answer.body.content.map(({ correlationId }) => correlationId)

/** A time that is so long ago that records of this time are packed. */
const base = Date.now() - 3_600_000
const at = (seconds: number) => new Date(base + seconds * 1000)

before(async () => {
  await record([
    { correlationId: 'a', createdAt: at(0), endpointId: 'one', payload: Buffer.from('{"hot":1}'), requestId: 1 },
    { correlationId: 'b', createdAt: at(60), endpointId: 'two', extension: 'cex', resourcePath: '/command/reboot' },
    { correlationId: 'c', createdAt: at(120), endpointId: 'one', versionName: 'app-v2', payload: Buffer.from('100%') },
    { correlationId: 'd', createdAt: at(180), endpointId: 'three', applicationName: 'other', versionName: 'other-v1' },
    { correlationId: 'd', direction: 'OUTBOUND', createdAt: at(180), endpointId: 'three', applicationName: 'other' },
    { correlationId: 'x', createdAt: at(180), tenantId: 'stranger', endpointId: 'one' },
  ])
})

for (const isPacked of [false, true])
  suite(`searching ${isPacked ? 'packed records' : 'records that are not packed yet'}`, () => {
    before(async () => {
      if (isPacked) await pack()
      const [row] = await waypost.kit.db
        .sql`select coalesce(sum(count), 0)::int as n from traffic_log.counts where minutes = 5`
      assert.equal(row?.n, isPacked ? 6 : 0)
    })
    const cases: [string, string[]][] = [
      ['', ['d', 'd', 'c', 'b', 'a']],
      ['sort=createdAt&sortOrder=asc', ['a', 'b', 'c', 'd', 'd']],
      ['endpointIds=one', ['c', 'a']],
      ['endpointIds=one,%20two&endpointIds=nobody', ['c', 'b', 'a']],
      [`endpointIds=${Array.from({ length: 20 }, (_, n) => `no-${n}`)},one`, ['c', 'a']],
      ['endpointIds=nobody', []],
      ['appVersionName=app-v2', ['c']],
      ['appVersionName=nobody', []],
      ['extension=cex', ['b']],
      ['extension=bcx', []],
      ['payload=hot', ['a']],
      ['payload=0%25', ['c']],
      ['resourcePath=and/re', ['b']],
      ['requestId=1', ['a']],
      [`requestId=${Number.MAX_SAFE_INTEGER}`, []],
      [`fromCreatedAt=${at(60).toISOString()}&toCreatedAt=${at(120).toISOString()}`, ['c', 'b']],
      [`fromCreatedAt=${at(120).toISOString()}`, ['d', 'd', 'c']],
      [`toCreatedAt=${at(60).toISOString()}`, ['b', 'a']],
      [`toCreatedAt=${at(60).getTime()}`, ['b', 'a']],
      ['fromCreatedAt=now-100y', ['d', 'd', 'c', 'b', 'a']],
      [`toCreatedAt=${at(60).toISOString()}&extension=dcx&endpointIds=one&payload=h`, ['a']],
      ['appVersionName=&payload=&resourcePath=&endpointIds=', ['d', 'd', 'c', 'b', 'a']],
    ]
    for (const [query, expected] of cases)
      test(`the query "${query}" finds ${expected.length} records in order`, async () => {
        for (const prefix of [root, '/al/api/v1']) {
          const answer = await admin(`GET ${prefix}/endpoint-traffic?${query}`)
          assert.equal(answer.status, 200, answer.text)
          assert.deepEqual(ids(answer), expected)
          assert.equal(answer.body.totalElements, expected.length)
        }
        const pages = await Promise.all([0, 1, 2].map((page) => admin(`${url}?${query}&page=${page}&size=2`)))
        assert.deepEqual(pages.flatMap(ids), expected)
        for (const { body } of pages) assert.equal(body.totalElements, expected.length)
      })
  })

suite('the response', () => {
  test('the response contains all fields of a record', async () => {
    const { body } = await admin(`${url}?requestId=1`)
    assert.deepEqual(body.content, [
      {
        correlationId: 'a',
        direction: 'INBOUND',
        tenantId: 'default',
        appVersionName: 'app-v1',
        endpointId: 'one',
        extension: 'dcx',
        resourcePath: '/json',
        requestId: 1,
        payload: '{"hot":1}',
        additionalMetadata: { transport: 'mqtt' },
        createdAt: at(0).toISOString(),
      },
    ])
  })

  test('the list shows the response to a message after the message', async () => {
    const { body } = await admin(`${url}?sortOrder=asc&endpointIds=three`)
    assert.deepEqual(
      body.content.map(({ direction }: { direction: string }) => direction),
      ['INBOUND', 'OUTBOUND'],
    )
  })

  const bad: [string, string][] = [
    ['sort=payload', 'sort'],
    ['sortOrder=up', 'sortOrder'],
    ['extension=tsx', 'extension'],
    ['requestId=x', 'requestId'],
    ['requestId=-1', 'requestId'],
    ['requestId=1.5', 'requestId'],
    ['requestId=9007199254740992', 'requestId'],
    ['fromCreatedAt=yesterday', 'fromCreatedAt'],
    ['toCreatedAt=2026-02-30T00:00:00Z', 'toCreatedAt'],
    ['fromCreatedAt=2026-01-02T00:00:00Z&toCreatedAt=2026-01-01T00:00:00Z', 'toCreatedAt'],
    ['page=-1', 'page'],
    ['size=0', 'size'],
    ['size=1001', 'size'],
    ['payload=%00', 'payload'],
    [`endpointIds=${Array.from({ length: 1001 }, (_, n) => n)}`, 'endpointIds'],
  ]
  for (const [query, field] of bad)
    test(`a list with the query ${query.slice(0, 60)} is rejected with 400`, async () => {
      const answer = await admin(`${url}?${query}`)
      assert.equal(answer.status, 400, answer.text)
      assert.ok(answer.body.message.includes(field), answer.text)
    })
})

suite('visibility of records', () => {
  const seen = async (on: Record<string, string[]>, query = '') => {
    const answer = await waypost.as(aCaller({ on }))(`${url}?${query}`)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.totalElements, answer.body.content.length)
    return ids(answer)
  }
  const read = ['endpoint:read']

  test('a request without credentials is answered with 401', async () => {
    assert.equal((await waypost.as(undefined)(url)).status, 401)
  })
  test('a caller without the scope gets no records and a total of 0', async () => {
    assert.deepEqual(await seen({}), [])
    assert.deepEqual(await seen({ 'tenant-system': ['endpoint:update'] }), [])
  })
  test('a caller with the scope on the tenant, on applications or on endpoints sees exactly the records of these', async () => {
    assert.deepEqual(await seen({ 'tenant-system': read }), ['d', 'd', 'c', 'b', 'a'])
    assert.deepEqual(await seen({ 'application-app': read }), ['c', 'b', 'a'])
    assert.deepEqual(await seen({ 'endpoint-one': read }), ['c', 'a'])
    assert.deepEqual(await seen({ 'endpoint-one': read, 'application-other': read }), ['d', 'd', 'c', 'a'])
    assert.deepEqual(await seen({ 'endpoint-one': read, 'application-app': read }), ['c', 'b', 'a'])
    assert.deepEqual(await seen({ 'endpoint-one': read, 'application-other': read }, 'payload=hot'), ['a'])
  })
  test('a query for several endpoints finds no records of endpoints that the caller may not read', async () => {
    assert.deepEqual(await seen({ 'endpoint-one': read }, 'endpointIds=one,two,three'), ['c', 'a'])
    assert.deepEqual(await seen({ 'application-other': read, 'endpoint-two': read }, 'endpointIds=one,two,three'), [
      'd',
      'd',
      'b',
    ])
  })
  test('another tenant sees only its own records, for any query', async () => {
    const otherTenant = waypost.as(aTenantAdmin('stranger'))
    assert.deepEqual(ids(await otherTenant(url)), ['x'])
    assert.deepEqual(ids(await otherTenant(`${url}?endpointIds=one,two,three`)), ['x'])
    assert.equal((await otherTenant(`${url}?tenantId=default`)).status, 403)
    assert.deepEqual(ids(await otherTenant(`${url}?tenantId=stranger`)), ['x'])
  })
  test('an administrator of the platform sees records of the tenant that the request names, by default of its own', async () => {
    const platform = waypost.as(aPlatformAdmin())
    assert.deepEqual(ids(await platform(`${url}?tenantId=stranger`)), ['x'])
    assert.deepEqual(ids(await platform(url)), [])
  })
  test('records of an earlier endpoint with the same id are hidden', async () => {
    const payload = {
      tenantId: 'default',
      applicationName: 'app',
      endpointIds: ['one'],
      unregisteredDate: at(60).toISOString(),
    }
    await waypost.kit.db.tx((sql) => waypost.kit.bus.publish(sql, EndpointUnregistered, payload))
    await waypost.kit.bus.settled()
    assert.deepEqual(await seen({ 'endpoint-one': read }), ['c'])
    assert.deepEqual(await seen({ 'endpoint-one': read }, 'endpointIds=one'), ['c'])
    assert.deepEqual(await seen({ 'tenant-system': read }, 'endpointIds=one'), ['c', 'a'])
  })
})
