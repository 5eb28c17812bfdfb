import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { CountedRefusal } from '../refusals.ts'
import type { Span } from '../traffic-query.ts'

export type RefusalRow = {
  createdAt: Date
  count: number
  tenantId: string
  reason: string
  transport: string
  address: string | null
  endpointId: string | null
  versionName: string | null
  clientId: string | null
  username: string | null
  detail: string | null
}

export const rowOf = (refusal: CountedRefusal): RefusalRow => ({
  createdAt: refusal.createdAt,
  count: refusal.count,
  tenantId: refusal.tenantId ?? '',
  reason: refusal.reason,
  transport: refusal.transport,
  address: refusal.address || null,
  endpointId: refusal.endpointId ?? null,
  versionName: refusal.versionName ?? null,
  clientId: refusal.clientId ?? null,
  username: refusal.username ?? null,
  detail: refusal.detail ?? null,
})

export async function insertRefusals(sql: Sql, rows: RefusalRow[]) {
  await sql`insert into traffic_log.refusals ${sql(rows)}`
}

export interface RefusalQuery extends Window {
  tenantIds: string[]
  reason?: string | undefined
  endpointIds?: string[] | undefined
  span: Span
}

/** Finds refusals since a time, oldest first. */
export async function findRefusalsSince(
  sql: Sql,
  { tenantIds, since, limit }: { tenantIds: readonly string[]; since: Date; limit: number },
): Promise<RefusalRow[]> {
  return await sql<RefusalRow[]>`
    select created_at, count, tenant_id, reason, transport, address, endpoint_id, version_name, client_id, username, detail
    from traffic_log.refusals where tenant_id = any(${[...tenantIds]}::text[]) and created_at >= ${since}
    order by created_at limit ${limit}`
}

/** Finds a page of refusals, newest first, and their total number. Must run in one snapshot. */
export async function findRefusals(
  sql: Sql,
  { tenantIds, reason, endpointIds, span, offset, limit }: RefusalQuery,
): Promise<{ total: number; rows: RefusalRow[] }> {
  const matching = sql`
    from traffic_log.refusals
    where tenant_id = any(${tenantIds}::text[]) and created_at >= ${new Date(span.from)} and created_at < ${new Date(span.to)}
    ${reason ? sql`and reason = ${reason}` : sql``}
    ${endpointIds ? sql`and endpoint_id = any(${endpointIds}::text[])` : sql``}`
  const [counted] = await sql`select count(*) as total ${matching}`
  const rows = await sql<RefusalRow[]>`
    select created_at, count, tenant_id, reason, transport, address, endpoint_id, version_name, client_id, username, detail
    ${matching} order by created_at desc, tenant_id, reason, address, endpoint_id
    offset ${offset}::bigint limit ${limit}::bigint`
  return { total: counted?.total, rows }
}
