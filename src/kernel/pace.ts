/**
 * Background work that gives way: after a few milliseconds it rests, and the longer, the less the process has to spare for it.
 * So devices and people who are served by the same process hardly feel it, and on an idle one it is done at once.
 */
import { performance } from 'node:perf_hooks'
import { monotonicMs, sleep } from './clock.ts'

const workMs = 4
const leastRestMs = 1
/** Of what was worked, when others have all the time. */
const restTimes = 8

/** Called often, between two pieces of work; mostly there is nothing to wait for. */
export type Pace = () => Promise<void> | undefined

export interface PaceParts {
  now(): number
  sleep(ms: number): Promise<void>
  /** Of the thread, since the last time: 0 idle, 1 busy. */
  utilization(): number
}

export function createPace({ now, sleep, utilization } = realParts()): Pace {
  let began = now()
  /** What others took of the last rest. */
  let busy = 0

  async function rest(worked: number) {
    utilization()
    await sleep(leastRestMs + worked * restTimes * busy ** 2)
    busy = (busy + utilization()) / 2
    began = now()
  }

  return () => {
    const worked = now() - began
    return worked < workMs ? undefined : rest(worked)
  }
}

function realParts(): PaceParts {
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
