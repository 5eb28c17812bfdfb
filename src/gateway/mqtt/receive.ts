/** Splits the bytes of a stream into packets and calls their handlers. */
import { Code, MqttError, malformed, protocolError } from './codes.ts'
import { connect } from './connect.ts'
import { readAcknowledgement, readConnect, readDisconnect, readSubscribe, readUnsubscribe } from './decode.ts'
import { end, refuse, releaseRest } from './ending.ts'
import { packetFailed } from './log-messages.ts'
import { acknowledged } from './outbound.ts'
import { Packet } from './properties.ts'
import { receivePublish, released } from './publish.ts'
import { doneReading, isOwn, readFrom, setOwn } from './reader.ts'
import { Pause, type Peer, Phase } from './state.ts'
import { subscribe, unsubscribe } from './subscribe.ts'
import { flush, writePingResponse } from './writer.ts'

/** A client that sends more than this after the end of its connection is disconnected immediately. */
const discardedMax = 4_194_304

/** Handles `chunk[from, length)`. The chunk is reused when this returns. */
export function receive(peer: Peer, chunk: Buffer, length: number, from = 0) {
  if (peer.phase >= Phase.closing) {
    peer.discarded += length - from
    if (peer.discarded > discardedMax) peer.stream.destroy()
  } else if (peer.rest) receiveBehind(peer, chunk, length, from)
  else parse(peer, chunk, length, from)
}

/** Completes the buffered packet with bytes of the chunk; the rest of the chunk is parsed in place. */
function receiveBehind(peer: Peer, chunk: Buffer, length: number, from: number) {
  const missing = peer.restNeeds - peer.restLength
  const to = missing > 0 && peer.paused === 0 ? Math.min(length, from + missing) : length
  if (!append(peer, chunk, from, to) || peer.restLength < peer.restNeeds || peer.paused !== 0) return
  parseRest(peer)
  if (to < length) receive(peer, chunk, length, to)
}

function parseRest(peer: Peer) {
  const { rest, restLength } = peer
  if (!rest) return
  releaseRest(peer)
  setOwn(rest)
  parse(peer, rest, restLength)
  setOwn(undefined)
}

/** Continues with buffered bytes, then resumes the stream. */
export function proceed(peer: Peer) {
  if (peer.parsing || peer.paused !== 0 || peer.phase >= Phase.closing) return
  parseRest(peer)
  if (peer.paused !== 0) return
  if (!peer.ended) peer.stream.resume()
  else if (peer.pending === 0) end(peer, Code.success, 'the client closed the connection')
}

function parse(peer: Peer, buffer: Buffer, length: number, from = 0) {
  let position = from
  let work = 0
  peer.parsing = true
  try {
    while (position < length && peer.paused === 0 && peer.phase < Phase.closing) {
      const size = packetSize(peer, buffer, position, length)
      if (size === 0 || position + size > length) {
        peer.restNeeds = size
        break
      }
      const body = position + 1 + lengthBytes(size)
      position += size
      peer.seen = peer.layer.tick
      const first = buffer[position - size]!
      handle(peer, first, buffer, body, position)
      work += first >> 4 !== Packet.publish ? 1 + (size >>> 8) : (first & 4) === 0 ? 1 : 3
      if (work >= workAtOnce && position < length) yieldToOthers(peer)
    }
  } catch (error) {
    fail(peer, error)
  }
  peer.parsing = false
  if (position < length && peer.phase < Phase.closing) keep(peer, buffer, position, length)
  flush(peer)
}

/**
 * Packets that are handled for one connection before others get their turn. QoS 2 counts as three packets, and packets other than
 * PUBLISH count by their length, because a SUBSCRIBE may hold hundreds of filters.
 */
const workAtOnce = 32

export function yieldToOthers(peer: Peer) {
  peer.paused |= Pause.turn
  peer.stream.pause()
  setImmediate(nextTurn, peer)
}

function nextTurn(peer: Peer) {
  peer.paused &= ~Pause.turn
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
    if (digits > 0 && digit === 0) throw malformed('the remaining length is longer than it need be')
    const most = peer.phase === Phase.fresh ? limits.connectBytesMax : limits.packetBytesMax
    const size = value + digits + 2
    if (size > most) throw new MqttError(Code.tooLarge, `a packet of more than ${most} bytes`)
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
  readFrom(buffer, start, stop)
  try {
    handleOther(peer, type, flags)
  } finally {
    doneReading()
  }
}

const { puback, pubrec, pubrel, pubcomp } = Packet
const fromClients = [puback, pubrec, pubrel, pubcomp, Packet.subscribe, Packet.unsubscribe, Packet.disconnect].reduce(
  (bits, type) => bits | (1 << type),
  0,
)

function handleOther(peer: Peer, type: number, flags: number) {
  const { version, layer } = peer
  const { limits } = layer
  if (type === Packet.connect) {
    if (peer.phase !== Phase.fresh) throw protocolError('a second CONNECT')
    connect(peer, readConnect(flags, limits))
    return
  }
  // AUTH is rejected too: it is only valid after a CONNECT with an authentication method, which is refused.
  if ((fromClients & (1 << type)) === 0) throw protocolError('a packet that clients do not send')
  const wanted = type === Packet.pubrel || type === Packet.subscribe || type === Packet.unsubscribe ? 2 : 0
  if (flags !== wanted) throw malformed('reserved bits are set')
  switch (type) {
    case Packet.puback:
    case Packet.pubrec:
    case Packet.pubcomp:
    case Packet.pubrel: {
      const { packetId, code } = readAcknowledgement(type, version, limits)
      if (type === Packet.pubrel) released(peer, peer.session!, packetId)
      else acknowledged(peer, type, packetId, code)
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
      throw protocolError('a session of no length cannot grow')
    session.expirySeconds = Math.min(sessionExpirySeconds, layer.limits.sessionExpiryMaxSeconds)
    client.sessionExpirySeconds = session.expirySeconds
  }
  // MQTT-3.14.4-3: only code 0 discards the will. Invalid codes are accepted, because the connection ends anyway.
  end(peer, Code.success, `the client disconnected with code ${code}`, { graceful: code === Code.success })
}

function fail(peer: Peer, error: unknown) {
  if (!(error instanceof MqttError)) {
    packetFailed(peer.layer.log, { err: error })
    end(peer, Code.unspecified, 'the platform failed')
  } else if (peer.phase < Phase.open && error.code === Code.unsupportedVersion) refuse(peer, error.code, error.message)
  else end(peer, error.code, error.message)
}

/**
 * Buffers the unparsed bytes. They are copied, unless they fill more than a quarter of a buffer of their own. The buffer grows with
 * the bytes that arrive, to the size of the packet once a quarter of it is there, and never by an announced length alone.
 */
function keep(peer: Peer, buffer: Buffer, position: number, length: number) {
  const have = length - position
  if (isOwn(buffer) && have * 4 > buffer.buffer.byteLength) hold(peer, buffer.subarray(position))
  else {
    hold(peer, Buffer.allocUnsafeSlow(peer.paused === 0 ? grown(peer, have) : have))
    buffer.copy(peer.rest!, 0, position, length)
  }
  peer.restLength = have
  peer.restSince = peer.layer.tick
}

const grown = ({ restNeeds }: Peer, have: number) => Math.max(have, Math.min(have * 4, restNeeds))

function hold(peer: Peer, rest: Buffer) {
  peer.rest = rest
  peer.layer.partialBytes += rest.length
}

function append(peer: Peer, chunk: Buffer, from: number, to: number): boolean {
  const { rest, restLength, layer } = peer
  const needed = restLength + to - from
  if (needed > rest!.length) {
    const size = grown(peer, needed)
    if (layer.partialBytes + size - rest!.length > layer.limits.partialBytesMax) {
      end(peer, Code.quotaExceeded, 'too many incomplete packets at a time')
      return false
    }
    layer.partialBytes -= rest!.length
    hold(peer, Buffer.allocUnsafeSlow(size))
    rest!.copy(peer.rest!, 0, 0, restLength)
  }
  chunk.copy(peer.rest!, restLength, from, to)
  peer.restLength = needed
  return true
}
