/** Creates and restores sessions, and stores them when their connection ends. */
import type { Settled, Subscription } from './host.ts'
import { clearInFlight, listInFlight, removeInFlight } from './in-flight.ts'
import { sessionNotSaved } from './log-messages.ts'
import { messageBytes, type SessionMessage, type SessionState } from './session-store.ts'
import { type Outgoing, type Peer, Phase, type Session } from './state.ts'

export const newSession = (key: string): Session => ({
  key,
  claim: 0,
  claiming: false,
  competingClaim: undefined,
  peer: undefined,
  expirySeconds: 0,
  isStored: false,
  inherited: false,
  subscriptions: undefined,
  inFlight: 0,
  firstInFlight: undefined,
  lastInFlight: undefined,
  queue: undefined,
  held: undefined,
  queuedBytes: 0,
  received: undefined,
  lastPacketId: 0,
  loading: undefined,
})

export function restoreSession(session: Session, state: SessionState) {
  session.isStored = true
  if (state.subscriptions.length > 0)
    session.subscriptions = new Map(state.subscriptions.map((subscription) => [subscription.filter, subscription]))
  if (state.received.length > 0) session.received = new Map(state.received)
  if (state.messages.length > 0) session.queue = state.messages.map(toOutgoing)
  for (const { bytes, packetId } of session.queue ?? []) {
    session.queuedBytes += bytes
    session.lastPacketId = Math.max(session.lastPacketId, packetId)
  }
}

export const toOutgoing = ({ message, packetId, released, queuedAt, storeId }: SessionMessage): Outgoing => ({
  message,
  packetId,
  released,
  isDuplicate: packetId > 0,
  queuedAt,
  bytes: messageBytes(message),
  storeId,
  settled: undefined,
  next: undefined,
})

/** Reports the outcome of all messages that the session has for its client. */
export function settleAll(session: Session, outcome: Parameters<Settled>[0]) {
  for (const outgoing of [...listInFlight(session), ...(session.held ?? []), ...(session.queue ?? [])]) {
    outgoing.settled?.(outcome)
    outgoing.settled = undefined
  }
}

/**
 * Drops transient messages when the connection ends. Messages between PUBREC and PUBCOMP stay, because the client already has them and
 * keeps their packet ids until it gets PUBREL.
 */
export function dropTransient(session: Session) {
  if (session.inFlight === 0 && !session.queue) return
  const isDropped = ({ message, released }: Outgoing) => message.transient === true && !released
  const dropped = [...listInFlight(session), ...(session.queue ?? [])].filter(isDropped)
  if (dropped.length === 0) return
  for (const outgoing of dropped) {
    removeInFlight(session, outgoing)
    session.queuedBytes -= outgoing.bytes
    outgoing.settled?.('lost')
    outgoing.settled = undefined
  }
  const rest = session.queue?.filter((outgoing) => !isDropped(outgoing)) ?? []
  session.queue = rest.length > 0 ? rest : undefined
}

/** Puts unacknowledged messages at the start of the queue, in the order in which they were sent, to be sent again (MQTT-4.6.0-1). */
export function requeueInFlight(session: Session) {
  if (session.inFlight === 0) return
  const sent = listInFlight(session)
  for (const outgoing of sent) outgoing.isDuplicate = true
  session.queue = [...sent, ...(session.queue ?? [])]
  clearInFlight(session)
}

export const subscriptionsOf = (session: Session): Subscription[] => [...(session.subscriptions?.values() ?? [])]

/** Detaches the session from its connection. A session that outlives the connection is stored; any other session is dropped. */
export function leaveSession(peer: Peer, phase: number, yieldedTo: string | undefined) {
  const { session, layer } = peer
  peer.session = undefined
  if (!session || session.peer !== peer) return
  session.peer = undefined
  dropTransient(session)
  if (layer.sessions.get(session.key) === session) layer.sessions.delete(session.key)
  const { store } = layer
  const { key, claim } = session
  const logFailure = (error: unknown) => sessionNotSaved(layer.log, { err: error })
  // Before CONNACK, the stored session is still up to date, unless the session was taken over in memory from an earlier connection.
  const isChanged = phase === Phase.open || session.inherited
  if (isChanged && session.expirySeconds > 0) {
    store.leave(key, claim, toSessionState(session, layer.now().getTime()), yieldedTo).then(
      () => settleAll(session, 'queued'),
      (error) => {
        logFailure(error)
        settleAll(session, 'lost')
      },
    )
    return
  }
  settleAll(session, 'lost')
  if (isChanged && session.isStored) store.discard(key, claim).catch(logFailure)
  // If the claim is still pending, connect.ts removes the row of the connection when the claim is complete.
  else if (!session.claiming) store.removeHolder(key, claim)
  if (yieldedTo !== undefined) store.release(key, yieldedTo)
}

function toSessionState(session: Session, now: number): SessionState {
  const queued = [...listInFlight(session), ...(session.held ?? []), ...(session.queue ?? [])]
  return {
    expirySeconds: session.expirySeconds,
    subscriptions: subscriptionsOf(session),
    received: [...(session.received ?? [])],
    messages: queued.map(({ message, packetId, released, queuedAt, storeId }) => ({
      message,
      packetId,
      released,
      queuedAt: queuedAt || now,
      ...(storeId === undefined ? {} : { storeId }),
    })),
  }
}
