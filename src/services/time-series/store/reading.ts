/**
 * SQL statements that read points. Small rows are combined to one value for each endpoint, which takes a tenth of the time. Every
 * statement has a condition on endpoints, so that the tables could be partitioned by endpoint.
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

/** Counts texts by their bytes: a number takes a few bytes, and a text up to 65,536. */
const sizeOf = (sql: Sql) => sql`greatest(n, octet_length(data) / 64)`

/** Counts the packed points of each endpoint. */
export async function sumByEndpoint(sql: Sql, part: Part): Promise<Size[]> {
  return await sql`
    select endpoint_no as key, sum(${sizeOf(sql)})::float8 as points from time_series.chunks where ${overlaps(sql, part)}
    group by endpoint_no`
}

/** Counts the packed points of the first (descending: last) days. */
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
  /** Chunks in the order of day and write, each with its length in four bytes before it. */
  data: Buffer | null
  /** First and last time of the points in `data`. */
  tMin: number | null
  tMax: number | null
  /** Sums of chunks whose points are not needed: five numbers for each chunk (first time, count, sum, minimum, maximum). */
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
 * Reads sums of whole chunks. Reads the points of chunks that exceed the range, overlap another chunk, share a day with
 * samples, or have values that are not numbers.
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

/** Endpoints, sets and series of samples, and a time range. */
export interface SamplePart extends Omit<Part, 'seriesIds'> {
  sets: SeriesSet[]
  wanted: number[]
}

/** Samples as columns, not sorted. Single rows would take twice the time. */
export interface SampleRows {
  /** Absent if there is only one endpoint. */
  endpointNos: Float64Array | undefined
  times: Float64Array
  /** Absent if there is only one set. */
  setIds: Float64Array | undefined
  /** Present if requested. */
  slots: Float64Array | undefined
  writtens: Float64Array | undefined
  /** Values that are not numbers, as JSON, of the samples that have any. */
  others: string[] | null
  /** Total bytes of the long texts that `others` lacks; 0 if long texts were requested. */
  longBytes: number
  /** One column for each selected series, with a value for each sample that has it. */
  picked: Float64Array[]
  /** All values of each sample in the binary format of PostgreSQL arrays, if many series are selected. */
  arrays: Buffer | undefined
}

export interface SampleOptions extends ColumnOptions {
  limit: number
}

interface ColumnOptions {
  /** Reads `slot` and `written`, which give the order of writes. Only samples with the same time need them. */
  withOrder: boolean
  /** Reads texts of any length. Their total size is not known before the read. */
  withLong: boolean
}

/** Finds up to `limit` samples. Returns undefined if there are none. */
export async function findSamples(sql: Sql, part: SamplePart, options: SampleOptions): Promise<SampleRows | undefined> {
  const rows = sql`select * from time_series.samples where ${isInPart(sql, part)} limit ${options.limit}`
  return await readColumns(sql, part, rows, options)
}

/**
 * Finds the first (descending: last) samples of one endpoint, in a transaction. The planner has no statistics of recent
 * samples, and would sort instead of using the index.
 */
export async function findFirstSamples(
  sql: Sql,
  part: SamplePart,
  options: SampleOptions & { descending: boolean },
): Promise<SampleRows | undefined> {
  await sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`
  const [endpointNo] = part.endpointNos
  const direction = options.descending ? sql`desc` : sql``
  const rows = sql`
    select * from time_series.samples
    where endpoint_no = ${endpointNo!} and ${isInPart(sql, part)} order by ts ${direction} limit ${options.limit}`
  return await readColumns(sql, part, rows, options)
}

/** Finds the samples of a single time. Of several samples with the same set, it returns the one that was written last. */
export async function findSamplesAt(sql: Sql, part: SamplePart): Promise<SampleRows | undefined> {
  const rows = sql`
    select distinct on (endpoint_no, set_id) * from time_series.samples where ${isInPart(sql, part)}
    order by endpoint_no, set_id, slot desc, written desc`
  return await readColumns(sql, part, rows, { withOrder: true, withLong: true })
}

/** Counts the samples of each endpoint. */
export async function countSamples(sql: Sql, part: SamplePart): Promise<Size[]> {
  return await sql`
    select endpoint_no as key, count(*)::float8 as points from time_series.samples where ${isInPart(sql, part)}
    group by endpoint_no`
}

export const isInPart = (sql: Sql, { endpointNos, from, to, sets }: SamplePart) => sql`
  endpoint_no = any(${endpointNos}::bigint[])
  and ts between ${from} and ${to} and set_id = any(${sets.map(({ setId }) => setId)}::integer[])`

/** Separates JSON texts, which have no line breaks. Parsing an array of long texts takes a hundred times as long. */
const separator = '\n'
/** Texts up to this length, such as states, are always read. */
const longBytesMin = 256

/** Aggregates rows to columns of eight-byte numbers, which only need their bytes swapped. */
async function readColumns(
  sql: Sql,
  { endpointNos, sets, wanted }: SamplePart,
  rows: ReturnType<typeof isInPart>,
  { withOrder, withLong }: ColumnOptions,
): Promise<SampleRows | undefined> {
  const picked = readsSingleColumns(sets, wanted) ? wanted : []
  const values = picked.map((seriesId) => valueIn(sql, sets, seriesId))
  const isOther = values.map((value) => sql`${value} = 'NaN'`).reduce((all, one) => sql`${all} or ${one}`, sql`false`)
  const isWanted = picked.length > 0 ? sql`(${isOther})` : sql`true`
  const columns = [
    sql`string_agg(float8send(ts), '') as times`,
    ...(endpointNos.length > 1 ? [sql`string_agg(float8send(endpoint_no), '') as endpoint_nos`] : []),
    ...(sets.length > 1 ? [sql`string_agg(float8send(set_id), '') as set_ids`] : []),
    ...(withOrder
      ? [sql`string_agg(float8send(slot), '') as slots`, sql`string_agg(float8send(written), '') as writtens`]
      : []),
    ...(withLong
      ? [sql`string_agg(x, ${separator}) filter (where x is not null and ${isWanted}) as others`]
      : [
          sql`string_agg(x, ${separator}) filter (where octet_length(x) <= ${longBytesMin} and ${isWanted}) as others`,
          sql`sum(octet_length(x)) filter (where octet_length(x) > ${longBytesMin} and ${isWanted})::float8 as long_bytes`,
        ]),
    ...(picked.length > 0 ? [] : [sql`string_agg(array_send(v), '') as arrays`]),
    ...values.map((value, index) => sql`string_agg(float8send(${value}), '') as ${sql(`v${index}`)}`),
  ]
  const [row] = await sql`select ${columns.reduce((all, one) => sql`${all}, ${one}`)} from (${rows}) s`
  if (!row!.times) return undefined
  const floats = (name: string) => (row![name] ? floatsIn(row![name]) : undefined)
  return {
    endpointNos: floats('endpointNos'),
    times: floats('times')!,
    setIds: floats('setIds'),
    slots: floats('slots'),
    writtens: floats('writtens'),
    others: row!.others?.split(separator) ?? null,
    longBytes: row!.longBytes ?? 0,
    picked: picked.map((_, index) => floats(`v${index}`) ?? new Float64Array(0)),
    arrays: row!.arrays ?? undefined,
  }
}

export function floatsIn(bytes: Buffer): Float64Array {
  const copy = new Uint8Array(bytes)
  Buffer.from(copy.buffer).swap64()
  return new Float64Array(copy.buffer)
}

/** Selects the value of a series, null for a sample without it. */
export function valueIn(sql: Sql, sets: SeriesSet[], seriesId: number) {
  const positions = sets.map(({ seriesIds }) => seriesIds.indexOf(seriesId) + 1 || null)
  if (positions.length === 1) return sql`v[${positions[0]!}::integer]`
  const setIds = sets.map(({ setId }) => setId)
  return sql`v[(${positions}::integer[])[array_position(${setIds}::integer[], set_id)]]`
}

/** Up to these limits, one column is read for each series. Beyond them, whole arrays are read. */
const pickedMax = 8
const pickedSetsMax = 32

export const readsSingleColumns = (sets: SeriesSet[], wanted: number[]) =>
  wanted.length <= pickedMax && sets.length <= pickedSetsMax
