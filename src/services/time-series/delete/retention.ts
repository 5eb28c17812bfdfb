/**
 * Deletes points that are older than the retention of their application. Whole months are dropped as partitions if possible; other points
 * are deleted row by row. Samples that are already too old when they arrive are left out when they are packed.
 */
import type { Clock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Applications } from '../../applications/contract.ts'
import { timeSeriesInstance as instance } from '../configuration.ts'
import { retentionIgnored } from '../log-messages.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import { monthOf } from '../pack/months.ts'
import * as chunks from '../store/chunks.ts'
import { deleteLatestBefore } from '../store/latest.ts'
import { type Application, endpointNosOf, findSeries } from '../store/numbers.ts'
import * as store from '../store/retention.ts'
import { type KeptSince, keptSinceOf, limitsOf, type RetentionLimit } from './retention-limits.ts'

export interface Retention {
  keptSince(application: Application): Promise<KeptSince>
  /** Returns the first day that is kept, by series id. Series that are kept for ever are not in the result. */
  firstDays(): Promise<Map<number, number>>
  /** Makes the next run repeat all deletions, because points arrived late for days that were already deleted. */
  rerun(): void
  /** Deletes expired points. `check` throws when the process shuts down. */
  run(check: () => void): Promise<void>
}

interface Deps {
  db: Db
  applications: Pick<Applications, 'configuration'>
  now: Clock
  log: Log
}

/** Reads the retention of an application. Invalid parts delete nothing. */
export async function configuredRetention(applications: Deps['applications'], application: Application) {
  const { config, problems } = await applications.configuration({ ...application, instance })
  return { retention: config.retention ?? {}, problems: problems.filter(({ path }) => path[0] === 'retention') }
}

export function createRetention(deps: Deps): Retention {
  const { db, applications, now } = deps
  /**
   * The limits that were last enforced, by application. They are enforced again when they change: at each new day, and after a change of
   * the configuration.
   */
  const enforced = new Map<string, string>()
  return {
    async keptSince(application) {
      const { retention } = await configuredRetention(applications, application)
      return keptSinceOf(retention, now())
    },
    async firstDays() {
      const days = new Map<number, number>()
      for (const application of await store.findApplications(db.sql)) {
        const { retention } = await configuredRetention(applications, application)
        if (retention.days === undefined && retention.series === undefined) continue
        for (const { firstDay, series } of limitsOf(retention, await findSeries(db.sql, application), now()))
          for (const { seriesId } of series) days.set(seriesId, firstDay)
      }
      return days
    },
    rerun: () => enforced.clear(),
    run: (check) => enforceAll(deps, enforced, check),
  }
}

async function enforceAll(deps: Deps, enforced: Map<string, string>, check: () => void) {
  const { db, applications, now, log } = deps
  /** The earliest day that any application keeps. */
  let firstDay = Number.POSITIVE_INFINITY
  const due: (() => Promise<void>)[] = []
  for (const application of await store.findApplications(db.sql)) {
    const { retention, problems } = await configuredRetention(applications, application)
    if (problems.length > 0) retentionIgnored(log, { ...application, problems })
    const limits = limitsOf(retention, await findSeries(db.sql, application), now())
    const isForAll = retention.days !== undefined
    for (const limit of limits) firstDay = Math.min(firstDay, limit.firstDay)
    if (!isForAll) firstDay = Number.NEGATIVE_INFINITY
    if (limits.length === 0) continue
    const key = `${application.tenantId}\n${application.applicationName}`
    const state = JSON.stringify(limits.map((limit) => [limit.firstDay, limit.series.length]))
    if (enforced.get(key) === state) continue
    due.push(async () => {
      if (await enforce(db, application, { limits, isForAll }, check)) enforced.set(key, state)
    })
  }
  // Dropping the partition of a month is cheaper than deleting its rows.
  if (Number.isFinite(firstDay)) await dropMonths(db, firstDay)
  for (const work of due) await work()
}

/** Deletes expired points of an application. Returns false if another node is packing or deleting. */
async function enforce(
  db: Db,
  application: Application,
  { limits, isForAll }: { limits: RetentionLimit[]; isForAll: boolean },
  check: () => void,
): Promise<boolean> {
  for await (const endpointNos of endpointNosOf(db, application)) {
    check()
    const isDone = await db.tx(async (sql) => {
      if (!(await chunks.tryPackingLock(sql))) return false
      for (const { firstDay, series } of limits)
        await store.deleteExpired(sql, { endpointNos, seriesIds: series.map(({ seriesId }) => seriesId), firstDay })
      const oldest = Math.min(...limits.map(({ firstDay }) => firstDay))
      if (isForAll) await deleteLatestBefore(sql, endpointNos, oldest * dayMs)
      return true
    })
    if (!isDone) return false
  }
  return true
}

async function dropMonths(db: Db, firstDay: number) {
  for (const name of await chunks.findMonths(db.sql)) {
    const month = monthOf(name)
    if (!month || month.to > firstDay) continue
    await db.tx(async (sql) => {
      if (await chunks.tryPackingLock(sql)) await chunks.dropMonth(sql, name)
    })
  }
}
