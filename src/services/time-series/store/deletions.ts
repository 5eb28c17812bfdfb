/** SQL that deletes the time series of deleted endpoints, applications and tenants. */
import type { Sql } from '../../../kernel/db.ts'
import { numberBytes } from '../record.ts'
import { holdOpenSlot } from './samples.ts'
import { findOpenSlot } from './slots.ts'

/**
 * Deletes the numbers under which the data of these endpoints is stored, so that it can no longer be read. The sweep deletes the data
 * later. Returns the deleted numbers.
 */
export async function moveToDeleted(sql: Sql, endpointIds: string[], cutoff: number, at: Date): Promise<number[]> {
  const deleted = await sql<{ endpointNo: number; endpointId: string }[]>`
    delete from time_series.endpoints where endpoint_id = any(${endpointIds}::text[])
    returning endpoint_no, endpoint_id`
  if (deleted.length === 0) return []
  await sql`
    insert into time_series.gone_endpoints (endpoint_no, endpoint_id, cutoff, gone_date)
    select endpoint_no, endpoint_id, ${cutoff}::bigint, ${at}::timestamptz
    from unnest(${deleted.map(({ endpointNo }) => endpointNo)}::bigint[], ${deleted.map(({ endpointId }) => endpointId)}::text[])
      as gone (endpoint_no, endpoint_id)
    on conflict (endpoint_no) do nothing`
  return deleted.map(({ endpointNo }) => endpointNo)
}

/** Finds up to `limit` endpoints of a tenant or application whose numbers are not greater than `upTo`. */
export async function findEndpointIdsOf(
  sql: Sql,
  query: { tenantId: string; applicationName: string | undefined; upTo: number; limit: number },
): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from time_series.endpoints
    where tenant_id = ${query.tenantId} and endpoint_no <= ${query.upTo}
      ${query.applicationName === undefined ? sql`` : sql`and application_name = ${query.applicationName}`}
    limit ${query.limit}`
  return rows.map(({ endpointId }) => endpointId)
}

export async function findGreatestNumber(sql: Sql): Promise<number> {
  const [row] = await sql`select coalesce(max(endpoint_no), 0) as no from time_series.endpoints`
  return row!.no
}

export interface DeletedEndpoint {
  endpointNo: number
  endpointId: string
  cutoff: number
}

export async function findDeleted(sql: Sql, before: Date, limit: number): Promise<DeletedEndpoint[]> {
  return await sql`
    select endpoint_no, endpoint_id, cutoff from time_series.gone_endpoints
    where gone_date < ${before} order by endpoint_no limit ${limit}`
}

export async function removeDeleted(sql: Sql, endpointNos: number[]) {
  await sql`delete from time_series.gone_endpoints where endpoint_no = any(${endpointNos}::bigint[])`
}

/**
 * Copies samples from the old number of an endpoint to its new number: the samples that were sent after the endpoint was registered again.
 * Must be called in a transaction. Throws if no slot is open or the slot is closed meanwhile; the caller retries.
 */
export async function copyUnderNewNumber(sql: Sql, old: DeletedEndpoint, endpointNo: number) {
  const slot = await findOpenSlot(sql)
  if (slot === undefined) throw new Error('no slot is open')
  await holdOpenSlot(sql, slot)
  await sql`
    insert into time_series.samples (slot, endpoint_no, ts, set_id, written, record, x)
    select ${slot}, ${endpointNo}, ts, set_id, written,
      float8send(${endpointNo}::float8) || substring(record from ${numberBytes + 1}::integer), x from time_series.samples
    where endpoint_no = ${old.endpointNo} and written >= ${old.cutoff}`
}

export async function deleteNames(sql: Sql, tenantId: string, applicationName: string | undefined) {
  const ofApplication = applicationName === undefined ? sql`` : sql`and application_name = ${applicationName}`
  await sql`delete from time_series.sets where tenant_id = ${tenantId} ${ofApplication}`
  await sql`delete from time_series.series where tenant_id = ${tenantId} ${ofApplication}`
}

/** Finds endpoint ids of all tenants, page by page. */
export async function findEndpointIds(sql: Sql, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from time_series.endpoints where endpoint_id > ${after} order by endpoint_id limit ${limit}`
  return rows.map(({ endpointId }) => endpointId)
}
