/** Endpoints that are no more. */
import type { Sql } from '../../../kernel/db.ts'
import { holdOpenSlot } from './samples.ts'
import { findOpenSlot } from './slots.ts'

/** They have no numbers any more: nothing of theirs is read, and what is packed is deleted later. */
export async function insertGone(sql: Sql, endpointIds: string[], cutoff: number, at: Date): Promise<number[]> {
  const gone = await sql<{ endpointNo: number; endpointId: string }[]>`
    delete from time_series.endpoints where endpoint_id = any(${endpointIds}::text[])
    returning endpoint_no, endpoint_id`
  if (gone.length === 0) return []
  await sql`
    insert into time_series.gone_endpoints (endpoint_no, endpoint_id, cutoff, gone_date)
    select endpoint_no, endpoint_id, ${cutoff}::bigint, ${at}::timestamptz
    from unnest(${gone.map(({ endpointNo }) => endpointNo)}::bigint[], ${gone.map(({ endpointId }) => endpointId)}::text[])
      as gone (endpoint_no, endpoint_id)
    on conflict (endpoint_no) do nothing`
  return gone.map(({ endpointNo }) => endpointNo)
}

/** Some endpoints of a tenant, or of one of its applications, up to a number. */
export async function findSomeOf(
  sql: Sql,
  of: { tenantId: string; applicationName: string | undefined; upTo: number; limit: number },
): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from time_series.endpoints
    where tenant_id = ${of.tenantId} and endpoint_no <= ${of.upTo}
      ${of.applicationName === undefined ? sql`` : sql`and application_name = ${of.applicationName}`}
    limit ${of.limit}`
  return rows.map(({ endpointId }) => endpointId)
}

export async function findGreatestNumber(sql: Sql): Promise<number> {
  const [row] = await sql`select coalesce(max(endpoint_no), 0) as no from time_series.endpoints`
  return row!.no
}

export interface Gone {
  endpointNo: number
  endpointId: string
  cutoff: number
}

export async function findGone(sql: Sql, before: Date, limit: number): Promise<Gone[]> {
  return await sql`
    select endpoint_no, endpoint_id, cutoff from time_series.gone_endpoints
    where gone_date < ${before} order by endpoint_no limit ${limit}`
}

export async function deleteGone(sql: Sql, endpointNos: number[]) {
  await sql`delete from time_series.gone_endpoints where endpoint_no = any(${endpointNos}::bigint[])`
}

/**
 * In a transaction: samples that came after an endpoint was registered anew, but under its old number, are written once more under
 * the new one. Throws where the slot is closed at this moment; the caller tries again.
 */
export async function copyUnderNewNumber(sql: Sql, gone: Gone, endpointNo: number) {
  const slot = await findOpenSlot(sql)
  if (slot === undefined) throw new Error('no slot is open')
  await holdOpenSlot(sql, slot)
  await sql`
    insert into time_series.samples (slot, endpoint_no, ts, set_id, written, v, x)
    select ${slot}, ${endpointNo}, ts, set_id, written, v, x from time_series.samples
    where endpoint_no = ${gone.endpointNo} and written >= ${gone.cutoff}`
}

export async function deleteNames(sql: Sql, tenantId: string, applicationName: string | undefined) {
  const which = applicationName === undefined ? sql`` : sql`and application_name = ${applicationName}`
  await sql`delete from time_series.sets where tenant_id = ${tenantId} ${which}`
  await sql`delete from time_series.series where tenant_id = ${tenantId} ${which}`
}

/** In the order of their ids, page after page, of everybody. */
export async function findEndpointIds(sql: Sql, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from time_series.endpoints where endpoint_id > ${after} order by endpoint_id limit ${limit}`
  return rows.map(({ endpointId }) => endpointId)
}
