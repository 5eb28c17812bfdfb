/** Creates the partitions of the coming days, and drops partitions that are older than the retention. */
import type { Clock } from '../../kernel/clock.ts'
import type { Db, Sql, TransactionSql } from '../../kernel/db.ts'
import * as store from './store/partitions.ts'
import { dayMs } from './store/partitions.ts'

export interface Partitions {
  /** Returns the first day whose records are kept, as days since 1970. */
  oldestDay(): number
  /** Creates the partitions for today and the coming days. */
  prepare(): Promise<void>
  /** Ensures that every day between two times has a partition. Returns undefined if all partitions are known to exist. */
  ensure(from: number, to: number): Promise<void> | undefined
  /** Drops the cache of existing partitions. */
  invalidate(): void
  /** Creates the partitions of the coming days and drops expired partitions. */
  renew(sql: TransactionSql): Promise<void>
}

const ahead = 3

export function createPartitions({ db, now }: { db: Db; now: Clock }, retentionDays: number): Partitions {
  const cachedDays = new Set<number>()
  const today = () => Math.floor(now().getTime() / dayMs)

  async function make(sql: Sql, days: number[]) {
    const existingDays = new Set(await store.findDays(sql))
    const missing = days.filter((day) => !existingDays.has(day))
    if (missing.length > 0) await store.createPartitionsOfDays(sql, missing)
    return days
  }
  const daysAhead = () => Array.from({ length: ahead + 1 }, (_, index) => today() + index)

  const oldestDay = () => today() - retentionDays

  return {
    oldestDay,
    async prepare() {
      for (const day of await db.tx((sql) => make(sql, daysAhead()))) cachedDays.add(day)
    },
    ensure(from, to) {
      const [first, last] = [Math.floor(from / dayMs), Math.floor(to / dayMs)]
      if (cachedDays.has(first) && cachedDays.has(last) && last - first <= 1) return undefined
      const days = Array.from({ length: last - first + 1 }, (_, index) => first + index)
      return db
        .tx((sql) => make(sql, days))
        .then((made) => {
          for (const day of made) cachedDays.add(day)
        })
    },
    invalidate: () => cachedDays.clear(),
    async renew(sql) {
      await make(sql, daysAhead())
      const expired = (await store.findDaysToDrop(sql)).filter((day) => day < oldestDay()).sort((a, b) => a - b)
      for (const day of expired) {
        cachedDays.delete(day)
        if (!(await store.dropPartitionsOfDay(sql, day))) return
      }
    },
  }
}
