import { sleep } from '../../src/kernel/clock.ts'
import { startUndisturbedTime } from './undisturbed-time.ts'

/** Longest pause between two attempts. Pauses save processor time, because a failed attempt often sends a request and formats an error. */
const longestPauseMs = 80

/**
 * Repeats an assertion until it holds; throws its last error after `withinMs` of undisturbed time (`undisturbed-time.ts`). The pauses start
 * at 10 ms and grow, because most assertions hold either soon or only after seconds. `everyMs` sets a fixed pause.
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
