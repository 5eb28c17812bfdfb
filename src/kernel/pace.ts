/**
 * Throttles background work: after a few milliseconds of work it pauses, the longer the busier the process is. Requests served by the
 * same process hardly notice it, and on an idle process the work is done without delay.
 */
import { performance } from 'node:perf_hooks'
import { monotonicMs, sleep } from './clock.ts'

const workMs = 4
const pauseMinMs = 1
/** On a fully busy process a pause is this many times as long as the work before it. */
const pauseFactor = 8

/** Returns a promise of the pause if one is due, else undefined. Call it often, between two pieces of work. */
export type Pace = () => Promise<void> | undefined

export interface PaceDeps {
  now(): number
  sleep(ms: number): Promise<void>
  /** Returns the utilization of the thread since the last call: 0 idle, 1 busy. */
  utilization(): number
}

export function createPace({ now, sleep, utilization } = systemDeps()): Pace {
  let began = now()
  /** Average utilization of the thread by other work during the last pauses. */
  let busy = 0

  async function pause(workedMs: number) {
    utilization()
    await sleep(pauseMinMs + workedMs * pauseFactor * busy ** 2)
    busy = (busy + utilization()) / 2
    began = now()
  }

  return () => {
    const workedMs = now() - began
    return workedMs < workMs ? undefined : pause(workedMs)
  }
}

function systemDeps(): PaceDeps {
  let before = performance.eventLoopUtilization()
  return {
    now: monotonicMs,
    sleep,
    utilization() {
      const after = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(after, before)
      before = after
      return utilization
    },
  }
}
