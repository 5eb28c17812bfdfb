/**
 * Exact numbers without looking at the records: everything before `counted_until` is counted for each five minutes and each hour,
 * the rest is few and looked at. Nobody waits for the counting, and the counting waits for nobody: first a moment is closed, so that
 * writers put nothing before it any more; once all transactions have ended that may not know of that, what is before it is
 * counted for good.
 */
import { sleep } from '../../../kernel/clock.ts'
import type { Fragment, Sql } from '../../../kernel/db.ts'

export const minutesMs = 300_000
export const hourMs = 3_600_000
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
    await countInPieces(sql, state.from.getTime(), state.to.getTime())
    await sql`select brin_summarize_new_values(i.inhrelid) from pg_inherits i
      where i.inhparent = 'traffic_log.records_in_time'::regclass`
  }
  // The clock of one node must not carry the others away. Whole milliseconds, because we read no finer ones.
  await sql`
    update traffic_log.counting set counted_until = closed_until, barrier = null, closed_until = greatest(closed_until,
      date_trunc('milliseconds', least(${now}::timestamptz, clock_timestamp()) - make_interval(secs => ${lagSeconds})))`
}

/** Piece by piece with pauses, while devices are busy: 100,000 records at once take a core for 180 ms. */
const pieceMs = 400
const pauseMs = 60
/** What is older was left by nobody who is in a hurry. */
const inPiecesMs = 8000

async function countInPieces(sql: Sql, from: number, to: number) {
  const ms = to - from > inPiecesMs ? to - from : pieceMs
  for (let start = from; start < to; start += ms) {
    if (start > from) await sleep(pauseMs)
    const end = Math.min(start + ms, to)
    await addCounts(sql, sql`created_at >= ${new Date(start)} and created_at < ${new Date(end)}`)
  }
}

const addCounts = (sql: Sql, where: Fragment) => sql`
  with fresh as (
    select tenant_id, date_bin('5 minutes', created_at, timestamptz 'epoch') as since, application_name, version_name, extension,
      count(*) as n
    from traffic_log.records where ${where} group by tenant_id, since, application_name, version_name, extension),
  both_sizes as (
    select tenant_id, 5 as minutes, since, application_name, version_name, extension, n from fresh
    union all
    select tenant_id, 60, date_bin('1 hour', since, timestamptz 'epoch') as hour, application_name, version_name, extension, sum(n)
    from fresh group by tenant_id, hour, application_name, version_name, extension)
  insert into traffic_log.counts as known (tenant_id, minutes, since, application_name, version_name, extension, count)
  select * from both_sizes
  on conflict (tenant_id, minutes, since, application_name, version_name, extension)
    do update set count = known.count + excluded.count`

/** After the records up to this moment are gone; what a tenant of the same name has written since stays counted. */
export async function forgetCounts(sql: Sql, tenantId: string, until: Date) {
  const [state] = await sql`select counted_until from traffic_log.counting for update`
  const hour = Math.floor(until.getTime() / hourMs) * hourMs
  const end = new Date(hour + hourMs)
  await sql`delete from traffic_log.counts where tenant_id = ${tenantId} and since < ${end}`
  const counted = new Date(Math.min(end.getTime(), state?.countedUntil.getTime()))
  await addCounts(sql, sql`tenant_id = ${tenantId} and created_at >= ${new Date(hour)} and created_at < ${counted}`)
}
