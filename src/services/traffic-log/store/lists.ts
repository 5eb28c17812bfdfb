/** SQL that finds pages of traffic records; totals and large offsets use the counts of traffic_log.counts. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import {
  allTime,
  isEmpty,
  type Parts,
  partsOf,
  type Span,
  type TrafficQuery,
  usesCountsOnly,
} from '../traffic-query.ts'
import { fiveMinutesMs, hourMs } from './counts.ts'

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

export interface RecordPage {
  total: number
  rows: RecordRow[]
}

/** Up to this many endpoints, one index scan per endpoint is faster than one scan for all. */
const endpointScansMax = 10
/** Up to this many records, a scan is faster than finding the start of a page in the counts. */
const shortScanMax = 2000
/** Maximum number of uncounted records that the fast query counts itself. */
const tailMax = 200_000

const dateOf = (ms: number) => new Date(ms)
const isWithin = (sql: Sql, { from, to }: Span) => sql`r.created_at >= ${dateOf(from)} and r.created_at < ${dateOf(to)}`

/** Condition in the form that the expression index supports. */
const ofEndpoint = (sql: Sql, endpointId: string) => sql`
  hashtextextended(r.endpoint_id, 0) = hashtextextended(${endpointId}::text, 0) and r.endpoint_id = ${endpointId}`

const ofEndpoints = (sql: Sql, endpointIds: string[]) => sql`
  hashtextextended(r.endpoint_id, 0) = any(array(
    select hashtextextended(id, 0) from unnest(${endpointIds}::text[]) as id))
  and r.endpoint_id = any(${endpointIds}::text[])`

function endpointScans(sql: Sql, endpointIds: string[], also: Fragment): Fragment[] {
  if (endpointIds.length === 0) return []
  if (endpointIds.length > endpointScansMax) return [sql`${ofEndpoints(sql, endpointIds)} ${also}`]
  return endpointIds.map((id) => sql`${ofEndpoint(sql, id)} ${also}`)
}

/** Hides records of an earlier endpoint with the same id from callers with a permission on the single endpoint. */
const sinceRegistered = (sql: Sql, tenantId: string) => sql`
  and not exists (
    select from traffic_log.unregistered u
    where u.tenant_id = ${tenantId} and u.endpoint_id = r.endpoint_id and u.unregistered_at >= r.created_at)`

/** Returns disjoint conditions for the requested records that the caller may read; each is one index scan. */
function scansOf(sql: Sql, { tenantId, visibility, endpointIds: requestedIds }: TrafficQuery): Fragment[] {
  if (visibility === 'all') return requestedIds ? endpointScans(sql, requestedIds, sql``) : [sql`true`]
  const { applicationNames } = visibility
  const singleIds = requestedIds
    ? requestedIds.filter((id) => visibility.endpointIds.includes(id))
    : visibility.endpointIds
  const inOtherApplications = sql`and r.application_name <> all(${applicationNames}::text[]) ${sinceRegistered(sql, tenantId)}`
  const inApplications = sql`r.application_name = any(${applicationNames}::text[])`
  const applicationScans =
    applicationNames.length === 0
      ? []
      : requestedIds
        ? endpointScans(sql, requestedIds, sql`and ${inApplications}`)
        : [inApplications]
  return [...applicationScans, ...endpointScans(sql, singleIds, inOtherApplications)]
}

const conditions = (sql: Sql, query: TrafficQuery) => sql`
  r.tenant_id = ${query.tenantId}
  ${query.versionName ? sql`and r.version_name = ${query.versionName}` : sql``}
  ${query.extension ? sql`and r.extension = ${query.extension}` : sql``}
  ${query.requestId === undefined ? sql`` : sql`and r.request_id = ${query.requestId}`}
  ${query.resourcePath ? sql`and strpos(r.resource_path, ${query.resourcePath}) > 0` : sql``}
  ${query.payload ? sql`and strpos(r.payload, ${query.payload}) > 0` : sql``}`

const countSql = (sql: Sql, query: TrafficQuery, scan: Fragment, span: Span) => sql`
  (select count(*) from traffic_log.records r where ${conditions(sql, query)} and ${isWithin(sql, span)} and ${scan})`

/** The correlation id and direction order records of the same microsecond: of several nodes, or a message and its response. */
const ordering = (sql: Sql, { descending }: TrafficQuery) =>
  descending
    ? sql`created_at desc, correlation_id desc, outbound desc`
    : sql`created_at asc, correlation_id asc, outbound asc`

const recordColumns = (sql: Sql) => sql`
  r.created_at, r.request_id, r.outbound, r.tenant_id, r.endpoint_id, r.version_name, r.extension, r.correlation_id,
  r.resource_path, r.additional_metadata, r.payload`

async function findPage(sql: Sql, query: TrafficQuery, scans: Fragment[]): Promise<RecordRow[]> {
  const scanQuery = (where: Fragment, window: Fragment) => sql`
    select ${recordColumns(sql)} from traffic_log.records r where ${conditions(sql, query)} and ${isWithin(sql, query.span)} and ${where}
    order by ${ordering(sql, query)} ${window}`
  const window = sql`offset ${query.offset}::bigint limit ${query.limit}::bigint`
  if (scans.length === 0) return []
  if (scans.length === 1) return await sql<RecordRow[]>`${scanQuery(scans[0]!, window)}`
  const parts = scans
    .map((scan) => sql`(${scanQuery(scan, sql`limit ${query.offset + query.limit}::bigint`)})`)
    .reduce((before, part) => sql`${before} union all ${part}`)
  return await sql<RecordRow[]>`select * from (${parts}) parts order by ${ordering(sql, query)} ${window}`
}

const sumOf = (sql: Sql, parts: Fragment[]) =>
  parts.length === 0 ? sql`0` : parts.reduce((before, part) => sql`${before} + ${part}`)

async function findByScan(sql: Sql, query: TrafficQuery): Promise<RecordPage> {
  const scans = scansOf(sql, query)
  if (scans.length === 0) return { total: 0, rows: [] }
  const counts = scans.map((scan) => countSql(sql, query, scan, query.span))
  const [rows, [counted]] = await Promise.all([findPage(sql, query, scans), sql`select ${sumOf(sql, counts)} as total`])
  return { total: counted?.total, rows }
}

/** Selects counts of the whole tenant or of the visible applications. */
const countsSql = (
  sql: Sql,
  { tenantId, visibility, versionName, extension }: TrafficQuery,
  minutes: number,
  span: Span,
) => sql`
  from traffic_log.counts
  where tenant_id = ${tenantId} and minutes = ${minutes} and since >= ${dateOf(span.from)} and since < ${dateOf(span.to)}
  ${visibility === 'all' ? sql`` : sql`and application_name = any(${visibility.applicationNames}::text[])`}
  ${versionName ? sql`and version_name = ${versionName}` : sql``}
  ${extension ? sql`and extension = ${extension}` : sql``}`

const sumOfCountsSql = (sql: Sql, query: TrafficQuery, minutes: number, span: Span) =>
  sql`(select coalesce(sum(count), 0) ${countsSql(sql, query, minutes, span)})`

interface PartCounts {
  early: number
  counted: number
  late: number
}

/** Sums up hourly counts, five-minute counts at both ends, and the records that no bucket covers. */
async function countByBuckets(sql: Sql, query: TrafficQuery, parts: Parts, countedUntil: number): Promise<PartCounts> {
  const scan =
    query.visibility === 'all' ? sql`true` : sql`r.application_name = any(${query.visibility.applicationNames}::text[])`
  const outside = (span: Span) => {
    const { early, counted, late } = partsOf(span, countedUntil, fiveMinutesMs)
    return sumOf(sql, [
      ...(isEmpty(counted) ? [] : [sumOfCountsSql(sql, query, 5, counted)]),
      ...[early, late].filter((part) => !isEmpty(part)).map((part) => countSql(sql, query, scan, part)),
    ])
  }
  const hours = isEmpty(parts.counted) ? sql`0` : sumOfCountsSql(sql, query, 60, parts.counted)
  const [numbers] = await sql<[PartCounts]>`
    select ${outside(parts.early)} as early, ${hours} as counted, ${outside(parts.late)} as late`
  return numbers
}

/**
 * Narrows the span to the hours that contain the page, according to the counts. A page with a large offset, or of a version with
 * few records, is then found without scanning all records before it.
 */
async function narrowToHours(sql: Sql, query: TrafficQuery, parts: Parts, numbers: PartCounts): Promise<TrafficQuery> {
  const { descending } = query
  const [firstPart, lastPart] = descending ? [parts.late, parts.early] : [parts.early, parts.late]
  const countInFirstPart = descending ? numbers.late : numbers.early
  const pageEnd = query.offset + query.limit
  if (pageEnd <= countInFirstPart) return { ...query, span: firstPart }
  const [narrowed] = await sql<{ skipped: number | null; upTo: Date | null; lastIn: Date | null }[]>`
    select max(passed) filter (where passed <= ${query.offset - countInFirstPart}) as skipped,
      ${descending ? sql`min(since)` : sql`max(since)`} filter (where passed <= ${query.offset - countInFirstPart}) as up_to,
      ${descending ? sql`max(since)` : sql`min(since)`} filter (where passed >= ${pageEnd - countInFirstPart}) as last_in
    from (
      select since, sum(sum(count)::float8) over (order by since ${descending ? sql`desc` : sql`asc`}) as passed
      ${countsSql(sql, query, 60, parts.counted)} group by since) hours`
  const startsAfterFirstPart = query.offset >= countInFirstPart
  const offset = startsAfterFirstPart ? query.offset - countInFirstPart - (narrowed?.skipped ?? 0) : query.offset
  if (descending) {
    const to = startsAfterFirstPart ? (narrowed?.upTo?.getTime() ?? firstPart.from) : firstPart.to
    return { ...query, offset, span: { from: narrowed?.lastIn?.getTime() ?? lastPart.from, to } }
  }
  // The last hour ends where the counting is.
  const endOf = (since: Date) => Math.min(since.getTime() + hourMs, parts.counted.to)
  const from = startsAfterFirstPart ? (narrowed?.upTo ? endOf(narrowed.upTo) : firstPart.to) : firstPart.from
  return { ...query, offset, span: { from, to: narrowed?.lastIn ? endOf(narrowed.lastIn) : lastPart.to } }
}

const totalOf = ({ early, counted, late }: PartCounts) => early + counted + late

async function findByCounts(sql: Sql, query: TrafficQuery, countedUntil: number): Promise<RecordPage> {
  const parts = partsOf(query.span, countedUntil, hourMs)
  const counting = countByBuckets(sql, query, parts, countedUntil)
  const { visibility, versionName, extension, offset, limit } = query
  if (visibility === 'all' && !versionName && !extension && offset + limit <= shortScanMax) {
    const [numbers, rows] = await Promise.all([counting, findPage(sql, query, scansOf(sql, query))])
    return { total: totalOf(numbers), rows }
  }
  const numbers = await counting
  const total = totalOf(numbers)
  if (offset >= total) return { total, rows: [] }
  const pageQuery = total > shortScanMax ? await narrowToHours(sql, query, parts, numbers) : query
  return { total, rows: await findPage(sql, pageQuery, scansOf(sql, pageQuery)) }
}

/** Finds records for a caller who may read whole applications and single endpoints. */
async function findMixed(sql: Sql, query: TrafficQuery, countedUntil: number): Promise<RecordPage> {
  const scans = scansOf(sql, query)
  const [, ...singleEndpointScans] = scans
  const counts = singleEndpointScans.map((scan) => countSql(sql, query, scan, query.span))
  const [numbers, [ofSingleEndpoints], rows] = await Promise.all([
    countByBuckets(sql, query, partsOf(query.span, countedUntil, hourMs), countedUntil),
    sql`select ${sumOf(sql, counts)} as total`,
    findPage(sql, query, scans),
  ])
  return { total: totalOf(numbers) + ofSingleEndpoints?.total, rows }
}

/** Returns whether the query asks for the first pages of all records of a tenant. */
const isFirstPages = (query: TrafficQuery) =>
  usesCountsOnly(query) &&
  query.visibility === 'all' &&
  query.span === allTime &&
  !query.versionName &&
  !query.extension &&
  query.offset + query.limit <= shortScanMax

/**
 * Answers the most frequent query in one statement, without a transaction or time limit. Returns undefined for other queries, and
 * when too many records are not counted yet.
 */
export async function findFirstPages(sql: Sql, query: TrafficQuery): Promise<RecordPage | undefined> {
  if (!isFirstPages(query)) return undefined
  const { tenantId, offset, limit } = query
  const rows = await sql<(RecordRow & { counted: number; tail: number })[]>`
    select numbers.*, page.* from (
      select (select coalesce(sum(count), 0) from traffic_log.counts where tenant_id = ${tenantId} and minutes = 60) as counted,
        (select count(*) from (
          select from traffic_log.records
          where tenant_id = ${tenantId} and created_at >= (select counted_until from traffic_log.counting)
          limit ${tailMax}::bigint) tail) as tail) numbers
    left join (
      select ${recordColumns(sql)} from traffic_log.records r where r.tenant_id = ${tenantId}
      order by ${ordering(sql, query)} offset ${offset}::bigint limit ${limit}::bigint) page on true
    order by ${ordering(sql, query)}`
  const { counted, tail } = rows[0]!
  if (tail >= tailMax) return undefined
  return { total: counted + tail, rows: rows.filter(({ createdAt }) => createdAt !== null) }
}

/** Sets the time limit of a search transaction. Custom plans, because the best plan depends on the time span. */
export async function limitSearch(sql: Sql, milliseconds: number): Promise<{ countedUntil: number }> {
  const [row] = await sql`
    select counted_until, set_config('statement_timeout', ${String(milliseconds)}, true),
      set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)
    from traffic_log.counting`
  return { countedUntil: row?.countedUntil.getTime() }
}

export const snapshotReadOnly = 'isolation level repeatable read read only'

/** Finds a page of records and their total number. */
export function findRecords(sql: Sql, query: TrafficQuery, countedUntil: number): Promise<RecordPage> {
  const { visibility } = query
  if (!usesCountsOnly(query)) return findByScan(sql, query)
  if (visibility === 'all' || visibility.endpointIds.length === 0) return findByCounts(sql, query, countedUntil)
  return visibility.applicationNames.length === 0 ? findByScan(sql, query) : findMixed(sql, query, countedUntil)
}
