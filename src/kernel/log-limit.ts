/** Limits how often a message is logged. */
import { monotonicMs } from './clock.ts'

const logEveryMs = 10_000

/** Passes on at most one call in ten seconds, with the number of calls since the last call that was passed on. */
export function createLogLimit(): (write: (calls: number) => void) => void {
  let calls = 0
  let last = Number.NEGATIVE_INFINITY
  return (write) => {
    calls++
    if (monotonicMs() - last < logEveryMs) return
    last = monotonicMs()
    write(calls)
    calls = 0
  }
}
