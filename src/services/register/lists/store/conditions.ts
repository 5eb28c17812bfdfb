/** Translates conditions to SQL over `register.endpoints e`. It uses `@>` where the metadata index can help. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import { defaultKeys } from '../../configuration.ts'
import { type Condition, isPosition, type Key } from '../query.ts'

/**
 * Translates a conjunction. All equalities become one `@>`, so that the index intersects them. Rare values then narrow the result of common
 * values.
 */
export function conditionsSql(sql: Sql, conditions: Condition[]): Fragment[] {
  const equalities = new Map<string, unknown>()
  const others = conditions.filter((condition) => {
    if (!('key' in condition) || !('path' in condition.key)) return true
    const { key, operator, values } = condition
    const [first = '', ...rest] = key.path
    const [value] = values
    if (operator !== 'IN' || values.length !== 1 || !isScalar(value) || rest.some(isPosition)) return true
    if (equalities.has(first) || defaultKeys.includes(first)) return true
    equalities.set(first, nestedObject(rest, value))
    return false
  })
  const parts = others.map((condition) => conditionSql(sql, condition))
  if (equalities.size > 0) parts.unshift(sql`e.metadata @> ${sql.json(Object.fromEntries(equalities) as never)}`)
  return parts
}

const isScalar = (value: unknown) => typeof value !== 'object' || value === null
const nestedObject = (path: string[], value: unknown) => path.reduceRight((inner, name) => ({ [name]: inner }), value)

/**
 * Returns the JSON values to look for with `@>`. There are several because a number in a path can be a field name or a position. A document
 * that has the value at the path contains at least one of them.
 */
const containedIn = (path: string[], value: unknown) =>
  path.reduceRight<unknown[]>(
    (inner, name) => inner.flatMap((one) => (isPosition(name) ? [{ [name]: one }, [one]] : [{ [name]: one }])),
    [value],
  )

function conditionSql(sql: Sql, condition: Condition): Fragment {
  if ('all' in condition) return joinConditions(sql, condition.all, sql`and`, sql`true`)
  if ('any' in condition) return joinConditions(sql, condition.any, sql`or`, sql`false`)
  const { key, operator, values } = condition
  switch (operator) {
    case 'IN':
      return inSql(sql, key, values)
    case 'NOT_IN':
      return sql`not coalesce(${jsonOf(sql, key)} = any(${jsonTexts(values)}::text[]::jsonb[]), false)`
    case 'IN_REGEX':
      return sql`coalesce(${textOf(sql, key)} ~ any(${values as string[]}::text[]), false)`
    case 'NOT_IN_REGEX':
      return sql`not coalesce(${textOf(sql, key)} ~ any(${values as string[]}::text[]), false)`
  }
}

const joinConditions = (sql: Sql, parts: Condition[], operator: Fragment, none: Fragment): Fragment =>
  parts.length === 0
    ? none
    : parts
        .map((part) => sql`(${conditionSql(sql, part)})`)
        .reduce((before, part) => sql`${before} ${operator} ${part}`)

const jsonTexts = (values: unknown[]) => values.map((value) => JSON.stringify(value))

function inSql(sql: Sql, key: Key, values: unknown[]): Fragment {
  if ('field' in key) return sql`${fieldOf(sql, key.field)} = any(${values as string[]}::text[])`
  const [first = '', ...rest] = key.path
  if (defaultKeys.includes(first)) return sql`${jsonOf(sql, key)} = any(${jsonTexts(values)}::text[]::jsonb[])`
  const contained = values.flatMap((value) => containedIn(rest, value)).map((inner) => ({ [first]: inner }))
  const containment =
    contained.length === 1
      ? sql`e.metadata @> ${sql.json(contained[0] as never)}`
      : sql`e.metadata @> any(${jsonTexts(contained)}::text[]::jsonb[])`
  // `@>` also finds larger objects and arrays, and other positions, so equality is checked too.
  const isExact = values.every(isScalar) && !rest.some(isPosition)
  return isExact
    ? containment
    : sql`${containment} and ${jsonOf(sql, key)} = any(${jsonTexts(values)}::text[]::jsonb[])`
}

function fieldOf(sql: Sql, field: Extract<Key, { field: string }>['field']): Fragment {
  switch (field) {
    case 'endpointId':
      return sql`e.endpoint_id`
    case 'appName':
      return sql`e.application_name`
    case 'appVersion.name':
      return sql`e.version_name`
    case 'createdDate':
      return sql`register.moment(e.created_date)`
  }
}

export function jsonOf(sql: Sql, key: Key): Fragment {
  if ('field' in key) return sql`to_jsonb(${fieldOf(sql, key.field)}::text)`
  const [first = '', ...rest] = key.path
  if (!defaultKeys.includes(first)) return sql`e.metadata #> ${key.path}::text[]`
  // If key names are configured, the connectivity is in the metadata, and `e.connected` is null. A configured name may equal a default
  // name, which `first` is here.
  const fromMetadata = sql`case when e.connected is null then e.metadata #> ${key.path}::text[]`
  if (rest.length > 0) return sql`${fromMetadata} end`
  return first === 'connected'
    ? sql`${fromMetadata} else to_jsonb(e.connected) end`
    : sql`${fromMetadata} else to_jsonb(register.moment(e.connectivity_ts)) end`
}

const textOf = (sql: Sql, key: Key): Fragment =>
  'field' in key ? fieldOf(sql, key.field) : sql`(${jsonOf(sql, key)} #>> '{}')`

/**
 * Matches a pattern against the id, the name of the version and all metadata keys and values: a dozen matches for each endpoint. Therefore
 * one match on the concatenation of these texts comes first; it may match too much, but never too little.
 */
export const regexSql = (sql: Sql, pattern: string): Fragment => sql`
  case when concat(e.endpoint_id, ' ', e.version_name, ' ', e.metadata::text,
    case when e.connected then ' connected true connectivity_ts ' when not e.connected then ' connected false connectivity_ts ' end,
    register.moment(e.connectivity_ts)) ~ ${withoutAssertions(pattern)}
  then e.endpoint_id ~ ${pattern} or e.version_name ~ ${pattern} or exists (
    select from jsonb_each_text(register.whole_metadata(e.metadata, e.connected, e.connectivity_ts)) m
    where m.key ~ ${pattern} or m.value ~ ${pattern})
  else false end`

/**
 * Finds the assertions in a pattern that regex.ts has produced. regex.ts writes a literal backslash as `\u005c`, so `\A` or `\Z` in the
 * pattern is always an assertion.
 */
const assertions = /\\[AZ]|\(\?(?:<)?[=!][^)]*\)/g

/**
 * Returns a weaker pattern, which is matched first. It has no assertions. It also matches every text with a backslash, because in JSON a
 * backslash can stand for a character that the pattern does not find. Texts that match are then checked with the exact pattern.
 */
const withoutAssertions = (pattern: string) => `(?:${pattern.replace(assertions, '(?:)')})|\\u005c`
