/** Lets other requests run during a long computation: the computation continues in the next turn of the event loop. */
import { setImmediate } from 'node:timers/promises'
import { monotonicMs } from './clock.ts'

const turnMs = 10

/** Waits for the next turn of the event loop if the current turn already takes long. Call it often, between two pieces of work. */
export type Turns = () => Promise<void> | undefined

export function createTurns(): Turns {
  let began = monotonicMs()
  async function next() {
    await setImmediate()
    began = monotonicMs()
  }
  return () => (monotonicMs() - began < turnMs ? undefined : next())
}
