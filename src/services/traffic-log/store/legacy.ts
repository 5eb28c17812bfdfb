/** SQL of the rows that earlier versions wrote, which had no blocks. */
import type { Sql } from '../../../kernel/db.ts'

export interface LegacyRow {
  micros: number
  requestId: number | null
  outbound: boolean
  endpointId: string
  applicationName: string
  versionName: string
  extension: string
  correlationId: string
  resourcePath: string
  additionalMetadata: string | null
  payload: string
}

export async function findLegacyTenant(sql: Sql, since: Date): Promise<string | undefined> {
  const [row] = await sql`select tenant_id from traffic_log.records where created_at >= ${since} limit 1`
  return row?.tenantId
}

/** Removes and returns about `limit` of the newest rows of a tenant. */
export async function takeLegacyRows(sql: Sql, tenantId: string, since: Date, limit: number): Promise<LegacyRow[]> {
  return await sql`
    with bound as (
      select created_at from traffic_log.records where tenant_id = ${tenantId} and created_at >= ${since}
      order by created_at desc offset ${limit - 1}::bigint limit 1)
    delete from traffic_log.records
    where tenant_id = ${tenantId} and created_at >= coalesce((select created_at from bound), ${since}::timestamptz)
    returning (extract(epoch from created_at) * 1000000)::bigint as micros, request_id, outbound, endpoint_id, application_name,
      version_name, extension, correlation_id, resource_path, additional_metadata, payload`
}
