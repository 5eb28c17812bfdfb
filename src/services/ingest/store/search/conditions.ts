/** Translates the clauses of a query to SQL conditions. Values always become parameters. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { FieldType } from '../../documents/fields.ts'
import type { Bound, Clause, Comparison, Scalar } from '../../query/clauses.ts'
import { parseDate } from '../../query/dates.ts'
import { fieldName, type Scope } from '../../query/scope.ts'
import { anyValue, joined, sourceOf } from './fields.ts'

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i

export const operators: Record<Comparison, string> = { gt: '>', gte: '>=', lt: '<', lte: '<=' }

/** Returns a condition that is true, false or null; null counts as false. */
export function conditionOf(sql: Sql, scope: Scope, clause: Clause): Fragment {
  switch (clause.kind) {
    case 'all':
      return sql`true`
    case 'none':
      return sql`false`
    case 'terms':
      return termsCondition(sql, scope, clause.field, clause.values)
    case 'range':
      return rangeCondition(sql, scope, clause)
    case 'exists':
      return existsCondition(sql, scope, clause.field)
    case 'prefix':
      return prefixCondition(sql, scope, clause)
    case 'match':
      return matchCondition(sql, scope, clause)
    case 'ids':
      return sql`d.id = any(${clause.values.filter((id) => uuid.test(id))}::uuid[])`
    case 'bool':
      return boolCondition(sql, scope, clause)
  }
}

function boolCondition(sql: Sql, scope: Scope, clause: Extract<Clause, { kind: 'bool' }>): Fragment {
  const { must, mustNot, should, minimum } = clause
  const parts = must.map((one) => sql`(${conditionOf(sql, scope, one)})`)
  for (const one of mustNot) parts.push(sql`(${conditionOf(sql, scope, one)}) is not true`)
  if (minimum > should.length) return sql`false`
  if (minimum > 0) {
    const conditions = should.map((one) => conditionOf(sql, scope, one))
    if (minimum === 1)
      parts.push(
        sql`(${joined(
          sql,
          conditions.map((one) => sql`(${one})`),
          'or',
        )})`,
      )
    else {
      const counted = conditions.map((one) => sql`((${one}) is true)::int`)
      parts.push(sql`(${joined(sql, counted, '+')}) >= ${minimum}`)
    }
  }
  return parts.length === 0 ? sql`true` : joined(sql, parts, 'and')
}

/** Returns the JSON values that match a value in a query: both 5 and "5", both true and "true". */
function jsonValues(values: Scalar[]): string[] {
  const texts = new Set<string>()
  for (const value of values) {
    texts.add(JSON.stringify(String(value)))
    if (typeof value !== 'string') texts.add(String(value))
    else if (/^-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?$/.test(value) || value === 'true' || value === 'false')
      texts.add(value)
  }
  return [...texts]
}

function termsCondition(sql: Sql, scope: Scope, field: string, values: Scalar[]): Fragment {
  const source = sourceOf(sql, scope, field)
  if (source.kind === 'text') {
    const texts = values.map(String)
    if (!source.isEndpoint) return sql`${source.column} = any(${texts}::text[])`
    return endpointCondition(sql, texts)
  }
  if (source.kind === 'time') {
    const dates = values.flatMap((value) => parseDate(String(value)) ?? [])
    return sql`${source.column} = any(${dates.map((ms) => new Date(ms))}::timestamptz[])`
  }
  const texts = jsonValues(values)
  return anyValue(sql, source, (value) =>
    texts.length === 1 ? sql`${value} = ${texts[0]!}::text::jsonb` : sql`${value} = any(${texts}::text[]::jsonb[])`,
  )
}

/** Finds documents of endpoints by the index on the hash of their id. */
export function endpointCondition(sql: Sql, endpointIds: string[]): Fragment {
  if (endpointIds.length === 1)
    return sql`hashtextextended(d.endpoint_id, 0) = hashtextextended(${endpointIds[0]!}::text, 0)
      and d.endpoint_id = ${endpointIds[0]!}::text`
  return sql`hashtextextended(d.endpoint_id, 0) = any(array(
      select hashtextextended(id, 0) from unnest(${endpointIds}::text[]) as given (id)))
    and d.endpoint_id = any(${endpointIds}::text[])`
}

const allNumbers = (bounds: Bound[]) => bounds.every(({ number, date }) => number !== undefined || date !== undefined)
const allDates = (bounds: Bound[]) => bounds.every(({ date, text }) => date !== undefined && text !== undefined)

function rangeCondition(sql: Sql, scope: Scope, { field, bounds }: Extract<Clause, { kind: 'range' }>): Fragment {
  if (bounds.length === 0) return existsCondition(sql, scope, field)
  const source = sourceOf(sql, scope, field)
  const compare = (value: Fragment, to: (bound: Bound) => Fragment) =>
    joined(
      sql,
      bounds.map(([comparison, bound]) => sql`${value} ${sql.unsafe(operators[comparison])} ${to(bound)}`),
      'and',
    )
  const boundValues = bounds.map(([, bound]) => bound)
  if (source.kind === 'time') {
    if (boundValues.some(({ date }) => date === undefined)) return sql`false`
    return compare(source.column, ({ date }) => sql`${new Date(date!)}::timestamptz`)
  }
  const toText = ({ text, number }: Bound) => sql`${text ?? String(number)}::text`
  if (source.kind === 'text') return compare(sql`${source.column} collate "C"`, toText)
  const mayHaveType = (...types: FieldType[]) => !source.types || types.some((type) => source.types!.has(type))
  return anyValue(sql, source, (value) => {
    const alternatives: Fragment[] = []
    if (mayHaveType('long', 'double') && allNumbers(boundValues))
      alternatives.push(
        sql`(jsonb_typeof(${value}) = 'number' and ${compare(value, ({ number, date }) => sql`${String(number ?? date)}::text::jsonb`)})`,
      )
    if (mayHaveType('date') && allDates(boundValues))
      alternatives.push(
        sql`(jsonb_typeof(${value}) = 'string' and ${compare(sql`ingest.date_of(${value} #>> '{}')`, ({ date }) => sql`${new Date(date!)}::timestamptz`)})`,
      )
    else if (mayHaveType('text', 'date') && boundValues.every(({ text }) => text !== undefined))
      alternatives.push(
        sql`(jsonb_typeof(${value}) = 'string' and ${compare(sql`(${value} #>> '{}') collate "C"`, toText)})`,
      )
    return alternatives.length === 0 ? sql`false` : sql`(${joined(sql, alternatives, 'or')})`
  })
}

function existsCondition(sql: Sql, scope: Scope, field: string): Fragment {
  const source = sourceOf(sql, scope, field)
  if (source.kind === 'time') return sql`${source.column} is not null`
  if (source.kind === 'text') return sql`true`
  return anyValue(sql, source, (value) => sql`${value} is not null and ${value} <> 'null' and ${value} <> '[]'`)
}

function prefixCondition(sql: Sql, scope: Scope, clause: Extract<Clause, { kind: 'prefix' }>): Fragment {
  const source = sourceOf(sql, scope, clause.field)
  const { value: prefix, ignoreCase } = clause
  const starts = (text: Fragment) =>
    ignoreCase ? sql`starts_with(lower(${text}), lower(${prefix}::text))` : sql`starts_with(${text}, ${prefix}::text)`
  if (source.kind === 'time') return sql`false`
  if (source.kind === 'text') return starts(source.column)
  return anyValue(
    sql,
    source,
    (value) => sql`(jsonb_typeof(${value}) = 'string' and ${starts(sql`(${value} #>> '{}')`)})`,
  )
}

/** Returns the condition of a `match` query. Texts are compared word by word, other values as a whole. */
function matchCondition(sql: Sql, scope: Scope, clause: Extract<Clause, { kind: 'match' }>): Fragment {
  const { field, value: searched, words, needsAll } = clause
  const source = sourceOf(sql, scope, field)
  const asWhole = field.endsWith('.keyword') || scope.keywords.has(fieldName(scope, field))
  if (asWhole || source.kind === 'time' || source.kind === 'text') return termsCondition(sql, scope, field, [searched])
  const others = jsonValues([searched])
  return anyValue(sql, source, (value) => {
    // Words have letters, digits and _ only, so they need no escapes.
    const found = words.map((word) => sql`lower(${value} #>> '{}') ~ ${`\\m${word}\\M`}`)
    const texts = found.length === 0 ? sql`false` : joined(sql, found, needsAll ? 'and' : 'or')
    return sql`(case jsonb_typeof(${value}) when 'string' then ${texts} else ${value} = any(${others}::text[]::jsonb[]) end)`
  })
}
