import { sleep } from '../../src/kernel/clock.ts'
import { startUndisturbedTime } from './undisturbed-time.ts'

/** Longest pause between two attempts. A failed attempt often costs a request and the text of an error. */
const longestPauseMs = 80

/**
 * Repeats an assertion until it holds; rethrows its last error after `withinMs` of undisturbed time (`undisturbed-time.ts`). The pauses
 * grow from 10 ms, because most conditions hold soon or only after seconds; `everyMs` sets a fixed pause.
 */
export async function eventually<T>(
  assertion: () => Promise<T> | T,
  { withinMs = 10_000, everyMs }: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const undisturbedMs = startUndisturbedTime()
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.3, longestPauseMs)) {
    try {
      return await assertion()
    } catch (error) {
      if (undisturbedMs() > withinMs) throw error
      await sleep(everyMs ?? pauseMs)
    }
  }
}
