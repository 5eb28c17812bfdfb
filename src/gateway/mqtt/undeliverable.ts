/** Drops queued messages that may no longer be delivered, because a permission ended after they were queued. */

import { debounce } from './debounce.ts'
import type { Client } from './host.ts'
import { queueRecheckFailed } from './log-messages.ts'
import type { Layer, Session } from './state.ts'

/** Changes of permissions within this time lead to one check. */
const debounceMs = 50

/** Drops the queued messages that the host no longer allows to be delivered. PUBRELs stay, because they carry no message. */
export async function dropUndeliverable(layer: Layer, session: Session, client: Client) {
  const candidates = session.queue?.filter(({ released }) => !released) ?? []
  if (candidates.length === 0 || !layer.host.mayDeliver) return
  const permissions = await layer.host.mayDeliver(
    client,
    candidates.map(({ message }) => message),
  )
  const undeliverable = new Set(candidates.filter((_, index) => !permissions[index]))
  if (undeliverable.size === 0 || !session.queue) return
  const kept = session.queue.filter((outgoing) => !undeliverable.has(outgoing))
  for (const outgoing of session.queue) {
    if (!undeliverable.has(outgoing)) continue
    session.queuedBytes -= outgoing.bytes
    outgoing.settled?.('lost')
    if (outgoing.storeId !== undefined) layer.store.deleteMessage(session.key, outgoing.storeId)
  }
  session.queue = kept.length > 0 ? kept : undefined
}

/** Implements `Sessions.recheck`. The session of a disconnected client is checked when the client connects. */
export const createRecheck = (layer: Layer) =>
  debounce(
    layer,
    queueRecheckFailed,
    async () => {
      for (const session of layer.sessions.values())
        if (session.queue && session.peer) await dropUndeliverable(layer, session, session.peer.client)
    },
    debounceMs,
  )
