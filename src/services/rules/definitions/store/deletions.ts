/** SQL that deletes the definitions of a tenant. */
import type { Sql } from '../../../../kernel/db.ts'

/** Deletes up to `limit` rows of each table. Returns how many were deleted. */
export async function deleteSomeOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  let count = 0
  for (const table of [
    sql`rules.alert_settings`,
    sql`rules.rules`,
    sql`rules.actions`,
    sql`rules.triggers`,
    sql`rules.snippets`,
    sql`rules.secrets`,
  ]) {
    const deleted = await sql`
      delete from ${table} where id in (select id from ${table} where tenant_id = ${tenantId} limit ${limit})`
    count += deleted.count
  }
  const statistics = await sql`
    delete from rules.statistics where entity_id in (
      select entity_id from rules.statistics where tenant_id = ${tenantId} limit ${limit})`
  return count + statistics.count
}

export async function deleteRevisions(sql: Sql, tenantId: string): Promise<void> {
  await sql`delete from rules.revisions where tenant_id = ${tenantId}`
  await sql`delete from rules.changes where tenant_id = ${tenantId}`
}
