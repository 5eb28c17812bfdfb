/** MQTT sessions and pushes with two nodes on one database. */
import assert from 'node:assert/strict'
import { connect as connectSocket } from 'node:net'
import { test } from 'node:test'
import type { TestDevice } from '../../test/harness/device.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, services } from '../../test/harness/gateway.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'
import { sleep } from '../kernel/clock.ts'
import { resetAllNodes } from '../kernel/signals.ts'
import { defaultLimits } from './mqtt/limits.ts'
import { singleNodeClaims } from './session-claims.ts'
import { createSessionStore } from './store/sessions.ts'

const options = { connection: await migratedDatabase(services), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const one = await openGateway(options)
const two = await openGateway(options)
const { sql } = one.waypost.kit.db
const push = { extension: 'test', resourcePath: '/command/reboot', payload: [{ id: 1 }] }

/** Collects the MQTT 5 codes with which the platform ended a connection. */
function codesOf({ client }: TestDevice) {
  const codes: (number | undefined)[] = []
  client.on('disconnect', ({ reasonCode }) => codes.push(reasonCode))
  return codes
}
const { username, password } = await one.aBasicCredential()
/** Options of a client with a session and credentials. Without credentials, the client would have to present its tokens again. */
const session = (clientId: string) => ({
  clientId,
  clean: false,
  protocolVersion: 4 as const,
  username: `${username}@default`,
  password,
})

test('a push reaches an endpoint that is connected to another node', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const sensor = await one.device()
  await sensor.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.equal(await two.gateway.send(endpointId, push), 'delivered'))
  await sensor.receives(`${prefix}/command/reboot/status`)
  // The endpoint moves between nodes: the connection that sent the last message represents it.
  const moved = await two.device()
  await moved.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.equal((await two.metadataOf(endpointId)).connected, true))
  await eventually(() => assert.ok(!one.gateway.isConnected(endpointId)))
  for (const from of [one, two]) {
    await eventually(async () => assert.equal(await from.gateway.send(endpointId, push), 'delivered'))
    await moved.receives(`${prefix}/command/reboot/status`)
  }
  await sensor.receivesNothing(0)
  assert.ok(sensor.client.connected)
})

test('pushes of any size reach another node in order', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const there = await two.device()
  await there.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.equal(await one.gateway.send(endpointId, push), 'delivered'))
  const sizes = [300_000, 10, 7000, 1, 6500, 20]
  for (const size of sizes)
    assert.equal(await one.gateway.send(endpointId, { ...push, payload: 'ü'.repeat(size) }), 'delivered')
  const topic = `${prefix}/command/reboot/status`
  await there.receives(topic)
  for (const size of sizes) assert.equal((await there.receives(topic)).json.length, size)
  await there.end()
})

test('messages that are identified after their connection has closed do not move the endpoint from another node', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const there = await two.device()
  await there.publish(`${prefix}/json`, '1')
  await eventually(async () => assert.equal(await one.gateway.send(endpointId, push), 'delivered'))
  await there.receives(`${prefix}/command/reboot/status`)
  const messagesBefore = one.test.messages.length
  const { hostname, port } = new URL(one.mqttUrl)
  const text = (value: string) => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)])
  const packet = (header: number, ...parts: Buffer[]) =>
    Buffer.concat([Buffer.from([header, Buffer.concat(parts).length]), ...parts])
  const connectPacket = packet(0x10, text('MQTT'), Buffer.from([4, 2, 0, 0]), text('in-passing'))
  const publishPacket = packet(0x30, text(`${prefix}/json`), Buffer.from('1'))
  connectSocket(Number(port), hostname)
    .on('error', () => {})
    .end(Buffer.concat([connectPacket, publishPacket, packet(0xe0)]))
  await eventually(() => assert.equal(one.test.messages.length, messagesBefore + 1))
  // Connectivity is written in batches every 50 ms, so the test waits until the next batch is written.
  await sleep(120)
  assert.ok(two.gateway.isConnected(endpointId))
  assert.equal((await two.metadataOf(endpointId)).connected, true)
  assert.equal(await one.gateway.send(endpointId, push), 'delivered')
  await there.receives(`${prefix}/command/reboot/status`)
  await there.end()
})

test('when a client connects to another node, the first node closes its connection; other clients stay connected', async () => {
  const { username, password } = await one.aBasicCredential()
  const theirs = await one.aBasicCredential(one.other)
  const mine = { clientId: 'roamer', username: `${username}@default`, password, protocolVersion: 5 as const }
  const first = await one.device(mine)
  const codes = codesOf(first)
  const anonymous = await one.device({ clientId: 'roamer' })
  const clientOfOtherTenant = await one.device({
    ...mine,
    username: `${theirs.username}@other`,
    password: theirs.password,
  })
  const otherDevice = await one.device({ ...mine, clientId: 'roamer-2' })
  const second = await two.device(mine)
  await first.closed()
  assert.deepEqual(codes, [0x8e])
  // The client connects to the first node again, with a clean start.
  const back = codesOf(second)
  const third = await one.device({ ...mine, clean: true })
  await second.closed()
  assert.deepEqual(back, [0x8e])
  await third.receivesNothing(60)
  for (const { client } of [anonymous, clientOfOtherTenant, otherDevice, third]) assert.ok(client.connected)
})

test('a session moves to the new node with its subscriptions, unacknowledged and queued messages', async () => {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const first = await one.device(session('mover'))
  await first.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  await eventually(() => assert.ok(one.gateway.isConnected(endpointId)))
  // The client does not acknowledge this message. Before the move, the message exists only in the memory of the first node.
  first.client.handleMessage = () => {}
  const { delivery } = await one.gateway.startSend(endpointId, push)
  await first.receives(`${prefix}/command/reboot/status`)
  const second = await two.device(session('mover'))
  assert.equal(second.sessionPresent, true)
  assert.deepEqual((await second.receives(`${prefix}/command/reboot/status`)).json, [{ id: 1 }])
  await first.closed()
  assert.equal(await delivery, 'queued')
  await eventually(() => assert.ok(two.gateway.isConnected(endpointId) && !one.gateway.isConnected(endpointId)))
  await eventually(async () => assert.equal((await two.metadataOf(endpointId)).connected, true))
  // If the first node already has the signal about the new connection, it forwards the message; otherwise it queues the message. The
  // message arrives in both cases.
  for (const n of [2, 3, 4]) {
    assert.notEqual(await one.gateway.send(endpointId, { ...push, payload: n }), 'offline')
    assert.equal((await second.receives(`${prefix}/command/reboot/status`)).json, n)
  }
  await second.end()
  await eventually(async () => {
    const [row] = await sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
    assert.equal(row?.nodeId, null)
  })
  assert.equal(await one.gateway.send(endpointId, { ...push, payload: 'later' }), 'queued')
  const third = await one.device(session('mover'))
  assert.equal((await third.receives(`${prefix}/command/reboot/status`)).json, 'later')
  await third.receivesNothing(50)
  await third.end()
})

/** Creates a device that is connected to the second node, with a session that subscribes to all topics of its endpoint. */
async function aMovedDevice(clientId: string) {
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const device = await two.device(session(clientId))
  await device.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  await eventually(async () => {
    const [row] = await sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
    assert.ok(row?.nodeId)
  })
  return { device, endpointId, topic: `${prefix}/command/reboot/status` }
}

test('a message that one node queues for a client of another node is sent to the client once', async () => {
  const { device, endpointId, topic } = await aMovedDevice('queued-elsewhere')
  await sql`update gateway.bindings set node_id = null where endpoint_id = ${endpointId}`
  const payloads = Array.from({ length: 20 }, (_, n) => n)
  const outcomes = await Promise.all(payloads.map((payload) => one.gateway.send(endpointId, { ...push, payload })))
  assert.deepEqual(new Set(outcomes), new Set(['queued']))
  const received: unknown[] = []
  for (const _ of payloads) received.push((await device.receives(topic)).json)
  assert.deepEqual(
    received.sort((a, b) => Number(a) - Number(b)),
    payloads,
  )
  await device.receivesNothing(50)
  // The message was acknowledged and therefore deleted.
  await eventually(async () => {
    assert.deepEqual(
      [...(await sql`select from gateway.session_messages where session_key like '%queued-elsewhere'`)],
      [],
    )
  })
  await device.end()
})

test('a push that is forwarded to a node after the client has disconnected from it is queued in the session', async () => {
  const { device, endpointId, topic } = await aMovedDevice('just-left')
  const [{ nodeId } = {}] = await sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
  await device.end()
  await eventually(async () => {
    const [row] = await sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
    assert.equal(row?.nodeId, null)
  })
  await sql`update gateway.bindings set node_id = ${nodeId} where endpoint_id = ${endpointId}`
  assert.equal(await one.gateway.send(endpointId, push), 'queued')
  await eventually(async () => {
    const rows = await sql`select from gateway.session_messages where session_key like '%just-left'`
    assert.equal(rows.length, 1)
  })
  const again = await one.device(session('just-left'))
  assert.deepEqual((await again.receives(topic)).json, push.payload)
  await again.receivesNothing(50)
  await again.end()
})

test('after missed signals, a node learns which sessions were taken over and which messages were queued', async () => {
  const stayed = await aMovedDevice('stayed')
  const taken = await aMovedDevice('taken')
  const wiped = await aMovedDevice('wiped')
  await sql`update gateway.sessions set claim = nextval('gateway.session_claims') where session_key like '%taken'`
  await sql`delete from gateway.sessions where session_key like '%wiped'`
  const store = createSessionStore({ ...one.waypost.kit, claims: singleNodeClaims('elsewhere') }, defaultLimits)
  const { topic } = stayed
  const key = (await sql`select session_key from gateway.sessions where session_key like '%stayed'`)[0]!.sessionKey
  assert.equal(await store.enqueue(key, { topic, payload: Buffer.from('"missed"'), qos: 1 }), 'queued')
  await stayed.device.receivesNothing(50)
  await resetAllNodes(sql)
  assert.equal((await stayed.device.receives(topic)).json, 'missed')
  await taken.device.closed()
  await wiped.device.closed()
  assert.ok(stayed.device.client.connected)
  await stayed.device.end()
})

test('a clean start on another node discards the session, even if the first connection ends later', async () => {
  const { prefix } = await one.aProvisionedEndpoint()
  const first = await one.device(session('cleaner'))
  await first.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  const second = await two.device({ ...session('cleaner'), clean: true })
  assert.equal(second.sessionPresent, false)
  await first.closed()
  await second.end()
  const third = await one.device(session('cleaner'))
  assert.equal(third.sessionPresent, false)
  await third.end()
})

test('a client that repeatedly connects to both nodes at the same time ends up with one connection and its session', async () => {
  const { prefix } = await one.aProvisionedEndpoint()
  const first = await one.device(session('twins'))
  await first.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  const connecting = Array.from({ length: 8 }, (_, n) => (n % 2 ? one : two).device(session('twins')))
  const devices = (await Promise.allSettled(connecting)).flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value] : [],
  )
  await eventually(() => assert.equal(devices.filter(({ client }) => client.connected).length, 1))
  const winner = devices.find(({ client }) => client.connected)!
  await first.closed()
  await winner.end()
  await eventually(async () => {
    assert.equal((await sql`select from gateway.holders where session_key like '%twins'`).length, 0)
  })
  const last = await two.device(session('twins'))
  assert.equal(last.sessionPresent, true)
  await last.end()
})

test('a CONNECT waits only a short time for a node that does not release the session', async () => {
  const { prefix } = await one.aProvisionedEndpoint()
  const waiting = await one.device(session('stuck'))
  await waiting.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  await waiting.end()
  // This row belongs to a node that has just stopped.
  await sql`insert into kernel.nodes (id, version) values ('stopped', 'test')`
  const [row] = await sql`select session_key from gateway.sessions where session_key like '%stuck'`
  await eventually(async () =>
    assert.equal((await sql`select from gateway.holders where session_key = ${row!.sessionKey}`).length, 0),
  )
  await sql`insert into gateway.holders (session_key, node_id, claim) values (${row!.sessionKey}, 'stopped', 0)`
  await two.waypost.kit.members.refresh()
  const started = performance.now()
  const again = await two.device(session('stuck'))
  assert.equal(again.sessionPresent, true)
  assert.ok(performance.now() - started < 4000)
  await again.end()
  await sql`delete from kernel.nodes where id = 'stopped'`
})

test('after a newer connection has claimed the session, session writes of an older connection are ignored', async () => {
  const { kit } = one.waypost
  const [old, fresh] = ['old', 'fresh'].map((name) =>
    createSessionStore({ ...kit, claims: singleNodeClaims(name) }, defaultLimits),
  )
  const filters = (...names: string[]) => ({
    expirySeconds: 60,
    subscriptions: names.map((filter) => ({ filter, qos: 1 as const })),
  })
  const known = async () => (await fresh!.load('fenced'))?.subscriptions.map(({ filter }) => filter)
  const before = await old!.claim('fenced', false)
  await old!.save('fenced', before, filters('old'))
  const claim = await fresh!.claim('fenced', false)
  assert.ok(claim > before)
  await fresh!.save('fenced', claim, filters('fresh'))
  const queued = {
    message: { topic: 't', payload: Buffer.alloc(0), qos: 1 as const },
    packetId: 1,
    released: false,
    queuedAt: 0,
  }
  await old!.save('fenced', before, filters('old', 'older'))
  await old!.leave('fenced', before, { ...filters('old'), received: [[7, 1]], messages: [queued] }, 'fresh')
  await old!.discard('fenced', before)
  assert.deepEqual(await known(), ['fresh'])
  assert.deepEqual((await fresh!.load('fenced'))?.messages, [])
  await fresh!.leave('fenced', claim, { ...filters('fresh'), received: [], messages: [queued] }, undefined)
  assert.equal((await old!.load('fenced'))?.messages.length, 1)
  await fresh!.discard('fenced', claim)
  assert.equal(await known(), undefined)
})
