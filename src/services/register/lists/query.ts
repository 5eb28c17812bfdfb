/** Parses the query string of a list, or the body of a search, into the same query object. */
import { invalidField } from '../../../kernel/errors.ts'
import { timeOfText } from '../../../kernel/times.ts'
import { checkKey } from '../metadata/metadata.ts'
import { compileRegex, RegexError } from '../regex/regex.ts'

export type Operator = 'IN' | 'NOT_IN' | 'IN_REGEX' | 'NOT_IN_REGEX'
export const operators: Operator[] = ['IN', 'NOT_IN', 'IN_REGEX', 'NOT_IN_REGEX']

/** A field of the endpoint, or a path into its metadata. */
export type Key = { field: 'endpointId' | 'appName' | 'appVersion.name' | 'createdDate' } | { path: string[] }

export type Condition =
  | { all: Condition[] }
  | { any: Condition[] }
  /** For the two regular expression operators, `values` are patterns in PostgreSQL's dialect. */
  | { key: Key; operator: Operator; values: unknown[] }

/** The endpoints of the tenant that the caller may read: all, or all endpoints of some applications and some single endpoints. */
export type Visibility = 'all' | { applicationNames: string[]; endpointIds: string[] }

/** Conditions on data that the directory stores. */
export interface DirectoryConditions {
  /** Words that the searchable text of the endpoint must contain. */
  words: string[]
  connections: ('never' | 'disconnected' | 'connected')[] | undefined
  activeAfter: Date | undefined
  activeBefore: Date | undefined
}

export interface EndpointQuery {
  tenantId: string
  visibility: Visibility
  applicationNames?: string[] | undefined
  versionNames?: string[] | undefined
  endpointIds?: string[] | undefined
  filterIds?: string[] | undefined
  /** The number of members of the first filter. */
  membersOfFirst?: number | undefined
  conditions: Condition[]
  /** A pattern in PostgreSQL's dialect. */
  regex?: string | undefined
  /** Conditions on data that the directory stores about an endpoint. */
  directory?: DirectoryConditions | undefined
  sort?: { key: Key; descending: boolean } | undefined
  /** Selects only endpoints whose number (`seq`) is greater than this number. */
  after?: number | undefined
}

const conditionsMax = 100
const valuesMax = 1000
const pathMax = 16
/**
 * Maximum number of array positions in a path, because each position doubles the number of values that are searched in the metadata index.
 */
const positionsMax = 3

/** Returns whether a part of a path, except the first, may be a position in an array. -1 is the last position. */
export const isPosition = (part: string) => /^-?\d+$/.test(part)

const fields = ['endpointId', 'appName', 'appVersion.name', 'createdDate'] as const

/** Parses a path such as `battery.level`. Metadata keys contain no dots, so the path is unambiguous. */
export function metadataKey(text: string, field: string): Key {
  const path = text.split('.')
  checkKey(path[0]!, field)
  if (path.length > pathMax || path.some((part) => part === ''))
    throw invalidField(field, `key ${JSON.stringify(text.slice(0, 60))}: expected names joined by dots`)
  if (path.slice(1).filter(isPosition).length > positionsMax)
    throw invalidField(field, `key ${JSON.stringify(text.slice(0, 60))}: expected at most ${positionsMax} positions`)
  return { path }
}

/** Parses a key of a search. Four names are fields of the endpoint itself (document 3, 1.10). */
export const searchKey = (text: string, field: string): Key => {
  const endpointField = fields.find((name) => name === text)
  return endpointField ? { field: endpointField } : metadataKey(text, field)
}

export function sqlPattern(text: string, field: string): string {
  try {
    return compileRegex(text).sqlPattern
  } catch (error) {
    if (error instanceof RegexError) throw invalidField(field, error.message)
    throw error
  }
}

type KeyReader = (text: string, field: string) => Key

function readCriterion(criterion: unknown, field: string, keyOf: KeyReader): Condition {
  if (!isObject(criterion)) throw invalidField(field, 'expected objects with key, operator and values')
  const { key, operator, values } = criterion
  if (typeof key !== 'string' || key === '') throw invalidField(field, 'key: expected a text')
  if (!operators.includes(operator as Operator))
    throw invalidField(field, `operator: expected one of ${operators.join(', ')}`)
  if (!Array.isArray(values)) throw invalidField(field, 'values: expected an array')
  if (values.length > valuesMax) throw invalidField(field, `values: expected at most ${valuesMax} items`)
  const parsedKey = keyOf(key, field)
  const isRegex = operator === 'IN_REGEX' || operator === 'NOT_IN_REGEX'
  return {
    key: parsedKey,
    operator: operator as Operator,
    values: values.map((value) => (isRegex ? readPattern(value, field) : readComparable(value, parsedKey, field))),
  }
}

function readPattern(value: unknown, field: string): string {
  if (typeof value !== 'string') throw invalidField(field, 'values: expected regular expressions')
  return sqlPattern(value, field)
}

function readComparable(value: unknown, key: Key, field: string): unknown {
  if ('path' in key) return value
  if (typeof value !== 'string') throw invalidField(field, `values: expected texts for ${key.field}`)
  if (key.field !== 'createdDate') return value
  const time = timeOfText(value)
  if (time === undefined) throw invalidField(field, 'values: expected ISO 8601 dates for createdDate')
  return new Date(time).toISOString()
}

/** Parses `and` and `or`. An element of `and` may itself be `{or: […]}`. */
export function conditionsOf(filter: { and?: unknown; or?: unknown }, field: string, keyOf: KeyReader): Condition[] {
  const list = (name: 'and' | 'or', value: unknown): unknown[] => {
    if (!Array.isArray(value)) throw invalidField(field, `${name}: expected an array`)
    if (value.length > conditionsMax) throw invalidField(field, `${name}: expected at most ${conditionsMax} items`)
    return value
  }
  const anyOf = (value: unknown): Condition => {
    const alternatives = list('or', value)
    if (alternatives.length === 0) throw invalidField(field, 'or: expected at least 1 item')
    return { any: alternatives.map((one) => readCriterion(one, field, keyOf)) }
  }
  const conditions: Condition[] = []
  if (filter.and !== undefined)
    for (const one of list('and', filter.and))
      conditions.push(isObject(one) && 'or' in one ? anyOf(one.or) : readCriterion(one, field, keyOf))
  if (filter.or !== undefined) conditions.push(anyOf(filter.or))
  return conditions
}

/** Parses equalities such as `{"city": "Kyiv", "battery.level": 5}`. */
export function readMetadataFilter(filter: string | Record<string, unknown>): Condition[] {
  const field = 'metadataFilter'
  const equalities = Object.entries(typeof filter === 'string' ? readJson(filter, field) : checkedJson(filter, field))
  if (equalities.length > conditionsMax) throw invalidField(field, `expected at most ${conditionsMax} keys`)
  return equalities.map(([key, value]) => ({ key: metadataKey(key, field), operator: 'IN', values: [value] }))
}

export function readMultiFilter(text: string): Pick<EndpointQuery, 'conditions' | 'sort'> {
  const field = 'multiFilter'
  const filter = readJson(text, field)
  if ((filter.and === undefined) === (filter.or === undefined)) throw invalidField(field, 'expected one of and, or')
  return { conditions: conditionsOf(filter, field, metadataKey), sort: readSort(filter, field, metadataKey) }
}

export function readSort(
  { sort, sortOrder }: { sort?: unknown; sortOrder?: unknown },
  field: string,
  keyOf: KeyReader,
): EndpointQuery['sort'] {
  if (sortOrder !== undefined && !['asc', 'desc'].includes(String(sortOrder).toLowerCase()))
    throw invalidField(field, 'sortOrder: expected asc or desc')
  if (sort === undefined || sort === '') return undefined
  if (typeof sort !== 'string') throw invalidField(field, 'sort: expected a metadata key')
  return { key: keyOf(sort, field), descending: String(sortOrder).toLowerCase() === 'desc' }
}

function readJson(text: string, field: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalidField(field, `malformed JSON, ${(error as Error).message}`)
  }
  if (!isObject(value)) throw invalidField(field, 'expected a JSON object')
  return checkedJson(value, field)
}

function checkedJson(value: Record<string, unknown>, field: string): Record<string, unknown> {
  checkJson(value, field, 0)
  return value
}

/** Rejects values that PostgreSQL cannot compare, and values that are nested so deeply that they would exhaust the stack. */
function checkJson(value: unknown, field: string, depth: number) {
  if (depth > 32) throw invalidField(field, 'nested deeper than 32 levels')
  // JSON.stringify would turn the number into null, which matches null values.
  if (typeof value === 'number' && !Number.isFinite(value)) throw invalidField(field, 'a number is out of range')
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
    throw invalidField(field, 'expected text without NUL and lone surrogates')
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    checkJson(key, field, depth)
    checkJson(inner, field, depth + 1)
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
