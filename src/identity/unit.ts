/**
 * One unit of work across calls that do not pass `sql` along: the OpenID Connect library calls our storage many times in
 * one request, and what belongs together (the old refresh token is used, the new one exists) is applied whole or not.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db, Sql } from '../kernel/db.ts'

export interface Unit {
  /** The open transaction of this request, or the pool. Inside a unit nothing may ask the pool for a second connection. */
  sql(): Sql
  /** Joins the open transaction, or opens one. */
  tx<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** Everything that `work` does, whichever way it is called, is one transaction. */
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createUnit(db: Db): Unit {
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
