/**
 * Shares one transaction between calls that do not pass `sql`: the OpenID Connect library calls our storage several
 * times in a request, for example to consume a refresh token and to create the next one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db, Sql } from '../kernel/db.ts'

export interface AmbientTransaction {
  /** Returns the open transaction of this request, or the pool. Do not use the pool directly while one is open. */
  sql(): Sql
  /** Runs `work` in the open transaction, or in a new one. */
  tx<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** Opens a transaction that all calls of `sql` and `tx` within `work` join. */
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
