/** Hot rows. */
import { copyIn } from '../../../kernel/copy-in.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import { columns, type Rows } from '../write/rows.ts'
import { partitionOf } from './slots.ts'

/** Of `hold_slot`. */
const notOpen = 'WP001'

/** Nothing was written: the slot is not open any more. */
export const isSlotClosed = (error: unknown) => (error as { code?: string } | null)?.code === notOpen

const hold = (slot: number) => `select time_series.hold_slot(${slot})`
const copy = (slot: number) => `copy ${partitionOf(slot)} (${columns.join(', ')}) from stdin (format binary)`

/** All of them into the slot, as long as it is open, durable when it returns. */
export const copySamples = (db: Db, slot: number, rows: Rows) =>
  db.copyIn(`${hold(slot)}; ${copy(slot)}`, () => rows.encode(slot))

/** The same within a transaction, of several groups. */
export async function copyGroups(sql: Sql, slot: number, groups: Rows[]) {
  await sql.unsafe(hold(slot))
  for (const rows of groups) await copyIn(sql.unsafe(copy(slot)), () => rows.encode(slot))
}
