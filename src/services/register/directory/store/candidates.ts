/**
 * Finds endpoints (candidates) with the index of a condition that few endpoints meet, and checks the other conditions on them. The order of
 * the results is arbitrary.
 */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { FilterIndex } from '../../filters/filter-index.ts'
import { conditionsSql } from '../../lists/store/conditions.ts'
import type { Conditions, Scope, Singles, Sort } from '../query.ts'
import { conditionSql, connectionSql, joinsSql, lookupsSql, numberOfConnection } from './conditions.ts'

/** An endpoint with everything that a list can sort by. */
export interface Candidate {
  seq: number
  endpointId: string
  lastActivity: Date | null
  sortedBy: unknown
}

export interface Candidates {
  /** Number of candidates that the index found, before the other conditions were checked. */
  examined: number
  /** The greatest and the smallest `seq` of the examined candidates. */
  greatest: number | null
  smallest: number | null
  found: Candidate[]
}

interface Query {
  scope: Scope
  conditions: Conditions
  /** The n-grams of the words of a search. */
  grams: number[]
  sort: Sort
}

/** The range of endpoint numbers to search. */
export interface SearchRange {
  from: number
  to: number
  descending: boolean
}

export const searchSql = (
  sql: Sql,
  { scope, conditions, grams }: Query,
  range: SearchRange,
  limit: number,
): Fragment => sql`
  select number as seq from register.search_candidates(${scope.tenantId}, ${scope.applicationNames}::text[],
    ${conditions.words}::text[], ${grams}::integer[], ${range.from}, ${range.to}, ${range.descending}, ${limit})`

export const idsSql = (sql: Sql, { scope }: Query, endpointIds: string[]): Fragment => sql`
  select e.seq from register.endpoints e
  where e.tenant_id = ${scope.tenantId} and e.endpoint_id = any(${endpointIds}::text[])`

export const membersSql = (sql: Sql, { scope, conditions }: Query, filters: FilterIndex): Fragment =>
  filters.members(
    sql,
    scope.tenantId,
    conditions.filters.map(({ filterId }) => filterId),
  )

export function metadataSql(sql: Sql, { scope, conditions }: Query, limit: number): Fragment {
  const parts = conditionsSql(sql, conditions.metadata).reduce((before, part) => sql`${before} and (${part})`, sql``)
  return sql`select e.seq from register.endpoints e where e.tenant_id = ${scope.tenantId} ${parts} limit ${limit}`
}

/** Selects endpoints by activity. The `order by` makes the planner use the index, whatever it estimates. */
export function activitySql(sql: Sql, { scope, conditions }: Query, limit: number): Fragment {
  const { connections = ['never', 'disconnected', 'connected'], activeAfter, activeBefore } = conditions
  return sql`
    select part.seq from unnest(${scope.applicationNames}::text[]) as application(name)
      cross join unnest(${connections.map(numberOfConnection)}::integer[]) as state cross join lateral (
      select o.seq from register.activity o
      where o.tenant_id = ${scope.tenantId} and o.application_name = application.name and o.connection = state
        ${activeAfter ? sql`and o.at >= ${activeAfter}` : sql``} ${activeBefore ? sql`and o.at < ${activeBefore}` : sql``}
      order by o.at, o.seq limit ${limit}) part limit ${limit}`
}

/** Selects all endpoints of the applications. */
export const scopeSql = (sql: Sql, { scope }: Query, limit: number): Fragment => sql`
  select part.seq from unnest(${scope.applicationNames}::text[]) as application(name) cross join lateral (
    select o.seq from register.endpoints o where o.tenant_id = ${scope.tenantId} and o.application_name = application.name
    limit ${limit}) part limit ${limit}`

/**
 * Checks the other conditions on candidates. If there are more than `limit` candidates, no candidate is checked and `found` is empty. The
 * endpoints of candidates are looked up by their index (`lookupsSql`).
 */
export async function findCandidates(
  sql: Sql,
  query: Query,
  filters: FilterIndex,
  candidates: Fragment,
  limit: number,
): Promise<Candidates> {
  const { scope, conditions } = query
  const [row] = await sql<[Candidates]>`
    with candidates as materialized (${candidates}),
    size as materialized (select count(*) as examined, max(seq) as greatest, min(seq) as smallest from candidates)
    select size.examined, size.greatest, size.smallest, coalesce((
      select json_agg(json_build_object(${candidateFields(sql, query)}))
      from candidates c cross join lateral (
        select o.* from register.endpoints o where o.tenant_id = ${scope.tenantId} and o.seq = c.seq offset 0) e ${lookupsSql(sql, conditions)}
      where size.examined <= ${limit} and e.application_name = any(${scope.applicationNames}::text[])
        ${conditionSql(sql, scope.tenantId, conditions, filters)}), '[]') as found
    from size`
  return { ...row, found: row.found.map(withDate) }
}

/** Returns the condition that `e` is one of the single endpoints of the scope (`Singles`). */
export const singlesSql = (
  sql: Sql,
  tenantId: string,
  { endpointIds, requestedNames, exceptNames }: Singles,
): Fragment => sql`
  e.endpoint_id = any(${endpointIds}::text[]) and e.tenant_id = ${tenantId}
  and e.application_name <> all(${exceptNames}::text[])
  ${requestedNames ? sql`and e.application_name = any(${requestedNames}::text[])` : sql``}`

/** Finds the single endpoints of the scope (`Singles`) that meet the conditions. */
export async function findSingles(sql: Sql, query: Query, filters: FilterIndex): Promise<Candidate[]> {
  const { scope, conditions } = query
  if (!scope.singles) return []
  const [row] = await sql<[{ found: Candidate[] }]>`
    select coalesce(json_agg(json_build_object(${candidateFields(sql, query)})), '[]') as found
    from register.endpoints e ${joinsSql(sql, conditions)}
    where ${singlesSql(sql, scope.tenantId, scope.singles)}
      ${conditionSql(sql, scope.tenantId, conditions, filters)}`
  return row.found.map(withDate)
}

const candidateFields = (sql: Sql, { sort: { by } }: Query): Fragment => sql`
  'seq', e.seq, 'endpointId', e.endpoint_id, 'lastActivity', register.moment(a.at)
  ${'key' in by ? sql`, 'sortedBy', e.metadata -> ${by.key}::text` : sql``}`

const withDate = (candidate: Candidate): Candidate => ({
  ...candidate,
  lastActivity: candidate.lastActivity && new Date(candidate.lastActivity),
})

/** The fields of endpoints on a page. */
export interface DirectoryRow {
  seq: number
  endpointId: string
  createdDate: Date
  applicationName: string
  versionName: string
  versionRegisteredDate: Date
  connection: number
  lastActivity: Date | null
  metadata: Record<string, unknown> | null
  metadataUpdatedDate: Date | null
}

/** Builds a `DirectoryRow` from the tables `e` and `a` as JSON, which `rowOfJson` parses. */
export const rowJsonSql = (sql: Sql, metadata: boolean): Fragment => sql`
  json_build_object('seq', e.seq, 'endpointId', e.endpoint_id, 'createdDate', register.moment(e.created_date),
    'applicationName', e.application_name, 'versionName', e.version_name,
    'versionRegisteredDate', register.moment(e.version_registered_date), 'connection', ${connectionSql(sql)},
    'lastActivity', register.moment(a.at)
    ${metadata ? sql`, 'metadata', register.whole_metadata(e.metadata, e.connected, e.connectivity_ts), 'metadataUpdatedDate', register.moment(e.metadata_updated_date)` : sql``})`

const dateOf = (text: Date | string | null | undefined) => (text === null || text === undefined ? null : new Date(text))

export const rowOfJson = (row: DirectoryRow): DirectoryRow => ({
  ...row,
  createdDate: new Date(row.createdDate),
  versionRegisteredDate: new Date(row.versionRegisteredDate),
  lastActivity: dateOf(row.lastActivity),
  metadata: row.metadata ?? null,
  metadataUpdatedDate: dateOf(row.metadataUpdatedDate),
})

export async function findRows(sql: Sql, tenantId: string, seqs: number[], metadata: boolean): Promise<DirectoryRow[]> {
  if (seqs.length === 0) return []
  return await sql<DirectoryRow[]>`
    select e.seq, e.endpoint_id, e.created_date, e.application_name, e.version_name, e.version_registered_date,
      ${connectionSql(sql)} as connection, a.at as last_activity,
      ${metadata ? sql`register.whole_metadata(e.metadata, e.connected, e.connectivity_ts)` : sql`null::jsonb`} as metadata,
      ${metadata ? sql`e.metadata_updated_date` : sql`null::timestamptz`} as metadata_updated_date
    from register.endpoints e ${joinsSql(sql, { words: [] })}
    where e.tenant_id = ${tenantId} and e.seq = any(${seqs}::bigint[])`
}

/** Finds the applications of the tenant that have endpoints. */
export async function findApplications(sql: Sql, tenantId: string): Promise<string[]> {
  const rows = await sql<{ applicationName: string }[]>`
    select application_name from register.counts where tenant_id = ${tenantId} and metadata_key = ''
    union select application_name from register.count_differences where tenant_id = ${tenantId} and metadata_key = ''`
  return rows.map(({ applicationName }) => applicationName)
}

/**
 * Reads up to `count` searchable texts, of endpoints at equal distances in the order of registration, and estimates the number of all
 * texts.
 */
export async function findTextSample(
  sql: Sql,
  scope: Scope,
  count: number,
): Promise<{ texts: string[]; size: number }> {
  const { from, to } = await findBounds(sql, scope)
  const step = Math.max(1, Math.floor((to - from) / count))
  const rows = await sql<{ text: string }[]>`
    select part.text from unnest(${scope.applicationNames}::text[]) as application(name)
      cross join generate_series(${from}::bigint, ${to}::bigint, ${step}::bigint) as number cross join lateral (
      select d.text from register.documents d
      where d.tenant_id = ${scope.tenantId} and d.application_name = application.name and d.seq >= number
        and d.seq < number + ${step}::bigint
      order by d.seq limit 1) part limit ${count}`
  return { texts: rows.map(({ text }) => text), size: to - from + 1 }
}

/** Finds the smallest and the greatest number of an endpoint of the applications. */
export async function findBounds(
  sql: Sql,
  { tenantId, applicationNames }: Scope,
): Promise<{ from: number; to: number }> {
  const [row] = await sql<[{ from: number | null; to: number | null }]>`
    select min(ends.first) as "from", max(ends.last) as "to" from unnest(${applicationNames}::text[]) as application(name)
      cross join lateral (
        select (select seq from register.documents where tenant_id = ${tenantId} and application_name = application.name
            order by seq limit 1) as first,
          (select seq from register.documents where tenant_id = ${tenantId} and application_name = application.name
            order by seq desc limit 1) as last) ends`
  return { from: row.from ?? 0, to: row.to ?? -1 }
}
