/**
 * Pushes versions when their rolloutDate is reached. Every node has a timer for the next date and pushes to its own connections. No node
 * depends on another, and nothing runs while no date is near.
 */
import type { Kit } from '../../../kernel/define-service.ts'
import { SoftwareChanged } from '../events.ts'
import { readingDatesFailed } from '../log-messages.ts'
import { type ApplicationKey, findDueApplications, findNextDate } from '../store/versions.ts'

export interface RolloutDates {
  start(): Promise<void>
  stop(): Promise<void>
}

const retryMs = 1000
const longestMs = 3_600_000
/** Changes within this time lead to one query. */
const settleMs = 50
const pageSize = 1000

export function createRolloutDates(
  { db, bus, now, log }: Pick<Kit, 'db' | 'bus' | 'now' | 'log'>,
  push: (application: ApplicationKey) => void,
): RolloutDates {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let mustRepeat = false
  let isSoon = false
  let stopped = true
  /** The time up to which dates were handled. */
  let handledUntil = now()

  function schedule(ms: number) {
    if (stopped) return
    clearTimeout(timer)
    timer = setTimeout(check, Math.min(ms, longestMs)).unref()
  }

  /** Pushes the versions that became due since the last check, then sets the timer for the next date. */
  async function work() {
    const until = now()
    if (until > handledUntil) {
      for (let from: ApplicationKey | undefined = { tenantId: '', applicationName: '' }; from; ) {
        const due: ApplicationKey[] = await findDueApplications(db.sql, {
          after: handledUntil,
          until,
          from,
          limit: pageSize,
        })
        for (const application of due) push(application)
        from = due.length < pageSize ? undefined : due.at(-1)
      }
      handledUntil = until
    }
    const next = await findNextDate(db.sql, handledUntil)
    schedule(next ? Math.max(1, next.getTime() - now().getTime()) : longestMs)
  }

  function check() {
    isSoon = false
    running = work()
      .catch((error) => {
        readingDatesFailed(log, { err: error })
        schedule(retryMs)
      })
      .finally(() => {
        running = undefined
        if (!mustRepeat) return
        mustRepeat = false
        checkSoon()
      })
  }

  /** Schedules another read of the dates. Repeated calls do not postpone it. */
  function checkSoon() {
    // A running check may have read the dates before this change. Another check therefore follows it.
    if (running) mustRepeat = true
    if (running || isSoon) return
    isSoon = true
    schedule(settleMs)
  }

  bus.subscribe(SoftwareChanged, checkSoon)
  bus.onReset(checkSoon)

  return {
    async start() {
      stopped = false
      isSoon = false
      handledUntil = now()
      check()
      await running
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
