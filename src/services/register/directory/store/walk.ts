/** Reads endpoints in the order of a list, and finds the endpoints that meet the conditions. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { FilterIndex } from '../../filters/filter-index.ts'
import type { Position } from '../cursor.ts'
import { idKey } from '../document.ts'
import { type Conditions, connections, type Scope, type Sort } from '../query.ts'
import { type DirectoryRow, rowJsonSql, rowOfJson } from './candidates.ts'
import { conditionSql, joinsSql, numberOfConnection } from './conditions.ts'

export interface Walk {
  scope: Scope
  sort: Sort
  conditions: Conditions
  /** The position after which the walk begins. */
  after: Position | undefined
  /** Number of endpoints to check. */
  steps: number
  /** Maximum number of endpoints to return. */
  limit: number
  includeMetadata: boolean
}

export interface Walked {
  /** Number of endpoints that were checked. */
  steps: number
  /** The position of the last checked endpoint; null if no endpoint was checked. */
  last: { seq: number; value: string | null } | null
  /** Endpoints that meet the conditions, in order. */
  found: { seq: number; value: string | null; row: DirectoryRow }[]
}

/** Checks the next endpoints that have a value to sort by. */
export async function walkValues(sql: Sql, walk: Walk, filters: FilterIndex): Promise<Walked> {
  return await walked(sql, walk, valuesSql(sql, walk), walk.sort.descending, filters)
}

/** Checks the next endpoints without a value to sort by, in the order of registration. */
export async function walkRest(sql: Sql, walk: Walk, filters: FilterIndex): Promise<Walked> {
  const { sort } = walk
  const hasValue =
    'field' in sort.by && sort.by.field === 'lastActivity'
      ? sql`select from register.activity v where v.tenant_id = o.tenant_id and v.application_name = o.application_name and v.seq = o.seq`
      : sql`select from register.documents v where v.tenant_id = o.tenant_id and v.application_name = o.application_name
          and v.seq = o.seq and v.sorted ? ${sortKey(sort)}`
  const source = endpointsSql(sql, { ...walk, sort: { ...sort, descending: false } }, sql`and not exists (${hasValue})`)
  return await walked(sql, walk, source, false, filters)
}

export const sortKey = ({ by }: Sort) => ('key' in by ? by.key : idKey)

async function walked(sql: Sql, walk: Walk, source: Fragment, descending: boolean, filters: FilterIndex) {
  const { scope, conditions, limit, includeMetadata } = walk
  const order = (row: Fragment) =>
    descending ? sql`${row}.value desc nulls last, ${row}.seq desc` : sql`${row}.value nulls last, ${row}.seq`
  const opposite = descending ? sql`value nulls first, seq` : sql`value desc nulls first, seq desc`
  const [row] = await sql<[Walked]>`
    with walked as materialized (${source}),
    found as (
      select w.seq, w.value, ${rowJsonSql(sql, includeMetadata)} as row from walked w join register.endpoints e on e.tenant_id = ${scope.tenantId} and e.seq = w.seq
        ${joinsSql(sql, conditions)}
      where true ${conditionSql(sql, scope.tenantId, conditions, filters)}
      order by ${order(sql`w`)} limit ${limit})
    select (select count(*) from walked) as steps,
      (select json_build_object('seq', seq, 'value', value) from walked order by ${opposite} limit 1) as last,
      coalesce((select json_agg(json_build_object('seq', f.seq, 'value', f.value, 'row', f.row) order by ${order(sql`f`)}) from found f), '[]') as found`
  return { ...row, found: row.found.map((one) => ({ ...one, row: rowOfJson(one.row) })) }
}

function valuesSql(sql: Sql, walk: Walk): Fragment {
  const { by } = walk.sort
  if ('key' in by || by.field === 'endpointId') return sortValuesSql(sql, walk)
  return by.field === 'createdDate' ? endpointsSql(sql, walk, sql``) : activitySql(sql, walk)
}

/**
 * Scans each application separately, and takes the first endpoints of all scans. The order includes the application name, so that the
 * planner does not scan the whole tenant.
 */
function endpointsSql(sql: Sql, { scope, sort, after, steps }: Walk, also: Fragment): Fragment {
  const { descending } = sort
  const behind = after ? (descending ? sql`and o.seq < ${after.seq}` : sql`and o.seq > ${after.seq}`) : sql``
  const direction = descending ? sql`desc` : sql``
  return sql`
    select part.seq, null::text as value from unnest(${scope.applicationNames}::text[]) as application(name) cross join lateral (
      select o.seq from register.endpoints o
      where o.tenant_id = ${scope.tenantId} and o.application_name >= application.name and o.application_name <= application.name
        ${behind} ${also}
      order by o.application_name ${direction}, o.seq ${direction} limit ${steps}) part
    order by part.seq ${direction} limit ${steps}`
}

function sortValuesSql(sql: Sql, { scope, sort, after, steps }: Walk): Fragment {
  const { descending } = sort
  const position = after && sql`(${after.value ?? ''}::text, ${after.seq}::bigint)`
  const behind = position
    ? descending
      ? sql`and (o.value, o.seq) < ${position}`
      : sql`and (o.value, o.seq) > ${position}`
    : sql``
  const direction = descending ? sql`desc` : sql``
  return sql`
    select part.seq, part.value from unnest(${scope.applicationNames}::text[]) as application(name) cross join lateral (
      select o.seq, o.value from register.sort_values o
      where o.tenant_id = ${scope.tenantId} and o.application_name = application.name and o.key = ${sortKey(sort)} ${behind}
      order by o.value ${direction}, o.seq ${direction} limit ${steps}) part
    order by part.value ${direction}, part.seq ${direction} limit ${steps}`
}

/** Selects endpoints by activity. In the index, the connection comes before the time, so that a query can restrict both. */
function activitySql(sql: Sql, { scope, sort, conditions, after, steps }: Walk): Fragment {
  const { descending } = sort
  const states = (conditions.connections ?? connections).map(numberOfConnection)
  const position = after && sql`(${after.value ?? ''}::text::timestamptz, ${after.seq}::bigint)`
  const behind = position
    ? descending
      ? sql`and (o.at, o.seq) < ${position}`
      : sql`and (o.at, o.seq) > ${position}`
    : sql``
  const direction = descending ? sql`desc` : sql``
  return sql`
    select first.seq, register.moment(first.at) as value from (
      select part.seq, part.at from unnest(${scope.applicationNames}::text[]) as application(name)
        cross join unnest(${states}::integer[]) as state cross join lateral (
        select o.seq, o.at from register.activity o
        where o.tenant_id = ${scope.tenantId} and o.application_name = application.name and o.connection = state ${behind}
        order by o.at ${direction}, o.seq ${direction} limit ${steps}) part
      order by part.at ${direction}, part.seq ${direction} limit ${steps}) first`
}
