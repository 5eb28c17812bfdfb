/**
 * Keeps the order of one node's writes where a slot is closed between two of them. Of two samples with the same time the one in the
 * later slot counts, so a write that waited and got into a later slot takes along those that began after it and got into an
 * earlier one: they are written once more, after it.
 */
import type { Rows } from './rows.ts'

export interface Overtaking {
  began(rows: Rows): void
  /** Writes that began later and are stored in an older slot, or with a smaller number. */
  overtook(rows: Rows, slot: number): Rows[]
  stored(rows: Rows, slot: number): void
  /** Nobody waits for it any more. */
  gaveUp(rows: Rows): void
  /** The first number of every write that is not stored, as far as it is known. */
  pending(): number[]
  /** Everything that began is stored or given up. */
  isEmpty(): boolean
}

/** A write that never ends must not make all others be remembered. */
const rememberedMax = 256

export function createOvertaking(): Overtaking {
  /** Writes in the order of their beginning, from the oldest that is not stored. */
  const writes: Rows[] = []
  /** The slot of those that are stored before an older one. */
  const slots = new Map<Rows, number>()

  function gaveUp(rows: Rows) {
    const place = writes.indexOf(rows)
    if (place >= 0) writes.splice(place, 1)
    slots.delete(rows)
  }

  return {
    began: (rows) => void writes.push(rows),
    overtook(rows, slot) {
      if (slots.size === 0) return []
      const later = writes.slice(writes.indexOf(rows) + 1)
      return later.filter((one) => {
        const own = slots.get(one)
        return own !== undefined && (own < slot || one.first! < rows.first!)
      })
    },
    stored(rows, slot) {
      if (!writes.includes(rows)) return
      slots.set(rows, slot)
      if (slots.size > rememberedMax) gaveUp(writes[0]!)
      while (writes.length > 0 && slots.has(writes[0]!)) slots.delete(writes.shift()!)
    },
    gaveUp,
    isEmpty: () => writes.length === 0,
    pending: () => writes.flatMap((rows) => (slots.has(rows) || rows.first === undefined ? [] : rows.first)),
  }
}
