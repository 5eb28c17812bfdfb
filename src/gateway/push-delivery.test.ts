/**
 * Tests that a push is sent when its transaction commits, and that the sender gets the outcome, whichever node the device is connected to.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, services } from '../../test/harness/gateway.ts'
import { connected } from '../../test/harness/mqtt-raw.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'
import { sleep } from '../kernel/clock.ts'
import { Gateway, type Sending } from './contract.ts'

const options = { connection: await migratedDatabase(services), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const one = await openGateway(options)
const two = await openGateway(options)
/** Pushes that node one passed to a connection. All devices of this file connect to node one. */
const handedOver: string[] = []
one.test.handedOver = ({ endpointId }, { resourcePath }) => void handedOver.push(`${endpointId} ${resourcePath}`)
const push = { extension: 'test', resourcePath: '/command/reboot', payload: [{ id: 1 }] }
const nodes = [
  ['the node of the device', one],
  ['another node', two],
] as const

const isPending = async ({ delivery }: Sending) =>
  (await Promise.race([delivery, sleep(30).then(() => 'pending')])) === 'pending'

async function boundAt(endpointId: string) {
  await eventually(async () => {
    const [row] = await one.waypost.kit.db.sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
    assert.ok(row?.nodeId)
  })
}

for (const [where, from] of nodes) {
  const { db } = from.waypost.kit
  const gateway = from.waypost.ask(Gateway)

  test(`a push from ${where} is sent when the transaction commits`, async () => {
    const { prefix, endpointId } = await one.aProvisionedEndpoint()
    const device = await one.device()
    await device.publish(`${prefix}/json`, '1')
    await boundAt(endpointId)
    const sending = await db.tx(async (sql) => {
      const sending = await gateway.send(sql, endpointId, push)
      await device.receivesNothing(50)
      assert.ok(await isPending(sending))
      return sending
    })
    assert.deepEqual((await device.receives(`${prefix}/command/reboot/status`)).json, push.payload)
    assert.equal(await sending.delivery, 'delivered')
    assert.deepEqual(
      handedOver.filter((text) => text.startsWith(endpointId)),
      [`${endpointId} /command/reboot`],
    )
    const here = [...one.waypost.ask(Gateway).connectedHere()].map((endpoint) => endpoint.endpointId)
    assert.ok(here.includes(endpointId))
    assert.ok(![...two.waypost.ask(Gateway).connectedHere()].some((endpoint) => endpoint.endpointId === endpointId))
    await device.receivesNothing(20)
    await device.end()
  })

  test(`a push from ${where} that cannot be sent is counted with the reason`, async () => {
    const { endpointId } = await one.aProvisionedEndpoint()
    const count = async () => {
      const text = await from.waypost.kit.metrics.text()
      return Number(/pushes_not_sent_total\{extension="test",reason="not_connected"\} (\d+)/.exec(text)?.[1] ?? 0)
    }
    const before = await count()
    assert.equal(await (await gateway.send(db.sql, endpointId, push)).delivery, 'offline')
    assert.equal((await count()) - before, 1)
  })

  test(`a push from ${where} is not sent if the transaction is rolled back`, async () => {
    const { prefix, endpointId } = await one.aProvisionedEndpoint()
    const device = await one.device()
    await device.publish(`${prefix}/json`, '1')
    await boundAt(endpointId)
    let sending: Sending | undefined
    const failing = db.tx(async (sql) => {
      sending = await gateway.send(sql, endpointId, push)
      throw new Error('no')
    })
    await assert.rejects(failing, /no/)
    await device.receivesNothing(100)
    assert.ok(await isPending(sending!))
    await device.end()
  })

  test(`a push from ${where} at QoS 1 is delivered when PUBACK arrives, and not before`, async () => {
    const { prefix, endpointId } = await one.aProvisionedEndpoint()
    const device = await connected(Number(new URL(one.mqttUrl).port), { clientId: `slow of ${where}` })
    device.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `${prefix}/#`, qos: 1 }] })
    await device.next('suback')
    await boundAt(endpointId)
    const sending = await gateway.send(db.sql, endpointId, push)
    const { messageId } = await device.next('publish')
    assert.ok(await isPending(sending))
    device.send({ cmd: 'puback', messageId: messageId! })
    assert.equal(await sending.delivery, 'delivered')
    // The next push is never acknowledged. Its session ends with the connection, so the push is lost.
    const lost = await gateway.send(db.sql, endpointId, push)
    await device.next('publish')
    device.destroy()
    assert.equal(await lost.delivery, 'offline')
  })

  test(`a push from ${where} is queued in the session of a client that is disconnected or does not acknowledge it`, async () => {
    const { prefix, endpointId } = await one.aProvisionedEndpoint()
    const { username, password } = await one.aBasicCredential()
    const session = { clientId: `keeper of ${where}`, clean: false, username: `${username}@default`, password }
    const device = await one.device(session)
    await device.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
    await boundAt(endpointId)
    device.client.handleMessage = () => {}
    const kept = await gateway.send(db.sql, endpointId, push)
    await device.receives(`${prefix}/command/reboot/status`)
    device.client.stream.destroy()
    assert.equal(await kept.delivery, 'queued')
    await eventually(async () => {
      const [row] = await db.sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
      assert.equal(row?.nodeId, null)
    })
    const committed = await db.tx((sql) => gateway.send(sql, endpointId, { ...push, payload: 'committed' }))
    assert.equal(await committed.delivery, 'queued')
    const rolledBack = db.tx(async (sql) => {
      await gateway.send(sql, endpointId, { ...push, payload: 'rolled back' })
      throw new Error('no')
    })
    await assert.rejects(rolledBack, /no/)
    assert.equal(await from.gateway.send(endpointId, { ...push, payload: 'last' }), 'queued')
    const again = await from.device(session)
    const received: unknown[] = []
    for (let n = 0; n < 3; n++) received.push((await again.receives(`${prefix}/command/reboot/status`)).json)
    assert.deepEqual(received, [push.payload, 'committed', 'last'])
    await again.receivesNothing(20)
    await again.end()
  })
}

test('the result of a push to an endpoint without a connection is "offline", inside and outside of a transaction', async () => {
  const { endpointId } = await one.aProvisionedEndpoint()
  const { db } = one.waypost.kit
  const gateway = one.waypost.ask(Gateway)
  assert.equal(await one.gateway.send(endpointId, push), 'offline')
  const sending = await db.tx((sql) => gateway.send(sql, endpointId, push))
  assert.equal(await sending.delivery, 'offline')
  assert.equal(await one.gateway.send('nobody', push), 'offline')
})

test('a push that arrives twice by signals is sent once', async () => {
  const { PushForwarded } = await import('./signals.ts')
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const device = await one.device()
  await device.publish(`${prefix}/json`, '1')
  const { signals, members, secrets, newId } = two.waypost.kit
  const forwardedPush = {
    id: newId(),
    endpointId,
    sealed: secrets.seal(JSON.stringify(push)),
    sender: members.nodeId,
    hops: 0,
  }
  for (let n = 0; n < 3; n++)
    await signals.sendNow(`node/${one.waypost.kit.members.nodeId}`, PushForwarded, forwardedPush)
  await device.receives(`${prefix}/command/reboot/status`)
  await device.receivesNothing(100)
  await device.end()
})
