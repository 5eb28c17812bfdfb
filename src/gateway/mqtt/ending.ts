/** How connections end: with a word to the peer where the protocol has one, and to the host always. */
import { Socket } from 'node:net'
import { Code } from './codes.ts'
import type { Client, CloseReason } from './host.ts'
import { leaveSession } from './session.ts'
import { type Peer, Phase } from './state.ts'
import { flush, writeConnack, writeDisconnect } from './writer.ts'

const names = new Map<number, string>([
  [Code.malformed, 'malformed_packet'],
  [Code.protocolError, 'protocol_error'],
  [Code.unsupportedVersion, 'unsupported_version'],
  [Code.clientIdInvalid, 'client_id_invalid'],
  [Code.badCredentials, 'bad_credentials'],
  [Code.notAuthorized, 'not_authorized'],
  [Code.unavailable, 'unavailable'],
  [Code.busy, 'busy'],
  [Code.banned, 'banned'],
  [Code.shuttingDown, 'shutting_down'],
  [Code.badAuthenticationMethod, 'authentication_method'],
  [Code.takenOver, 'taken_over'],
  [Code.tooLarge, 'packet_too_large'],
  [Code.quotaExceeded, 'quota_exceeded'],
  [Code.keepAliveTimeout, 'timeout'],
])

const closeCodes: Record<CloseReason, number> = {
  taken_over: Code.takenOver,
  not_authorized: Code.notAuthorized,
  administrative: Code.administrative,
  shutting_down: Code.shuttingDown,
  quota_exceeded: Code.quotaExceeded,
  protocol_error: Code.protocolError,
}

/** `Connection.close`. `why` is for the record, as a verdict's is. */
export function closeConnection(this: Peer, reason: CloseReason, why: string) {
  end(this, closeCodes[reason], why, { told: reason.replaceAll('_', ' ') })
}

/**
 * Ends the connection from our side. The peer's bytes are still taken and thrown away for a moment: a socket that is closed with
 * unread bytes is reset, and the peer would lose our last words.
 */
export function end(
  peer: Peer,
  code: number,
  why: string,
  { graceful = false, told = why, yieldedTo }: { graceful?: boolean; told?: string; yieldedTo?: string } = {},
) {
  const { phase, stream, layer } = peer
  if (phase >= Phase.closing) return
  if (phase === Phase.open && peer.version === 5 && code >= 0x80)
    writeDisconnect(peer, code, layer.offers.reasonStrings && peer.problemInformation ? told : undefined)
  peer.phase = Phase.closing
  peer.seen = layer.tick
  releaseRest(peer)
  flush(peer)
  if (!stream.writableEnded) stream.end()
  peer.paused = 0
  stream.resume()
  farewell(peer, phase, graceful, why, names.get(code) ?? 'closed', yieldedTo)
}

/** CONNACK with a code, and the end. */
export function refuse(peer: Peer, code: number, why: string) {
  if (peer.phase >= Phase.closing) return
  writeConnack(peer, false, code, {})
  end(peer, code, why)
}

/** `Accepted.evict`: the file descriptor is needed, so the peer gets no time to read. */
export function evict(this: Peer, why: string) {
  if (this.phase === Phase.connecting) refuse(this, Code.busy, why)
  else end(this, Code.quotaExceeded, why, { told: 'quota exceeded' })
  const { stream } = this
  if (stream instanceof Socket) stream.destroySoon()
  else stream.once('finish', () => stream.destroy())
}

/** The stream is gone, whoever closed it. */
export function gone(peer: Peer) {
  const { phase, layer } = peer
  if (phase === Phase.closed) return
  peer.phase = Phase.closed
  peer.out = undefined
  peer.outLength = 0
  releaseRest(peer)
  layer.peers.delete(peer)
  peer.from.left?.(peer.from)
  if (phase < Phase.closing) farewell(peer, phase, false, peer.failure ?? 'the connection was closed', 'closed')
}

export function releaseRest(peer: Peer) {
  if (peer.rest) peer.layer.partialBytes -= peer.rest.length
  peer.rest = undefined
  peer.restLength = 0
  peer.restNeeds = 0
}

function withoutPassword({ client }: Peer): Partial<Client> {
  const { password: _, ...others } = { ...client }
  return others
}

function farewell(peer: Peer, phase: number, graceful: boolean, why: string, reason: string, yieldedTo?: string) {
  const { layer, from } = peer
  peer.open = false
  leaveSession(peer, phase, yieldedTo)
  try {
    if (phase === Phase.open) layer.host.disconnected(peer, { graceful, why })
    // Whoever looks whether the port is open, and no more, was not turned away.
    else if (phase === Phase.connecting || reason !== 'closed')
      layer.host.refused({ ...withoutPassword(peer), transport: from.transport, address: from.address }, reason, why)
  } catch (error) {
    layer.log.error({ err: error }, 'the end of a connection could not be told')
  }
}
