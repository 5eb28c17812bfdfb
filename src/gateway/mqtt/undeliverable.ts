/** What a session owes its client is sent only while the host lets it: rights may have ended since it was taken in. */

import { soon } from './debounce.ts'
import type { Client } from './host.ts'
import type { Layer, Session } from './state.ts'

/** Several words at once lead to one look. */
const togetherMs = 50

/** Drops what waits and may not be delivered any more. A PUBREL is no message: it only ends one. */
export async function withhold(layer: Layer, session: Session, client: Client) {
  const asked = session.queue?.filter(({ released }) => !released) ?? []
  if (asked.length === 0 || !layer.host.mayDeliver) return
  const answers = await layer.host.mayDeliver(
    client,
    asked.map(({ message }) => message),
  )
  const refused = new Set(asked.filter((_, index) => !answers[index]))
  if (refused.size === 0 || !session.queue) return
  const kept = session.queue.filter((outgoing) => !refused.has(outgoing))
  for (const outgoing of session.queue) {
    if (!refused.has(outgoing)) continue
    session.owedBytes -= outgoing.bytes
    outgoing.settled?.('lost')
    if (outgoing.stored !== undefined) layer.store.forget(session.key, outgoing.stored)
  }
  session.queue = kept.length > 0 ? kept : undefined
}

/** `Sessions.recheck`. Sessions of clients that are away are looked at when they come. */
export const createRecheck = (layer: Layer) =>
  soon(
    layer,
    'what waits for clients',
    async () => {
      for (const session of layer.sessions.values())
        if (session.queue && session.peer) await withhold(layer, session, session.peer.client)
    },
    togetherMs,
  )
