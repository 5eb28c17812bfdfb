/** SQL of the outbox. Its tables are explained in migrations/0004_outbox_heads.sql, the order of locks in the README. */
import type { Sql } from '../db.ts'

export interface Waiting {
  id: number
  key: string
  payload: unknown
}

/** A locked row of `outbox_heads`, found again by its place: no plan can miss it, whatever statistics there are. */
export interface Head {
  key: string
  ctid: string
}

export interface Due {
  subscription: string
  /** Heads that never failed, delivered in batches. */
  fresh: boolean
  /** Heads with a failed event, delivered one event at a time. */
  failed: boolean
}

const arrivalsAtOnce = 1000

export async function insertEvents(
  sql: Sql,
  subscriptions: string[],
  event: string,
  rows: { key: string; payload: string }[],
) {
  await sql`
    with added as (
      insert into kernel.outbox (subscription, event, key, payload)
      select subscription, ${event}, key, payload
      from unnest(${rows.map(({ key }) => key)}::text[], ${rows.map(({ payload }) => payload)}::text[]::jsonb[])
          with ordinality as given(key, payload, n),
        unnest(${subscriptions}::text[]) as subscription
      order by n returning subscription, key)
    insert into kernel.outbox_arrivals (subscription, key) select distinct subscription, key from added`
}

/**
 * Turns arrivals into heads and says which of these subscriptions have something due. Heads are inserted in the order of their key:
 * two nodes that do it at once cannot wait for each other.
 */
export async function findDue(sql: Sql, subscriptions: string[]): Promise<{ due: Due[]; more: boolean }> {
  const rows = await sql<(Due & { arrived: number })[]>`
    with arrived as (
      delete from kernel.outbox_arrivals
      where id in (select id from kernel.outbox_arrivals order by id limit ${arrivalsAtOnce} for update skip locked)
      returning subscription, key),
    added as (
      insert into kernel.outbox_heads (subscription, key)
      select distinct subscription, key from arrived order by subscription, key on conflict do nothing)
    select subscription, (select count(*)::int from arrived) as arrived,
      exists (select from arrived a where a.subscription = s.subscription) or exists (
        select from kernel.outbox_heads h
        where h.subscription = s.subscription and failed_id is null and due_at <= now()) as fresh,
      exists (
        select from kernel.outbox_heads h
        where h.subscription = s.subscription and failed_id is not null and due_at <= now()) as failed
    from unnest(${subscriptions}::text[]) as s (subscription)`
  return {
    due: rows.filter(({ fresh, failed }) => fresh || failed),
    more: (rows[0]?.arrived ?? 0) === arrivalsAtOnce,
  }
}

/** Keys whose events are this transaction's to deliver; those that others deliver are skipped. */
export const lockHeads = (sql: Sql, subscription: string, limit: number) =>
  sql<Head[]>`
    select key, ctid::text as ctid from kernel.outbox_heads
    where subscription = ${subscription} and failed_id is null and due_at <= now()
    order by due_at limit ${limit} for update skip locked`

export async function lockFailedHead(sql: Sql, subscription: string): Promise<string | undefined> {
  const [row] = await sql<{ key: string }[]>`
    select key from kernel.outbox_heads
    where subscription = ${subscription} and failed_id is not null and due_at <= now()
    order by due_at limit 1 for update skip locked`
  return row?.key
}

/** The oldest events of these keys, key after key. A statement after the locks: it sees what their last holders committed. */
export const findWaiting = (sql: Sql, subscription: string, keys: string[], limits: { perKey: number; all: number }) =>
  sql<Waiting[]>`
    select o.id, o.key, o.payload
    from unnest(${keys}::text[]) with ordinality as k (key, n) cross join lateral (
      select id, key, payload from kernel.outbox
      where subscription = ${subscription} and key = k.key order by id limit ${limits.perKey}) as o
    order by k.n, o.id limit ${limits.all}`

/**
 * Delivered events go. Heads of drained keys go first and come back where events remain: an event that is published meanwhile is
 * either seen by the second statement, or its arrival waits for the removal to commit. Returns how many came back.
 */
export async function finish(
  sql: Sql,
  subscription: string,
  ids: number[],
  drained: Head[],
  others: Head[],
): Promise<number> {
  const places = (heads: Head[]) => heads.map(({ ctid }) => ctid)
  await sql`
    with delivered as (delete from kernel.outbox where id = any(${ids}::bigint[])),
    rest as (
      update kernel.outbox_heads set due_at = clock_timestamp() where ctid = any(${places(others)}::text[]::tid[]))
    delete from kernel.outbox_heads where ctid = any(${places(drained)}::text[]::tid[])`
  if (drained.length === 0) return 0
  const { count } = await sql`
    insert into kernel.outbox_heads (subscription, key)
    select ${subscription}, k.key from unnest(${drained.map(({ key }) => key)}::text[]) as k (key) cross join lateral (
      select from kernel.outbox o where o.subscription = ${subscription} and o.key = k.key limit 1) as waiting
    on conflict do nothing`
  return count
}

/** One event of a failed head was delivered; behind the event that failed, batches begin again. */
export async function finishFailed(sql: Sql, subscription: string, key: string, id: number | undefined) {
  await sql`
    with delivered as (delete from kernel.outbox where id = ${id ?? null}::bigint)
    update kernel.outbox_heads set attempts = 0, due_at = clock_timestamp(),
      failed_id = case when ${id ?? null}::bigint < failed_id then failed_id end
    where subscription = ${subscription} and key = ${key}`
}

/** From here on its events are delivered one by one. `delaySeconds`: the oldest one failed, and waits. */
export async function markFailed(
  sql: Sql,
  subscription: string,
  failed: { key: string; id: number },
  isOldest: boolean,
) {
  const [row] = await sql<{ attempts: number; seconds: number }[]>`
    update kernel.outbox_heads h set failed_id = greatest(h.failed_id, ${failed.id}),
      attempts = case when ${isOldest} then h.attempts + 1 else 0 end,
      due_at = case when ${isOldest} then now() + make_interval(secs => least(300, 2 ^ least(h.attempts + 1, 9)))
        else now() end
    where subscription = ${subscription} and key = ${failed.key}
    returning attempts, extract(epoch from due_at - now())::float8 as seconds`
  return row
}

export async function isAnyDue(sql: Sql, subscriptions: string[]): Promise<boolean> {
  const [row] = await sql<{ due: boolean }[]>`
    select exists (select from kernel.outbox_arrivals where subscription = any(${subscriptions}::text[]))
      or exists (
        select from kernel.outbox_heads where subscription = any(${subscriptions}::text[]) and due_at <= now()) as due`
  return row!.due
}
