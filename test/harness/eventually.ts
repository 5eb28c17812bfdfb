import { sleep } from '../../src/kernel/clock.ts'

/** Repeats an assertion until it holds; rethrows its last error after `withinMs`. */
export async function eventually<T>(
  assertion: () => Promise<T> | T,
  { withinMs = 10_000, everyMs = 20 } = {},
): Promise<T> {
  const deadline = Date.now() + withinMs
  for (;;) {
    try {
      return await assertion()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(everyMs)
    }
  }
}
