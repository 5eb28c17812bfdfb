/** Parses the body of a search: query, page, order, parts of documents, aggregations. */
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
  /** The sort keys. If empty, hits are in the order of arrival. */
  sort: SortKey[]
  source: boolean | SourceFilter
  /** Hits are counted exactly up to this number; Infinity counts all. */
  countMax: number
  aggregations: Aggregation[]
  /** True if the query contains `match`. The search then needs the template, which declares the fields that are keywords. */
  usesMatch: boolean
  /** True if the caller requests `hits.total` as a number. */
  totalAsNumber: boolean
}

export const windowMax = 10_000
const sortKeysMax = 8
const sourcePatternsMax = 100
const countMaxDefault = 10_000

/**
 * Fields and parameters of the search engine that change which documents are found. They are rejected rather than ignored, because a client
 * that pages with `search_after`, for example, would never reach an end.
 */
const refusedFields = ['search_after', 'pit', 'slice', 'collapse', 'rescore', 'knn', 'q', 'scroll', 'min_score']

/** Parses a body and the query parameters. The query parameters take precedence. */
export function readSearch(body: unknown, parameters: Body, now: number): SearchRequest {
  if (body !== undefined && body !== null && !isObject(body)) throw invalid('body: expected an object')
  const request: Body = { ...(body as Body | undefined), ...parameters }
  const refused = refusedFields.find((name) => request[name] !== undefined && request[name] !== null)
  if (refused !== undefined)
    throw invalid(`${refused}: is not supported; choose hits with query, post_filter, sort, from and size`)
  const from = integer(request.from, 0, 'from')
  const size = integer(request.size, 10, 'size')
  if (from + size > windowMax)
    throw invalid(`from + size: expected at most ${windowMax}; use a range and a sort to go further`)
  const query = readQuery(request.query, now)
  const postFilter = request.post_filter === undefined ? undefined : readQuery(request.post_filter, now)
  return {
    query,
    postFilter,
    usesMatch: usesMatch(query) || (postFilter !== undefined && usesMatch(postFilter)),
    from,
    size,
    sort: readSort(request.sort),
    source: readSources(request),
    countMax: readCountMax(request.track_total_hits),
    aggregations: readAggregations(request.aggregations ?? request.aggs, now),
    totalAsNumber: String(request.rest_total_hits_as_int) === 'true',
  }
}

const usesMatch = (clause: Clause): boolean =>
  clause.kind === 'match' ||
  (clause.kind === 'bool' && [clause.must, clause.mustNot, clause.should].some((all) => all.some(usesMatch)))

function integer(parameter: unknown, byDefault: number, name: string): number {
  if (parameter === undefined || parameter === null) return byDefault
  const value = typeof parameter === 'string' && parameter.trim() !== '' ? Number(parameter) : parameter
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw invalid(`${name}: expected a whole number of at least 0`)
  return value
}

function readCountMax(value: unknown): number {
  if (value === undefined || value === null) return countMaxDefault
  if (value === true || value === 'true') return Number.POSITIVE_INFINITY
  if (value === false || value === 'false') return 0
  return integer(value, countMaxDefault, 'track_total_hits')
}

function readSort(sort: unknown): SortKey[] {
  if (sort === undefined || sort === null) return []
  const texts = typeof sort === 'string' ? sort.split(',') : [sort].flat()
  if (texts.length > sortKeysMax) throw invalid(`sort: expected at most ${sortKeysMax} keys`)
  return texts.flatMap((one, index) => sortKeys(one, `sort.${index}`))
}

function sortKeys(sort: unknown, at: string): SortKey[] {
  if (typeof sort === 'string') {
    const [, field = sort, order] = /^(.*?)(?::(asc|desc))?$/s.exec(sort) ?? []
    return [sortKey(field, order ?? (field === '_score' ? 'desc' : 'asc'), undefined, at)]
  }
  if (!isObject(sort)) throw invalid(`${at}: expected a field, or an object such as {"@timestamp": "desc"}`)
  return Object.entries(sort).map(([field, options]) =>
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

/** Parses the fields to return. The parameters `_source_includes` and `_source_excludes` replace `_source`. */
function readSources({
  _source,
  _source_includes: includes,
  _source_excludes: excludes,
}: Body): boolean | SourceFilter {
  if (includes === undefined && excludes === undefined) return readSource(_source)
  const namesIn = (value: unknown) => (value === undefined ? [] : String(value).split(','))
  return {
    includes: patterns(namesIn(includes), '_source_includes'),
    excludes: patterns(namesIn(excludes), '_source_excludes'),
  }
}

function readSource(source: unknown): boolean | SourceFilter {
  if (source === undefined || source === null) return true
  if (typeof source === 'boolean') return source
  if (source === 'true' || source === 'false') return source === 'true'
  if (typeof source === 'string') return { includes: patterns(source.split(','), '_source'), excludes: [] }
  if (Array.isArray(source)) return { includes: patterns(source, '_source'), excludes: [] }
  if (!isObject(source))
    throw invalid('_source: expected a boolean, a field, a list of fields, or includes and excludes')
  return {
    includes: patterns([source.includes ?? source.include ?? []].flat(), '_source.includes'),
    excludes: patterns([source.excludes ?? source.exclude ?? []].flat(), '_source.excludes'),
  }
}

function patterns(list: unknown[], at: string): string[] {
  if (list.length > sourcePatternsMax) throw invalid(`${at}: expected at most ${sourcePatternsMax} fields`)
  return list.map((one, index) => checkField(one, `${at}.${index}`))
}
