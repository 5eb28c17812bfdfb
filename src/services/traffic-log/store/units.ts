/**
 * SQL that finds units for a search. A unit is a batch or a block. The search must run in one snapshot, so that each record is in exactly
 * one unit.
 */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import { type Group, hashOfEndpoint } from '../codec/groups.ts'
import { requestIdModulus } from '../pack/pack-records.ts'
import type { RecordFilter } from '../search/filter.ts'
import { integersIn } from './copy-rows.ts'

/** A batch or a block, without its records. */
export interface Unit {
  isBatch: boolean
  id: string
  firstAt: number
  lastAt: number
  n: number
  groups: Group[]
}

/** A unit with its records. */
export interface LoadedUnit extends Unit {
  data: Buffer
  /** The number of the endpoint of each record in a block; undefined for a batch. */
  endpoints: Int32Array | undefined
}

/** Ids of the endpoints that a filter names, by their numbers. */
export type EndpointNumbers = ReadonlyMap<number, string>

export interface UnitQuery {
  filter: RecordFilter
  numbers: EndpointNumbers
  descending: boolean
}

/** The position of a unit in the order. Units are ordered by their start, or by their end if the order is descending. */
export interface Position {
  at: number
  id: string
}

export const positionOf = ({ firstAt, lastAt, id }: Unit, descending: boolean): Position => ({
  at: descending ? lastAt : firstAt,
  id,
})

const dayMicros = 86_400_000_000

const hasGroup = (sql: Sql, { versionName: v, extension: x, outbound: o }: RecordFilter) =>
  v || x || o !== undefined
    ? sql`and groups @> ${sql.json([{ ...(v && { v }), ...(x && { x }), ...(o !== undefined && { o }) }])}`
    : sql``

const ofApplications = (sql: Sql, names: Iterable<string>) => sql`
  exists (select from jsonb_array_elements(groups) g where g ->> 'a' = any(${[...names]}::text[]))`

/** Returns conditions that exclude units without a match. The filter then checks single records. */
function pruning(sql: Sql, { filter, numbers }: UnitQuery, isBatch: boolean): Fragment {
  const hasEndpoint = (ids: ReadonlySet<string>) => {
    if (isBatch) return sql`endpoint_hashes && ${[...ids].map(hashOfEndpoint)}::integer[]`
    const named = [...numbers].filter(([, id]) => ids.has(id)).map(([number]) => number)
    return sql`endpoints && ${named}::integer[]`
  }
  const { visible, endpointIds, requestId } = filter
  return sql`
    ${hasGroup(sql, filter)}
    ${endpointIds ? sql`and ${hasEndpoint(endpointIds)}` : sql``}
    ${
      requestId === undefined || isBatch
        ? sql``
        : sql`and request_ids @> array[${requestId % requestIdModulus}::smallint]`
    }
    ${
      visible === 'all'
        ? sql``
        : sql`and (${ofApplications(sql, visible.applicationNames)} or ${hasEndpoint(visible.endpointIds)})`
    }`
}

const within = (sql: Sql, { from, to }: { from: number; to: number }) => sql`last_at >= ${from} and first_at < ${to}`

/** Returns the condition on days. All records of a block are of one day, so the span determines the partitions. */
const withinDays = (sql: Sql, { from, to }: { from: number; to: number }) => sql`
  day >= ${Math.floor(from / dayMicros)} and day <= ${Math.floor(Math.min(to, 9e15) / dayMicros)}`

const after = (sql: Sql, { descending }: UnitQuery, position: Position | undefined, column: Fragment) =>
  position === undefined
    ? sql``
    : descending
      ? sql`and (${column}, id) < (${position.at}::bigint, ${position.id}::text)`
      : sql`and (${column}, id) > (${position.at}::bigint, ${position.id}::text)`

interface UnitRow extends Omit<LoadedUnit, 'endpoints'> {
  endpoints: Buffer | null
}

const unitOf = (row: UnitRow): LoadedUnit => ({
  ...row,
  endpoints: row.endpoints ? integersIn(row.endpoints) : undefined,
})

export interface UnitWindow {
  position: Position | undefined
  limit: number
  withData: boolean
  /** Finds only units that end in this period, because planning for few partitions takes less time. */
  ends: { from: number; to: number }
}

/** Finds units in the order of the query. With `withData`, they include their records; otherwise `data` is empty. */
export async function findUnits(
  sql: Sql,
  query: UnitQuery,
  { position, limit, withData, ends }: UnitWindow,
): Promise<LoadedUnit[]> {
  const { filter, descending } = query
  const days = { from: Math.max(filter.span.from, ends.from), to: Math.min(filter.span.to, ends.to) }
  const column = descending ? sql`last_at` : sql`first_at`
  const order = descending ? sql`order by ${column} desc, id desc` : sql`order by ${column}, id`
  // The index supports only the bound on the ordered column. The outer condition handles units with the same time.
  const bound =
    position === undefined
      ? sql``
      : descending
        ? sql`and last_at <= ${position.at}`
        : sql`and first_at >= ${position.at}`
  const part = (from: Fragment, id: Fragment, isBatch: boolean) => sql`
    (select * from (
      select ${isBatch}::boolean as is_batch, ${id} as id, first_at, last_at, n, groups,
        ${isBatch || !withData ? sql`null::bytea` : sql`array_send(endpoints)`} as endpoints,
        ${withData ? sql`data` : sql`''::bytea as data`}
      from ${from} where tenant_id = ${filter.tenantId} and ${within(sql, filter.span)} ${bound} ${pruning(sql, query, isBatch)}
        and last_at >= ${ends.from} and last_at < ${ends.to} ${isBatch ? sql`` : sql`and ${withinDays(sql, days)}`}) u
    where true ${after(sql, query, position, column)} ${order} limit ${limit}::bigint)`
  const rows = await sql<UnitRow[]>`
    select * from (
      ${part(sql`traffic_log.batches`, sql`'b' || batch_id`, true)}
      union all
      ${part(sql`traffic_log.blocks`, sql`lpad(block_id::text, 18, '0')`, false)}) units
    ${order} limit ${limit}::bigint`
  return rows.map(unitOf)
}

/** A block with records of a few endpoints, and the number of these records. */
export interface BlockOfEndpoints {
  day: number
  blockId: number
  firstAt: number
  lastAt: number
  /** Number of records of these endpoints in the block, also outside of the time span of the query. */
  n: number
}

/** Finds the blocks with records of these endpoints in the span, in the order of the query. The blocks are not decoded. */
export async function findBlocksOfEndpoints(
  sql: Sql,
  { filter, descending }: UnitQuery,
  numbers: number[],
): Promise<BlockOfEndpoints[]> {
  const count = numbers
    .map((number) => sql`coalesce(cardinality(array_positions(endpoints, ${number}::integer)), 0)`)
    .reduce((sum, part) => sql`${sum} + ${part}`)
  return await sql`
    select day, block_id, first_at, last_at, ${count} as n from traffic_log.blocks
    where tenant_id = ${filter.tenantId} and ${within(sql, filter.span)} and ${withinDays(sql, filter.span)}
      and endpoints && ${numbers}::integer[]
    order by ${descending ? sql`last_at desc, block_id desc` : sql`first_at, block_id`}`
}

/** Loads blocks by their keys. */
export async function loadBlocks(sql: Sql, tenantId: string, blocks: BlockOfEndpoints[]): Promise<LoadedUnit[]> {
  if (blocks.length === 0) return []
  const rows = await sql<UnitRow[]>`
    select false as is_batch, block_id::text as id, first_at, last_at, n, groups, array_send(endpoints) as endpoints, data
    from traffic_log.blocks
    where tenant_id = ${tenantId} and day = any(${[...new Set(blocks.map(({ day }) => day))]}::integer[])
      and block_id = any(${blocks.map(({ blockId }) => blockId)}::bigint[])`
  return rows.map(unitOf)
}

/** Finds units that the stored counts do not cover: batches and, with `all`, blocks of a span without a whole period of five minutes. */
export async function findUncounted(
  sql: Sql,
  query: UnitQuery,
  { blocks }: { blocks: 'none' | 'all' },
): Promise<LoadedUnit[]> {
  const { filter } = query
  const rows = await sql<UnitRow[]>`
    select true as is_batch, 'b' || batch_id as id, first_at, last_at, n, groups, null::bytea as endpoints,
      ${needsData(sql, filter)} as data
    from traffic_log.batches where tenant_id = ${filter.tenantId} and ${within(sql, filter.span)} ${pruning(sql, query, true)}
    ${
      blocks === 'none'
        ? sql``
        : sql`
    union all
    select false, block_id::text, first_at, last_at, n, groups, array_send(endpoints), ${needsData(sql, filter)}
    from traffic_log.blocks
    where tenant_id = ${filter.tenantId} and ${within(sql, filter.span)} and ${withinDays(sql, filter.span)}
      ${pruning(sql, query, false)}`
    }`
  return rows.map(unitOf)
}

/**
 * Returns the SQL expression for the records of a unit. It is empty if they are not needed: the counts of a unit are enough if the unit is
 * within the span and the filter names no endpoints.
 */
const needsData = (sql: Sql, { span, endpointIds, visible }: RecordFilter) =>
  endpointIds || (visible !== 'all' && visible.endpointIds.size > 0)
    ? sql`data`
    : sql`case when first_at < ${span.from} or last_at >= ${span.to} then data else ''::bytea end`

/** Finds when endpoints of these ids were unregistered, in microseconds since 1970. */
export async function findUnregistered(
  sql: Sql,
  tenantId: string,
  endpointIds: Iterable<string>,
): Promise<Map<string, number>> {
  const rows = await sql<{ endpointId: string; at: number }[]>`
    select endpoint_id, (extract(epoch from unregistered_at) * 1000000)::bigint as at from traffic_log.unregistered
    where tenant_id = ${tenantId} and endpoint_id = any(${[...endpointIds]}::text[])`
  return new Map(rows.map(({ endpointId, at }) => [endpointId, at]))
}

export const snapshotReadOnly = 'isolation level repeatable read read only'

/** Sets the time limit of statements in a transaction. Also forces custom plans, because the best plan depends on the time span. */
export async function limitStatements(sql: Sql, milliseconds: number) {
  await sql`
    select set_config('statement_timeout', ${String(milliseconds)}, true), set_config('jit', 'off', true),
      set_config('plan_cache_mode', 'force_custom_plan', true)`
}
