/** Deletes everything of a deleted tenant. */
import type { Sql } from '../../../kernel/db.ts'

/** Assets before their types, which they refer to. */
const tables = ['relations', 'ended_relations', 'assets', 'asset_types'] as const

/** Deletes up to `limit` rows of a table; returns whether there may be more. */
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
