/**
 * Exact numbers without looking at the records: everything before `counted_until` is counted for each five minutes, the rest is
 * few and looked at. Nobody waits for the counting, and the counting waits for nobody: first a moment is closed, so that
 * writers put nothing before it any more; once all transactions have ended that may not know of that, what is before it is
 * counted for good.
 */
import type { Sql } from '../../../kernel/db.ts'
import type { Fragment } from './fragment.ts'

export const bucketMs = 300_000
/** A little behind the clock: records that wait for their commit are seldom late. */
const lagSeconds = 2

/** One step further, in a transaction. */
export async function countOn(sql: Sql, now: Date) {
  const [state] = await sql<{ open: boolean; fenced: boolean; settled: boolean; from: Date; to: Date }[]>`
    select closed_until = counted_until as open, barrier is not null as fenced, counted_until as "from", closed_until as "to",
      coalesce(pg_snapshot_xmin(pg_current_snapshot()) >= barrier, false) as settled
    from traffic_log.counting for update`
  if (!state) return
  if (!state.open && !state.fenced)
    await sql`update traffic_log.counting set barrier = pg_snapshot_xmax(pg_current_snapshot())`
  if (!state.open && !state.settled) return
  if (!state.open) {
    await addCounts(sql, sql`created_at >= ${state.from} and created_at < ${state.to}`)
    await sql`select brin_summarize_new_values(i.inhrelid) from pg_inherits i
      where i.inhparent = 'traffic_log.records_in_time'::regclass`
  }
  // The clock of one node must not carry the others away. Whole milliseconds, because we read no finer ones.
  await sql`
    update traffic_log.counting set counted_until = closed_until, barrier = null, closed_until = greatest(closed_until,
      date_trunc('milliseconds', least(${now}::timestamptz, clock_timestamp()) - make_interval(secs => ${lagSeconds})))`
}

const addCounts = (sql: Sql, where: Fragment) => sql`
  insert into traffic_log.counts as known (tenant_id, since, application_name, version_name, extension, count)
  select tenant_id, date_bin('5 minutes', created_at, timestamptz 'epoch') as since, application_name, version_name, extension,
    count(*)
  from traffic_log.records where ${where}
  group by tenant_id, since, application_name, version_name, extension
  on conflict (tenant_id, since, application_name, version_name, extension)
    do update set count = known.count + excluded.count`

export async function findCountedUntil(sql: Sql): Promise<Date> {
  const [row] = await sql`select counted_until from traffic_log.counting`
  return row?.countedUntil
}

/** After the records up to this moment are gone; what a tenant of the same name has written since stays counted. */
export async function forgetCounts(sql: Sql, tenantId: string, until: Date) {
  const [state] = await sql`select counted_until from traffic_log.counting for update`
  await sql`delete from traffic_log.counts where tenant_id = ${tenantId} and since <= ${until}`
  const since = new Date(Math.floor(until.getTime() / bucketMs) * bucketMs)
  const before = new Date(Math.min(since.getTime() + bucketMs, state?.countedUntil.getTime()))
  await addCounts(sql, sql`tenant_id = ${tenantId} and created_at >= ${since} and created_at < ${before}`)
}
