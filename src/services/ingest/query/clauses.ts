/** Parses the query of a search into clauses. Unknown queries, and queries that exceed the limits, are errors. */
import { QueryInvalid } from '../errors.ts'
import { isTimeZone, parseDate, resolveDate } from './dates.ts'

export type Scalar = string | number | bigint | boolean

/** A bound of a range: a number, a date in milliseconds, or a text. */
export interface Bound {
  /** The bound as a number; absent if it cannot be read as a number. */
  number?: number | bigint
  /** The bound as a date; absent if it cannot be read as a date. */
  date?: number
  text?: string
}
export type Comparison = 'gt' | 'gte' | 'lt' | 'lte'

export type Clause =
  | { kind: 'all' }
  | { kind: 'none' }
  | { kind: 'terms'; field: string; values: Scalar[] }
  | { kind: 'range'; field: string; bounds: [Comparison, Bound][] }
  | { kind: 'exists'; field: string }
  | { kind: 'prefix'; field: string; value: string; ignoreCase: boolean }
  | { kind: 'match'; field: string; value: Scalar; words: string[]; needsAll: boolean }
  | { kind: 'ids'; values: string[] }
  | { kind: 'bool'; must: Clause[]; mustNot: Clause[]; should: Clause[]; minimum: number }

export const clausesMax = 1024
const valuesMax = 10_000
export const depthMax = 20
const wordsMax = 64

export const invalid = (problem: string) => QueryInvalid({ problem })
export type Body = Record<string, unknown>

export const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'

interface Reading {
  now: number
  clauses: number
  values: number
}

/** Parses a query such as `{"term": {…}}`. Undefined means every document. */
export function readQuery(query: unknown, now: number): Clause {
  return query === undefined || query === null
    ? { kind: 'all' }
    : read(query, 'query', { now, clauses: 0, values: 0 }, 0)
}

type Reader = (body: unknown, at: string, reading: Reading, depth: number) => Clause

function read(query: unknown, at: string, reading: Reading, depth: number): Clause {
  if (depth > depthMax) throw invalid(`${at}: queries may be nested at most ${depthMax} levels deep`)
  if (++reading.clauses > clausesMax) throw invalid(`query: expected at most ${clausesMax} clauses`)
  if (!isObject(query)) throw invalid(`${at}: expected an object with one query, such as {"match_all": {}}`)
  const names = Object.keys(query)
  if (names.length !== 1) throw invalid(`${at}: expected exactly one query, such as {"match_all": {}}`)
  const name = names[0]!
  const reader = Object.hasOwn(readers, name) ? readers[name] : undefined
  if (!reader)
    throw invalid(`${at}: unknown query [${name.slice(0, 100)}]; supported are ${Object.keys(readers).join(', ')}`)
  return reader(query[name], `${at}.${name}`, reading, depth)
}

/** Parses `{"field": value}` or `{"field": {…}}`. */
function fieldOf(body: unknown, at: string, ignored: readonly string[] = ['boost', '_name']): [string, unknown] {
  if (!isObject(body)) throw invalid(`${at}: expected an object with a field`)
  const fields = Object.keys(body).filter((name) => !ignored.includes(name))
  if (fields.length !== 1) throw invalid(`${at}: expected exactly one field`)
  return [checkField(fields[0], at), body[fields[0]!]]
}

export function checkField(field: unknown, at: string): string {
  if (typeof field !== 'string' || field === '' || field.length > 512 || field.includes('\0'))
    throw invalid(`${at}: expected the name of a field, of 1 to 512 characters`)
  return field
}

/** Rejects unknown fields. If they were ignored, the query would match more documents than it asks for. */
function checkFields(body: object, known: readonly string[], at: string) {
  for (const name of Object.keys(body))
    if (!known.includes(name)) throw invalid(`${at}: unknown field [${name.slice(0, 100)}]`)
}

function scalar(value: unknown, at: string): Scalar {
  if (!isScalar(value)) throw invalid(`${at}: expected a text, number or boolean`)
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
    throw invalid(`${at}: expected text without NUL and lone surrogates`)
  return value
}

const text = (value: unknown, at: string): string => String(scalar(value, at))

function countValues(reading: Reading, count: number, at: string) {
  reading.values += count
  if (reading.values > valuesMax) throw invalid(`${at}: a search may name at most ${valuesMax} values`)
}

const readTerm: Reader = (body, at, reading) => {
  const [field, term] = fieldOf(body, at)
  countValues(reading, 1, at)
  return { kind: 'terms', field, values: [scalar(isObject(term) ? term.value : term, `${at}.${field}`)] }
}

const readTerms: Reader = (body, at, reading) => {
  const [field, values] = fieldOf(body, at)
  if (!Array.isArray(values)) throw invalid(`${at}.${field}: expected an array of values`)
  countValues(reading, values.length, at)
  return { kind: 'terms', field, values: values.map((value, index) => scalar(value, `${at}.${field}.${index}`)) }
}

const comparisons: Comparison[] = ['gt', 'gte', 'lt', 'lte']
const olderBounds = ['from', 'to', 'include_lower', 'include_upper'] as const
const rangeFields = [...comparisons, ...olderBounds, 'time_zone', 'format', 'relation', 'boost', '_name']

/** Returns the limits by comparison. Older clients of the search engine send `from` and `to` with `include_lower` and `include_upper`. */
function limitsOf(range: Record<string, unknown>, at: string): [Comparison, name: string, limit: unknown][] {
  const isIncluded = (name: string) => {
    const value = range[name] ?? true
    if (typeof value !== 'boolean') throw invalid(`${at}.${name}: expected true or false`)
    return value
  }
  const older: [Comparison, string, unknown][] = [
    [isIncluded('include_lower') ? 'gte' : 'gt', 'from', range.from],
    [isIncluded('include_upper') ? 'lte' : 'lt', 'to', range.to],
  ]
  return [...comparisons.map((name): [Comparison, string, unknown] => [name, name, range[name]]), ...older]
}

const readRange: Reader = (body, at, { now }) => {
  const [field, range] = fieldOf(body, at)
  if (!isObject(range)) throw invalid(`${at}.${field}: expected an object with gt, gte, lt or lte`)
  checkFields(range, rangeFields, `${at}.${field}`)
  const timeZone = range.time_zone
  if (timeZone !== undefined && (typeof timeZone !== 'string' || !isTimeZone(timeZone)))
    throw invalid(`${at}.${field}.time_zone: expected a time zone, such as +01:00 or Europe/Berlin`)
  const bounds: [Comparison, Bound][] = []
  for (const [comparison, name, limit] of limitsOf(range, `${at}.${field}`)) {
    if (limit === undefined || limit === null) continue
    const path = `${at}.${field}.${name}`
    const up = comparison === 'gt' || comparison === 'lte'
    bounds.push([comparison, boundOf(scalar(limit, path), { now, up, timeZone }, path)])
  }
  return { kind: 'range', field, bounds }
}

function boundOf(
  value: Scalar,
  options: { now: number; up: boolean; timeZone?: string | undefined },
  at: string,
): Bound {
  if (typeof value === 'boolean') throw invalid(`${at}: expected a number, a date or a text`)
  if (typeof value !== 'string') return { number: value, ...dateIfStorable(Number(value)) }
  const date = resolveDate(value, options)
  const number = value.trim() !== '' && Number.isFinite(Number(value)) ? { number: Number(value) } : undefined
  return { ...number, ...(date !== undefined && { date }), text: value }
}

const dateIfStorable = (ms: number) => (parseDate(String(Math.trunc(ms))) === undefined ? {} : { date: ms })

const readExists: Reader = (body, at) => {
  if (!isObject(body)) throw invalid(`${at}: expected {"field": name}`)
  return { kind: 'exists', field: checkField(body.field, `${at}.field`) }
}

const readPrefix: Reader = (body, at) => {
  const [field, prefix] = fieldOf(body, at, ['boost', '_name', 'rewrite'])
  const value = isObject(prefix) ? prefix.value : prefix
  const ignoreCase = isObject(prefix) && prefix.case_insensitive === true
  return { kind: 'prefix', field, value: text(value, `${at}.${field}`), ignoreCase }
}

const readMatch: Reader = (body, at) => {
  const [field, match] = fieldOf(body, at)
  const value = scalar(isObject(match) ? match.query : match, `${at}.${field}`)
  const operator = isObject(match) && match.operator !== undefined ? String(match.operator).toLowerCase() : 'or'
  if (operator !== 'or' && operator !== 'and') throw invalid(`${at}.${field}.operator: expected "or" or "and"`)
  const words =
    String(value)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? []
  if (words.length > wordsMax) throw invalid(`${at}.${field}: expected at most ${wordsMax} words`)
  return { kind: 'match', field, value, words, needsAll: operator === 'and' }
}

const readIds: Reader = (body, at, reading) => {
  if (!isObject(body) || !Array.isArray(body.values)) throw invalid(`${at}.values: expected an array of ids`)
  countValues(reading, body.values.length, at)
  return { kind: 'ids', values: body.values.map((value, index) => text(value, `${at}.values.${index}`)) }
}

const readBool: Reader = (body, at, reading, depth) => {
  if (!isObject(body)) throw invalid(`${at}: expected an object with must, filter, should or must_not`)
  const known = [
    'must',
    'filter',
    'should',
    'must_not',
    'minimum_should_match',
    'boost',
    '_name',
    'adjust_pure_negative',
  ]
  checkFields(body, known, at)
  const all = (name: string) =>
    (body[name] === undefined || body[name] === null ? [] : [body[name]].flat()).map((query, index) =>
      read(query, `${at}.${name}.${index}`, reading, depth + 1),
    )
  const [must, should, mustNot] = [[...all('must'), ...all('filter')], all('should'), all('must_not')]
  const minimum = minimumOf(body.minimum_should_match, should.length, must.length === 0 ? 1 : 0, at)
  return { kind: 'bool', must, should, mustNot, minimum }
}

/** Parses `minimum_should_match`: how many clauses, or what percentage, must match. A negative value says how many need not match. */
function minimumOf(value: unknown, count: number, byDefault: number, at: string): number {
  if (count === 0) return 0
  if (value === undefined || value === null) return byDefault
  const [, number, percent] = /^(-?\d{1,6})(%)?$/.exec(String(value)) ?? []
  if (number === undefined)
    throw invalid(`${at}.minimum_should_match: expected a number or a percentage, such as 2 or 75%`)
  const amount = percent ? Math.trunc((count * Number(number)) / 100) : Number(number)
  return Math.max(0, amount < 0 ? count + amount : amount)
}

const readers: Record<string, Reader> = {
  match_all: () => ({ kind: 'all' }),
  match_none: () => ({ kind: 'none' }),
  term: readTerm,
  terms: readTerms,
  range: readRange,
  exists: readExists,
  prefix: readPrefix,
  match: readMatch,
  ids: readIds,
  bool: readBool,
}
