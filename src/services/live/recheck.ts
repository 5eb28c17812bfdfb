/**
 * Checks twice a second whether the callers of streams may still read the events. A token may have expired, or permissions may have been
 * removed.
 */
import { PlatformError } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { recheckFailed } from './log-messages.ts'
import type { OpenStream, Streams } from './streams.ts'

const everyMs = 500
const positionEvery = Math.round(15_000 / everyMs)

/** Creates the periodic check, which runs while there are streams. Every 15 s, the check also sends each stream its position. */
export function createRecheck(streams: Streams, log: Log): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  let checks = 0
  return {
    start() {
      timer ??= setInterval(() => {
        const isPositionDue = ++checks % positionEvery === 0
        for (const open of streams.all()) {
          void recheck(open, log)
          if (isPositionDue) open.stream.sendPosition()
        }
      }, everyMs).unref()
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}

async function recheck(open: OpenStream, log: Log) {
  const { stream } = open
  try {
    const caller = await open.callerNow()
    if (caller === open.caller && caller.permissions.length === open.permissions) return
    await stream.setCaller(caller)
    open.caller = caller
    open.permissions = caller.permissions.length
  } catch (error) {
    if (error instanceof PlatformError && error.status === 401) stream.end('unauthenticated')
    else recheckFailed(log, { err: error, correlationId: stream.ctx.correlationId })
  }
}
