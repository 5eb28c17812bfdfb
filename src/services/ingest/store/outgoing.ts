/** SQL of the queue to the external search engine, and of the lease of the sending node. */
import type { Sql } from '../../../kernel/db.ts'
import type { DocumentRow } from '../documents/rows.ts'

/** Adds documents to the queue, in the transaction that stores them. */
export async function insertOutgoing(sql: Sql, rows: readonly DocumentRow[]) {
  await sql`
    insert into ingest.outgoing (index_no, id, arrived_at)
    select index_no, id::uuid, to_timestamp(arrived_at / 1000)
    from unnest(${rows.map(({ indexNo }) => indexNo)}::int[], ${rows.map(({ id }) => id)}::text[],
      ${rows.map(({ arrivedAt }) => arrivedAt)}::float8[]) as given (index_no, id, arrived_at)
    on conflict do nothing`
}

/** Enqueues the deletion of all documents in an index. */
export async function insertDeletion(sql: Sql, indexNo: number) {
  await sql`insert into ingest.outgoing (index_no) values (${indexNo})`
}

export interface OutgoingRow {
  no: number
  indexNo: number
  /** Id of the document; null for a deletion. */
  id: string | null
  arrivedAt: Date | null
  isDeletion: boolean
  /** Null if the application was deleted meanwhile. */
  tenantId: string | null
  applicationName: string | null
  endpointId: string | null
  /** JSON text; null for a deletion, and for a document that was deleted meanwhile. */
  doc: string | null
}

/** Returns the first rows of the queue: up to `limit` rows, whose documents have up to `bytesMax` bytes, but at least one row. */
export async function findOutgoing(sql: Sql, limit: number, bytesMax: number): Promise<OutgoingRow[]> {
  return await sql<OutgoingRow[]>`
    select no, index_no, id, arrived_at, is_deletion, tenant_id, application_name, endpoint_id, doc from (
      select o.no, o.index_no, o.id::text as id, o.arrived_at, o.id is null as is_deletion, i.tenant_id, i.application_name,
        d.endpoint_id, d.doc::text as doc, sum(octet_length(d.doc::text)) over (order by o.no) as bytes,
        row_number() over (order by o.no) as rank
      from (select * from ingest.outgoing order by no limit ${limit}) o
      left join ingest.indices i on i.index_no = o.index_no
      left join ingest.documents d on d.id = o.id and d.arrived_at = o.arrived_at) queued
    where rank = 1 or bytes <= ${bytesMax} or bytes is null order by no`
}

export async function deleteOutgoing(sql: Sql, numbers: number[]) {
  await sql`delete from ingest.outgoing where no = any(${numbers}::bigint[])`
}

/** Estimates the number of waiting documents by the numbers of the first and last row. Inserts that were rolled back count too. */
export async function estimateWaiting(sql: Sql): Promise<number> {
  const [row] = await sql<{ waiting: number }[]>`
    select coalesce(max(no) - min(no) + 1, 0)::float8 as waiting from ingest.outgoing`
  return row!.waiting
}

/** Makes this node the sender, or renews its lease. Returns false if another node is the sender. */
export async function holdSender(sql: Sql, nodeId: string, seconds: number): Promise<boolean> {
  const { count } = await sql`
    update ingest.sender set node_id = ${nodeId}, until = now() + make_interval(secs => ${seconds})
    where id = 1 and (node_id = ${nodeId} or until < now())`
  return count === 1
}

export async function releaseSender(sql: Sql, nodeId: string) {
  await sql`update ingest.sender set until = '-infinity' where id = 1 and node_id = ${nodeId}`
}

/** Returns when these endpoints were unregistered. An endpoint with the same id may have been registered since. */
export async function findUnregistered(sql: Sql, tenantId: string, endpointIds: string[]): Promise<Map<string, Date>> {
  const rows = await sql<{ endpointId: string; unregisteredAt: Date }[]>`
    select endpoint_id, unregistered_at from ingest.unregistered
    where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[])`
  return new Map(rows.map(({ endpointId, unregisteredAt }) => [endpointId, unregisteredAt]))
}
