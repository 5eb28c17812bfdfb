/** Tests that `sendHere` sends to connections of this node only, and that unacknowledged messages are dropped when the connection ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, services } from '../../test/harness/gateway.ts'
import { connected } from '../../test/harness/mqtt-raw.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'
import { Gateway } from './contract.ts'

const options = { connection: await migratedDatabase(services), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const one = await openGateway(options)
const two = await openGateway(options)
const here = one.waypost.ask(Gateway)
const there = two.waypost.ask(Gateway)
const push = { extension: 'test', name: 'reboot', resourcePath: '/command/reboot', payload: [{ id: 1 }] }

test('sendHere sends only to endpoints that are connected to this node; nodesOf returns the nodes of other endpoints', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  assert.equal(await here.sendHere(endpointId, push), 'not_connected')
  assert.equal(here.connectionOf(endpointId), undefined)
  const device = await one.device()
  await device.publish(`${prefix}/json`, '1')
  const connection = here.connectionOf(endpointId)
  assert.ok(connection)
  assert.equal(await here.sendHere(endpointId, push), 'sent')
  assert.deepEqual((await device.receives(`${prefix}/command/reboot/status`)).json, push.payload)
  assert.equal(await there.sendHere(endpointId, push), 'not_connected')
  assert.equal(await here.sendHere(endpointId, push, () => undefined), 'withdrawn')
  assert.equal(await here.sendHere(endpointId, push, () => ({ ...push, payload: [{ id: 2 }] })), 'sent')
  assert.deepEqual((await device.receives(`${prefix}/command/reboot/status`)).json, [{ id: 2 }])

  const { sql } = two.waypost.kit.db
  const expected = new Map([[endpointId, one.waypost.kit.members.nodeId]])
  await eventually(async () => assert.deepEqual(await there.nodesOf(sql, [endpointId, 'none']), expected))
  assert.deepEqual(await two.waypost.kit.db.tx((sql) => there.nodesOf(sql, [endpointId, 'none'])), expected)
  assert.deepEqual(await here.nodesOf(one.waypost.kit.db.sql, [endpointId]), new Map())

  await here.observe({ tenantId: 'default', applicationName: '', versionName: '', endpointId }, 'test', 'reboot', false)
  assert.equal(await here.sendHere(endpointId, push), 'not_observed')
  await device.receivesNothing(20)
  await device.end()
  await eventually(() => assert.equal(here.connectionOf(endpointId), undefined))
  const again = await one.device()
  await again.publish(`${prefix}/json`, '1')
  assert.notEqual(here.connectionOf(endpointId), connection)
  await again.end()
})

for (const qos of [0, 1] as const)
  test(`a push of QoS ${qos} that is larger than the client accepts is not handed over, and the sender gets the reason`, async () => {
    const { prefix, endpointId } = await one.aProvisionedEndpoint()
    const device = await connected(Number(new URL(one.mqttUrl).port), {
      clientId: `small ${endpointId}`,
      protocolVersion: 5,
      properties: { maximumPacketSize: 200 },
    })
    const filter = qos === 0 ? `${prefix}/json/#` : `${prefix}/#`
    device.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: filter, qos }] })
    await device.next('suback')
    await eventually(() => assert.ok(here.isConnected(endpointId)))
    const handedOver: unknown[] = []
    one.test.handedOver = (endpoint, { payload }) => void handedOver.push([endpoint.endpointId, payload])
    const large = { ...push, payload: 'x'.repeat(300) }
    assert.equal(await here.sendHere(endpointId, large), 'packet_too_large')
    const { delivery } = await here.send(one.waypost.kit.db.sql, endpointId, large)
    assert.equal(await delivery, 'offline')
    assert.equal(await here.sendHere(endpointId, push), 'sent')
    assert.equal(String((await device.next('publish')).payload), JSON.stringify(push.payload))
    assert.deepEqual(handedOver, [[endpointId, push.payload]])
    const metrics = await one.waypost.kit.metrics.text()
    assert.match(metrics, /pushes_not_sent_total\{extension="test",reason="packet_too_large"\} [1-9]/)
    delete one.test.handedOver
    device.destroy()
  })

const sessions = [
  ['of a client that disconnected', true],
  ['that another connection takes over', false],
] as const
for (const [what, cut] of sessions)
  test(`a push by send that has no PUBACK yet is kept in the session ${what}; a push by sendHere is not`, async () => {
    const { prefix, endpointId } = await one.aProvisionedEndpoint()
    const port = Number(new URL(one.mqttUrl).port)
    const client = { clientId: `keeps ${endpointId}`, clean: false }
    const first = await connected(port, client)
    first.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `${prefix}/#`, qos: 1 }] })
    await first.next('suback')
    await eventually(() => assert.ok(here.isConnected(endpointId)))
    assert.equal(await here.sendHere(endpointId, push), 'sent')
    assert.equal((await first.next('publish')).qos, 1)
    await here.send(one.waypost.kit.db.sql, endpointId, { ...push, payload: 'kept' })
    await first.next('publish')
    if (cut) {
      first.destroy()
      await eventually(() => assert.ok(!here.isConnected(endpointId)))
    }
    const second = await connected(port, client)
    second.send({
      cmd: 'publish',
      topic: `${prefix}/json`,
      payload: '1',
      qos: 1,
      messageId: 9,
      retain: false,
      dup: false,
    } as never)
    const message = await second.next('publish')
    assert.deepEqual([String(message.payload), message.dup], ['"kept"', true])
    second.send({ cmd: 'puback', messageId: message.messageId! })
    await second.next('puback')
    second.send({ cmd: 'pingreq' })
    assert.equal((await second.next()).cmd, 'pingresp')
    second.destroy()
    first.destroy()
  })
