/** Tests batches, which send a command to many endpoints: tasks with their counts, and deletions of endpoints, tasks and old commands. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { TenantDeleted } from '../tenants/events.ts'
import commandService from './index.ts'
import { deleteOld } from './service/deletions.ts'

const { waypost, admin, other, device, anApplication, anEndpoint, httpUrl } = await openGateway({
  services: [...services, commandService],
})
const { sql } = waypost.kit.db
const commandsPath = '/cex/api/v1/endpoints/commands'

async function aFleet(size: number, existing?: { app: string; version: string }) {
  const { app, version } = existing ?? (await anApplication())
  const endpoints = await Promise.all(Array.from({ length: size }, () => anEndpoint(version)))
  return { app, version, endpoints, ids: endpoints.map(({ endpointId }) => endpointId).sort() }
}

async function aFilter(app: string) {
  const filters = `/epr/api/v1/applications/${app}/filters`
  const created = await admin(`POST ${filters}`, {
    name: 'all',
    documentQuery: { 'metadata.none': { $exists: false } },
  })
  assert.equal(created.status, 201, created.text)
  const filterId: string = created.body?.id ?? String(created.headers.location).split('/').at(-1)
  await eventually(async () => assert.equal((await admin(`GET ${filters}/${filterId}`)).body.status, 'active'))
  return filterId
}

const start = async (operation: string, body?: unknown) => {
  const answer = await admin(operation, body)
  assert.equal(answer.status, 202, answer.text)
  const { taskId } = answer.body
  assert.equal(answer.headers.location, `${waypost.baseUrl}${commandsPath}/batch/tasks/${taskId}`)
  return taskId as string
}
interface Entry {
  endpointId: string
  commandId?: number
}
const entriesOf = async (taskId: string, app: string): Promise<Record<string, Entry[]>> =>
  (await admin(`GET ${commandsPath}/batch/tasks/${taskId}?appName=${app}`)).body
const waitUntilCreated = (taskId: string, app: string, count: number) =>
  eventually(async () => {
    const entries = await entriesOf(taskId, app)
    const allEntries = Object.values(entries).flat()
    assert.equal(allEntries.filter(({ commandId }) => commandId !== undefined).length, count)
    return entries
  })
const taskOf = async (taskId: string, app: string) =>
  (await admin(`GET ${commandsPath}/batch/tasks?appName=${app}&limit=0`)).body.content.find(
    (task: { taskId: string }) => task.taskId === taskId,
  )
const report = (version: string, token: string, type: string, id: number) =>
  fetch(`${httpUrl}/kp1/${version}/cex/${token}/result/${type}`, {
    method: 'POST',
    body: JSON.stringify([{ id, statusCode: 200 }]),
  })

suite('a batch', () => {
  test('a batch by filter creates a command for each endpoint, and its task counts the commands', async () => {
    const { app, version, endpoints, ids } = await aFleet(3)
    const filterId = await aFilter(app)
    const sensor = await device()
    const [first] = endpoints
    await sensor.publish(`kp1/${version}/cex/${first!.token}/result/none`, [])
    for (const path of ['batch/by-filter', 'batch']) {
      const taskId = await start(`POST ${commandsPath}/blink/${path}?filterId=${filterId}&commandTtl=120000`, {
        times: 2,
      })
      const { pending } = await waitUntilCreated(taskId, app, 3)
      assert.deepEqual(
        pending!.map(({ endpointId }) => endpointId),
        ids,
      )
      const pushed = await sensor.receives(`kp1/${version}/cex/${first!.token}/command/blink/status`)
      assert.deepEqual(pushed.json[0].payload, { times: 2 })
      const { createdAt, ...task } = await taskOf(taskId, app)
      assert.ok(Date.parse(createdAt) > 0)
      const counts = { pendingCount: 3, executedCount: 0, expiredCount: 0 }
      assert.deepEqual(task, { taskId, filterId, commandType: 'blink', requestPayload: { times: 2 }, ...counts })
      await report(version, first!.token, 'blink', pushed.json[0].id)
      const [second] = endpoints.slice(1)
      const { commandId } = pending!.find(({ endpointId }) => endpointId === second!.endpointId)!
      await admin(`DELETE /cex/api/v1/endpoints/${second!.endpointId}/commands/blink/${commandId}`)
      const after = await taskOf(taskId, app)
      assert.deepEqual([after.pendingCount, after.executedCount, after.expiredCount], [1, 1, 0])
      await sql`update commands.commands set ends_at = now() where task_id = ${taskId} and status_code is null`
      const ended = await entriesOf(taskId, app)
      assert.deepEqual([ended.pending!.length, ended.executed!.length, ended.expired!.length], [0, 1, 1])
    }
    await sensor.end()
  })

  test('a batch by endpoints is listed for each application, with the counts of the endpoints of this application', async () => {
    const [one, two] = [await aFleet(2), await aFleet(1)]
    const endpointIds = [...one.ids, ...two.ids]
    const taskId = await start(`POST ${commandsPath}/blink/batch/by-endpoints`, { endpointIds })
    await waitUntilCreated(taskId, one.app, 2)
    await waitUntilCreated(taskId, two.app, 1)
    const task = await taskOf(taskId, one.app)
    assert.equal(task.pendingCount, 2)
    assert.ok(!('filterId' in task) && !('requestPayload' in task))
    assert.equal((await taskOf(taskId, two.app)).pendingCount, 1)
    const third = await aFleet(0)
    const path = `GET ${commandsPath}/batch/tasks/${taskId}`
    assert.equal((await admin(`${path}?appName=${third.app}`)).status, 404)
    assert.equal((await admin(`${path}?appName=`)).status, 400)
    // The address in `Location` contains no application, so the response counts all endpoints that the caller may read.
    const { status, body } = await admin(path)
    assert.equal(status, 200)
    assert.deepEqual(body.pending.map(({ endpointId }: Entry) => endpointId).toSorted(), endpointIds.toSorted())
    const ofOne = waypost.as(aCaller({ on: { [`application-${one.app}`]: ['application:endpoint-command:read'] } }))
    assert.equal((await ofOne(path)).body.pending.length, 2)
    const ofThird = waypost.as(aCaller({ on: { [`application-${third.app}`]: ['application:endpoint-command:read'] } }))
    for (const ask of [ofThird, other]) {
      const [hidden, missing] = [await ask(path), await ask(path.replace(taskId, 'none'))]
      assert.equal(hidden.status, 404)
      assert.equal(hidden.text.replace(taskId, 'none'), missing.text)
    }
  })

  test('a large payload of a batch is stored once, and all devices get the payload', async () => {
    const { app, version, endpoints } = await aFleet(2)
    const payload = 'x'.repeat(50_000)
    const endpointIds = endpoints.map(({ endpointId }) => endpointId)
    const body = { endpointIds, payload, payloadContentType: 'text/plain' }
    const taskId = await start(`POST ${commandsPath}/load/batch/by-endpoints`, body)
    await waitUntilCreated(taskId, app, 2)
    const stored = await sql`select 1 from commands.commands where task_id = ${taskId} and payload is not null`
    assert.equal(stored.length, 0)
    const url = `${httpUrl}/kp1/${version}/cex/${endpoints[0]!.token}/command/load`
    const commands = (await (await fetch(url, { method: 'POST' })).json()) as { payload: string }[]
    assert.equal(commands[0]!.payload, payload)
    const page = await admin(`GET ${commandsPath}/${app}`)
    assert.equal(page.body.content[0].requestPayload, payload)
  })

  test('a batch creates an expired command for an endpoint that has 1,000 outstanding commands', async () => {
    const { app, ids } = await aFleet(1)
    const [endpointId] = ids
    await admin(`POST /cex/api/v1/endpoints/${endpointId}/commands/many?awaitTimeout=0`)
    await sql`
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, size, created_at,
        ends_at, kept)
      select tenant_id, endpoint_id, n, application_name, 'many', size, created_at, ends_at, kept
      from commands.commands, generate_series(2, 1000) n where endpoint_id = ${endpointId!}`
    await sql`update commands.endpoints set last_id = 1000, outstanding_at_most = null where endpoint_id = ${endpointId!}`
    const taskId = await start(`POST ${commandsPath}/blink/batch/by-endpoints`, { endpointIds: ids })
    const { expired } = await waitUntilCreated(taskId, app, 1)
    assert.deepEqual(expired, [{ endpointId, commandId: 1001 }])
  })

  test('a batch with one wrong field or endpoint is rejected and creates no command', async () => {
    const [mine, theirs] = [await aFleet(2), await aFleet(1)]
    const filterId = await aFilter(mine.app)
    const byEndpoints = `POST ${commandsPath}/blink/batch/by-endpoints`
    const byFilter = `POST ${commandsPath}/blink/batch/by-filter`
    const partly = waypost.as(aCaller({ on: { [`endpoint-${mine.ids[0]}`]: ['endpoint:read', 'endpoint:update'] } }))
    const reader = waypost.as(
      aCaller({
        on: { [`application-${mine.app}`]: ['application:endpoint-filter:read', 'endpoint:read'] },
      }),
    )
    const refused: [ask: typeof admin, operation: string, body: unknown, status: number][] = [
      [admin, byEndpoints, { endpointIds: [...mine.ids, 'none'] }, 404],
      [partly, byEndpoints, { endpointIds: mine.ids }, 404],
      [other, byEndpoints, { endpointIds: theirs.ids }, 404],
      [admin, byEndpoints, { endpointIds: [mine.ids[0], mine.ids[0]] }, 400],
      [admin, byEndpoints, { endpointIds: [] }, 400],
      [admin, byEndpoints, { endpointIds: mine.ids, payload: 1, payloadContentType: 'text/plain' }, 400],
      [admin, byEndpoints, { endpointIds: mine.ids, payloadContentType: 'text/html' }, 400],
      [admin, `${byEndpoints}?commandTtl=-1`, { endpointIds: mine.ids }, 400],
      [admin, byFilter, undefined, 400],
      [admin, `${byFilter}?filterId=none`, undefined, 404],
      [other, `${byFilter}?filterId=${filterId}`, undefined, 404],
      [partly, `${byFilter}?filterId=${filterId}`, undefined, 404],
      [reader, `${byFilter}?filterId=${filterId}`, undefined, 403],
    ]
    for (const [ask, operation, body, status] of refused) {
      const answer = await ask(operation, body)
      assert.equal(answer.status, status, `${operation} ${JSON.stringify(body)} ${answer.text}`)
    }
    for (const { app } of [mine, theirs]) {
      assert.equal((await admin(`GET ${commandsPath}/batch/tasks?appName=${app}`)).body.totalElements, 0)
      assert.equal((await admin(`GET ${commandsPath}/${app}`)).body.totalElements, 0)
    }
  })

  test('batches are listed by application, type and filter, in any order', async () => {
    const { app, ids } = await aFleet(1)
    const filterId = await aFilter(app)
    const b = await start(`POST ${commandsPath}/b/batch/by-endpoints`, { endpointIds: ids })
    const a = await start(`POST ${commandsPath}/a/batch?filterId=${filterId}`)
    const list = async (query: string) =>
      (await admin(`GET ${commandsPath}/batch/tasks?appName=${app}&${query}`)).body.content.map(
        ({ taskId }: { taskId: string }) => taskId,
      )
    assert.deepEqual(await list(''), [a, b])
    assert.deepEqual(await list('sortBy=commandType&sortOrder=ASC'), [a, b])
    assert.deepEqual(await list('sortBy=commandType'), [b, a])
    assert.deepEqual(await list('sortBy=taskId&sortOrder=ASC'), [a, b].sort())
    assert.deepEqual(await list('sortBy=filterId'), [a, b])
    assert.deepEqual(await list('offset=1&limit=1'), [b])
    assert.deepEqual(await list('commandType=b'), [b])
    assert.deepEqual(await list(`filterId=${filterId}`), [a])
    for (const query of ['', 'appName=x&sortBy=size', 'appName=x&limit=-1'])
      assert.equal((await admin(`GET ${commandsPath}/batch/tasks?${query}`)).status, 400)
    assert.equal((await admin(`GET ${commandsPath}/batch/tasks?appName=none`)).status, 404)
  })
})

suite('deletions', () => {
  test('commands of deleted endpoints and tenants are deleted, and old commands are deleted with their tasks', async () => {
    const { app, ids } = await aFleet(2)
    const taskId = await start(`POST ${commandsPath}/blink/batch/by-endpoints`, { endpointIds: ids })
    await waitUntilCreated(taskId, app, 2)
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${ids[0]}`)).status, 204)
    await eventually(async () => assert.equal((await taskOf(taskId, app)).pendingCount, 1))

    await sql`update commands.commands set ends_at = now() - interval '31 days' where task_id = ${taskId}`
    await deleteOld(sql, 31)
    assert.ok(await taskOf(taskId, app), 'a recent task must not be deleted')
    await sql`update commands.tasks set created_at = now() - interval '32 days' where task_id = ${taskId}`
    await deleteOld(sql, 30)
    assert.equal(await taskOf(taskId, app), undefined)
    assert.equal((await admin(`GET ${commandsPath}/${app}`)).body.totalElements, 0)

    await admin(`POST /cex/api/v1/endpoints/${ids[1]}/commands/blink?awaitTimeout=0`)
    await waypost.kit.db.tx((tx) => waypost.kit.bus.publish(tx, TenantDeleted, { tenantId: 'default' }))
    await eventually(async () => {
      const left = await sql`select 1 from commands.commands union all select 1 from commands.endpoints
        union all select 1 from commands.tasks`
      assert.equal(left.length, 0)
    })
  })
})
