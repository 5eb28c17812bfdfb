/** MQTT clients that misbehave on purpose: they stay silent, flood the server, do not read, or send huge packets. */
import { connect, type Socket } from 'node:net'
import { connectBytes, variable } from './mqtt-grammar.ts'

const sockets: Socket[] = []
export function openSocket(port: number, ...first: Buffer[]): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  for (const bytes of first) socket.write(bytes)
  sockets.push(socket)
  return socket
}
/** Destroys all sockets that `openSocket` has opened. */
export function destroyAll() {
  for (const socket of sockets) socket.destroy()
}

/** Caches packets by topic. Building a packet takes longer than sending it and would disturb the measurement. */
const cached = (make: (topic: string) => Buffer) => {
  const packets = new Map<string, Buffer>()
  return (topic = '') => packets.get(topic) ?? packets.set(topic, make(topic)).get(topic)!
}

const packet = (first: number, body: Buffer) => Buffer.concat([Buffer.from([first]), variable(body.length), body])
const userProperties = (count: number) =>
  Buffer.concat(Array.from({ length: count }, () => Buffer.from('26000161000162', 'hex')))
const publishTo = (topic: string, payload: Buffer, qos = 0, id = 1) =>
  packet(
    0x30 | (qos << 1),
    Buffer.concat([
      Buffer.from([0, topic.length]),
      Buffer.from(topic),
      qos > 0 ? Buffer.from([id >> 8, id & 0xff]) : Buffer.alloc(0),
      payload,
    ]),
  )

const connectFlood = cached(() => {
  const body = Buffer.concat([Buffer.from('00044d5154540502003c', 'hex'), variable(7 * 15_000), userProperties(15_000)])
  return packet(0x10, body)
})
const publishFlood = cached(() =>
  packet(0x30, Buffer.concat([Buffer.from('000161', 'hex'), variable(7 * 100_000), userProperties(100_000)])),
)
const subscribeFlood = cached(() => {
  const filters = Array.from({ length: 900 }, (_, index) =>
    Buffer.from(`\0\x06f/${String(index).padStart(4, '0')}\x01`),
  )
  return packet(0x82, Buffer.concat([Buffer.from([0, 1]), ...filters]))
})
const unreleasedMessages = cached((topic) =>
  Buffer.concat(Array.from({ length: 6000 }, (_, index) => publishTo(topic, Buffer.alloc(0), 2, index + 1))),
)
const halfMegabyte = cached(() => Buffer.alloc(500_000, 'a'))
const tenthMegabyte = cached(() => Buffer.alloc(100_000))

/** The port of the attacked server, and the names that the abusive clients use. */
export interface Target {
  port: number
  name(label: string): string
  /** Topic to publish to. Without it, the clients use topics that only a server which routes all topics accepts. */
  topic?: string
}

/** Functions that open one abusive connection each. The key describes the behaviour of the client. */
export const abusiveClients: Record<string, (target: Target) => void> = {
  'says nothing': ({ port }) => void openSocket(port),
  'begins a CONNECT': ({ port }) => void openSocket(port, Buffer.from('10200004', 'hex')),
  'announces 256 MB': ({ port, name }) =>
    void openSocket(port, connectBytes(4, name('huge')), Buffer.from('30ffffff7f', 'hex')),
  'announces 1 MB and sends half of it': ({ port, name }) =>
    void openSocket(port, connectBytes(4, name('half')), Buffer.from('30f0ff3f0001', 'hex'), halfMegabyte()),
  'floods CONNECT with properties': ({ port }) => void openSocket(port, connectFlood()),
  'floods PUBLISH with properties': ({ port, name }) =>
    void openSocket(port, connectBytes(5, name('properties')), publishFlood()),
  'subscribes to everything': ({ port, name }) =>
    void openSocket(port, connectBytes(4, name('filters')), subscribeFlood(), subscribeFlood()),
  'sends to itself and does not read': ({ port, name, topic }) => {
    const client = name('self').slice(0, 20)
    const ownTopic = topic ?? client
    const filter = packet(
      0x82,
      Buffer.concat([Buffer.from([0, 1, 0, ownTopic.length]), Buffer.from(ownTopic), Buffer.from([0])]),
    )
    const socket = openSocket(port, connectBytes(4, client), filter)
    socket.pause()
    const message = publishTo(ownTopic, tenthMegabyte())
    for (let count = 0; count < 40; count++) socket.write(message)
  },
  'never releases QoS 2': ({ port, name, topic = 'q' }) =>
    void openSocket(port, connectBytes(4, name('qos2')), unreleasedMessages(topic)),
  'comes and goes': ({ port }) => void openSocket(port).destroy(),
}
