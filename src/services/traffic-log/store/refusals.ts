import type { Sql } from '../../../kernel/db.ts'
import type { CountedRefusal } from '../refusals.ts'

export async function insertRefusals(sql: Sql, refusals: CountedRefusal[]) {
  const rows = refusals.map((refusal) => ({
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
  }))
  await sql`insert into traffic_log.refusals ${sql(rows)}`
}
