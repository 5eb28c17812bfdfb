import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { grantsOn } from '../../../../test/harness/realm-state.ts'
import { openRegister, query, root } from '../../../../test/harness/register.ts'
import { RegisterBatch } from './batches.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const other = waypost.as(aTenantAdmin('other'))
const url = `${root}/endpoints/batch`
const start = async (version: string, endpoints: object[], ask = admin) => {
  const answer = await ask(`POST ${url}`, { appVersion: { name: version }, endpoints })
  assert.equal(answer.status, 202, answer.text)
  return answer.body.taskId as string
}
const finished = (taskId: string, count: number) =>
  eventually(async () => {
    const { body } = await admin(`GET ${url}/status?taskId=${taskId}`)
    assert.equal(body.createdCount + body.failedCount, count)
    return body
  })

suite('a batch of registrations', () => {
  test('a batch of registrations registers each endpoint and reports its outcome', async () => {
    const { app, version } = await anApplication()
    const taken = await anEndpoint(version, { endpointToken: 'taken' })
    const taskId = await start(version, [
      { endpointId: 'batch-1', endpointToken: 'token 1', metadata: { a: 1 } },
      {},
      { endpointId: taken },
      { endpointId: 'batch-2', endpointToken: 'taken', metadata: { b: 1 } },
      { endpointId: 'batch-1' },
      { endpointToken: 'bad metadata', metadata: { 'a-b': 1 } },
    ])
    const { created, failed, ...counts } = await finished(taskId, 6)
    assert.deepEqual(counts, { createdCount: 2, failedCount: 4 })
    assert.deepEqual(created[0], { endpointId: 'batch-1', endpointToken: 'token 1', metadata: { a: 1 } })
    assert.match(created[1].endpointToken, /^[A-Za-z0-9]{10}$/)
    assert.deepEqual(failed[1], {
      endpointId: 'batch-2',
      endpointToken: 'taken',
      metadata: { b: 1 },
      status: 'FAILED',
      statusReason: `Application ${app} already has this endpointToken; choose another token`,
    })
    const reasons = failed.map(({ statusReason }: { statusReason: string }) => statusReason)
    assert.deepEqual(reasons.slice(0, 1), [`Endpoint ${taken} already exists; choose another id`])
    assert.equal(reasons[2], 'Endpoint batch-1 already exists; choose another id')
    assert.match(reasons[3], /^metadata: key "a-b"/)
    const list = await admin(`GET ${root}/endpoints${query({ applicationName: app })}`)
    assert.equal(list.body.totalElements, 3)
    assert.deepEqual((await admin(`GET ${root}/applications/${app}/metadata-keys`)).body, { [version]: ['a'] })
    const events = publishedEvents.filter(
      ({ payload }) => payload.applicationName === app && payload.endpointIds?.length === 2,
    )
    assert.equal(events.length, 1)
  })

  test('a batch of registrations registers no endpoint twice if its job runs several times', async () => {
    const { app, version } = await anApplication()
    const taskId = await start(
      version,
      Array.from({ length: 250 }, () => ({})),
    )
    // The same job runs two more times, possibly while its first run has not finished.
    for (let i = 0; i < 2; i++)
      await waypost.kit.db.tx((sql) => waypost.kit.jobs.send(sql, RegisterBatch.job, { taskId }))
    await finished(taskId, 250)
    await waypost.kit.bus.settled()
    const list = await admin(`GET ${root}/endpoints${query({ applicationName: app, limit: 1 })}`)
    assert.equal(list.body.totalElements, 250)
  })

  test('a batch of registrations stores sealed tokens', async () => {
    const { version } = await anApplication()
    const twice = [{ endpointToken: 'a very secret token' }, { endpointToken: 'a very secret token' }]
    await finished(await start(version, twice), 2)
    const rows = await waypost.kit.db.sql.unsafe('select * from kernel.bulk_pages')
    assert.equal(JSON.stringify(rows).includes('very secret'), false)
  })

  test('the status of a batch contains the token of each endpoint, on every page and for results in the format of earlier versions', async () => {
    const { app, version } = await anApplication()
    const items = Array.from({ length: 620 }, (_, n) => ({
      endpointId: `${app}-${n}`,
      endpointToken: `${app} token ${n}`,
    }))
    const withRepetition = items.map((item, n) => (n % 100 === 7 ? items[0]! : item))
    const taskId = await start(version, withRepetition)
    const { created } = await finished(taskId, 620)
    assert.deepEqual(
      created,
      items.filter((_, n) => n % 100 !== 7),
    )
    const { db, secrets } = waypost.kit
    const older = items.slice(500).map(({ endpointId, endpointToken }) => ({
      result: { endpointId, endpointToken: secrets.seal(`${endpointToken}, older`) },
    }))
    await db.sql`update kernel.bulk_pages set results = ${db.sql.json(older)} where task_id = ${taskId} and page = 1`
    const { body } = await admin(`GET ${url}/status?taskId=${taskId}`)
    assert.deepEqual(body.created.at(0), items[0])
    assert.deepEqual(body.created.at(-1).endpointToken, `${app} token 619, older`)
  })

  test('a batch of registrations rejects invalid input and unknown versions', async () => {
    const { version } = await anApplication()
    const good = { appVersion: { name: version } }
    const bodies: unknown[] = [
      {},
      good,
      { ...good, endpoints: [] },
      { ...good, endpoints: [{ endpointId: 'a b' }] },
      { ...good, endpoints: [{ endpointToken: 'a/b' }] },
      { ...good, endpoints: [{ metadata: [] }] },
      { ...good, endpoints: Array.from({ length: 1001 }, () => ({})) },
    ]
    for (const body of bodies)
      assert.equal((await admin(`POST ${url}`, body)).status, 400, JSON.stringify(body).slice(0, 80))
    assert.equal((await admin(`POST ${url}`, { appVersion: { name: 'nothing' }, endpoints: [{}] })).status, 404)
    assert.equal((await other(`POST ${url}`, { ...good, endpoints: [{}] })).status, 404)
    assert.equal((await admin(`GET ${url}/status`)).status, 400)
  })

  test('a batch of registrations and its status require the scope on the application', async () => {
    const { app, version } = await anApplication()
    const on = (...scopes: string[]) => aCaller({ on: { [`application-${app}`]: scopes } })
    const body = { appVersion: { name: version }, endpoints: [{}] }
    assert.equal((await waypost.as(on('endpoint:update'))(`POST ${url}`, body)).status, 403)
    const caller = on('application:endpoint:create')
    const taskId = await start(version, [{ endpointId: 'granted' }], waypost.as(caller))
    await finished(taskId, 1)
    const resource = 'endpoint-granted'
    const [grant] = await grantsOn(waypost.kit.db.sql, resource)
    assert.deepEqual(grant, { tenantId: 'default', subjectId: caller.subject.id, scopes: ['*'] })
    const status = async (ask: typeof admin, more = '') =>
      (await ask(`GET ${url}/status?taskId=${taskId}${more}`)).status
    assert.equal(await status(waypost.as(caller), `&appName=${app}`), 200)
    assert.equal(await status(admin, '&appName=another'), 404)
    assert.equal(await status(other), 404)
    assert.equal(await status(waypost.as(on('application:read'))), 403)
    assert.equal(await status(waypost.as(aCaller())), 404)
  })
})
