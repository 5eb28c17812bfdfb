import type { Sql } from '../../../kernel/db.ts'

/** Analyzes the tables if their statistics were made with less than half of `rows`. Connections then plan their statements again. */
export async function analyzeIfNew(sql: Sql, rows: number) {
  const [table] = await sql<{ isNew: boolean }[]>`
    select reltuples < ${rows / 2} as is_new from pg_class where oid = 'commands.commands'::regclass`
  if (!table!.isNew) return
  await sql`analyze commands.commands`
  await sql`analyze commands.endpoints`
}
