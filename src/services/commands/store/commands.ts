/** SQL that reads and deletes commands. The state is not stored: a command without a result is expired from `ends_at` on. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { CommandKey } from './invocations.ts'

export type CommandStatus = 'PENDING' | 'EXECUTED' | 'EXPIRED'

export interface CommandRow {
  endpointId: string
  commandId: number
  commandType: string
  status: CommandStatus
  statusCode: number | null
  reasonPhrase: string | null
  /** JSON texts. */
  requestPayload: string | null
  responsePayload: string | null
  createdAt: Date
  updatedAt: Date
}

const statusOf = (sql: Sql) => sql`
  case when c.status_code is not null then 'EXECUTED' when c.ends_at <= statement_timestamp() then 'EXPIRED'
    else 'PENDING' end`
const updatedAtOf = (sql: Sql) => sql`
  case when c.status_code is not null or c.ends_at <= statement_timestamp() then c.ends_at else c.created_at end`

const columns = (sql: Sql) => sql`
  c.endpoint_id, c.command_id, c.command_type, ${statusOf(sql)} as status, c.status_code, c.reason_phrase,
  coalesce(c.payload, (
    select t.payload from commands.tasks t where t.tenant_id = c.tenant_id and t.task_id = c.task_id)) as request_payload,
  c.result as response_payload, c.created_at, ${updatedAtOf(sql)} as updated_at`

export async function findCommand(
  sql: Sql,
  { tenantId, endpointId, commandId, type }: CommandKey & { type: string },
): Promise<CommandRow | undefined> {
  const [row] = await sql<CommandRow[]>`
    select ${columns(sql)} from commands.commands c
    where c.tenant_id = ${tenantId} and c.endpoint_id = ${endpointId} and c.command_id = ${commandId}
      and c.command_type = ${type}`
  return row
}

export interface StateRow extends CommandKey {
  status: CommandStatus
  /** JSON text of the result. */
  result: string | null
}

export async function findStates(sql: Sql, keys: CommandKey[]): Promise<StateRow[]> {
  return await sql<StateRow[]>`
    select c.tenant_id, c.endpoint_id, c.command_id, ${statusOf(sql)} as status, c.result
    from unnest(${keys.map(({ tenantId }) => tenantId)}::text[], ${keys.map(({ endpointId }) => endpointId)}::text[],
      ${keys.map(({ commandId }) => commandId)}::integer[]) as p(tenant_id, endpoint_id, command_id)
    join commands.commands c using (tenant_id, endpoint_id, command_id)`
}

/** Deletes a command. Returns the node whose caller waits for it, or undefined if there is no such command. */
export async function deleteCommand(
  sql: Sql,
  { tenantId, endpointId, commandId, type }: CommandKey & { type: string },
): Promise<{ waitingNode: string | null } | undefined> {
  const [row] = await sql<{ waitingNode: string | null }[]>`
    delete from commands.commands
    where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and command_id = ${commandId} and command_type = ${type}
    returning waiting_node`
  return row
}

/** Returns, for each of these endpoints and types, the command whose result arrived last. */
export async function findLast(
  sql: Sql,
  { tenantId, endpointIds, types }: { tenantId: string; endpointIds: string[]; types: string[] },
): Promise<CommandRow[]> {
  return await sql<CommandRow[]>`
    select ${columns(sql)}
    from unnest(${endpointIds}::text[]) as e(endpoint_id) cross join unnest(${types}::text[]) as t(command_type)
    cross join lateral (
      select * from commands.commands x
      where x.tenant_id = ${tenantId} and x.endpoint_id = e.endpoint_id and x.command_type = t.command_type
        and x.status_code is not null
      order by x.ends_at desc, x.command_id desc limit 1) c
    order by c.ends_at desc, c.command_id desc`
}

/** Returns commands of one endpoint, newest first: at most `limit`, and only as many as fit into `bytesMax`. */
export async function findOfEndpoint(
  sql: Sql,
  query: { tenantId: string; endpointId: string; types: string[]; limit: number; bytesMax: number },
): Promise<{ rows: CommandRow[]; isCut: boolean; bytes: number }> {
  const rows = await sql<(CommandRow & { found: number; bytes: number })[]>`
    select ${columns(sql)}, c.found, c.bytes from (
      select f.*, count(*) over ()::integer as found, sum(f.bytes) over (order by f.command_id desc) as bytes_to_here from (
        select l.*, l.size + coalesce(octet_length(l.result), 0) as bytes
        from unnest(${query.types}::text[]) as t(type)
        cross join lateral (
          select * from commands.commands x
          where x.tenant_id = ${query.tenantId} and x.endpoint_id = ${query.endpointId} and x.command_type = t.type
          order by x.command_id desc limit ${query.limit}) l
        order by l.command_id desc limit ${query.limit}) f) c
    where c.bytes_to_here <= ${query.bytesMax}::bigint or c.bytes_to_here = c.bytes
    order by c.command_id desc`
  return {
    rows: rows.map(({ found: _, bytes: __, ...row }) => row),
    isCut: rows.length < (rows[0]?.found ?? 0),
    bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

/** The state by which lists are filtered and commands are counted. FAILED: the result has a status code of 400 or more. */
export type CommandState = 'PENDING' | 'SUCCEEDED' | 'FAILED' | 'EXPIRED'

const stateOf = (sql: Sql) => sql`
  case when status_code >= 400 then 'FAILED' when status_code is not null then 'SUCCEEDED'
    when ends_at <= statement_timestamp() then 'EXPIRED' else 'PENDING' end`

export interface ApplicationQuery {
  tenantId: string
  applicationName: string
  types: string[] | undefined
}

export interface PageQuery extends ApplicationQuery {
  states: CommandState[] | undefined
  sort: 'createdAt' | 'updatedAt'
  descending: boolean
  offset: number
  limit: number
}

const ofApplication = (
  sql: Sql,
  { tenantId, applicationName, types, states }: ApplicationQuery & Partial<PageQuery>,
): Fragment => sql`
  tenant_id = ${tenantId} and application_name = ${applicationName}
    ${types === undefined ? sql`` : sql`and command_type = any(${types}::text[])`}
    ${states === undefined ? sql`` : sql`and ${stateOf(sql)} = any(${states}::text[])`}`

export async function countOfApplication(sql: Sql, query: PageQuery): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from commands.commands where ${ofApplication(sql, query)}`
  return row!.count
}

/** Counts commands by state. The query reads only the index on `ends_at`. */
export async function countStates(
  sql: Sql,
  query: ApplicationQuery,
): Promise<{ state: CommandState; count: number }[]> {
  return await sql<{ state: CommandState; count: number }[]>`
    select ${stateOf(sql)} as state, count(*)::integer as count from commands.commands
    where ${ofApplication(sql, query)} group by 1`
}

/** Returns a page of commands of an application. Commands with equal times are ordered by endpoint and command id. */
export async function findOfApplication(sql: Sql, query: PageQuery): Promise<CommandRow[]> {
  return await sql<CommandRow[]>`
    select ${columns(sql)} from (${pageOf(sql, query)}) c order by ${pageOrder(sql, query)}`
}

/** Returns the approximate size of all payloads of the page. */
export async function countBytes(sql: Sql, query: PageQuery): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select coalesce(sum(c.size + coalesce(octet_length(c.result), 0)), 0)::double precision as bytes
    from (${pageOf(sql, query)}) c`
  return row!.bytes
}

function pageOrder(sql: Sql, { descending }: PageQuery): Fragment {
  const order = descending ? sql`desc` : sql`asc`
  return sql`sorted_at ${order}, endpoint_id ${order}, command_id ${order}`
}

/**
 * Selects a page. For the order `updatedAt`, ended commands are sorted by their end and other commands by their creation. Therefore two
 * ordered index scans are merged.
 */
function pageOf(sql: Sql, query: PageQuery): Fragment {
  const { offset, limit } = query
  const where = ofApplication(sql, query)
  const order = pageOrder(sql, query)
  if (query.sort === 'createdAt')
    return sql`
      select *, created_at as sorted_at from commands.commands where ${where}
      order by ${order} offset ${offset} limit ${limit}`
  return sql`
    (select *, ends_at as sorted_at from commands.commands
     where ${where} and ends_at <= statement_timestamp() order by ${order} limit ${offset + limit})
    union all
    (select *, created_at as sorted_at from commands.commands
     where ${where} and ends_at > statement_timestamp() order by ${order} limit ${offset + limit})
    order by ${order} offset ${offset} limit ${limit}`
}
