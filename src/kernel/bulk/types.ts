/** Declarations of bulk tasks; the kernel's README explains how they run. */
import type { Sql } from '../db.ts'
import { defineJob, type JobType } from '../jobs.ts'

export type TaskState = 'prepared' | 'waiting' | 'running' | 'finished' | 'canceled'

export interface Task<D extends object = object> {
  taskId: string
  type: string
  tenantId: string
  createdBy: { type: string; id: string }
  data: D
  state: TaskState
  /** Total = succeeded + failed + pending. Pending items of a canceled task were not touched. */
  counts: Counts
  /** Why the last attempt failed; null while pages succeed. */
  problem: string | null
  createdAt: Date
  finishedAt: Date | null
}

export interface Counts {
  /** Null, as `pending`: a walk whose length is not known. */
  total: number | null
  succeeded: number
  failed: number
  pending: number | null
}

/** An item with a `failed` text has failed for this reason. */
export interface Outcome<R> {
  failed?: string
  result?: R
}

interface CommonOptions {
  /** Names the work in a list of tasks: "Register endpoints". */
  title: string
  /** Retries of a failing page, see `JobOptions`. */
  retries?: number
  /** How many tasks of this type one node runs at once. */
  parallel?: number
  /** A task that runs longer goes to the end of the queue, so that other tenants' tasks get their share. */
  sliceSeconds?: number
  /** How long an ended task and its results are kept. */
  keepDays?: number
}

export interface BulkOptions extends CommonOptions {
  /** Items of one page, which is one transaction. */
  pageSize?: number
}

export interface WalkOptions extends CommonOptions {
  /** Items of the first step. */
  first?: number
  /** The bounds between which steps grow and shrink so that each takes about `milliseconds`. */
  least?: number
  most?: number
  milliseconds?: number
}

interface CommonType<D extends object> {
  name: string
  title: string
  job: JobType<{ taskId: string }>
  sliceMs: number
  keepDays: number
  /** Ties the task's data to its type; never set. */
  data?: D
}

/** A task whose items are stored when it is made. */
export interface BulkType<D extends object, I, R> extends CommonType<D> {
  pageSize: number
  item?: I
  result?: R
}

/** A task that finds its items step by step while it runs. */
export interface WalkType<D extends object> extends CommonType<D> {
  limits: Required<Pick<WalkOptions, 'first' | 'least' | 'most' | 'milliseconds'>>
}

function common(name: string, options: CommonOptions) {
  const { title, retries = 5, parallel = 2, sliceSeconds = 5, keepDays = 7 } = options
  // One step may be slow; the job's own limit is for a step that never ends.
  const job = defineJob<{ taskId: string }>(name, { retries, parallel, timeoutSeconds: 3600 })
  return { name, title, job, sliceMs: sliceSeconds * 1000, keepDays }
}

/** Declares work over stored items at module level, under the name of its job queue. */
export function defineBulk<D extends object, I, R = never>(name: string, options: BulkOptions): BulkType<D, I, R> {
  return { ...common(name, options), pageSize: options.pageSize ?? 500 }
}

/** Declares work over rows of the service itself, in steps, without stored items and results. */
export function defineWalk<D extends object>(name: string, options: WalkOptions): WalkType<D> {
  const { first = 1000, least = 100, most = 20_000, milliseconds = 200 } = options
  return { ...common(name, options), limits: { first, least, most, milliseconds } }
}

export interface BulkHandler<D extends object, I, R, P = undefined> {
  /** Runs before each page and outside of its transaction: the place for questions to other services. */
  prepare?(task: Task<D>): P | Promise<P>
  /** Does a page within `sql` and returns one outcome for each item, in their order. Nothing outside of `sql`. */
  page(sql: Sql, task: Task<D>, items: I[], prepared: P): Promise<Outcome<R>[]>
  /** Runs once after the last page, in the transaction that ends the task. */
  finish?(sql: Sql, task: Task<D>): Promise<void>
}

/** `end`: nothing is left. `canceled`: the task has lost its purpose. */
export type WalkStep = { last: number; count: number } | 'end' | 'canceled'

export interface WalkHandler<D extends object> {
  /** Does the next items after the place `after`, `limit` at most, within `sql`, and returns the place of the last one. */
  step(sql: Sql, task: Task<D>, from: { after: number; limit: number }): Promise<WalkStep>
  /** Runs once after the last step, in the transaction that ends the task. */
  finish?(sql: Sql, task: Task<D>): Promise<void>
}
