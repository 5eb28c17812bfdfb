/** SQL for the document partitions: one per day (UTC) of arrival. */
import type { Sql, TransactionSql } from '../../../kernel/db.ts'

export const dayMs = 86_400_000

const isoOf = (day: number) => new Date(day * dayMs).toISOString()
const nameOf = (day: number) => `documents_${isoOf(day).slice(0, 10).replaceAll('-', '')}`

/** Returns the days since 1970 that have a partition. */
export async function findDays(sql: Sql): Promise<number[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ingest.documents'::regclass`
  return rows.flatMap(({ name }) => {
    const [, year, month, date] = name.match(/_(\d{4})(\d{2})(\d{2})$/) ?? []
    return date === undefined ? [] : [Date.UTC(Number(year), Number(month) - 1, Number(date)) / dayMs]
  })
}

/**
 * Creates partitions in a transaction. A partition is first created as a separate table and then attached, so that readers and writers are
 * not blocked.
 */
export async function createPartitions(sql: Sql, days: number[]) {
  await sql`select pg_advisory_xact_lock(hashtextextended('ingest.partitions', 0))`
  for (const day of days) {
    const name = `ingest.${nameOf(day)}`
    const [existing] = await sql`select to_regclass(${name}) is not null as yes`
    if (existing?.yes) continue
    await sql.unsafe(`create table ${name} (like ingest.documents including defaults including storage)`)
    await sql.unsafe(`
      alter table ingest.documents attach partition ${name} for values from ('${isoOf(day)}') to ('${isoOf(day + 1)}')`)
    // Statistics of whole documents improve no query plan, and collecting them would occupy a core.
    await sql.unsafe(`alter table ${name} alter doc set statistics 0`)
  }
}

/** Drops the partition of a day. Returns false if it is read for more than 300 ms; the limit is short, because writers wait meanwhile. */
export async function dropPartition(sql: TransactionSql, day: number): Promise<boolean> {
  try {
    await sql.savepoint(async (inner) => {
      await inner`select set_config('lock_timeout', '300', true)`
      await inner.unsafe(`drop table if exists ingest.${nameOf(day)}`)
    })
    return true
  } catch (error) {
    if ((error as { code?: string }).code === '55P03') return false
    throw error
  }
}
