import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IPublishPacket } from 'mqtt-packet'
import { eventually } from '../../../test/harness/eventually.ts'
import { connected } from '../../../test/harness/mqtt-raw.ts'
import { openMqttServer } from '../../../test/harness/mqtt-server.ts'
import { sleep } from '../../kernel/clock.ts'
import type { PublishCode } from './host.ts'

const publish = (topic: string, options: Partial<IPublishPacket> = {}): IPublishPacket => ({
  cmd: 'publish',
  topic,
  payload: Buffer.from('payload'),
  qos: 0,
  dup: false,
  retain: false,
  ...options,
})

/** Creates a host whose pending results the test can settle in any order. */
function hostThatWaits() {
  const pending: { payload: string; resolve(code?: PublishCode): void; reject(error: Error): void }[] = []
  const host = {
    publish: (_: unknown, { payload }: { payload: Buffer }) =>
      new Promise<PublishCode | undefined>((resolve, reject) => {
        pending.push({ payload: payload.toString(), resolve, reject })
      }),
  }
  return { pending, host }
}

test('the server passes messages of every QoS to the host, with their properties', async () => {
  const { port, published } = await openMqttServer()
  const client = await connected(port, { protocolVersion: 5 })
  const properties = {
    payloadFormatIndicator: true,
    messageExpiryInterval: 60,
    contentType: 'application/json',
    responseTopic: 'answers/here',
    correlationData: Buffer.from('id'),
    userProperties: { a: ['1', '2'], __proto__x: 'y' },
  }
  client.send(
    publish('über/alles', { properties }),
    publish('b', { qos: 1, messageId: 1, retain: true }),
    publish('c', { qos: 2, messageId: 2, payload: Buffer.alloc(0) }),
  )
  assert.deepEqual([(await client.next('puback')).messageId, (await client.next('pubrec')).messageId], [1, 2])
  client.send({ cmd: 'pubrel', messageId: 2 })
  assert.equal((await client.next('pubcomp')).messageId, 2)
  assert.deepEqual(
    published.map(({ topic, qos, retain }) => ({ topic, qos, retain })),
    [
      { topic: 'über/alles', qos: 0, retain: false },
      { topic: 'b', qos: 1, retain: true },
      { topic: 'c', qos: 2, retain: false },
    ],
  )
  const { userProperties, ...others } = published[0]!.properties!
  assert.deepEqual({ ...userProperties }, properties.userProperties)
  assert.deepEqual({ ...others, userProperties: properties.userProperties }, properties)
})

test('a message that arrives in a thousand pieces is handled as one message', async () => {
  const { port, published } = await openMqttServer()
  const client = await connected(port)
  const payload = Buffer.alloc(300_000, 'abc')
  const { generate } = await import('mqtt-packet')
  const bytes = Buffer.concat([generate(publish('t', { payload })), generate(publish('u', { qos: 1, messageId: 1 }))])
  for (let start = 0; start < bytes.length; start += 7001) {
    client.socket.write(bytes.subarray(start, start + 7001))
    await new Promise(setImmediate)
  }
  await client.next('puback')
  assert.equal(published[0]!.payload.compare(payload), 0)
  for (const byte of generate(publish('v', { qos: 1, messageId: 2 }))) {
    client.socket.write(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  await client.next('puback')
  assert.deepEqual(
    published.map(({ topic }) => topic),
    ['t', 'u', 'v'],
  )
})

test('the server acknowledges messages in the order of arrival, and each message only after the host has handled it', async () => {
  const { pending, host } = hostThatWaits()
  const { port } = await openMqttServer({ host })
  const client = await connected(port, { protocolVersion: 5 })
  client.send(
    publish('t', { qos: 1, messageId: 1 }),
    publish('t', { qos: 0 }),
    publish('t', { qos: 2, messageId: 2 }),
    publish('t', { qos: 1, messageId: 3 }),
    { cmd: 'pingreq' },
  )
  await client.next('pingresp')
  pending[3]!.resolve(0x87)
  pending[2]!.resolve()
  pending[1]!.resolve()
  await sleep(30)
  assert.equal(client.received.length, 2, 'the client must get only CONNACK and PINGRESP')
  pending[0]!.resolve(0x10)
  assert.deepEqual([(await client.next('puback')).reasonCode, (await client.next('pubrec')).messageId], [0x10, 2])
  assert.equal((await client.next('puback')).reasonCode, 0x87)
})

test('messages with a synchronous result are acknowledged in order too', async () => {
  const { pending, host } = hostThatWaits()
  const { port } = await openMqttServer({
    host: {
      publish: (_, { topic, payload }) =>
        topic === 'later' ? host.publish(_, { payload }) : topic === 'no' ? 0x87 : undefined,
    },
  })
  const client = await connected(port, { protocolVersion: 5 })
  client.send(publish('no', { qos: 1, messageId: 1 }), publish('now', { qos: 1, messageId: 2 }))
  assert.deepEqual([(await client.next('puback')).reasonCode, (await client.next('puback')).messageId], [0x87, 2])
  client.send(
    publish('later', { qos: 1, messageId: 3 }),
    publish('now', { qos: 1, messageId: 4 }),
    publish('no', { qos: 2, messageId: 5 }),
    { cmd: 'pingreq' },
  )
  await client.next('pingresp')
  pending[0]!.resolve()
  assert.deepEqual([(await client.next('puback')).messageId, (await client.next('puback')).messageId], [3, 4])
  assert.equal((await client.next('pubrec')).reasonCode, 0x87)
  // The message was rejected, so its packet id is free.
  client.send(publish('now', { qos: 2, messageId: 5 }))
  assert.equal((await client.next('pubrec')).reasonCode ?? 0, 0)
})

test('no acknowledgement is sent if the host closes the connection while it handles a message', async () => {
  for (const qos of [0, 1, 2] as const) {
    const { port, disconnected } = await openMqttServer({
      host: {
        publish(connection) {
          connection.close('not_authorized', 'not any more')
          return undefined
        },
      },
    })
    const client = await connected(port, { protocolVersion: 5 })
    client.send(publish('t', { qos, ...(qos > 0 && { messageId: 1 }) }))
    assert.equal((await client.next('disconnect')).reasonCode, 0x87)
    await client.closed()
    assert.equal(client.received.length, 2, 'the client must receive only CONNACK and DISCONNECT')
    assert.equal(disconnected.length, 1)
  }
})

test('a message that the host fails to handle is not acknowledged, and the connection is closed', async () => {
  for (const fail of ['reject', 'throw'] as const) {
    const { port, disconnected } = await openMqttServer({
      host: {
        publish() {
          if (fail === 'throw') throw new Error('a bug')
          return Promise.reject(new Error('the database is unreachable'))
        },
      },
    })
    const client = await connected(port, { protocolVersion: 5 })
    client.send(publish('t', { qos: 1, messageId: 1 }))
    assert.equal((await client.next('disconnect')).reasonCode, 0x80)
    await client.closed()
    assert.equal(disconnected.length, 1)
    await connected(port)
  }
})

test('a QoS 2 message is handled once, however often it is sent', async () => {
  const { pending, host } = hostThatWaits()
  const { port } = await openMqttServer({ host })
  const client = await connected(port)
  const message = publish('t', { qos: 2, messageId: 9 })
  client.send(message, { ...message, dup: true })
  await eventually(() => assert.equal(pending.length, 1))
  pending[0]!.resolve()
  await client.next('pubrec')
  client.send({ ...message, dup: true })
  await client.next('pubrec')
  client.send({ cmd: 'pubrel', messageId: 9 }, { cmd: 'pubrel', messageId: 9 })
  await client.next('pubcomp')
  await client.next('pubcomp')
  assert.equal(pending.length, 1)
  client.send(message)
  await eventually(() => assert.equal(pending.length, 2))
})

test('a rejected QoS 2 message may be sent again with its packet id', async () => {
  const { pending, host } = hostThatWaits()
  const { port } = await openMqttServer({ host })
  const client = await connected(port, { protocolVersion: 5 })
  for (const round of [1, 2]) {
    client.send(publish('t', { qos: 2, messageId: 9 }))
    await eventually(() => assert.equal(pending.length, round))
    pending[round - 1]!.resolve(0x97)
    assert.equal((await client.next('pubrec')).reasonCode, 0x97)
  }
  client.send({ cmd: 'pubrel', messageId: 9 })
  assert.equal((await client.next('pubcomp')).reasonCode, 0x92)
})

test('more QoS 2 messages than the receive maximum close the connection', async () => {
  const { port } = await openMqttServer({ limits: { receiveMaximum: 3 } })
  const client = await connected(port, { protocolVersion: 5 })
  client.send(...[1, 2, 3, 4].map((messageId) => publish('t', { qos: 2, messageId })))
  for (let count = 0; count < 3; count++) await client.next('pubrec')
  assert.equal((await client.next('disconnect')).reasonCode, 0x93)
})

test('messages that the host has not finished handling count towards the receive maximum', async () => {
  const { pending, host } = hostThatWaits()
  const { port } = await openMqttServer({ host, limits: { receiveMaximum: 4 } })
  const client = await connected(port, { protocolVersion: 5 })
  client.send(...[1, 2].map((messageId) => publish('t', { qos: 2, messageId })))
  await eventually(() => assert.equal(pending.length, 2))
  pending[0]!.resolve()
  await client.next('pubrec')
  client.send(...[3, 4].map((messageId) => publish('t', { qos: 2, messageId })))
  await eventually(() => assert.equal(pending.length, 4))
  client.send(publish('t', { qos: 2, messageId: 5 }))
  assert.equal((await client.next('disconnect')).reasonCode, 0x93)
})

test('the server stops reading while too many messages are pending', async () => {
  const { pending, host } = hostThatWaits()
  const { port, sockets } = await openMqttServer({ host, limits: { receiveMaximum: 10 } })
  const client = await connected(port)
  for (let messageId = 1; messageId <= 1000; messageId++)
    client.send(publish('t', { qos: 1, messageId, payload: Buffer.alloc(2000) }))
  await eventually(() => assert.equal(pending.length, 10))
  await sleep(100)
  assert.equal(pending.length, 10)
  assert.ok(sockets[0]!.bytesRead < 1_000_000, `${sockets[0]!.bytesRead} bytes were read`)
  for (let done = 0; done < 1000; done++) {
    await eventually(() => assert.ok(pending.length > done), { everyMs: 1 })
    pending[done]!.resolve()
  }
  for (let messageId = 1; messageId <= 1000; messageId++)
    assert.equal((await client.next('puback')).messageId, messageId)
})

test('the server stops reading while the host pauses a connection, without a keep-alive time-out', async () => {
  const waypost = await openMqttServer()
  const client = await connected(waypost.port, { keepalive: 1 })
  const connection = waypost.connections.get('client')!
  connection.pause()
  client.send(publish('t', { qos: 1, messageId: 1 }))
  await sleep(2500)
  assert.equal(waypost.published.length, 0)
  assert.equal(connection.open, true)
  connection.resume()
  await client.next('puback')
})

test('topic aliases up to the announced maximum are resolved', async () => {
  const { port, published } = await openMqttServer({ limits: { topicAliasMaximum: 2 } })
  const client = await connected(port, { protocolVersion: 5 })
  const alias = (topicAlias: number) => ({ properties: { topicAlias } })
  client.send(publish('a', alias(1)), publish('b', alias(2)), publish('', alias(1)), publish('c', alias(1)))
  client.send(publish('', alias(1)), publish('', alias(2)), publish('d', alias(3)))
  assert.equal((await client.next('disconnect')).reasonCode, 0x94)
  assert.deepEqual(
    published.map(({ topic }) => topic),
    ['a', 'b', 'a', 'c', 'c', 'b'],
  )
  const other = await connected(port, { protocolVersion: 5, clientId: 'other' })
  other.send(publish('', alias(1)))
  assert.equal((await other.next('disconnect')).reasonCode, 0x82)
})

test('the server rejects malformed messages with the code of the error', async () => {
  const { port, published } = await openMqttServer({ limits: { topicBytesMax: 100, topicLevelsMax: 10 } })
  const long = Buffer.alloc(101, 'x').toString('hex')
  const cases: [string, string, number][] = [
    ['QoS 3', '36 05 0001 70 0001', 0x81],
    ['a message with QoS 0 and the DUP flag', '38 04 0001 70 00', 0x81],
    ['packet id 0', '32 06 0001 70 0000 00', 0x82],
    ['no topic', '30 03 0000 00', 0x82],
    ['an incomplete topic', '30 03 0009 70', 0x81],
    ['nothing', '30 00', 0x81],
    ['a wildcard', '30 04 0001 23 00', 0x81],
    ['U+0000', '30 04 0001 00 00', 0x81],
    ['not UTF-8', '30 05 0002 c328 00', 0x81],
    ['a surrogate', '30 06 0003 eda080 00', 0x81],
    ['no properties', '30 03 0001 70', 0x81],
    ['incomplete properties', '30 05 0001 70 05 01', 0x81],
    ['a property twice', '30 08 0001 70 04 0101 0101', 0x82],
    ['a property of CONNECT', '30 09 0001 70 05 1100000001', 0x82],
    ['a long topic', `30 68 0065 ${long} 00`, 0x90],
    ['a topic with many levels', `30 0e 000b ${'2f'.repeat(11)} 00`, 0x90],
    ['a response topic with a wildcard', '30 08 0001 70 04 08000123', 0x82],
  ]
  for (const [what, bytes, code] of cases) {
    const client = await connected(port, { protocolVersion: 5 })
    client.send(bytes)
    assert.equal((await client.next('disconnect')).reasonCode, code, what)
    await client.closed()
  }
  assert.equal(published.length, 0)
})

test('a packet above the size limit closes the connection before it is complete', async () => {
  const { port, disconnected } = await openMqttServer()
  for (const bytes of ['30 ffffff7f', '32 ffffbf01']) {
    const client = await connected(port, { protocolVersion: 5 })
    client.send(bytes)
    assert.equal((await client.next('disconnect')).reasonCode, 0x95)
    await client.closed()
  }
  const old = await connected(port)
  old.send('30 ffffff7f')
  assert.deepEqual(await old.closed(), [])
  assert.equal(disconnected.length, 3)
})

test('the server sends reason strings only to clients that accept them', async () => {
  const { port } = await openMqttServer()
  for (const [requestProblemInformation, hasReason] of [
    [true, true],
    [false, false],
    [undefined, true],
  ] as const) {
    const properties = requestProblemInformation === undefined ? {} : { requestProblemInformation }
    const client = await connected(port, { protocolVersion: 5, properties })
    client.send('36 05 0001 70 0001')
    assert.equal((await client.next('disconnect')).properties?.reasonString === 'QoS 3', hasReason)
  }
})

test('the server limits the number and size of user properties', async () => {
  const { port } = await openMqttServer({ limits: { userPropertiesMax: 4, userPropertiesBytesMax: 100 } })
  const many = { a: ['1', '2', '3', '4', '5'] }
  const large = { a: 'x'.repeat(200) }
  for (const userProperties of [many, large]) {
    const client = await connected(port, { protocolVersion: 5 })
    client.send(publish('t', { properties: { userProperties } }))
    assert.equal((await client.next('disconnect')).reasonCode, 0x97)
  }
})
