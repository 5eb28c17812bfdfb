import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, services } from '../../test/harness/gateway.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'
import { Register } from '../services/register/contract.ts'
import { EndpointsConnected, EndpointsDisconnected } from './events.ts'

const fixture = await openGateway()
const { waypost, device, aProvisionedEndpoint, gateway, metadataOf, test: extension } = fixture
const changes: string[] = []
waypost.kit.bus.subscribe(EndpointsConnected, ({ endpointIds }) =>
  changes.push(...endpointIds.map((id) => `${id} connected`)),
)
waypost.kit.bus.subscribe(EndpointsDisconnected, ({ endpointIds }) =>
  changes.push(...endpointIds.map((id) => `${id} disconnected`)),
)
const statesOf = (endpointId: string) =>
  changes.filter((line) => line.startsWith(endpointId)).map((line) => line.split(' ')[1])

const push = { extension: 'test', resourcePath: '/command/reboot', payload: [{ id: 1 }] }

test('a push is delivered without a subscription; with a subscription it is delivered once, with the granted QoS', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  assert.equal(await gateway.send(endpointId, push), 'offline')
  const sensor = await device()
  await sensor.publish(`${prefix}/json`, '1')
  assert.equal(await gateway.send(endpointId, push), 'delivered')
  const first = await sensor.receives(`${prefix}/command/reboot/status`)
  assert.deepEqual([first.json, first.qos], [[{ id: 1 }], 0])
  for (const filter of [`${prefix}/#`, '#', `${prefix}/command/+/status`])
    await sensor.client.subscribeAsync(filter, { qos: 2 })
  assert.equal(await gateway.send(endpointId, push), 'delivered')
  assert.equal((await sensor.receives(`${prefix}/command/reboot/status`)).qos, 1)
  await sensor.receivesNothing()
  await sensor.client.unsubscribeAsync([`${prefix}/#`, '#', `${prefix}/command/+/status`])
  await gateway.send(endpointId, push)
  assert.equal((await sensor.receives(`${prefix}/command/reboot/status`)).qos, 0)
  await sensor.end()
  await eventually(async () => assert.equal(await gateway.send(endpointId, push), 'offline'))
})

test('a subscription binds an endpoint only if no connection represents it; a message moves the binding to the connection of the message', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const listener = await device()
  await listener.client.subscribeAsync(`${prefix}/command/+/status`)
  await eventually(() => assert.ok(gateway.isConnected(endpointId)))
  const second = await device()
  await second.client.subscribeAsync(`${prefix}/command/+/status`)
  await gateway.send(endpointId, push)
  await listener.receives(`${prefix}/command/reboot/status`)
  await second.receivesNothing(50)

  await second.publish(`${prefix}/json/1`, '1')
  await second.receives(`${prefix}/json/1/status`)
  await gateway.send(endpointId, push)
  await second.receives(`${prefix}/command/reboot/status`)
  await listener.receivesNothing(50)
  assert.ok(listener.client.connected)
  await listener.end()
  assert.ok(gateway.isConnected(endpointId))
  await eventually(() => assert.deepEqual(statesOf(endpointId), ['connected', 'disconnected', 'connected']))
  await second.end()
  await eventually(() =>
    assert.deepEqual(statesOf(endpointId), ['connected', 'disconnected', 'connected', 'disconnected']),
  )
})

test('when the sender closes its connection, the subscriber represents the endpoint again, as for mosquitto_sub and mosquitto_pub', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const [listener, late] = [await device(), await device()]
  await listener.client.subscribeAsync(`${prefix}/#`)
  await eventually(() => assert.ok(gateway.isConnected(endpointId)))
  for (let n = 1; n <= 2; n++) {
    const sender = await device()
    await sender.publish(`${prefix}/json/${n}`, '1')
    await sender.receives(`${prefix}/json/${n}/status`)
    await sender.end()
    await eventually(() => assert.equal(statesOf(endpointId).length, 1 + 4 * n))
    assert.equal(statesOf(endpointId).at(-1), 'connected')
    assert.equal(await gateway.send(endpointId, push), 'delivered')
    await listener.receives(`${prefix}/command/reboot/status`)
  }
  // When the connection that represents an endpoint closes, another connection that is subscribed represents the endpoint.
  await late.client.subscribeAsync(`${prefix}/#`)
  await listener.end()
  await eventually(() => assert.deepEqual(statesOf(endpointId).slice(9), ['disconnected', 'connected']))
  assert.equal(await gateway.send(endpointId, push), 'delivered')
  await late.receives(`${prefix}/command/reboot/status`)
  const sender = await device()
  await sender.publish(`${prefix}/json/3`, '1')
  await sender.receives(`${prefix}/json/3/status`)
  await late.client.unsubscribeAsync(`${prefix}/#`)
  await sender.end()
  await eventually(async () => assert.equal(await gateway.send(endpointId, push), 'offline'))
  await late.end()
})

test('pushes of extensions are sent when an endpoint connects', async () => {
  const { prefix } = await aProvisionedEndpoint()
  extension.pushes = [push]
  try {
    for (let i = 0; i < 2; i++) {
      const sensor = await device()
      await sensor.publish(`${prefix}/json`, '1')
      await sensor.receives(`${prefix}/command/reboot/status`)
      await sensor.end()
    }
  } finally {
    extension.pushes = []
  }
})

test('the register shows whether an endpoint is connected, and since when', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  assert.deepEqual(await metadataOf(endpointId), {})
  const sensor = await device()
  await sensor.publish(`${prefix}/json`, '1')
  const since = await eventually(async () => {
    const { connected, connectivity_ts } = await metadataOf(endpointId)
    assert.equal(connected, true)
    return connectivity_ts
  })
  sensor.client.stream.destroy()
  await eventually(async () => {
    const { connected, connectivity_ts } = await metadataOf(endpointId)
    assert.equal(connected, false)
    assert.ok(connectivity_ts > since)
  })
})

test('a persistent session survives a restart of the platform and queues pushes', async () => {
  const options = { connection: await migratedDatabase(services), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
  const before = await openGateway(options)
  const { prefix, endpointId } = await before.aProvisionedEndpoint()
  const session = { clientId: 'keeper', clean: false }
  const sensor = await before.device(session)
  await sensor.client.subscribeAsync(`${prefix}/command/+/status`, { qos: 1 })
  await sensor.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.equal((await before.metadataOf(endpointId)).connected, true))
  await sensor.end()
  await eventually(() => assert.ok(!before.gateway.isConnected(endpointId)))
  assert.equal(await before.gateway.send(endpointId, push), 'queued')
  // No subscription matches this push.
  assert.equal(await before.gateway.send(endpointId, { ...push, resourcePath: '/config' }), 'offline')
  await before.waypost.close()

  const after = await openGateway(options)
  assert.equal(await after.gateway.send(endpointId, { ...push, payload: 'second' }), 'queued')
  const again = await after.device(session)
  // An anonymous client does not represent its endpoint until it presents the token again (document 5, 10.2).
  await again.client.subscribeAsync(`${prefix}/command/+/status`, { qos: 1 })
  assert.deepEqual((await again.receives(`${prefix}/command/reboot/status`)).json, [{ id: 1 }])
  assert.equal((await again.receives(`${prefix}/command/reboot/status`)).json, 'second')
  await eventually(() => assert.ok(after.gateway.isConnected(endpointId)))
  assert.equal(await after.gateway.send(endpointId, push), 'delivered')
  assert.equal((await again.receives(`${prefix}/command/reboot/status`)).qos, 1)
  await again.end()
  await after.setTokenStatus(endpointId, 'Revoked')
  await eventually(async () => assert.equal(await after.gateway.send(endpointId, push), 'offline'))
})

test('endpoints that were connected to a dead node are reported as disconnected', async () => {
  const { endpointId, app, version } = await aProvisionedEndpoint()
  const { db } = waypost.kit
  await waypost
    .ask(Register)
    .setConnectivity([{ endpointId, connected: true, at: new Date(Date.now() - 60_000), number: 0 }])
  await db.sql`
    insert into kernel.nodes (id, version, seen_at) values ('dead', 'test', now() - interval '1 minute')`
  await db.sql`
    insert into gateway.bindings (endpoint_id, tenant_id, application_name, version_name, node_id)
    values (${endpointId}, 'default', ${app}, ${version}, 'dead')`
  await db.sql`insert into gateway.holders (session_key, node_id, claim) values ('dead one', 'dead', 0)`
  await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, false), { withinMs: 20_000 })
  await eventually(async () => {
    assert.equal((await db.sql`select from gateway.bindings where endpoint_id = ${endpointId}`).length, 0)
    assert.equal((await db.sql`select from gateway.holders where node_id = 'dead'`).length, 0)
  })
  assert.deepEqual(statesOf(endpointId), ['disconnected'])
})
