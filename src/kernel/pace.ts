/**
 * Throttles background work. After a few milliseconds of work it pauses; the busier the process is, the longer the pause. Requests that the
 * same process serves are hardly delayed. On an idle process, the work runs without delay.
 */
import { performance } from 'node:perf_hooks'
import { monotonicMs, sleep } from './clock.ts'

const workMs = 4
/** On a fully busy process, a pause is this many times as long as the work before it. */
const pauseFactor = 8

/** Returns a promise for the pause if a pause is due, otherwise undefined. Call it often, between two pieces of work. */
export type Pace = () => Promise<void> | undefined

export interface PaceDeps {
  now(): number
  sleep(ms: number): Promise<void>
  /** Returns the utilization of the thread since the last call, from 0 (idle) to 1 (busy). */
  utilization(): number
}

/** With `pauseMinMs`, the work leaves processor time to other processes too, such as the database and devices on the same machine. */
export function createPace({ now, sleep, utilization }: PaceDeps = systemDeps(), pauseMinMs = 1): Pace {
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
