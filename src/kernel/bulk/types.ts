/** Declarations of bulk tasks; the kernel's README explains how they run. */
import { type Caller, nameOfCaller } from '../contract.ts'
import type { Sql } from '../db.ts'
import { defineJob, type JobType } from '../jobs.ts'

export type TaskState = 'prepared' | 'waiting' | 'running' | 'finished' | 'canceled'

export interface Task<D extends object = object> {
  taskId: string
  type: string
  tenantId: string
  /** The creator of the task. `name` is the user name, or the name of the API key, at the time of creation. */
  createdBy: { type: string; id: string; name?: string }
  data: D
  state: TaskState
  /** Numbers of items by state. The total is the sum of the others. The pending items of a canceled task were not processed. */
  counts: Counts
  /** Why the last attempt failed, until a page succeeds; or the reason with which a handler canceled the task. Otherwise null. */
  problem: string | null
  createdAt: Date
  finishedAt: Date | null
}

/** Returns the caller as the creator of a task, with its name. An OAuth client has no name, only an id. */
export function creatorOf(caller: Caller): Task['createdBy'] {
  const name = nameOfCaller(caller)
  return { ...caller.subject, ...(name !== undefined && { name }) }
}

export interface Counts {
  /** Number of all items. For a walk whose number of items is not known, `total` and `pending` are null. */
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
  /** The name of the work in lists of tasks, for example "Register endpoints". */
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
   * True if the node that stores the items may also keep them in memory, in case it runs the task itself. The items must be plain JSON, and
   * handlers must not change them.
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
  /** The pause after a step, as a fraction of the step's duration. During the pauses, the database has more capacity for requests. */
  pauseShare?: number
}

interface CommonType<D extends object> {
  name: string
  title: string
  job: JobType<{ taskId: string }>
  sliceMs: number
  keepDays: number
  cancelable: boolean
  /** Only for TypeScript: it derives the type of a task's data from the type of the task. It is never set. */
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
/** Declares a bulk task over stored items. Call it at module level. `name` is also the name of the job queue. */
export function defineBulk<D extends object, I, R = never>(name: string, options: BulkOptions): BulkType<D, I, R> {
  return { ...commonType(name, options), pageSize: options.pageSize ?? 500, keepItems: options.keepItems ?? false }
}
/** Declares a walk over rows of the service. Call it at module level. A walk runs in steps and stores neither items nor results. */
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

/** A part of a walk that a `PartHandler` has processed. */
export interface DonePart {
  /** Number of items in the part. */
  count: number
  isLast: boolean
}

/** Processes a walk in parts with effects outside of the database, such as contents of the blob store. */
export interface PartHandler<D extends object> {
  /**
   * Processes the part that follows the first `done` parts, and calls `save` in the transaction that makes its effects permanent. `save`
   * throws if the task was canceled or another run has taken it over; the handler then discards the effects. If `part` returns a reason,
   * the task is canceled.
   */
  part(
    task: Task<D>,
    progress: { done: number; signal: AbortSignal; save(sql: Sql, part: DonePart): Promise<void> },
  ): Promise<{ canceled: string } | undefined>
}

/**
 * Result of a step. `end`: no items are left. `canceled`: the task has become pointless. With `isLast`, the walk ends after this step,
 * even if there are further items. Use it for items that are added all the time; the walk might otherwise never end.
 */
export type WalkStep = { last: number; count: number; isLast?: boolean } | 'end' | 'canceled'

export interface WalkHandler<D extends object> {
  /**
   * Processes at most `limit` items after the position `after`, within `sql`, and returns the position of the last processed item as
   * `last`.
   */
  step(sql: Sql, task: Task<D>, from: { after: number; limit: number }): Promise<WalkStep>
  /** Runs once after the last step, in the transaction that ends the task. */
  finish?(sql: Sql, task: Task<D>): Promise<void>
}
