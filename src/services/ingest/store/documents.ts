/** SQL of documents. */
import { copyIn } from '../../../kernel/copy-in.ts'
import type { Sql, TransactionSql } from '../../../kernel/db.ts'
import { columns, type DocumentRow, encodeRows } from '../documents/rows.ts'

/** Writes new documents with COPY, in the transaction of their samples. */
export async function copyDocuments(sql: Sql, rows: readonly DocumentRow[]) {
  await copyIn(sql.unsafe(`copy ingest.documents (${columns.join(', ')}) from stdin (format binary)`), () =>
    encodeRows(rows),
  )
}

/** Writes documents, except documents that an earlier attempt has already written. */
export async function insertDocuments(sql: Sql, rows: readonly DocumentRow[]) {
  await sql`
    insert into ingest.documents (arrived_at, ts, index_no, id, endpoint_id, version_name, doc)
    select to_timestamp(arrived_at / 1000), to_timestamp(ts / 1000), index_no, id::uuid, endpoint_id, version_name, doc::jsonb
    from unnest(${rows.map(({ arrivedAt }) => arrivedAt)}::float8[], ${rows.map(({ ts }) => ts)}::float8[],
      ${rows.map(({ indexNo }) => indexNo)}::int[], ${rows.map(({ id }) => id)}::text[],
      ${rows.map(({ endpointId }) => endpointId)}::text[], ${rows.map(({ versionName }) => versionName)}::text[],
      ${rows.map(({ doc }) => doc)}::text[]) as given (arrived_at, ts, index_no, id, endpoint_id, version_name, doc)
    on conflict do nothing`
}

/** Inserts one document. Returns false if PostgreSQL does not accept it as jsonb. */
export async function insertOrReject(sql: TransactionSql, row: DocumentRow): Promise<boolean> {
  try {
    await sql.savepoint((inner) => insertDocuments(inner, [row]))
    return true
  } catch (error) {
    if (/^(22|54)/.test((error as { code?: string }).code ?? '')) return false
    throw error
  }
}

/** Records that a pipeline changed fields that are also stored in columns. Returns the indices for which this is new. */
export async function markEnvelopeChanged(sql: Sql, indexNos: number[]) {
  return await sql<{ tenantId: string; applicationName: string }[]>`
    update ingest.indices set envelope_changed = true
    where index_no = any(${[...indexNos].sort((a, b) => a - b)}::int[]) and not envelope_changed
    returning tenant_id, application_name`
}

export async function insertUnregistered(sql: Sql, tenantId: string, endpointIds: string[], at: Date) {
  await sql`
    insert into ingest.unregistered as known (tenant_id, endpoint_id, unregistered_at)
    select ${tenantId}, endpoint_id, ${at} from unnest(${[...endpointIds].sort()}::text[]) as given (endpoint_id)
    on conflict (tenant_id, endpoint_id)
      do update set unregistered_at = greatest(known.unregistered_at, excluded.unregistered_at)`
}

/** Deletes up to `limit` documents of an index. Returns whether there may be more documents to delete. */
export async function deletePart(sql: Sql, indexNo: number, before: Date | undefined, limit: number): Promise<boolean> {
  const { count } = await sql`
    delete from ingest.documents d using (
      select id, arrived_at from ingest.documents
      where index_no = ${indexNo} ${before ? sql`and arrived_at < ${before}` : sql``} limit ${limit}) chosen
    where d.id = chosen.id and d.arrived_at = chosen.arrived_at`
  return count === limit
}

export async function deleteUnregisteredBefore(sql: Sql, at: Date) {
  await sql`delete from ingest.unregistered where unregistered_at < ${at}`
}
