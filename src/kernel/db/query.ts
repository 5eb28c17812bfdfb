/**
 * Base of our queries for the client of `pg`. The client calls `submit` to send a query, and the methods `handle…` with its answers. In
 * pipeline mode, it accepts only subclasses of its own Query.
 */
import { Query as PgQuery } from 'pg'
import { monotonicMs } from '../clock.ts'
import { connectionLossError, type Link, type Query, type Wire } from './link.ts'

export interface Answer<T> {
  resolve(value: T): void
  reject(error: unknown): void
}

export interface QueryState<T> extends Query {
  link: Link
  answer: Answer<T>
  settled: boolean
}

/** Reads the number of rows from a command tag: `INSERT 0 5` → 5. */
export const countOf = (tag: string) => Number(tag.slice(tag.lastIndexOf(' ') + 1)) || 0

/** Marks the query as done: its answer is complete, or its error has arrived. Later messages belong to the next query. */
export function settle(query: QueryState<never>) {
  query.settled = true
  const { link } = query
  link.inFlight--
  link.answers++
  link.server.answered++
  link.waitingSince = monotonicMs()
}

/** Fails the query. `reason` replaces the server's error for the caller. */
export function fail(query: QueryState<never>, error: Error, reason?: unknown) {
  if (query.settled) return
  settle(query)
  const cause = query.link.lost ?? connectionLossError(error)
  query.link.handleServerError(cause)
  query.answer.reject(reason ?? cause)
  query.link.onAnswer()
}

export function succeed<T>(query: QueryState<T>, value: T) {
  settle(query as QueryState<never>)
  query.answer.resolve(value)
  query.link.onAnswer()
}

export const baseMethods = {
  handleError(this: QueryState<never>, error: Error) {
    fail(this, error)
  },
  handleRowDescription() {},
  handleDataRow() {},
  handleCommandComplete() {},
  handleEmptyQuery() {},
  handlePortalSuspended() {},
  handleCopyData() {},
  handleCopyInResponse(wire: Wire) {
    wire.sendCopyFail('this statement has no rows to copy')
  },
}

/** Returns a constructor whose objects have these methods. It is ten times as fast as an object literal with `__proto__`. */
export function constructorOf<T, A extends unknown[]>(construct: (this: T, ...args: A) => void, methods: object) {
  construct.prototype = Object.assign(Object.create(PgQuery.prototype), methods)
  return construct as unknown as new (
    ...args: A
  ) => T
}
