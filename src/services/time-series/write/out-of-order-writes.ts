/**
 * Preserves the order of one node's writes when a slot closes between them. If two samples of a series have the same time, the sample in
 * the later slot wins. Suppose that write A is delayed and stored in slot 2, while write B, which started after A, is in slot 1. Then B is
 * written again after A.
 */
import type { Rows } from './rows.ts'

export interface OutOfOrderWrites {
  started(rows: Rows): void
  /**
   * Returns the stored writes that started after the write of `rows` but would be overridden by it: their slot is earlier than `slot`, or
   * their number in the order of writes is smaller.
   */
  storedTooEarly(rows: Rows, slot: number): Rows[]
  stored(rows: Rows, slot: number): void
  /** Removes a write that was abandoned. */
  abandoned(rows: Rows): void
  /** Returns the first number in the order of writes (`rows.first`) of every write that is not stored yet and already has a number. */
  pending(): number[]
  /** Returns true if every write is stored or abandoned. */
  isEmpty(): boolean
}

/** Maximum number of stored writes that are kept. It limits the memory if a write never completes. */
const trackedMax = 256

interface Write {
  rows: Rows
  /** The slot of this write when it is stored. A stored write stays in the list while an older write is not stored. */
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
