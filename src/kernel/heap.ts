import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Makes garbage collections of the whole heap rare, because each collection delays all messages. Call it after the start: during the start,
 * frequent collections keep the heap small.
 */
export function tuneGarbageCollection() {
  // The heap grows by 300 % between two collections. With V8's default, a device with a few large messages a second quadruples the p99
  // latency of other devices.
  setFlagsFromString('--heap-growing-percent=300')
  // Memory of buffers counts like the heap. By default, each 64 MB of new buffers cause a collection, however large the heap is.
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

const checkMs = 3000
const busyShare = 0.1

/**
 * Returns the memory of the start's garbage to the operating system when the process is idle, because no message is answered during the
 * collection. A busy process collects this garbage anyway.
 */
export function collectGarbageOfStart(everyMs = checkMs): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  return new Promise((resolve) => {
    let before = performance.eventLoopUtilization()
    let idleChecks = 0
    const timer = setInterval(() => {
      const now = performance.eventLoopUtilization()
      const share = performance.eventLoopUtilization(now, before).utilization
      before = now
      idleChecks = share < busyShare ? idleChecks + 1 : 0
      if (idleChecks < 2) return
      clearInterval(timer)
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
      resolve()
    }, everyMs).unref()
  })
}
