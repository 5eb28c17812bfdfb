/**
 * Opens many connections at minimal cost. Packets are built in advance, and all connections share one read buffer. One write sends as many
 * messages as the replies of one read allow. Packet ids and request ids depend only on the position in the window, so packets can be
 * reused.
 */
import net from 'node:net'
import { connect, publish, subscribe } from './packets.ts'
import type { Payload } from './payloads.ts'

/**
 * The expected reply. `echo`: the packet itself. `acknowledged`: PUBACK. `answered`: PUBACK and one PUBLISH, because the topic has a
 * request id; the client sends the PUBACK for this PUBLISH with its next message.
 */
export type ExpectedReply = 'echo' | 'acknowledged' | 'answered'

export interface FleetOptions {
  port: number
  host?: string
  count: number
  expecting: ExpectedReply
  /** Maximum number of messages in flight on a connection. */
  window: number
  /** Returns the topic of connection n, without the request id. */
  topic(n: number): string
  clientId(n: number): string
  payload: Payload
  /** Subscribes to the topic of responses, for brokers that send nothing without a subscription. */
  subscribes?: boolean
}

export interface Device {
  number: number
  socket: net.Socket
  sent: number
  /** Number of messages that got the expected reply. */
  done: number
  acknowledged: number
  answered: number
  /** The times at which the messages in flight were sent, or should have been sent, by position in the window. */
  since: Float64Array
  /**
   * The packets of the window, twice in a row. The next messages are then always one slice of these bytes, even if they continue at the
   * start of the window.
   */
  bytes: Buffer
  packetBytes: number
  /** Length of a packet before its payload. */
  headBytes: number
  pubacks: Buffer[]
  rest: Buffer | undefined
  ready(): void
  /** Called when the connection ends. If this function is undefined, the connection counts as lost. */
  onLost: (() => void) | undefined
}

export interface Fleet {
  devices: Device[]
  /** Sends the next messages of a device, at most as many as fit into its window. */
  send(device: Device, count: number, now: number): void
  /** Called when messages of a device were answered. */
  onDone: (device: Device, count: number) => void
  lost(): number
  /** Returns the number of error responses. */
  errorCount(): number
  close(): Promise<void>
}

/** Number of connections from each loopback address. It is slightly below the number of client ports of an address. */
const perAddress = 20_000
/** Last letter of the topic of a response (`…/status`), unless the response is an error. */
const lastOfStatus = 's'.charCodeAt(0)
const readBuffer = Buffer.allocUnsafe(64 * 1024)

/** A fleet with its options and counts. */
interface FleetState extends FleetOptions {
  fleet: Fleet
  lost: number
  refused: number
  closing: boolean
}

export function createFleet(options: FleetOptions) {
  const fleet: Fleet = {
    devices: [],
    send: (device, count, now) => send(options, device, count, now),
    onDone: () => {},
    lost: () => running.lost,
    errorCount: () => running.refused,
    close: () => close(running),
  }
  const running: FleetState = { ...options, fleet, lost: 0, refused: 0, closing: false }
  return { fleet, open: (n: number) => open(running, n) }
}

async function close(running: FleetState) {
  running.closing = true
  const sockets = running.fleet.devices.map(({ socket }) => socket).filter(({ closed }) => !closed)
  const closed = sockets.map((socket) => new Promise<void>((done) => void socket.once('close', done)))
  // The bench resets the sockets, because a reset leaves no port in TIME_WAIT.
  for (const socket of sockets) socket.resetAndDestroy()
  await Promise.all(closed)
}

/** Opens a connection; resolves when it is ready. */
function open(running: FleetState, n: number): Promise<Device> {
  const { fleet } = running
  return new Promise((resolve, reject) => {
    const otherAddress = n >= perAddress && { localAddress: `127.0.0.${1 + Math.floor(n / perAddress)}` }
    const socket = net.connect({
      port: running.port,
      host: running.host ?? '127.0.0.1',
      noDelay: true,
      ...otherAddress,
      onread: {
        buffer: readBuffer,
        callback(length) {
          readPackets(running, device, length)
          return true
        },
      },
    })
    const device = newDevice(running, n, socket)
    socket.on('connect', () => {
      const ready = () => {
        fleet.devices.push(device)
        resolve(device)
      }
      if (running.expecting === 'echo') return ready()
      socket.write(connect(running.clientId(n)))
      device.ready = () => {
        if (!running.subscribes) return ready()
        device.ready = ready
        socket.write(subscribe(`${running.topic(n)}/+/status`))
      }
    })
    socket.on('error', (error) => {
      if (!running.closing) reject(error)
    })
    socket.on('close', () => {
      if (running.closing) return
      const index = fleet.devices.indexOf(device)
      if (index >= 0 && device.onLost) {
        fleet.devices.splice(index, 1)
        device.onLost()
      } else if (index >= 0) running.lost++
      reject(new Error(`connection ${n} was closed`))
    })
  })
}

function newDevice({ expecting, payload, window, ...options }: FleetOptions, n: number, socket: net.Socket): Device {
  const topic = options.topic(n)
  const topicOf = (slot: number) => (expecting === 'acknowledged' ? topic : `${topic}/${10_000 + slot}`)
  const packets = Array.from({ length: window }, (_, slot) =>
    publish(topicOf(slot), slot + 1, payload.bytesFor(n, slot)),
  )
  return {
    number: n,
    socket,
    sent: 0,
    done: 0,
    acknowledged: 0,
    answered: 0,
    since: new Float64Array(window),
    bytes: Buffer.concat([...packets, ...packets]),
    packetBytes: packets[0]!.length,
    headBytes: packets[0]!.length - payload.bytesFor(n, 0).length,
    pubacks: [],
    rest: undefined,
    ready: () => {},
    onLost: undefined,
  }
}

function send({ window, payload }: FleetOptions, device: Device, count: number, now: number) {
  const sendable = Math.min(count, window - (device.sent - device.done))
  if (sendable <= 0) return
  const slot = device.sent % window
  for (let n = 0; n < sendable; n++) device.since[(slot + n) % window] = now
  device.sent += sendable
  const { packetBytes, headBytes } = device
  if (payload.renew)
    for (let n = slot; n < slot + sendable; n++)
      payload.renew(device.bytes.subarray(n * packetBytes + headBytes, (n + 1) * packetBytes), device.number)
  const bytes = device.bytes.subarray(slot * packetBytes, (slot + sendable) * packetBytes)
  device.socket.write(device.pubacks.length === 0 ? bytes : Buffer.concat([...device.pubacks, bytes]))
  if (device.pubacks.length > 0) device.pubacks = []
}

/** Reads the packets in the read buffer, together with an incomplete packet of the last read. */
function readPackets(running: FleetState, device: Device, length: number) {
  let bytes = readBuffer
  let end = length
  if (device.rest) {
    bytes = Buffer.concat([device.rest, readBuffer.subarray(0, length)])
    end = bytes.length
    device.rest = undefined
  }
  let offset = 0
  while (end - offset >= 2) {
    let size = bytes[offset + 1]!
    let head = 2
    if (size > 127) {
      if (end - offset < 3) break
      size = (size & 127) | (bytes[offset + 2]! << 7)
      head = 3
    }
    const next = offset + head + size
    if (next > end) break
    receive(running, device, bytes, offset, head)
    offset = next
  }
  if (offset < end) device.rest = Buffer.from(bytes.subarray(offset, end))
  const done = doneOf(running.expecting, device)
  const count = done - device.done
  if (count > 0) {
    device.done = done
    running.fleet.onDone(device, count)
    if (device.pubacks.length > 0) device.socket.write(Buffer.concat(device.pubacks.splice(0)))
  }
}

const doneOf = (expecting: ExpectedReply, { acknowledged, answered }: Device) =>
  expecting === 'answered' ? Math.min(acknowledged, answered) : expecting === 'echo' ? answered : acknowledged

function receive(running: FleetState, device: Device, bytes: Buffer, offset: number, head: number) {
  const first = bytes[offset]!
  switch (first >> 4) {
    case 3: {
      device.answered++
      if ((first & 6) === 0 || running.expecting === 'echo') return
      const id = offset + head + 2 + bytes.readUInt16BE(offset + head)
      if (bytes[id - 1] !== lastOfStatus) running.refused++
      device.pubacks.push(Buffer.from([0x40, 2, bytes[id]!, bytes[id + 1]!]))
      return
    }
    case 4:
      device.acknowledged++
      return
    case 2:
      if (bytes[offset + 3] !== 0) device.socket.destroy(new Error(`CONNACK ${bytes[offset + 3]}`))
      else device.ready()
      return
    case 9:
      device.ready()
  }
}
