import type { Sql } from '../../../kernel/db.ts'

export async function findPreferences(sql: Sql, tenantId: string, userId: string): Promise<object | undefined> {
  const [row] = await sql<{ document: object }[]>`
    select document from identity.preferences where tenant_id = ${tenantId} and user_id = ${userId}`
  return row?.document
}

export async function upsertPreferences(sql: Sql, tenantId: string, userId: string, document: object, at: Date) {
  await sql`
    insert into identity.preferences (tenant_id, user_id, document, updated_at)
    values (${tenantId}, ${userId}, ${sql.json(document as never)}, ${at})
    on conflict (tenant_id, user_id) do update set document = excluded.document, updated_at = excluded.updated_at`
}

/** Locks one user's preferences, so that their changes run one after the other. This works even for a user without preferences. */
export async function lockPreferences(sql: Sql, tenantId: string, userId: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`preferences ${tenantId} ${userId}`}, 0))`
}
