/** Compares the sessions in memory with the store, because signals from other nodes may have been missed. */
import { yieldTo } from './connect.ts'
import { fetchQueued } from './outbound.ts'
import type { Layer } from './state.ts'

/**
 * Extends the expiry of stored sessions, ends sessions that another node has taken over, and fetches messages that another node has queued.
 */
export async function reconcileSessions(layer: Layer) {
  const storedSessions = [...layer.sessions.values()].filter((session) => session.isStored && !session.claiming)
  const sessionsByKey = new Map(storedSessions.map((session) => [session.key, { session, claim: session.claim }]))
  for (const { key, claim, hasQueued } of await layer.store.touch(storedSessions)) {
    const before = sessionsByKey.get(key)!
    const { session } = before
    if (layer.sessions.get(key) !== session || session.claiming || session.claim !== before.claim) continue
    // `by` is the node that waits for the release of the session. Here no node waits, so it is empty.
    const by = ''
    if (claim === undefined) yieldTo(layer, { key, claim: Infinity, clean: true, by })
    else if (claim > session.claim) yieldTo(layer, { key, claim, clean: false, by })
    else if (hasQueued) await fetchQueued(layer, key)
  }
}

/** Runs after a reset. Writes the rows of connected clients again, because they may be lost, and reconciles their sessions. */
export async function catchUp(layer: Layer) {
  const connected = [...layer.sessions.values()].filter(({ claiming, peer }) => !claiming && peer)
  await layer.store.restoreHolders(connected.map(({ key, claim }) => ({ key, claim })))
  await reconcileSessions(layer)
}
