import type { Sql } from '../../kernel/db.ts'

export interface Limits {
  /** Attempts in a window; the last of them locks. */
  limit: number
  windowSeconds: number
  lockSeconds: number
}

/** Locks grow only while somebody keeps trying: after a quiet day the first one is short again. */
const forgetLocksSeconds = 86_400
const doublingsMax = 10

/** A check takes seconds at most. What is undecided for so long was cut off by the end of its process. */
const undecidedSeconds = 60

/** What still counts of a row: after a lock or at the end of the window all is new, and lost checks are forgotten. */
const current = (sql: Sql, now: Date, windowSeconds: number) => {
  const before = (seconds: number) => new Date(now.getTime() - seconds * 1000)
  const fresh = sql`(a.locked_until is not null or a.window_started_at <= ${before(windowSeconds)})`
  return {
    open: sql`(a.locked_until is null or a.locked_until <= ${now})`,
    failures: sql`(case when ${fresh} then 0 else a.failures end)`,
    windowStartedAt: sql`(case when ${fresh} then ${now}::timestamptz else a.window_started_at end)`,
    pending: sql`(case when a.pending_at > ${before(undecidedSeconds)} then a.pending else 0 end)`,
    locks: sql`(case when a.updated_at < ${before(forgetLocksSeconds)} then 0 else a.locks end)`,
  }
}

/**
 * Takes a place for one attempt before it is checked: however many come at once, wrong and undecided ones together are
 * not more than `limit`. False: locked, or all places are taken; nothing was changed.
 */
export async function reserveAttempt(sql: Sql, key: Buffer, now: Date, { limit, windowSeconds }: Limits) {
  const { open, failures, windowStartedAt, pending, locks } = current(sql, now, windowSeconds)
  const { count } = await sql`
    insert into identity.attempts as a (key, failures, pending, pending_at, window_started_at, updated_at)
    values (${key}, 0, 1, ${now}, ${now}, ${now})
    on conflict (key) do update set failures = ${failures}, pending = ${pending} + 1, pending_at = ${now},
      window_started_at = ${windowStartedAt}, locked_until = null, locks = ${locks}, updated_at = ${now}
    where ${open} and ${failures} + ${pending} < ${limit}`
  return count === 1
}

/** The place is free again, and nothing was learned: the attempt was right, or could not be checked. */
export async function releaseAttempt(sql: Sql, key: Buffer) {
  await sql`update identity.attempts set pending = greatest(pending - 1, 0) where key = ${key}`
}

/** Right: what was wrong before is forgiven. Others that are being checked keep their places. */
export async function forgiveAttempts(sql: Sql, key: Buffer) {
  const { count } = await sql`delete from identity.attempts where key = ${key} and pending <= 1`
  if (count > 0) return
  await sql`
    update identity.attempts set pending = greatest(pending - 1, 0), failures = 0, locked_until = null, locks = 0
    where key = ${key}`
}

/** The attempt that had this place was wrong; the one that reaches the limit locks. How many were wrong by now. */
export async function countAttempt(
  sql: Sql,
  key: Buffer,
  now: Date,
  { limit, windowSeconds, lockSeconds }: Limits,
): Promise<number> {
  const { open, failures, windowStartedAt, pending, locks } = current(sql, now, windowSeconds)
  const locking = sql`${open} and ${failures} + 1 >= ${limit}`
  const lockedUntil = sql`
    ${now}::timestamptz + make_interval(secs => ${lockSeconds}::float8 * 2 ^ least(${locks}, ${doublingsMax}))`
  const atOnce = limit <= 1
  const [row] = await sql`
    insert into identity.attempts as a (key, failures, window_started_at, locked_until, locks, updated_at)
    values (${key}, 1, ${now}, ${atOnce ? new Date(now.getTime() + lockSeconds * 1000) : null},
      ${atOnce ? 1 : 0}, ${now})
    on conflict (key) do update set
      failures = case when ${open} then ${failures} + 1 else a.failures + 1 end,
      pending = greatest(${pending} - 1, 0),
      window_started_at = ${windowStartedAt},
      locked_until = case when ${locking} then ${lockedUntil} when ${open} then null else a.locked_until end,
      locks = ${locks} + case when ${locking} then 1 else 0 end,
      updated_at = ${now}
    returning failures`
  return row!.failures
}

/** The latest end of the locks on any of these keys, and whether any of them has been counted at all. */
export async function findAttempts(sql: Sql, keys: Buffer[], now: Date): Promise<{ until?: Date; known: boolean }> {
  const [row] = await sql`
    select max(locked_until) filter (where locked_until > ${now}) as until, count(*) > 0 as known
    from identity.attempts where key in ${sql(keys)}`
  return { known: row?.known === true, ...(row?.until && { until: row.until as Date }) }
}

export async function forgetAttempts(sql: Sql, key: Buffer) {
  await sql`delete from identity.attempts where key = ${key}`
}

/** What no longer means anything, and the oldest beyond a bound that no honest installation reaches. */
export async function pruneAttempts(sql: Sql, now: Date, windowSeconds: number, rowsMax = 1_000_000) {
  const windowStart = new Date(now.getTime() - windowSeconds * 1000)
  const forget = new Date(now.getTime() - forgetLocksSeconds * 1000)
  await sql`
    delete from identity.attempts
    where updated_at < ${windowStart} and (locks = 0 or updated_at < ${forget})
      and (locked_until is null or locked_until <= ${now})`
  await sql`
    delete from identity.attempts where key in (
      select key from identity.attempts order by updated_at desc offset ${rowsMax})`
}
