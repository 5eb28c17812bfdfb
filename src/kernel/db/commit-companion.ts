/** Lets the context of a call add a statement to the next transaction that it commits, without a parameter in every function. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TransactionSql } from './transactions.ts'

export interface CommitCompanion {
  /**
   * Sends the statement and returns a function that is called with the outcome of the transaction; undefined if there is nothing to
   * add (any more). A failed statement fails the transaction.
   */
  join(sql: TransactionSql): ((isCommitted: boolean) => void) | undefined
}

const companions = new AsyncLocalStorage<CommitCompanion | undefined>()

export const withCompanion = <T>(companion: CommitCompanion, work: () => T): T => companions.run(companion, work)
export const currentCompanion = (): CommitCompanion | undefined => companions.getStore()
