import type { Sql } from '../db.ts'
import type { Counts, Outcome, Task, TaskState } from './types.ts'

interface TaskRow extends Omit<Task, 'counts'> {
  total: number | null
  succeeded: number
  failed: number
}

const columns = (
  sql: Sql,
  data = sql`data`,
) => sql`task_id, type, tenant_id, created_by, ${data}, state, total, succeeded, failed, problem,
  created_at, finished_at`

const taskOf = ({ total, succeeded, failed, ...row }: TaskRow): Task => ({
  ...row,
  counts: countsOf({ total, succeeded, failed }),
})

/**
 * Adds the number of pending items. Rows may have been added since the total of a walk was counted, so the returned total is never less
 * than the number of processed items.
 */
export const countsOf = (done: { total: number | null; succeeded: number; failed: number }): Counts => {
  const total = done.total === null ? null : Math.max(done.total, done.succeeded + done.failed)
  return { ...done, total, pending: total === null ? null : total - done.succeeded - done.failed }
}

export interface NewTask {
  taskId: string
  type: string
  tenantId: string
  createdBy: Task['createdBy']
  data: object
  state: TaskState
  total: number | null
  pages: number
  pageSize: number
}

export async function insertTask(sql: Sql, task: NewTask) {
  await sql`
    insert into kernel.bulk_tasks (task_id, type, tenant_id, created_by, data, state, total, pages, page_size)
    values (${task.taskId}, ${task.type}, ${task.tenantId}, ${sql.json(task.createdBy)}, ${sql.json(task.data as never)},
      ${task.state}, ${task.total}, ${task.pages}, ${task.pageSize})`
}

/**
 * Inserts pages as JSON texts. Each text is a parameter of its own, because within an array it would have to be escaped. Returns the
 * total length of the texts.
 */
export async function insertPages(
  sql: Sql,
  taskId: string,
  firstPage: number,
  pages: unknown[][],
): Promise<{ length: number }> {
  const texts = pages.map((items) => JSON.stringify(items))
  const rows = texts.map((text, n) => sql`(${taskId}, ${firstPage + n}::integer, ${text}::text::json)`)
  await sql`
    insert into kernel.bulk_pages (task_id, page, items) values ${rows.reduce((before, row) => sql`${before}, ${row}`)}`
  return { length: texts.reduce((sum, text) => sum + text.length, 0) }
}

export async function findTask(sql: Sql, taskId: string): Promise<Task | undefined> {
  const [row] = await sql<TaskRow[]>`select ${columns(sql)} from kernel.bulk_tasks where task_id = ${taskId}`
  return row && taskOf(row)
}

export interface TaskConditions {
  tenantId: string
  types: string[]
  states: TaskState[] | null
  among: { createdBy: { type: string; id: string }; field: string; values: string[] } | undefined
  data: { field: string; value: string } | undefined
}

function conditionsSql(sql: Sql, { tenantId, types, states, among, data }: TaskConditions) {
  const parts = [sql`tenant_id = ${tenantId} and type = any(${types}::text[])`]
  if (states) parts.push(sql`state = any(${states}::text[])`)
  if (data) parts.push(sql`data ->> ${data.field}::text = ${data.value}`)
  if (among) {
    const { createdBy, field, values } = among
    const isCreator = sql`created_by ->> 'id' = ${createdBy.id} and created_by ->> 'type' = ${createdBy.type}`
    parts.push(
      values.length === 0 ? isCreator : sql`(${isCreator} or data ->> ${field}::text = any(${values}::text[]))`,
    )
  }
  return parts.reduce((before, part) => sql`${before} and ${part}`)
}

export async function findTasks(
  sql: Sql,
  conditions: TaskConditions,
  page: { before: number | null; offset: number; limit: number; fields: string[] | null },
): Promise<(Task & { seq: number })[]> {
  const data =
    page.fields &&
    sql`(select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(data) where key = any(${page.fields}::text[])) as data`
  const rows = await sql<(TaskRow & { seq: number })[]>`
    select seq, ${columns(sql, data ?? undefined)} from kernel.bulk_tasks
    where ${conditionsSql(sql, conditions)} and (${page.before}::bigint is null or seq < ${page.before})
    order by seq desc offset ${page.offset} limit ${page.limit}`
  return rows.map(({ seq, ...row }) => ({ ...taskOf(row), seq }))
}

/** Finds tasks that have not ended, or ended in the last `endedSeconds`. Of their data, only `fields` are returned. */
export async function findActive(
  sql: Sql,
  query: { tenantIds: string[]; types: string[]; endedSeconds: number; fields: string[]; limit: number },
): Promise<Task[]> {
  const data = sql`(select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(data) where key = any(${query.fields}::text[])) as data`
  const matching = sql`tenant_id = any(${query.tenantIds}::text[]) and type = any(${query.types}::text[])`
  const rows = await sql<TaskRow[]>`
    select ${columns(sql, data)} from kernel.bulk_tasks where finished_at is null and ${matching}
    union all
    select ${columns(sql, data)} from kernel.bulk_tasks
    where finished_at >= now() - make_interval(secs => ${query.endedSeconds}) and ${matching}
    limit ${query.limit}`
  return rows.map(taskOf)
}

export async function countTasks(sql: Sql, conditions: TaskConditions): Promise<number> {
  const [row] = await sql`select count(*) from kernel.bulk_tasks where ${conditionsSql(sql, conditions)}`
  return row?.count
}

/** Makes this run the only run that may write to the task. An earlier run of the task stops at its next page. */
export async function takeTask(sql: Sql, run: { taskId: string; type: string; runner: string }) {
  const [row] = await sql<TaskRow[]>`
    update kernel.bulk_tasks set runner = ${run.runner}, state = 'running', touched_at = now()
    where task_id = ${run.taskId} and type = ${run.type} and state in ('waiting', 'running')
    returning ${columns(sql)}`
  return row && taskOf(row)
}

export interface Run {
  taskId: string
  runner: string
}

const isCurrentRun = (sql: Sql, { taskId, runner }: Run) => sql`
  task_id = ${taskId} and runner = ${runner} and state = 'running'`

export interface NextPage {
  page: number
  pages: number
  doneInPage: number
  /** The items of the page; null or undefined if all pages are done. */
  items: unknown[] | null | undefined
}

/**
 * Orders the transactions that process pages of a task and those that cancel it: each gets its turn in the order in which it asked for
 * the lock. With the row lock alone, the next page could overtake a waiting cancellation.
 */
const lockInOrder = (sql: Sql, taskId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended('kernel.bulk_tasks ' || ${taskId}::text, 0))`

/**
 * Locks the task and returns its next page. Returns undefined if the task was canceled or another run has taken it over. `kept` contains
 * all pages if this node has them in memory; the items then come from `kept` instead of the database.
 */
export async function lockNextPage(sql: Sql, run: Run, kept?: unknown[][]): Promise<NextPage | undefined> {
  await lockInOrder(sql, run.taskId)
  if (kept) {
    const [row] = await sql<Omit<NextPage, 'items'>[]>`
      select cursor as page, pages, done_in_page from kernel.bulk_tasks where ${isCurrentRun(sql, run)} for update`
    return row && { ...row, items: kept[row.page] }
  }
  const [row] = await sql<NextPage[]>`
    with task as (
      select cursor, pages, done_in_page from kernel.bulk_tasks where ${isCurrentRun(sql, run)} for update)
    select t.cursor as page, t.pages, t.done_in_page, p.items from task t
      left join kernel.bulk_pages p on p.task_id = ${run.taskId} and p.page = t.cursor`
  return row
}

/** Records the results of a page, in the transaction that processed it. */
export async function savePage(
  sql: Sql,
  { taskId }: Run,
  progress: { page: number; outcomes: Outcome<unknown>[]; next: { page: number; doneInPage: number }; ended: boolean },
) {
  const failed = progress.outcomes.filter((outcome) => outcome.failed !== undefined).length
  const succeeded = progress.outcomes.length - failed
  await sql`
    with saved as (
      update kernel.bulk_pages set results = results || ${sql.json(progress.outcomes as never)},
        succeeded = succeeded + ${succeeded}::integer, failed = failed + ${failed}::integer
      where task_id = ${taskId} and page = ${progress.page})
    update kernel.bulk_tasks set cursor = ${progress.next.page}, done_in_page = ${progress.next.doneInPage},
      succeeded = succeeded + ${succeeded}::integer, failed = failed + ${failed}::integer, problem = null,
      touched_at = now(), state = ${progress.ended ? 'finished' : 'running'},
      finished_at = case when ${progress.ended} then now() end
    where task_id = ${taskId}`
}

export async function lockWalk(sql: Sql, run: Run): Promise<{ cursor: number } | undefined> {
  await lockInOrder(sql, run.taskId)
  const [row] = await sql<{ cursor: number }[]>`
    select cursor from kernel.bulk_tasks where ${isCurrentRun(sql, run)} for update`
  return row
}

export async function saveStep(sql: Sql, { taskId }: Run, { last, count }: { last: number; count: number }) {
  await sql`
    update kernel.bulk_tasks
    set cursor = ${last}, succeeded = succeeded + ${count}::integer, problem = null, touched_at = now()
    where task_id = ${taskId}`
}

export async function endTask(sql: Sql, run: Run, state: 'finished' | 'canceled', problem: string | null = null) {
  await sql`
    update kernel.bulk_tasks set state = ${state}, problem = ${problem}, touched_at = now(), finished_at = now(),
      total = case when ${state} = 'finished' then succeeded + failed else total end
    where ${isCurrentRun(sql, run)}`
}

export async function saveProblem(sql: Sql, run: Run, problem: string) {
  await sql`update kernel.bulk_tasks set problem = ${problem} where ${isCurrentRun(sql, run)}`
}

/** Cancels a task. Waits for the current page; after the commit, no other page starts. Returns false if the task has ended. */
export async function cancelTask(sql: Sql, taskId: string): Promise<boolean> {
  await lockInOrder(sql, taskId)
  const { count } = await sql`
    update kernel.bulk_tasks set state = 'canceled', finished_at = now(), touched_at = now()
    where task_id = ${taskId} and finished_at is null`
  return count === 1
}

/** Releases a prepared task. Returns undefined if the task is no longer prepared. */
export async function releaseTask(sql: Sql, taskId: string): Promise<{ type: string } | undefined> {
  const [row] = await sql<{ type: string }[]>`
    update kernel.bulk_tasks set state = 'waiting', touched_at = now()
    where task_id = ${taskId} and state = 'prepared' returning type`
  return row
}

export interface PageRow {
  page: number
  items: unknown[]
  results: Outcome<unknown>[]
}

/** Returns up to `limit` pages from the page `from` on. If `state` is given, returns only pages that have items in this state. */
export async function findPages(
  sql: Sql,
  query: { taskId: string; from: number; state: 'succeeded' | 'failed' | 'pending' | undefined; limit: number },
): Promise<PageRow[]> {
  const stateCondition = {
    succeeded: sql`and succeeded > 0`,
    failed: sql`and failed > 0`,
    pending: sql`and succeeded + failed < json_array_length(items)`,
  }
  return await sql<PageRow[]>`
    select page, items, results from kernel.bulk_pages
    where task_id = ${query.taskId} and page >= ${query.from} ${query.state ? stateCondition[query.state] : sql``}
    order by page limit ${query.limit}`
}

/**
 * Finds the item after the first `offset` items in `state`, or in any state if `state` is undefined: returns its page, and how many such
 * items precede it on that page. Uses the counts of the pages and reads no items.
 */
export async function findStart(
  sql: Sql,
  query: { taskId: string; state: 'succeeded' | 'failed' | 'pending' | undefined; offset: number },
): Promise<{ page: number; skip: number } | undefined> {
  const size = sql`least(t.page_size, t.total - p.page::bigint * t.page_size)`
  const counted = {
    succeeded: sql`p.succeeded`,
    failed: sql`p.failed`,
    pending: sql`${size} - p.succeeded - p.failed`,
    all: size,
  }
  const [row] = await sql<{ page: number; skip: number }[]>`
    with pages as (
      select p.page, ${counted[query.state ?? 'all']} as items from kernel.bulk_pages p
        join kernel.bulk_tasks t on t.task_id = p.task_id where p.task_id = ${query.taskId}),
    sums as (select page, sum(items) over (order by page) as upto, items from pages)
    select page, (${query.offset} - (upto - items))::integer as skip from sums
    where upto > ${query.offset} order by page limit 1`
  return row
}

export async function findPageSize(sql: Sql, taskId: string): Promise<number | undefined> {
  const [row] = await sql<{ pageSize: number }[]>`
    select page_size from kernel.bulk_tasks where task_id = ${taskId}`
  return row?.pageSize
}

/**
 * Returns waiting and running tasks without progress for ten minutes. The jobs of these tasks were lost, for example by a restore. Each
 * task is returned to one node only.
 */
export async function takeStalled(sql: Sql, types: string[]): Promise<{ taskId: string; type: string }[]> {
  return await sql<{ taskId: string; type: string }[]>`
    update kernel.bulk_tasks set touched_at = now() where task_id = any(array(
      select task_id from kernel.bulk_tasks
      where finished_at is null and state in ('waiting', 'running') and type = any(${types}::text[])
        and touched_at < now() - interval '10 minutes'
      order by task_id limit 100 for update skip locked))
    returning task_id, type`
}

/**
 * Deletes some tasks that ended more than `keepDays` days ago, or were prepared a day ago and never released. Returns false if no such task
 * is left.
 */
export async function deleteOld(sql: Sql, type: string, keepDays: number): Promise<boolean> {
  const { count } = await sql`
    with gone as (
      delete from kernel.bulk_tasks where task_id = any(array(
        select task_id from kernel.bulk_tasks
        where type = ${type} and finished_at < now() - make_interval(days => ${keepDays})
        union all
        select task_id from kernel.bulk_tasks
        where type = ${type} and finished_at is null and state = 'prepared' and created_at < now() - interval '1 day'
        limit 20))
      returning task_id),
    emptied as (delete from kernel.bulk_pages p using gone where p.task_id = gone.task_id)
    select task_id from gone`
  return count > 0
}

/** Deletes some tasks of a tenant, in any state. Returns false if no task is left. */
export async function deleteOfTenant(sql: Sql, tenantId: string, types: string[]): Promise<boolean> {
  const { count } = await sql`
    with gone as (
      delete from kernel.bulk_tasks where task_id = any(array(
        select task_id from kernel.bulk_tasks
        where tenant_id = ${tenantId} and type = any(${types}::text[]) order by seq limit 20))
      returning task_id),
    emptied as (delete from kernel.bulk_pages p using gone where p.task_id = gone.task_id)
    select task_id from gone`
  return count > 0
}
