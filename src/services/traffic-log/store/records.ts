import { copyIn } from '../../../kernel/copy-in.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import { columns, type Rows } from '../rows.ts'
import type { FirstRow } from '../writer.ts'

/** All of them or none, durable when it returns. Rows that come too late to be counted are moved to where the counting is. */
export async function copyRecords(db: Db, rows: Rows) {
  await db.sql.begin(async (sql) => {
    const entered = sql<{ closedUntil: Date }[]>`select traffic_log.enter() as closed_until`
    const copy = sql.unsafe(`copy traffic_log.records (${columns.join(', ')}) from stdin (format binary)`)
    // Both are on their way together.
    const closed = entered.then(([row]) => row!.closedUntil.getTime() * 1000)
    await Promise.all([closed, copyIn(copy, async () => rows.finish(await closed))])
  })
}

/** After a commit of which nothing was heard: rows that were written together are there together. */
export async function isWritten(sql: Sql, first: FirstRow, from: Date): Promise<boolean> {
  const [row] = await sql`
    select exists (
      select from traffic_log.records
      where tenant_id = ${first.tenantId} and created_at >= ${from} and correlation_id = ${first.correlationId}
        and outbound = ${first.direction === 'OUTBOUND'}) as yes`
  return row?.yes
}
