import { type ConcurrencyLimit, createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { contentPageStream, contentPageText } from '../../../kernel/json-text.ts'
import { tenantToRead, visibilityOf } from '../access.ts'
import type { FilterIndex, KnownFilter } from '../filters/filter-index.ts'
import type { Condition, EndpointQuery, Key } from './query.ts'
import { createReading, type Reading } from './reading.ts'
import { type FieldNames, scanningField } from './scanning.ts'
import type { View } from './store/endpoint-json.ts'
import * as store from './store/list.ts'

export interface Question {
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
  /** 0 means no limit. */
  limit: number
}

export interface ListRules {
  /** Returns one text with its ETag, or a stream of texts if the response is long. */
  list(ctx: Ctx, question: Question): Promise<Document | AsyncIterable<string>>
}

/** Longer responses are streamed. */
const pageMax = 1000
const scanMilliseconds = 10_000
const scanLimits = { perTenant: 2, total: 4, waitingPerTenant: 20 }

interface Deps {
  db: Db
  reading: Reading
  scans: ConcurrencyLimit
  filters: FilterIndex
}

export function createListRules({ db, log }: Kit, filters: FilterIndex): ListRules {
  const deps: Deps = { db, reading: createReading(db, log), scans: createConcurrencyLimit(scanLimits), filters }
  return { list: (ctx, question) => list(deps, ctx, question) }
}

async function list(deps: Deps, ctx: Ctx, question: Question): Promise<Document | AsyncIterable<string>> {
  const tenantId = tenantToRead(ctx, question.tenantId)
  const query: EndpointQuery = {
    tenantId,
    visibility: visibilityOf(ctx, tenantId),
    applicationNames: unique(question.applicationNames),
    versionNames: unique(question.versionNames),
    endpointIds: unique(question.endpointIds),
    filterIds: unique(question.filterIds),
    conditions: question.conditions,
    regex: question.regex,
    sort: question.sort,
  }
  const short = question.limit !== 0 && question.limit <= pageMax
  if (short && query.visibility === 'all' && query.filterIds?.length === 1 && isFilterOnly(query, [])) {
    const found = await pageOfFilter(deps, query, question)
    return documentOf(contentPageText(found.total, [found.content ?? '']))
  }
  const known = await checkFilters(deps, query)
  // The smallest filter comes first: its members are read, the others are only checked.
  known.sort(bySize)
  if (known.length > 0) query.filterIds = known.map(({ filterId }) => filterId)
  query.membersOfFirst = known[0]?.matchedEndpointsCount
  if (!short) return await streamOf(deps, ctx, query, question)
  const found = await pageOf(deps, ctx, query, known, question)
  return documentOf(contentPageText(found.total, [found.content ?? '']))
}

const viewOf = ({ filters }: Deps, { view }: Question): View => ({
  ...view,
  filters: view.filters ? filters : undefined,
})

/** Runs a search. One that reads every endpoint has a time limit, and few of them run at once. */
async function limited<T>(
  { db, reading, scans }: Deps,
  ctx: Ctx,
  query: EndpointQuery,
  { fields }: Question,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const field = scanningField(query, fields)
  if (!field) return await work(reading.searching(query))
  const search = async () => {
    try {
      return await db.tx(async (sql) => {
        await store.limitTime(sql, scanMilliseconds)
        return await work(sql)
      })
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (code === refusedPattern) throw invalidField(field, 'a pattern is too complex: its repetitions multiply')
      if (code !== canceled) throw error
      throw invalidField(field, `the search took longer than ${scanMilliseconds / 1000} s and was given up; narrow it`)
    }
  }
  return await scans.run(query.tenantId, search, ctx)
}

async function checkFilters({ db, filters }: Deps, { tenantId, filterIds }: EndpointQuery): Promise<KnownFilter[]> {
  if (!filterIds) return []
  const known = await filters.find(db.sql, tenantId, filterIds)
  for (const filterId of filterIds) {
    const filter = known.find((one) => one.filterId === filterId)
    if (!filter) throw invalidField('filterId', `there is no filter ${filterId}`)
    if (filter.status !== 'active')
      throw invalidField('filterId', `filter ${filterId} is still being matched, ask again when its status is active`)
  }
  return known
}

/** Reads the filter and its members at the same time; a filter that is not active has no members. */
async function pageOfFilter(deps: Deps, query: EndpointQuery, question: Question) {
  const [[filter], found] = await Promise.all([
    checkFilters(deps, query),
    store.findMembers(deps.reading.walking, query, deps.filters, question, viewOf(deps, question)),
  ])
  return { ...found, total: filter?.matchedEndpointsCount ?? 0 }
}

async function pageOf(deps: Deps, ctx: Ctx, query: EndpointQuery, known: KnownFilter[], question: Question) {
  const { db, reading, filters } = deps
  const view = viewOf(deps, question)
  if (store.isPlain(query)) return await store.findPlain(reading.walking, query, question, view)
  if (isFilterOnly(query, known)) {
    const [total, found] = await Promise.all([
      known.length === 1 ? known[0]!.matchedEndpointsCount : store.countMembers(db.sql, query, filters),
      store.findMembers(reading.walking, query, filters, question, view),
    ])
    return { ...found, total }
  }
  return await limited(deps, ctx, query, question, (sql) => store.findMatching(sql, query, filters, question, view))
}

async function streamOf(
  deps: Deps,
  ctx: Ctx,
  query: EndpointQuery,
  question: Question,
): Promise<AsyncIterable<string>> {
  const { reading, filters } = deps
  if (store.isPlain(query))
    return contentPageStream(await store.countPlain(reading.walking, query), walk(deps, query, question))
  const { total, numbers } = await limited(deps, ctx, query, question, (sql) =>
    store.findNumbers(sql, query, filters, question.offset),
  )
  return contentPageStream(total, byNumbers(deps, query.tenantId, numbers, question))
}

/** Reads page by page: no connection is held while a slow caller reads. */
async function* walk(deps: Deps, query: EndpointQuery, question: Question) {
  const view = viewOf(deps, question)
  let left = question.limit || Number.POSITIVE_INFINITY
  let [after, offset] = [-1, question.offset]
  while (left > 0) {
    const limit = Math.min(pageMax, left)
    const found = await store.findNext(deps.reading.walking, query, { after, offset, limit }, view)
    if (found.count > 0) yield found.content ?? ''
    if (found.count < limit) return
    left -= found.count
    after = found.last!
    offset = 0
  }
}

async function* byNumbers(deps: Deps, tenantId: string, numbers: string, question: Question) {
  const view = viewOf(deps, question)
  let left = question.limit || Number.POSITIVE_INFINITY
  for (let at = 0; at < numbers.length && left > 0; ) {
    const page: number[] = []
    while (page.length < Math.min(pageMax, left) && at < numbers.length) {
      const comma = numbers.indexOf(',', at)
      const end = comma < 0 ? numbers.length : comma
      page.push(Number(numbers.slice(at, end)))
      at = end + 1
    }
    const found = await store.findByNumbers(deps.reading.walking, tenantId, page, view)
    if (found.count > 0) yield found.content ?? ''
    left -= page.length
  }
}

const bySize = (one: KnownFilter, other: KnownFilter) => one.matchedEndpointsCount - other.matchedEndpointsCount

/** PostgreSQL's error code for a statement that ran out of time. */
const canceled = '57014'
/** PostgreSQL's error code for an invalid regular expression. */
const refusedPattern = '2201B'

const unique = (values: string[] | undefined) => {
  if (values && values.length > 1000)
    throw InvalidRequest({ problem: 'expected at most 1000 values for one parameter' })
  return values && [...new Set(values)]
}

/** Returns whether the query has only filters, and the caller may read all of their members. */
function isFilterOnly(query: EndpointQuery, known: KnownFilter[]) {
  const { visibility, applicationNames, versionNames, filterIds } = query
  if (!filterIds || applicationNames || versionNames || !store.isPlain({ ...query, filterIds: undefined })) return false
  return (
    visibility === 'all' || known.every(({ applicationName }) => visibility.applicationNames.includes(applicationName))
  )
}
