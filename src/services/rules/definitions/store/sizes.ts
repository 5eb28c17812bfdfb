/** SQL of the sizes of definitions. */
import type { Sql } from '../../../../kernel/db.ts'
import type { Table } from './library.ts'

const sizedTables = ['rules', 'actions', 'triggers'] as const
type SizedTable = (typeof sizedTables)[number]

/** Returns whether the size of the rows is stored. */
export const isSized = (table: Table): table is SizedTable => sizedTables.some((sized) => sized === table)

/** Returns the bytes of all rules, actions and triggers of a tenant. */
export async function sizeOfDefinitions(sql: Sql, tenantId: string): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select ((select coalesce(sum(bytes), 0) from rules.rules where tenant_id = ${tenantId})
      + (select coalesce(sum(bytes), 0) from rules.actions where tenant_id = ${tenantId})
      + (select coalesce(sum(bytes), 0) from rules.triggers where tenant_id = ${tenantId}))::float8 as bytes`
  return row!.bytes
}

export async function sizeOfDefinition(sql: Sql, table: SizedTable, id: string): Promise<number> {
  const tables = { rules: sql`rules.rules`, actions: sql`rules.actions`, triggers: sql`rules.triggers` }
  const [row] = await sql<{ bytes: number }[]>`select bytes from ${tables[table]} where id = ${id}`
  return row?.bytes ?? 0
}
