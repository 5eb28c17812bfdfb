import type { Sql } from '../../kernel/db.ts'

export async function insertDenied(sql: Sql, tenantId: string, ids: string[], expiresAt: Date) {
  await sql`
    insert into identity.denied (tenant_id, id, expires_at)
    select ${tenantId}, unnest(${ids}::text[]), ${expiresAt}
    on conflict (tenant_id, id) do update set expires_at = greatest(identity.denied.expires_at, excluded.expires_at)`
}

/** Finds all denials that have not expired. There are few denials, because access tokens are valid for minutes only. */
export const findDenied = (sql: Sql, now: Date) =>
  sql<{ tenantId: string; id: string; expiresAt: Date }[]>`
    select tenant_id, id, expires_at from identity.denied where expires_at > ${now}`
