/** Deletes all data of a deleted tenant. */
import type { Sql } from '../../../kernel/db.ts'

/** The tables in the order of deletion: assets come before asset types, because each asset refers to its type. */
const tables = ['relations', 'ended_relations', 'assets', 'asset_types'] as const

/** Deletes up to `limit` rows from the first table that has rows of the tenant. Returns false if no table has any. */
export async function deleteSomeOfTenant(sql: Sql, tenantId: string, limit: number): Promise<boolean> {
  for (const table of tables) {
    const { count } = await sql.unsafe(
      `delete from assets.${table} where ctid = any(array(
        select ctid from assets.${table} where tenant_id = $1 limit $2))`,
      [tenantId, limit],
    )
    if (count > 0) return true
  }
  return false
}
