/** Sessions that outlive their connections, looked at from time to time: the store is told that they are in use, and asked. */
import { sleep } from '../../kernel/clock.ts'
import { yieldTo } from './connect.ts'
import { fetchQueued } from './outbound.ts'
import type { Layer } from './state.ts'

const againMs = 1000
const atOnce = 1000

/** What the other processes told of these sessions may have been missed: who took one over, and what was queued. */
export async function lookAtKept(layer: Layer) {
  const kept = [...layer.sessions.values()].filter((session) => session.kept && !session.claiming)
  for (let from = 0; from < kept.length; from += atOnce) {
    const asked = new Map(
      kept.slice(from, from + atOnce).map((session) => [session.key, { session, claim: session.claim }]),
    )
    for (const { key, claim, waits } of await layer.store.touch([...asked.values()].map(({ session }) => session))) {
      const before = asked.get(key)!
      const { session } = before
      if (layer.sessions.get(key) !== session || session.claiming || session.claim !== before.claim) continue
      if (claim === undefined) yieldTo(layer, { key, claim: Infinity, clean: true })
      else if (claim > session.claim) yieldTo(layer, { key, claim, clean: false })
      else if (waits) await fetchQueued(layer, key)
    }
  }
}

/** `Sessions.catchUp`: soon, and until it has been done. */
export function createCatchUp(layer: Layer): () => void {
  let wanted = false
  let running = false

  async function run() {
    running = true
    while (wanted && !layer.closing) {
      wanted = false
      try {
        await lookAtKept(layer)
      } catch (error) {
        layer.log.warn({ err: error }, 'sessions could not be looked at after a gap; trying again')
        wanted = true
        await sleep(againMs)
      }
    }
    running = false
  }

  return () => {
    wanted = true
    if (!running) void run()
  }
}
