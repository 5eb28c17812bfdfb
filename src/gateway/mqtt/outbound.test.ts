import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Packet } from 'mqtt-packet'
import { eventually } from '../../../test/harness/eventually.ts'
import { connected } from '../../../test/harness/mqtt-raw.ts'
import { openMqttServer } from '../../../test/harness/mqtt-server.ts'
import { sleep } from '../../kernel/clock.ts'
import type { Message, Qos } from './host.ts'

const message = (topic: string, qos: Qos = 0, more: Partial<Message> = {}): Message => ({
  topic,
  payload: Buffer.from(topic),
  qos,
  ...more,
})

async function withClient(
  options: Parameters<typeof connected>[1] = {},
  waypost: Parameters<typeof openMqttServer>[0] = {},
) {
  const opened = await openMqttServer(waypost)
  const client = await connected(opened.port, options)
  return { waypost: opened, client, connection: opened.connections.get('client')! }
}

test('the server sends messages of every QoS, with their properties', async () => {
  const { client, connection } = await withClient({ protocolVersion: 5 })
  const properties = {
    payloadFormatIndicator: true,
    messageExpiryInterval: 60,
    contentType: 'application/json',
    responseTopic: 'answers/here',
    correlationData: Buffer.from('id'),
    userProperties: { a: ['1', '2'], b: 'ü' },
    subscriptionIdentifier: [1, 300],
  }
  connection.send(message('ä', 0, { properties, retain: true }))
  connection.send(message('b', 1))
  connection.send(message('c', 2))
  const first = await client.next('publish')
  assert.deepEqual([first.topic, first.retain, first.qos], ['ä', true, 0])
  const { userProperties, ...others } = first.properties!
  assert.deepEqual({ ...others, userProperties: { ...userProperties } }, properties)
  const [second, third] = [await client.next('publish'), await client.next('publish')]
  assert.deepEqual([second.messageId, third.messageId], [1, 2])
  client.send({ cmd: 'puback', messageId: 1 }, { cmd: 'pubrec', messageId: 2 })
  assert.equal((await client.next('pubrel')).messageId, 2)
  client.send({ cmd: 'pubcomp', messageId: 2 })
  connection.send(message('d', 1))
  assert.equal((await client.next('publish')).messageId, 3)
})

test('messages of one turn of the event loop are sent in one write', async () => {
  const { client, connection } = await withClient()
  let chunks = 0
  client.socket.on('data', () => chunks++)
  for (let index = 0; index < 100; index++) connection.send(message('t', 1))
  for (let index = 0; index < 32; index++) await client.next('publish')
  assert.equal(chunks, 1)
})

test('the server sends no more unacknowledged messages than the receive maximum, and keeps their order', async () => {
  const { client, connection } = await withClient({ protocolVersion: 5, properties: { receiveMaximum: 2 } })
  for (let index = 1; index <= 6; index++) connection.send(message(`${index}`, index % 2 ? 1 : 2))
  const [one, two] = [await client.next('publish'), await client.next('publish')]
  await sleep(30)
  assert.equal(client.received.length, 3)
  client.send({ cmd: 'puback', messageId: one.messageId! })
  assert.equal((await client.next('publish')).topic, '3')
  client.send({ cmd: 'pubrec', messageId: two.messageId!, reasonCode: 0x97 })
  assert.equal((await client.next('publish')).topic, '4')
})

test('a client may acknowledge messages in any order; messages without an acknowledgement are sent again in the order of sending', async () => {
  const options = { clean: false }
  const { waypost, client, connection } = await withClient(options)
  for (let index = 1; index <= 6; index++) connection.send(message(`${index}`, 1))
  const sent = []
  for (let index = 1; index <= 6; index++) sent.push((await client.next('publish')).messageId!)
  for (const index of [3, 0, 5]) client.send({ cmd: 'puback', messageId: sent[index]! })
  connection.send(message('7', 1))
  await client.next('publish')
  client.socket.destroy()
  await eventually(() => assert.equal(waypost.disconnected.length, 1))
  const again = await connected(waypost.port, options)
  const topics = []
  for (let index = 0; index < 4; index++) topics.push((await again.next('publish')).topic)
  assert.deepEqual(topics, ['2', '3', '5', '7'])
})

test('an acknowledgement of the wrong type ends the connection, an acknowledgement of an unknown message does not', async () => {
  const { waypost, client, connection } = await withClient({ protocolVersion: 5 })
  client.send({ cmd: 'puback', messageId: 77 }, { cmd: 'pubcomp', messageId: 77 }, { cmd: 'pubrec', messageId: 77 })
  assert.equal((await client.next('pubrel')).reasonCode, 0x92)
  connection.send(message('t', 2))
  const { messageId } = await client.next('publish')
  client.send({ cmd: 'puback', messageId: messageId! })
  assert.equal((await client.next('disconnect')).reasonCode, 0x82)
  assert.equal(waypost.disconnected.length, 1)
})

test('the server drops messages above the maximum packet size of the client', async () => {
  const { client, connection } = await withClient({ protocolVersion: 5, properties: { maximumPacketSize: 40 } })
  connection.send(message('large', 1, { payload: Buffer.alloc(40) }))
  connection.send(message('large', 0, { payload: Buffer.alloc(40) }))
  connection.send(message('small', 1))
  assert.equal((await client.next('publish')).topic, 'small')
  client.send('30 04 0001 01 00')
  const { reasonCode, properties } = await client.next('disconnect')
  assert.deepEqual([reasonCode, properties?.reasonString], [0x81, undefined])
})

test('a connection accepts exactly the messages that fit the maximum packet size of the client', async () => {
  const properties = { topicAliasMaximum: 1, maximumPacketSize: 40 }
  const { client, connection } = await withClient({ protocolVersion: 5, properties })
  const topic = 'a/long/topic'
  const ofSize = (bytes: number, qos: Qos) => message(topic, qos, { payload: Buffer.alloc(bytes) })
  // Fixed header 2, length of the topic 2, topic 12, length of the properties 1, at QoS 1 the packet id 2.
  const largest = { 0: 23, 1: 21 }
  for (const qos of [0, 1] as const) {
    assert.deepEqual(
      [0, 1].map((more) => connection.accepts(ofSize(largest[qos] + more, qos))),
      [true, false],
    )
    // The message fits only without a new alias.
    connection.send(ofSize(largest[qos], qos))
    assert.deepEqual((await client.next('publish')).payload, Buffer.alloc(largest[qos]))
  }
  connection.send(message(topic))
  await client.next('publish')
  // With a known alias, three bytes replace the topic.
  assert.deepEqual(
    [9, 10].map((more) => connection.accepts(ofSize(largest[0] + more, 0))),
    [true, false],
  )
  connection.send(ofSize(largest[0] + 9, 0))
  assert.equal((await client.next('publish')).payload.length, largest[0] + 9)
})

test('the server uses as many topic aliases as the client allows', async () => {
  const { client, connection } = await withClient({
    protocolVersion: 5,
    properties: { topicAliasMaximum: 1, maximumPacketSize: 50 },
  })
  connection.send(message('too-large', 0, { payload: Buffer.alloc(100) }))
  for (const topic of ['a', 'b', 'a', 'b']) connection.send(message(topic))
  const seen: unknown[] = []
  for (let index = 0; index < 4; index++) {
    const { topic, properties } = await client.next('publish')
    seen.push([topic, properties?.topicAlias])
  }
  assert.deepEqual(seen, [
    ['a', 1],
    ['b', undefined],
    ['', 1],
    ['b', undefined],
  ])
})

test('messages that expire in the queue are dropped, and a message that is sent contains its remaining expiry', async () => {
  const { client, connection } = await withClient({ protocolVersion: 5, properties: { receiveMaximum: 1 } })
  const expiring = (topic: string, messageExpiryInterval: number) =>
    connection.send(message(topic, 1, { properties: { messageExpiryInterval } }))
  expiring('first', 10)
  expiring('short', 1)
  expiring('long', 10)
  const first = await client.next('publish')
  assert.equal(first.properties?.messageExpiryInterval, 10)
  await sleep(1100)
  client.send({ cmd: 'puback', messageId: first.messageId! })
  const { topic, properties } = await client.next('publish')
  assert.deepEqual([topic, properties?.messageExpiryInterval], ['long', 9])
})

test('the server rejects messages while the queue is full, and accepts them again after acknowledgements', async () => {
  const { client, waypost, connection } = await withClient({}, { limits: { inFlightMax: 1, queuedMessagesMax: 3 } })
  const sent = [1, 2, 3, 4].map((index) => connection.send(message(`${index}`, 1)))
  assert.deepEqual(sent, [true, true, true, false])
  assert.equal(await waypost.sessions.deliver(connection.sessionKey, message('5', 1)), 'full')
  client.send({ cmd: 'puback', messageId: (await client.next('publish')).messageId! })
  await client.next('publish')
  assert.equal(await waypost.sessions.deliver(connection.sessionKey, message('6', 1)), 'sent')
  assert.equal(connection.send(message('large', 1, { payload: Buffer.alloc(5_000_000) })), false)
})

test('a message for a session whose client does not accept so large a packet is not reported as sent', async () => {
  const { client, waypost, connection } = await withClient({
    protocolVersion: 5,
    properties: { maximumPacketSize: 100 },
  })
  const large = message('large', 1, { payload: Buffer.alloc(200) })
  assert.equal(await waypost.sessions.deliver(connection.sessionKey, large), 'too_large')
  assert.equal(await waypost.sessions.deliver(connection.sessionKey, message('small', 1)), 'sent')
  assert.equal((await client.next('publish')).topic, 'small')
})

test('a client that stops reading gets no further messages and is disconnected', async () => {
  const { client, waypost, connection } = await withClient(
    {},
    { limits: { unsentBytesMax: 100_000, slowReaderSeconds: 1 } },
  )
  client.socket.pause()
  const payload = Buffer.alloc(20_000)
  let dropped = 0
  await eventually(
    () => {
      for (let index = 0; index < 10; index++) if (!connection.send(message('t', 0, { payload }))) dropped++
      assert.ok(dropped > 0)
    },
    { everyMs: 1 },
  )
  const bufferedBytes = waypost.sockets[0]!.writableLength
  assert.ok(bufferedBytes < 500_000, `the server buffers ${bufferedBytes} bytes`)
  await eventually(() => assert.equal(connection.open, false))
  assert.match(waypost.disconnected[0]!.why, /does not read/)
  await eventually(() => assert.equal(waypost.sessions.count(), 0))
})

test('a client that continues to read gets the queued messages', async () => {
  const { client, connection } = await withClient({}, { limits: { unsentBytesMax: 100_000, inFlightMax: 1000 } })
  client.socket.pause()
  const payload = Buffer.alloc(20_000)
  let sent = 0
  while (sent < 200 && connection.send(message('t', 1, { payload }))) {
    sent++
    if (sent % 10 === 0) await new Promise(setImmediate)
  }
  client.socket.resume()
  for (let index = 0; index < sent; index++) await client.next('publish')
})

test('the host may close a connection with a reason', async () => {
  const codes = {
    taken_over: 0x8e,
    not_authorized: 0x87,
    administrative: 0x98,
    shutting_down: 0x8b,
    quota_exceeded: 0x97,
    protocol_error: 0x82,
  } as const
  for (const [reason, code] of Object.entries(codes)) {
    const { client, waypost, connection } = await withClient({ protocolVersion: 5 })
    connection.close(reason as keyof typeof codes, 'because')
    const { reasonCode, properties } = await client.next('disconnect')
    assert.deepEqual([reasonCode, properties?.reasonString], [code, reason.replaceAll('_', ' ')])
    await client.closed()
    assert.equal(connection.open, false)
    assert.equal(connection.send(message('t')), false)
    const [{ clientId, graceful, why }] = waypost.disconnected as [(typeof waypost.disconnected)[0]]
    assert.deepEqual([clientId, graceful, why], ['client', false, 'because'])
  }
})

test('an error of the host for one connection does not affect other connections', async () => {
  const fail = () => {
    throw new Error('a bug')
  }
  const waypost = await openMqttServer({ host: { connected: fail, disconnected: fail, refused: fail } })
  const client = await connected(waypost.port, { protocolVersion: 5 })
  assert.equal((await client.next('disconnect')).reasonCode, 0x80)
  await client.closed()
  const other = await openMqttServer({ host: { subscribe: () => [], unsubscribe: fail } })
  for (const packet of [
    { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 't', qos: 0 }] },
    { cmd: 'unsubscribe', messageId: 1, unsubscriptions: ['t'] },
  ] satisfies Packet[]) {
    const client = await connected(other.port, { protocolVersion: 5 })
    client.send(packet)
    assert.equal((await client.next('disconnect')).reasonCode, 0x80)
  }
})

test('a host that sends without limit within one turn of the event loop does not exhaust the memory', async () => {
  const { connection, waypost, client } = await withClient({}, { limits: { unsentBytesMax: 200_000 } })
  client.socket.pause()
  const payload = Buffer.alloc(50_000)
  let kept = 0
  for (let index = 0; index < 1000; index++) if (connection.send(message('t', 0, { payload }))) kept++
  assert.ok(kept < 100, `the server kept ${kept} messages`)
  assert.ok(waypost.sockets[0]!.writableLength < 1_000_000)
})
