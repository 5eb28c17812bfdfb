/** What a session owes its client is sent only while the host lets it: rights may have ended since it was taken in. */
import { sleep } from '../../kernel/clock.ts'
import type { Client } from './host.ts'
import type { Layer, Session } from './state.ts'

/** Several words at once lead to one look. */
const togetherMs = 50
const againMs = 1000

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
    if (outgoing.stored !== undefined) layer.store.forget(session.key, outgoing.stored)
  }
  session.queue = kept.length > 0 ? kept : undefined
}

/** `Sessions.recheck`. Sessions of clients that are away are looked at when they come. */
export function createRecheck(layer: Layer): () => void {
  let wanted = false
  let running = false

  async function look(): Promise<boolean> {
    for (const session of layer.sessions.values()) {
      const { peer } = session
      if (!session.queue || !peer) continue
      try {
        await withhold(layer, session, peer.client)
      } catch (error) {
        layer.log.error({ err: error }, 'what waits for clients could not be looked at; trying again')
        return false
      }
    }
    return true
  }

  async function run() {
    running = true
    for (let pause = togetherMs; wanted; ) {
      wanted = false
      await sleep(pause)
      if (layer.closing) break
      const done = await look()
      wanted ||= !done
      pause = done ? togetherMs : againMs
    }
    running = false
  }

  return () => {
    wanted = true
    if (!running) void run()
  }
}
