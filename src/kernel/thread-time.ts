/**
 * Reads the processor time of a thread from another thread, even while the thread is busy. `worker.cpuUsage()` of Node.js cannot do this:
 * it waits until the thread has finished its work.
 */
import { readFileSync, readlinkSync } from 'node:fs'

/** Returns the id of this thread in Linux; 0 on other systems. */
export function nativeThreadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}

/** Returns the processor time of a thread of this process in milliseconds, or undefined if the system does not report it. */
export function processorMsOf(nativeId: number): number | undefined {
  if (nativeId === 0) return undefined
  try {
    // The first number is the time on a processor in nanoseconds.
    const [onProcessor] = readFileSync(`/proc/self/task/${nativeId}/schedstat`, 'latin1').split(' ', 1)
    return Number(onProcessor) / 1e6
  } catch {
    return undefined
  }
}
