/** Counts endpoints by their fields and metadata keys. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { FilterIndex } from '../../filters/filter-index.ts'
import { countedLengthMax } from '../document.ts'
import type { Conditions, Dimension, Scope } from '../query.ts'
import { singlesSql } from './candidates.ts'
import { conditionSql, connectionSql, neededJoinsSql } from './conditions.ts'

export interface CountedStep {
  /** Number of endpoints that meet the conditions. */
  total: number
  /** Counts by dimension (its index) and value. A value of null stands for endpoints without a value. */
  groups: { dimension: number; value: string | null; count: number }[]
}

interface Query {
  scope: Scope
  conditions: Conditions
  dimensions: Dimension[]
}

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
        and length((e.metadata -> ${by.key}::text)::text) <= ${countedLengthMax} then (e.metadata -> ${by.key}::text)::text end`
  }
}

/** Counts the endpoints of `register.endpoints e` that meet `where` and the conditions of the query. */
async function countWhere(sql: Sql, query: Query, filters: FilterIndex, where: Fragment): Promise<CountedStep> {
  const { scope, conditions, dimensions } = query
  const values = dimensions
    .map((dimension, index) => sql`(${index}::integer, ${valueSql(sql, dimension)})`)
    .reduce<Fragment>((before, value) => sql`${before}, ${value}`, sql`(-1, null::text)`)
  const rows = await sql<CountedStep['groups']>`
    select one.dimension, one.value, count(*) as count from register.endpoints e ${neededJoinsSql(sql, conditions)}
      cross join lateral (values ${values}) as one(dimension, value)
    where ${where} ${conditionSql(sql, scope.tenantId, conditions, filters)}
    group by one.dimension, one.value`
  const total = rows.find(({ dimension }) => dimension === -1)?.count ?? 0
  return { total, groups: rows.filter(({ dimension }) => dimension >= 0) }
}

const ofApplications = (sql: Sql, { tenantId, applicationNames }: Scope): Fragment =>
  sql`e.tenant_id = ${tenantId} and e.application_name = any(${applicationNames}::text[])`

/** Counts the endpoints of the applications whose numbers (`seq`) are above `after`, up to `last`. */
export const countRange = (
  sql: Sql,
  query: Query,
  filters: FilterIndex,
  { after, last }: { after: number; last: number },
): Promise<CountedStep> =>
  countWhere(sql, query, filters, sql`${ofApplications(sql, query.scope)} and e.seq > ${after} and e.seq <= ${last}`)

/** Counts candidates of an index. Returns undefined if there are more than `limit` candidates. */
export async function countCandidates(
  sql: Sql,
  query: Query,
  filters: FilterIndex,
  candidates: Fragment,
  limit: number,
): Promise<CountedStep | undefined> {
  const [row] = await sql<[{ seqs: string[] | null }]>`select array_agg(seq::text) as seqs from (${candidates}) c`
  const seqs = row.seqs ?? []
  if (seqs.length > limit) return undefined
  return await countWhere(
    sql,
    query,
    filters,
    sql`${ofApplications(sql, query.scope)} and e.seq = any(${seqs}::text[]::bigint[])`,
  )
}

/** Counts the endpoints that the caller may read individually, without a permission on their applications. */
export async function countSingles(sql: Sql, query: Query, filters: FilterIndex): Promise<CountedStep | undefined> {
  const { tenantId, singles } = query.scope
  return singles && (await countWhere(sql, query, filters, singlesSql(sql, tenantId, singles)))
}

/** Returns the smallest and the greatest number (`seq`) of the tenant's endpoints. */
export async function findBounds(sql: Sql, tenantId: string): Promise<{ from: number; to: number }> {
  const [row] = await sql<[{ from: number | null; to: number | null }]>`
    select min(seq) as "from", max(seq) as "to" from register.endpoints where tenant_id = ${tenantId}`
  return { from: row.from ?? 0, to: row.to ?? -1 }
}

/** Reads the counts by application and version, which every change updates. */
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
