/** Finds pages of records and their totals. */
import { systemClock } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { StoredRecord } from '../codec/columns.ts'
import { findNumbers } from '../store/blocks.ts'
import { hourMs } from '../store/counts.ts'
import { findHours } from '../store/totals.ts'
import { findUncounted, findUnregistered, type UnitQuery } from '../store/units.ts'
import { findByEndpoint } from './by-endpoint.ts'
import { isAnsweredByGroups, type MicrosSpan, type RecordFilter, type Visible } from './filter.ts'
import type { Page, PageRequest } from './page.ts'
import { type Found, loadRecords, recordsInOrder, type Search, skipUnits } from './stream.ts'
import { countIn, isByEndpoint, partsOf, totalByCounts } from './totals.ts'

export async function openSearch(
  sql: Sql,
  { filter, descending }: Pick<PageRequest, 'filter' | 'descending'>,
  deadline: number,
): Promise<Search> {
  const visible = filter.visible === 'all' ? [] : filter.visible.endpointIds
  const endpointIds = [...new Set([...(filter.endpointIds ?? []), ...visible])]
  const numbers = await findNumbers(sql, filter.tenantId, endpointIds)
  return { sql, query: { filter, numbers, descending }, deadline, nowMicros: systemClock().getTime() * 1000 }
}

export async function visibleTo(
  sql: Sql,
  tenantId: string,
  { applicationNames, endpointIds }: { applicationNames: string[]; endpointIds: string[] },
): Promise<Visible> {
  return {
    applicationNames: new Set(applicationNames),
    endpointIds: new Set(endpointIds),
    unregistered: endpointIds.length === 0 ? new Map() : await findUnregistered(sql, tenantId, endpointIds),
  }
}

/** Finds a page of records and their total number. Must run in one snapshot. */
export async function findRecords(sql: Sql, request: PageRequest, deadline: number): Promise<Page> {
  const search = await openSearch(sql, request, deadline)
  const { filter } = request
  if (isAnsweredByGroups(filter)) return await findByCounts(search, request)
  if (isByEndpoint(filter)) return await findByEndpoint(search, request)
  const mixed = mixedParts(filter)
  if (!mixed) return await findByScan(search, request)
  const ofFilter = (one: RecordFilter): UnitQuery => ({ ...search.query, filter: one })
  const { total } = await totalByCounts(sql, ofFilter(mixed.applications))
  const single = await countByScan({ ...search, query: ofFilter(mixed.endpoints) })
  return { total: total + single, records: await readPage(search, request) }
}

/**
 * Splits the filter of a caller that may read whole applications and single endpoints. The records of applications have stored counts; the
 * records of single endpoints do not.
 */
function mixedParts(filter: RecordFilter): { applications: RecordFilter; endpoints: RecordFilter } | undefined {
  const { visible } = filter
  if (visible === 'all' || visible.applicationNames.size === 0) return undefined
  const applications = { ...filter, visible: { ...visible, endpointIds: new Set<string>() } }
  if (!isAnsweredByGroups(applications)) return undefined
  return {
    applications,
    endpoints: {
      ...filter,
      visible: { ...visible, applicationNames: new Set(), exceptApplications: visible.applicationNames },
    },
  }
}

async function findByCounts(search: Search, request: PageRequest): Promise<Page> {
  if (request.offset + request.limit <= shortScanMax) {
    const [{ total }, records] = await Promise.all([totalByCounts(search.sql, search.query), readPage(search, request)])
    return { total, records }
  }
  const { total, inBatches } = await totalByCounts(search.sql, search.query)
  if (request.offset >= total) return { total, records: [] }
  const narrowed = await narrowToHours(search, request, inBatches)
  const narrowedSearch = { ...search, query: { ...search.query, filter: narrowed.filter } }
  const { start, offset } = await skipUnits(narrowedSearch, narrowed.offset)
  return { total, records: await readPage(narrowedSearch, { ...narrowed, offset }, start) }
}

/** A page that ends within this many records is read directly, without reading the counts first. */
const shortScanMax = 2000

/**
 * Narrows the span to the hours that contain the page, using the stored counts. A page with a large offset, or a page of a version with few
 * records, is then found without reading all records before it.
 */
async function narrowToHours(search: Search, request: PageRequest, inBatches: number): Promise<PageRequest> {
  const { sql, query } = search
  const { descending, filter, offset, limit } = request
  const { hours } = partsOf(filter.span)
  if (!hours) return request
  const { from, to } = filter.span
  const ofSpan = (span: MicrosSpan): UnitQuery => ({ ...query, filter: { ...filter, span } })
  const beside = descending ? { from: hours.to, to } : { from, to: hours.from }
  const first = beside.from < beside.to ? await totalByCounts(sql, ofSpan(beside)) : { total: 0, inBatches: 0 }
  const inFirst = first.total - first.inBatches
  const { before, until } = await findHours(sql, filter, hours, {
    descending,
    offset: offset - inBatches - inFirst,
    pageEnd: offset + limit - inFirst,
  })
  const startOf = (since: Date) => since.getTime() * 1000
  const endOf = (since: Date) => startOf(since) + hourMs * 1000
  const span = descending
    ? { from: until ? startOf(until.since) : from, to: before ? startOf(before.since) : to }
    : { from: before ? endOf(before.since) : from, to: until ? endOf(until.since) : to }
  const narrowed = { ...request, filter: { ...filter, span } }
  if (!before) return narrowed
  const passed = ofSpan(descending ? { from: span.to, to } : { from, to: span.from })
  const passedInBatches = countIn(passed, await findUncounted(sql, passed, { blocks: 'none' }))
  return { ...narrowed, offset: offset - inFirst - before.passed - passedInBatches }
}

async function readPage(
  search: Search,
  { offset, limit }: Pick<PageRequest, 'offset' | 'limit'>,
  start?: Parameters<typeof recordsInOrder>[1]['start'],
): Promise<StoredRecord[]> {
  const page: Found[] = []
  let passed = 0
  for await (const portion of recordsInOrder(search, { start, expected: offset + limit })) {
    page.push(...portion.slice(Math.max(0, offset - passed), Math.max(0, offset + limit - passed)))
    passed += portion.length
    if (page.length >= limit) break
  }
  return await loadRecords(search, page)
}

/** Finds a page by reading all units that may match. */
async function findByScan(search: Search, { offset, limit }: PageRequest): Promise<Page> {
  const page: Found[] = []
  let total = 0
  for await (const portion of recordsInOrder(search, { expected: Number.MAX_SAFE_INTEGER })) {
    page.push(...portion.slice(Math.max(0, offset - total), Math.max(0, offset + limit - total)))
    total += portion.length
  }
  return { total, records: await loadRecords(search, page) }
}

async function countByScan(search: Search): Promise<number> {
  let total = 0
  for await (const portion of recordsInOrder(search, { expected: Number.MAX_SAFE_INTEGER })) total += portion.length
  return total
}

/** Finds the first records of a filter in ascending order. */
export async function findFirst(sql: Sql, filter: RecordFilter, limit: number, deadline: number) {
  const search = await openSearch(sql, { filter, descending: false }, deadline)
  return await readPage(search, { offset: 0, limit })
}
