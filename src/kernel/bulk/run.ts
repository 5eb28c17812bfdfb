/**
 * Runs bulk tasks step by step. A step processes one page of stored items, some rows of a walk, or one part of a walk. Its transaction also
 * records the progress.
 */
import { monotonicMs, sleep } from '../clock.ts'
import { type Db, isDatabaseUnavailable, type Sql } from '../db.ts'
import { PlatformError } from '../errors.ts'
import type { NewId } from '../ids.ts'
import type { Attempt, Jobs } from '../jobs.ts'
import type { Log } from '../log.ts'
import { pageFailed, savingProblemFailed } from './log-messages.ts'
import type { RecentItems } from './recent-items.ts'
import * as store from './store.ts'
import type { BulkHandler, BulkType, DonePart, PartHandler, Task, WalkHandler, WalkType } from './types.ts'

export interface RunDeps {
  db: Db
  jobs: Jobs
  log: Log
  newId: NewId
}

type StepResult = 'more' | 'over'

/**
 * Runs steps until the task is over, its time slice is used up, or the process stops. In the last two cases, another job on any node
 * continues the task.
 */
export async function run<D extends object>(
  deps: RunDeps,
  type: Pick<WalkType<D>, 'name' | 'job' | 'sliceMs'>,
  taskId: string,
  attempt: Attempt,
  createStep: (task: Task<D>, run: store.Run) => () => Promise<StepResult>,
) {
  const { db, jobs, log, newId } = deps
  const currentRun = { taskId, runner: newId() }
  const task = (await store.takeTask(db.sql, { ...currentRun, type: type.name })) as Task<D> | undefined
  if (!task) return
  const step = createStep(task, currentRun)
  const began = monotonicMs()
  try {
    while ((await step()) === 'more')
      if (attempt.signal.aborted || monotonicMs() - began > type.sliceMs)
        return await db.tx((sql) => jobs.send(sql, type.job, { taskId }))
  } catch (error) {
    await store.saveProblem(db.sql, currentRun, reasonOf(error)).catch((second) => {
      savingProblemFailed(log, { err: second, taskId })
    })
    throw error
  }
}

/**
 * Returns a function that processes the next stored page. A page that fails in the job's last attempt is processed item by item, so that
 * one bad item cannot stop the task.
 */
export function pageStepper<D extends object, I, R, P>(
  { db, log, recentItems }: RunDeps & { recentItems: RecentItems },
  type: BulkType<D, I, R>,
  handler: BulkHandler<D, I, R, P>,
  attempt: Attempt,
  task: Task<D>,
  currentRun: store.Run,
) {
  let itemByItem = false

  async function apply(sql: Sql, items: I[], prepared: P) {
    const outcomes = await handler.page(sql, task, items, prepared)
    if (outcomes.length !== items.length)
      throw new Error(`${type.name} returned ${outcomes.length} outcomes for ${items.length} items`)
    return outcomes
  }

  /** Processes the next page. If `itemError` is given, only the first item that is not done is recorded, as failed with this error. */
  async function nextPage(itemError?: unknown): Promise<StepResult> {
    const prepared = (await handler.prepare?.(task)) as P
    return await db.tx(async (sql): Promise<StepResult> => {
      const next = await store.lockNextPage(sql, currentRun, recentItems.pagesOf(task.taskId))
      if (!next) return 'over'
      if (!next.items) {
        await handler.finish?.(sql, task)
        await store.endTask(sql, currentRun, 'finished')
        return 'over'
      }
      const { page, pages, doneInPage } = next
      const rest = next.items.slice(doneInPage) as I[]
      const items = itemByItem ? rest.slice(0, 1) : rest
      const outcomes = itemError === undefined ? await apply(sql, items, prepared) : [{ failed: reasonOf(itemError) }]
      const isPageDone = items.length === rest.length
      const ended = isPageDone && page + 1 >= pages && !handler.finish
      const nextPosition = isPageDone
        ? { page: page + 1, doneInPage: 0 }
        : { page, doneInPage: doneInPage + items.length }
      await store.savePage(sql, currentRun, { page, outcomes, next: nextPosition, ended })
      if (isPageDone) itemByItem = false
      return ended ? 'over' : 'more'
    })
  }

  return async (): Promise<StepResult> => {
    try {
      const result = await nextPage()
      if (result === 'over') recentItems.drop(task.taskId)
      return result
    } catch (error) {
      if (!attempt.last || isDatabaseUnavailable(error)) throw error
      pageFailed(log, { err: error, taskId: task.taskId, itemByItem })
      if (itemByItem) return await nextPage(error)
      itemByItem = true
      return 'more'
    }
  }
}

/** Returns a function that takes the next step of a walk. The number of items in a step is adapted so that a step takes about `stepMs`. */
export function walkStepper<D extends object>(
  { db }: RunDeps,
  { limits }: WalkType<D>,
  handler: WalkHandler<D>,
  task: Task<D>,
  currentRun: store.Run,
) {
  let { firstItems: limit, itemsMax } = limits
  let isOver = false

  const nextStep = () =>
    db.tx(async (sql): Promise<StepResult | 'last'> => {
      const walk = await store.lockWalk(sql, currentRun)
      if (!walk) return 'over'
      const step = isOver ? 'end' : await handler.step(sql, task, { after: walk.cursor, limit })
      if (typeof step === 'object') {
        await store.saveStep(sql, currentRun, step)
        return step.isLast ? 'last' : 'more'
      }
      if (step === 'end') await handler.finish?.(sql, task)
      await store.endTask(sql, currentRun, step === 'end' ? 'finished' : 'canceled')
      return 'over'
    })

  return async (): Promise<StepResult> => {
    const began = monotonicMs()
    try {
      const progress = await nextStep()
      const elapsedMs = monotonicMs() - began
      limit = adaptLimit(limit, elapsedMs, { ...limits, itemsMax })
      // The walk ends in a transaction of its own: `finish` may wait for other transactions, and these may wait for rows that the last step
      // locked.
      isOver = progress === 'last'
      if (progress === 'over') return progress
      if (limits.pauseShare > 0) await sleep(limits.pauseShare * elapsedMs)
      return 'more'
    } catch (error) {
      if ((error as { code?: unknown }).code !== statementTimeout || limit === limits.itemsMin) throw error
      itemsMax = limit = Math.max(limits.itemsMin, Math.floor(limit / 2))
      return 'more'
    }
  }
}

/** Thrown within the transaction of a part if the task was canceled or another run has taken it over. */
class TaskOverError extends Error {}

/**
 * Returns a function that processes the next part of a walk in parts. The handler gets no transaction. To complete the part, it opens a
 * transaction and calls `save` in it.
 */
export function partStepper<D extends object>(
  { db }: RunDeps,
  handler: PartHandler<D>,
  { signal }: Attempt,
  task: Task<D>,
  currentRun: store.Run,
) {
  return async (): Promise<StepResult> => {
    const before = await db.tx((sql) => store.lockWalk(sql, currentRun))
    if (!before) return 'over'
    let saved: DonePart | undefined
    async function save(sql: Sql, part: DonePart) {
      const walk = await store.lockWalk(sql, currentRun)
      if (walk?.cursor !== before!.cursor) throw new TaskOverError('the task was canceled or taken over')
      await store.saveStep(sql, currentRun, { last: before!.cursor + 1, count: part.count })
      if (part.isLast) await store.endTask(sql, currentRun, 'finished')
      saved = part
    }
    try {
      const outcome = await handler.part(task, { done: before.cursor, signal, save })
      if (outcome) {
        await db.tx((sql) => store.endTask(sql, currentRun, 'canceled', outcome.canceled))
        return 'over'
      }
    } catch (error) {
      if (error instanceof TaskOverError) return 'over'
      throw error
    }
    if (!saved) throw new Error(`${task.type} did not save its part`)
    return saved.isLast ? 'over' : 'more'
  }
}

/** PostgreSQL's error code for a statement time-out. */
const statementTimeout = '57014'

function adaptLimit(limit: number, elapsedMs: number, { itemsMin, itemsMax, stepMs }: WalkType<never>['limits']) {
  const adapted = elapsedMs > 2 * stepMs ? limit / 2 : elapsedMs < stepMs / 2 ? limit * 2 : limit
  return Math.min(itemsMax, Math.max(itemsMin, Math.floor(adapted)))
}

/** Returns the reason that users see. Internal errors are written to the log only. */
const reasonOf = (error: unknown) =>
  error instanceof PlatformError ? error.message : 'an internal error; the log of the platform has the details'
