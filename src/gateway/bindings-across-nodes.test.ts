/** Bindings of endpoints on several nodes: signals between nodes and the order of changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../test/harness/builders.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, services } from '../../test/harness/gateway.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'
import { sleep } from '../kernel/clock.ts'
import { MetadataUpdated } from '../services/register/events.ts'

const options = { connection: await migratedDatabase(services), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const behindMs = 5000
const one = await openGateway(options)
/** A node whose clock is five seconds behind. */
const two = await openGateway({ ...options, now: () => new Date(Date.now() - behindMs) })
const { sql } = one.waypost.kit.db
// Connectivity is metadata of an endpoint, and caches on each node subscribe to changes of metadata. These listeners count the events that
// such caches get.
const receivedEvents = { one: 0, two: 0 }
one.waypost.kit.bus.subscribe(MetadataUpdated, () => receivedEvents.one++)
two.waypost.kit.bus.subscribe(MetadataUpdated, () => receivedEvents.two++)
const push = { extension: 'test', resourcePath: '/command/reboot', payload: [{ id: 1 }] }

const nodeOf = async (endpointId: string) =>
  (await sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`)[0]?.nodeId as string | undefined
const waitUntilBoundAt = (endpointId: string, { waypost }: typeof one) =>
  eventually(async () => assert.equal(await nodeOf(endpointId), waypost.kit.members.nodeId))

test('an endpoint that moves to a node whose clock is behind gets its pushes from that node', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  // The old socket stays open, because its node has not detected yet that the client has disconnected.
  const old = await one.device()
  await old.publish(`${prefix}/json`, '1')
  await waitUntilBoundAt(endpointId, one)
  const moved = await two.device()
  await moved.publish(`${prefix}/json`, '1')
  await waitUntilBoundAt(endpointId, two)
  await eventually(() => assert.ok(!one.gateway.isConnected(endpointId)))
  for (const from of [one, two, one]) {
    assert.equal(await from.gateway.send(endpointId, push), 'delivered')
    await moved.receives(`${prefix}/command/reboot/status`)
  }
  await old.receivesNothing(50)
  // The clock of the second node is behind, but its changes have higher numbers, so they count as later changes.
  await eventually(async () => assert.equal((await one.metadataOf(endpointId)).connected, true))
  await moved.end()
  await eventually(async () => assert.equal((await one.metadataOf(endpointId)).connected, false))
  // The first connection sends another message.
  await old.publish(`${prefix}/json`, '1')
  await waitUntilBoundAt(endpointId, one)
  assert.equal(await two.gateway.send(endpointId, push), 'delivered')
  await old.receives(`${prefix}/command/reboot/status`)
  await old.end()
})

test('an endpoint that sends over two connections in turn is bound to the connection of its last message', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const [first, second] = [await one.device(), await two.device()]
  for (let n = 0; n < 6; n++) {
    const [device, at] = n % 2 ? ([second, two] as const) : ([first, one] as const)
    await device.publish(`${prefix}/json`, '1')
    await waitUntilBoundAt(endpointId, at)
    const other = at === one ? two : one
    await eventually(() => assert.ok(!other.gateway.isConnected(endpointId)))
    for (const from of [one, two]) {
      assert.equal(await from.gateway.send(endpointId, push), 'delivered')
      await device.receives(`${prefix}/command/reboot/status`)
    }
  }
  await Promise.all([first.end(), second.end()])
})

test('a binding that is written late does not take the endpoint from a later connection', async () => {
  const { prefix, endpointId, app, version } = await one.aProvisionedEndpoint()
  const device = await two.device()
  await device.publish(`${prefix}/json`, '1')
  await waitUntilBoundAt(endpointId, two)
  // This write simulates a node that hung while the client connected to the other node.
  const { saveBindings } = await import('./store/bindings.ts')
  const late = { endpointId, tenantId: 'default', applicationName: app, versionName: version, follows: 0, claim: 1 }
  const row = { ...late, nodeId: one.waypost.kit.members.nodeId, sessionKey: null, tokenSealed: null }
  assert.deepEqual([...(await saveBindings(sql, [row]))], [])
  assert.equal(await one.gateway.send(endpointId, push), 'delivered')
  // A node replaces a binding of another node if it had received a signal about that binding before.
  const [{ number } = {}] = await sql`select number from gateway.bindings where endpoint_id = ${endpointId}`
  const [bound] = await saveBindings(sql, [{ ...row, follows: number }])
  assert.equal(bound?.previousNodeId, two.waypost.kit.members.nodeId)
  await sql`delete from gateway.bindings where endpoint_id = ${endpointId}`
  await device.end()
})

test('connects and disconnects of devices at one node cause no signals to the other node', async () => {
  const devices = 40
  const { version } = await one.anApplication()
  const tokens = await Promise.all(Array.from({ length: devices }, async () => (await one.anEndpoint(version)).token))
  const { username, password } = await one.aBasicCredential()
  const login = { username: `${username}@default`, password }
  const visit = async (token: string, n: number) => {
    const device = await one.device({ clientId: `visitor-${n}`, clean: n % 2 === 0, ...(n % 4 > 1 && login) })
    await device.publish(`kp1/${version}/test/${token}/json`, '1')
    await device.client.subscribeAsync(`kp1/${version}/test/${token}/#`, { qos: 1 })
    await device.end()
  }
  const bindings = async () => (await sql`select from gateway.bindings where node_id is not null`).length
  const settled = () => eventually(async () => assert.equal(await bindings(), 0))
  const received = async () => {
    const text = await two.waypost.kit.metrics.text()
    return Number(text.match(/^waypost_signals_received_total (\d+)$/m)?.[1] ?? 0)
  }
  /** Waits until no more signals arrive and returns their number. */
  const receivedAtRest = async () => {
    let last = -1
    for (let now = await received(); now !== last; now = await received()) {
      last = now
      await sleep(300)
    }
    return last
  }
  // These devices share one credential. The first use of the credential is signalled to all nodes once.
  await (await one.device({ clientId: 'first', ...login })).end()
  const before = { signals: await receivedAtRest(), ...receivedEvents }
  // In the first round, the first message of an endpoint makes its token Active. In the second round, all tokens are Active.
  for (let visits = 0; visits < 2; visits++) {
    await Promise.all(tokens.map(visit))
    await settled()
  }
  await eventually(() =>
    assert.ok(receivedEvents.one > before.one, 'the node of the devices must invalidate its own cache'),
  )
  assert.deepEqual([(await receivedAtRest()) - before.signals, receivedEvents.two - before.two], [0, 0])
})

test('when a client connects to another node, the previous node closes its connection and releases its session', async () => {
  const endpoint = await one.aProvisionedEndpoint()
  const first = await one.device({ clientId: 'traveller' })
  await first.publish(`${endpoint.prefix}/json`, '1')
  const second = await two.device({ clientId: 'traveller', protocolVersion: 5 })
  await first.closed()
  const [row] = await sql`select node_id from gateway.holders where session_key like '%traveller'`
  assert.equal(row?.nodeId, two.waypost.kit.members.nodeId)
  await second.end()
  await eventually(async () =>
    assert.equal((await sql`select from gateway.holders where session_key like '%traveller'`).length, 0),
  )
})

test('the history of an endpoint has its connects and disconnects on all nodes, with the reasons', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const path = `GET /kpc/api/v1/endpoints/${endpointId}/connections`
  const history = async (node = one) => {
    const { status, body, text } = await node.admin(path)
    assert.equal(status, 200, text)
    return body.content as { at: string; connected: boolean; reason?: string }[]
  }
  const reasons = async () => (await history()).map(({ connected, reason }) => (connected ? 'connected' : reason))
  assert.deepEqual(await history(), [])
  const first = await one.device()
  await first.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.deepEqual(await reasons(), ['connected']))
  await first.end()
  const left = 'the client closed the connection'
  await eventually(async () => assert.deepEqual(await reasons(), [left, 'connected']))
  const second = await two.device()
  await second.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.deepEqual(await reasons(), ['connected', left, 'connected']))
  await one.setTokenStatus(endpointId, 'Suspended')
  await eventually(async () => {
    const [revoked, ...before] = await reasons()
    assert.match(revoked!, /token/)
    assert.deepEqual(before, ['connected', left, 'connected'])
  })
  await one.setTokenStatus(endpointId, 'Active')
  assert.deepEqual(await history(two), await history())
  assert.match((await history())[0]!.at, /^\d{4}-.*Z$/)

  const missing = await one.admin('GET /kpc/api/v1/endpoints/missing/connections')
  const otherTenant = await one.waypost.as(aTenantAdmin('other'))(path)
  assert.deepEqual([otherTenant.status, otherTenant.text.replaceAll(endpointId, 'missing')], [404, missing.text])
  assert.equal((await one.waypost.as(aCaller({ on: {} }))(path)).status, 404)
  assert.equal((await one.waypost.as(undefined)(path)).status, 401)

  // At most 50 events of an endpoint are kept. Unregistering the endpoint deletes them, even while its device is connected.
  await sql`update gateway.connection_history set events = (
      select jsonb_agg(jsonb_build_object('at', n, 'connected', n % 2 = 0)) from generate_series(1, 50) n)
    where endpoint_id = ${endpointId}`
  const third = await one.device()
  await third.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.deepEqual((await history())[1]!.at, '1970-01-01T00:00:00.001Z'))
  assert.equal((await history()).length, 50)
  assert.equal((await one.admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
  const rows = () => sql`select from gateway.connection_history where endpoint_id = ${endpointId}`
  await eventually(async () => assert.equal((await rows()).length, 0))
  await eventually(async () => assert.equal(await nodeOf(endpointId), undefined))
  assert.equal((await rows()).length, 0)
})
