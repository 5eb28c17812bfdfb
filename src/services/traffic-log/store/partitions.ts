/** SQL of the partitions: each table has one per day (UTC). */
import type { Sql, TransactionSql } from '../../../kernel/db.ts'

const tables = ['records', 'refusals']
export const dayMs = 86_400_000

const isoOf = (day: number) => new Date(day * dayMs).toISOString()
const nameOf = (table: string, day: number) => `${table}_${isoOf(day).slice(0, 10).replaceAll('-', '')}`

/** Returns the days since 1970 for which all tables have partitions. */
export async function findDays(sql: Sql): Promise<number[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = any(${tables.map((table) => `traffic_log.${table}`)}::text[]::regclass[])`
  const tablesByDay = new Map<number, number>()
  for (const { name } of rows) {
    const [, year, month, date] = name.match(/_(\d{4})(\d{2})(\d{2})$/) ?? []
    if (!date) continue
    const day = Date.UTC(Number(year), Number(month) - 1, Number(date)) / dayMs
    tablesByDay.set(day, (tablesByDay.get(day) ?? 0) + 1)
  }
  return [...tablesByDay].filter(([, count]) => count === tables.length).map(([day]) => day)
}

/** Creates partitions in a transaction. They are attached after creation, so that readers and writers are not blocked. */
export async function createPartitionsOfDays(sql: Sql, days: number[]) {
  await sql`select pg_advisory_xact_lock(hashtextextended('traffic-log.partitions', 0))`
  for (const day of days)
    for (const table of tables) {
      const name = `traffic_log.${nameOf(table, day)}`
      const [existing] = await sql`select to_regclass(${name}) is not null as yes`
      if (existing?.yes) continue
      await sql.unsafe(`create table ${name} (like traffic_log.${table} including defaults including storage)`)
      await sql.unsafe(`
        alter table traffic_log.${table} attach partition ${name}
        for values from ('${isoOf(day)}') to ('${isoOf(day + 1)}')`)
      if (table === 'records') await limitStatistics(sql, name)
    }
}

/** Reduces statistics: those of payloads help no query plan, and ANALYZE would occupy a core for 250 ms. */
async function limitStatistics(sql: Sql, name: string) {
  const set = (columns: string[], target: number) => columns.map((column) => `alter ${column} set statistics ${target}`)
  const unused = ['request_id', 'outbound', 'correlation_id', 'resource_path', 'additional_metadata', 'payload']
  const used = ['created_at', 'tenant_id', 'endpoint_id', 'application_name', 'version_name', 'extension']
  await sql.unsafe(`alter table ${name} ${[...set(unused, 0), ...set(used, 10)].join(', ')}`)
  const indexes = await sql<{ index: string }[]>`
    select indexrelid::regclass::text as index from pg_index where indrelid = ${name}::regclass and indexprs is not null`
  for (const { index } of indexes) await sql.unsafe(`alter index ${index} alter column 1 set statistics 10`)
}

/** Drops the partitions of a day and its counts. Returns false if a reader holds a lock for 300 ms; writers must not wait longer. */
export async function dropPartitionsOfDay(sql: TransactionSql, day: number): Promise<boolean> {
  try {
    await sql.savepoint(async (inner) => {
      await inner`select set_config('lock_timeout', '300', true)`
      for (const table of tables) await inner.unsafe(`drop table if exists traffic_log.${nameOf(table, day)}`)
    })
  } catch (error) {
    if ((error as { code?: string }).code === '55P03') return false
    throw error
  }
  await sql`delete from traffic_log.counts where since < ${isoOf(day + 1)}`
  await sql`delete from traffic_log.hourly where since < ${isoOf(day + 1)}`
  await sql`delete from traffic_log.unregistered where unregistered_at < ${isoOf(day + 1)}`
  return true
}
