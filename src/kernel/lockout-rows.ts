/**
 * A lockout for all nodes. It uses a table of the service that has the columns of `identity.attempts`. An attempt is reserved before it is
 * checked, so that at most `limit` attempts are checked at a time. It counts only when it turns out to be wrong.
 */
import type { Fragment, Sql } from './db.ts'
import { doublingsMax, type LockoutRule, locksResetSeconds } from './lockout.ts'

/** A check takes a few seconds at most. A reservation that has no result after this time was lost with its process. */
const reservationSeconds = 60

export type LockoutRows = ReturnType<typeof createLockoutRows>

/** @param table the name of the table, such as sql => sql`identity.attempts` */
export const createLockoutRows = (table: (sql: Sql) => Fragment) => ({
  /** Reserves one attempt. Returns false and changes nothing if the key is locked or all attempts are reserved. */
  reserve: (sql: Sql, key: Buffer, now: Date, rule: LockoutRule) => reserve(sql, table(sql), key, now, rule),

  /** Counts a reserved attempt as wrong. The attempt that reaches the limit locks the key. Returns the number of wrong attempts. */
  recordFailure: (sql: Sql, key: Buffer, now: Date, rule: LockoutRule) => fail(sql, table(sql), key, now, rule),

  /** Releases the reservation of an attempt that was correct or could not be checked. The attempt does not count. */
  async release(sql: Sql, key: Buffer) {
    await sql`update ${table(sql)} set pending = greatest(pending - 1, 0) where key = ${key}`
  },

  /** Releases the reservation of a correct attempt and clears the count of wrong attempts. Other reservations stay. */
  async recordSuccess(sql: Sql, key: Buffer) {
    const { count } = await sql`delete from ${table(sql)} where key = ${key} and pending <= 1`
    if (count > 0) return
    await sql`
      update ${table(sql)} set pending = greatest(pending - 1, 0), failures = 0, locked_until = null, locks = 0
      where key = ${key}`
  },

  /** Removes all attempts and locks of the key. */
  async remove(sql: Sql, key: Buffer) {
    await sql`delete from ${table(sql)} where key = ${key}`
  },

  /** Returns the latest end of the locks on these keys, and whether any of the keys has a row. */
  async find(sql: Sql, keys: Buffer[], now: Date): Promise<{ until?: Date; known: boolean }> {
    const [row] = await sql`
      select max(locked_until) filter (where locked_until > ${now}) as until, count(*) > 0 as known
      from ${table(sql)} where key in ${sql(keys)}`
    return { known: row?.known === true, ...(row?.until && { until: row.until as Date }) }
  },

  /** Deletes rows that no longer have an effect, and the oldest rows beyond `rowsMax`. Only an attack creates so many rows. */
  async prune(sql: Sql, now: Date, windowSeconds: number, rowsMax = 1_000_000) {
    const windowStart = secondsBefore(now, windowSeconds)
    const forgetBefore = secondsBefore(now, locksResetSeconds)
    await sql`
      delete from ${table(sql)}
      where updated_at < ${windowStart} and (locks = 0 or updated_at < ${forgetBefore})
        and (locked_until is null or locked_until <= ${now})`
    await sql`
      delete from ${table(sql)} where key in (select key from ${table(sql)} order by updated_at desc offset ${rowsMax})`
  },
})

const secondsBefore = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000)

/** Returns the current values of a row. A new window starts after a lock or at the end of the window. Lost reservations are ignored. */
const currentValues = (sql: Sql, now: Date, windowSeconds: number) => {
  const isNew = sql`(a.locked_until is not null or a.window_started_at <= ${secondsBefore(now, windowSeconds)})`
  return {
    open: sql`(a.locked_until is null or a.locked_until <= ${now})`,
    failures: sql`(case when ${isNew} then 0 else a.failures end)`,
    windowStartedAt: sql`(case when ${isNew} then ${now}::timestamptz else a.window_started_at end)`,
    pending: sql`(case when a.pending_at > ${secondsBefore(now, reservationSeconds)} then a.pending else 0 end)`,
    locks: sql`(case when a.updated_at < ${secondsBefore(now, locksResetSeconds)} then 0 else a.locks end)`,
  }
}

async function reserve(sql: Sql, table: Fragment, key: Buffer, now: Date, { limit, windowSeconds }: LockoutRule) {
  const { open, failures, windowStartedAt, pending, locks } = currentValues(sql, now, windowSeconds)
  const { count } = await sql`
    insert into ${table} as a (key, failures, pending, pending_at, window_started_at, updated_at)
    values (${key}, 0, 1, ${now}, ${now}, ${now})
    on conflict (key) do update set failures = ${failures}, pending = ${pending} + 1, pending_at = ${now},
      window_started_at = ${windowStartedAt}, locked_until = null, locks = ${locks}, updated_at = ${now}
    where ${open} and ${failures} + ${pending} < ${limit}`
  return count === 1
}

async function fail(sql: Sql, table: Fragment, key: Buffer, now: Date, rule: LockoutRule): Promise<number> {
  const { limit, windowSeconds, lockSeconds } = rule
  const { open, failures, windowStartedAt, pending, locks } = currentValues(sql, now, windowSeconds)
  const locking = sql`${open} and ${failures} + 1 >= ${limit}`
  const lockedUntil = sql`
    ${now}::timestamptz + make_interval(secs => ${lockSeconds}::float8 * 2 ^ least(${locks}, ${doublingsMax}))`
  const locksOnFirstFailure = limit <= 1
  const [row] = await sql`
    insert into ${table} as a (key, failures, window_started_at, locked_until, locks, updated_at)
    values (${key}, 1, ${now}, ${locksOnFirstFailure ? new Date(now.getTime() + lockSeconds * 1000) : null},
      ${locksOnFirstFailure ? 1 : 0}, ${now})
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
