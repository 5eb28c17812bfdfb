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

/** Somebody whose word is still being looked up is not to blame: it is looked at again so much later. */
const againMs = 1000

/** `seconds`: 0 is for ever. */
export function createPatience(seconds: number, ended: (stranger: Device) => void): Patience {
  /** And until when. */
  const waiting = new Map<Device, number>()
  let timer: NodeJS.Timeout | undefined

  function arm() {
    const [first] = waiting.values()
    if (timer || first === undefined) return
    timer = setTimeout(look, Math.max(10, first - monotonicMs())).unref()
  }

  function look() {
    timer = undefined
    const now = monotonicMs()
    const asked: Device[] = []
    for (const [stranger, until] of waiting) {
      if (until > now) break
      waiting.delete(stranger)
      if (stranger.state.waiting || stranger.state.lookups > 0) asked.push(stranger)
      else ended(stranger)
    }
    // Behind those that came later: at the latest with them.
    for (const stranger of asked) waiting.set(stranger, now + againMs)
    arm()
  }

  return {
    with(stranger) {
      if (seconds <= 0) return
      waiting.set(stranger, monotonicMs() + seconds * 1000)
      arm()
    },
    done: (connection) => void waiting.delete(connection),
  }
}
