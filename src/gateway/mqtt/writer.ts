/** Encodes packets to clients. The packets that one turn of the event loop produces for a connection are sent with one write. */
import { oldConnectCode } from './codes.ts'
import type { Message, MessageProperties } from './host.ts'
import { type Properties, propertyBytes, variableIntegerBytes } from './properties.ts'
import { type Layer, Pause, type Peer, Phase } from './state.ts'

const flushBytes = 65_536

/** Reserves space for a packet and returns its position in `peer.out`. */
function reserve(peer: Peer, bytes: number): number {
  // A large buffer is flushed immediately, so that the stream's limits also apply before the end of the turn.
  if (peer.outLength + bytes > flushBytes) flush(peer)
  const used = peer.outLength
  const needed = used + bytes
  const out = peer.out
  if (!out) peer.out = Buffer.allocUnsafe(Math.max(64, bytes))
  else if (out.length < needed) {
    const larger = Buffer.allocUnsafe(Math.max(needed, out.length * 2))
    out.copy(larger, 0, 0, used)
    peer.out = larger
  }
  peer.outLength = needed
  if (!peer.unflushed && !peer.parsing) flushLater(peer)
  return used
}

/** If this many connections have packets, they are flushed early, so that the first connection does not wait for the end of the turn. */
const flushFromConnections = 64

/** Flushes all connections together at the end of the turn. Writes between reads would add 3 µs to the cost of a message. */
function flushLater(peer: Peer) {
  peer.unflushed = true
  const { layer } = peer
  const count = layer.unflushed.push(peer)
  if (count === 1) setImmediate(flushAll, layer)
  else if (count === flushFromConnections) process.nextTick(flushAll, layer)
}

function flushAll(layer: Layer) {
  const peers = layer.unflushed
  layer.unflushed = []
  for (const peer of peers) {
    peer.unflushed = false
    flush(peer)
  }
}

export function flush(peer: Peer) {
  const { out, outLength, stream } = peer
  if (outLength === 0) return
  peer.out = undefined
  peer.outLength = 0
  if (stream.destroyed || stream.writableEnded) return
  if (!stream.write(out!.length === outLength ? out! : out!.subarray(0, outLength))) checkUnsent(peer)
}

function checkUnsent(peer: Peer) {
  const unsent = peer.stream.writableLength
  const { unsentBytesMax } = peer.layer.limits
  if (unsent <= unsentBytesMax) return
  if (unsent > unsentBytesMax * 4) {
    peer.failure = 'the client does not read the messages that it is sent'
    peer.stream.destroy()
  } else if ((peer.paused & Pause.unsent) === 0 && peer.phase < Phase.closing) {
    // Reading stops too, because more messages would only cause more responses.
    peer.paused |= Pause.unsent
    peer.slowSinceTick = peer.layer.tick
    peer.stream.pause()
  }
}

function writeVariableInteger(out: Buffer, at: number, value: number): number {
  let position = at
  let remaining = value
  while (remaining > 0x7f) {
    out[position++] = (remaining & 0x7f) | 0x80
    remaining >>>= 7
  }
  out[position++] = remaining
  return position
}

/** Writes PUBACK, PUBREC, PUBREL or PUBCOMP. Only MQTT 5 packets contain the code. */
export function writeAcknowledgement(peer: Peer, header: number, packetId: number, code: number) {
  const hasCode = code !== 0 && peer.version === 5
  const at = reserve(peer, hasCode ? 5 : 4)
  const out = peer.out!
  out[at] = header
  out[at + 1] = hasCode ? 3 : 2
  out[at + 2] = packetId >> 8
  out[at + 3] = packetId & 0xff
  if (hasCode) out[at + 4] = code
}

export function writePingResponse(peer: Peer) {
  const at = reserve(peer, 2)
  peer.out![at] = 0xd0
  peer.out![at + 1] = 0
}

function writeBody(peer: Peer, header: number, body: Buffer) {
  const at = reserve(peer, 1 + variableIntegerBytes(body.length) + body.length)
  peer.out![at] = header
  body.copy(peer.out!, writeVariableInteger(peer.out!, at + 1, body.length))
}

/** Writes CONNACK. Returns false if the packet is larger than the client accepts. */
export function writeConnack(peer: Peer, sessionPresent: boolean, code: number, properties: Properties): boolean {
  const flags = sessionPresent ? 1 : 0
  const body =
    peer.version === 5
      ? Buffer.concat([Buffer.from([flags, code]), propertyBytes(properties)])
      : Buffer.from([flags, code === 0 ? 0 : oldConnectCode(code)])
  if (body.length + 2 > peer.packetBytesMax) return false
  writeBody(peer, 0x20, body)
  return true
}

/** Writes SUBACK or UNSUBACK; UNSUBACK of 3.1.1 has no codes. */
export function writeCodes(peer: Peer, header: number, packetId: number, codes: number[]) {
  const id = [packetId >> 8, packetId & 0xff]
  if (peer.version === 5) writeBody(peer, header, Buffer.from([...id, 0, ...codes]))
  else writeBody(peer, header, Buffer.from(header === 0x90 ? [...id, ...codes.map(oldSubscribeCode)] : id))
}

const oldSubscribeCode = (code: number) => (code >= 0x80 ? 0x80 : code)

export function writeDisconnect(peer: Peer, code: number, reason: string | undefined) {
  if (reason === undefined) writeBody(peer, 0xe0, Buffer.from([code]))
  else {
    const body = Buffer.concat([Buffer.from([code]), propertyBytes({ reasonString: reason })])
    writeBody(peer, 0xe0, body.length + 4 > peer.packetBytesMax ? Buffer.from([code]) : body)
  }
}

/** Writes PUBLISH. Returns false, without writing, if the packet is larger than the client accepts. */
export function writePublish(
  peer: Peer,
  message: Message,
  packetId: number,
  isDuplicate: boolean,
  properties: MessageProperties | undefined,
): boolean {
  const { payload, qos } = message
  let alias = mayHaveAlias(peer, message) ? aliasFor(peer, message.topic) : 0
  let encodedProperties = encodeProperties(peer, properties, alias)
  let length = lengthOf(message, alias, encodedProperties)
  if (alias > 0 && packetBytesOf(length) > peer.packetBytesMax) {
    // The message may fit without the property of the new alias.
    peer.aliasesOut!.delete(message.topic)
    alias = 0
    encodedProperties = encodeProperties(peer, properties, alias)
    length = lengthOf(message, alias, encodedProperties)
  }
  const packetBytes = packetBytesOf(length)
  if (packetBytes > peer.packetBytesMax) return false
  const topic = alias < 0 ? '' : message.topic
  const topicBytes = Buffer.byteLength(topic)
  const at = reserve(peer, packetBytes)
  const out = peer.out!
  out[at] = 0x30 | (isDuplicate ? 8 : 0) | (qos << 1) | (message.retain ? 1 : 0)
  let position = writeVariableInteger(out, at + 1, length)
  out[position] = topicBytes >> 8
  out[position + 1] = topicBytes & 0xff
  position += 2
  out.write(topic, position)
  position += topicBytes
  if (qos > 0) {
    out[position] = packetId >> 8
    out[position + 1] = packetId & 0xff
    position += 2
  }
  if (encodedProperties) position += encodedProperties.copy(out, position)
  payload.copy(out, position)
  return true
}

/** Implements `Connection.accepts`. */
export function accepts(this: Peer, message: Message): boolean {
  if (this.packetBytesMax === Infinity) return true
  const known = mayHaveAlias(this, message) ? this.aliasesOut?.get(message.topic) : undefined
  const alias = known === undefined ? 0 : -known
  const properties = encodeProperties(this, message.properties, alias)
  return packetBytesOf(lengthOf(message, alias, properties)) <= this.packetBytesMax
}

/** QoS 2 gets no alias, because MQTT.js (5.16) passes a message of QoS 2 with an alias to its program without the topic. */
const mayHaveAlias = (peer: Peer, { qos }: Message) => peer.aliasesOutMax > 0 && qos < 2

function encodeProperties(peer: Peer, properties: MessageProperties | undefined, alias: number): Buffer | undefined {
  if (peer.version !== 5) return undefined
  return propertyBytes(alias === 0 ? (properties as Properties) : { ...properties, topicAlias: Math.abs(alias) })
}

/** Returns the remaining length of PUBLISH. With a negative alias, the packet contains no topic. */
function lengthOf({ topic, qos, payload }: Message, alias: number, properties: Buffer | undefined): number {
  const topicBytes = alias < 0 ? 0 : Buffer.byteLength(topic)
  return 2 + topicBytes + (qos > 0 ? 2 : 0) + (properties ? properties.length : 0) + payload.length
}

const packetBytesOf = (length: number) => 1 + variableIntegerBytes(length) + length

/** Returns the alias of a topic. The number is negative if the client already has this alias, and 0 if all aliases are used. */
function aliasFor(peer: Peer, topic: string): number {
  peer.aliasesOut ??= new Map()
  const known = peer.aliasesOut.get(topic)
  if (known !== undefined) return -known
  if (peer.aliasesOut.size >= peer.aliasesOutMax) return 0
  const alias = peer.aliasesOut.size + 1
  peer.aliasesOut.set(topic, alias)
  return alias
}
