import { copyIn } from '../../../kernel/copy-in.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import { columns, type Rows } from '../rows.ts'
import type { FirstRow } from '../writer.ts'

const copy = `copy traffic_log.records (${columns.join(', ')}) from stdin (format binary)`
/** Error code of `enter_since`: the time is already counted. */
const alreadyCounted = 'WP002'

/** Writes all rows or none; they are durable when it returns. Late rows, whose time is already counted, get a later time. */
export async function copyRecords(db: Db, rows: Rows) {
  try {
    await db.copyIn(`select traffic_log.enter_since(to_timestamp(${rows.from / 1e6})); ${copy}`, () => rows.finish())
  } catch (error) {
    if ((error as { code?: string } | null)?.code !== alreadyCounted) throw error
    await db.tx(async (sql) => {
      const [row] = await sql<{ closedUntil: Date }[]>`select traffic_log.enter() as closed_until`
      await copyIn(sql.unsafe(copy), () => rows.finish(row!.closedUntil.getTime() * 1000))
    })
  }
}

/** Returns whether a batch was committed although its outcome is unknown: its first row exists only if all do. */
export async function isWritten(sql: Sql, first: FirstRow, from: Date): Promise<boolean> {
  const [row] = await sql`
    select exists (
      select from traffic_log.records
      where tenant_id = ${first.tenantId} and created_at >= ${from} and correlation_id = ${first.correlationId}
        and outbound = ${first.direction === 'OUTBOUND'}) as yes`
  return row?.yes
}
