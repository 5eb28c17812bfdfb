/**
 * Connections that have shown neither credentials nor a valid token are not kept for ever. In the order in which they came, with
 * one timer for all: most are known within a moment.
 */
import { monotonicMs } from '../kernel/clock.ts'
import type { Device } from './peers.ts'

export interface Patience {
  with(stranger: Device): void
  /** It is known now, or has gone. */
  done(connection: Device): void
}

/** Somebody whose word is still being looked up is not to blame: it is looked at again so much later. Who always has one is. */
const againMs = 1000
const againMax = 5

/** `seconds`: 0 is for ever. */
export function createPatience(seconds: number, ended: (stranger: Device) => void, pauseMs = againMs): Patience {
  const waiting = new Map<Device, { until: number; again: number }>()
  let timer: NodeJS.Timeout | undefined

  function arm() {
    const [first] = waiting.values()
    if (timer || first === undefined) return
    timer = setTimeout(look, Math.max(10, first.until - monotonicMs())).unref()
  }

  function look() {
    timer = undefined
    const now = monotonicMs()
    const asked: [Device, number][] = []
    for (const [stranger, { until, again }] of waiting) {
      if (until > now) break
      waiting.delete(stranger)
      const { waiting: unheard, lookups } = stranger.state
      if ((unheard || lookups > 0) && again < againMax) asked.push([stranger, again + 1])
      else ended(stranger)
    }
    // Behind those that came later: at the latest with them.
    for (const [stranger, again] of asked) waiting.set(stranger, { until: now + pauseMs, again })
    arm()
  }

  return {
    with(stranger) {
      if (seconds <= 0) return
      waiting.set(stranger, { until: monotonicMs() + seconds * 1000, again: 0 })
      arm()
    },
    done: (connection) => void waiting.delete(connection),
  }
}
