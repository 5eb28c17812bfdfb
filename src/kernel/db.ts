import { sleep } from './clock.ts'
import { isCollision, isStalePlan } from './db/errors.ts'
import { type ConnectionOptions, type Server, serverOf } from './db/hosts.ts'
import { openPool, type Pool, type PoolOptions } from './db/pool.ts'
import type { Sql } from './db/sql.ts'
import type { TransactionSql } from './db/transactions.ts'

export { isConnectionTrouble, isExhausted, isStatementTimeout, isUniqueViolation } from './db/errors.ts'
export type { ConnectionOptions } from './db/hosts.ts'
export { connect, type Pool, type PoolOptions } from './db/pool.ts'
export type { Fragment, Sql } from './db/sql.ts'
export type { TransactionSql } from './db/transactions.ts'

export interface Db {
  sql: Pool
  /**
   * Applied whole or not at all; what was registered with `afterCommit` runs once it is durable. After a deadlock the work
   * runs again: it must not do anything outside of the transaction. Inside another `tx` it throws.
   */
  tx<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T>
  afterCommit(sql: Sql, effect: () => void): void
  /**
   * One `copy … from stdin`, and the statements that stand before it in the same text, as a transaction of its own: two round
   * trips, where `tx` takes three.
   */
  copyIn(text: string, content: () => Buffer): Promise<void>
  /** Connections of their own beside the others, for work that must not wait for them; they close with the rest. */
  open(options: PoolOptions & { name: string }): Db
  close(): Promise<void>
}

const attemptsMax = 3

export const createDb = (connection: ConnectionOptions, options: PoolOptions): Db =>
  createDbAt(serverOf(connection), options, new WeakMap())

function createDbAt(server: Server, options: PoolOptions, effects: WeakMap<object, (() => void)[]>): Db {
  const pool = openPool(server, options)
  const beside: Db[] = []
  return {
    sql: pool,
    open(options) {
      const other = createDbAt(server, options, effects)
      beside.push(other)
      return other
    },
    async tx(work) {
      for (let attempt = 1; ; attempt++) {
        const afterwards: (() => void)[] = []
        try {
          const result = await pool.begin((sql) => {
            effects.set(sql, afterwards)
            return work(sql)
          })
          for (const effect of afterwards) effect()
          return result
        } catch (error) {
          // Nothing of it happened.
          if (attempt === attemptsMax || !(isCollision(error) || isStalePlan(error))) throw error
          // Else it would take its first lock again before the other one has noticed that it is free.
          if (isCollision(error)) await sleep(attempt * 10 + Math.random() * 30)
        }
      }
    },
    afterCommit(sql, effect) {
      const list = effects.get(sql)
      if (!list) throw new Error('afterCommit needs the sql of an open db.tx')
      list.push(effect)
    },
    copyIn: pool.copyIn,
    async close() {
      await Promise.all([...beside.splice(0).map((other) => other.close()), pool.end()])
    },
  }
}

/** A pattern for a partial match: the caller's text is text, not a pattern. */
export const likePart = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`
