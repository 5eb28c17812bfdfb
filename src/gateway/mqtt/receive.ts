/** Splits the bytes of a stream into packets and calls their handlers. */
import { Code, MqttError, malformed, protocolError } from './codes.ts'
import { connect } from './connect.ts'
import { readAcknowledgement, readConnect, readDisconnect, readSubscribe, readUnsubscribe } from './decode.ts'
import { discardUnparsed, end, refuse } from './ending.ts'
import { packetFailed } from './log-messages.ts'
import { handleAcknowledgement } from './outbound.ts'
import { Packet } from './properties.ts'
import { handlePubrel, receivePublish } from './publish.ts'
import { endReading, isUnshared, setUnshared, startReading } from './reader.ts'
import { Pause, type Peer, Phase } from './state.ts'
import { subscribe, unsubscribe } from './subscribe.ts'
import { flush, writePingResponse } from './writer.ts'

/** If a client sends more bytes than this after the platform has ended its connection, its socket is destroyed immediately. */
const discardedMax = 4_194_304

/** Handles the bytes of `chunk` from `from` up to `length`. The chunk is reused for other data when this function returns. */
export function receive(peer: Peer, chunk: Buffer, length: number, from = 0) {
  if (peer.phase >= Phase.closing) {
    peer.discardedBytes += length - from
    if (peer.discardedBytes > discardedMax) peer.stream.destroy()
  } else if (peer.unparsed) completeUnparsed(peer, chunk, length, from)
  else parse(peer, chunk, length, from)
}

/** Completes the buffered packet with bytes of the chunk; the rest of the chunk is parsed in place. */
function completeUnparsed(peer: Peer, chunk: Buffer, length: number, from: number) {
  const missing = peer.nextPacketSize - peer.unparsedLength
  const to = missing > 0 && peer.paused === 0 ? Math.min(length, from + missing) : length
  if (!append(peer, chunk, from, to) || peer.unparsedLength < peer.nextPacketSize || peer.paused !== 0) return
  parseUnparsed(peer)
  if (to < length) receive(peer, chunk, length, to)
}

function parseUnparsed(peer: Peer) {
  const { unparsed, unparsedLength } = peer
  if (!unparsed) return
  discardUnparsed(peer)
  setUnshared(unparsed)
  parse(peer, unparsed, unparsedLength)
  setUnshared(undefined)
}

/** Parses the buffered bytes, then resumes the stream. */
export function proceed(peer: Peer) {
  if (peer.parsing || peer.paused !== 0 || peer.phase >= Phase.closing) return
  parseUnparsed(peer)
  if (peer.paused !== 0) return
  if (!peer.ended) peer.stream.resume()
  else if (peer.pending === 0) end(peer, Code.success, 'the client closed the connection')
}

function parse(peer: Peer, buffer: Buffer, length: number, from = 0) {
  let position = from
  let cost = 0
  peer.parsing = true
  try {
    while (position < length && peer.paused === 0 && peer.phase < Phase.closing) {
      const size = packetSize(peer, buffer, position, length)
      if (size === 0 || position + size > length) {
        peer.nextPacketSize = size
        break
      }
      const body = position + 1 + lengthBytes(size)
      position += size
      peer.lastActiveTick = peer.layer.tick
      const first = buffer[position - size]!
      handle(peer, first, buffer, body, position)
      cost += first >> 4 !== Packet.publish ? 1 + (size >>> 8) : (first & 4) === 0 ? 1 : 3
      if (cost >= costPerTurnMax && position < length) yieldToOthers(peer)
    }
  } catch (error) {
    endWithError(peer, error)
  }
  peer.parsing = false
  if (position < length && peer.phase < Phase.closing) bufferUnparsed(peer, buffer, position, length)
  flush(peer)
}

/**
 * Limits the cost of the packets that are handled for one connection before other connections get their turn. A PUBLISH costs 1, or 3 with
 * QoS 2. The cost of other packets depends on their length, because a SUBSCRIBE may contain hundreds of filters.
 */
const costPerTurnMax = 32

export function yieldToOthers(peer: Peer) {
  peer.paused |= Pause.yielding
  peer.stream.pause()
  setImmediate(nextTurn, peer)
}

function nextTurn(peer: Peer) {
  peer.paused &= ~Pause.yielding
  proceed(peer)
}

const lengthBytes = (size: number) => (size < 130 ? 1 : size < 16_387 ? 2 : size < 2_097_156 ? 3 : 4)

/** Returns the size of the packet that begins here; 0 if its length has not arrived yet. */
function packetSize(peer: Peer, buffer: Buffer, position: number, length: number): number {
  const { limits } = peer.layer
  const first = buffer[position]!
  if (peer.phase === Phase.fresh && first >> 4 !== Packet.connect)
    throw protocolError('the first packet is not CONNECT')
  let value = 0
  for (let digits = 0; ; digits++) {
    if (digits === 4) throw malformed('the remaining length has more than four bytes')
    const index = position + 1 + digits
    if (index >= length) return 0
    const digit = buffer[index]!
    value |= (digit & 0x7f) << (digits * 7)
    if (digit >= 0x80) continue
    if (digits > 0 && digit === 0) throw malformed('the remaining length has more bytes than it needs')
    const bytesMax = peer.phase === Phase.fresh ? limits.connectBytesMax : limits.packetBytesMax
    const size = value + digits + 2
    if (size > bytesMax) throw new MqttError(Code.tooLarge, `a packet of more than ${bytesMax} bytes`)
    return size
  }
}

function handle(peer: Peer, first: number, buffer: Buffer, start: number, stop: number) {
  const type = first >> 4
  if (type === Packet.publish) {
    receivePublish(peer, first, buffer, start, stop)
    return
  }
  const flags = first & 15
  if (type === Packet.pingreq) {
    if (flags !== 0 || start !== stop) throw malformed('PINGREQ has a body or flags')
    writePingResponse(peer)
    return
  }
  startReading(buffer, start, stop)
  try {
    handleOther(peer, type, flags)
  } finally {
    endReading()
  }
}

const { puback, pubrec, pubrel, pubcomp } = Packet
const clientPacketTypes = [
  puback,
  pubrec,
  pubrel,
  pubcomp,
  Packet.subscribe,
  Packet.unsubscribe,
  Packet.disconnect,
].reduce((bits, type) => bits | (1 << type), 0)

function handleOther(peer: Peer, type: number, flags: number) {
  const { version, layer } = peer
  const { limits } = layer
  if (type === Packet.connect) {
    if (peer.phase !== Phase.fresh) throw protocolError('a second CONNECT')
    connect(peer, readConnect(flags, limits, peer))
    return
  }
  // AUTH is rejected too. It is valid only after a CONNECT with an authentication method, and such a CONNECT is refused.
  if ((clientPacketTypes & (1 << type)) === 0) throw protocolError('a packet that clients do not send')
  const expectedFlags = type === Packet.pubrel || type === Packet.subscribe || type === Packet.unsubscribe ? 2 : 0
  if (flags !== expectedFlags) throw malformed('reserved bits are set')
  switch (type) {
    case Packet.puback:
    case Packet.pubrec:
    case Packet.pubcomp:
    case Packet.pubrel: {
      const { packetId, code } = readAcknowledgement(type, version, limits)
      if (type === Packet.pubrel) handlePubrel(peer, peer.session!, packetId)
      else handleAcknowledgement(peer, type, packetId, code)
      return
    }
    case Packet.subscribe:
      subscribe(peer, readSubscribe(version, limits))
      return
    case Packet.unsubscribe: {
      const { packetId, filters } = readUnsubscribe(version, limits)
      unsubscribe(peer, packetId, filters)
      return
    }
    default:
      disconnect(peer)
  }
}

function disconnect(peer: Peer) {
  const { code, sessionExpirySeconds } = readDisconnect(peer.version, peer.layer.limits)
  const { session, client, layer } = peer
  if (sessionExpirySeconds !== undefined && session) {
    // MQTT 5, 3.14.2.2.2: a session that ends with the connection cannot be extended by DISCONNECT.
    if (session.expirySeconds === 0 && sessionExpirySeconds > 0)
      throw protocolError('DISCONNECT cannot extend a session that ends with its connection')
    session.expirySeconds = Math.min(sessionExpirySeconds, layer.limits.sessionExpiryMaxSeconds)
    client.sessionExpirySeconds = session.expirySeconds
  }
  // MQTT-3.14.4-3: only code 0 discards the will. Invalid codes are accepted, because the connection ends anyway.
  const isNormal = code === Code.success
  const reason = isNormal ? 'the client disconnected' : `the client disconnected with code ${code}`
  end(peer, Code.success, reason, { graceful: isNormal })
}

function endWithError(peer: Peer, error: unknown) {
  if (!(error instanceof MqttError)) {
    packetFailed(peer.layer.log, { err: error })
    end(peer, Code.unspecified, 'the platform failed')
  } else if (peer.phase === Phase.fresh && (peer.version === 5 || error.code === Code.unsupportedVersion))
    refuse(peer, error.code, error.message)
  else end(peer, error.code, error.message)
}

/**
 * Buffers the unparsed bytes. They are copied, unless they fill more than a quarter of a buffer that is not reused. The buffer has at most
 * four times the size of the bytes that have arrived, so that a client cannot cause a large allocation by announcing a large length.
 */
function bufferUnparsed(peer: Peer, buffer: Buffer, position: number, length: number) {
  const unparsedBytes = length - position
  if (isUnshared(buffer) && unparsedBytes * 4 > buffer.buffer.byteLength) setUnparsed(peer, buffer.subarray(position))
  else {
    setUnparsed(peer, Buffer.allocUnsafeSlow(peer.paused === 0 ? grownSize(peer, unparsedBytes) : unparsedBytes))
    buffer.copy(peer.unparsed!, 0, position, length)
  }
  peer.unparsedLength = unparsedBytes
  peer.unparsedSince = peer.layer.tick
}

const grownSize = ({ nextPacketSize }: Peer, length: number) => Math.max(length, Math.min(length * 4, nextPacketSize))

function setUnparsed(peer: Peer, buffer: Buffer) {
  peer.unparsed = buffer
  peer.layer.partialBytes += buffer.length
}

function append(peer: Peer, chunk: Buffer, from: number, to: number): boolean {
  const { unparsed, unparsedLength, layer } = peer
  const needed = unparsedLength + to - from
  if (needed > unparsed!.length) {
    const size = grownSize(peer, needed)
    if (layer.partialBytes + size - unparsed!.length > layer.limits.partialBytesMax) {
      end(peer, Code.quotaExceeded, 'too many incomplete packets at a time')
      return false
    }
    layer.partialBytes -= unparsed!.length
    setUnparsed(peer, Buffer.allocUnsafeSlow(size))
    unparsed!.copy(peer.unparsed!, 0, 0, unparsedLength)
  }
  chunk.copy(peer.unparsed!, unparsedLength, from, to)
  peer.unparsedLength = needed
  return true
}
