/**
 * Shares one transaction between calls that do not pass `sql`. The OpenID Connect library calls our storage several times in a request, for
 * example to consume a refresh token and to create the next refresh token.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db, Sql } from '../kernel/db.ts'

export interface AmbientTransaction {
  /** Returns the open transaction of this request, or the pool. While a transaction is open, the pool must not be used directly. */
  sql(): Sql
  /** Runs `work` in the open transaction, or in a new transaction. */
  tx<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** Opens a transaction. All calls of `sql` and `tx` within `work` use it. */
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createAmbientTransaction(db: Db): AmbientTransaction {
  const open = new AsyncLocalStorage<Sql>()
  const tx = <T>(work: (sql: Sql) => Promise<T>) => {
    const sql = open.getStore()
    return sql ? work(sql) : db.tx(work)
  }
  return {
    sql: () => open.getStore() ?? db.sql,
    tx,
    run: (work) => tx((sql) => open.run(sql, work)),
  }
}
