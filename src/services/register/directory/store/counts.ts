/** Counts endpoints by their fields and metadata keys. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { FilterIndex } from '../../filters/filter-index.ts'
import type { Conditions, Dimension, Scope } from '../query.ts'
import { singlesSql } from './candidates.ts'
import { conditionSql, connectionSql, joinsSql } from './conditions.ts'

export interface CountedStep {
  /** Number of endpoints that were checked, and the number of the last one. */
  steps: number
  last: number | null
  /** Number of endpoints that meet the conditions. */
  total: number
  /** Counts by dimension (its index) and value; a value of null stands for endpoints without a value. */
  groups: { dimension: number; value: string | null; count: number }[]
}

interface Query {
  scope: Scope
  conditions: Conditions
  dimensions: Dimension[]
}

/** Longer values, and objects and arrays, count as no value. */
const valueLengthMax = 200

function valueSql(sql: Sql, by: Dimension): Fragment {
  switch (by.field) {
    case 'application':
      return sql`e.application_name`
    case 'version':
      return sql`e.version_name`
    case 'connection':
      return sql`(array['never', 'disconnected', 'connected'])[1 + ${connectionSql(sql)}]`
    case 'metadata':
      return sql`case when jsonb_typeof(e.metadata -> ${by.key}::text) in ('string', 'number', 'boolean')
        and length((e.metadata -> ${by.key}::text)::text) <= ${valueLengthMax} then (e.metadata -> ${by.key}::text)::text end`
  }
}

/** Counts the endpoints of `source`, which is `from … e`. */
function groupsSql(
  sql: Sql,
  { scope, conditions, dimensions }: Query,
  filters: FilterIndex,
  source: Fragment,
): Fragment {
  const values = dimensions
    .map((dimension, index) => sql`(${index}::integer, ${valueSql(sql, dimension)})`)
    .reduce<Fragment>((before, value) => sql`${before}, ${value}`, sql`(-1, null::text)`)
  return sql`
    select one.dimension, one.value, count(*) as count ${source} ${joinsSql(sql, conditions)}
      cross join lateral (values ${values}) as one(dimension, value)
    where true ${conditionSql(sql, scope.tenantId, conditions, filters)}
    group by one.dimension, one.value`
}

const stepSql = (sql: Sql, walked: Fragment, groups: Fragment): Fragment => sql`
  with walked as materialized (${walked}), groups as materialized (${groups})
  select (select count(*) from walked) as steps, (select max(seq) from walked) as last,
    coalesce((select sum(count) from groups where dimension = -1), 0)::bigint as total,
    coalesce((select json_agg(json_build_object('dimension', dimension, 'value', value, 'count', count))
      from groups where dimension >= 0), '[]') as groups`

const ofWalked = (sql: Sql, tenantId: string): Fragment =>
  sql`from walked w join register.endpoints e on e.tenant_id = ${tenantId} and e.seq = w.seq`

/** Counts the next endpoints of the applications, in the order of registration. */
export async function countNext(
  sql: Sql,
  query: Query,
  filters: FilterIndex,
  { after, steps }: { after: number; steps: number },
): Promise<CountedStep> {
  const { tenantId, applicationNames } = query.scope
  const walked = sql`
    select part.seq from unnest(${applicationNames}::text[]) as application(name) cross join lateral (
      select o.seq from register.endpoints o
      where o.tenant_id = ${tenantId} and o.application_name >= application.name and o.application_name <= application.name
        and o.seq > ${after} order by o.application_name, o.seq limit ${steps}) part
    order by part.seq limit ${steps}`
  const [row] = await sql<
    [CountedStep]
  >`${stepSql(sql, walked, groupsSql(sql, query, filters, ofWalked(sql, tenantId)))}`
  return row
}

/** Counts candidates of an index; more than `limit` of them are not counted, which `steps` shows. */
export async function countCandidates(
  sql: Sql,
  query: Query,
  filters: FilterIndex,
  candidates: Fragment,
  limit: number,
): Promise<CountedStep> {
  const { tenantId, applicationNames } = query.scope
  const source = sql`${ofWalked(sql, tenantId)} and (select count(*) from walked) <= ${limit}
    and e.application_name = any(${applicationNames}::text[])`
  const [row] = await sql<[CountedStep]>`${stepSql(sql, candidates, groupsSql(sql, query, filters, source))}`
  return row
}

/** Counts the single endpoints of the scope. */
export async function countSingles(sql: Sql, query: Query, filters: FilterIndex): Promise<CountedStep | undefined> {
  const { tenantId, singles } = query.scope
  if (!singles) return undefined
  const walked = sql`select e.seq from register.endpoints e where ${singlesSql(sql, tenantId, singles)}`
  const [row] = await sql<
    [CountedStep]
  >`${stepSql(sql, walked, groupsSql(sql, query, filters, ofWalked(sql, tenantId)))}`
  return row
}

/** Reads the counts by application and version that every change maintains. */
export async function findMaintained(
  sql: Sql,
  { tenantId, applicationNames }: Scope,
  versionNames: string[] | undefined,
): Promise<{ applicationName: string; versionName: string; count: number }[]> {
  const where = sql`tenant_id = ${tenantId} and metadata_key = '' and application_name = any(${applicationNames}::text[])
    ${versionNames ? sql`and version_name = any(${versionNames}::text[])` : sql``}`
  return await sql<{ applicationName: string; versionName: string; count: number }[]>`
    select application_name, version_name, sum(n)::bigint as count from (
      select application_name, version_name, count as n from register.counts where ${where}
      union all
      select application_name, version_name, difference from register.count_differences where ${where}) both_tables
    group by application_name, version_name having sum(n) > 0`
}
