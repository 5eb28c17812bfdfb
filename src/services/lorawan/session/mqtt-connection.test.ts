import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import mqtt from 'mqtt-packet'
import { afterAllTests } from '../../../../test/harness/database.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { connectMqtt } from './mqtt-connection.ts'

/** Starts a server that accepts every login. `open` connects to it, and also returns the socket on the side of the server. */
async function aServer() {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.once('data', () => socket.write(mqtt.generate({ cmd: 'connack', returnCode: 0, sessionPresent: false })))
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAllTests(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const open = async (clientId: string) => {
    const messages: string[] = []
    const problems: (string | undefined)[] = []
    await connectMqtt({
      address: { host: '127.0.0.1', port, isTls: false },
      ...{ clientId, username: 'u', password: 'p', isClean: true, allowPrivate: true },
      onMessage: ({ topic, payload, messageId }) => messages.push(`${topic} ${payload ?? `${messageId} too large`}`),
      onClose: (problem) => problems.push(problem),
    })
    return { messages, problems, socket: sockets.at(-1)! }
  }
  return { open }
}

const publish = (topic: string, payload: string) =>
  mqtt.generate({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false })

/** Sends bytes as a separate TCP packet. */
const sendPart = (socket: Socket, part: Buffer) =>
  new Promise<void>((resolve) => {
    socket.setNoDelay(true)
    socket.write(part, () => setImmediate(resolve))
  })

test('packets of several connections that arrive in parts at the same time are not mixed up', async () => {
  const { open } = await aServer()
  const connections = [await open('a'), await open('b'), await open('c')]
  const packets = connections.map((_, n) => Buffer.concat([publish(`t${n}`, `one ${n}`), publish(`t${n}`, `two ${n}`)]))
  for (let at = 0; at < packets[0]!.length; at++)
    for (const [n, { socket }] of connections.entries()) await sendPart(socket, packets[n]!.subarray(at, at + 1))
  await eventually(() =>
    assert.deepEqual(
      connections.map(({ messages }) => messages),
      connections.map((_, n) => [`t${n} one ${n}`, `t${n} two ${n}`]),
    ),
  )
})

test('bytes that are not MQTT end only the connection on which they arrive; the parsers of other connections still work', async () => {
  const { open } = await aServer()
  const [bad, good] = [await open('bad'), await open('good')]
  await sendPart(good.socket, publish('t', 'x').subarray(0, 3))
  bad.socket.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  await eventually(() => assert.deepEqual(bad.problems, ['the network sent something that is not MQTT']))
  await sendPart(good.socket, publish('t', 'x').subarray(3))
  await eventually(() => assert.deepEqual(good.messages, ['t x']))
  assert.deepEqual(good.problems, [])
})

test('a message that is too large is discarded and reported with its id, and the messages after it arrive', async () => {
  const { open } = await aServer()
  const { messages, problems, socket } = await open('a')
  const large = (messageId: number) =>
    mqtt.generate({
      cmd: 'publish',
      topic: 'large',
      payload: 'x'.repeat(1_500_000),
      qos: 1,
      messageId,
      dup: false,
      retain: false,
    })
  socket.write(Buffer.concat([publish('t', 'one'), large(7), publish('t', 'two'), large(300)]))
  const last = publish('t', 'three')
  await eventually(() => assert.deepEqual(messages, ['t one', 'large 7 too large', 't two', 'large 300 too large']))
  for (let at = 0; at < last.length; at++) await sendPart(socket, last.subarray(at, at + 1))
  await eventually(() => assert.equal(messages.at(-1), 't three'))
  assert.deepEqual(problems, [])
})

test('a packet that is too large and is not a message ends the connection', async () => {
  const { open } = await aServer()
  const { problems, socket } = await open('a')
  socket.write(Buffer.concat([Buffer.from([0x90, 0xff, 0xff, 0x7f]), Buffer.alloc(1_200_000)]))
  await eventually(() => assert.match(problems[0] ?? '', /more than 1048576 bytes/))
})
