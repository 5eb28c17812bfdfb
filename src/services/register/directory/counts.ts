/** Counts endpoints by application, version, connection or any metadata key. */

import { monotonicMs } from '../../../kernel/clock.ts'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { sourcesOf } from './list.ts'
import { connections, type Dimension, hasConditions } from './query.ts'
import { type DirectoryQuery, type QueryDeps, queryOf, type SelectionRequest } from './selection.ts'
import type { HasKey } from './settings.ts'
import * as store from './store/counts.ts'
import { connectionKey, findValueCounts } from './store/value-counts.ts'

export interface CountsRequest extends SelectionRequest {
  dimensions: Dimension[]
  /** Number of values to return for each dimension. */
  top: number
}

export interface Counts {
  /** Number of endpoints that meet the conditions. */
  total: number
  /** False if counting took too long. The numbers then include only the endpoints that were registered first. */
  complete: boolean
  counts: DimensionCounts[]
}

export interface DimensionCounts {
  by: string
  values: { value: string | number | boolean; count: number }[]
  /** Number of endpoints whose value is not in `values`. */
  others: number
  /** Number of endpoints without a value. */
  missing: number
}

export interface CountDeps extends QueryDeps {
  /** Returns whether all these applications maintain the numbers of endpoints by the value of this metadata key. */
  isCounted: HasKey
  limits: CountLimits
  concurrency: ConcurrencyLimit
}
export interface CountLimits {
  budgetMs: number
  /** Number of endpoint numbers (`seq`) that one statement covers. */
  steps: number
  candidatesMax: number
}
export const defaultCountLimits: CountLimits = { budgetMs: 2000, steps: 25_000, candidatesMax: 20_000 }
export const createCountConcurrency = () => createConcurrencyLimit({ perTenant: 2, total: 4, waitingPerTenant: 20 })

/** Maximum number of values of a dimension. Further values are counted together. */
const valuesMax = 20_000

/**
 * The endpoints that were counted so far: in total, and for each dimension by value. The value null stands for endpoints without a value.
 */
interface Sums {
  total: number
  byDimension: Map<string | null, number>[]
  /** For each dimension, the number of endpoints whose value is not in `byDimension`, because it already has `valuesMax` values. */
  beyond: number[]
}

export async function countDirectory(deps: CountDeps, ctx: Ctx, request: CountsRequest): Promise<Counts> {
  const query = await queryOf(deps, ctx, request)
  const sums: Sums = {
    total: 0,
    byDimension: request.dimensions.map(() => new Map()),
    beyond: request.dimensions.map(() => 0),
  }
  const complete = (await isMaintained(deps, query, request.dimensions))
    ? await addMaintained(deps, query, request.dimensions, sums)
    : await deps.concurrency.run(query.scope.tenantId, () => addCounted(deps, query, request.dimensions, sums), ctx)
  const singles = await store.countSingles(deps.db.sql, { ...query, dimensions: request.dimensions }, deps.filters)
  if (singles) add(sums, singles)
  return {
    total: sums.total,
    complete,
    counts: request.dimensions.map((dimension, index) => countsOf(dimension, index, sums, request.top)),
  }
}

/** Returns whether the maintained counts answer the query. Counts by connection and metadata are not maintained for single versions. */
async function isMaintained(deps: CountDeps, { scope, conditions }: DirectoryQuery, dimensions: Dimension[]) {
  if (hasConditions({ ...conditions, versionNames: undefined })) return false
  const others = dimensions.filter(({ field }) => field !== 'application' && field !== 'version')
  if (others.length === 0) return true
  if (conditions.versionNames !== undefined) return false
  for (const dimension of others)
    if (
      dimension.field === 'metadata' &&
      !(await deps.isCounted(scope.tenantId, scope.applicationNames, dimension.key))
    )
      return false
  return true
}

async function addMaintained(deps: CountDeps, query: DirectoryQuery, dimensions: Dimension[], sums: Sums) {
  const rows = await store.findMaintained(deps.db.sql, query.scope, query.conditions.versionNames)
  for (const { applicationName, versionName, count } of rows) {
    sums.total += count
    for (const [dimension, { field }] of dimensions.entries())
      if (field === 'application' || field === 'version')
        addValue(sums, dimension, field === 'application' ? applicationName : versionName, count)
  }
  const { total } = sums
  for (const [index, dimension] of dimensions.entries())
    if (dimension.field === 'connection' || dimension.field === 'metadata')
      await addValues(deps, query, { index, dimension, total }, sums)
  return true
}

/** Adds the maintained counts by connection or by a metadata key. All other endpoints have never connected, or do not have the key. */
async function addValues(
  deps: CountDeps,
  { scope }: DirectoryQuery,
  { index, dimension, total }: { index: number; dimension: Dimension; total: number },
  sums: Sums,
) {
  const isConnection = dimension.field !== 'metadata'
  let left = total
  for (const { value, count } of await findValueCounts(
    deps.db.sql,
    scope,
    isConnection ? connectionKey : dimension.key,
  )) {
    addValue(sums, index, isConnection ? connections[Number(value)]! : value, count)
    left -= count
  }
  // `left` can be negative, because the counts by value may still include endpoints that were just deleted.
  if (left > 0) addValue(sums, index, isConnection ? 'never' : null, left)
}

/**
 * Counts with the index of a condition that few endpoints meet. If there is none, counts in steps. Returns false if the time limit was
 * reached.
 */
async function addCounted(
  deps: CountDeps,
  query: DirectoryQuery,
  dimensions: Dimension[],
  sums: Sums,
): Promise<boolean> {
  const { db, filters, limits } = deps
  if (query.scope.applicationNames.length === 0) return true
  const grouped = { ...query, dimensions }
  for (const source of await sourcesOf(deps, { query, sort: byCreation }, limits.candidatesMax)) {
    const counted = await store.countCandidates(db.sql, grouped, filters, source, limits.candidatesMax)
    if (!counted) continue
    add(sums, counted)
    return true
  }
  const began = monotonicMs()
  const { from, to } = await store.findBounds(db.sql, query.scope.tenantId)
  for (let after = from - 1; after < to; after += limits.steps) {
    if (after >= from && monotonicMs() - began > limits.budgetMs) return false
    add(sums, await store.countRange(db.sql, grouped, filters, { after, last: after + limits.steps }))
  }
  return true
}

const byCreation = { by: { field: 'createdDate' }, descending: false } as const

function add(sums: Sums, { total, groups }: store.CountedStep) {
  sums.total += total
  for (const { dimension, value, count } of groups) addValue(sums, dimension, value, count)
}

function addValue({ byDimension, beyond }: Sums, dimension: number, value: string | null, count: number) {
  const counts = byDimension[dimension]!
  const known = counts.get(value)
  if (known === undefined && counts.size >= valuesMax && value !== null) beyond[dimension]! += count
  else counts.set(value, (known ?? 0) + count)
}

function countsOf(dimension: Dimension, index: number, { byDimension, beyond }: Sums, top: number): DimensionCounts {
  const counts = byDimension[index]!
  const missing = counts.get(null) ?? 0
  const sorted = [...counts].flatMap(([value, count]) => (value === null ? [] : [{ value, count }]))
  sorted.sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
  return {
    by: dimension.field === 'metadata' ? dimension.key : dimension.field,
    values: sorted.slice(0, top).map(({ value, count }) => ({ value: jsonValueOf(dimension, value), count })),
    others: sorted.slice(top).reduce((sum, { count }) => sum + count, beyond[index]!),
    missing,
  }
}

const jsonValueOf = ({ field }: Dimension, value: string): string | number | boolean =>
  field === 'metadata' ? JSON.parse(value) : value
