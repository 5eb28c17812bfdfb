/** Reads the body of a search: query, page, order, parts of documents, aggregations. */
import { type Aggregation, readAggregations } from './aggregations.ts'
import { type Body, type Clause, checkField, invalid, isObject, readQuery } from './clauses.ts'

export interface SortKey {
  field: string
  descending: boolean
  missingFirst: boolean
}

export interface SourceFilter {
  includes: string[]
  excludes: string[]
}

export interface SearchRequest {
  query: Clause
  /** Applies to hits, but not to aggregations. */
  postFilter: Clause | undefined
  from: number
  size: number
  /** Empty: the order of arrival. */
  sort: SortKey[]
  source: boolean | SourceFilter
  /** Hits are counted exactly up to this number; Infinity counts all. */
  countMax: number
  aggregations: Aggregation[]
  /** True if a query compares words, for which the types of the template count. */
  usesMatch: boolean
  /** True if the caller wants `hits.total` as a number. */
  totalAsNumber: boolean
}

export const windowMax = 10_000
const sortKeysMax = 8
const sourcePatternsMax = 100
const countMaxDefault = 10_000

const known = new Set([
  'query',
  'post_filter',
  'from',
  'size',
  'sort',
  '_source',
  'track_total_hits',
  'aggs',
  'aggregations',
])
export const knownFields: ReadonlySet<string> = known

/** Reads a body and the query parameters, which override the body. */
export function readSearch(body: unknown, parameters: Body, now: number): SearchRequest {
  if (body !== undefined && body !== null && !isObject(body)) throw invalid('body: expected an object')
  const given: Body = { ...(body as Body | undefined), ...parameters }
  const from = integer(given.from, 0, 'from')
  const size = integer(given.size, 10, 'size')
  if (from + size > windowMax)
    throw invalid(`from + size: expected at most ${windowMax}; use a range and a sort to go further`)
  const query = readQuery(given.query, now)
  const postFilter = given.post_filter === undefined ? undefined : readQuery(given.post_filter, now)
  return {
    query,
    postFilter,
    usesMatch: usesMatch(query) || (postFilter !== undefined && usesMatch(postFilter)),
    from,
    size,
    sort: readSort(given.sort),
    source: readSource(given._source),
    countMax: readCountMax(given.track_total_hits),
    aggregations: readAggregations(given.aggregations ?? given.aggs, now),
    totalAsNumber: String(given.rest_total_hits_as_int) === 'true',
  }
}

const usesMatch = (clause: Clause): boolean =>
  clause.kind === 'match' ||
  (clause.kind === 'bool' && [clause.must, clause.mustNot, clause.should].some((all) => all.some(usesMatch)))

function integer(given: unknown, byDefault: number, name: string): number {
  if (given === undefined || given === null) return byDefault
  const value = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw invalid(`${name}: expected a whole number of at least 0`)
  return value
}

function readCountMax(given: unknown): number {
  if (given === undefined || given === null) return countMaxDefault
  if (given === true || given === 'true') return Number.POSITIVE_INFINITY
  if (given === false || given === 'false') return 0
  return integer(given, countMaxDefault, 'track_total_hits')
}

function readSort(given: unknown): SortKey[] {
  if (given === undefined || given === null) return []
  const texts = typeof given === 'string' ? given.split(',') : [given].flat()
  if (texts.length > sortKeysMax) throw invalid(`sort: expected at most ${sortKeysMax} keys`)
  return texts.flatMap((one, index) => sortKeys(one, `sort[${index}]`))
}

function sortKeys(given: unknown, at: string): SortKey[] {
  if (typeof given === 'string') {
    const [, field = given, order] = /^(.*?)(?::(asc|desc))?$/s.exec(given) ?? []
    return [sortKey(field, order ?? (field === '_score' ? 'desc' : 'asc'), undefined, at)]
  }
  if (!isObject(given)) throw invalid(`${at}: expected a field, or an object such as {"@timestamp": "desc"}`)
  return Object.entries(given).map(([field, options]) =>
    isObject(options)
      ? sortKey(field, options.order ?? 'asc', options.missing, `${at}.${field}`)
      : sortKey(field, options, undefined, `${at}.${field}`),
  )
}

function sortKey(field: string, order: unknown, missing: unknown, at: string): SortKey {
  checkField(field, at)
  const direction = typeof order === 'string' ? order.toLowerCase() : order
  if (direction !== 'asc' && direction !== 'desc') throw invalid(`${at}: expected the order asc or desc`)
  if (missing !== undefined && missing !== '_last' && missing !== '_first')
    throw invalid(`${at}.missing: expected _last or _first`)
  return { field, descending: direction === 'desc', missingFirst: missing === '_first' }
}

function readSource(given: unknown): boolean | SourceFilter {
  if (given === undefined || given === null) return true
  if (typeof given === 'boolean') return given
  if (given === 'true' || given === 'false') return given === 'true'
  if (typeof given === 'string') return { includes: patterns(given.split(','), '_source'), excludes: [] }
  if (Array.isArray(given)) return { includes: patterns(given, '_source'), excludes: [] }
  if (!isObject(given))
    throw invalid('_source: expected a boolean, a field, a list of fields, or includes and excludes')
  return {
    includes: patterns([given.includes ?? given.include ?? []].flat(), '_source.includes'),
    excludes: patterns([given.excludes ?? given.exclude ?? []].flat(), '_source.excludes'),
  }
}

function patterns(given: unknown[], at: string): string[] {
  if (given.length > sourcePatternsMax) throw invalid(`${at}: expected at most ${sourcePatternsMax} fields`)
  return given.map((one, index) => checkField(one, `${at}[${index}]`))
}
