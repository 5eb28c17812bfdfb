/**
 * A commit companion adds a row, such as an audit record, to the next transaction that the current call commits. The functions between the
 * request and the transaction need no parameter for the row.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TransactionSql } from './transactions.ts'

export interface CommitCompanion {
  /** Returns the row to write with the transaction. Returns undefined if there is no row to add, or it is already written. */
  prepare(): PreparedRow | undefined
}

export interface PreparedRow {
  row: unknown
  /** Sends one statement for all rows that have the same `write` function. If the statement fails, the transaction fails. */
  write(sql: TransactionSql, rows: never[]): void
  /** Called with the outcome of the transaction. */
  settle(isCommitted: boolean): void
}

const companions = new AsyncLocalStorage<readonly CommitCompanion[]>()

export const withCompanion = <T>(companion: CommitCompanion, work: () => T): T => companions.run([companion], work)

/** Runs a transaction that several calls share. `work` may add companions to the list until it returns. */
export const withCompanions = <T>(list: readonly CommitCompanion[], work: () => T): T => companions.run(list, work)

/** Returns the companion of the current call. In a shared transaction, returns the companion of the first call. */
export const currentCompanion = (): CommitCompanion | undefined => companions.getStore()?.[0]

/** Sends the rows of the companions. Returns a function that must be called with the outcome of the transaction. */
export function joinCompanions(sql: TransactionSql): ((isCommitted: boolean) => void) | undefined {
  const prepared = companions.getStore()?.flatMap((companion) => companion.prepare() ?? []) ?? []
  if (prepared.length === 0) return undefined
  for (const [write, rows] of Map.groupBy(prepared, ({ write }) => write))
    write(
      sql,
      rows.map(({ row }) => row as never),
    )
  return (isCommitted) => {
    for (const { settle } of prepared) settle(isCommitted)
  }
}
