import type { Sql } from '../../kernel/db.ts'

export const saveForwarded = (sql: Sql, pushId: string, sealed: string, now: Date) =>
  sql`insert into gateway.forwarded (push_id, sealed, forwarded_at) values (${pushId}, ${sealed}, ${now})`

/** Undefined: somebody else has taken it, or nobody did for so long that it was swept. */
export async function takeForwarded(sql: Sql, pushId: string): Promise<string | undefined> {
  const [row] = await sql<{ sealed: string }[]>`
    delete from gateway.forwarded where push_id = ${pushId} returning sealed`
  return row?.sealed
}

/** Whoever should have taken these has died. */
export const deleteForwarded = (sql: Sql, before: Date) =>
  sql`delete from gateway.forwarded where forwarded_at < ${before}`
