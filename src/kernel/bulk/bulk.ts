/**
 * Runs durable work over many items. The work runs in pages, records progress and a result for each item, can be canceled, and resumes
 * after a crash.
 */
import type { Db, Sql } from '../db.ts'
import type { NewId } from '../ids.ts'
import type { Attempt, Jobs } from '../jobs.ts'
import type { Log } from '../log.ts'
import type { PeriodicTask } from '../periodic.ts'
import { createRecentItems, type RecentItems } from './recent-items.ts'
import { pageStepper, partStepper, run, walkStepper } from './run.ts'
import * as store from './store.ts'
import type { BulkHandler, BulkType, Outcome, PartHandler, Task, TaskState, WalkHandler, WalkType } from './types.ts'

export interface NewTask<D extends object> {
  tenantId: string
  createdBy: Task['createdBy']
  data: D
}

export type ItemState = 'succeeded' | 'failed' | 'pending'

export interface ItemResult<I, R> extends Outcome<R> {
  /** Index of the item in the task, from 0, in the order in which the items were given. */
  position: number
  item: I
  state: ItemState
}

export interface TaskQuery {
  tenantId: string
  types?: string[]
  states?: TaskState[] | undefined
  /** Restricts the list to tasks that the subject `createdBy` created, or whose data has one of `values` in the field `field`. */
  among?: { createdBy: { type: string; id: string }; field: string; values: string[] } | undefined
  /** Restricts the list to tasks whose data has `value` in the field `field`. */
  data?: { field: string; value: string } | undefined
}

/** A task of any type, with properties that the type of the task declares. */
export interface AnyTask extends Task {
  title: string
  cancelable: boolean
  /** False for a walk. */
  hasItems: boolean
}

export interface Bulk {
  handle<D extends object, I, R, P = undefined>(type: BulkType<D, I, R>, handler: BulkHandler<D, I, R, P>): void
  handleWalk<D extends object>(type: WalkType<D>, handler: WalkHandler<D>): void
  /** Registers the handler of a walk in parts. A part may have effects outside of the database, such as a written file. */
  handleParts<D extends object>(type: WalkType<D>, handler: PartHandler<D>): void
  /**
   * Stores a task with its items, enqueues it when `sql` commits, and returns its id. `db.tx` may run its function twice, and each run
   * needs a new iterable of items: create the iterable in that function. With `prepared`, the task is only stored, for a preview; `release`
   * enqueues it.
   */
  start<D extends object, I, R>(
    sql: Sql,
    type: BulkType<D, I, R>,
    task: NewTask<NoInfer<D>>,
    items: NoInfer<I>[] | AsyncIterable<NoInfer<I>[]>,
    options?: { prepared?: boolean },
  ): Promise<string>
  /** Stores a walk and enqueues it when `sql` commits. `total` is the number of its items, if known. */
  startWalk<D extends object>(sql: Sql, type: WalkType<D>, task: NewTask<NoInfer<D>>, total?: number): Promise<string>
  /** Enqueues a prepared task; returns false if it is no longer prepared. */
  release(sql: Sql, taskId: string): Promise<boolean>
  /**
   * Cancels a task. After the commit no further page starts, so that each item is either done or untouched. Returns false if the task has
   * ended.
   */
  cancel(sql: Sql, taskId: string): Promise<boolean>
  find<D extends object>(sql: Sql, type: { name: string; data?: D }, taskId: string): Promise<Task<D> | undefined>
  /** Finds a task of any service. */
  findAny(sql: Sql, taskId: string): Promise<AnyTask | undefined>
  /**
   * Lists tasks of all services or of some types, newest first. `before` is the `seq` of the last task on the previous page. If `fields`
   * is given, only these fields of the data of each task are returned, because the data can be a megabyte.
   */
  list(
    sql: Sql,
    query: TaskQuery & { before?: number; offset?: number; limit: number; fields?: string[] },
  ): Promise<(AnyTask & { seq: number })[]>
  count(sql: Sql, query: TaskQuery): Promise<number>
  /** Finds tasks of these tenants that have not ended, or ended in the last `endedSeconds`. Of their data, only `fields` are returned. */
  active(
    sql: Sql,
    query: { tenantIds: string[]; endedSeconds: number; fields: string[]; limit: number },
  ): Promise<AnyTask[]>
  /**
   * Lists items in order with their results; if `state` is given, only items in this state. `after` is the position of the last item on
   * the previous page. `offset` is the number of such items to skip.
   */
  items<D extends object, I, R>(
    sql: Sql,
    type: { name: string } | BulkType<D, I, R>,
    query: { taskId: string; state?: ItemState | undefined; after?: number; offset?: number; limit: number },
  ): Promise<ItemResult<I, R>[]>
  /** Deletes some tasks of a deleted tenant. Returns false if there was no task of these types to delete. */
  deleteTenantTasks(sql: Sql, tenantId: string, types: { name: string }[]): Promise<boolean>
  periodic: PeriodicTask[]
}

type StepperOf<D extends object> = Parameters<typeof run<D>>[4]

// biome-ignore lint/suspicious/noExplicitAny: types of every kind are kept together
type AnyType = BulkType<any, any, any> | WalkType<any>

/** Number of pages that one statement reads or writes. */
const pagesPerStatement = 4

export function createBulk(given: { db: Db; jobs: Jobs; log: Log; newId: NewId }): Bulk {
  const { jobs, newId } = given
  const recentItems = createRecentItems()
  const deps = { ...given, recentItems }
  const types = new Map<string, AnyType>()
  const insert = async (sql: Sql, type: AnyType, task: Omit<store.NewTask, 'type'>) => {
    await store.insertTask(sql, { ...task, type: type.name })
    if (task.state === 'waiting') await jobs.send(sql, type.job, { taskId: task.taskId })
    return task.taskId
  }

  /** Registers a type. For a task of this type, `stepperOf` creates the function that runs the next step. */
  function register<D extends object>(type: AnyType, stepperOf: (attempt: Attempt) => StepperOf<D>) {
    types.set(type.name, type)
    jobs.handle(type.job, ({ taskId }, attempt) => run(deps, type, taskId, attempt, stepperOf(attempt)))
  }

  return {
    handle: (type, handler) =>
      register(
        type,
        (attempt) => (task: Task<never>, currentRun) => pageStepper(deps, type, handler, attempt, task, currentRun),
      ),
    handleWalk: (type, handler) =>
      register(type, () => (task: Task<never>, currentRun) => walkStepper(deps, type, handler, task, currentRun)),
    handleParts: (type, handler) =>
      register(
        type,
        (attempt) => (task: Task<never>, currentRun) => partStepper(deps, handler, attempt, task, currentRun),
      ),
    async start(sql, type, { tenantId, createdBy, data }, items, { prepared = false } = {}) {
      const taskId = newId()
      const stored = await storeItems(sql, taskId, type.pageSize, items, type.keepItems ? recentItems : undefined)
      const state = prepared ? 'prepared' : 'waiting'
      return await insert(sql, type, {
        taskId,
        tenantId,
        createdBy,
        data,
        state,
        pageSize: type.pageSize,
        ...stored,
      })
    },
    async startWalk(sql, type, { tenantId, createdBy, data }, total) {
      const walk = { total: total ?? null, pages: 0, pageSize: 0 }
      return await insert(sql, type, { taskId: newId(), tenantId, createdBy, data, state: 'waiting', ...walk })
    },
    async release(sql, taskId) {
      const released = await store.releaseTask(sql, taskId)
      const type = types.get(released?.type ?? '')
      if (type) await jobs.send(sql, type.job, { taskId })
      return type !== undefined
    },
    cancel: store.cancelTask,
    async find(sql, type, taskId) {
      const task = await store.findTask(sql, taskId)
      return task?.type === type.name ? (task as Task<never>) : undefined
    },
    async findAny(sql, taskId) {
      const task = await store.findTask(sql, taskId)
      return task && types.has(task.type) ? withType(types, task) : undefined
    },
    async list(sql, { before = null, offset = 0, limit, fields = null, ...query }) {
      const tasks = await store.findTasks(sql, conditionsOf(types, query), { before, offset, limit, fields })
      return tasks.map((task) => withType(types, task))
    },
    count: (sql, query) => store.countTasks(sql, conditionsOf(types, query)),
    async active(sql, query) {
      const tasks = await store.findActive(sql, { ...query, types: [...types.keys()] })
      return tasks.map((task) => withType(types, task))
    },
    items: (sql, _type, query) => readItems(sql, query),
    deleteTenantTasks: (sql, tenantId, taskTypes) =>
      store.deleteOfTenant(
        sql,
        tenantId,
        taskTypes.map(({ name }) => name),
      ),
    periodic: [
      {
        name: 'kernel.resume-bulk',
        everySeconds: 60,
        async run(sql) {
          for (const { taskId, type } of await store.takeStalled(sql, [...types.keys()]))
            await jobs.send(sql, types.get(type)!.job, { taskId })
        },
      },
      {
        name: 'kernel.forget-bulk',
        everySeconds: 3600,
        async run(sql) {
          for (const { name, keepDays } of types.values()) while (await store.deleteOld(sql, name, keepDays));
        },
      },
    ],
  }
}

const conditionsOf = (types: Map<string, AnyType>, query: TaskQuery): store.TaskConditions => ({
  tenantId: query.tenantId,
  types: query.types ?? [...types.keys()],
  states: query.states ?? null,
  among: query.among,
  data: query.data,
})

function withType<T extends Task>(types: Map<string, AnyType>, task: T): T & AnyTask {
  const type = types.get(task.type)
  const { title = task.type, cancelable = false } = type ?? {}
  return { ...task, title, cancelable, hasItems: type !== undefined && 'pageSize' in type }
}

/** Stores items in pages of `pageSize` items, however many items each given array has. */
async function storeItems<I>(
  sql: Sql,
  taskId: string,
  pageSize: number,
  items: I[] | AsyncIterable<I[]>,
  recentItems: RecentItems | undefined,
) {
  let [total, pages, bytes] = [0, 0, 0]
  const keptPages: I[][] = []
  let waiting: I[] = []
  const flush = async (count: number) => {
    const pagesToStore = Array.from({ length: count }, (_, n) => waiting.slice(n * pageSize, (n + 1) * pageSize))
    waiting = waiting.slice(count * pageSize)
    for (; pagesToStore.length > 0; ) {
      const batch = pagesToStore.splice(0, pagesPerStatement)
      const { length } = await store.insertPages(sql, taskId, pages, batch)
      pages += batch.length
      bytes += length
      if (recentItems) keptPages.push(...batch)
    }
  }
  for await (const chunk of Array.isArray(items) ? [items] : items) {
    total += chunk.length
    waiting = waiting.length === 0 ? chunk : [...waiting, ...chunk]
    await flush(Math.floor(waiting.length / pageSize))
  }
  await flush(Math.ceil(waiting.length / pageSize))
  recentItems?.add(taskId, keptPages, bytes)
  return { total, pages }
}

async function readItems<I, R>(
  sql: Sql,
  query: { taskId: string; state?: ItemState | undefined; after?: number; offset?: number; limit: number },
): Promise<ItemResult<I, R>[]> {
  const { taskId, state, after = -1, offset = 0, limit } = query
  const pageSize = await store.findPageSize(sql, taskId)
  const results: ItemResult<I, R>[] = []
  if (!pageSize) return results
  const start = offset > 0 ? await store.findStart(sql, { taskId, state, offset }) : { page: 0, skip: 0 }
  if (!start) return results
  let from = Math.max(start.page, Math.floor((after + 1) / pageSize))
  let { skip } = start
  while (results.length < limit) {
    const pages = await store.findPages(sql, { taskId, from, state, limit: pagesPerStatement })
    for (const page of pages)
      for (const [index, item] of page.items.entries()) {
        const outcome = page.results[index] as Outcome<R> | undefined
        const result = { position: page.page * pageSize + index, item: item as I, state: stateOf(outcome), ...outcome }
        if (result.position <= after || (state !== undefined && result.state !== state)) continue
        if (skip > 0) skip--
        else if (results.length < limit) results.push(result)
      }
    if (pages.length < pagesPerStatement) break
    from = pages.at(-1)!.page + 1
  }
  return results
}

const stateOf = (outcome: Outcome<unknown> | undefined): ItemState =>
  outcome === undefined ? 'pending' : outcome.failed === undefined ? 'succeeded' : 'failed'
