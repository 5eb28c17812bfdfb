/** Connections to the database, and transactions that are retried after a deadlock. */
import { sleep } from './clock.ts'
import { joinCompanions } from './db/commit-companion.ts'
import { isStalePlan, isTransactionConflict } from './db/errors.ts'
import { type ConnectionOptions, type Server, serverOf } from './db/hosts.ts'
import { openPool, type Pool, type PoolOptions } from './db/pool.ts'
import type { Sql } from './db/sql.ts'
import type { TransactionSql } from './db/transactions.ts'

export {
  isDatabaseUnavailable,
  isExhausted,
  isStatementCanceled,
  isTenantMissing,
  isUniqueViolation,
  TransactionConflictError,
} from './db/errors.ts'
export type { ConnectionOptions } from './db/hosts.ts'
export { connect, type Pool, type PoolOptions } from './db/pool.ts'
export type { Fragment, Pending, Sql } from './db/sql.ts'
export type { TransactionSql } from './db/transactions.ts'

export interface Db {
  sql: Pool
  /**
   * Commits all of the work or nothing, then runs the effects registered with `afterCommit`. After a deadlock or a
   * TransactionConflictError, the work runs again, so it must have no effects outside of the transaction. A `tx` inside another `tx`
   * throws.
   */
  tx<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T>
  afterCommit(sql: Sql, effect: () => void): void
  /**
   * Runs one `copy … from stdin`, and statements before it in the same text, as a transaction. This takes two round trips; `tx` takes
   * three.
   */
  copyIn(text: string, content: () => Buffer): Promise<void>
  /**
   * Runs one `copy … to stdout`, and statements before it in the same text, as a transaction. Returns the whole output in blocks, each of
   * which begins and ends with a row. With the binary format, byte strings need no conversion to text and back.
   */
  copyOut(text: string): Promise<Buffer[]>
  /** Opens separate connections, for work that must not wait for other work. `close` closes them too. */
  open(options: PoolOptions & { name: string }): Db
  /** Returns the number of statements of this process that the database has answered. */
  answered(): number
  close(): Promise<void>
}

const attemptsMax = 3

export const createDb = (connection: ConnectionOptions, options: PoolOptions): Db =>
  createDbOn(serverOf(connection), options, new WeakMap())

function createDbOn(server: Server, options: PoolOptions, effects: WeakMap<object, (() => void)[]>): Db {
  const pool = openPool(server, options)
  const openedDbs: Db[] = []
  return {
    sql: pool,
    open(options) {
      const other = createDbOn(server, options, effects)
      openedDbs.push(other)
      return other
    },
    async tx(work) {
      for (let attempt = 1; ; attempt++) {
        const afterCommitEffects: (() => void)[] = []
        let opened: object | undefined
        let settle: ((isCommitted: boolean) => void) | undefined
        try {
          const result = await pool.begin(async (sql) => {
            opened = sql
            effects.set(sql, afterCommitEffects)
            const done = await work(sql)
            // These statements are sent together with COMMIT.
            settle = joinCompanions(sql)
            return done
          })
          settle?.(true)
          for (const effect of afterCommitEffects) effect()
          return result
        } catch (error) {
          settle?.(false)
          if (attempt === attemptsMax || !(isTransactionConflict(error) || isStalePlan(error))) throw error
          // The pause gives the other transaction time to get the lock that was released.
          if (isTransactionConflict(error)) await sleep(attempt * 10 + Math.random() * 30)
        } finally {
          // V8 keeps the values of a WeakMap until the next full garbage collection, even if their keys are unreachable.
          if (opened) effects.delete(opened)
        }
      }
    },
    afterCommit(sql, effect) {
      const list = effects.get(sql)
      if (!list) throw new Error('afterCommit needs the sql of an open db.tx')
      list.push(effect)
    },
    copyIn: pool.copyIn,
    copyOut: pool.copyOut,
    answered: () => server.answered,
    async close() {
      await Promise.all([...openedDbs.splice(0).map((other) => other.close()), pool.end()])
    },
  }
}

/** Returns a LIKE pattern that finds the text literally, anywhere in a value. */
export const likePart = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`
