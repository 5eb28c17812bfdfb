/** SQL of batches. A batch contains records that are committed and not yet packed. */
import type { Db, Sql } from '../../../kernel/db.ts'
import type { Batch } from '../batch.ts'
import { copyData } from './copy-rows.ts'

const copy = `copy traffic_log.batches (tenant_id, batch_id, first_at, last_at, n, groups, endpoint_hashes, data)
  from stdin (format binary)`

const rowsOf = (batches: Batch[]) =>
  batches.map(({ tenantId, batchId, firstAt, lastAt, n, groups, endpointHashes, data }) => [
    { text: tenantId },
    { text: batchId },
    { bigint: firstAt },
    { bigint: lastAt },
    { integer: n },
    { json: groups },
    { integers: endpointHashes },
    { bytes: data },
  ])

/** Writes all batches or no batch. The batches are durable when the promise resolves. */
export const insertBatches = (db: Db, batches: Batch[]) => db.copyIn(copy, () => copyData(rowsOf(batches)))

/**
 * Writes, in a transaction, the batches that are not stored yet. If another transaction is writing one of these batches, waits for the end
 * of that transaction.
 */
export async function insertMissingBatches(sql: Sql, batches: Batch[]) {
  for (const { tenantId, batchId, firstAt, lastAt, n, groups, endpointHashes, data } of batches)
    await sql`
      insert into traffic_log.batches (tenant_id, batch_id, first_at, last_at, n, groups, endpoint_hashes, data)
      values (${tenantId}, ${batchId}, ${firstAt}, ${lastAt}, ${n}, ${sql.json(groups)}, ${endpointHashes}, ${data})
      on conflict (tenant_id, batch_id) do nothing`
}

export interface TenantOfBatches {
  tenantId: string
  records: number
  batches: number
  /** Microseconds since 1970. */
  firstAt: number
}

/** Finds the tenants with batches that ended before a time. */
export async function findTenants(sql: Sql, endedBefore: number): Promise<TenantOfBatches[]> {
  return await sql`
    select tenant_id, sum(n)::float8 as records, count(*)::float8 as batches, min(first_at) as first_at from traffic_log.batches
    where last_at < ${endedBefore} group by tenant_id order by min(first_at)`
}

export interface BatchRow {
  batchId: string
  firstAt: number
  lastAt: number
  n: number
  data: Buffer
}

/** Removes and returns the earliest batches of a tenant, with about `recordsMax` records. */
export async function takeBatches(
  sql: Sql,
  tenantId: string,
  endedBefore: number,
  recordsMax: number,
): Promise<BatchRow[]> {
  return await sql`
    delete from traffic_log.batches b using (
      select batch_id from (
        select batch_id, sum(n) over (order by first_at, batch_id) - n as before from traffic_log.batches
        where tenant_id = ${tenantId} and last_at < ${endedBefore}) ordered
      where before < ${recordsMax}) taken
    where b.tenant_id = ${tenantId} and b.batch_id = taken.batch_id
    returning b.batch_id, b.first_at, b.last_at, b.n, b.data`
}
