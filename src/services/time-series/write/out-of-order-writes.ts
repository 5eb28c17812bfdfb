/**
 * Keeps the order of one node's writes when a slot closes between them. Of equal times, the later slot wins. So if a
 * write was delayed into a later slot, newer writes that are in an older slot are written again after it.
 */
import type { Rows } from './rows.ts'

export interface OutOfOrderWrites {
  started(rows: Rows): void
  /** Returns writes that started later but are stored in an older slot or with a smaller number. */
  storedTooEarly(rows: Rows, slot: number): Rows[]
  stored(rows: Rows, slot: number): void
  /** Removes a write that was abandoned. */
  abandoned(rows: Rows): void
  /** Returns the first number of every write that is not stored yet, as far as it is known. */
  pending(): number[]
  /** Returns true if every write is stored or abandoned. */
  isEmpty(): boolean
}

/** Limits the memory if a write never completes. */
const trackedMax = 256

export function createOutOfOrderWrites(): OutOfOrderWrites {
  /** Writes in the order of their start, from the oldest that is not stored. */
  const writes: Rows[] = []
  /** Slots of writes that are stored before an older write. */
  const slots = new Map<Rows, number>()

  function abandoned(rows: Rows) {
    const index = writes.indexOf(rows)
    if (index >= 0) writes.splice(index, 1)
    slots.delete(rows)
  }

  return {
    started: (rows) => void writes.push(rows),
    storedTooEarly(rows, slot) {
      if (slots.size === 0) return []
      const later = writes.slice(writes.indexOf(rows) + 1)
      return later.filter((write) => {
        const slotOfWrite = slots.get(write)
        return slotOfWrite !== undefined && (slotOfWrite < slot || write.first! < rows.first!)
      })
    },
    stored(rows, slot) {
      if (!writes.includes(rows)) return
      slots.set(rows, slot)
      if (slots.size > trackedMax) abandoned(writes[0]!)
      while (writes.length > 0 && slots.has(writes[0]!)) slots.delete(writes.shift()!)
    },
    abandoned,
    isEmpty: () => writes.length === 0,
    pending: () => writes.flatMap((rows) => (slots.has(rows) || rows.first === undefined ? [] : rows.first)),
  }
}
