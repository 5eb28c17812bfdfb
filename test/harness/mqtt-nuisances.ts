/** Connections that misbehave on purpose, each kind in its own way. */
import { connect, type Socket } from 'node:net'
import { greeting, variable } from './mqtt-grammar.ts'

const sockets: Socket[] = []
export function open(port: number, ...first: Buffer[]): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  for (const bytes of first) socket.write(bytes)
  sockets.push(socket)
  return socket
}
/** The end of all of them. */
export function cutAll() {
  for (const socket of sockets) socket.destroy()
}

const packet = (first: number, body: Buffer) => Buffer.concat([Buffer.from([first]), variable(body.length), body])
const pairs = (count: number) =>
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

/** Each makes a connection of its kind. */
export const nuisances: Record<string, (port: number, name: (label: string) => string) => void> = {
  'says nothing': (port) => void open(port),
  'begins a CONNECT': (port) => void open(port, Buffer.from('10200004', 'hex')),
  'announces 256 MB': (port, name) => void open(port, greeting(4, name('huge')), Buffer.from('30ffffff7f', 'hex')),
  'announces 1 MB and sends half of it': (port, name) =>
    void open(port, greeting(4, name('half')), Buffer.from('30f0ff3f0001', 'hex'), Buffer.alloc(500_000, 'a')),
  'floods CONNECT with properties': (port) => {
    const body = Buffer.concat([Buffer.from('00044d5154540502003c', 'hex'), variable(7 * 15_000), pairs(15_000)])
    open(port, packet(0x10, body))
  },
  'floods PUBLISH with properties': (port, name) => {
    const body = Buffer.concat([Buffer.from('000161', 'hex'), variable(7 * 100_000), pairs(100_000)])
    open(port, greeting(5, name('properties')), packet(0x30, body))
  },
  'subscribes to everything': (port, name) => {
    const filters = Array.from({ length: 900 }, (_, index) =>
      Buffer.from(`\0\x06f/${String(index).padStart(4, '0')}\x01`),
    )
    const all = packet(0x82, Buffer.concat([Buffer.from([0, 1]), ...filters]))
    open(port, greeting(4, name('filters')), all, all)
  },
  'sends to itself and does not read': (port, name) => {
    const topic = name('self').slice(0, 20)
    const filter = packet(
      0x82,
      Buffer.concat([Buffer.from([0, 1, 0, topic.length]), Buffer.from(topic), Buffer.from([0])]),
    )
    const socket = open(port, greeting(4, topic), filter)
    socket.pause()
    for (let count = 0; count < 40; count++) socket.write(publishTo(topic, Buffer.alloc(100_000)))
  },
  'never releases QoS 2': (port, name) => {
    const all = Array.from({ length: 6000 }, (_, index) => publishTo('q', Buffer.alloc(0), 2, index + 1))
    open(port, greeting(4, name('qos2')), Buffer.concat(all))
  },
  'comes and goes': (port) => void open(port).destroy(),
}
