/**
 * SQL of the counts of records in blocks, by five minutes and by hour. The transaction that changes blocks also changes the counts, so they
 * are exact. Records in batches are counted by the search.
 */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { Count } from '../pack/pack-records.ts'

export const fiveMinutesMs = 300_000
export const hourMs = 3_600_000

const hourOf = (sql: Sql) => sql`date_bin('1 hour', since, timestamptz 'epoch')`

/** Adds counts of packed records. With `withHourly`, adds them to the hourly statistics too. */
export async function addCounts(sql: Sql, tenantId: string, counts: Count[], { withHourly = true } = {}) {
  if (counts.length === 0) return
  const rows = sql.json(counts.map(({ since, ...group }) => ({ ...group, s: since })))
  const fresh = sql`
    fresh as materialized (
      select to_timestamp(s / 1000.0) as since, a, v, x, o, n, b
      from jsonb_to_recordset(${rows}) as c (s bigint, a text, v text, x text, o boolean, n bigint, b bigint))`
  await sql`
    with ${fresh},
    both_sizes as (
      select 5 as minutes, since, a, v, x, sum(n)::integer as n from fresh group by since, a, v, x
      union all
      select 60, ${hourOf(sql)} as hour, a, v, x, sum(n)::integer from fresh group by hour, a, v, x)
    insert into traffic_log.counts as known (tenant_id, minutes, since, application_name, version_name, extension, count)
    select ${tenantId}, * from both_sizes
    on conflict (tenant_id, minutes, since, application_name, version_name, extension)
      do update set count = known.count + excluded.count`
  if (!withHourly) return
  await sql`
    with ${fresh}
    insert into traffic_log.hourly as known (tenant_id, since, application_name, version_name, outbound, messages, bytes)
    select ${tenantId}, ${hourOf(sql)} as hour, a, v, o, sum(n), sum(b) from fresh group by hour, a, v, o
    on conflict (tenant_id, since, application_name, version_name, outbound)
      do update set messages = known.messages + excluded.messages, bytes = known.bytes + excluded.bytes`
}

/**
 * Returns a relation with the columns `since`, `application_name`, `version_name`, `outbound`, `messages` and `bytes`. It includes
 * records that are not packed yet.
 */
export const trafficStatistics = (sql: Sql, tenantId: string): Fragment => sql`
  select since, application_name, version_name, outbound, sum(messages)::bigint as messages, sum(bytes)::bigint as bytes from (
    select since, application_name, version_name, outbound, messages, bytes from traffic_log.hourly where tenant_id = ${tenantId}
    union all
    select date_bin('1 hour', to_timestamp(first_at / 1000000.0), timestamptz 'epoch'), a, v, o, g.n, g.b
    from traffic_log.batches, jsonb_to_recordset(groups) as g (a text, v text, o boolean, n bigint, b bigint)
    where tenant_id = ${tenantId}) parts
  group by since, application_name, version_name, outbound`

/** Deletes the counts of a tenant up to a time, which must be the end of an hour. */
export async function deleteCountsBefore(sql: Sql, tenantId: string, end: Date) {
  await sql`delete from traffic_log.counts where tenant_id = ${tenantId} and since < ${end}`
  await sql`delete from traffic_log.hourly where tenant_id = ${tenantId} and since < ${end}`
  await sql`delete from traffic_log.stored where tenant_id = ${tenantId} and since < ${end}`
}

/** Adds changes of the numbers of records and bytes in blocks, by hour. A change is negative if blocks were replaced by smaller blocks. */
export async function addStored(
  sql: Sql,
  tenantId: string,
  hours: ReadonlyMap<number, { records: number; bytes: number }>,
) {
  if (hours.size === 0) return
  const rows = [...hours].map(([hour, { records, bytes }]) => ({
    tenantId,
    since: new Date(hour * hourMs),
    records,
    bytes,
  }))
  await sql`
    insert into traffic_log.stored as known ${sql(rows)}
    on conflict (tenant_id, since) do update set records = known.records + excluded.records, bytes = known.bytes + excluded.bytes`
}

export async function sumOfStored(sql: Sql): Promise<{ records: number; bytes: number }> {
  const [row] = await sql<{ records: number; bytes: number }[]>`
    select coalesce(sum(records), 0)::float8 as records, coalesce(sum(bytes), 0)::float8 as bytes from traffic_log.stored`
  return row!
}

/**
 * Deletes the blocks and counts of the oldest hour. Hourly statistics stay. Must be called in a transaction that holds the packing lock.
 */
export async function deleteOldestHour(sql: Sql): Promise<{ since: Date; records: number; bytes: number } | undefined> {
  const [hour] = await sql<{ since: Date; records: number; bytes: number }[]>`
    select since, sum(records)::float8 as records, sum(bytes)::float8 as bytes from traffic_log.stored
    group by since order by since limit 1`
  if (!hour) return undefined
  const [from, to] = [hour.since.getTime() * 1000, (hour.since.getTime() + hourMs) * 1000]
  const day = Math.floor(hour.since.getTime() / (24 * hourMs))
  const end = new Date(to / 1000)
  await sql`
    delete from traffic_log.blocks b using (
      select tenant_id from traffic_log.stored where since = ${hour.since}) of_hour
    where b.tenant_id = of_hour.tenant_id and b.day = ${day} and b.last_at >= ${from} and b.last_at < ${to}`
  await sql`delete from traffic_log.stored where since = ${hour.since}`
  await sql`delete from traffic_log.counts where since < ${end}`
  return hour
}
