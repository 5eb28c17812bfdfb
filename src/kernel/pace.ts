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

export function createPace(): Pace {
  let began = monotonicMs()
  /** What others took of the last rest. */
  let busy = 0

  async function rest(worked: number) {
    const before = performance.eventLoopUtilization()
    await sleep(leastRestMs + worked * restTimes * busy ** 2)
    const { utilization } = performance.eventLoopUtilization(before)
    busy = (busy + utilization) / 2
    began = monotonicMs()
  }

  return () => {
    const worked = monotonicMs() - began
    return worked < workMs ? undefined : rest(worked)
  }
}
