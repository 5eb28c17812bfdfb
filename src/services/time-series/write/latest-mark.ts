/**
 * The mark of this node: the number up to which the table `latest` contains the values that the node has written. It is stored before the
 * first rows that are missing in the table, so that another node notices a crash, and removed when the table is complete.
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
      // A call of `next` from now on stores another mark, which the statement below does not match.
      stored = undefined
      if (written !== undefined) await deleteMark(db.sql, nodeId, written)
    },
  }
}
