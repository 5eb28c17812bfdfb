/** Computes aggregations and returns them in the format of the search engine. */
import type { Sql } from '../../../kernel/db.ts'
import { parseExact } from '../exact-json.ts'
import { type Aggregation, bucketsMax, type Grouping } from '../query/aggregations.ts'
import { type Clause, invalid } from '../query/clauses.ts'
import type { Scope } from '../query/scope.ts'
import {
  findGroups,
  type GroupRow,
  isListed,
  type Level,
  type MetricOf,
  readInParallel,
} from '../store/search/aggregations.ts'
import type { Relation } from '../store/search/documents.ts'
import { emptyKeys } from './histogram-gaps.ts'

interface Search {
  sql: Sql
  relation: Relation
  scope: Scope
  query: Clause
  /** Number of buckets so far, in all aggregations. */
  buckets: number
}

type Result = Record<string, unknown>

/** Creates an object without a prototype, because an aggregation may have any name, also `__proto__`. */
const resultOf = (members: object = {}): Result => Object.assign(Object.create(null), members)

/** The groups (buckets) of one level of an aggregation, by the text of their keys from the top level down. */
type Groups = Map<string, Result>
const topKey = '[]'
const keyOf = (keys: string[]) => `[${keys.join()}]`

export async function aggregate(
  search: Omit<Search, 'buckets'>,
  aggregations: Aggregation[],
  isEmpty: boolean,
): Promise<Result> {
  const result = resultOf()
  const counted = { ...search, buckets: 0 }
  if (!isEmpty && aggregations.length > 0) await readInParallel(search.sql)
  await addAll(counted, aggregations, [], new Map([[topKey, result]]), isEmpty)
  return result
}

/** Computes aggregations inside each of `groups`, which an outer aggregation has created, and adds the results to these groups. */
async function addAll(search: Search, aggregations: Aggregation[], levels: Level[], groups: Groups, isEmpty: boolean) {
  const metrics = metricsOf(aggregations)
  const single = metrics.filter(({ field }) => !isListed(search.sql, search.scope, field))
  // Below a grouping, the statement of that grouping has already computed the metrics of fields that are never in lists.
  if (levels.length === 0 && single.length > 0) await addMetrics(search, single, levels, groups, isEmpty)
  for (const metric of metrics)
    if (!single.includes(metric)) await addMetrics(search, [metric], levels, groups, isEmpty)
  for (const { name, definition } of aggregations)
    if ('grouping' in definition) await addGrouping(search, name, definition, levels, groups, isEmpty)
}

const metricsOf = (aggregations: Aggregation[]): MetricOf[] =>
  aggregations.flatMap(({ name, definition }) => ('metric' in definition ? [{ name, ...definition }] : []))

async function addMetrics(search: Search, metrics: MetricOf[], levels: Level[], groups: Groups, isEmpty: boolean) {
  for (const group of groups.values())
    for (const metric of metrics) group[metric.name] = metricResult(search, metric, null)
  if (isEmpty) return
  for (const { keys, values } of await findGroups(search.sql, { ...search, levels, metrics })) {
    const group = groups.get(keyOf(keys))
    if (group)
      for (const [index, metric] of metrics.entries()) group[metric.name] = metricResult(search, metric, values[index]!)
  }
}

function metricResult({ scope }: Search, { metric, field }: MetricOf, value: number | null): Result {
  const isCount = metric === 'value_count' || metric === 'cardinality'
  if (isCount) return { value: value ?? 0 }
  // The sum over no values is 0. Other metrics have no value then.
  if (value === null) return { value: metric === 'sum' ? 0 : null }
  const types = scope.fields.get(field)?.types
  const isDate = field === '@timestamp' || (types?.has('date') && !types.has('long') && !types.has('double'))
  return isDate && metric !== 'sum' ? { value, value_as_string: new Date(value).toISOString() } : { value }
}

async function addGrouping(
  search: Search,
  name: string,
  { grouping, below }: Extract<Aggregation['definition'], { grouping: unknown }>,
  levels: Level[],
  groups: Groups,
  isEmpty: boolean,
) {
  const single = metricsOf(below).filter(({ field }) => !isListed(search.sql, search.scope, field))
  const inner: Level[] = [...levels, { grouping }]
  const rows = isEmpty ? [] : await findGroups(search.sql, { ...search, levels: inner, metrics: single })
  const children: Groups = new Map()
  const rowsByGroup = Map.groupBy(rows, ({ keys }) => keyOf(keys.slice(0, -1)))
  for (const [key, group] of groups) {
    const groupRows = rowsByGroup.get(key) ?? []
    const buckets = bucketsOf(search, grouping, groupRows, single)
    search.buckets += buckets.length
    if (search.buckets > bucketsMax || rows.length > bucketsMax)
      throw invalid(`aggs: the search has more than ${bucketsMax} buckets; use longer intervals or fewer terms`)
    for (const { row, bucket } of buckets) {
      const parents = key === topKey ? '' : `${key.slice(1, -1)},`
      children.set(`[${parents}${row.keys.at(-1)}]`, bucket)
    }
    group[name] = groupingResult(
      grouping,
      groupRows,
      buckets.map(({ bucket }) => bucket),
    )
  }
  if (below.length === 0) return
  const kept = grouping.kind === 'terms' ? { kept: [...new Set(rows.map(({ keys }) => keys.at(-1)!))] } : {}
  await addAll(search, below, [...levels, { grouping, ...kept }], children, rows.length === 0)
}

interface Bucket {
  row: GroupRow
  bucket: Result
}

function bucketsOf(search: Search, grouping: Grouping, rows: GroupRow[], metrics: MetricOf[]): Bucket[] {
  const empty =
    grouping.kind === 'terms'
      ? []
      : emptyKeys(
          grouping,
          rows.map(({ keys }) => Number(keys.at(-1))),
        )
  const all = [
    ...rows,
    ...empty.map((key) => ({ keys: [String(key)], count: 0, total: 0, values: metrics.map(() => null) })),
  ]
  if (empty.length > 0) all.sort((a, b) => Number(a.keys.at(-1)) - Number(b.keys.at(-1)))
  return all.map((row) => {
    const bucket = resultOf({ ...keyResult(grouping, row.keys.at(-1)!), doc_count: row.count })
    for (const [index, metric] of metrics.entries())
      bucket[metric.name] = metricResult(search, metric, row.values[index]!)
    return { row, bucket }
  })
}

function keyResult(grouping: Grouping, text: string): Result {
  const isDate = grouping.kind === 'date_histogram' || (grouping.kind === 'terms' && grouping.field === '@timestamp')
  if (isDate) return { key_as_string: new Date(Number(text)).toISOString(), key: Number(text) }
  const key = parseExact(text)
  return typeof key === 'boolean' ? { key: key ? 1 : 0, key_as_string: String(key) } : { key }
}

function groupingResult(grouping: Grouping, rows: GroupRow[], buckets: Result[]): Result {
  if (grouping.kind === 'terms') {
    const shown = rows.reduce((sum, { count }) => sum + count, 0)
    return { doc_count_error_upper_bound: 0, sum_other_doc_count: (rows[0]?.total ?? 0) - shown, buckets }
  }
  if (!grouping.keyed) return { buckets }
  return { buckets: Object.fromEntries(buckets.map((bucket) => [String(bucket.key_as_string ?? bucket.key), bucket])) }
}
