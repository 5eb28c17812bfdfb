/** SQL for single endpoints and deleted tenants. */
import type { Sql } from '../../../kernel/db.ts'
import { deleteCounts } from './counts.ts'

export interface OutcomeRow {
  additionalMetadata: string | null
  payload: string
}

/**
 * Finds the latest response with this request id among the last `outcomes` responses of the extension. Searches at most `recordsMax`
 * records of the endpoint, so that a rarely used extension does not cause a scan of all of them.
 */
export async function findOutcome(
  sql: Sql,
  of: {
    tenantId: string
    endpointId: string
    extension: string
    requestId: number
    outcomes: number
    recordsMax: number
  },
): Promise<OutcomeRow | undefined> {
  const { tenantId, endpointId } = of
  const [row] = await sql<OutcomeRow[]>`
    with latest as (
      select created_at, extension, outbound, request_id, additional_metadata, payload
      from traffic_log.records r
      where hashtextextended(r.endpoint_id, 0) = hashtextextended(${endpointId}::text, 0) and r.endpoint_id = ${endpointId}
        and r.tenant_id = ${tenantId} and not exists (
          select from traffic_log.unregistered u
          where u.tenant_id = ${tenantId} and u.endpoint_id = ${endpointId} and u.unregistered_at >= r.created_at)
      order by created_at desc limit ${of.recordsMax}::bigint),
    answers as (
      select * from latest where extension = ${of.extension} and outbound and request_id is not null
      order by created_at desc limit ${of.outcomes}::bigint)
    select additional_metadata, payload from answers where request_id = ${of.requestId} order by created_at desc limit 1`
  return row
}

/** Stores when endpoints were unregistered; the latest time is kept. */
export async function insertUnregistered(sql: Sql, tenantId: string, endpointIds: string[], at: Date) {
  await sql`
    insert into traffic_log.unregistered as known (tenant_id, endpoint_id, unregistered_at)
    select ${tenantId}, id, ${at} from unnest(${endpointIds}::text[]) as id
    on conflict (tenant_id, endpoint_id)
      do update set unregistered_at = greatest(known.unregistered_at, excluded.unregistered_at)`
}

/** Deletes about `limit` records of the tenant up to a time; returns false if there were none. */
export async function deleteRecordsPart(sql: Sql, tenantId: string, until: Date, limit: number): Promise<boolean> {
  const [last] = await sql`
    select created_at from traffic_log.records where tenant_id = ${tenantId} and created_at <= ${until}
    order by created_at offset ${limit} limit 1`
  // Dates have milliseconds only, so all records of the last millisecond are deleted.
  const end = last ? new Date(last.createdAt.getTime() + 1) : until
  const { count } = await sql`
    delete from traffic_log.records where tenant_id = ${tenantId} and created_at <= ${end}`
  return count > 0
}

export async function deleteCountsAndRefusals(sql: Sql, tenantId: string, until: Date) {
  await deleteCounts(sql, tenantId, until)
  await sql`delete from traffic_log.refusals where tenant_id = ${tenantId} and created_at <= ${until}`
  await sql`delete from traffic_log.unregistered where tenant_id = ${tenantId} and unregistered_at <= ${until}`
}
