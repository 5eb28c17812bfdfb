/** Creates the trace partitions of the coming days, and drops partitions that are older than the retention. */
import type { Clock } from '../../../kernel/clock.ts'
import type { Db, Sql, TransactionSql } from '../../../kernel/db.ts'
import { createPartitions, dayMs, dropPartition, findDays } from './store/partitions.ts'

const daysAhead = 3

export function createTracePartitions({ db, now }: { db: Db; now: Clock }, retentionDays: number) {
  const today = () => Math.floor(now().getTime() / dayMs)

  async function make(sql: Sql) {
    const existing = new Set(await findDays(sql))
    // Yesterday's partition is needed too, because the clock of another node may be behind at midnight.
    const neededDays = Array.from({ length: daysAhead + 2 }, (_, index) => today() - 1 + index)
    const missing = neededDays.filter((day) => !existing.has(day))
    if (missing.length > 0) await createPartitions(sql, missing)
  }

  return {
    prepare: () => db.tx(make),
    async renew(sql: TransactionSql) {
      await make(sql)
      if (retentionDays === 0) return
      const oldest = today() - retentionDays
      for (const day of (await findDays(sql)).filter((one) => one < oldest).sort((a, b) => a - b))
        if (!(await dropPartition(sql, day))) return
    },
  }
}
