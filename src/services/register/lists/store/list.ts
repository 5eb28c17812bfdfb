/**
 * Lists of endpoints, in the order of registration. Two kinds: a plain list walks an index and takes its total from the
 * counts; any other question finds the numbers (`seq`) of all that match, once, and counts them.
 */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { EndpointRef } from '../../contract.ts'
import { countedEndpoints } from '../../endpoints/store/counts.ts'
import type { FilterIndex } from '../../filters/filter-index.ts'
import type { EndpointQuery, Sight } from '../query.ts'
import { conditionsSql, jsonOf, regexSql } from './conditions.ts'
import { oneTextOf, textsOf, type View } from './endpoint-json.ts'

export interface Page {
  offset: number
  limit: number
}

type SomeSight = Exclude<Sight, 'all'>

/** More names than these are not worth a walk each. */
const walksMax = 50

/** The parts of the tenant that are asked for and may be seen, none twice. */
function partsOf(sql: Sql, query: EndpointQuery): Fragment[] {
  const { tenantId, sight, applicationNames: asked, versionNames } = query
  const named = (applications: string[] | undefined) => sql`e.tenant_id = ${tenantId}
    ${applications ? sql`and e.application_name = any(${applications}::text[])` : sql``}
    ${versionNames ? sql`and e.version_name = any(${versionNames}::text[])` : sql``}`
  if (sight === 'all') return [named(asked)]
  const whole = wholeApplications(query, sight)
  return [
    ...(whole.length > 0 ? [named(whole)] : []),
    ...(sight.endpointIds.length > 0 ? [sql`${named(asked)} and ${singly(sql, sight, whole)}`] : []),
  ]
}

const wholeApplications = ({ applicationNames: asked }: EndpointQuery, sight: SomeSight) =>
  asked ? asked.filter((name) => sight.applicationNames.includes(name)) : sight.applicationNames

const singly = (sql: Sql, { endpointIds }: SomeSight, whole: string[]) => sql`
  e.endpoint_id = any(${endpointIds}::text[]) and e.application_name <> all(${whole}::text[])`

interface Walk {
  where: Fragment
  /** What it is ordered by before the number. */
  name: Fragment
}

const nameless = (sql: Sql) => sql`''::text`

/**
 * The same parts, each an ordered walk along one index. A name is asked for as a range and ordered by, though it is but one:
 * else the planner may walk along all of the tenant, where the first of a young application come last.
 */
function walksOf(sql: Sql, query: EndpointQuery): Walk[] {
  const { tenantId, sight, applicationNames: asked, versionNames } = query
  const own = sql`e.tenant_id = ${tenantId}`
  const along = (column: Fragment, name: string, also = sql``): Walk => ({
    where: sql`${own} and ${column} >= ${name} and ${column} <= ${name} ${also}`,
    name: column,
  })
  const whole = sight === 'all' ? asked : wholeApplications(query, sight)
  const names = versionNames ?? whole
  if ((names && names.length > walksMax) || (whole?.length === 0 && sight === 'all'))
    return partsOf(sql, query).map((where) => ({ where, name: nameless(sql) }))
  const ofApplications = whole ? sql`and e.application_name = any(${whole}::text[])` : sql``
  const walks = versionNames
    ? versionNames.map((name) => along(sql`e.version_name`, name, ofApplications))
    : whole?.map((name) => along(sql`e.application_name`, name))
  if (sight === 'all') return walks ?? [{ where: own, name: nameless(sql) }]
  const rest = partsOf(sql, { ...query, sight: { ...sight, applicationNames: [] } })
  const alone = rest.map((where) => ({
    where: sql`${where} and e.application_name <> all(${whole ?? []}::text[])`,
    name: nameless(sql),
  }))
  return [...(whole?.length === 0 ? [] : (walks ?? [])), ...alone]
}

const unionOf = (sql: Sql, parts: Fragment[]) => parts.reduce((before, part) => sql`${before} union all ${part}`)

/**
 * `from … order by …`: the first rows of all parts together. Of one part they are walked along; of several, no more of each
 * are looked at than could be among them, and those that are found by where they lie: within one statement no row moves.
 */
function firstOf(
  sql: Sql,
  query: EndpointQuery,
  { offset, limit, after }: Page & { after?: number | undefined },
): Fragment {
  const walks = walksOf(sql, query)
  const along = ({ where, name }: Walk, window: Fragment) => sql`
    from register.endpoints e where ${where} ${after === undefined ? sql`` : sql`and e.seq > ${after}`}
    order by ${name}, e.seq ${window}`
  const window = sql`offset ${offset}::bigint limit ${limit}::bigint`
  if (walks.length === 0) return sql`from register.endpoints e where false`
  if (walks.length === 1) return along(walks[0]!, window)
  const parts = walks.map(
    (walk) => sql`(select e.seq, e.ctid as place ${along(walk, sql`limit ${offset + limit}::bigint`)})`,
  )
  return lyingAt(sql, sql`select place from (${unionOf(sql, parts)}) parts order by seq ${window}`)
}

/** Nothing but applications and versions is asked for. */
export const isPlain = ({ endpointIds, filterIds, conditions, regex, sort }: EndpointQuery) =>
  !endpointIds && !filterIds && conditions.length === 0 && regex === undefined && !sort

/** Nothing but metadata is asked for, of all endpoints. */
export const isOfWholeTenant = ({ sight, applicationNames, versionNames, endpointIds, filterIds }: EndpointQuery) =>
  sight === 'all' && !applicationNames && !versionNames && !endpointIds && !filterIds

function conditionSql(sql: Sql, query: EndpointQuery): Fragment {
  const parts = conditionsSql(sql, query.conditions).map((condition) => sql`and (${condition})`)
  if (query.endpointIds) parts.push(sql`and e.endpoint_id = any(${query.endpointIds}::text[])`)
  if (query.regex !== undefined) parts.push(sql`and ${regexSql(sql, query.regex)}`)
  return parts.reduce((before, part) => sql`${before} ${part}`, sql``)
}

/** A number, without counting endpoints but those that the caller may see one by one. */
function countedPlain(sql: Sql, query: EndpointQuery): Fragment {
  const { tenantId, sight, applicationNames, versionNames } = query
  if (sight === 'all') return countedEndpoints(sql, { tenantId, applicationNames, versionNames })
  const whole = wholeApplications(query, sight)
  const single: EndpointQuery = { ...query, sight: { applicationNames: [], endpointIds: sight.endpointIds } }
  const counts = [
    ...(whole.length > 0 ? [countedEndpoints(sql, { tenantId, applicationNames: whole, versionNames })] : []),
    ...partsOf(sql, single).map(
      (part) => sql`(select count(*) from register.endpoints e
        where ${part} and e.application_name <> all(${whole}::text[]))`,
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

/** `matched as …`: the number and the place of each that matches. */
function matched(sql: Sql, query: EndpointQuery, filters: FilterIndex): Fragment {
  const { tenantId, filterIds, membersOfFirst = 0, sort } = query
  const among = filterIds && filters.among(sql, tenantId, filterIds, membersOfFirst)
  const also = among && 'condition' in among ? sql`and ${among.condition}` : sql``
  const parts = partsOf(sql, query)
  const found = (parts.length > 0 ? parts : [sql`false`]).map(
    (part) => sql`
      select e.seq, e.ctid as place ${sort ? sql`, ${jsonOf(sql, sort.key)} as sorted_by` : sql``}
      from register.endpoints e where ${part} ${also} ${conditionSql(sql, query)}`,
  )
  if (!among || 'condition' in among) return sql`matched as materialized (${unionOf(sql, found)})`
  return sql`candidates as materialized (${unionOf(sql, found)}),
    matched as materialized (${among.of(sql`candidates`)})`
}

export interface Texts {
  /** JSON texts of endpoints, joined by commas; null when there are none. */
  content: string | null
  count: number
  /** The number of the last of them. */
  last: number | null
}
export type Counted = Texts & { total: number }

/** No index is asked twice. */
const lyingAt = (sql: Sql, places: Fragment) =>
  sql`from register.endpoints e where e.ctid = any(array(${places})) order by e.seq`

/** The page and its total as of one moment. */
export async function findPlain(sql: Sql, query: EndpointQuery, page: Page, view: View): Promise<Counted> {
  const [found] = await sql<[Counted]>`
    ${textsOf(sql, view, firstOf(sql, query, page), countedPlain(sql, query))}`
  return found
}

/** `after`: only what comes after the row of this number. */
export async function findNext(
  sql: Sql,
  query: EndpointQuery,
  page: Page & { after: number },
  view: View,
): Promise<Texts> {
  const [found] = await sql<[Texts]>`${textsOf(sql, view, firstOf(sql, query, page))}`
  return found
}

const firstMembers = (sql: Sql, query: EndpointQuery, filters: FilterIndex, { offset, limit }: Page) =>
  filters.page(sql, query.tenantId, query.filterIds ?? [], { after: -1, offset, limit })

/** All that one or several filters match, when nothing else is asked for and all of it may be seen. */
export async function findMembers(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: Page,
  view: View,
): Promise<Texts> {
  const numbers = firstMembers(sql, query, filters, page)
  const from = sql`from register.endpoints e
    where e.tenant_id = ${query.tenantId} and e.seq = any(array(${numbers})) order by e.seq`
  const [found] = await sql<[Texts]>`${textsOf(sql, view, from)}`
  return found
}

export async function countMembers(sql: Sql, query: EndpointQuery, filters: FilterIndex): Promise<number> {
  const [row] = await sql`select count(*) from (${filters.members(sql, query.tenantId, query.filterIds ?? [])}) m`
  return row?.count
}

export async function findMatching(
  sql: Sql,
  query: EndpointQuery,
  filters: FilterIndex,
  page: Page,
  view: View,
): Promise<Counted> {
  const places = sql`
    select place from matched order by ${ordering(sql, query)} offset ${page.offset}::bigint limit ${page.limit}::bigint`
  const [found] = await sql<[Counted]>`
    with ${matched(sql, query, filters)}
      ${query.sort ? sql`, page as materialized (select place, row_number() over () as position from (${places}) p)` : sql``}
    ${textsOf(sql, view, query.sort ? ofPage(sql) : lyingAt(sql, places), sql`(select count(*) from matched)`)}`
  return found
}

const ofPage = (sql: Sql) => sql`
  from register.endpoints e join page on page.place = e.ctid
  where e.ctid = any(array(select place from page)) order by page.position`

/** For an answer without end: the numbers of all that match as one text, `3,17,18`; a million take 8 MB. */
export async function findNumbers(sql: Sql, query: EndpointQuery, filters: FilterIndex, offset: number) {
  const [row] = await sql<{ total: number; numbers: string | null }[]>`
    with ${matched(sql, query, filters)},
    ordered as (select seq, row_number() over (order by ${ordering(sql, query)}) as position from matched)
    select (select count(*) from matched) as total,
      (select string_agg(seq::text, ',' order by position) from ordered where position > ${offset}) as numbers`
  return { total: row?.total ?? 0, numbers: row?.numbers ?? '' }
}

/** In the order in which they are given; those that went meanwhile are missing. */
export async function findByNumbers(sql: Sql, tenantId: string, numbers: number[], view: View): Promise<Texts> {
  const from = sql`
    from register.endpoints e join unnest(${numbers}::bigint[]) with ordinality as page(seq, position) on page.seq = e.seq
    where e.tenant_id = ${tenantId} and e.seq = any(${numbers}::bigint[]) order by page.position`
  const [found] = await sql<[Texts]>`${textsOf(sql, view, from)}`
  return found
}

export interface EndpointText extends EndpointRef {
  content: string
}

export async function findText(sql: Sql, endpointId: string, view: View): Promise<EndpointText | undefined> {
  const [found] = await sql<EndpointText[]>`${oneTextOf(sql, view, endpointId)}`
  return found
}

/** For what a user's own expression may cost; until the transaction ends or the usual limit is set again. */
export async function limitTime(sql: Sql, milliseconds: number) {
  await sql`select set_config('statement_timeout', ${String(milliseconds)}, true)`
}

export async function limitTimeAsUsual(sql: Sql) {
  await sql`set local statement_timeout to default`
}
