/**
 * Reads lists of endpoints, in the order of registration. A plain list scans an index and takes its total from the counts.
 * Any other query finds the numbers (`seq`) of all matching endpoints once and counts them.
 */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { EndpointRef } from '../../contract.ts'
import { connectionSql, numberOfConnection } from '../../directory/store/conditions.ts'
import { endpointCountSql } from '../../endpoints/store/counts.ts'
import type { FilterIndex } from '../../filters/filter-index.ts'
import type { DirectoryConditions, EndpointQuery, Visibility } from '../query.ts'
import { conditionsSql, jsonOf, regexSql } from './conditions.ts'
import { oneEndpointOf, textOfOne, textsOf, type View } from './endpoint-json.ts'

export interface Page {
  offset: number
  limit: number
}

type PartialVisibility = Exclude<Visibility, 'all'>

/** Maximum number of names with an index scan each. With more names, a single scan is faster. */
const indexScansMax = 50

/** Returns disjoint conditions for the endpoints that are requested and readable. */
function partsOf(sql: Sql, query: EndpointQuery): Fragment[] {
  const { tenantId, visibility, applicationNames: requestedNames, versionNames } = query
  const ofApplications = (applications: string[] | undefined) => sql`e.tenant_id = ${tenantId}
    ${applications ? sql`and e.application_name = any(${applications}::text[])` : sql``}
    ${versionNames ? sql`and e.version_name = any(${versionNames}::text[])` : sql``}`
  if (visibility === 'all') return [ofApplications(requestedNames)]
  const readableApplications = fullyReadableApplications(query, visibility)
  return [
    ...(readableApplications.length > 0 ? [ofApplications(readableApplications)] : []),
    ...(visibility.endpointIds.length > 0
      ? [sql`${ofApplications(requestedNames)} and ${singleEndpoints(sql, visibility, readableApplications)}`]
      : []),
  ]
}

const fullyReadableApplications = (
  { applicationNames: requestedNames }: EndpointQuery,
  visibility: PartialVisibility,
) =>
  requestedNames
    ? requestedNames.filter((name) => visibility.applicationNames.includes(name))
    : visibility.applicationNames

const singleEndpoints = (sql: Sql, { endpointIds }: PartialVisibility, readableApplications: string[]) => sql`
  e.endpoint_id = any(${endpointIds}::text[]) and e.application_name <> all(${readableApplications}::text[])`

interface IndexScan {
  where: Fragment
  /** The column that comes before `seq` in the order of the scan. */
  name: Fragment
}

const noName = (sql: Sql) => sql`''::text`

/**
 * Returns the requested and readable endpoints as ordered scans, each of one index. A name of an application or version is written as a
 * range and is part of the order. Otherwise the planner might scan the whole tenant, where the endpoints of a new application come last.
 */
function indexScansOf(sql: Sql, query: EndpointQuery): IndexScan[] {
  const { tenantId, visibility, applicationNames: requested, versionNames } = query
  const ofTenant = sql`e.tenant_id = ${tenantId}`
  const scanOf = (column: Fragment, name: string, also = sql``): IndexScan => ({
    where: sql`${ofTenant} and ${column} >= ${name} and ${column} <= ${name} ${also}`,
    name: column,
  })
  const readableApplications = visibility === 'all' ? requested : fullyReadableApplications(query, visibility)
  const names = versionNames ?? readableApplications
  if ((names && names.length > indexScansMax) || (readableApplications?.length === 0 && visibility === 'all'))
    return partsOf(sql, query).map((where) => ({ where, name: noName(sql) }))
  const ofApplications = readableApplications
    ? sql`and e.application_name = any(${readableApplications}::text[])`
    : sql``
  const scans = versionNames
    ? versionNames.map((name) => scanOf(sql`e.version_name`, name, ofApplications))
    : readableApplications?.map((name) => scanOf(sql`e.application_name`, name))
  if (visibility === 'all') return scans ?? [{ where: ofTenant, name: noName(sql) }]
  const rest = partsOf(sql, { ...query, visibility: { ...visibility, applicationNames: [] } })
  const singles = rest.map((where) => ({
    where: sql`${where} and e.application_name <> all(${readableApplications ?? []}::text[])`,
    name: noName(sql),
  }))
  return [...(readableApplications?.length === 0 ? [] : (scans ?? [])), ...singles]
}

const unionOf = (sql: Sql, parts: Fragment[]) => parts.reduce((before, part) => sql`${before} union all ${part}`)

/**
 * Returns `from … order by …` for a page over all parts. A single part is scanned directly. Of several parts, each contributes at most
 * `offset + limit` rows, and the rows of the page are then read by `ctid`, which is stable within one statement.
 */
function pageSql(
  sql: Sql,
  query: EndpointQuery,
  { offset, limit, after }: Page & { after?: number | undefined },
): Fragment {
  const scans = indexScansOf(sql, query)
  const scanSql = ({ where, name }: IndexScan, window: Fragment) => sql`
    from register.endpoints e where ${where} ${after === undefined ? sql`` : sql`and e.seq > ${after}`}
    order by ${name}, e.seq ${window}`
  const window = sql`offset ${offset}::bigint limit ${limit}::bigint`
  if (scans.length === 0) return sql`from register.endpoints e where false`
  if (scans.length === 1) return scanSql(scans[0]!, window)
  const parts = scans.map(
    (scan) => sql`(select e.seq, e.ctid as row_id ${scanSql(scan, sql`limit ${offset + limit}::bigint`)})`,
  )
  return byCtid(sql, sql`select row_id from (${unionOf(sql, parts)}) parts order by seq ${window}`)
}

/** Returns whether applications and versions are the only conditions of the query. */
export const isPlain = ({ endpointIds, filterIds, conditions, regex, directory, sort }: EndpointQuery) =>
  !endpointIds && !filterIds && conditions.length === 0 && regex === undefined && !directory && !sort

/**
 * Returns whether the query covers the whole tenant: it selects no applications, versions, ids or filters, and the caller may read
 * everything.
 */
export const isOfWholeTenant = ({
  visibility,
  applicationNames,
  versionNames,
  endpointIds,
  filterIds,
}: EndpointQuery) => visibility === 'all' && !applicationNames && !versionNames && !endpointIds && !filterIds

function conditionSql(sql: Sql, query: EndpointQuery): Fragment {
  const parts = conditionsSql(sql, query.conditions).map((condition) => sql`and (${condition})`)
  if (query.endpointIds) parts.push(sql`and e.endpoint_id = any(${query.endpointIds}::text[])`)
  if (query.after !== undefined) parts.push(sql`and e.seq > ${query.after}`)
  if (query.regex !== undefined) parts.push(sql`and ${regexSql(sql, query.regex)}`)
  if (query.directory) parts.push(directorySql(sql, query.directory))
  return parts.reduce((before, part) => sql`${before} ${part}`, sql``)
}

/**
 * Returns the conditions of the directory. Each condition is a semijoin: PostgreSQL makes one lookup for each endpoint of a page, or builds
 * one hash table for all endpoints.
 */
function directorySql(
  sql: Sql,
  { words, connections: states, activeAfter, activeBefore }: DirectoryConditions,
): Fragment {
  const row = (name: Fragment) => sql`select from ${name} r where r.tenant_id = e.tenant_id
    and r.application_name = e.application_name and r.seq = e.seq`
  const activity = row(sql`register.activity`)
  const parts = words.map((word) => sql`strpos(r.text, ${word}) > 0`)
  const has = parts.reduce<Fragment>((before, part) => sql`${before} and ${part}`, sql``)
  return sql`
    ${words.length > 0 ? sql`and exists (${row(sql`register.documents`)} ${has})` : sql``}
    ${states ? sql`and ${connectionSql(sql)} = any(${states.map(numberOfConnection)}::integer[])` : sql``}
    ${activeAfter ? sql`and exists (${activity} and r.at >= ${activeAfter})` : sql``}
    ${
      activeBefore
        ? sql`and not exists (${activity} and r.at >= ${activeBefore})
          and (e.created_date < ${activeBefore} or exists (${activity}))`
        : sql``
    }`
}

/**
 * Returns an SQL expression for the total. For whole applications it reads the stored counts; only endpoints that the caller may read by
 * grants on single endpoints are counted.
 */
function countedPlain(sql: Sql, query: EndpointQuery): Fragment {
  const { tenantId, visibility, applicationNames, versionNames } = query
  if (visibility === 'all') return endpointCountSql(sql, { tenantId, applicationNames, versionNames })
  const readableApplications = fullyReadableApplications(query, visibility)
  const single: EndpointQuery = { ...query, visibility: { applicationNames: [], endpointIds: visibility.endpointIds } }
  const counts = [
    ...(readableApplications.length > 0
      ? [endpointCountSql(sql, { tenantId, applicationNames: readableApplications, versionNames })]
      : []),
    ...partsOf(sql, single).map(
      (part) => sql`(select count(*) from register.endpoints e
        where ${part} and e.application_name <> all(${readableApplications}::text[]))`,
    ),
  ]
  return counts.reduce<Fragment>((before, one) => sql`${before} + ${one}`, sql`0::bigint`)
}

export async function countPlain(sql: Sql, query: EndpointQuery): Promise<number> {
  const [row] = await sql`select ${countedPlain(sql, query)} as total`
  return row?.total
}

const ordering = (sql: Sql, { sort }: EndpointQuery) =>
  sort ? sql`sorted_by ${sort.descending ? sql`desc` : sql`asc`} nulls last, seq` : sql`seq`

/** Returns the CTE `matched` with the number and `ctid` of each matching endpoint. */
function matched(sql: Sql, query: EndpointQuery, filters: FilterIndex): Fragment {
  const { tenantId, filterIds, membersOfFirst = 0, sort } = query
  const among = filterIds && filters.among(sql, tenantId, filterIds, membersOfFirst)
  const also = among && 'condition' in among ? sql`and ${among.condition}` : sql``
  const parts = partsOf(sql, query)
  const matches = (parts.length > 0 ? parts : [sql`false`]).map(
    (part) => sql`
      select e.seq, e.ctid as row_id ${sort ? sql`, ${jsonOf(sql, sort.key)} as sorted_by` : sql``}
      from register.endpoints e where ${part} ${also} ${conditionSql(sql, query)}`,
  )
  if (!among || 'condition' in among) return sql`matched as materialized (${unionOf(sql, matches)})`
  return sql`candidates as materialized (${unionOf(sql, matches)}),
    matched as materialized (${among.select(sql`candidates`)})`
}

export interface Texts {
  /** JSON texts of endpoints, joined by commas; null if there are no endpoints. */
  content: string | null
  count: number
  /** The number (`seq`) of the last endpoint. */
  last: number | null
}
export type Counted = Texts & { total: number }

/** Reads rows by `ctid`, without a second index lookup. */
const byCtid = (sql: Sql, ctids: Fragment) =>
  sql`from register.endpoints e where e.ctid = any(array(${ctids})) order by e.seq`

/** Returns a page and its total from the same snapshot. */
export async function findPlain(sql: Sql, query: EndpointQuery, page: Page, view: View): Promise<Counted> {
  const [row] = await sql<[Counted]>`
    ${textsOf(sql, view, pageSql(sql, query, page), countedPlain(sql, query))}`
  return row
}

/** Returns a page of the endpoints of a plain query with numbers (`seq`) greater than `after`. */
export async function findNext(
  sql: Sql,
  query: EndpointQuery,
  page: Page & { after: number },
  view: View,
): Promise<Texts> {
  const [row] = await sql<[Texts]>`${textsOf(sql, view, pageSql(sql, query, page))}`
  return row
}

const pageOfMembersSql = (sql: Sql, query: EndpointQuery, filters: FilterIndex, { offset, limit }: Page) =>
  filters.page(sql, query.tenantId, query.filterIds ?? [], { after: query.after ?? -1, offset, limit })

/** Returns a page of filter members. The query must have no other condition, and the caller must have permission to read all members. */
export async function findMembers(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: Page,
  view: View,
): Promise<Texts> {
  const numbers = pageOfMembersSql(sql, query, filters, page)
  const from = sql`from register.endpoints e
    where e.tenant_id = ${query.tenantId} and e.seq = any(array(${numbers})) order by e.seq`
  const [row] = await sql<[Texts]>`${textsOf(sql, view, from)}`
  return row
}

export async function countMembers(sql: Sql, query: EndpointQuery, filters: FilterIndex): Promise<number> {
  const [row] = await sql`select count(*) from (${filters.members(sql, query.tenantId, query.filterIds ?? [])}) m`
  return row?.count
}

/** Returns a page of the matching endpoints, and the number of all matching endpoints after `query.after`. */
export async function findMatching(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: Page,
  view: View,
): Promise<Counted> {
  const ctids = sql`
    select row_id from matched order by ${ordering(sql, query)} offset ${page.offset}::bigint limit ${page.limit}::bigint`
  const [row] = await sql<[Counted]>`
    with ${matched(sql, query, filters)}
      ${query.sort ? sql`, page as materialized (select row_id, row_number() over () as position from (${ctids}) p)` : sql``}
    ${textsOf(sql, view, query.sort ? ofPage(sql) : byCtid(sql, ctids), sql`(select count(*) from matched)`)}`
  return row
}

const ofPage = (sql: Sql) => sql`
  from register.endpoints e join page on page.row_id = e.ctid
  where e.ctid = any(array(select row_id from page)) order by page.position`

/** Returns the numbers of all matching endpoints as one text, such as `3,17,18`, for a streamed response. A million numbers take 8 MB. */
export async function findNumbers(sql: Sql, query: EndpointQuery, filters: FilterIndex, offset: number) {
  const [row] = await sql<{ total: number; numbers: string | null }[]>`
    with ${matched(sql, query, filters)},
    ordered as (select seq, row_number() over (order by ${ordering(sql, query)}) as position from matched)
    select (select count(*) from matched) as total,
      (select string_agg(seq::text, ',' order by position) from ordered where position > ${offset}) as numbers`
  return { total: row?.total ?? 0, numbers: row?.numbers ?? '' }
}

/** Returns endpoints in the given order. Endpoints that were deleted meanwhile are left out. */
export async function findByNumbers(sql: Sql, tenantId: string, numbers: number[], view: View): Promise<Texts> {
  const from = sql`
    from register.endpoints e join unnest(${numbers}::bigint[]) with ordinality as page(seq, position) on page.seq = e.seq
    where e.tenant_id = ${tenantId} and e.seq = any(${numbers}::bigint[]) order by page.position`
  const [row] = await sql<[Texts]>`${textsOf(sql, view, from)}`
  return row
}

/**
 * Returns the matching endpoints with numbers (`seq`) greater than `after`, in the order of registration. The scan stops when the page is
 * full.
 */
export async function findMatchingAfter(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: { after: number; limit: number },
  view: View,
): Promise<Texts> {
  const [row] = await sql<[Texts]>`${textsOf(sql, view, matchingAfterSql(sql, query, filters, page))}`
  return row
}

function matchingAfterSql(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  { after, limit }: { after: number; limit: number },
): Fragment {
  const { tenantId, filterIds } = query
  const conditions = conditionSql(sql, { ...query, after })
  const members = filterIds ? sql`and e.seq in (${filters.members(sql, tenantId, filterIds)})` : sql``
  const parts = partsOf(sql, query).map((part) => sql`(${part})`)
  const readable = parts.length > 0 ? parts.reduce((before, part) => sql`${before} or ${part}`) : sql`false`
  return sql`from register.endpoints e
    where e.tenant_id = ${tenantId} and (${readable}) ${members} ${conditions}
    order by e.seq limit ${limit}`
}

export interface RowAfter {
  endpointId: string
  seq: number
  applicationName: string
  versionName: string
  createdDate: Date
  metadata: Record<string, unknown>
  metadataUpdatedDate: Date | null
  connected: boolean | null
  connectivityTs: Date | null
}

/** Returns the rows of up to `limit` matching endpoints with numbers (`seq`) greater than `after`, in the order of registration. */
export async function findRowsAfter(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: { after: number; limit: number },
): Promise<RowAfter[]> {
  return await sql<RowAfter[]>`
    select e.endpoint_id, e.seq, e.application_name, e.version_name, e.created_date, e.metadata, e.metadata_updated_date,
      e.connected, e.connectivity_ts
    ${matchingAfterSql(sql, query, filters, page)}`
}

export interface EndpointText extends EndpointRef {
  /** JSON text. */
  content: string
}

export async function findText(sql: Sql, endpointId: string, view: View): Promise<EndpointText | undefined> {
  const [row] = await oneEndpointOf(sql, view, endpointId)
  return row && { ...row, content: textOfOne(row) }
}

/** Limits the time of statements that contain expressions of users. The limit ends with the transaction or with `resetTimeLimit`. */
export async function limitTime(sql: Sql, milliseconds: number) {
  await sql`select set_config('statement_timeout', ${String(milliseconds)}, true)`
}

export async function resetTimeLimit(sql: Sql) {
  await sql`set local statement_timeout to default`
}
