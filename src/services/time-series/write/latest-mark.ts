/**
 * The mark of this node is a number in the order of writes. The table `latest` contains the values that the node wrote up to this number.
 * The mark is stored before the first rows that are missing in the table, so that other nodes notice a crash. It is removed when the table
 * is complete.
 */
import type { Db } from '../../../kernel/db.ts'
import { deleteMark, nextWritten, nextWrittenWithMark, saveMark } from '../store/latest-marks.ts'

export interface LatestMark {
  isSet(): boolean
  /** Returns the next number in the order of writes, for rows that are going to be written. */
  next(): Promise<number>
  /** Returns the next number without storing a mark. */
  position(): Promise<number>
  save(written: number): Promise<void>
  remove(): Promise<void>
}

export function createLatestMark(db: Db, nodeId: string): LatestMark {
  let stored: number | undefined
  return {
    isSet: () => stored !== undefined,
    async next() {
      if (stored !== undefined) return await nextWritten(db.sql)
      const number = await nextWrittenWithMark(db.sql, nodeId)
      stored = number - 1
      return number
    },
    position: () => nextWritten(db.sql),
    async save(written) {
      await saveMark(db.sql, nodeId, written)
      stored = written
    },
    async remove() {
      const written = stored
      // A call of `next` from here on stores a new mark, which the statement below does not delete.
      stored = undefined
      if (written !== undefined) await deleteMark(db.sql, nodeId, written)
    },
  }
}
