/** Ends connections. Sends CONNACK or DISCONNECT if the protocol version has such a packet, and notifies the host. */
import { Socket } from 'node:net'
import { Code } from './codes.ts'
import type { Client, CloseReason } from './host.ts'
import { disconnectNotReported } from './log-messages.ts'
import { leaveSession } from './session.ts'
import { type Peer, Phase } from './state.ts'
import { flush, writeConnack, writeDisconnect } from './writer.ts'

const reasonNames = new Map<number, string>([
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

/** Implements `Connection.close`. `why` is for the traffic log; the client gets `reason`. */
export function closeConnection(this: Peer, reason: CloseReason, why: string) {
  end(this, closeCodes[reason], why, { reasonString: reason.replaceAll('_', ' ') })
}

/**
 * Ends the connection. For a moment, bytes from the client are still read and discarded: closing a socket with unread bytes resets the
 * connection, and the client would lose the last packets of the platform.
 */
export function end(
  peer: Peer,
  code: number,
  why: string,
  {
    graceful = false,
    reasonString = why,
    yieldedTo,
  }: { graceful?: boolean; reasonString?: string; yieldedTo?: string } = {},
) {
  const { phase, stream, layer } = peer
  if (phase >= Phase.closing) return
  if (phase === Phase.open && peer.version === 5 && code >= 0x80)
    writeDisconnect(peer, code, layer.offers.reasonStrings && peer.problemInformation ? reasonString : undefined)
  peer.phase = Phase.closing
  peer.lastActiveTick = layer.tick
  discardUnparsed(peer)
  flush(peer)
  if (!stream.writableEnded) stream.end()
  peer.paused = 0
  stream.resume()
  reportEnd(peer, phase, graceful, why, reasonNames.get(code) ?? 'closed', yieldedTo)
}

/** Sends CONNACK with a code and ends the connection. */
export function refuse(peer: Peer, code: number, why: string) {
  if (peer.phase >= Phase.closing) return
  writeConnack(peer, false, code, {})
  end(peer, code, why)
}

/** Implements `Accepted.evict`. The client gets no time to read the last packet, because the file descriptor is needed immediately. */
export function evict(this: Peer, why: string) {
  if (this.phase === Phase.connecting) refuse(this, Code.busy, why)
  else end(this, Code.quotaExceeded, why, { reasonString: 'quota exceeded' })
  const { stream } = this
  if (stream instanceof Socket) stream.destroySoon()
  else stream.once('finish', () => stream.destroy())
}

/** Handles the end of the stream. */
export function handleClosedStream(peer: Peer) {
  const { phase, layer } = peer
  if (phase === Phase.closed) return
  peer.phase = Phase.closed
  peer.out = undefined
  peer.outLength = 0
  discardUnparsed(peer)
  layer.peers.delete(peer)
  peer.origin.onClosed?.(peer.origin)
  if (phase < Phase.closing) reportEnd(peer, phase, false, peer.failure ?? 'the connection was closed', 'closed')
}

export function discardUnparsed(peer: Peer) {
  if (peer.unparsed) peer.layer.partialBytes -= peer.unparsed.length
  peer.unparsed = undefined
  peer.unparsedLength = 0
  peer.nextPacketSize = 0
}

function withoutPassword({ client }: Peer): Partial<Client> {
  const { password: _, ...clientWithoutPassword } = { ...client }
  return clientWithoutPassword
}

function reportEnd(peer: Peer, phase: number, graceful: boolean, why: string, reason: string, yieldedTo?: string) {
  const { layer, origin } = peer
  peer.open = false
  leaveSession(peer, phase, yieldedTo)
  try {
    if (phase === Phase.open) layer.host.disconnected(peer, { graceful, why, reason })
    // Connections that only check whether the port is open end before CONNECT; they are not recorded.
    else if (phase === Phase.connecting || reason !== 'closed')
      layer.host.refused(
        { ...withoutPassword(peer), transport: origin.transport, address: origin.address },
        reason,
        why,
      )
  } catch (error) {
    disconnectNotReported(layer.log, { err: error })
  }
}
