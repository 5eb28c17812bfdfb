/**
 * SQL of statuses. There is one record for each endpoint, version, name and configuration. A default that was never sent to an endpoint has
 * no row. Its record is derived from the endpoints of the version, so that writing a default takes the same time for any number of
 * endpoints.
 */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export const statuses = ['PENDING', 'DISPATCHED', 'APPLIED', 'FAILED'] as const
export type Status = (typeof statuses)[number]

export interface StatusQuery {
  tenantId: string
  visibility: 'all' | { applicationNames: string[]; endpointIds: string[] }
  endpointIds?: string[] | undefined
  versionName?: string | undefined
  configId?: string | undefined
  name?: string | undefined
  status?: Status | undefined
}

export interface StatusRow {
  endpointId: string
  versionName: string
  name: string
  configId: string
  status: Status
  dispatchedDate: Date | null
  confirmedDate: Date | null
  statusCode: number | null
  reasonPhrase: string | null
  /** Length of the JSON text. */
  length: number
}

const statusOf = (sql: Sql): Fragment => sql`case
  when status_code between 200 and 299 then 'APPLIED' when confirmed_date is not null then 'FAILED'
  when dispatched_date is not null then 'DISPATCHED' else 'PENDING' end`

/** Returns the conditions of the query, except the status, for a relation with the columns of a record. */
function conditionsOf(sql: Sql, query: StatusQuery): Fragment {
  const { visibility, endpointIds, versionName, configId, name } = query
  const conditions = [sql`tenant_id = ${query.tenantId}`]
  if (visibility !== 'all')
    conditions.push(sql`(application_name = any(${visibility.applicationNames}::text[])
      or endpoint_id = any(${visibility.endpointIds}::text[]))`)
  if (endpointIds) conditions.push(sql`endpoint_id = any(${endpointIds}::text[])`)
  if (versionName !== undefined) conditions.push(sql`version_name = ${versionName}`)
  if (configId !== undefined) conditions.push(sql`config_id = ${configId}`)
  if (name !== undefined) conditions.push(sql`name = ${name}`)
  return conditions.reduce((all, one) => sql`${all} and ${one}`)
}

const columns = (sql: Sql): Fragment => sql`
  endpoint_id, version_name, name, config_id, updated_date, dispatched_date, confirmed_date, status_code, reason_phrase`

/** Returns all records that match. `endpoints` returns a subquery of all registered endpoints. */
function recordsOf(sql: Sql, query: StatusQuery, endpoints: (sql: Sql) => Fragment): Fragment {
  const matching = conditionsOf(sql, query)
  const ofStatus = query.status === undefined ? sql`true` : sql`${statusOf(sql)} = ${query.status}`
  const stored = sql`
    select ${columns(sql)} from configuration.endpoint_configs where ${matching} and ${ofStatus}
    union all select ${columns(sql)} from configuration.sent_configs where ${matching} and ${ofStatus}`
  if (query.status !== undefined && query.status !== 'PENDING') return stored
  return sql`
    ${stored}
    union all select ${columns(sql)} from (
      select d.tenant_id, e.application_name, e.endpoint_id, d.version_name, d.name, d.config_id, d.updated_date,
        null::timestamptz as dispatched_date, null::timestamptz as confirmed_date, null::int as status_code,
        null::text as reason_phrase
      from configuration.defaults d
      join (${endpoints(sql)}) as e on e.tenant_id = d.tenant_id and e.version_name = d.version_name
      where d.tenant_id = ${query.tenantId} and not exists (
        select 1 from configuration.endpoint_configs o where o.tenant_id = d.tenant_id
          and o.endpoint_id = e.endpoint_id and o.version_name = d.version_name and o.name = d.name)
      and not exists (
        select 1 from configuration.sent_configs s where s.tenant_id = d.tenant_id and s.endpoint_id = e.endpoint_id
          and s.version_name = d.version_name and s.name = d.name and s.config_id = d.config_id)) as by_default
    where ${matching}`
}

export async function countStatuses(sql: Sql, query: StatusQuery, endpoints: (sql: Sql) => Fragment): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from (${recordsOf(sql, query, endpoints)}) as record`
  return row!.count
}

/** Returns a page, newest configurations first. */
export async function findStatuses(
  sql: Sql,
  query: StatusQuery,
  endpoints: (sql: Sql) => Fragment,
  { offset, limit }: Window,
): Promise<StatusRow[]> {
  return await sql<StatusRow[]>`
    select page.endpoint_id, page.version_name, page.name, page.config_id, page.status, page.dispatched_date,
      page.confirmed_date, page.status_code, page.reason_phrase, coalesce(length(c.config), 0) as length
    from (
      select *, ${statusOf(sql)} as status from (${recordsOf(sql, query, endpoints)}) as record
      order by updated_date desc, endpoint_id, version_name, name, config_id
      offset ${offset} limit ${limit}) as page
    left join configuration.contents c on c.tenant_id = ${query.tenantId} and c.config_id = page.config_id
    order by page.updated_date desc, page.endpoint_id, page.version_name, page.name, page.config_id`
}
