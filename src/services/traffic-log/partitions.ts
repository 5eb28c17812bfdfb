/** Days are made ahead, and dropped when they are older than the log is kept. */
import type { Clock } from '../../kernel/clock.ts'
import type { Db, Sql, TransactionSql } from '../../kernel/db.ts'
import * as store from './store/partitions.ts'
import { dayMs } from './store/partitions.ts'

export interface Partitions {
  /** Those of today and of the days ahead. */
  prepare(): Promise<void>
  /** There is a partition for every moment from here to there. Hardly ever anything to do. */
  cover(from: number, to: number): Promise<void> | undefined
  /** What is known of them may be wrong. */
  forget(): void
  /** Also makes those ahead. */
  renew(sql: TransactionSql): Promise<void>
}

const ahead = 3

export function createPartitions({ db, now }: { db: Db; now: Clock }, retentionDays: number): Partitions {
  const known = new Set<number>()
  const today = () => Math.floor(now().getTime() / dayMs)

  async function make(sql: Sql, days: number[]) {
    const there = new Set(await store.findDays(sql))
    const missing = days.filter((day) => !there.has(day))
    if (missing.length > 0) await store.makeDays(sql, missing)
    return days
  }
  const daysAhead = () => Array.from({ length: ahead + 1 }, (_, index) => today() + index)

  return {
    async prepare() {
      for (const day of await db.tx((sql) => make(sql, daysAhead()))) known.add(day)
    },
    cover(from, to) {
      const [first, last] = [Math.floor(from / dayMs), Math.floor(to / dayMs)]
      if (known.has(first) && known.has(last) && last - first <= 1) return undefined
      const days = Array.from({ length: last - first + 1 }, (_, index) => first + index)
      return db
        .tx((sql) => make(sql, days))
        .then((made) => {
          for (const day of made) known.add(day)
        })
    },
    forget: () => known.clear(),
    async renew(sql) {
      await make(sql, daysAhead())
      const oldest = today() - retentionDays
      const expired = (await store.findDays(sql)).filter((day) => day < oldest).sort((a, b) => a - b)
      for (const day of expired) {
        known.delete(day)
        if (!(await store.dropDay(sql, day))) return
      }
    },
  }
}
