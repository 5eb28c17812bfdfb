/** SQL of searches: hits and totals. */
import type { Db, Fragment, Pending, Sql } from '../../../../kernel/db.ts'
import type { Clause, Comparison } from '../../query/clauses.ts'
import type { SearchRequest, SortKey } from '../../query/request.ts'
import { fieldName, type Scope } from '../../query/scope.ts'
import { conditionOf, endpointCondition, operators } from './conditions.ts'
import { indexColumn, joined, sourceOf } from './fields.ts'

/** A table that a search can read. It has the columns of `ingest.documents`. */
export type Relation = (sql: Sql) => Fragment
export const documentsRelation: Relation = (sql) => sql`ingest.documents`

/**
 * How PostgreSQL plans a statement. `forValues`: at each execution, for its values; a generic plan would read whole partitions.
 * `ofEndpoint`: once per connection, with the index on endpoint ids; only if `isOfOneEndpoint` returns true.
 */
export type Plan = 'forValues' | 'ofEndpoint'

export interface Hit {
  id: string
  index: string
  /** JSON text. Null if it and the documents before it have more than `docBytesMax` bytes together. */
  doc: string | null
  /** JSON text of each sort value. */
  sort: string[] | null
}

/** The hits of a page as JSON text, without the brackets of the list. */
export interface HitTexts {
  count: number
  /** Null if the documents have more than `docBytesMax` bytes together. */
  text: string | null
}

/** Runs statements on one snapshot, so that hits, totals and aggregations are consistent. */
export async function inSnapshot<T>(db: Db, work: (sql: Sql) => Promise<T>): Promise<T> {
  return (await db.sql.begin('isolation level repeatable read read only', async (sql) => {
    // Compiling a plan to machine code takes longer than most searches.
    await sql`select set_config('jit', 'off', true)`
    return await work(sql)
  })) as T
}

const oneOf = (sql: Sql, indexNos: number[]) =>
  indexNos.length === 1 ? sql`d.index_no = ${indexNos[0]!}` : sql`d.index_no = any(${indexNos}::int[])`

/**
 * Returns whether a search selects documents by one endpoint and by time only, in the order of time. The index on endpoint ids is then best
 * for all values, so one plan serves all such searches. The best plan of other searches depends on their values.
 */
export function isOfOneEndpoint(relation: Relation, scope: Scope, { sort }: SearchRequest, query: Clause): boolean {
  const { whole, partly, envelopeChanged } = scope
  if (relation !== documentsRelation || envelopeChanged || whole.length !== 1 || partly.length > 0) return false
  if (sort.length > 1 || sort.some(({ field }) => field !== '@timestamp')) return false
  const [endpoint, range, ...others] = allOf(query).sort((a, b) => b.kind.localeCompare(a.kind))
  return (
    endpoint?.kind === 'terms' &&
    endpoint.values.length === 1 &&
    fieldName(scope, endpoint.field) === 'endpointId' &&
    (range === undefined || (range.kind === 'range' && range.field === '@timestamp')) &&
    others.length === 0
  )
}

/** Returns the clauses that all apply. */
const allOf = (query: Clause): Clause[] =>
  query.kind === 'bool' && query.mustNot.length === 0 && query.should.length === 0 && query.minimum === 0
    ? [...query.must]
    : [query]

/** Returns the condition of the documents that the caller may read. */
function permittedCondition(sql: Sql, { tenantId, whole, partly, endpointIds }: Scope, plan: Plan): Fragment {
  // The planner does not know how few documents an endpoint has, and would use the index on `index_no`. `+ 0` prevents that.
  if (plan === 'ofEndpoint') return sql`d.index_no + 0 = ${whole[0]!}`
  if (partly.length === 0 || endpointIds.length === 0) return whole.length === 0 ? sql`false` : oneOf(sql, whole)
  const ofEndpoints = sql`(${oneOf(sql, partly)} and ${endpointCondition(sql, endpointIds)} and not exists (
    select 1 from ingest.unregistered u where u.tenant_id = ${tenantId} and u.endpoint_id = d.endpoint_id
      and d.arrived_at <= u.unregistered_at))`
  return whole.length === 0 ? ofEndpoints : sql`(${oneOf(sql, whole)} or ${ofEndpoints})`
}

/** Returns the condition for documents that the caller may read and that match the query. */
export function visibleCondition(sql: Sql, scope: Scope, query: Clause, plan: Plan = 'forValues'): Fragment {
  const { dates } = scope
  const parts: Fragment[] = [permittedCondition(sql, scope, plan)]
  if (dates) parts.push(sql`d.arrived_at >= ${new Date(dates.from)} and d.arrived_at < ${new Date(dates.to)}`)
  if (!scope.envelopeChanged)
    for (const [comparison, at] of timeBounds(query))
      parts.push(sql`d.arrived_at ${sql.unsafe(operators[comparison])} ${at}::timestamptz`)
  if (query.kind !== 'all') parts.push(sql`(${conditionOf(sql, scope, query)})`)
  return joined(sql, parts, 'and')
}

/**
 * Returns the bounds of `@timestamp` that apply to every hit. If no pipeline has changed `@timestamp`, it is the time of arrival, so these
 * bounds also select partitions.
 */
function timeBounds(query: Clause): [Comparison, Date][] {
  if (query.kind === 'bool') return query.must.flatMap(timeBounds)
  if (query.kind !== 'range' || query.field !== '@timestamp') return []
  return query.bounds.flatMap(([comparison, { date }]): [Comparison, Date][] =>
    date === undefined ? [] : [[comparison, new Date(date)]],
  )
}

interface SortExpression {
  expression: Fragment
  /** The sort value as JSON text, for the response. */
  shown: Fragment
  order: Fragment
}

function sortExpression(sql: Sql, scope: Scope, { field, descending, missingFirst }: SortKey): SortExpression {
  const direction = descending ? 'desc' : 'asc'
  const order = sql.unsafe(`${direction} nulls ${missingFirst ? 'first' : 'last'}`)
  if (field === '_score') return { expression: sql`1`, shown: sql`'1.0'`, order: sql.unsafe('desc') }
  if (field === '_doc') return { expression: sql`d.arrived_at`, shown: sql`${millis(sql, sql`d.arrived_at`)}`, order }
  const source = sourceOf(sql, scope, field)
  if (source.kind === 'time') {
    // If there are no nulls, the plain order can be read from the index.
    const plain = scope.envelopeChanged ? order : sql.unsafe(direction)
    return { expression: source.column, shown: millis(sql, source.column), order: plain }
  }
  if (source.kind === 'text')
    return { expression: source.column, shown: sql`to_jsonb(${source.column})::text`, order: sql.unsafe(direction) }
  const expression =
    source.kind === 'value'
      ? sql`nullif(${source.value}, 'null')`
      : sql`(select f.v from ${source.values} as f(v) where f.v <> 'null' order by f.v ${sql.unsafe(direction)} limit 1)`
  return { expression, shown: sql`(${expression})::text`, order }
}

/** Returns a time as the JSON text of its milliseconds. */
const millis = (sql: Sql, time: Fragment) => sql`(extract(epoch from ${time}) * 1000)::bigint::text`

/** Maximum size of the documents of a page in memory. 10,000 documents could have 10 GB together. */
export const docBytesMax = 64 * 1024 * 1024

interface Page {
  /** The hits, or their JSON text if the search requests whole documents. */
  hits: Hit[] | HitTexts
  /** The number of hits, but at most `countMax` + 1; undefined if the hits were not counted. */
  total: number | undefined
}

/** Finds hits and their total with one statement. */
export async function findPage(
  sql: Sql,
  relation: Relation,
  scope: Scope,
  request: SearchRequest,
  query: Clause,
  plan: Plan = 'forValues',
): Promise<Page> {
  const { size, from, countMax } = request
  if (size === 0)
    return { hits: [], total: countMax === 0 ? 0 : await countHits(sql, relation, scope, query, countMax) }
  const keys = request.sort.map((key) => sortExpression(sql, scope, key))
  const byTime = scope.envelopeChanged ? sql`d.ts asc nulls last` : sql`d.ts`
  const descends = request.sort[0]?.field === '@timestamp' && request.sort[0].descending
  const order = keys.map(({ expression, order: direction }) => sql`${expression} ${direction},`)
  const shown = keys.map((key) => key.shown)
  const where = visibleCondition(sql, scope, query, plan)
  // The expressions of the outer select are computed only for the hits of the page, not for every document that is sorted. Without
  // `offset 0`, PostgreSQL would merge this select into the statement around it and compute `doc` twice.
  const page = sql`
    select d.id::text as id, ${indexColumn(sql, scope)} as index, ${request.source === false ? sql`'{}'` : sql`d.doc::text`} as doc,
      ${shown.length === 0 ? sql`null::text[]` : sql`array[${joined(sql, shown, ',')}]`} as sort
    from (
      select d.* from ${relation(sql)} d where ${where}
      order by ${order.length === 0 ? sql`${byTime},` : order} d.id ${descends ? sql`desc` : sql``}
      limit ${size} offset ${from}) d offset 0`
  const total = countMax === 0 ? sql`select null::float8 as total` : countStatement(sql, relation, where, countMax)
  const run = <T extends object>(statement: Pending<T[]>) =>
    plan === 'ofEndpoint' ? statement : statement.unprepared()
  if (request.source === true) {
    const [row] = await run(textStatement(sql, page, request, total))
    const { count, text } = row!
    if (count > 0) return { hits: { count, text }, total: row!.total ?? undefined }
  } else {
    const rows = await run(sql<(Hit & { total: number | null })[]>`
      select page.id, page.index, page.sort, (${total}) as total,
        case when sum(octet_length(page.doc)) over (rows unbounded preceding) <= ${docBytesMax} then page.doc end as doc
      from (${page}) page`)
    if (rows.length > 0) return { hits: rows, total: rows[0]!.total ?? undefined }
  }
  const isKnown = from === 0 || countMax === 0
  return { hits: [], total: isKnown ? 0 : await countHits(sql, relation, scope, query, countMax) }
}

/**
 * Joins the hits of a page to one text in the database, which costs the main thread less than rows. The total is a subquery, because the
 * planner may repeat a joined statement for each hit. If there are no hits, the subquery does not run.
 */
function textStatement(sql: Sql, page: Fragment, { sort }: SearchRequest, total: Fragment) {
  const isSorted = sort.length > 0
  const score = isSorted ? sql`null` : sql`1.0`
  const sorted = isSorted ? sql`',"sort":[', array_to_string(sort, ',', 'null'), ']',` : sql``
  const hit = sql`concat('{"_index":', to_json(index), ',"_type":"_doc","_id":"', id, '","_score":${score},"_source":', doc, ${sorted} '}')`
  return sql<(HitTexts & { total: number | null })[]>`
    select count(*)::float8 as count, case when count(*) > 0 then (${total}) end as total,
      case when sum(bytes) <= ${docBytesMax} then string_agg(case when bytes_so_far <= ${docBytesMax} then ${hit} end, ',') end as text
    from (
      select page.*, octet_length(doc) as bytes, sum(octet_length(doc)) over (rows unbounded preceding) as bytes_so_far
      from (${page}) page) page`
}

const countStatement = (sql: Sql, relation: Relation, where: Fragment, countMax: number): Fragment =>
  Number.isFinite(countMax)
    ? sql`select count(*)::float8 as total from (select 1 from ${relation(sql)} d where ${where} limit ${countMax + 1}) found`
    : sql`select count(*)::float8 as total from ${relation(sql)} d where ${where}`

async function countHits(sql: Sql, relation: Relation, scope: Scope, query: Clause, countMax: number): Promise<number> {
  const where = visibleCondition(sql, scope, query)
  const [row] = await sql<{ total: number }[]>`${countStatement(sql, relation, where, countMax)}`
  return row!.total
}
