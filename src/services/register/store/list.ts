/**
 * Lists of endpoints, in the order of registration. Two kinds: a plain list walks an index and takes its total from the
 * counts; any other question finds the numbers (`seq`) of all that match, once, and counts them.
 */
import type { Sql } from '../../../kernel/db.ts'
import type { FilterIndex } from '../filter-index.ts'
import type { EndpointQuery } from '../query.ts'
import { conditionSql, jsonOf, regexSql } from './conditions.ts'
import { countEndpoints } from './counts.ts'
import type { Fragment } from './fragment.ts'

/** Which metadata a row holds. */
export type View = 'none' | 'all' | string[]

export interface ListRow {
  endpointId: string
  seq: number
  applicationName: string
  versionName: string
  versionRegisteredDate: Date
  createdDate: Date
  poolIds: string[]
  /** JSON text. */
  metadata?: string
  metadataUpdatedDate?: Date | null
  connected?: boolean | null
  connectivityTs?: Date | null
}

const columns = (sql: Sql, view: View): Fragment => sql`e.endpoint_id, e.seq, e.application_name, e.version_name,
  e.version_registered_date, e.created_date, e.pool_ids
  ${view === 'none' ? sql`` : sql`, e.metadata_updated_date, e.connected, e.connectivity_ts`}
  ${view === 'none' ? sql`` : view === 'all' ? sql`, e.metadata::text as metadata` : sql`, ${picked(sql, view)}`}`

const picked = (sql: Sql, keys: string[]) => sql`coalesce((
  select jsonb_object_agg(key, e.metadata -> key) from unnest(${keys}::text[]) as key where e.metadata ? key
  ), '{}')::text as metadata`

/** More names than these are not worth a walk each. */
const walksMax = 50

/**
 * The parts of the tenant that are asked for and may be seen, none twice. `walks`: each of them is an ordered walk along
 * one index; names given twice would be walked twice.
 */
function partsOf(sql: Sql, query: EndpointQuery, { walks }: { walks: boolean }): Fragment[] {
  const { tenantId, sight, applicationNames: asked, versionNames } = query
  const own = sql`e.tenant_id = ${tenantId}`
  const within = (names: string[] | undefined): Fragment[] => {
    const applications = names ? sql`and e.application_name = any(${names}::text[])` : sql``
    if (names?.length === 0) return []
    if (versionNames)
      return walks && versionNames.length <= walksMax
        ? versionNames.map((name) => sql`${own} and e.version_name = ${name} ${applications}`)
        : [sql`${own} and e.version_name = any(${versionNames}::text[]) ${applications}`]
    if (walks && names && names.length <= walksMax)
      return names.map((name) => sql`${own} and e.application_name = ${name}`)
    return [sql`${own} ${applications}`]
  }
  if (sight === 'all') return within(asked)
  const whole = asked ? asked.filter((name) => sight.applicationNames.includes(name)) : sight.applicationNames
  const parts = within(whole)
  if (sight.endpointIds.length > 0)
    parts.push(sql`${own} and e.endpoint_id = any(${sight.endpointIds}::text[])
      and e.application_name <> all(${whole}::text[])
      ${asked ? sql`and e.application_name = any(${asked}::text[])` : sql``}
      ${versionNames ? sql`and e.version_name = any(${versionNames}::text[])` : sql``}`)
  return parts
}

function source(sql: Sql, query: EndpointQuery): Fragment {
  const part = (where: Fragment) => sql`select e.*, e.ctid as place from register.endpoints e where ${where}`
  const parts = partsOf(sql, query, { walks: false }).map(part)
  if (parts.length === 0) return sql`(${part(sql`false`)}) e`
  return sql`(${unionOf(sql, parts)}) e`
}

const unionOf = (sql: Sql, parts: Fragment[]) => parts.reduce((before, part) => sql`${before} union all ${part}`)

/** The first numbers of all parts together: of each part no more than could be among them. */
function firstNumbers(
  sql: Sql,
  query: EndpointQuery,
  { offset, limit, after = -1 }: Page & { after?: number },
): Fragment {
  const parts = partsOf(sql, query, { walks: true }).map(
    (where) => sql`(select e.seq from register.endpoints e where ${where} and e.seq > ${after}
      order by e.seq limit ${offset + limit})`,
  )
  if (parts.length === 0) return sql`select 0::bigint as seq where false`
  return sql`select seq from (${unionOf(sql, parts)}) parts order by seq offset ${offset} limit ${limit}`
}

/** Nothing but applications and versions is asked for. */
export const isPlain = ({ endpointIds, filterIds, conditions, regex, sort }: EndpointQuery) =>
  !endpointIds && !filterIds && conditions.length === 0 && regex === undefined && !sort

function filterSql(sql: Sql, query: EndpointQuery, filters: FilterIndex): Fragment {
  const parts = query.conditions.map((condition) => sql`and (${conditionSql(sql, condition)})`)
  if (query.endpointIds) parts.push(sql`and e.endpoint_id = any(${query.endpointIds}::text[])`)
  if (query.filterIds) parts.push(sql`and e.seq in (${filters.members(sql, query.tenantId, query.filterIds)})`)
  if (query.regex !== undefined) parts.push(sql`and ${regexSql(sql, query.regex)}`)
  return parts.reduce((before, part) => sql`${before} ${part}`, sql`true`)
}

/** Without counting endpoints, but those that the caller may see one by one. */
export async function countPlain(sql: Sql, query: EndpointQuery): Promise<number> {
  const { tenantId, sight, applicationNames, versionNames } = query
  if (sight === 'all') return await countEndpoints(sql, { tenantId, applicationNames, versionNames })
  const whole = sight.applicationNames.filter((name) => !applicationNames || applicationNames.includes(name))
  const [inApplications, single] = await Promise.all([
    countEndpoints(sql, { tenantId, applicationNames: whole, versionNames }),
    countOne(sql, { ...query, sight: { applicationNames: [], endpointIds: sight.endpointIds } }, whole),
  ])
  return inApplications + single
}

async function countOne(sql: Sql, query: EndpointQuery, without: string[]): Promise<number> {
  const [row] = await sql`
    select count(*) from ${source(sql, query)} where e.application_name <> all(${without}::text[])`
  return row?.count
}

const ordering = (sql: Sql, { sort }: EndpointQuery) =>
  sort ? sql`sorted_by ${sort.descending ? sql`desc` : sql`asc`} nulls last, seq` : sql`seq`

const matched = (sql: Sql, query: EndpointQuery, filters: FilterIndex) => sql`
  select e.seq, e.place ${query.sort ? sql`, ${jsonOf(sql, query.sort.key)} as sorted_by` : sql``}
  from ${source(sql, query)} where ${filterSql(sql, query, filters)}`

export interface Page {
  offset: number
  limit: number
}

/** The rows of a few numbers: by `any`, so that the plan never depends on a guess at how many there are. */
const rowsOfPage = (sql: Sql, tenantId: string, view: View) => sql`
  select ${columns(sql, view)}
  from register.endpoints e join page on page.seq = e.seq
  where e.tenant_id = ${tenantId} and e.seq = any(array(select seq from page))
  order by page.position`

/** `after`: only what comes after the row of this number. */
export async function findPlain(
  sql: Sql,
  query: EndpointQuery,
  page: Page & { after?: number },
  view: View,
): Promise<ListRow[]> {
  return await sql<ListRow[]>`
    with page as materialized (select seq, row_number() over () as position from (${firstNumbers(sql, query, page)}) p)
    ${rowsOfPage(sql, query.tenantId, view)}`
}

/** All that one or several filters match, when nothing else is asked for and all of it may be seen. */
export async function findMembers(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: Page,
  view: View,
): Promise<ListRow[]> {
  return await sql<ListRow[]>`
    with page as materialized (
      select seq, row_number() over () as position from (
        select seq from (${filters.members(sql, query.tenantId, query.filterIds ?? [])}) m
        order by seq offset ${page.offset} limit ${page.limit}) p)
    ${rowsOfPage(sql, query.tenantId, view)}`
}

export async function countMembers(sql: Sql, query: EndpointQuery, filters: FilterIndex): Promise<number> {
  const [row] = await sql`select count(*) from (${filters.members(sql, query.tenantId, query.filterIds ?? [])}) m`
  return row?.count
}

/** Found by where they lie: within one statement no row moves, and no index is asked twice. */
export async function findMatching(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: Page,
  view: View,
): Promise<{ total: number; rows: ListRow[] }> {
  const rows = await sql<(ListRow & { total: number })[]>`
    with matched as materialized (${matched(sql, query, filters)}),
    page as materialized (
      select seq, place, row_number() over () as position from (
        select seq, place from matched order by ${ordering(sql, query)} offset ${page.offset} limit ${page.limit}) p)
    select ${columns(sql, view)}, (select count(*) from matched) as total
    from register.endpoints e join page on page.seq = e.seq
    where e.ctid = any(array(select place from page)) order by page.position`
  const [first] = rows
  if (first) return { total: first.total, rows }
  if (page.offset === 0) return { total: 0, rows }
  const [row] = await sql`select count(*) from (${matched(sql, query, filters)}) counted`
  return { total: row?.count, rows }
}

/** For an answer without end: the numbers of all that match as one text, `3,17,18`; a million take 8 MB. */
export async function findNumbers(sql: Sql, query: EndpointQuery, filters: FilterIndex, offset: number) {
  const [row] = await sql<{ total: number; numbers: string | null }[]>`
    with matched as materialized (${matched(sql, query, filters)}),
    ordered as (select seq, row_number() over (order by ${ordering(sql, query)}) as position from matched)
    select (select count(*) from matched) as total,
      (select string_agg(seq::text, ',' order by position) from ordered where position > ${offset}) as numbers`
  return { total: row?.total ?? 0, numbers: row?.numbers ?? '' }
}

export async function findByNumbers(sql: Sql, tenantId: string, numbers: number[], view: View): Promise<ListRow[]> {
  return await sql<ListRow[]>`
    select ${columns(sql, view)} from register.endpoints e
    where e.tenant_id = ${tenantId} and e.seq = any(${numbers}::bigint[])`
}

/** For what a user's own expression may cost; until the transaction ends. */
export async function limitTime(sql: Sql, milliseconds: number) {
  await sql`select set_config('statement_timeout', ${String(milliseconds)}, true)`
}
