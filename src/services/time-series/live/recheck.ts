/** Checks every second whether the callers of streams may still watch: a token may have expired, or allow less. */
import { PlatformError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import type { VisibleSeries } from '../read/visible-series.ts'
import type { Watcher, Watchers } from './watchers.ts'

const everyMs = 1000

/** Runs while there are watchers. */
export function createRechecking(deps: { watchers: Watchers; visible: Pick<VisibleSeries, 'readable'>; log: Log }): {
  begin(): void
  end(): void
} {
  let timer: NodeJS.Timeout | undefined
  return {
    begin() {
      timer ??= setInterval(() => {
        for (const watcher of deps.watchers.all()) void recheck(watcher, deps)
      }, everyMs).unref()
    },
    end() {
      clearInterval(timer)
      timer = undefined
    },
  }
}

async function recheck(watcher: Watcher, { visible, log }: { visible: Pick<VisibleSeries, 'readable'>; log: Log }) {
  const { subscription, ctx } = watcher
  try {
    const caller = await watcher.callerNow()
    if (caller === watcher.caller && caller.permissions.length === watcher.permissions) return
    await visible.readable({ ...ctx, caller }, subscription.applicationName)
    watcher.caller = caller
    watcher.permissions = caller.permissions.length
    subscription.caller(caller)
  } catch (error) {
    if (!(error instanceof PlatformError) || error.status >= 500)
      log.warn({ err: error }, 'checking the permissions of a live stream failed; retrying in 1 s')
    else subscription.end(error.status === 401 ? 'unauthenticated' : 'forbidden')
  }
}
