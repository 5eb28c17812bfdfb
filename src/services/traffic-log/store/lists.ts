import type { Fragment, Sql } from '../../../kernel/db.ts'
import { always, isEmpty, isPlain, type Parts, partsOf, type Span, type TrafficQuery } from '../question.ts'
import { hourMs, minutesMs } from './counts.ts'

export interface RecordRow {
  createdAt: Date
  requestId: number | null
  outbound: boolean
  tenantId: string
  endpointId: string
  versionName: string
  extension: string
  correlationId: string
  resourcePath: string
  additionalMetadata: string | null
  payload: string
}

export interface Found {
  total: number
  rows: RecordRow[]
}

/** More endpoints than these are not worth a walk each. */
const walksMax = 10
/** A walk over so many is quicker than a look into the counts for where a page begins. */
const shortWalk = 2000
/** What is not counted yet is seldom more. */
const tailMax = 200_000

const moment = (ms: number) => new Date(ms)
const within = (sql: Sql, { from, to }: Span) => sql`r.created_at >= ${moment(from)} and r.created_at < ${moment(to)}`

/** As the index has it. */
const ofEndpoint = (sql: Sql, endpointId: string) => sql`
  hashtextextended(r.endpoint_id, 0) = hashtextextended(${endpointId}::text, 0) and r.endpoint_id = ${endpointId}`

const ofEndpoints = (sql: Sql, endpointIds: string[]) => sql`
  hashtextextended(r.endpoint_id, 0) = any(array(
    select hashtextextended(id, 0) from unnest(${endpointIds}::text[]) as id))
  and r.endpoint_id = any(${endpointIds}::text[])`

function endpointWalks(sql: Sql, endpointIds: string[], also: Fragment): Fragment[] {
  if (endpointIds.length === 0) return []
  if (endpointIds.length > walksMax) return [sql`${ofEndpoints(sql, endpointIds)} ${also}`]
  return endpointIds.map((id) => sql`${ofEndpoint(sql, id)} ${also}`)
}

/** Whoever may see a single endpoint does not see what another one did under its id. */
const sinceRegistered = (sql: Sql, tenantId: string) => sql`
  and not exists (
    select from traffic_log.unregistered u
    where u.tenant_id = ${tenantId} and u.endpoint_id = r.endpoint_id and u.unregistered_at >= r.created_at)`

/** The parts of the tenant's records that are asked for and may be seen, none twice; each is a walk along one index. */
function walksOf(sql: Sql, { tenantId, sight, endpointIds: asked }: TrafficQuery): Fragment[] {
  if (sight === 'all') return asked ? endpointWalks(sql, asked, sql``) : [sql`true`]
  const { applicationNames } = sight
  const singly = asked ? asked.filter((id) => sight.endpointIds.includes(id)) : sight.endpointIds
  const elsewhere = sql`and r.application_name <> all(${applicationNames}::text[]) ${sinceRegistered(sql, tenantId)}`
  const inApplications = sql`r.application_name = any(${applicationNames}::text[])`
  const whole =
    applicationNames.length === 0
      ? []
      : asked
        ? endpointWalks(sql, asked, sql`and ${inApplications}`)
        : [inApplications]
  return [...whole, ...endpointWalks(sql, singly, elsewhere)]
}

const conditions = (sql: Sql, query: TrafficQuery) => sql`
  r.tenant_id = ${query.tenantId}
  ${query.versionName ? sql`and r.version_name = ${query.versionName}` : sql``}
  ${query.extension ? sql`and r.extension = ${query.extension}` : sql``}
  ${query.requestId === undefined ? sql`` : sql`and r.request_id = ${query.requestId}`}
  ${query.resourcePath ? sql`and strpos(r.resource_path, ${query.resourcePath}) > 0` : sql``}
  ${query.payload ? sql`and strpos(r.payload, ${query.payload}) > 0` : sql``}`

const count = (sql: Sql, query: TrafficQuery, walk: Fragment, span: Span) => sql`
  (select count(*) from traffic_log.records r where ${conditions(sql, query)} and ${within(sql, span)} and ${walk})`

/** Records of the same microsecond come from different processes, or are a message and its answer. */
const ordering = (sql: Sql, { descending }: TrafficQuery) =>
  descending
    ? sql`created_at desc, correlation_id desc, outbound desc`
    : sql`created_at asc, correlation_id asc, outbound asc`

const shown = (sql: Sql) => sql`
  r.created_at, r.request_id, r.outbound, r.tenant_id, r.endpoint_id, r.version_name, r.extension, r.correlation_id,
  r.resource_path, r.additional_metadata, r.payload`

async function page(sql: Sql, query: TrafficQuery, walks: Fragment[]): Promise<RecordRow[]> {
  const walk = (where: Fragment, window: Fragment) => sql`
    select ${shown(sql)} from traffic_log.records r where ${conditions(sql, query)} and ${within(sql, query.span)} and ${where}
    order by ${ordering(sql, query)} ${window}`
  const window = sql`offset ${query.offset}::bigint limit ${query.limit}::bigint`
  if (walks.length === 0) return []
  if (walks.length === 1) return await sql<RecordRow[]>`${walk(walks[0]!, window)}`
  const parts = walks
    .map((one) => sql`(${walk(one, sql`limit ${query.offset + query.limit}::bigint`)})`)
    .reduce((before, part) => sql`${before} union all ${part}`)
  return await sql<RecordRow[]>`select * from (${parts}) parts order by ${ordering(sql, query)} ${window}`
}

const sumOf = (sql: Sql, parts: Fragment[]) =>
  parts.length === 0 ? sql`0` : parts.reduce((before, part) => sql`${before} + ${part}`)

async function findScanning(sql: Sql, query: TrafficQuery): Promise<Found> {
  const walks = walksOf(sql, query)
  if (walks.length === 0) return { total: 0, rows: [] }
  const counts = walks.map((walk) => count(sql, query, walk, query.span))
  // Both are on their way together.
  const [rows, [counted]] = await Promise.all([page(sql, query, walks), sql`select ${sumOf(sql, counts)} as total`])
  return { total: counted?.total, rows }
}

/** Of all of the tenant, or of whole applications. */
const countedIn = (
  sql: Sql,
  { tenantId, sight, versionName, extension }: TrafficQuery,
  minutes: number,
  span: Span,
) => sql`
  from traffic_log.counts
  where tenant_id = ${tenantId} and minutes = ${minutes} and since >= ${moment(span.from)} and since < ${moment(span.to)}
  ${sight === 'all' ? sql`` : sql`and application_name = any(${sight.applicationNames}::text[])`}
  ${versionName ? sql`and version_name = ${versionName}` : sql``}
  ${extension ? sql`and extension = ${extension}` : sql``}`

const sumIn = (sql: Sql, query: TrafficQuery, minutes: number, span: Span) =>
  sql`(select coalesce(sum(count), 0) ${countedIn(sql, query, minutes, span)})`

interface Numbers {
  early: number
  counted: number
  late: number
}

/** Of whole hours, and of what is before and after them, where five minutes are counted and the rest is looked at. */
async function countPlain(sql: Sql, query: TrafficQuery, parts: Parts, countedUntil: number): Promise<Numbers> {
  const walk =
    query.sight === 'all' ? sql`true` : sql`r.application_name = any(${query.sight.applicationNames}::text[])`
  const outside = (span: Span) => {
    const { early, counted, late } = partsOf(span, countedUntil, minutesMs)
    return sumOf(sql, [
      ...(isEmpty(counted) ? [] : [sumIn(sql, query, 5, counted)]),
      ...[early, late].filter((part) => !isEmpty(part)).map((part) => count(sql, query, walk, part)),
    ])
  }
  const hours = isEmpty(parts.counted) ? sql`0` : sumIn(sql, query, 60, parts.counted)
  const [numbers] = await sql<[Numbers]>`
    select ${outside(parts.early)} as early, ${hours} as counted, ${outside(parts.late)} as late`
  return numbers
}

/**
 * The same page within the few hours that it lies in: a page far back does not walk over all that is before it, and where the
 * records of a version are few, not over those of the others.
 */
async function narrowed(sql: Sql, query: TrafficQuery, parts: Parts, numbers: Numbers): Promise<TrafficQuery> {
  const { descending } = query
  const [near, far] = descending ? [parts.late, parts.early] : [parts.early, parts.late]
  const before = descending ? numbers.late : numbers.early
  const last = query.offset + query.limit
  if (last <= before) return { ...query, span: near }
  const [found] = await sql<{ skipped: number | null; upTo: Date | null; lastIn: Date | null }[]>`
    select max(passed) filter (where passed <= ${query.offset - before}) as skipped,
      ${descending ? sql`min(since)` : sql`max(since)`} filter (where passed <= ${query.offset - before}) as up_to,
      ${descending ? sql`max(since)` : sql`min(since)`} filter (where passed >= ${last - before}) as last_in
    from (
      select since, sum(sum(count)::float8) over (order by since ${descending ? sql`desc` : sql`asc`}) as passed
      ${countedIn(sql, query, 60, parts.counted)} group by since) hours`
  const skips = query.offset >= before
  const offset = skips ? query.offset - before - (found?.skipped ?? 0) : query.offset
  if (descending) {
    const to = skips ? (found?.upTo?.getTime() ?? near.from) : near.to
    return { ...query, offset, span: { from: found?.lastIn?.getTime() ?? far.from, to } }
  }
  // The last hour ends where the counting is.
  const endOf = (since: Date) => Math.min(since.getTime() + hourMs, parts.counted.to)
  const from = skips ? (found?.upTo ? endOf(found.upTo) : near.to) : near.from
  return { ...query, offset, span: { from, to: found?.lastIn ? endOf(found.lastIn) : far.to } }
}

const sum = ({ early, counted, late }: Numbers) => early + counted + late

async function findPlain(sql: Sql, query: TrafficQuery, countedUntil: number): Promise<Found> {
  const parts = partsOf(query.span, countedUntil, hourMs)
  const counting = countPlain(sql, query, parts, countedUntil)
  const { sight, versionName, extension, offset, limit } = query
  if (sight === 'all' && !versionName && !extension && offset + limit <= shortWalk) {
    const [numbers, rows] = await Promise.all([counting, page(sql, query, walksOf(sql, query))])
    return { total: sum(numbers), rows }
  }
  const numbers = await counting
  const total = sum(numbers)
  if (offset >= total) return { total, rows: [] }
  const asked = total > shortWalk ? await narrowed(sql, query, parts, numbers) : query
  return { total, rows: await page(sql, asked, walksOf(sql, asked)) }
}

/** Somebody who may see applications and single endpoints beside them. */
async function findMixed(sql: Sql, query: TrafficQuery, countedUntil: number): Promise<Found> {
  const walks = walksOf(sql, query)
  const [, ...single] = walks
  const counts = single.map((walk) => count(sql, query, walk, query.span))
  const [numbers, [singly], rows] = await Promise.all([
    countPlain(sql, query, partsOf(query.span, countedUntil, hourMs), countedUntil),
    sql`select ${sumOf(sql, counts)} as total`,
    page(sql, query, walks),
  ])
  return { total: sum(numbers) + singly?.total, rows }
}

/** The first pages of everything of a tenant. */
const isFirst = (query: TrafficQuery) =>
  isPlain(query) &&
  query.sight === 'all' &&
  query.span === always &&
  !query.versionName &&
  !query.extension &&
  query.offset + query.limit <= shortWalk

/**
 * What is asked for most often, in one statement, which needs neither a transaction nor a limit of time. Undefined: the question is
 * another one, or the counting is far behind.
 */
export async function findFirst(sql: Sql, query: TrafficQuery): Promise<Found | undefined> {
  if (!isFirst(query)) return undefined
  const { tenantId, offset, limit } = query
  const rows = await sql<(RecordRow & { counted: number; tail: number })[]>`
    select numbers.*, page.* from (
      select (select coalesce(sum(count), 0) from traffic_log.counts where tenant_id = ${tenantId} and minutes = 60) as counted,
        (select count(*) from (
          select from traffic_log.records
          where tenant_id = ${tenantId} and created_at >= (select counted_until from traffic_log.counting)
          limit ${tailMax}::bigint) tail) as tail) numbers
    left join (
      select ${shown(sql)} from traffic_log.records r where r.tenant_id = ${tenantId}
      order by ${ordering(sql, query)} offset ${offset}::bigint limit ${limit}::bigint) page on true
    order by ${ordering(sql, query)}`
  const { counted, tail } = rows[0]!
  if (tail >= tailMax) return undefined
  return { total: counted + tail, rows: rows.filter(({ createdAt }) => createdAt !== null) }
}

/** Opens a transaction of `oneMoment`. Spans of time decide the plans, so they are made anew for each question. */
export async function begin(sql: Sql, milliseconds: number): Promise<{ countedUntil: number }> {
  const [row] = await sql`
    select counted_until, set_config('statement_timeout', ${String(milliseconds)}, true),
      set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)
    from traffic_log.counting`
  return { countedUntil: row?.countedUntil.getTime() }
}

export const oneMoment = 'isolation level repeatable read read only'

/** A page and how many there are in all. */
export function findRecords(sql: Sql, query: TrafficQuery, countedUntil: number): Promise<Found> {
  const { sight } = query
  if (!isPlain(query)) return findScanning(sql, query)
  if (sight === 'all' || sight.endpointIds.length === 0) return findPlain(sql, query, countedUntil)
  return sight.applicationNames.length === 0 ? findScanning(sql, query) : findMixed(sql, query, countedUntil)
}
