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

/**
 * Counts one attempt, before it is known whether it is wrong: however many come at once, not more than `limit` get a
 * number. The one that reaches the limit also locks. Undefined: locked already, nothing was counted.
 */
export async function countAttempt(sql: Sql, key: Buffer, now: Date, { limit, windowSeconds, lockSeconds }: Limits) {
  const windowStart = new Date(now.getTime() - windowSeconds * 1000)
  const forget = new Date(now.getTime() - forgetLocksSeconds * 1000)
  const [row] = await sql`
    insert into identity.attempts as a (key, failures, window_started_at, locked_until, locks, updated_at)
    values (${key}, 1, ${now}, ${limit <= 1 ? new Date(now.getTime() + lockSeconds * 1000) : null},
      ${limit <= 1 ? 1 : 0}, ${now})
    on conflict (key) do update set (failures, window_started_at, locked_until, locks, updated_at) = (
      select next.failures, next.window_started_at,
        case when next.failures >= ${limit}
          then ${now}::timestamptz + make_interval(secs => ${lockSeconds}::float8 * 2 ^ least(next.locks, ${doublingsMax}))
        end,
        next.locks + case when next.failures >= ${limit} then 1 else 0 end,
        ${now}::timestamptz
      from (
        select case when fresh then 1 else a.failures + 1 end as failures,
          case when fresh then ${now}::timestamptz else a.window_started_at end as window_started_at,
          case when a.updated_at < ${forget} then 0 else a.locks end as locks
        from (select a.locked_until is not null or a.window_started_at <= ${windowStart} as fresh) as w
      ) as next)
    where a.locked_until is null or a.locked_until <= ${now}
    returning failures, locked_until is not null as locked`
  return row && { failures: row.failures as number, locked: row.locked as boolean }
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

/** One attempt was right after all; `locked`: it had reached the limit. */
export async function uncountAttempt(sql: Sql, key: Buffer, locked: boolean) {
  await sql`
    update identity.attempts set failures = greatest(failures - 1, 0),
      locked_until = case when ${locked} then null else locked_until end,
      locks = case when ${locked} then greatest(locks - 1, 0) else locks end
    where key = ${key}`
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
