/** Measures memory in a process in which other test files run at the same time. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const roundsMax = 5

function used() {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/**
 * Returns the bytes that `fill` leaves in memory for each of `count` items. Other test files of the process add memory meanwhile, so a
 * result above the limit is measured again, and the smallest result counts. `clear` removes the items after each measurement.
 */
export async function bytesOfEach(
  count: number,
  limit: number,
  fill: () => unknown,
  clear: () => unknown,
): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < roundsMax && least >= limit; round++) {
    const before = used()
    await fill()
    least = Math.min(least, (used() - before) / count)
    await clear()
  }
  return least
}
