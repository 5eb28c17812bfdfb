/** Handles PUBLISH: parses the packet, passes the message to the host, and acknowledges messages in the order of arrival. */
import { isUtf8 } from 'node:buffer'
import { Code, MqttError, malformed, protocolError } from './codes.ts'
import { end } from './ending.ts'
import type { Message, MessageProperties, PublishCode, Qos } from './host.ts'
import type { Limits } from './limits.ts'
import { publishFailed } from './log-messages.ts'
import { Packet, readProperties } from './properties.ts'
import { currentPosition, endReading, isUnshared, startReading } from './reader.ts'
import { anyTopic } from './session-store.ts'
import { type Acknowledgement, Pause, type Peer, Phase, type Session } from './state.ts'
import { writeAcknowledgement, writeCodes } from './writer.ts'

const slash = 0x2f
const plus = 0x2b
const hash = 0x23

function readTopic(buffer: Buffer, start: number, stop: number, limits: Limits): string {
  if (stop - start > limits.topicBytesMax) throw new MqttError(Code.topicInvalid, 'the topic is too long')
  let levels = 1
  let ascii = true
  for (let index = start; index < stop; index++) {
    const unit = buffer[index]!
    if (unit === slash) levels++
    else if (unit < 0x20 || unit === 0x7f) throw malformed('the topic contains a control character')
    else if (unit === plus || unit === hash) throw malformed('the topic contains a wildcard')
    else if (unit >= 0x80) ascii = false
  }
  if (levels > limits.topicLevelsMax) throw new MqttError(Code.topicInvalid, 'the topic is too deep')
  if (ascii) return buffer.toString('latin1', start, stop)
  if (!isUtf8(buffer.subarray(start, stop))) throw malformed('the topic is not UTF-8')
  const topic = buffer.toString('utf8', start, stop)
  if (/[\u0080-\u009f]/.test(topic)) throw malformed('the topic contains a control character')
  return topic
}

/** Returns the payload. It is copied, unless it fills most of a buffer that is not reused for other data. */
function copyPayload(buffer: Buffer, start: number, stop: number): Buffer {
  if (isUnshared(buffer) && stop - start > buffer.length / 2) return buffer.subarray(start, stop)
  const part = Buffer.allocUnsafe(stop - start)
  buffer.copy(part, 0, start, stop)
  return part
}

export function receivePublish(peer: Peer, header: number, buffer: Buffer, start: number, stop: number) {
  const { layer } = peer
  const { limits } = layer
  const qos = ((header >> 1) & 3) as Qos
  if ((qos as number) === 3) throw malformed('QoS 3')
  if (qos === 0 && header & 8) throw malformed('a message with QoS 0 has the DUP flag')
  if (stop - start < (qos > 0 ? 4 : 2)) throw malformed('the packet is too short')
  let position = start + 2 + ((buffer[start]! << 8) | buffer[start + 1]!)
  if (position + (qos > 0 ? 2 : 0) > stop) throw malformed('the packet is too short')
  let topic = readTopic(buffer, start + 2, position, limits)
  let packetId = 0
  if (qos > 0) {
    packetId = (buffer[position]! << 8) | buffer[position + 1]!
    if (packetId === 0) throw protocolError('packet id 0')
    position += 2
  }
  let properties: MessageProperties | undefined
  if (peer.version === 5) {
    if (position < stop && buffer[position] === 0) position++
    else {
      startReading(buffer, position, stop)
      const packetProperties = readProperties(Packet.publish, limits)
      position = currentPosition()
      endReading()
      if (packetProperties) {
        const { topicAlias, ...others } = packetProperties
        if (topicAlias !== undefined) topic = resolveAlias(peer, topicAlias as number, topic)
        properties = others as MessageProperties
        if (properties.responseTopic !== undefined && /[+#]|^$/.test(properties.responseTopic))
          throw protocolError('the response topic contains a wildcard')
      }
    }
  }
  if (topic === '') throw peer.version === 5 ? protocolError('no topic') : malformed('no topic')
  const retain = (header & 1) === 1
  const payload = copyPayload(buffer, position, stop)
  const message: Message = properties ? { topic, payload, qos, retain, properties } : { topic, payload, qos, retain }
  if (qos === 2 && !isNewMessage(peer, packetId, topic)) return
  const outcome = layer.host.publish(peer, message)
  if (typeof outcome === 'object') {
    void acknowledgeLater(peer, qos, packetId, message, outcome)
    return
  }
  // The host may have closed the connection.
  if (qos === 0 || peer.phase !== Phase.open) return
  const code = outcome ?? Code.success
  if (qos === 2) recordPacketId(peer, peer.session!, packetId, topic, code)
  acknowledge(peer, acknowledgementHeaders[qos]!, packetId, code)
}

/** First byte of the acknowledgement, by QoS. QoS 0 has no acknowledgement. */
const acknowledgementHeaders = [0, 0x40, 0x50]

/** Records the packet id of a QoS 2 message until PUBREL, unless the message was rejected. */
function recordPacketId(peer: Peer, session: Session, packetId: number, topic: string, code: number) {
  if (code < 0x80 || peer.version < 5)
    session.received = (session.received ?? new Map()).set(packetId, hashTopic(topic))
}

/** Returns the FNV-1a hash of the topic, 32 bits. */
function hashTopic(topic: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < topic.length; index++) value = Math.imul(value ^ topic.charCodeAt(index), 0x01000193)
  return value | 0
}

function resolveAlias(peer: Peer, alias: number, topic: string): string {
  if (alias === 0 || alias > peer.layer.limits.topicAliasMaximum)
    throw new MqttError(Code.topicAlias, 'a topic alias that was not offered')
  if (topic === '') {
    const known = peer.aliasesIn?.[alias]
    if (known === undefined) throw protocolError('an unknown topic alias')
    return known
  }
  peer.aliasesIn ??= []
  peer.aliasesIn[alias] = topic
  return topic
}

/**
 * Returns true if a QoS 2 message is new. A repeated message is acknowledged again. The same packet id with another topic is a new message,
 * because a client that took over the session may use the same packet ids.
 */
function isNewMessage(peer: Peer, packetId: number, topic: string): boolean {
  const { received } = peer.session!
  const known = received?.get(packetId)
  if (known !== undefined && (known === anyTopic || known === hashTopic(topic))) {
    acknowledge(peer, 0x50, packetId, 0)
    return false
  }
  let unreleased = received?.size ?? 0
  for (let waiting = peer.firstAcknowledgement; waiting; waiting = waiting.next) {
    if (waiting.header !== 0x50 || waiting.done) continue
    if (waiting.packetId === packetId) return false
    unreleased++
  }
  const { receiveMaximum, unreleasedMax } = peer.layer.limits
  if (unreleased >= (peer.version === 5 ? receiveMaximum : unreleasedMax))
    throw new MqttError(Code.receiveMaximum, 'more unacknowledged messages than the receive maximum')
  return true
}

/** Sends an acknowledgement. If earlier acknowledgements are pending, it is sent after them. */
export function acknowledge(peer: Peer, header: number, packetId: number, code: number, codes?: number[]) {
  if (peer.firstAcknowledgement)
    appendAcknowledgement(peer, { header, packetId, code, codes, bytes: 0, done: true, next: undefined })
  else if (codes) writeCodes(peer, header, packetId, codes)
  else writeAcknowledgement(peer, header, packetId, code)
}

function appendAcknowledgement(peer: Peer, entry: Acknowledgement) {
  if (peer.lastAcknowledgement) peer.lastAcknowledgement.next = entry
  else peer.firstAcknowledgement = entry
  peer.lastAcknowledgement = entry
}

async function acknowledgeLater(
  peer: Peer,
  qos: Qos,
  packetId: number,
  { topic, payload }: Message,
  outcome: Promise<PublishCode | undefined>,
): Promise<void> {
  const { session } = peer
  const entry: Acknowledgement = {
    header: acknowledgementHeaders[qos]!,
    packetId,
    code: 0,
    codes: undefined,
    bytes: payload.length,
    done: false,
    next: undefined,
  }
  enqueueAcknowledgement(peer, entry)
  try {
    entry.code = (await outcome) ?? Code.success
  } catch (error) {
    failAcknowledgement(peer, entry, error)
    return
  }
  if (qos === 2 && session) recordPacketId(peer, session, packetId, topic, entry.code)
  settleAcknowledgement(peer, entry)
}

/** Appends a pending acknowledgement; pauses reading when too many are pending. */
export function enqueueAcknowledgement(peer: Peer, entry: Acknowledgement) {
  const { receiveMaximum, pendingBytesMax } = peer.layer.limits
  appendAcknowledgement(peer, entry)
  peer.pending++
  peer.pendingBytes += entry.bytes
  if (peer.pending >= receiveMaximum || peer.pendingBytes >= pendingBytesMax) {
    peer.paused |= Pause.pending
    peer.stream.pause()
  }
}

export function settleAcknowledgement(peer: Peer, entry: Acknowledgement) {
  const { receiveMaximum, pendingBytesMax } = peer.layer.limits
  entry.done = true
  peer.pending--
  peer.pendingBytes -= entry.bytes
  if (peer.phase !== Phase.open) return
  let first = peer.firstAcknowledgement
  while (first?.done) {
    if (first.codes) writeCodes(peer, first.header, first.packetId, first.codes)
    else if (first.header !== 0) writeAcknowledgement(peer, first.header, first.packetId, first.code)
    const { next }: Acknowledgement = first
    // The link is removed, because a dead entry in the old generation of the heap would keep all later entries in memory.
    first.next = undefined
    first = next
  }
  peer.firstAcknowledgement = first
  if (!first) peer.lastAcknowledgement = undefined
  if (peer.ended && peer.pending === 0) peer.layer.proceed(peer)
  else if (
    peer.paused & Pause.pending &&
    peer.pending <= receiveMaximum / 2 &&
    peer.pendingBytes <= pendingBytesMax / 2
  ) {
    peer.paused &= ~Pause.pending
    // Reading resumes in the next turn of the event loop, so that one connection does not occupy the event loop.
    setImmediate(peer.layer.proceed, peer)
  }
}

export function failAcknowledgement(peer: Peer, entry: Acknowledgement, error: unknown) {
  entry.done = true
  peer.pending--
  peer.pendingBytes -= entry.bytes
  publishFailed(peer.layer.log, { err: error, clientId: peer.client.clientId })
  end(peer, Code.unspecified, 'the message could not be stored')
}

/** Handles PUBREL. */
export function handlePubrel(peer: Peer, session: Session, packetId: number) {
  const known = session.received?.delete(packetId)
  writeAcknowledgement(peer, 0x70, packetId, known ? 0 : Code.packetIdNotFound)
}
