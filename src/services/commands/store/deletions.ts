/** SQL that deletes commands of unregistered endpoints and of deleted applications and tenants, and commands that are too old. */
import type { Fragment, Sql } from '../../../kernel/db.ts'

interface Deleted {
  tenantId: string
  endpointId: string
  commandId: number
  waitingNode: string | null
}

interface Unregistered {
  tenantId: string
  endpointIds: string[]
  /**
   * The time at which the endpoints were unregistered. If an endpoint was registered again since then, its later rows are kept. If it was
   * not, all its rows are deleted: the clock of another node may be ahead, and a concurrent request may store a command just after the
   * endpoint was unregistered.
   */
  until: Date
  /** Returns a subquery of all registered endpoints. */
  registered: (sql: Sql) => Fragment
}

const isRegistered = (sql: Sql, { registered }: Unregistered, endpointId: Fragment) =>
  sql`exists (select 1 from (${registered(sql)}) as e where e.endpoint_id = ${endpointId})`

/** Deletes some commands of unregistered endpoints. Returns the deleted commands for which callers may be waiting. */
export async function deleteOfEndpoints(sql: Sql, endpoints: Unregistered & { limit: number }): Promise<Deleted[]> {
  return await sql<Deleted[]>`
    delete from commands.commands where ctid = any(array(
      select ctid from commands.commands c
      where tenant_id = ${endpoints.tenantId} and endpoint_id = any(${endpoints.endpointIds}::text[])
        and (created_at <= ${endpoints.until} or not ${isRegistered(sql, endpoints, sql`c.endpoint_id`)})
      limit ${endpoints.limit}))
    returning tenant_id, endpoint_id, command_id, waiting_node`
}

/**
 * Deletes the rows of unregistered endpoints in the tables `task_endpoints` and `endpoints`. If an endpoint was registered again and has
 * got a command since, its numbering of commands continues.
 */
export async function deleteEndpoints(sql: Sql, endpoints: Unregistered): Promise<void> {
  const { tenantId, endpointIds, until } = endpoints
  await sql`
    delete from commands.task_endpoints w using commands.tasks t
    where w.tenant_id = ${tenantId} and w.endpoint_id = any(${endpointIds}::text[])
      and t.tenant_id = w.tenant_id and t.task_id = w.task_id
      and (t.created_at <= ${until} or not ${isRegistered(sql, endpoints, sql`w.endpoint_id`)})`
  await sql`
    delete from commands.endpoints c
    where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[])
      and (last_at <= ${until} or not ${isRegistered(sql, endpoints, sql`c.endpoint_id`)})`
}

export async function hasEndpoints(sql: Sql, tenantId: string, endpointIds: string[]): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (
      select 1 from commands.endpoints where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[]))
      or exists (
      select 1 from commands.task_endpoints where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[]))
      as found`
  return row!.found
}

/** Removes a deleted application and its endpoints from all tasks. */
export async function deleteTasksOfApplication(sql: Sql, tenantId: string, applicationName: string): Promise<void> {
  await sql`
    delete from commands.task_applications where tenant_id = ${tenantId} and application_name = ${applicationName}`
  await sql`
    delete from commands.task_endpoints where tenant_id = ${tenantId} and application_name = ${applicationName}`
}

/** Deletes some rows of a tenant. Returns false if no row is left. */
export async function deleteOfTenant(sql: Sql, tenantId: string, limit: number): Promise<boolean> {
  const tables = [
    sql`commands.commands`,
    sql`commands.endpoints`,
    sql`commands.task_endpoints`,
    sql`commands.task_applications`,
    sql`commands.tasks`,
  ]
  for (const name of tables) {
    const { count } = await sql`
      delete from ${name} where ctid = any(array(select ctid from ${name} where tenant_id = ${tenantId} limit ${limit}))`
    if (count > 0) return true
  }
  return false
}

/** Lists the applications that have commands. It skips from one application to the next in the index. */
export async function findApplications(sql: Sql): Promise<{ tenantId: string; applicationName: string }[]> {
  return await sql<{ tenantId: string; applicationName: string }[]>`
    with recursive found as (
      (select tenant_id, application_name from commands.commands order by tenant_id, application_name limit 1)
      union all
      select next.* from found f cross join lateral (
        select c.tenant_id, c.application_name from commands.commands c
        where (c.tenant_id, c.application_name) > (f.tenant_id, f.application_name)
        order by c.tenant_id, c.application_name limit 1) next)
    select tenant_id, application_name from found`
}

/** Deletes some commands of an application that ended more than `days` days ago. Returns how many were deleted. */
export async function deleteOld(
  sql: Sql,
  query: { tenantId: string; applicationName: string; days: number; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from commands.commands where ctid = any(array(
      select ctid from commands.commands
      where tenant_id = ${query.tenantId} and application_name = ${query.applicationName}
        and ends_at < statement_timestamp() - make_interval(days => ${query.days}::integer)
      order by ends_at limit ${query.limit}))`
  return count
}

/** Deletes tasks older than `days` days that no longer have commands. Returns how many were deleted. */
export async function deleteOldTasks(sql: Sql, days: number, limit: number): Promise<number> {
  const { count } = await sql`
    with gone as (
      delete from commands.tasks where ctid = any(array(
        select t.ctid from commands.tasks t
        where t.created_at < statement_timestamp() - make_interval(days => ${days}::integer)
          and not exists (
            select 1 from commands.commands c where c.tenant_id = t.tenant_id and c.task_id = t.task_id)
          and not exists (
            select 1 from commands.task_endpoints w where w.tenant_id = t.tenant_id and w.task_id = t.task_id)
        limit ${limit}))
      returning tenant_id, task_id)
    , applications as (
      delete from commands.task_applications a using gone g where a.tenant_id = g.tenant_id and a.task_id = g.task_id)
    select task_id from gone`
  return count
}
