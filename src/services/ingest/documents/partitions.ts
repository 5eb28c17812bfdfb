/** Creates the partitions of the coming days, and deletes documents that are too old. */
import type { Clock } from '../../../kernel/clock.ts'
import type { Db, Sql, TransactionSql } from '../../../kernel/db.ts'
import { deleteUnregisteredBefore } from '../store/documents.ts'
import { createPartitions as create, dayMs, dropPartition, findDays } from '../store/partitions.ts'
import { findRetentions } from '../store/templates.ts'

export interface Partitions {
  prepare(): Promise<void>
  /** Creates missing partitions for documents, in the transaction that stores them. */
  ensure(sql: Sql, rows: readonly { arrivedAt: number }[]): Promise<void>
  invalidate(): void
  /**
   * Creates the partitions of the coming days. Drops partitions whose documents are all too old, and deletes old documents from other
   * partitions, index by index.
   */
  renew(sql: TransactionSql): Promise<void>
}

const ahead = 3

/**
 * Creates the partition manager. `deleteBefore` schedules the deletion of an index's documents before a date; they are deleted later, in
 * parts.
 */
export function createPartitions(
  { db, now }: { db: Db; now: Clock },
  defaultDays: number,
  deleteBefore: (sql: Sql, indexNo: number, before: Date) => Promise<void>,
): Partitions {
  const cached = new Set<number>()
  const today = () => Math.floor(now().getTime() / dayMs)

  async function make(sql: Sql, days: number[]) {
    const existing = new Set(await findDays(sql))
    const missing = days.filter((day) => !existing.has(day))
    if (missing.length > 0) await create(sql, missing)
  }
  const daysAhead = () => Array.from({ length: ahead + 1 }, (_, index) => today() + index)

  async function deleteOld(sql: TransactionSql) {
    const retentions = await findRetentions(sql)
    const longest = Math.max(
      ...[defaultDays, ...retentions.map(({ retentionDays }) => retentionDays)].map((days) =>
        days === 0 ? Number.POSITIVE_INFINITY : days,
      ),
    )
    if (Number.isFinite(longest)) {
      const expired = (await findDays(sql)).filter((day) => day < today() - longest).sort((a, b) => a - b)
      for (const day of expired) {
        cached.delete(day)
        if (!(await dropPartition(sql, day))) break
      }
      await deleteUnregisteredBefore(sql, new Date((today() - longest) * dayMs))
    }
    // Whole days are deleted, as for indices without their own retention.
    for (const { indexNo, retentionDays: days } of retentions)
      if (days > 0 && days < longest) await deleteBefore(sql, indexNo, new Date((today() - days) * dayMs))
  }

  return {
    async prepare() {
      const days = daysAhead()
      await db.tx((sql) => make(sql, days))
      for (const day of days) cached.add(day)
    },
    async ensure(sql, rows) {
      const days = new Set<number>()
      for (const { arrivedAt } of rows) days.add(Math.floor(arrivedAt / dayMs))
      const missing = [...days].filter((day) => !cached.has(day))
      if (missing.length === 0) return
      await make(sql, missing)
      // The partitions are cached after the commit, because they do not exist if the transaction fails.
      db.afterCommit(sql, () => {
        for (const day of missing) cached.add(day)
      })
    },
    invalidate: () => cached.clear(),
    async renew(sql) {
      await make(sql, daysAhead())
      await deleteOld(sql)
    },
  }
}
