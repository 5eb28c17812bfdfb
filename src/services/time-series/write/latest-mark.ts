/**
 * This node's mark: the place in the order of writes up to which the table of latest values holds what the node wrote. It is stored
 * with the number of the first rows that the table lacks, so a crash at any moment is noticed, and removed when nothing is lacking.
 */
import type { Db } from '../../../kernel/db.ts'
import { deleteMark, nextWritten, nextWrittenWithMark, saveMark } from '../store/latest-marks.ts'

export interface LatestMark {
  isSet(): boolean
  /** The next place in the order of writes, for rows that are going to be written. */
  next(): Promise<number>
  /** The same for nobody. */
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
      // Whoever asks for a number from now on stores another mark, which the statement below does not find.
      stored = undefined
      if (written !== undefined) await deleteMark(db.sql, nodeId, written)
    },
  }
}
