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

/** Maximum number of entries. It limits the memory if a write never completes. */
const trackedMax = 256

interface Write {
  rows: Rows
  /** The slot, if it is stored before an older write. */
  slot: number | undefined
}

export function createOutOfOrderWrites(): OutOfOrderWrites {
  /** Writes in the order of their start, from the oldest that is not stored. */
  const writes: Write[] = []
  const indexOf = (rows: Rows) => writes.findIndex((write) => write.rows === rows)
  const isStored = ({ slot }: Write) => slot !== undefined

  function abandoned(rows: Rows) {
    const index = indexOf(rows)
    if (index >= 0) writes.splice(index, 1)
  }

  return {
    started: (rows) => void writes.push({ rows, slot: undefined }),
    storedTooEarly(rows, slot) {
      if (!writes.some(isStored)) return []
      return writes
        .slice(indexOf(rows) + 1)
        .filter((write) => write.slot !== undefined && (write.slot < slot || write.rows.first! < rows.first!))
        .map((write) => write.rows)
    },
    stored(rows, slot) {
      const stored = writes[indexOf(rows)]
      if (!stored) return
      stored.slot = slot
      if (writes.filter(isStored).length > trackedMax) writes.shift()
      while (writes.length > 0 && isStored(writes[0]!)) writes.shift()
    },
    abandoned,
    isEmpty: () => writes.length === 0,
    pending: () =>
      writes.flatMap(({ rows, slot }) => (slot !== undefined || rows.first === undefined ? [] : rows.first)),
  }
}
