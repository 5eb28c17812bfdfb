/** Sessions that outlive their connections, looked at from time to time: the store is told that they are in use, and asked. */
import { yieldTo } from './connect.ts'
import { fetchQueued } from './outbound.ts'
import type { Layer } from './state.ts'

/** Signals about these sessions may have been missed: who took one over, and what was queued. */
export async function lookAtKept(layer: Layer) {
  const kept = [...layer.sessions.values()].filter((session) => session.kept && !session.claiming)
  const asked = new Map(kept.map((session) => [session.key, { session, claim: session.claim }]))
  for (const { key, claim, waits } of await layer.store.touch(kept)) {
    const before = asked.get(key)!
    const { session } = before
    if (layer.sessions.get(key) !== session || session.claiming || session.claim !== before.claim) continue
    // Whoever has it by now waits for nothing any more.
    const by = ''
    if (claim === undefined) yieldTo(layer, { key, claim: Infinity, clean: true, by })
    else if (claim > session.claim) yieldTo(layer, { key, claim, clean: false, by })
    else if (waits) await fetchQueued(layer, key)
  }
}

/** After a reset: the rows of the clients that are connected here may be gone too. */
export async function catchUp(layer: Layer) {
  const held = [...layer.sessions.values()].filter(({ claiming, peer }) => !claiming && peer)
  await layer.store.hold(held.map(({ key, claim }) => ({ key, claim })))
  await lookAtKept(layer)
}
