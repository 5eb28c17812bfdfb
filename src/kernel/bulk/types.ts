/** Declarations of bulk tasks; the kernel's README explains how they run. */
import { type Caller, nameOfCaller } from '../contract.ts'
import type { Sql } from '../db.ts'
import { defineJob, type JobType } from '../jobs.ts'

export type TaskState = 'prepared' | 'waiting' | 'running' | 'finished' | 'canceled'

export interface Task<D extends object = object> {
  taskId: string
  type: string
  tenantId: string
  /** `name` is the user name, or the name of the API key, at the time of creation. */
  createdBy: { type: string; id: string; name?: string }
  data: D
  state: TaskState
  /** The total is the sum of succeeded, failed and pending. The pending items of a canceled task were not touched. */
  counts: Counts
  /** The reason why the last attempt failed; null while the pages succeed. */
  problem: string | null
  createdAt: Date
  finishedAt: Date | null
}

/** Returns the creator of a task with its name. A client has no name, only an id. */
export function creatorOf(caller: Caller): Task['createdBy'] {
  const name = nameOfCaller(caller)
  return { ...caller.subject, ...(name !== undefined && { name }) }
}

export interface Counts {
  /** The total, and also `pending`, is null for a walk whose length is not known. */
  total: number | null
  succeeded: number
  failed: number
  pending: number | null
}

/** The result of an item. `failed` is the reason if the item has failed. */
export interface Outcome<R> {
  failed?: string
  result?: R
}

interface CommonOptions {
  /** Describes the work in a list of tasks, for example "Register endpoints". */
  title: string
  /** Number of retries when a page fails, see `JobOptions`. */
  retries?: number
  /** Number of tasks of this type that one node runs at the same time. */
  parallel?: number
  /** After this time, the task returns to the end of the queue, so that tasks of other tenants can run. */
  sliceSeconds?: number
  /** Days for which an ended task and its results are kept. */
  keepDays?: number
  /** False if callers may not cancel the task, because an object of the service would stay incomplete. */
  cancelable?: boolean
}

export interface BulkOptions extends CommonOptions {
  /** Number of items in a page. A page is one transaction. */
  pageSize?: number
  /**
   * True if the node that stores the items may keep them in memory for its own jobs. The items must be plain JSON, and handlers must not
   * change them.
   */
  keepItems?: boolean
}

export interface WalkOptions extends CommonOptions {
  /** Number of items of the first step. */
  firstItems?: number
  /** Limits of the number of items in a step. The number is adapted so that a step takes about `stepMs`. */
  itemsMin?: number
  itemsMax?: number
  stepMs?: number
  /** The pause after a step, as a fraction of the step's duration. Pauses leave time of the database for requests. */
  pauseShare?: number
}

interface CommonType<D extends object> {
  name: string
  title: string
  job: JobType<{ taskId: string }>
  sliceMs: number
  keepDays: number
  cancelable: boolean
  /** Ties the task's data to its type at compile time. It is never set. */
  data?: D
}

/** A task whose items are stored when it is created. */
export interface BulkType<D extends object, I, R> extends CommonType<D> {
  pageSize: number
  keepItems: boolean
  item?: I
  result?: R
}

/** A task that finds its items step by step while it runs. */
export interface WalkType<D extends object> extends CommonType<D> {
  limits: Required<Pick<WalkOptions, 'firstItems' | 'itemsMin' | 'itemsMax' | 'stepMs' | 'pauseShare'>>
}

function commonType(name: string, options: CommonOptions) {
  const { title, retries = 5, parallel = 2, sliceSeconds = 5, keepDays = 7, cancelable = true } = options
  // A single step may be slow. The time limit of the job only ends a step that hangs.
  const job = defineJob<{ taskId: string }>(name, { retries, parallel, timeoutSeconds: 3600 })
  return { name, title, job, sliceMs: sliceSeconds * 1000, keepDays, cancelable }
}
/** Declares work over stored items at module level. `name` is also the name of its job queue. */
export function defineBulk<D extends object, I, R = never>(name: string, options: BulkOptions): BulkType<D, I, R> {
  return { ...commonType(name, options), pageSize: options.pageSize ?? 500, keepItems: options.keepItems ?? false }
}
/** Declares work over rows of the service at module level. Such work runs in steps and stores neither items nor results. */
export function defineWalk<D extends object>(name: string, options: WalkOptions): WalkType<D> {
  const { firstItems = 1000, itemsMin = 100, itemsMax = 20_000, stepMs = 200, pauseShare = 0 } = options
  return { ...commonType(name, options), limits: { firstItems, itemsMin, itemsMax, stepMs, pauseShare } }
}

export interface BulkHandler<D extends object, I, R, P = undefined> {
  /** Runs before each page, outside of its transaction. Call other services in this function. */
  prepare?(task: Task<D>): P | Promise<P>
  /** Processes a page within `sql` and returns one outcome for each item, in order. It must have no effects outside of `sql`. */
  page(sql: Sql, task: Task<D>, items: I[], prepared: P): Promise<Outcome<R>[]>
  /** Runs once after the last page, in the transaction that ends the task. */
  finish?(sql: Sql, task: Task<D>): Promise<void>
}

/** A part that was done, for `PartHandler`. */
export interface DonePart {
  /** Number of items in the part. */
  count: number
  isLast: boolean
}

/** Processes a walk in parts with effects outside of the database, such as contents of the blob store. */
export interface PartHandler<D extends object> {
  /**
   * Processes the part that follows the first `done` parts, and calls `save` in the transaction that makes its effects permanent. `save`
   * throws if the task was canceled or another run has taken it over; the handler then discards the effects. A returned reason ends the
   * task.
   */
  part(
    task: Task<D>,
    progress: { done: number; signal: AbortSignal; save(sql: Sql, part: DonePart): Promise<void> },
  ): Promise<{ canceled: string } | undefined>
}

/**
 * `end` means that nothing is left, `canceled` that the task has become pointless. After a step with `isLast`, the walk ends without another
 * step. It is for items that are added all the time, because such a walk would otherwise follow them without an end.
 */
export type WalkStep = { last: number; count: number; isLast?: boolean } | 'end' | 'canceled'

export interface WalkHandler<D extends object> {
  /** Processes at most `limit` items after the position `after`, within `sql`, and returns the position of the last processed item. */
  step(sql: Sql, task: Task<D>, from: { after: number; limit: number }): Promise<WalkStep>
  /** Runs once after the last step, in the transaction that ends the task. */
  finish?(sql: Sql, task: Task<D>): Promise<void>
}
