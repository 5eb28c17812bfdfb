/**
 * Document 5, 10.2: an anonymous client that resumes a session gets messages of an endpoint and represents the endpoint only after it has
 * presented the token of the endpoint on its present connection. The intruder in these tests has the IP address and the client id of the
 * victim, but no token of the victim.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IClientOptions } from 'mqtt'
import { aDevice, type TestDevice } from '../../test/harness/device.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, services } from '../../test/harness/gateway.ts'
import { connected, type RawClient } from '../../test/harness/mqtt-raw.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'

const environment = { WAYPOST_MASTER_KEY: 'k'.repeat(40) }
const options = { connection: await migratedDatabase(services), environment }
const one = await openGateway(options)
const two = await openGateway(options)
const { sql } = one.waypost.kit.db
const port = Number(new URL(one.mqttUrl).port)
const push = { extension: 'test', resourcePath: '/command/reboot', payload: [{ id: 1 }] }

let names = 0
const aName = () => `victim-${++names}`
const version4 = (clientId: string): IClientOptions => ({ clientId, clean: false, protocolVersion: 4 })
const version5 = (clientId: string): IClientOptions => ({
  clientId,
  clean: false,
  protocolVersion: 5,
  properties: { sessionExpiryInterval: 3600 },
})

type Endpoint = Awaited<ReturnType<typeof one.aProvisionedEndpoint>>
const topicOf = ({ prefix }: Endpoint) => `${prefix}/command/reboot/status`
const payloadOf = (payload: unknown) => ({ ...push, payload })

async function subscribeTo(device: TestDevice, endpoint: Endpoint) {
  await device.client.subscribeAsync(`${endpoint.prefix}/#`, { qos: 1 })
  await eventually(() => assert.ok(one.gateway.isConnected(endpoint.endpointId)))
}

async function disconnect(device: TestDevice, { endpointId }: Endpoint, { db } = one.waypost.kit) {
  await device.end()
  await eventually(async () => {
    const [row] = await db.sql`select node_id, session_key from gateway.bindings where endpoint_id = ${endpointId}`
    assert.equal(row?.nodeId, null)
    assert.ok(row?.sessionKey)
  })
}

/** Creates a disconnected device with a message in its session. */
async function anEndpointWithQueuedPush(open: () => Promise<TestDevice>) {
  const endpoint = await one.aProvisionedEndpoint()
  const device = await open()
  await subscribeTo(device, endpoint)
  await disconnect(device, endpoint)
  assert.equal(await one.gateway.send(endpoint.endpointId, push), 'queued')
  return endpoint
}

const presentations: [name: string, (device: TestDevice, endpoint: Endpoint) => Promise<unknown>][] = [
  ['PUBLISH', (device, { prefix }) => device.publish(`${prefix}/json`, '1')],
  ['SUBSCRIBE', (device, { prefix }) => device.client.subscribeAsync(`${prefix}/#`, { qos: 1 })],
]
const protocols: [name: string, (clientId: string) => Promise<TestDevice>][] = [
  ['MQTT 3.1.1', (clientId) => one.device(version4(clientId))],
  ['MQTT 5', (clientId) => one.device(version5(clientId))],
  ['MQTT 5 over WebSocket', (clientId) => aDevice(`${one.wsUrl}/mqtt`, version5(clientId))],
]
for (const [protocol, open] of protocols)
  for (const [how, presentTo] of presentations)
    test(`queued messages are sent only to a client that presents the token by ${how}: ${protocol}`, async () => {
      const clientId = aName()
      const endpoint = await anEndpointWithQueuedPush(() => open(clientId))
      const intruder = await open(clientId)
      assert.ok(intruder.sessionPresent)
      await intruder.receivesNothing()
      assert.ok(!one.gateway.isConnected(endpoint.endpointId))
      // The intruder presents the token of its own endpoint and subscribes to `#`.
      const intruderEndpoint = await one.aProvisionedEndpoint()
      await intruder.publish(`${intruderEndpoint.prefix}/json`, '1')
      await intruder.client.subscribeAsync('#', { qos: 1 })
      await intruder.receivesNothing()
      await disconnect(intruder, intruderEndpoint)

      const victim = await open(clientId)
      await victim.receivesNothing(50)
      await presentTo(victim, endpoint)
      assert.deepEqual((await victim.receives(topicOf(endpoint))).json, push.payload)
      await eventually(() => assert.ok(one.gateway.isConnected(endpoint.endpointId)))
      assert.equal(await one.gateway.send(endpoint.endpointId, payloadOf('live')), 'delivered')
      assert.equal((await victim.receives(topicOf(endpoint))).json, 'live')
      await victim.receivesNothing(50)
      await victim.end()
    })

test('a client gets only messages of endpoints whose tokens it has presented', async () => {
  const clientId = aName()
  const endpoints = [
    await one.aProvisionedEndpoint(),
    await one.aProvisionedEndpoint(),
    await one.aProvisionedEndpoint(),
  ]
  const hub = await one.device(version4(clientId))
  for (const endpoint of endpoints) await subscribeTo(hub, endpoint)
  await disconnect(hub, endpoints[0]!)
  for (const n of [1, 2])
    for (const { endpointId } of endpoints)
      await eventually(async () => assert.equal(await one.gateway.send(endpointId, payloadOf(n)), 'queued'))
  const again = await one.device(version4(clientId))
  for (const endpoint of endpoints.slice(0, 2)) {
    await again.publish(`${endpoint.prefix}/json`, '1')
    for (const n of [1, 2]) assert.equal((await again.receives(topicOf(endpoint))).json, n)
    await again.receivesNothing(50)
  }
  assert.ok(!one.gateway.isConnected(endpoints[2]!.endpointId))
  await again.end()
})

test('pushes to an endpoint whose token was not presented are queued, although the session is connected', async () => {
  const clientId = aName()
  const endpoint = await anEndpointWithQueuedPush(() => one.device(version4(clientId)))
  const intruder = await one.device(version4(clientId))
  await intruder.client.subscribeAsync('#', { qos: 1 })
  for (const from of [one, two]) assert.equal(await from.gateway.send(endpoint.endpointId, payloadOf('next')), 'queued')
  await intruder.receivesNothing()
  // The intruder connects with the client id of the victim and a clean start.
  const clean = await one.device({ ...version4(clientId), clean: true })
  await clean.client.subscribeAsync('#', { qos: 1 })
  for (const from of [one, two]) assert.equal(await from.gateway.send(endpoint.endpointId, push), 'offline')
  await clean.receivesNothing()
  await clean.end()
})

async function subscribe(client: RawClient, filter: string, qos: 0 | 1 | 2) {
  client.send({ cmd: 'subscribe', messageId: 999, subscriptions: [{ topic: filter, qos }] })
  await client.next('suback')
}
const request = (topic: string, messageId: number, qos: 1 | 2 = 2) =>
  ({ cmd: 'publish', topic, payload: '1', qos, messageId, retain: false, dup: false }) as const

test('unacknowledged messages are sent again with the same packet ids, and only to a client that presents the token', async () => {
  const clientId = aName()
  const { prefix, endpointId } = await one.aProvisionedEndpoint()
  const options = { clientId, clean: false }
  const victim = await connected(port, options)
  await subscribe(victim, `${prefix}/#`, 1)
  await eventually(() => assert.ok(one.gateway.isConnected(endpointId)))
  await one.gateway.startSend(endpointId, push)
  const unacknowledged = await victim.next('publish')
  victim.send(request(`${prefix}/json/7`, 1), request(`${prefix}/json/8`, 2))
  const answers: { messageId?: number | undefined; topic: string }[] = []
  while (answers.length < 2) {
    const packet = await victim.next()
    if (packet.cmd === 'publish') answers.push(packet)
  }
  const [half, unseen] = answers
  victim.send({ cmd: 'pubrec', messageId: half!.messageId! })
  while ((await victim.next()).cmd !== 'pubrel');

  // The intruder takes over the session while the victim is connected, and acknowledges all packet ids.
  const intruder = await connected(port, options)
  assert.equal(intruder.connack.sessionPresent, true)
  await victim.closed()
  for (let messageId = 1; messageId <= 10; messageId++) {
    intruder.send({ cmd: 'puback', messageId }, { cmd: 'pubrec', messageId })
    assert.equal((await intruder.next('pubrel')).messageId, messageId)
    intruder.send({ cmd: 'pubcomp', messageId })
  }
  const intruderEndpoint = await one.aProvisionedEndpoint()
  await subscribe(intruder, `${intruderEndpoint.prefix}/#`, 1)
  await eventually(() => assert.ok(one.gateway.isConnected(intruderEndpoint.endpointId)))
  await one.gateway.startSend(intruderEndpoint.endpointId, push)
  const fresh = await intruder.next('publish')
  assert.equal(fresh.topic, topicOf(intruderEndpoint))
  const packetIds = [unacknowledged, half!, unseen!].map(({ messageId }) => messageId)
  assert.ok(!packetIds.includes(fresh.messageId))
  intruder.destroy()

  for (const at of [one, two]) {
    const again = await connected(Number(new URL(at.mqttUrl).port), options)
    assert.equal(again.connack.sessionPresent, true)
    again.send({ cmd: 'pingreq' })
    assert.equal((await again.next()).cmd, 'pingresp')
    again.send({ cmd: 'subscribe', messageId: 999, subscriptions: [{ topic: `${prefix}/#`, qos: 1 }] })
    const packets = [await again.next(), await again.next(), await again.next(), await again.next()]
    assert.deepEqual(
      packets.flatMap((packet) => {
        if (packet.cmd === 'publish') return [[packet.topic, packet.dup, packet.messageId]]
        return packet.cmd === 'pubrel' ? [['PUBREL', packet.messageId]] : []
      }),
      [
        [unacknowledged.topic, true, packetIds[0]],
        ['PUBREL', packetIds[1]],
        [unseen!.topic, true, packetIds[2]],
      ],
    )
    again.destroy()
    await eventually(() => assert.ok(!at.gateway.isConnected(endpointId)))
  }
})

test('an intruder that takes over the session of a victim on another node gets no message of the session', async () => {
  const clientId = aName()
  const endpoint = await one.aProvisionedEndpoint()
  const victim = await one.device(version5(clientId))
  await subscribeTo(victim, endpoint)
  victim.client.handleMessage = () => {}
  await one.gateway.startSend(endpoint.endpointId, payloadOf('in flight'))
  await victim.receives(topicOf(endpoint))

  const intruder = await two.device(version5(clientId))
  assert.ok(intruder.sessionPresent)
  await victim.closed()
  await eventually(async () => {
    const [row] = await sql`select node_id from gateway.bindings where endpoint_id = ${endpoint.endpointId}`
    assert.equal(row?.nodeId, null)
  })
  for (const from of [one, two])
    assert.equal(await from.gateway.send(endpoint.endpointId, payloadOf('later')), 'queued')
  await intruder.receivesNothing()
  assert.ok(!two.gateway.isConnected(endpoint.endpointId))

  const back = await one.device(version5(clientId))
  await intruder.closed()
  await back.receivesNothing(50)
  await back.publish(`${endpoint.prefix}/json`, '1')
  for (const expected of ['in flight', 'later', 'later'])
    assert.equal((await back.receives(topicOf(endpoint))).json, expected)
  await back.end()
})

test('a client with credentials gets queued messages without presenting a token', async () => {
  const clientId = aName()
  const { username, password } = await one.aBasicCredential()
  const open = () => one.device({ ...version4(clientId), username: `${username}@default`, password })
  const endpoint = await anEndpointWithQueuedPush(open)
  const anonymous = await one.device(version4(clientId))
  assert.ok(!anonymous.sessionPresent)
  const again = await open()
  assert.deepEqual((await again.receives(topicOf(endpoint))).json, push.payload)
  await eventually(() => assert.ok(one.gateway.isConnected(endpoint.endpointId)))
  await again.end()
})

test('the error about an unknown token is sent only to the connection that used this token', async () => {
  const clientId = aName()
  const { version, prefix } = await one.aProvisionedEndpoint()
  const victim = await connected(port, { clientId, clean: false })
  victim.send(request(`kp1/${version}/test/mistyped/json`, 1, 1), request(`${prefix}/nothing/1`, 2, 1))
  while ((await victim.next('publish').catch(() => undefined))?.topic !== `${prefix}/nothing/1/status`);
  victim.destroy()
  const intruder = await connected(port, { clientId, clean: false })
  assert.equal(intruder.connack.sessionPresent, true)
  intruder.send({ cmd: 'pingreq' })
  assert.equal((await intruder.next()).cmd, 'pingresp')
  intruder.destroy()
})

test('UNSUBSCRIBE does not reveal to an anonymous client which tokens a session has subscribed to', async () => {
  const clientId = aName()
  const endpoint = await anEndpointWithQueuedPush(() => one.device(version5(clientId)))
  const intruder = await connected(port, { clientId, clean: false, protocolVersion: 5 })
  const filter = (token: string) => `kp1/${endpoint.version}/test/${token}/#`
  intruder.send({
    cmd: 'unsubscribe',
    messageId: 1,
    unsubscriptions: [filter('guess'), filter(endpoint.token), 'else'],
  })
  const { granted } = (await intruder.next('unsuback')) as { granted?: number[] }
  assert.deepEqual(granted, [0, 0, 0x11])
  intruder.destroy()
})

test('QoS 2 packet ids of an earlier client do not suppress messages of the next client of the session', async () => {
  const clientId = aName()
  const [theirs, mine] = [await one.aProvisionedEndpoint(), await one.aProvisionedEndpoint()]
  const intruder = await connected(port, { clientId, clean: false })
  for (const topic of [`${theirs.prefix}/json`, `kp1/${theirs.version}/test/guess/json`, 'elsewhere'])
    for (const messageId of [1, 2]) {
      intruder.send(request(topic, messageId))
      while ((await intruder.next()).cmd !== 'pubrec');
    }
  intruder.destroy()
  const victim = await connected(port, { clientId, clean: false })
  assert.equal(victim.connack.sessionPresent, true)
  const before = one.test.messages.length
  for (const dup of [false, true]) {
    victim.send({ ...request(`${mine.prefix}/json`, 1), dup })
    while ((await victim.next()).cmd !== 'pubrec');
  }
  const noted = one.test.messages.slice(before).map(({ endpoint }) => endpoint.endpointId)
  assert.deepEqual(noted, [mine.endpointId])
  victim.destroy()
})

test('queued messages whose token was not presented count towards the limit of the session, and expire', async () => {
  const fixture = await openGateway({ environment: { ...environment, WAYPOST_MQTT_QUEUED_MESSAGES: '3' } })
  const clientId = aName()
  const [withheld, presented] = [await fixture.aProvisionedEndpoint(), await fixture.aProvisionedEndpoint()]
  const victim = await fixture.device(version4(clientId))
  for (const { prefix } of [withheld, presented]) await victim.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  for (const { endpointId } of [withheld, presented])
    await eventually(() => assert.ok(fixture.gateway.isConnected(endpointId)))
  await disconnect(victim, withheld, fixture.waypost.kit)
  for (const _ of [1, 2]) assert.equal(await fixture.gateway.send(withheld.endpointId, push), 'queued')
  const intruder = await fixture.device(version4(clientId))
  assert.equal(await fixture.gateway.send(withheld.endpointId, push), 'queued')
  assert.equal(await fixture.gateway.send(withheld.endpointId, push), 'offline')
  // The queued messages of the first endpoint fill the session, so pushes to the other endpoint are dropped too.
  await intruder.publish(`${presented.prefix}/json`, '1')
  assert.equal(await fixture.gateway.send(presented.endpointId, push), 'offline')
  await intruder.receivesNothing(50)
  await intruder.end()

  const { db, now } = fixture.waypost.kit
  const messages = () => db.sql`select from gateway.session_messages`
  assert.equal((await messages()).length, 3)
  const sweep = fixture.waypost.built.get('gateway')!.periodic!.find(({ name }) => name === 'gateway.expired-sessions')!
  await db.sql`update gateway.sessions set expires_at = null`
  await db.sql`update gateway.session_messages set taken_at = ${new Date(now().getTime() - 8 * 86_400_000)}`
  await db.tx((sql) => sweep.run(sql))
  assert.equal((await messages()).length, 0)
})
