import { type ConcurrencyLimit, createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { contentPageStream, contentPageText } from '../../../kernel/json-text.ts'
import { tenantToRead, visibilityOf } from '../access.ts'
import { requireActiveFilters } from '../filters/active-filters.ts'
import type { FilterIndex, FilterSummary } from '../filters/filter-index.ts'
import { cursorOf, type Position, positionOf } from './cursor.ts'
import type { Condition, EndpointQuery, Key } from './query.ts'
import { createListConnections, type ListConnections } from './reading.ts'
import { type FieldNames, scanningField } from './scanning.ts'
import type { View } from './store/endpoint-json.ts'
import * as store from './store/list.ts'

export interface ListRequest {
  tenantId?: string | undefined
  applicationNames?: string[] | undefined
  versionNames?: string[] | undefined
  endpointIds?: string[] | undefined
  filterIds?: string[] | undefined
  conditions: Condition[]
  regex?: string | undefined
  sort?: { key: Key; descending: boolean } | undefined
  fields: FieldNames
  view: { metadata: View['metadata']; filters: boolean }
  offset: number
  /** Maximum number of endpoints to return; 0 means no limit. */
  limit: number
  /** Cursor of the page; empty for the first page. If undefined, the caller pages by `offset` and gets no cursor. */
  cursor: string | undefined
}

export interface ListOperations {
  /** Returns the response as one text with its ETag, or as a stream of texts if it is long. */
  list(ctx: Ctx, request: ListRequest): Promise<Document | AsyncIterable<string>>
}

/** Maximum number of endpoints that are read at a time. Longer responses are streamed. */
export const pageMax = 1000
/**
 * If at least this many endpoints match, a page after a cursor reads endpoints in order until the page is full. If fewer match, it first
 * finds all remaining matches, because they can be far apart in that order.
 */
const denseTotal = 20_000
const scanMilliseconds = 10_000
const scanLimits = { perTenant: 2, total: 4, waitingPerTenant: 20 }

interface Deps {
  db: Db
  reading: ListConnections
  scans: ConcurrencyLimit
  filters: FilterIndex
}

export function createListOperations({ db, log }: Kit, filters: FilterIndex): ListOperations {
  const deps: Deps = { db, reading: createListConnections(db, log), scans: createConcurrencyLimit(scanLimits), filters }
  return { list: (ctx, request) => list(deps, ctx, request) }
}

async function list(deps: Deps, ctx: Ctx, request: ListRequest): Promise<Document | AsyncIterable<string>> {
  const tenantId = tenantToRead(ctx, request.tenantId)
  const position = request.cursor ? positionOf(request.cursor, request.sort !== undefined) : undefined
  const query: EndpointQuery = {
    tenantId,
    visibility: visibilityOf(ctx, tenantId),
    applicationNames: uniqueValues(request.applicationNames),
    versionNames: uniqueValues(request.versionNames),
    endpointIds: uniqueValues(request.endpointIds),
    filterIds: uniqueValues(request.filterIds),
    conditions: request.conditions,
    regex: request.regex,
    sort: request.sort,
    after: position?.after,
  }
  const window: ListWindow = { ...request, offset: position?.offset ?? request.offset, position }
  const fitsOnePage = request.limit !== 0 && request.limit <= pageMax
  if (fitsOnePage && query.visibility === 'all' && query.filterIds?.length === 1 && isFilterOnly(query, []))
    return documentOfPage(window, await pageOfFilter(deps, query, window))
  const summaries = await activeFiltersOf(deps, query, request.fields.filters)
  // The smallest filter comes first, because its members are read and the other filters are only checked.
  summaries.sort(byMemberCount)
  if (summaries.length > 0) query.filterIds = summaries.map(({ filterId }) => filterId)
  query.membersOfFirst = summaries[0]?.matchedEndpointsCount
  if (!fitsOnePage) return await longPageOf(deps, ctx, query, window)
  return documentOfPage(window, await pageOf(deps, ctx, query, summaries, window))
}

/** A request with the position that its cursor contains. If there is a cursor, `offset` comes from the cursor. */
type ListWindow = ListRequest & { position: Position | undefined }

const documentOfPage = (window: ListWindow, page: store.Counted) =>
  documentOf(contentPageText(page.total, [page.content ?? ''], nextCursor(window, page)))

/** Returns the cursor after a page. It is undefined after the last page, and for callers that page by `offset`. */
function nextCursor(
  { cursor, limit, offset, sort, position }: ListWindow,
  { count, last, total }: Omit<store.Counted, 'content'>,
): string | undefined {
  if (cursor === undefined || limit === 0 || count < limit || last === null) return undefined
  if (position?.after === undefined && offset + count >= total) return undefined
  return cursorOf({ after: sort ? undefined : last, offset: offset + count, total })
}

const viewOf = ({ filters }: Deps, { view }: ListRequest): View => ({
  ...view,
  filters: view.filters ? filters : undefined,
})

/** Runs a search. A search that reads every endpoint has a time limit, and only few such searches run at the same time. */
async function runLimited<T>(
  { db, reading, scans }: Deps,
  ctx: Ctx,
  query: EndpointQuery,
  { fields }: ListRequest,
  work: (sql: Sql, isScan: boolean) => Promise<T>,
): Promise<T> {
  const field = scanningField(query, fields)
  if (!field) return await work(reading.forSearches(query), false)
  const search = async () => {
    try {
      return await db.tx(async (sql) => {
        await store.limitTime(sql, scanMilliseconds)
        return await work(sql, true)
      })
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (code === invalidRegexCode) throw invalidField(field, 'a pattern is too complex: its repetitions multiply')
      if (code !== statementTimeoutCode) throw error
      throw invalidField(
        field,
        `the search took longer than ${scanMilliseconds / 1000} s and was given up; narrow the search`,
      )
    }
  }
  return await scans.run(query.tenantId, search, ctx)
}

async function activeFiltersOf({ db, filters }: Deps, query: EndpointQuery, field: string): Promise<FilterSummary[]> {
  const { tenantId, visibility, filterIds } = query
  return filterIds
    ? await requireActiveFilters({ filters, sql: db.sql }, { tenantId, visibility, filterIds }, field)
    : []
}

/** Reads the filter and its members at the same time. For a filter that is not active, the second statement finds no members. */
async function pageOfFilter(deps: Deps, query: EndpointQuery, window: ListWindow): Promise<store.Counted> {
  const [[filter], found] = await Promise.all([
    activeFiltersOf(deps, query, window.fields.filters),
    store.findMembers(deps.reading.forIndexScans, query, deps.filters, window, viewOf(deps, window)),
  ])
  return { ...found, total: filter?.matchedEndpointsCount ?? 0 }
}

async function pageOf(
  deps: Deps,
  ctx: Ctx,
  query: EndpointQuery,
  summaries: FilterSummary[],
  window: ListWindow,
): Promise<store.Counted> {
  const { db, reading, filters } = deps
  const { after, total: knownTotal } = window.position ?? {}
  const view = viewOf(deps, window)
  if (store.isPlain(query)) {
    if (after === undefined) return await store.findPlain(reading.forIndexScans, query, window, view)
    const found = await store.findNext(reading.forIndexScans, query, { ...window, after }, view)
    return { ...found, total: knownTotal! }
  }
  if (isFilterOnly(query, summaries)) {
    const [total, found] = await Promise.all([
      knownTotal ??
        (summaries.length === 1 ? summaries[0]!.matchedEndpointsCount : store.countMembers(db.sql, query, filters)),
      store.findMembers(reading.forIndexScans, query, filters, window, view),
    ])
    return { ...found, total }
  }
  return await runLimited(deps, ctx, query, window, async (sql, isScan) => {
    if (after !== undefined && (isScan || knownTotal! >= denseTotal)) {
      // This statement is planned for its values: a cached plan would not consider that few endpoints are read before the page is full.
      const found = await store.findMatchingAfter(isScan ? sql : db.sql, query, filters, { ...window, after }, view)
      return { ...found, total: knownTotal! }
    }
    const found = await store.findMatching(sql, query, filters, window, view)
    return { ...found, total: knownTotal ?? found.total }
  })
}

/** Returns a page of any length: one text with its ETag if few endpoints match, otherwise a stream. */
async function longPageOf(
  deps: Deps,
  ctx: Ctx,
  query: EndpointQuery,
  window: ListWindow,
): Promise<Document | AsyncIterable<string>> {
  const { reading, filters } = deps
  const read: Read = { count: 0, last: null }
  const stream = (total: number, texts: AsyncIterable<string>) =>
    contentPageStream(total, texts, () => nextCursor(window, { ...read, total }))
  if (store.isPlain(query)) {
    const total = window.position?.total ?? (await store.countPlain(reading.forIndexScans, query))
    if (!window.position && total <= pageMax) {
      const short = { ...window, limit: pageMax }
      const page = await store.findPlain(reading.forIndexScans, query, short, viewOf(deps, window))
      // If endpoints were registered meanwhile, the page may no longer fit.
      if (page.total <= pageMax) return documentOfPage(window, page)
    }
    return stream(total, streamPlainList(deps, query, window, read))
  }
  const { total, numbers } = await runLimited(deps, ctx, query, window, (sql) =>
    store.findNumbers(sql, query, filters, window.offset),
  )
  if (!window.position && total <= pageMax) {
    const texts = await store.findByNumbers(
      reading.forIndexScans,
      query.tenantId,
      numbersOf(numbers),
      viewOf(deps, window),
    )
    return documentOfPage(window, { ...texts, total })
  }
  return stream(window.position?.total ?? total, streamByNumbers(deps, query.tenantId, numbers, window, read))
}

/** The endpoints that a stream has read so far. */
type Read = Pick<store.Texts, 'count' | 'last'>

/** Reads page by page, so that no connection is held while a slow client reads the response. */
async function* streamPlainList(deps: Deps, query: EndpointQuery, window: ListWindow, read: Read) {
  const view = viewOf(deps, window)
  let remaining = window.limit || Number.POSITIVE_INFINITY
  let [after, offset] = [query.after ?? -1, window.offset]
  while (remaining > 0) {
    const limit = Math.min(pageMax, remaining)
    const texts = await store.findNext(deps.reading.forIndexScans, query, { after, offset, limit }, view)
    if (texts.count > 0) yield texts.content ?? ''
    read.count += texts.count
    read.last = texts.last
    if (texts.count < limit) return
    remaining -= texts.count
    after = texts.last!
    offset = 0
  }
}

const numbersOf = (text: string) => (text === '' ? [] : text.split(',').map(Number))

async function* streamByNumbers(deps: Deps, tenantId: string, numbers: string, window: ListWindow, read: Read) {
  const view = viewOf(deps, window)
  let remaining = window.limit || Number.POSITIVE_INFINITY
  for (let position = 0; position < numbers.length && remaining > 0; ) {
    const page: number[] = []
    while (page.length < Math.min(pageMax, remaining) && position < numbers.length) {
      const comma = numbers.indexOf(',', position)
      const end = comma < 0 ? numbers.length : comma
      page.push(Number(numbers.slice(position, end)))
      position = end + 1
    }
    const texts = await store.findByNumbers(deps.reading.forIndexScans, tenantId, page, view)
    if (texts.count > 0) yield texts.content ?? ''
    read.count += page.length
    read.last = page.at(-1)!
    remaining -= page.length
  }
}

const byMemberCount = (one: FilterSummary, other: FilterSummary) =>
  one.matchedEndpointsCount - other.matchedEndpointsCount

/** PostgreSQL's error code for a statement that exceeded its time limit. */
const statementTimeoutCode = '57014'
/** PostgreSQL's error code for an invalid regular expression. */
const invalidRegexCode = '2201B'

const uniqueValues = (values: string[] | undefined) => {
  if (values && values.length > 1000)
    throw InvalidRequest({ problem: 'expected at most 1000 values for one parameter' })
  return values && [...new Set(values)]
}

/** Returns whether filters are the only conditions of the query, and the caller may read all their members. */
function isFilterOnly(query: EndpointQuery, filters: FilterSummary[]) {
  const { visibility, applicationNames, versionNames, filterIds } = query
  if (!filterIds || applicationNames || versionNames || !store.isPlain({ ...query, filterIds: undefined })) return false
  return (
    visibility === 'all' ||
    filters.every(({ applicationName }) => visibility.applicationNames.includes(applicationName))
  )
}
