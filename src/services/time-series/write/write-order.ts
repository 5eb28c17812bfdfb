/** The order of writes over all nodes, from a sequence of the database: no clock of a process decides which of two is later. */
import type { Db } from '../../../kernel/db.ts'
import { nextWritten } from '../store/samples.ts'

export interface WriteOrder {
  /** The first number of the next group. Calls are answered in their order, so an earlier call has the smaller number. */
  next(): Promise<number>
}

export function createWriteOrder(db: Db): WriteOrder {
  let before: Promise<unknown> = Promise.resolve()
  return {
    next() {
      const ask = () => nextWritten(db.sql)
      const number = before.then(ask, ask)
      number.catch(() => {})
      before = number
      return number
    },
  }
}
