/** SQL expressions for fields of documents. In every statement, the table of documents has the alias `d`. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { FieldType } from '../../documents/fields.ts'
import { fieldName, type Scope } from '../../query/scope.ts'

export type FieldSource =
  /** A time column. */
  | { kind: 'time'; column: Fragment }
  /** A text column that is never null. */
  | { kind: 'text'; column: Fragment; isEndpoint: boolean }
  /** A field with at most one value in a document. */
  | { kind: 'value'; value: Fragment; types: ReadonlySet<FieldType> | undefined }
  /** A field that can have several values in a document. `values` is a set of rows with the column `v`. */
  | { kind: 'values'; values: Fragment; types: ReadonlySet<FieldType> | undefined }

/** Returns a jsonpath that also finds values in lists. */
const jsonpathOf = (keys: string[]) => `lax $${keys.map((key) => `.${JSON.stringify(key)}`).join('')}[*]`

export function sourceOf(sql: Sql, scope: Scope, queriedField: string): FieldSource {
  const field = fieldName(scope, queriedField)
  if (field === '@timestamp') return { kind: 'time', column: sql`d.ts` }
  if (field === '_id') return { kind: 'text', column: sql`d.id::text`, isEndpoint: false }
  if (field === '_index') return { kind: 'text', column: indexColumn(sql, scope), isEndpoint: false }
  if (!scope.envelopeChanged && field === 'endpointId')
    return { kind: 'text', column: sql`d.endpoint_id`, isEndpoint: true }
  if (!scope.envelopeChanged && field === 'appVersionName')
    return { kind: 'text', column: sql`d.version_name`, isEndpoint: false }
  const keys = field.split('.')
  const known = scope.fields.get(field)
  if (known && !known.listed) return { kind: 'value', value: sql`(d.doc ${valueAt(sql, keys)})`, types: known.types }
  const values = sql`jsonb_path_query(d.doc, ${jsonpathOf(keys)}::jsonpath)`
  return { kind: 'values', values, types: known?.types }
}

/** Reads a value step by step, which takes two thirds of the time of `#>` with a list of keys. */
const valueAt = (sql: Sql, keys: string[]): Fragment => sql`${keys.map((key) => sql`-> ${key}::text`)}`

/** Returns the name of a document's index, with its date. */
export function indexColumn(sql: Sql, { tenantId, indices }: Scope): Fragment {
  const names = [...indices.values()].map((name) => `${tenantId}-${name}-`)
  return sql`((${names}::text[])[array_position(${[...indices.keys()]}::int[], d.index_no)]
    || to_char(d.arrived_at at time zone 'UTC', 'YYYY.MM.DD'))`
}

/** Returns a condition that is true if `condition` is true for at least one value of the field. */
export function anyValue(
  sql: Sql,
  source: Extract<FieldSource, { kind: 'value' | 'values' }>,
  condition: (value: Fragment) => Fragment,
): Fragment {
  if (source.kind === 'value') return condition(source.value)
  return sql`exists (select 1 from ${source.values} as f(v) where ${condition(sql`f.v`)})`
}

/** Returns a value of a document as a number, or null. */
export const numberOf = (sql: Sql, value: Fragment): Fragment =>
  sql`(case when jsonb_typeof(${value}) = 'number' then (${value})::float8 end)`

/** Returns a value of a document as a time: ISO 8601, or milliseconds. */
export const timeOf = (sql: Sql, value: Fragment): Fragment =>
  sql`(case jsonb_typeof(${value}) when 'string' then ingest.date_of(${value} #>> '{}')
    when 'number' then to_timestamp((${value})::float8 / 1000) end)`

/** Joins conditions or expressions with an operator between them. */
export function joined(sql: Sql, parts: Fragment[], operator: 'and' | 'or' | ',' | '+'): Fragment {
  const between = sql.unsafe(operator)
  return sql`${parts.flatMap((part, index) => (index === 0 ? [part] : [between, part]))}`
}
