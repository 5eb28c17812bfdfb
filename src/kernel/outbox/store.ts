/**
 * SQL of the outbox. migrations/0004_outbox_heads.sql explains the tables. The README of the kernel explains which rows the workers lock.
 */
import type { Sql } from '../db.ts'

export interface WaitingEvent {
  id: number
  key: string
  payload: unknown
}

/** A locked row of `outbox_heads`: a key with waiting events. Later statements find it by its ctid, without an index or statistics. */
export interface Head {
  key: string
  ctid: string
}

export interface Due {
  subscription: string
  /** True if the subscription has heads without a failed event. Their events are delivered in batches. */
  fresh: boolean
  /** True if the subscription has heads with a failed event. Their events are delivered one at a time. */
  failed: boolean
}

const arrivalsPerCall = 1000

export async function insertEvents(
  sql: Sql,
  subscriptions: string[],
  event: string,
  rows: { key: string; payload: string }[],
) {
  if (rows.length === 1 && subscriptions.length === 1)
    return await insertEvent(sql, { subscription: subscriptions[0]!, event, ...rows[0]! })
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

/** Inserts one event for one subscription. This is the usual case, and needs neither arrays nor sorting. */
async function insertEvent(
  sql: Sql,
  { subscription, event, key, payload }: { subscription: string; event: string; key: string; payload: string },
) {
  await sql`
    with added as (
      insert into kernel.outbox (subscription, event, key, payload)
      values (${subscription}, ${event}, ${key}, ${payload}::text::jsonb))
    insert into kernel.outbox_arrivals (subscription, key) values (${subscription}, ${key})`
}

/**
 * Turns arrivals into heads and returns the subscriptions with due heads. Heads are inserted in the order of their keys, so that two nodes
 * that insert at the same time cannot deadlock.
 */
export async function findDue(sql: Sql, subscriptions: string[]): Promise<{ due: Due[]; more: boolean }> {
  const rows = await sql<(Due & { arrived: number })[]>`
    with arrived as (
      delete from kernel.outbox_arrivals
      where id in (select id from kernel.outbox_arrivals order by id limit ${arrivalsPerCall} for update skip locked)
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
    more: (rows[0]?.arrived ?? 0) === arrivalsPerCall,
  }
}

/** Locks keys whose events this transaction delivers. Skips keys that other transactions deliver. */
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

/**
 * Returns the oldest events of these keys, key by key. This statement runs after the locks were taken, so it sees everything that the
 * previous holders of the locks committed.
 */
export const findWaiting = (sql: Sql, subscription: string, keys: string[], limits: { perKey: number; all: number }) =>
  sql<WaitingEvent[]>`
    select o.id, o.key, o.payload
    from unnest(${keys}::text[]) with ordinality as k (key, n) cross join lateral (
      select id, key, payload from kernel.outbox
      where subscription = ${subscription} and key = k.key order by id limit ${limits.perKey}) as o
    order by k.n, o.id limit ${limits.all}`

/**
 * Deletes delivered events and the heads of drained keys. Then inserts heads again for keys with events, and returns their number. An event
 * that is published meanwhile is either seen by the second statement, or its arrival waits for this commit.
 */
export async function finish(
  sql: Sql,
  subscription: string,
  ids: number[],
  drained: Head[],
  partlyDelivered: Head[],
): Promise<number> {
  const ctidsOf = (heads: Head[]) => heads.map(({ ctid }) => ctid)
  await sql`
    with delivered as (delete from kernel.outbox where id = any(${ids}::bigint[])),
    rest as (
      update kernel.outbox_heads set due_at = clock_timestamp() where ctid = any(${ctidsOf(partlyDelivered)}::text[]::tid[]))
    delete from kernel.outbox_heads where ctid = any(${ctidsOf(drained)}::text[]::tid[])`
  if (drained.length === 0) return 0
  const { count } = await sql`
    insert into kernel.outbox_heads (subscription, key)
    select ${subscription}, k.key from unnest(${drained.map(({ key }) => key)}::text[]) as k (key) cross join lateral (
      select from kernel.outbox o where o.subscription = ${subscription} and o.key = k.key limit 1) as waiting
    on conflict do nothing`
  return count
}

/** Deletes a delivered event of a failed head. If it was the event that had failed, the key is delivered in batches again. */
export async function finishFailed(sql: Sql, subscription: string, key: string, id: number | undefined) {
  await sql`
    with delivered as (delete from kernel.outbox where id = ${id ?? null}::bigint)
    update kernel.outbox_heads set attempts = 0, due_at = clock_timestamp(),
      failed_id = case when ${id ?? null}::bigint < failed_id then failed_id end
    where subscription = ${subscription} and key = ${key}`
}

/** Marks the key as failed, so that its events are delivered one by one. If the oldest event failed, its next attempt is delayed. */
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

/**
 * Returns the id of the newest waiting event of the key for each of these subscriptions. Subscriptions in which the events of the key wait
 * for a retry are left out.
 */
export async function findNewestWaiting(sql: Sql, subscriptions: string[], key: string): Promise<Map<string, number>> {
  const rows = await sql<{ subscription: string; id: number }[]>`
    select s.subscription, o.id from unnest(${subscriptions}::text[]) as s (subscription) cross join lateral (
      select id from kernel.outbox where subscription = s.subscription and key = ${key} order by id desc limit 1) as o
    where not exists (
      select from kernel.outbox_heads h
      where h.subscription = s.subscription and h.key = ${key} and h.failed_id is not null and h.due_at > now())`
  return new Map(rows.map(({ subscription, id }) => [subscription, id]))
}
