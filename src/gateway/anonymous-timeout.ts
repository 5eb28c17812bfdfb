/** Closes connections that have presented neither credentials nor a valid token in time. One timer serves all connections. */
import { monotonicMs } from '../kernel/clock.ts'
import type { DeviceConnection } from './connection-state.ts'

export interface AnonymousTimeout {
  start(connection: DeviceConnection): void
  /** Called when the connection is identified or closed. */
  cancel(connection: DeviceConnection): void
}

/** A connection whose token is being looked up gets another second, up to five times. */
const extensionMs = 1000
const extensionsMax = 5

/** Creates the time-out of anonymous connections; 0 seconds disable it. `onTimeout` closes the connection. */
export function createAnonymousTimeout(
  seconds: number,
  onTimeout: (connection: DeviceConnection) => void,
  extendByMs = extensionMs,
): AnonymousTimeout {
  const waiting = new Map<DeviceConnection, { until: number; extensions: number }>()
  let timer: NodeJS.Timeout | undefined

  function startTimer() {
    const [first] = waiting.values()
    if (timer || first === undefined) return
    timer = setTimeout(checkExpired, Math.max(10, first.until - monotonicMs())).unref()
  }

  function checkExpired() {
    timer = undefined
    const now = monotonicMs()
    const extended: [DeviceConnection, number][] = []
    for (const [connection, { until, extensions }] of waiting) {
      if (until > now) break
      waiting.delete(connection)
      const { identifying, pendingLookups } = connection.state
      if ((identifying || pendingLookups > 0) && extensions < extensionsMax) extended.push([connection, extensions + 1])
      else onTimeout(connection)
    }
    // Extended connections go to the end of the map. A check stops at the first connection that still has time, so extended connections may
    // be checked later than their `until`.
    for (const [connection, extensions] of extended) waiting.set(connection, { until: now + extendByMs, extensions })
    startTimer()
  }

  return {
    start(connection) {
      if (seconds <= 0) return
      waiting.set(connection, { until: monotonicMs() + seconds * 1000, extensions: 0 })
      startTimer()
    },
    cancel: (connection) => void waiting.delete(connection),
  }
}
