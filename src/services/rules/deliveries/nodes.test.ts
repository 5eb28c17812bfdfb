/** Tests deliveries and alerts with several nodes on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openActions } from '../../../../test/harness/actions.ts'
import { freshDatabase } from '../../../../test/harness/database.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { aReceiver, ok } from '../../../../test/harness/webhook-receiver.ts'
import { newId } from '../../../kernel/ids.ts'
import { Register } from '../../register/contract.ts'
import { createAlertChanges } from '../alerts/service/changes.ts'
import { insertAlerts } from '../alerts/store/alerts.ts'

const options = {
  connection: await freshDatabase(),
  environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40), WAYPOST_WEBHOOK_TIMEOUT_SECONDS: '1' },
}
const one = await openActions(options)
const two = await openActions(options)
const { sql } = one.waypost.kit.db

test('when a node stops, another node continues its waiting deliveries with the count of their attempts', async () => {
  const leaving = await openActions(options)
  await eventually(() => assert.ok(two.waypost.kit.members.isAlive(leaving.waypost.kit.members.nodeId)))
  const receiver = await aReceiver((response) => void response.writeHead(500).end())
  const retryConfig = { maxAttempts: 3, timeoutMs: 1500 }
  await leaving.start('webhook', { fields: { webhookUrl: receiver.url, retryConfig } })
  await eventually(async () => {
    const [row] = await sql`select attempts from rules.deliveries`
    assert.equal(JSON.parse(row?.attempts ?? '[]').length, 1)
  })
  receiver.respond = ok
  await leaving.waypost.close()
  await eventually(() => assert.equal(receiver.requests.length, 2), { withinMs: 20_000 })
  const ended = () => [...one.traces, ...two.traces].filter(({ outcome }) => outcome.outcome === 'SUCCESS')
  await eventually(() => assert.equal(ended().length, 1))
  const [{ outcome } = {} as never] = ended()
  assert.deepEqual(
    (outcome.metadata!.attempts as { status: number }[]).map(({ status }) => status),
    [500, 200],
  )
  assert.deepEqual(leaving.traces, [])
  assert.equal(new Set(receiver.requests.map(({ headers }) => headers['x-waypost-delivery'])).size, 1)
})

test('a delivery whose node died while sending it is sent once more with the same id, and has one trace', async () => {
  const receiver = await aReceiver(() => {})
  const id = newId()
  await one.start('webhook', { fields: { webhookUrl: receiver.url }, id })
  await eventually(() => assert.equal(receiver.requests.length, 1))
  // The test assigns the row to a node that does not exist, as if the node had died.
  await sql`update rules.deliveries set node_id = 'gone' where id = ${id}::uuid`
  receiver.respond = ok
  const restarted = await openActions(options)
  const traces = () => [...one.traces, ...two.traces, ...restarted.traces].filter(({ action }) => action.id === id)
  await eventually(() => assert.equal(traces().length, 1), { withinMs: 20_000 })
  const { outcome } = traces()[0]!
  assert.equal(outcome.outcome, 'SUCCESS')
  const deliveryId = outcome.metadata!.deliveryId
  assert.deepEqual(
    receiver.requests.map(({ headers }) => headers['x-waypost-delivery']),
    [deliveryId, deliveryId],
  )
  assert.equal((await sql`select 1 from rules.deliveries`).length, 0)
  await restarted.waypost.close()
})

test('simultaneous activations of the same alert at two nodes open one alert', async () => {
  for (let round = 0; round < 5; round++) {
    const endpoint = await one.anEndpointRef()
    const runInput = { endpoint, fields: { alertType: 'HOT' } }
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? one : two).run('alert-activation', runInput)),
    )
    const changes = outcomes.map(({ metadata }) => metadata!.change)
    assert.equal(changes.filter((change) => change === 'ACTIVATED').length, 1)
    assert.equal(new Set(outcomes.map(({ metadata }) => metadata!.alertId)).size, 1)
    const [row] = await sql`
      select count(*)::int as events from rules.alert_events e join rules.alerts a on a.id = e.alert_id
      where a.entity_id = ${endpoint.endpointId}`
    assert.equal(row!.events, 1)
  }
})

test('if another node opens one alert of a batch first, the batch still reports its other alerts as activated', async () => {
  const { endpointId, applicationName } = await one.anEndpointRef()
  const keyOf = (alertType: string) => ({
    tenantId: 'default',
    entityType: 'ENDPOINT' as const,
    entityId: endpointId,
    alertType,
  })
  const opened = {
    ...{ ...keyOf('B'), id: newId(), severity: 1, applicationName, message: null, at: new Date() },
    ...{ alertSettingId: null, metadata: {}, entityMetadata: {} },
  }
  const change = createAlertChanges({ kit: one.waypost.kit, register: one.waypost.ask(Register) })
  const activate = (alertType: string) =>
    change({ activation: { ...keyOf(alertType), applicationName, severityLevel: 'LOW', cause: 'trace/2' } })
  const batch = await two.waypost.kit.db.tx(async (other) => {
    await insertAlerts(other, [opened])
    // The activation of `first` is a batch of its own. The next batch has the other three.
    const changes = Promise.all(['first', 'A', 'B', 'C'].map(activate))
    await eventually(async () => {
      const waiting = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into rules.alerts%'`
      assert.equal(waiting.length, 1)
    })
    return { changes }
  })
  assert.deepEqual(
    (await batch.changes).map((changed) => changed?.change),
    ['ACTIVATED', 'ACTIVATED', 'RENEWED', 'ACTIVATED'],
  )
  const events = await sql`
    select a.alert_type, e.event_type from rules.alert_events e join rules.alerts a on a.id = e.alert_id
    where a.entity_id = ${endpointId} order by a.alert_type collate "C"`
  assert.deepEqual(
    events.map(({ alertType, eventType }) => `${alertType} ${eventType}`),
    ['A ACTIVATED', 'C ACTIVATED', 'first ACTIVATED'],
  )
})

test('activations and resolutions at two nodes leave at most one open alert', async () => {
  const endpoint = await one.anEndpointRef()
  const runInput = { endpoint, fields: { alertType: 'FLAPPING' } }
  await Promise.all(
    Array.from({ length: 80 }, (_, n) =>
      (n % 2 === 0 ? one : two).run(n % 5 < 3 ? 'alert-activation' : 'alert-resolution', runInput),
    ),
  )
  const states =
    await sql`select state, count(*)::int as count from rules.alerts where entity_id = ${endpoint.endpointId} group by 1`
  assert.ok((states.find(({ state }) => state === 'OPEN')?.count ?? 0) <= 1)
  const [unpaired] = await sql`
    select count(*)::int as count from rules.alerts a where entity_id = ${endpoint.endpointId} and (
      select count(*) filter (where event_type = 'ACTIVATED') = 1
        and count(*) filter (where event_type = 'RESOLVED') = (a.state = 'RESOLVED')::int
      from rules.alert_events e where e.alert_id = a.id) is not true`
  assert.equal(unpaired!.count, 0)
})
