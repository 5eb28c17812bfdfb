/** SQL of events that wait for their rules. */
import type { Sql } from '../../../../kernel/db.ts'

export interface EventRow {
  id: number
  tenantId: string
  content: string
  isTakenOver: boolean
}

export interface NewEventRow {
  tenantId: string
  /** Hashes of the ids of the endpoints (`bucketOf`). */
  buckets: number[]
  content: string
}

/** Inserts rows and returns their ids in order. */
export async function insertEvents(sql: Sql, nodeId: string, rows: NewEventRow[]): Promise<number[]> {
  const inserted = await sql<{ id: number }[]>`
    insert into rules.events (node_id, tenant_id, buckets, content)
    select ${nodeId}, tenant_id, buckets::integer[], content
    from unnest(
      ${rows.map(({ tenantId }) => tenantId)}::text[], ${rows.map(({ buckets }) => `{${buckets.join()}}`)}::text[],
      ${rows.map(({ content }) => content)}::text[]) with ordinality as given (tenant_id, buckets, content, n)
    order by n returning id`
  return inserted.map(({ id }) => id)
}

/** Deletes rows. The statement is sent immediately. Callers in a transaction need not wait for its answer. */
export const deleteEvents = (sql: Sql, ids: number[]) =>
  sql`delete from rules.events where id = any(${ids}::bigint[])`.execute()

/**
 * Returns, for each bucket (the hash of an endpoint's id), the id of the first row that runs on another node or was taken over. Later rows
 * of the bucket must wait for that row. Buckets without such a row are not in the result.
 */
export async function findFirstBlockers(
  sql: Sql,
  { tenantId, nodeId, buckets, before }: { tenantId: string; nodeId: string; buckets: number[]; before: number },
): Promise<Map<number, number>> {
  const rows = await sql<{ bucket: number; id: number }[]>`
    select bucket, min(e.id) as id from rules.events e, unnest(e.buckets) as bucket
    where e.tenant_id = ${tenantId} and e.id < ${before} and (e.node_id <> ${nodeId} or e.is_taken_over)
      and bucket = any(${buckets}::integer[])
    group by bucket`
  return new Map(rows.map(({ bucket, id }) => [bucket, id]))
}

/** Reads rows of a tenant that this node does not hold in memory, oldest first. */
export const findRows = (sql: Sql, query: { nodeId: string; tenantId: string; held: number[]; limit: number }) => sql<
  EventRow[]
>`
  select id, tenant_id, content, is_taken_over from rules.events
  where node_id = ${query.nodeId} and tenant_id = ${query.tenantId} and id <> all(${query.held}::bigint[])
  order by id limit ${query.limit}`

/** Moves the rows of a dead node to this node. Returns the tenants of these rows. */
export async function takeOver(sql: Sql, from: string, to: string): Promise<string[]> {
  const rows = await sql<{ tenantId: string }[]>`
    with taken as (
      update rules.events set node_id = ${to}, is_taken_over = true
      where node_id = ${from} returning tenant_id)
    select distinct tenant_id from taken`
  return rows.map(({ tenantId }) => tenantId)
}

/** Counts a start of each of these rows, which this node has taken over. Returns, for each row, the number of its starts on all nodes. */
export async function countStarts(sql: Sql, ids: number[]): Promise<(number | undefined)[]> {
  const rows = await sql<{ id: number; takeovers: number }[]>`
    update rules.events set takeovers = takeovers + 1 where id = any(${ids}::bigint[]) returning id, takeovers`
  const starts = new Map(rows.map(({ id, takeovers }) => [id, takeovers]))
  return ids.map((id) => starts.get(id))
}

/** Returns the ids of the nodes that own events or running replays. */
export async function findOwners(sql: Sql): Promise<string[]> {
  const rows = await sql<{ nodeId: string }[]>`
    select distinct node_id from rules.events union select distinct node_id from rules.replays where status = 'RUNNING'`
  return rows.map(({ nodeId }) => nodeId)
}

/** Counts events of all nodes, for tests. */
export async function countRows(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::integer as count from rules.events`
  return row!.count
}
