/**
 * Measures elapsed time without the time in which any program of the machine waited for a processor or a disk. Tests check limits such as
 * "within a second" with this time, because other tests run on the same machine.
 */
import { readFileSync } from 'node:fs'
import { monotonicMs } from '../../src/kernel/clock.ts'

/** At least this share of the elapsed time counts, so that a time limit is also reached on a machine that is always busy. */
const leastShare = 0.1

/**
 * Returns how long at least one program has waited for this resource since the machine started. Returns undefined if the system does not
 * count this time.
 */
function waitedMs(resource: 'cpu' | 'io'): number | undefined {
  try {
    const microseconds = /^some .*total=(\d+)/m.exec(readFileSync(`/proc/pressure/${resource}`, 'utf8'))?.[1]
    return microseconds === undefined ? undefined : Number(microseconds) / 1000
  } catch (error) {
    // Not every kernel measures the time in which programs wait.
    if (['ENOENT', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

const busyMs = () => {
  const processor = waitedMs('cpu')
  return processor === undefined ? undefined : processor + (waitedMs('io') ?? 0)
}

/**
 * Starts measuring. The returned function returns the undisturbed milliseconds since the start. If the system does not measure waiting,
 * only the minimum share of the elapsed time counts.
 */
export function startUndisturbedTime(): () => number {
  const began = monotonicMs()
  const busyBefore = busyMs()
  return () => {
    const elapsed = monotonicMs() - began
    const busyNow = busyMs()
    const busy = busyNow === undefined || busyBefore === undefined ? elapsed : busyNow - busyBefore
    return Math.max(elapsed - busy, elapsed * leastShare)
  }
}
