/** SQL for unregistered endpoints, and for refusals of deleted tenants. */
import type { Sql } from '../../../kernel/db.ts'

/** Stores when endpoints were unregistered. If an id was unregistered several times, the latest time is kept. */
export async function insertUnregistered(sql: Sql, tenantId: string, endpointIds: string[], at: Date) {
  await sql`
    insert into traffic_log.unregistered as known (tenant_id, endpoint_id, unregistered_at)
    select ${tenantId}, id, ${at} from unnest(${endpointIds}::text[]) as id
    on conflict (tenant_id, endpoint_id)
      do update set unregistered_at = greatest(known.unregistered_at, excluded.unregistered_at)`
}

export async function deleteRefusals(sql: Sql, tenantId: string, until: Date) {
  await sql`delete from traffic_log.refusals where tenant_id = ${tenantId} and created_at <= ${until}`
  await sql`delete from traffic_log.unregistered where tenant_id = ${tenantId} and unregistered_at <= ${until}`
}
