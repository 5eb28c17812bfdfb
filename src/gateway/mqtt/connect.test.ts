import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { connected, connectPacket, rawClient } from '../../../test/harness/mqtt-raw.ts'
import { openMqttServer } from '../../../test/harness/mqtt-server.ts'
import type { Client, Verdict } from './host.ts'

test('the server accepts MQTT 3.1, 3.1.1 and 5', async () => {
  const { port } = await openMqttServer()
  for (const protocolVersion of [3, 4, 5] as const) {
    const { connack, send, next } = await connected(port, { protocolVersion, clientId: `v${protocolVersion}` })
    assert.equal(protocolVersion === 5 ? connack.reasonCode : connack.returnCode, 0)
    send({ cmd: 'pingreq' })
    await next('pingresp')
  }
})

test('the server announces its limits and features to MQTT 5 clients', async () => {
  const { port } = await openMqttServer({ limits: { keepAliveMaxSeconds: 30, sessionExpiryMaxSeconds: 100 } })
  const { connack } = await connected(port, {
    protocolVersion: 5,
    clientId: '',
    keepalive: 31,
    properties: { sessionExpiryInterval: 101 },
  })
  const { assignedClientIdentifier, ...others } = connack.properties!
  assert.match(assignedClientIdentifier!, /^.{20,}$/)
  assert.deepEqual(
    { ...others },
    {
      topicAliasMaximum: 16,
      receiveMaximum: 256,
      maximumPacketSize: 1_048_576,
      serverKeepAlive: 30,
      sessionExpiryInterval: 100,
      retainAvailable: false,
      sharedSubscriptionAvailable: false,
    },
  )
})

test('the server sends response information to clients that request it', async () => {
  const { port } = await openMqttServer({ offers: { responseInformation: 'kp1' } })
  const asks = { requestResponseInformation: true }
  assert.equal(
    (await connected(port, { protocolVersion: 5, properties: asks })).connack.properties!.responseInformation,
    'kp1',
  )
  assert.equal((await connected(port, { protocolVersion: 5 })).connack.properties!.responseInformation, undefined)
})

test('the server assigns a client id only if the protocol allows it', async () => {
  const { port, refused } = await openMqttServer()
  assert.equal((await connected(port, { clientId: '' })).connack.returnCode, 0)
  for (const options of [{ clientId: '', clean: false }, { clientId: 'x'.repeat(600) }]) {
    const client = await rawClient(port)
    // The bytes are written in hexadecimal, because the codec refuses to encode this packet.
    if (options.clientId === '') client.send('100c 0004 4d515454 04 00 003c 0000')
    else client.send(connectPacket(options))
    assert.equal((await client.next('connack')).returnCode, 2)
    await client.closed()
  }
  assert.deepEqual(
    refused.map(({ reason }) => reason),
    ['client_id_invalid', 'client_id_invalid'],
  )
})

test('the server closes without a response if the first packet is not CONNECT or not MQTT', async () => {
  const waypost = await openMqttServer()
  const firsts = [
    'c000',
    '300a 0001 70 00000000000000',
    '00',
    '47455420 2f',
    '100d 0004 4d515455 04 02 003c 0001 70',
    '110d 0004 4d515454 04 02 003c 0001 70',
    '100d 0004 4d515454 04 03 003c 0001 70',
    '10ffffffff7f',
    '10ffffff7f',
    'e000',
  ]
  for (const first of firsts) {
    const client = await rawClient(waypost.port)
    client.send(first)
    assert.deepEqual(await client.closed(), [], first)
  }
  await eventually(() => assert.equal(waypost.refused.length, firsts.length))
  assert.equal(waypost.published.length, 0)
})

test('the server refuses unsupported protocol versions with their code', async () => {
  const { port, refused } = await openMqttServer()
  const newer = await rawClient(port, 5)
  newer.send('100d 0004 4d515454 06 02 003c 0001 70')
  assert.equal((await newer.next('connack')).reasonCode, 0x84)
  await newer.closed()
  const older = await rawClient(port, 4)
  older.send('100d 0004 4d515454 03 02 003c 0001 70')
  assert.equal((await older.next('connack')).returnCode, 1)
  await older.closed()
  await eventually(() =>
    assert.deepEqual(
      refused.map(({ reason }) => reason),
      ['unsupported_version', 'unsupported_version'],
    ),
  )
})

test('the server refuses a faulty CONNECT of MQTT 5 with its reason code', async () => {
  const { port, refused } = await openMqttServer()
  const faulty: [packet: string, code: number, reason: string][] = [
    ['100e 0004 4d515454 05 03 003c 00 0001 70', 0x81, 'malformed_packet'],
    ['100e 0004 4d515454 05 1a 003c 00 0001 70', 0x81, 'malformed_packet'],
    ['1011 0004 4d515454 05 02 003c 03 210000 0001 70', 0x82, 'protocol_error'],
  ]
  for (const [packet, code, reason] of faulty) {
    const client = await rawClient(port, 5)
    client.send(packet)
    assert.equal((await client.next('connack')).reasonCode, code, packet)
    await client.closed()
    await eventually(() => assert.equal(refused.at(-1)?.reason, reason))
  }
})

test('the server ends a connection that sends CONNECT twice', async () => {
  const { port, disconnected } = await openMqttServer()
  const client = await connected(port, { protocolVersion: 5 })
  client.send(connectPacket({ protocolVersion: 5 }))
  assert.equal((await client.next('disconnect')).reasonCode, 0x82)
  await client.closed()
  assert.deepEqual(
    disconnected.map(({ graceful }) => graceful),
    [false],
  )
})

test('the server refuses extended authentication', async () => {
  const { port } = await openMqttServer()
  const client = await rawClient(port, 5)
  client.send(connectPacket({ protocolVersion: 5, properties: { authenticationMethod: 'SCRAM' } }))
  assert.equal((await client.next('connack')).reasonCode, 0x8c)
  await client.closed()
  const other = await connected(port, { protocolVersion: 5 })
  other.send({ cmd: 'auth', reasonCode: 0x19, properties: { authenticationMethod: 'SCRAM' } })
  assert.equal((await other.next('disconnect')).reasonCode, 0x82)
})

test('the server passes the password to the host and does not keep it; it encodes the decision of the host for each protocol version', async () => {
  let seen: Client | undefined
  let verdict: Verdict = { accepted: true, owner: 'o' }
  const waypost = await openMqttServer({
    host: {
      async connect(client) {
        seen = client
        assert.equal(client.password?.toString(), 'secret')
        return verdict
      },
    },
  })
  const codes = { bad_credentials: [4, 0x86], not_authorized: [5, 0x87], busy: [3, 0x89], banned: [5, 0x8a] } as const
  for (const [code, [old, five]] of Object.entries(codes)) {
    verdict = { accepted: false, code: code as 'busy', why: 'because' }
    for (const protocolVersion of [4, 5] as const) {
      const client = await rawClient(waypost.port, protocolVersion)
      client.send(connectPacket({ protocolVersion, username: 'u@t', password: Buffer.from('secret') }))
      const connack = await client.next('connack')
      assert.equal(protocolVersion === 5 ? connack.reasonCode : connack.returnCode, protocolVersion === 5 ? five : old)
      await client.closed()
      assert.deepEqual([waypost.refused.at(-1)!.reason, waypost.refused.at(-1)!.detail], [code, 'because'])
    }
  }
  assert.equal(seen!.username, 'u@t')
  assert.equal(seen!.password, undefined)
})

test('if the host fails, the server refuses the connection with "unavailable" and serves other connections', async () => {
  let failing = true
  const { port, refused } = await openMqttServer({
    host: {
      connect() {
        if (failing) throw new Error('a bug')
        return Promise.resolve({ accepted: true, owner: 'o' })
      },
    },
  })
  const client = await rawClient(port)
  client.send(connectPacket())
  assert.equal((await client.next('connack')).returnCode, 3)
  await client.closed()
  assert.equal(refused[0]!.reason, 'unavailable')
  failing = false
  await connected(port)
})

test('the server handles messages that were sent before CONNACK in order, after it has accepted the client', async () => {
  let admit = () => {}
  const { port, published } = await openMqttServer({
    host: {
      connect: () =>
        new Promise((resolve) => {
          admit = () => resolve({ accepted: true, owner: 'o' })
        }),
    },
  })
  const client = await rawClient(port)
  const messages = ['1', '2', '3'].map(
    (payload, index) =>
      ({ cmd: 'publish', topic: 't', payload, qos: 1, messageId: index + 1, dup: false, retain: false }) as const,
  )
  client.send(connectPacket(), ...messages, { cmd: 'disconnect' })
  client.socket.end()
  await eventually(() => assert.notEqual(admit.toString(), '() => {}'))
  assert.equal(published.length, 0)
  admit()
  assert.equal((await client.next('connack')).returnCode, 0)
  for (const messageId of [1, 2, 3]) assert.equal((await client.next('puback')).messageId, messageId)
  await client.closed()
  assert.deepEqual(
    published.map(({ payload }) => payload.toString()),
    ['1', '2', '3'],
  )
})

test('a message that a refused client sent before CONNACK is not handled', async () => {
  const { port, published } = await openMqttServer({
    host: { connect: async () => ({ accepted: false, code: 'bad_credentials', why: 'wrong' }) },
  })
  const client = await rawClient(port)
  client.send(connectPacket(), { cmd: 'publish', topic: 't', payload: 'x', qos: 0, dup: false, retain: false })
  assert.equal((await client.next('connack')).returnCode, 4)
  await client.closed()
  assert.equal(published.length, 0)
})

test('the server closes a connection if no complete CONNECT arrives in time', async () => {
  const { port, refused, sessions } = await openMqttServer({ limits: { connectTimeoutSeconds: 1 } })
  const silent = await rawClient(port)
  const slow = await rawClient(port)
  slow.send('100d 0004')
  await eventually(() => assert.equal(sessions.count(), 2))
  await Promise.all([silent.closed(), slow.closed()])
  assert.deepEqual(
    refused.map(({ reason }) => reason),
    ['timeout', 'timeout'],
  )
  for (const client of [silent, slow]) client.destroy()
  await eventually(() => assert.equal(sessions.count(), 0))
})

test('a connection that sends nothing, such as a port check, is not recorded as refused', async () => {
  const { port, refused, sessions } = await openMqttServer()
  const client = await rawClient(port)
  await eventually(() => assert.equal(sessions.count(), 1))
  client.destroy()
  await eventually(() => assert.equal(sessions.count(), 0))
  assert.deepEqual(refused, [])
})

test('the server ends connections that are silent for one and a half keep-alive times', async () => {
  const { port, disconnected } = await openMqttServer()
  const silent = await connected(port, { keepalive: 1, clientId: 'silent', protocolVersion: 5 })
  const pinging = await connected(port, { keepalive: 1, clientId: 'lively' })
  const pings = setInterval(() => pinging.send({ cmd: 'pingreq' }), 400)
  assert.equal((await silent.next('disconnect')).reasonCode, 0x8d)
  clearInterval(pings)
  assert.deepEqual(
    disconnected.map(({ clientId }) => clientId),
    ['silent'],
  )
})

test('a CONNECT above the size limit is refused', async () => {
  const { port, refused } = await openMqttServer({ limits: { connectBytesMax: 1000 } })
  const client = await rawClient(port)
  client.send(connectPacket({ username: 'u', password: Buffer.alloc(2000) }))
  await client.closed()
  assert.equal(refused[0]!.reason, 'packet_too_large')
})

test('a client whose maximum packet size is too small gets no CONNACK', async () => {
  const { port } = await openMqttServer()
  const client = await rawClient(port, 5)
  client.send(connectPacket({ protocolVersion: 5, properties: { maximumPacketSize: 4 } }))
  assert.deepEqual(await client.closed(), [])
})

test('at shutdown, the server sends DISCONNECT to all clients after the acknowledgements of stored messages', async () => {
  let take = () => {}
  const waypost = await openMqttServer({
    host: {
      publish: () =>
        new Promise((resolve) => {
          take = () => resolve(undefined)
        }),
    },
  })
  const client = await connected(waypost.port, { protocolVersion: 5 })
  client.send({ cmd: 'publish', topic: 't', payload: 'x', qos: 1, messageId: 7, dup: false, retain: false })
  await eventually(() => assert.notEqual(take.toString(), '() => {}'))
  const closed = waypost.close()
  take()
  assert.equal((await client.next('puback')).messageId, 7)
  assert.equal((await client.next('disconnect')).reasonCode, 0x8b)
  await closed
  assert.equal(waypost.sessions.count(), 0)
})

test('only DISCONNECT with code 0 ends a connection gracefully', async () => {
  const { port, disconnected } = await openMqttServer()
  for (const [reasonCode, graceful] of [
    [0, true],
    [4, false],
    [0x80, false],
    [0x8b, false],
  ] as const) {
    const client = await connected(port, { protocolVersion: 5 })
    client.send(Buffer.from([0xe0, 1, reasonCode]))
    assert.deepEqual(await client.closed(), [])
    assert.equal(disconnected.at(-1)!.graceful, graceful)
  }
  const old = await connected(port)
  old.send({ cmd: 'disconnect' })
  await old.closed()
  assert.equal(disconnected.at(-1)!.graceful, true)
})

test('if the host does not decide in time, the client is refused with "unavailable"', async () => {
  const { port, refused } = await openMqttServer({
    limits: { connectTimeoutSeconds: 1 },
    host: { connect: () => new Promise(() => {}) },
  })
  const client = await rawClient(port)
  client.send(connectPacket({ username: 'u', password: Buffer.from('secret') }))
  assert.equal((await client.next('connack')).returnCode, 3)
  await client.closed()
  assert.equal(refused[0]!.reason, 'unavailable')
  assert.equal(refused[0]!.client.username, 'u')
  assert.doesNotMatch(JSON.stringify(refused), /password/)
})
