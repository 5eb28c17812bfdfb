/**
 * Holds back messages that the client may not get yet (`Host.mustWait`). A held message stays in the session until the host releases it,
 * the session ends, or the message is older than the longest session expiry.
 */
import type { Outgoing, Peer, Session } from './state.ts'

/** Checks all messages of the session at CONNECT, because the new connection has not presented any token yet. */
export function holdBackAll(peer: Peer, session: Session) {
  if (!session.queue && !session.held) return
  const queued = [...(session.held ?? []), ...(session.queue ?? [])]
  session.held = undefined
  const due = holdBack(peer, session, queued)
  session.queue = due.length > 0 ? due : undefined
}

/**
 * Returns the messages that may be sent now. The other messages are held in the session, or dropped if they have no `recipientId` or are
 * too old.
 */
export function holdBack(peer: Peer, session: Session, messages: Outgoing[]): Outgoing[] {
  const { host, store, now, limits } = peer.layer
  if (!host.mustWait) return messages
  const nowMs = now().getTime()
  const oldest = nowMs - limits.sessionExpiryMaxSeconds * 1000
  const due = messages.filter(({ message }) => !host.mustWait!(peer, message))
  if (due.length === messages.length && !session.held) return messages
  const sent = new Set(due)
  const waiting = [...(session.held ?? []), ...messages.filter((outgoing) => !sent.has(outgoing))]
  for (const outgoing of waiting) outgoing.queuedAt ||= nowMs
  const isKept = (outgoing: Outgoing) => outgoing.message.recipientId !== undefined && outgoing.queuedAt > oldest
  session.held = waiting.filter(isKept)
  if (session.held.length === 0) session.held = undefined
  for (const outgoing of waiting) {
    if (isKept(outgoing)) continue
    session.queuedBytes -= outgoing.bytes
    if (outgoing.storeId !== undefined) store.deleteMessage(session.key, outgoing.storeId)
  }
  return due
}
