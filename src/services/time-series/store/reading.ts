/**
 * SQL statements that read points. Small rows are combined into one value for each endpoint, which takes a tenth of the time of sending
 * them as rows. Every statement about chunks has a condition on endpoints, so that the table could be partitioned by endpoint.
 */
import type { Sql } from '../../../kernel/db.ts'
import type { SeriesSet } from './numbers.ts'

/** Finds the sets of an application that contain any of these series. */
export async function findSetsWith(
  sql: Sql,
  { tenantId, applicationName }: { tenantId: string; applicationName: string },
  seriesIds: number[],
): Promise<SeriesSet[]> {
  return await sql`
    select set_id, series_ids from time_series.sets
    where tenant_id = ${tenantId} and application_name = ${applicationName} and series_ids && ${seriesIds}::integer[]`
}

/** Endpoints, series and a time range; both times are included. */
export interface Part {
  endpointNos: number[]
  seriesIds: number[]
  from: number
  to: number
}

const dayMs = 86_400_000

/** Matches chunks that overlap the part. */
const overlaps = (sql: Sql, { endpointNos, seriesIds, from, to }: Part) => sql`
  endpoint_no = any(${endpointNos}::bigint[]) and series_id = any(${seriesIds}::integer[])
  and day between ${Math.floor(from / dayMs)} and ${Math.floor(to / dayMs)} and t_max >= ${from} and t_min <= ${to}`

export interface Size {
  /** Number of the endpoint, day or series. */
  key: number
  points: number
}

/** Returns the size of a chunk in points. Texts are counted by their bytes: a number takes a few bytes, but a text up to 65,536. */
const sizeOf = (sql: Sql) => sql`greatest(n, octet_length(data) / 64)`

/** Counts the packed points of each endpoint. */
export async function sumByEndpoint(sql: Sql, part: Part): Promise<Size[]> {
  return await sql`
    select endpoint_no as key, sum(${sizeOf(sql)})::float8 as points from time_series.chunks where ${overlaps(sql, part)}
    group by endpoint_no`
}

/** Counts the packed points of the first days, or of the last days if the order is descending. */
export async function sumByDay(sql: Sql, part: Part, order: { descending: boolean; limit: number }): Promise<Size[]> {
  return await sql`
    select day as key, sum(${sizeOf(sql)})::float8 as points from time_series.chunks where ${overlaps(sql, part)}
    group by day order by day ${order.descending ? sql`desc` : sql``} limit ${order.limit}`
}

export async function sumBySeries(sql: Sql, part: Part): Promise<Size[]> {
  return await sql`
    select series_id as key, sum(${sizeOf(sql)})::float8 as points from time_series.chunks where ${overlaps(sql, part)}
    group by series_id`
}

/** Finds the first time and the number of points of each chunk. */
export async function findChunkStarts(sql: Sql, part: Part): Promise<{ from: number; points: number }[]> {
  return await sql`
    select t_min as from, ${sizeOf(sql)} as points from time_series.chunks where ${overlaps(sql, part)} order by t_min`
}

export interface PackedOfSeries {
  endpointNo: number
  seriesId: number
  /** The chunks in the order of day and write. The length of a chunk precedes it in four bytes. */
  data: Buffer | null
  /** First and last time of the points in `data`. */
  tMin: number | null
  tMax: number | null
  /** Sums of chunks whose points are not needed. There are five numbers for each chunk: first time, count, sum, minimum, maximum. */
  sums?: Float64Array
}

export async function findPacked(sql: Sql, part: Part): Promise<PackedOfSeries[]> {
  return await sql`
    select endpoint_no, series_id, min(t_min) as t_min, max(t_max) as t_max,
      string_agg(int4send(octet_length(data)) || data, '' order by day, slot, part) as data
    from time_series.chunks where ${overlaps(sql, part)}
    group by endpoint_no, series_id`
}

/**
 * Reads the sums of whole chunks. The points of a chunk are read instead if the chunk exceeds the range, overlaps another chunk, shares a
 * day with samples, or has values that are not numbers.
 */
export async function findPackedSums(sql: Sql, part: Part, sampledDays: number[]): Promise<PackedOfSeries[]> {
  const rows = await sql<(Omit<PackedOfSeries, 'sums'> & { sums: Buffer | null })[]>`
    select endpoint_no, series_id,
      min(t_min) filter (where not is_enough) as t_min, max(t_max) filter (where not is_enough) as t_max,
      string_agg(int4send(octet_length(data)) || data, '' order by day, slot, part) filter (where not is_enough) as data,
      string_agg(float8send(t_min) || float8send(n) || float8send(v_sum) || float8send(v_min) || float8send(v_max), '')
        filter (where is_enough) as sums
    from (
      select endpoint_no, series_id, day, slot, part, n, t_min, t_max, v_sum, v_min, v_max, data,
        coalesce(v_sum is not null and get_byte(substring(data from 2 for 1), 0) = 0
          and t_min >= ${part.from} and t_max <= ${part.to} and day <> all(${sampledDays}::integer[])
          and coalesce(max(t_max) over (days rows between unbounded preceding and 1 preceding) < t_min, true)
          and coalesce(min(t_min) over (days rows between 1 following and unbounded following) > t_max, true), false)
          as is_enough
      from time_series.chunks where ${overlaps(sql, part)}
      window days as (partition by endpoint_no, series_id, day order by t_min)) c
    group by endpoint_no, series_id`
  return rows.map(({ sums, ...row }) => ({ ...row, ...(sums && { sums: floatsIn(sums) }) }))
}

export function floatsIn(bytes: Buffer): Float64Array {
  const copy = new Uint8Array(bytes)
  Buffer.from(copy.buffer).swap64()
  return new Float64Array(copy.buffer)
}

/** Does the same as `floatsIn`, without new memory. It overwrites the given bytes and up to seven bytes before them. */
export function floatsInPlace(bytes: Buffer): Float64Array {
  const start = bytes.byteOffset - (bytes.byteOffset % 8)
  const aligned = Buffer.from(bytes.buffer, start, bytes.length)
  bytes.copy(aligned)
  aligned.swap64()
  return new Float64Array(bytes.buffer, start, bytes.length / 8)
}
