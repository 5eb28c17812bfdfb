/** SQL of tasks: one command type and payload for many endpoints. */
import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export interface Task {
  tenantId: string
  taskId: string
  commandType: string
  payload: string | null
  /** Approximate bytes of each command of the task. */
  size: number
  ttlMs: number
  filterId: string | null
}

export async function insertTask(sql: Sql, task: Task): Promise<void> {
  await sql`
    insert into commands.tasks (tenant_id, task_id, command_type, payload, size, ttl_ms, filter_id, created_at)
    values (${task.tenantId}, ${task.taskId}, ${task.commandType}, ${task.payload}, ${task.size},
      ${String(task.ttlMs)}::text::bigint, ${task.filterId}, date_trunc('milliseconds', statement_timestamp()))`
}

export async function insertTaskApplication(
  sql: Sql,
  { tenantId, taskId, applicationName }: { tenantId: string; taskId: string; applicationName: string },
): Promise<void> {
  await sql`
    insert into commands.task_applications (tenant_id, application_name, task_id, created_at)
    select tenant_id, ${applicationName}, task_id, created_at from commands.tasks
    where tenant_id = ${tenantId} and task_id = ${taskId}`
}

/** Inserts endpoints of a task. Their positions follow the position `after`. */
export async function insertTaskEndpoints(
  sql: Sql,
  { tenantId, taskId, after }: { tenantId: string; taskId: string; after: number },
  endpoints: { endpointId: string; applicationName: string }[],
): Promise<void> {
  await sql`
    with given as (
      select * from unnest(${endpoints.map(({ endpointId }) => endpointId)}::text[],
        ${endpoints.map(({ applicationName }) => applicationName)}::text[])
        with ordinality as g(endpoint_id, application_name, ordinal)),
    applications as (
      insert into commands.task_applications (tenant_id, application_name, task_id, created_at)
      select distinct ${tenantId}, application_name, ${taskId}, (
        select created_at from commands.tasks where tenant_id = ${tenantId} and task_id = ${taskId})
      from given on conflict do nothing)
    insert into commands.task_endpoints (tenant_id, task_id, position, application_name, endpoint_id)
    select ${tenantId}, ${taskId}, ${after} + ordinal, application_name, endpoint_id from given`
}

export async function findTask(sql: Sql, tenantId: string, taskId: string): Promise<Task | undefined> {
  const [row] = await sql<Task[]>`
    select tenant_id, task_id, command_type, payload, size, ttl_ms::double precision as ttl_ms, filter_id
    from commands.tasks where tenant_id = ${tenantId} and task_id = ${taskId}`
  return row
}

export interface TaskEndpoint {
  position: number
  endpointId: string
  applicationName: string
}

/** Removes and returns the next endpoints of a task. The caller creates their commands in the same transaction. */
export async function takeTaskEndpoints(
  sql: Sql,
  page: { tenantId: string; taskId: string; after: number; limit: number },
): Promise<TaskEndpoint[]> {
  const rows = await sql<TaskEndpoint[]>`
    delete from commands.task_endpoints where tenant_id = ${page.tenantId} and task_id = ${page.taskId} and position in (
      select position from commands.task_endpoints
      where tenant_id = ${page.tenantId} and task_id = ${page.taskId} and position > ${page.after}
      order by position limit ${page.limit})
    returning position, endpoint_id, application_name`
  return rows.sort((one, other) => one.position - other.position)
}

export interface TaskRow {
  taskId: string
  commandType: string
  filterId: string | null
  /** JSON text. */
  requestPayload: string | null
  createdAt: Date
  pendingCount: number
  executedCount: number
  expiredCount: number
}

export type TaskSort = 'commandType' | 'filterId' | 'createdAt' | 'taskId'

export interface TaskQuery extends Window {
  tenantId: string
  applicationName: string
  commandType?: string | undefined
  filterId?: string | undefined
  sortBy: TaskSort
  descending: boolean
}

const sortColumn = (sql: Sql, sortBy: TaskSort) =>
  ({
    commandType: sql`t.command_type`,
    filterId: sql`t.filter_id`,
    createdAt: sql`t.created_at`,
    taskId: sql`t.task_id`,
  })[sortBy]

const matching = (sql: Sql, { tenantId, applicationName, commandType, filterId }: TaskQuery) => sql`
  from commands.task_applications a join commands.tasks t on t.tenant_id = a.tenant_id and t.task_id = a.task_id
  where a.tenant_id = ${tenantId} and a.application_name = ${applicationName}
    ${commandType === undefined ? sql`` : sql`and t.command_type = ${commandType}`}
    ${filterId === undefined ? sql`` : sql`and t.filter_id = ${filterId}`}`

export async function countTasks(sql: Sql, query: TaskQuery): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::integer as count ${matching(sql, query)}`
  return row!.count
}

export async function findTasks(sql: Sql, query: TaskQuery): Promise<TaskRow[]> {
  const direction = query.descending ? sql`desc nulls last` : sql`asc nulls first`
  const order = sql`${sortColumn(sql, query.sortBy)} ${direction}, t.task_id ${direction}`
  return await sql<TaskRow[]>`
    select t.task_id, t.command_type, t.filter_id, t.payload as request_payload, t.created_at,
      made.pending + (
        select count(*)::integer from commands.task_endpoints w
        where w.tenant_id = t.tenant_id and w.task_id = t.task_id and w.application_name = ${query.applicationName}
      ) as pending_count, made.executed as executed_count, made.expired as expired_count
    from (
      select t.* ${matching(sql, query)} order by ${order} offset ${query.offset} limit ${query.limit}) t
    cross join lateral (
      select count(*) filter (where c.status_code is null and c.ends_at > statement_timestamp())::integer as pending,
        count(*) filter (where c.status_code is not null)::integer as executed,
        count(*) filter (where c.status_code is null and c.ends_at <= statement_timestamp())::integer as expired
      from commands.commands c
      where c.tenant_id = t.tenant_id and c.task_id = t.task_id and c.application_name = ${query.applicationName}) made
    order by ${order}`
}

export interface TaskEntry {
  endpointId: string
  commandId: number | null
  status: 'pending' | 'executed' | 'expired'
}

/** Returns the applications of the task: the applications of its endpoints, and the application of its filter. */
export async function findTaskApplications(
  sql: Sql,
  { tenantId, taskId }: { tenantId: string; taskId: string },
): Promise<string[]> {
  const rows = await sql<{ applicationName: string }[]>`
    select application_name from commands.task_applications where tenant_id = ${tenantId} and task_id = ${taskId}`
  return rows.map(({ applicationName }) => applicationName)
}

/** Finds the entries of a task in these applications. Returns undefined if the task belongs to other applications only. */
export async function findTaskEntries(
  sql: Sql,
  { tenantId, applicationNames, taskId }: { tenantId: string; applicationNames: string[]; taskId: string },
): Promise<TaskEntry[] | undefined> {
  const rows = await sql<(Omit<TaskEntry, 'endpointId'> & { endpointId: string | null })[]>`
    select e.* from commands.task_applications a left join lateral (
      select endpoint_id, command_id, case when status_code is not null then 'executed'
        when ends_at <= statement_timestamp() then 'expired' else 'pending' end as status
      from commands.commands c
      where c.tenant_id = a.tenant_id and c.task_id = a.task_id and c.application_name = a.application_name
      union all
      select endpoint_id, null, 'pending' from commands.task_endpoints w
      where w.tenant_id = a.tenant_id and w.task_id = a.task_id and w.application_name = a.application_name
    ) e on true
    where a.tenant_id = ${tenantId} and a.application_name = any(${applicationNames}::text[]) and a.task_id = ${taskId}
    order by e.endpoint_id`
  if (rows.length === 0) return undefined
  return rows.filter((row): row is TaskEntry => row.endpointId !== null)
}
