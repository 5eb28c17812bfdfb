/** SQL of the partitions. Blocks and refusals have one partition per day (UTC). */
import type { Sql, TransactionSql } from '../../../kernel/db.ts'

export const dayMs = 86_400_000

const isoOf = (day: number) => new Date(day * dayMs).toISOString()
const nameOf = (table: string, day: number) => `${table}_${isoOf(day).slice(0, 10).replaceAll('-', '')}`

/** Tables with partitions, and the bounds of a day. */
const tables = {
  blocks: (day: number) => `from (${day}) to (${day + 1})`,
  refusals: (day: number) => `from ('${isoOf(day)}') to ('${isoOf(day + 1)}')`,
}
const names = Object.keys(tables) as (keyof typeof tables)[]
/** The table of earlier versions, which stored one row for each record. Its rows are packed in the background. */
const legacyTable = 'records'

async function findDaysOf(sql: Sql, parents: string[]): Promise<Map<number, number>> {
  const rows = await sql<{ name: string }[]>`
    select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = any(${parents.map((table) => `traffic_log.${table}`)}::text[]::regclass[])`
  const tablesByDay = new Map<number, number>()
  for (const { name } of rows) {
    const [, year, month, date] = name.match(/_(\d{4})(\d{2})(\d{2})$/) ?? []
    if (!date) continue
    const day = Date.UTC(Number(year), Number(month) - 1, Number(date)) / dayMs
    tablesByDay.set(day, (tablesByDay.get(day) ?? 0) + 1)
  }
  return tablesByDay
}

/** Returns the days since 1970 for which all tables have partitions. */
export async function findDays(sql: Sql): Promise<number[]> {
  return [...(await findDaysOf(sql, names))].filter(([, count]) => count === names.length).map(([day]) => day)
}

/** Returns the days since 1970 for which any table has a partition. */
export async function findDaysToDrop(sql: Sql): Promise<number[]> {
  return [...(await findDaysOf(sql, [...names, legacyTable])).keys()]
}

/**
 * Creates partitions in a transaction. A partition is first created as a separate table and then attached, so that readers and writers are
 * not blocked.
 */
export async function createPartitionsOfDays(sql: Sql, days: number[]) {
  await sql`select pg_advisory_xact_lock(hashtextextended('traffic-log.partitions', 0))`
  for (const day of days)
    for (const table of names) {
      const name = `traffic_log.${nameOf(table, day)}`
      const [existing] = await sql`select to_regclass(${name}) is not null as yes`
      if (existing?.yes) continue
      await sql.unsafe(`create table ${name} (like traffic_log.${table} including defaults including storage)`)
      await sql.unsafe(`alter table traffic_log.${table} attach partition ${name} for values ${tables[table](day)}`)
      if (table === 'blocks') await configureBlocks(sql, name)
    }
}

/**
 * In a row of more than 2 KB, PostgreSQL compresses columns until the row has this size. With so small a size, it compresses all columns.
 */
const rowBytes = 128
/**
 * Maximum size of the pending list of the GIN index, in kilobytes. The pages of this list stay in the file of the index after they are
 * emptied.
 */
const pendingKilobytes = 128

async function configureBlocks(sql: Sql, name: string) {
  await sql.unsafe(`alter table ${name} set (toast_tuple_target = ${rowBytes})`)
  const [index] = await sql<{ name: string }[]>`
    select i.indexrelid::regclass::text as name
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
    where i.indrelid = ${name}::text::regclass and a.amname = 'gin'`
  await sql.unsafe(`alter index ${index!.name} set (gin_pending_list_limit = ${pendingKilobytes})`)
  await limitStatistics(sql, name)
}

/** Reduces the statistics of PostgreSQL. Statistics of packed records improve no query plan, and ANALYZE would read all of them. */
async function limitStatistics(sql: Sql, name: string) {
  const set = (columns: string[], target: number) => columns.map((column) => `alter ${column} set statistics ${target}`)
  const [unused, used] = [
    ['data', 'groups', 'request_ids', 'block_id', 'n'],
    ['tenant_id', 'first_at', 'last_at', 'endpoints'],
  ]
  await sql.unsafe(`alter table ${name} ${[...set(unused!, 0), ...set(used!, 10)].join(', ')}`)
}

/** Drops the partitions of a day and its counts. Returns false if a reader holds a lock for more than 300 ms. */
export async function dropPartitionsOfDay(sql: TransactionSql, day: number): Promise<boolean> {
  try {
    await sql.savepoint(async (inner) => {
      await inner`select set_config('lock_timeout', '300', true)`
      for (const table of [...names, legacyTable])
        await inner.unsafe(`drop table if exists traffic_log.${nameOf(table, day)}`)
    })
  } catch (error) {
    if ((error as { code?: string }).code === '55P03') return false
    throw error
  }
  const end = isoOf(day + 1)
  await sql`delete from traffic_log.counts where since < ${end}`
  await sql`delete from traffic_log.hourly where since < ${end}`
  await sql`delete from traffic_log.stored where since < ${end}`
  await sql`delete from traffic_log.unregistered where unregistered_at < ${end}`
  await sql`delete from traffic_log.endpoints where used_day <= ${day}`
  return true
}
