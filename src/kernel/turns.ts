/** Lets other requests run during long work of one: the work continues in the next turn of the event loop. */
import { setImmediate } from 'node:timers/promises'
import { monotonicMs } from './clock.ts'

const turnMs = 10

/** Waits for the next turn of the event loop if this one is long already. Call it often, between two pieces of work. */
export type Turns = () => Promise<void> | undefined

export function createTurns(): Turns {
  let began = monotonicMs()
  async function next() {
    await setImmediate()
    began = monotonicMs()
  }
  return () => (monotonicMs() - began < turnMs ? undefined : next())
}
