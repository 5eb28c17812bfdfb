/** SQL for deliveries and for effects that must not happen twice. */
import type { Sql } from '../../../kernel/db.ts'
import type { DeliveryType, Retries } from './model.ts'

export interface NewDelivery extends Retries {
  id: string
  tenantId: string
  type: DeliveryType
  host: string
  /** The sealed content. */
  content: string
  /** A `PendingAction` as JSON text. */
  action: string
}

/** Stores the deliveries whose ids are not keys in `rules.effects` yet, and returns their ids. Each id may be given only once. */
export async function insertDeliveries(sql: Sql, nodeId: string, deliveries: NewDelivery[]): Promise<string[]> {
  const column = <K extends keyof NewDelivery>(name: K) => deliveries.map((delivery) => delivery[name])
  const rows = await sql<{ id: string }[]>`
    with fresh as (
      insert into rules.effects (key) select unnest(${column('id')}::uuid[]) on conflict do nothing returning key)
    insert into rules.deliveries (
      id, node_id, tenant_id, type, host, content, action, attempts_max, wait_ms, wait_factor)
    select d.id, ${nodeId}, d.tenant_id, d.type, d.host, d.content, d.action, d.attempts_max, d.wait_ms, d.wait_factor
    from unnest(${column('id')}::uuid[], ${column('tenantId')}::text[], ${column('type')}::text[],
      ${column('host')}::text[], ${column('content')}::text[], ${column('action')}::text[],
      ${column('attemptsMax')}::smallint[], ${column('waitMs')}::integer[], ${column('waitFactor')}::float8[])
      as d(id, tenant_id, type, host, content, action, attempts_max, wait_ms, wait_factor)
    join fresh on fresh.key = d.id
    returning id`
  return rows.map(({ id }) => id)
}

/** Returns which of these ids belong to deliveries of the node. */
export async function findOwned(sql: Sql, nodeId: string, ids: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from rules.deliveries where id = any(${ids}::uuid[]) and node_id = ${nodeId}`
  return rows.map(({ id }) => id)
}

export async function findContent(sql: Sql, nodeId: string, id: string): Promise<string | undefined> {
  const [row] = await sql<{ content: string }[]>`
    select content from rules.deliveries where id = ${id}::uuid and node_id = ${nodeId}`
  return row?.content
}

/** Deletes deliveries of the node that have ended. Returns the ids of the deliveries that existed. */
export async function deleteDeliveries(sql: Sql, nodeId: string, ids: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    delete from rules.deliveries where id = any(${ids}::uuid[]) and node_id = ${nodeId} returning id`
  return rows.map(({ id }) => id)
}

export interface FailedAttempt {
  id: string
  /** JSON text of all attempts so far. */
  attempts: string
  waitMs: number
}

/** Records failed attempts. Returns the ids of the deliveries that still belong to the node. */
export async function updateAttempts(sql: Sql, nodeId: string, failed: FailedAttempt[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    update rules.deliveries d
    set attempts = f.attempts, next_at = clock_timestamp() + f.wait_ms * interval '1 millisecond'
    from unnest(${failed.map(({ id }) => id)}::uuid[], ${failed.map(({ attempts }) => attempts)}::text[],
      ${failed.map(({ waitMs }) => waitMs)}::float8[]) as f(id, attempts, wait_ms)
    where d.id = f.id and d.node_id = ${nodeId}
    returning d.id`
  return rows.map(({ id }) => id)
}

export interface TakenDelivery extends Retries {
  id: string
  tenantId: string
  type: DeliveryType
  host: string
  action: string
  attempts: string
  /** Milliseconds until the next attempt; negative if it is due. */
  dueInMs: number
}

/** Moves some deliveries of a dead node to another node, in the order in which they are due. */
export async function takeOver(sql: Sql, from: string, to: string, limit: number): Promise<TakenDelivery[]> {
  const rows = await sql<TakenDelivery[]>`
    update rules.deliveries set node_id = ${to}
    where id = any(array(
      select id from rules.deliveries where node_id = ${from} order by next_at limit ${limit} for update skip locked))
    returning id, tenant_id, type, host, action, attempts, attempts_max, wait_ms, wait_factor,
      (extract(epoch from next_at - clock_timestamp()) * 1000)::float8 as due_in_ms`
  return rows.toSorted((a, b) => a.dueInMs - b.dueInMs)
}

/** Returns the ids of the nodes that own deliveries. */
export async function findOwners(sql: Sql): Promise<string[]> {
  const rows = await sql<{ nodeId: string }[]>`
    with recursive owner as (
      (select node_id from rules.deliveries order by node_id limit 1)
      union all
      select (select d.node_id from rules.deliveries d where d.node_id > o.node_id order by d.node_id limit 1)
      from owner o where o.node_id is not null)
    select node_id from owner where node_id is not null`
  return rows.map(({ nodeId }) => nodeId)
}

/** Deletes some deliveries of a tenant. Returns how many were deleted. */
export async function deleteOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  const { count } = await sql`
    delete from rules.deliveries where ctid = any(array(
      select ctid from rules.deliveries where tenant_id = ${tenantId} limit ${limit}))`
  return count
}

export async function findEffects(sql: Sql, keys: string[]): Promise<Set<string>> {
  const rows = await sql<{ key: string }[]>`select key from rules.effects where key = any(${keys}::uuid[])`
  return new Set(rows.map(({ key }) => key))
}

export async function insertEffects(sql: Sql, keys: string[]): Promise<void> {
  await sql`insert into rules.effects (key) select unnest(${keys}::uuid[]) on conflict do nothing`
}

/** Deletes some effects older than `seconds`. Returns how many were deleted. */
export async function deleteOldEffects(sql: Sql, seconds: number, limit: number): Promise<number> {
  const { count } = await sql`
    delete from rules.effects where ctid = any(array(
      select ctid from rules.effects where created_at < now() - make_interval(secs => ${seconds})
      order by created_at limit ${limit}))`
  return count
}
