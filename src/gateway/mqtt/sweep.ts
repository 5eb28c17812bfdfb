/** Checks all time-outs twice a second, because a timer for each connection would cost more memory than the connection. */
import { Code } from './codes.ts'
import { end, refuse } from './ending.ts'
import { sessionRefreshFailed } from './log-messages.ts'
import { reconcileSessions } from './session-reconciliation.ts'
import { type Layer, Pause, type Peer, Phase, ticksPerSecond } from './state.ts'

export const sweepEveryMs = 1000 / ticksPerSecond
const touchEveryTicks = 60 * ticksPerSecond

export function sweep(layer: Layer) {
  layer.tick++
  for (const peer of layer.peers) sweepPeer(peer, layer)
  if (layer.tick % touchEveryTicks !== 0) return
  reconcileSessions(layer).catch((error) => sessionRefreshFailed(layer.log, { err: error }))
}

function sweepPeer(peer: Peer, { tick, limits }: Layer) {
  const isOlderThan = (then: number, seconds: number) => tick - then > seconds * ticksPerSecond
  if (peer.phase === Phase.closing) {
    if (isOlderThan(peer.lastActiveTick, limits.lingerSeconds)) peer.stream.destroy()
  } else if (peer.phase < Phase.open) {
    if (!isOlderThan(peer.lastActiveTick, limits.connectTimeoutSeconds)) return
    if (peer.phase === Phase.fresh) end(peer, Code.keepAliveTimeout, 'CONNECT took too long')
    else refuse(peer, Code.unavailable, 'the platform took too long')
  } else if (peer.paused & Pause.unsent && isOlderThan(peer.slowSinceTick, limits.slowReaderSeconds)) {
    peer.failure = 'the client does not read the messages that it is sent'
    peer.stream.destroy()
  } else if (peer.paused !== 0) {
    // The platform has paused reading, so this time does not count towards the time-out.
    peer.lastActiveTick = tick
    peer.unparsedSince = tick
  } else if (peer.unparsed && isOlderThan(peer.unparsedSince, limits.packetTimeoutSeconds))
    end(peer, Code.keepAliveTimeout, 'a packet took too long')
  else if (peer.keepAliveTicks > 0 && tick - peer.lastActiveTick > peer.keepAliveTicks)
    end(peer, Code.keepAliveTimeout, 'no packet arrived within 1.5 times the keep-alive')
}
