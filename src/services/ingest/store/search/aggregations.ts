/**
 * SQL of aggregations. Each grouping is one statement. A metric of a field that can have several values in a document (a list) is a further
 * statement.
 */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import { bucketsMax, type Grouping, type Metric, type TermsOrder } from '../../query/aggregations.ts'
import type { Clause } from '../../query/clauses.ts'
import type { Scope } from '../../query/scope.ts'
import { type Relation, visibleCondition } from './documents.ts'
import { type FieldSource, joined, numberOf, sourceOf, timeOf } from './fields.ts'

export interface MetricOf {
  name: string
  metric: Metric
  field: string
}

/** One of the nested groupings by which a statement groups documents. A list of levels begins with the outermost grouping. */
export interface Level {
  grouping: Grouping
  /** For a `terms` grouping: the keys that an earlier statement returned, as JSON texts. If absent, documents with any key are grouped. */
  kept?: string[]
}

export interface GroupRow {
  /** The key of each level, as JSON text. */
  keys: string[]
  count: number
  /**
   * For a `terms` grouping: the sum of the counts of all terms in the same outer group, including terms beyond `size` that are not
   * returned, but not terms below `minimum`.
   */
  total: number
  /** The values in the order of the metrics; null if no document has the field. */
  values: (number | null)[]
}

interface Key {
  expression: Fragment
  /** For a field with several values: a join that repeats the row of a document for each of its values. */
  join?: Fragment
  /** Returns the key as JSON text. */
  shown(key: Fragment): Fragment
  /** Returns the condition that the key is one of these keys. */
  isOneOf(keys: string[]): Fragment
}

const asMillis = (sql: Sql, time: Fragment) => sql`(extract(epoch from ${time}) * 1000)::float8`
const composites = `('object', 'array', 'null')`

/** Returns a time zone in PostgreSQL's POSIX notation, in which offsets have the opposite sign. */
function zoneName(timeZone: string): string {
  const [, sign, hours, minutes = '00'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(timeZone) ?? []
  if (hours === undefined) return timeZone === 'Z' ? 'UTC' : timeZone
  return `<${sign}${hours}${minutes}>${sign === '-' ? '+' : '-'}${hours}:${minutes}`
}

const fixedUnits: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

function dateKey(sql: Sql, grouping: Extract<Grouping, { kind: 'date_histogram' }>, time: Fragment): Fragment {
  const { interval, offsetMs, timeZone } = grouping
  const zone = zoneName(timeZone)
  const fixed = typeof interval === 'number' ? interval : zone === 'UTC' ? fixedUnits[interval] : undefined
  if (fixed !== undefined) {
    const step = sql`make_interval(secs => ${fixed / 1000}::float8)`
    if (zone === 'UTC') return sql`date_bin(${step}, ${time}, ${new Date(offsetMs)}::timestamptz)`
    const origin = new Date(offsetMs).toISOString().slice(0, -1)
    return sql`(date_bin(${step}, ${time} at time zone ${zone}::text, ${origin}::text::timestamp) at time zone ${zone}::text)`
  }
  const offset = sql`make_interval(secs => ${offsetMs / 1000}::float8)`
  return sql`(date_trunc(${interval as string}::text, ${time} - ${offset}, ${zone}::text) + ${offset})`
}

/** Returns the value of a source, and the join that it needs. `name` is the alias of the join. */
function plainValue(
  sql: Sql,
  source: Extract<FieldSource, { kind: 'value' | 'values' }>,
  name: string,
): { value: Fragment; join?: Fragment } {
  const plain = sql.unsafe(composites)
  if (source.kind === 'value')
    return { value: sql`(case when jsonb_typeof(${source.value}) not in ${plain} then ${source.value} end)` }
  const alias = sql.unsafe(name)
  const join = sql`left join lateral (
    select distinct f.v from ${source.values} as f(v) where jsonb_typeof(f.v) not in ${plain}) ${alias} on true`
  return { value: sql`${alias}.v`, join }
}

function keyOf(sql: Sql, scope: Scope, grouping: Grouping, depth: number): Key {
  const source = sourceOf(sql, scope, grouping.field)
  if (grouping.kind === 'terms') return termsKey(sql, source, grouping, depth)
  const isDate = grouping.kind === 'date_histogram'
  const found: { value: Fragment; join?: Fragment } =
    source.kind === 'value' || source.kind === 'values'
      ? plainValue(sql, source, `g${depth}`)
      : { value: source.column }
  const join = found.join && { join: found.join }
  const never = sql`null`
  if (isDate) {
    const time = source.kind === 'time' ? source.column : source.kind === 'text' ? undefined : timeOf(sql, found.value)
    const expression = time ? dateKey(sql, grouping, time) : sql`null::timestamptz`
    return {
      expression,
      ...join,
      shown: (key) => sql`(${asMillis(sql, key)})::bigint::text`,
      isOneOf: (keys) => sql`${expression} = any(${keys.map((key) => new Date(Number(key)))}::timestamptz[])`,
    }
  }
  const number =
    source.kind === 'time' ? asMillis(sql, source.column) : source.kind === 'text' ? never : numberOf(sql, found.value)
  const { interval, offset } = grouping
  const expression = sql`(floor((${number} - ${offset}::float8) / ${interval}::float8) * ${interval}::float8 + ${offset}::float8)`
  return {
    expression,
    ...join,
    shown: (key) => sql`to_jsonb(${key})::text`,
    isOneOf: (keys) => sql`${expression} = any(${keys.map(Number)}::float8[])`,
  }
}

function termsKey(sql: Sql, source: FieldSource, grouping: Extract<Grouping, { kind: 'terms' }>, depth: number): Key {
  const { missing } = grouping
  if (source.kind === 'time') {
    return {
      expression: source.column,
      shown: (key) => sql`(${asMillis(sql, key)})::bigint::text`,
      isOneOf: (keys) => sql`${source.column} = any(${keys.map((key) => new Date(Number(key)))}::timestamptz[])`,
    }
  }
  if (source.kind === 'text')
    return {
      expression: source.column,
      shown: (key) => sql`to_jsonb(${key})::text`,
      isOneOf: (keys) => sql`${source.column} = any(${keys.map((key) => JSON.parse(key) as string)}::text[])`,
    }
  const { value, join } = plainValue(sql, source, `g${depth}`)
  const expression = missing === undefined ? value : sql`coalesce(${value}, ${JSON.stringify(missing)}::text::jsonb)`
  return {
    expression,
    ...(join && { join }),
    shown: (key) => sql`(${key})::text`,
    isOneOf: (keys) => sql`${expression} = any(${keys}::text[]::jsonb[])`,
  }
}

/** Returns a metric over an expression, which has one value in each row. */
function metricOf(sql: Sql, metric: Metric, value: Fragment): Fragment {
  if (metric === 'value_count') return sql`count(${value})::float8`
  if (metric === 'cardinality') return sql`count(distinct ${value})::float8`
  return sql`${sql.unsafe(metric)}(${value})::float8`
}

/** Returns the value of a field in a row. It may be an object or a list. */
function valueIn(sql: Sql, source: FieldSource): Fragment {
  if (source.kind === 'values') return sql`m.v`
  return source.kind === 'value' ? source.value : source.column
}

/** Returns the values that are counted: not objects and lists. */
const countedOf = (sql: Sql, source: FieldSource, value: Fragment): Fragment =>
  source.kind === 'value'
    ? sql`(case when jsonb_typeof(${value}) not in ${sql.unsafe(composites)} then ${value} end)`
    : value

function numbersOf(sql: Sql, source: FieldSource, value: Fragment): Fragment {
  if (source.kind === 'time') return asMillis(sql, value)
  if (source.kind === 'text') return sql`null::float8`
  const isDate = source.types?.has('date') && !source.types.has('long') && !source.types.has('double')
  return isDate ? asMillis(sql, timeOf(sql, value)) : numberOf(sql, value)
}

/**
 * Returns whether a field can have several values in a document. A metric of such a field needs its own statement, because its join repeats
 * documents and would change the counts.
 */
export const isListed = (sql: Sql, scope: Scope, field: string) => sourceOf(sql, scope, field).kind === 'values'

/** Joins fragments. The driver would treat an empty list as a parameter. */
const inSequence = (sql: Sql, parts: Fragment[]): Fragment => (parts.length === 0 ? sql`` : sql`${parts}`)

interface GroupQuery {
  relation: Relation
  scope: Scope
  query: Clause
  levels: Level[]
  /** Metrics of fields with one value, or exactly one metric of a field with several values. */
  metrics: MetricOf[]
}

/**
 * Prepares a transaction for aggregations. PostgreSQL expects that passing a row from a parallel process costs more than reading a value
 * from a document, and would read the documents in one process. In fact, a reduced row costs a tenth of what it expects.
 */
export async function readInParallel(sql: Sql): Promise<void> {
  await sql`select set_config('parallel_tuple_cost', '0.01', true)`
}

/** Groups documents. Returns at most `bucketsMax` + 1 rows: the extra row tells the caller that there are too many groups. */
export async function findGroups(
  sql: Sql,
  { relation, scope, query, levels, metrics }: GroupQuery,
): Promise<GroupRow[]> {
  const keys = levels.map(({ grouping }, depth) => keyOf(sql, scope, grouping, depth))
  const joins = keys.flatMap(({ join }) => (join ? [join] : []))
  // Documents are reduced to these columns before they are grouped: a key for each level and a value for each metric. A value is read from
  // its document once, and its type is checked afterwards.
  const columns = keys.map(({ expression }, depth): Fragment => sql`${expression} as ${sql.unsafe(`k${depth}`)}`)
  const values = metrics.map(({ metric, field }, index) => {
    const source = sourceOf(sql, scope, field)
    if (source.kind === 'values')
      joins.push(sql`cross join lateral (
        select f.v from ${source.values} as f(v) where jsonb_typeof(f.v) not in ${sql.unsafe(composites)}) m`)
    const isCounted = metric === 'value_count' || metric === 'cardinality'
    const name = sql.unsafe(`m${index}`)
    columns.push(sql`${valueIn(sql, source)} as ${name}`)
    return metricOf(sql, metric, isCounted ? countedOf(sql, source, name) : numbersOf(sql, source, name))
  })
  const conditions = levels.flatMap(({ kept }, depth) => (kept ? [sql`and ${keys[depth]!.isOneOf(kept)}`] : []))
  const where = sql`${visibleCondition(sql, scope, query)} ${inSequence(sql, conditions)}`
  // `offset 0` keeps the subquery apart. Otherwise PostgreSQL expects a group for each document, and sorts the documents with their content
  // instead of collecting the groups in a hash table.
  const reduced = sql`(
    select ${joined(sql, columns, ',')} from ${relation(sql)} d ${inSequence(sql, joins)} where ${where} offset 0) reduced`
  const valueList = values.length === 0 ? sql`'{}'::float8[]` : sql`array[${joined(sql, values, ',')}]::float8[]`
  if (levels.length === 0)
    return await sql<GroupRow[]>`
      select '{}'::text[] as keys, count(*)::float8 as count, 0::float8 as total, ${valueList} as "values"
      from ${reduced}`.unprepared()
  const names = keys.map((_, depth) => sql.unsafe(`k${depth}`))
  const shown = keys.map((key, depth) => key.shown(names[depth]!))
  const grouped = sql`
    select ${joined(sql, names, ',')}, count(*)::float8 as count, ${valueList} as "values"
    from ${reduced} group by ${joined(sql, names, ',')}`
  const ranked = rankedGroups(sql, levels, metrics, names, grouped)
  return await sql<GroupRow[]>`
    select array[${joined(sql, shown, ',')}] as keys, count, total, "values" from (${ranked}) ranked
    order by rank limit ${bucketsMax + 1}`.unprepared()
}

/**
 * Removes groups without a key or below the minimum count, and ranks the others. A `terms` grouping keeps only the first `size` terms in
 * each outer group.
 */
function rankedGroups(sql: Sql, levels: Level[], metrics: MetricOf[], names: Fragment[], grouped: Fragment): Fragment {
  const { grouping } = levels.at(-1)!
  const last = names.at(-1)!
  const isPresent = joined(
    sql,
    names.map((name) => sql`${name} is not null`),
    'and',
  )
  const above = names.slice(0, -1)
  const partition = above.length === 0 ? sql`` : sql`partition by ${joined(sql, above, ',')}`
  if (grouping.kind !== 'terms')
    return sql`
      select *, count as total, row_number() over (order by ${last}) as rank from (${grouped}) g
      where ${isPresent} and count >= ${grouping.minimum}`
  const order = termsOrder(sql, grouping.order, metrics, last)
  return sql`
    select * from (
      select *, sum(count) over (${partition}) as total, row_number() over (${partition} order by ${order}) as rank
      from (${grouped}) g where ${isPresent} and count >= ${grouping.minimum}) ranked
    where rank <= ${grouping.size}`
}

function termsOrder(sql: Sql, order: TermsOrder[], metrics: MetricOf[], key: Fragment): Fragment {
  const parts = order.map(({ by, descending }) => {
    const direction = sql.unsafe(descending ? 'desc nulls last' : 'asc nulls last')
    if (by === '_count') return sql`count ${direction}`
    if (by === '_key') return sql`${key} ${direction}`
    const column = metrics.findIndex(({ name }) => name === by) + 1
    return column === 0 ? sql`count desc` : sql`"values"[${column}::int] ${direction}`
  })
  return joined(sql, [...parts, sql`${key} asc`], ',')
}
