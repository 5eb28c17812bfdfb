/**
 * A connection to the MQTT broker of a LoRaWAN network, as an MQTT 3.1.1 client. The caller acknowledges QoS 1 messages when they are
 * stored. A client library would acknowledge them itself, and would use several times the memory for an idle connection.
 */
import type { Socket } from 'node:net'
import mqtt, { type Packet } from 'mqtt-packet'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { MqttAddress } from '../hosts.ts'
import { answerMs, ConnectionProblem, openSocket, type Reader, socketProblem } from './mqtt-socket.ts'

export interface IncomingMessage {
  topic: string
  /** Undefined if the packet has more than `packetBytesMax` bytes. Such a message must be acknowledged too, or it is sent again. */
  payload: Buffer | undefined
  qos: 0 | 1 | 2
  /** Packet id of the message; undefined at QoS 0, which needs no acknowledgement. */
  messageId: number | undefined
}

export interface ConnectionOptions {
  address: MqttAddress
  clientId: string
  username: string
  password: string
  /** True if the broker must discard the session that it keeps. */
  isClean: boolean
  allowPrivate: boolean
  /**
   * Called with each message. The message must be acknowledged on `connection`, because on another connection its id belongs to another
   * message.
   */
  onMessage(message: IncomingMessage, connection: MqttConnection): void
  /** Called once when the connection is closed. `problem` is the reason as text, or undefined if this side closed the connection. */
  onClose(problem: string | undefined): void
}

export interface MqttConnection {
  /** Rejects if the broker refuses one of the filters. */
  subscribe(filters: string[]): Promise<void>
  /** Publishes with QoS 1. Resolves when the broker has acknowledged the message. Rejects if the connection closes before. */
  publish(topic: string, payload: string): Promise<void>
  acknowledge(messageId: number): void
  pause(): void
  resume(): void
  readonly isOpen: boolean
  /** Sends DISCONNECT and closes the connection. */
  close(): void
}

const keepAliveSeconds = 60
export const packetBytesMax = 1024 * 1024
const sweepMs = 5000

interface Waiting {
  done(packet: Packet): void
  fail(problem: Error): void
}

interface State {
  options: ConnectionOptions
  reader: Reader
  connection: MqttConnection
  socket: Socket
  isOpen: boolean
  nextId: number
  /** Callbacks of sent packets that the broker has not answered yet, by message id. CONNECT has no message id and uses 0. */
  waiting: Map<number, Waiting>
  sentAt: number
  pingedAt: number | undefined
}

/** All open connections. One timer sends the keep-alive packets of all connections. */
const open = new Set<State>()
let sweeper: NodeJS.Timeout | undefined

function sweep() {
  const now = monotonicMs()
  for (const state of open) {
    if (state.pingedAt !== undefined && now - state.pingedAt > 2 * answerMs)
      fail(state, 'the network no longer answers')
    else if (state.pingedAt === undefined && now - state.sentAt > (keepAliveSeconds * 1000) / 2) {
      state.pingedAt = now
      send(state, { cmd: 'pingreq' })
    }
  }
  if (open.size > 0) return
  clearInterval(sweeper)
  sweeper = undefined
}

/** Connects and logs in. Rejects with ConnectionProblem. */
export async function connectMqtt(options: ConnectionOptions): Promise<MqttConnection> {
  const reader: Reader = { read() {} }
  const socket = await openSocket(options, reader)
  const state: Omit<State, 'connection'> = {
    options,
    reader,
    socket,
    isOpen: true,
    nextId: 0,
    waiting: new Map(),
    sentAt: monotonicMs(),
    pingedAt: undefined,
  }
  return await logIn(Object.assign(state, { connection: connectionOf(state as State) }))
}

async function logIn(state: State): Promise<MqttConnection> {
  const { options } = state
  read(state)
  const { clientId, username, password, isClean: clean } = options
  const connected = answerOf(state, 0)
  send(state, {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    ...{ clientId, username, password: Buffer.from(password), clean, keepalive: keepAliveSeconds },
  })
  const packet = await connected
  if (packet.cmd !== 'connack' || packet.returnCode !== 0) {
    const problem =
      refusals[packet.cmd === 'connack' ? (packet.returnCode ?? 0) : 0] ?? 'the network refuses the session'
    fail(state, problem)
    throw new ConnectionProblem(problem)
  }
  open.add(state)
  sweeper ??= setInterval(sweep, sweepMs).unref()
  return state.connection
}

const credentialsRefused = 'the network refuses the user name or the API key'
const refusals: Record<number, string> = {
  1: 'the network does not accept MQTT 3.1.1',
  2: 'the network refuses the client id',
  3: 'the network is not available',
  4: credentialsRefused,
  5: credentialsRefused,
}

/** A parser of packets, and the connection whose bytes it is parsing. */
interface PacketParser {
  parse(chunk: Buffer): void
  owner: State | undefined
  /** Number of bytes of an incomplete packet. */
  rest(): number
  isBetweenPackets(): boolean
  /** Returns the start of the incomplete packet, whose topic and id must have arrived. Returns undefined if the packet is not a message. */
  startOfMessage(): MessageStart | undefined
}

type MessageStart = Omit<IncomingMessage, 'payload'> & { missingBytes: number }

/**
 * Parsers without an incomplete packet, which any connection may use. If each connection had a parser of its own, an idle connection would
 * need a tenth more memory.
 */
const freeParsers: PacketParser[] = []
const freeParsersMax = 16

function createParser(): PacketParser {
  const parser = mqtt.parser({ protocolVersion: 4 })
  // The type declarations of the parser lack these fields.
  const inner = parser as unknown as ParserState
  const packetParser: PacketParser = {
    owner: undefined,
    parse: (chunk) => void parser.parse(chunk),
    rest: () => inner._list.length,
    isBetweenPackets: () => inner._list.length === 0 && inner._stateCounter === 0,
    startOfMessage: () => startOfMessage(inner),
  }
  parser.on('packet', (packet) => packetParser.owner && receive(packetParser.owner, packet))
  parser.on(
    'error',
    () => packetParser.owner && fail(packetParser.owner, 'the network sent something that is not MQTT'),
  )
  return packetParser
}

/** Fields of the parser that its type declarations lack. `_list` contains the bytes after the length of the packet. */
interface ParserState {
  _list: { length: number; slice(from: number, to: number): Buffer }
  _stateCounter: number
  packet: { cmd: string; qos: 0 | 1 | 2; length: number }
}

function startOfMessage({ _list: list, packet: { cmd, qos, length } }: ParserState): MessageStart | undefined {
  if (cmd !== 'publish') return undefined
  const topicEnd = 2 + list.slice(0, 2).readUInt16BE()
  const topic = list.slice(2, topicEnd).toString()
  const messageId = qos === 0 ? undefined : list.slice(topicEnd, topicEnd + 2).readUInt16BE()
  return { topic, qos, messageId, missingBytes: length - list.length }
}

function read(state: State) {
  const { socket, options } = state
  /** The parser of this connection. It is kept only while a packet is incomplete. */
  let kept: PacketParser | undefined
  /** A message that is too large. Its bytes are discarded as they arrive. */
  let tooLarge: MessageStart | undefined
  /** Discards the bytes of the message that is too large. Returns the bytes after it. */
  const skip = (chunk: Buffer, message: MessageStart): Buffer => {
    const after = chunk.subarray(message.missingBytes)
    message.missingBytes -= chunk.length - after.length
    if (message.missingBytes > 0) return after
    tooLarge = undefined
    receiveMessage(state, message, undefined)
    return after
  }
  state.reader.read = (received) => {
    if (!state.isOpen) return
    const chunk = tooLarge ? skip(received, tooLarge) : received
    if (chunk.length === 0 || !state.isOpen) return
    const parser = kept ?? freeParsers.pop() ?? createParser()
    parser.owner = state
    parser.parse(chunk)
    if (!state.isOpen) return
    if (parser.rest() > packetBytesMax) {
      tooLarge = parser.startOfMessage()
      // The parser has bytes of the incomplete packet, so no connection may use it again.
      parser.owner = undefined
      kept = undefined
      if (!tooLarge) fail(state, `the network sent a packet of more than ${packetBytesMax} bytes`)
      return
    }
    kept = parser.isBetweenPackets() ? undefined : parser
    if (kept) return
    parser.owner = undefined
    if (freeParsers.length < freeParsersMax) freeParsers.push(parser)
  }
  const { host, port } = options.address
  socket.on('error', (error) => fail(state, socketProblem(`${host}:${port}`, host, error)))
  socket.on('close', () => fail(state, 'the network closed the connection'))
}

function receive(state: State, packet: Packet) {
  if (!state.isOpen) return
  switch (packet.cmd) {
    case 'publish':
      // The payload is copied, because the buffer of the parser is reused.
      return receiveMessage(state, packet, Buffer.from(packet.payload))
    case 'pingresp':
      state.pingedAt = undefined
      return
    case 'connack':
    case 'suback':
    case 'puback': {
      const id = packet.cmd === 'connack' ? 0 : (packet.messageId ?? -1)
      const waiting = state.waiting.get(id)
      state.waiting.delete(id)
      waiting?.done(packet)
      return
    }
  }
}

function receiveMessage(
  state: State,
  { topic, qos, messageId }: Pick<IncomingMessage, 'topic' | 'qos'> & { messageId?: number | undefined },
  payload: Buffer | undefined,
) {
  if (qos === 2) return fail(state, 'the network sent a message with QoS 2, which was not asked for')
  state.options.onMessage({ topic, payload, qos, messageId: qos === 0 ? undefined : messageId }, state.connection)
}

/** Ends the connection. `problem` is the reason as text, or undefined if this side closes the connection on purpose. */
function fail(state: State, problem: string | undefined) {
  if (!state.isOpen) return
  state.isOpen = false
  open.delete(state)
  if (problem !== undefined) state.socket.destroy()
  for (const { fail } of state.waiting.values()) fail(new ConnectionProblem(problem ?? 'the connection was closed'))
  state.waiting.clear()
  state.options.onClose(problem)
}

function send(state: State, packet: Packet) {
  if (!state.isOpen) return
  state.sentAt = monotonicMs()
  state.socket.write(mqtt.generate(packet))
}

/** Resolves with the answer to a packet. If the broker does not answer in time, the connection is ended. */
function answerOf(state: State, id: number): Promise<Packet> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(state, 'the network does not answer'), answerMs).unref()
    state.waiting.set(id, {
      done(packet) {
        clearTimeout(timer)
        resolve(packet)
      },
      fail(problem) {
        clearTimeout(timer)
        reject(problem)
      },
    })
    if (!state.isOpen) fail(state, undefined)
  })
}

function newMessageId(state: State): number {
  do state.nextId = (state.nextId % 65_535) + 1
  while (state.waiting.has(state.nextId))
  return state.nextId
}

const connectionOf = (state: State): MqttConnection => ({
  get isOpen() {
    return state.isOpen
  },
  async subscribe(filters) {
    const messageId = newMessageId(state)
    const answer = answerOf(state, messageId)
    send(state, { cmd: 'subscribe', messageId, subscriptions: filters.map((topic) => ({ topic, qos: 1 })) })
    const packet = await answer
    const granted = packet.cmd === 'suback' ? packet.granted : []
    const refused = filters.filter((_, index) => ((granted[index] as number | undefined) ?? 128) >= 128)
    if (refused.length === 0) return
    const problem = `the network refuses the subscription to ${refused[0]}`
    fail(state, problem)
    throw new ConnectionProblem(problem)
  },
  async publish(topic, payload) {
    if (!state.isOpen) throw new ConnectionProblem('the connection is closed')
    const messageId = newMessageId(state)
    const answer = answerOf(state, messageId)
    send(state, { cmd: 'publish', topic, payload, qos: 1, messageId, dup: false, retain: false })
    await answer
  },
  acknowledge: (messageId) => send(state, { cmd: 'puback', messageId }),
  pause: () => void state.socket.pause(),
  resume: () => void state.socket.resume(),
  close() {
    if (!state.isOpen) return
    send(state, { cmd: 'disconnect' })
    fail(state, undefined)
    state.socket.end()
    // A broker that does not close its side must not keep the socket open.
    setTimeout(() => state.socket.destroy(), 2000).unref()
  },
})
