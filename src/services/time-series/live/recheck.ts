/**
 * Checks every second whether the callers of live streams may still read the points. A token may have expired, or permissions may have been
 * removed.
 */
import { PlatformError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { recheckFailed } from '../log-messages.ts'
import type { VisibleSeries } from '../read/visible-series.ts'
import type { Watcher, Watchers } from './watchers.ts'

const everyMs = 1000

/** Creates the periodic check, which runs while there are watchers. */
export function createPermissionRecheck(deps: {
  watchers: Watchers
  visible: Pick<VisibleSeries, 'readableEndpoints'>
  log: Log
}): {
  start(): void
  stop(): void
} {
  let timer: NodeJS.Timeout | undefined
  return {
    start() {
      timer ??= setInterval(() => {
        for (const watcher of deps.watchers.all()) void recheck(watcher, deps)
      }, everyMs).unref()
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}

async function recheck(
  watcher: Watcher,
  { visible, log }: { visible: Pick<VisibleSeries, 'readableEndpoints'>; log: Log },
) {
  const { subscription, ctx } = watcher
  try {
    const caller = await watcher.callerNow()
    if (caller === watcher.caller && caller.permissions.length === watcher.permissions) return
    await visible.readableEndpoints({ ...ctx, signal: ctx.signal, caller }, subscription.applicationName)
    watcher.caller = caller
    watcher.permissions = caller.permissions.length
    subscription.setCaller(caller)
  } catch (error) {
    if (!(error instanceof PlatformError) || error.status >= 500)
      recheckFailed(log, { err: error, applicationName: subscription.applicationName })
    else subscription.end(error.status === 401 ? 'unauthenticated' : 'forbidden')
  }
}
