/**
 * Maintains exact counts of the records before `counted_until`, by five minutes and by hour. Writers and the counting task never block
 * each other; the README ("Counting in advance") describes how.
 */
import { sleep } from '../../../kernel/clock.ts'
import type { Fragment, Sql } from '../../../kernel/db.ts'

export const fiveMinutesMs = 300_000
export const hourMs = 3_600_000
/** Delay behind the clock, so that records waiting for their commit are rarely late. */
const lagSeconds = 2

/** Performs the next step in the given transaction: closes a time, waits for older transactions, or counts. */
export async function advanceCounts(sql: Sql, now: Date) {
  const [state] = await sql<{ open: boolean; fenced: boolean; settled: boolean; from: Date; to: Date }[]>`
    select closed_until = counted_until as open, barrier is not null as fenced, counted_until as "from", closed_until as "to",
      coalesce(pg_snapshot_xmin(pg_current_snapshot()) >= barrier, false) as settled
    from traffic_log.counting for update`
  if (!state) return
  if (!state.open && !state.fenced)
    await sql`update traffic_log.counting set barrier = pg_snapshot_xmax(pg_current_snapshot())`
  if (!state.open && !state.settled) return
  if (!state.open) {
    await countInSteps(sql, state.from.getTime(), state.to.getTime())
    await sql`select brin_summarize_new_values(i.inhrelid) from pg_inherits i
      where i.inhparent = 'traffic_log.records_in_time'::regclass`
  }
  // `least` guards against a node whose clock is ahead. Milliseconds, because JavaScript dates have no finer resolution.
  await sql`
    update traffic_log.counting set counted_until = closed_until, barrier = null, closed_until = greatest(closed_until,
      date_trunc('milliseconds', least(${now}::timestamptz, clock_timestamp()) - make_interval(secs => ${lagSeconds})))`
}

/** Counts in steps with pauses, because counting 100,000 records at once occupies a core for 180 ms. */
const stepMs = 400
const pauseMs = 60
/** A longer backlog is counted in one step: it is from a time when the platform did not run. */
const stepwiseMaxMs = 8000

async function countInSteps(sql: Sql, from: number, to: number) {
  const ms = to - from > stepwiseMaxMs ? to - from : stepMs
  for (let start = from; start < to; start += ms) {
    if (start > from) await sleep(pauseMs)
    const end = Math.min(start + ms, to)
    await addCounts(sql, sql`created_at >= ${new Date(start)} and created_at < ${new Date(end)}`)
  }
}

/** Returns the records of five minutes, by everything that is counted. One scan serves both tables. */
const countedRecords = (sql: Sql, where: Fragment) => sql`
  select tenant_id, date_bin('5 minutes', created_at, timestamptz 'epoch') as since, application_name, version_name, extension,
    outbound, count(*) as n, sum(traffic_log.payload_bytes(payload, additional_metadata)) as bytes
  from traffic_log.records where ${where}
  group by tenant_id, since, application_name, version_name, extension, outbound`

const hourOf = (sql: Sql) => sql`date_bin('1 hour', since, timestamptz 'epoch')`

/**
 * Returns a relation with the columns since, application_name, version_name, outbound, messages and bytes. Records that are not
 * counted yet are added.
 */
export const trafficStatistics = (sql: Sql, tenantId: string): Fragment => sql`
  select since, application_name, version_name, outbound, sum(messages)::bigint as messages, sum(bytes)::bigint as bytes from (
    select since, application_name, version_name, outbound, messages, bytes from traffic_log.hourly where tenant_id = ${tenantId}
    union all
    select ${hourOf(sql)}, application_name, version_name, outbound, n, bytes from (${countedRecords(
      sql,
      sql`tenant_id = ${tenantId} and created_at >= (select counted_until from traffic_log.counting)`,
    )}) recent) parts
  group by since, application_name, version_name, outbound`

const addCounts = (sql: Sql, where: Fragment) => sql`
  with fresh as materialized (${countedRecords(sql, where)}),
  hourly as (
    insert into traffic_log.hourly as known (tenant_id, since, application_name, version_name, outbound, messages, bytes)
    select tenant_id, ${hourOf(sql)} as hour, application_name, version_name, outbound, sum(n), sum(bytes) from fresh
    group by tenant_id, hour, application_name, version_name, outbound
    on conflict (tenant_id, since, application_name, version_name, outbound)
      do update set messages = known.messages + excluded.messages, bytes = known.bytes + excluded.bytes),
  both_sizes as (
    select tenant_id, 5 as minutes, since, application_name, version_name, extension, sum(n) from fresh
    group by tenant_id, since, application_name, version_name, extension
    union all
    select tenant_id, 60, ${hourOf(sql)} as hour, application_name, version_name, extension, sum(n)
    from fresh group by tenant_id, hour, application_name, version_name, extension)
  insert into traffic_log.counts as known (tenant_id, minutes, since, application_name, version_name, extension, count)
  select * from both_sizes
  on conflict (tenant_id, minutes, since, application_name, version_name, extension)
    do update set count = known.count + excluded.count`

/** Deletes the counts of a tenant up to a time. Records that a new tenant of the same name has written since stay counted. */
export async function deleteCounts(sql: Sql, tenantId: string, until: Date) {
  const [state] = await sql`select counted_until from traffic_log.counting for update`
  const hour = Math.floor(until.getTime() / hourMs) * hourMs
  const end = new Date(hour + hourMs)
  await sql`delete from traffic_log.counts where tenant_id = ${tenantId} and since < ${end}`
  await sql`delete from traffic_log.hourly where tenant_id = ${tenantId} and since < ${end}`
  const counted = new Date(Math.min(end.getTime(), state?.countedUntil.getTime()))
  await addCounts(sql, sql`tenant_id = ${tenantId} and created_at >= ${new Date(hour)} and created_at < ${counted}`)
}
