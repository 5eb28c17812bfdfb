/** Hot rows. */
import { copyIn } from '../../../kernel/copy-in.ts'
import type { Sql } from '../../../kernel/db.ts'
import { columns, type Rows } from '../write/rows.ts'
import { holdSlot, partitionOf } from './slots.ts'

/** Nothing was written: the slot is not open any more. */
export class SlotClosedError extends Error {
  override readonly name = 'SlotClosedError'
}

/** In a transaction: all of them into the slot, as long as it is open. */
export async function copySamples(sql: Sql, slot: number, groups: Rows[]) {
  const state = holdSlot(sql, slot)
  state.catch(() => {})
  for (const rows of groups) {
    // Both are on their way together.
    const copy = sql.unsafe(`copy ${partitionOf(slot)} (${columns.join(', ')}) from stdin (format binary)`)
    await copyIn(copy, async () => {
      const encoded = rows.encode(slot)
      if ((await state) !== 'open') throw new SlotClosedError()
      return encoded
    })
  }
}
