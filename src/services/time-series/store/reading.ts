/**
 * What readers ask for. Every statement names the endpoints: they are what the tables would be distributed by. Many small rows
 * travel as one value for each endpoint, which takes a tenth of the time of the rows.
 */
import type { Sql } from '../../../kernel/db.ts'
import type { SeriesSet } from './numbers.ts'

/** The sets of an application that hold any of these series. */
export async function findSetsWith(
  sql: Sql,
  { tenantId, applicationName }: { tenantId: string; applicationName: string },
  seriesIds: number[],
): Promise<SeriesSet[]> {
  return await sql`
    select set_id, series_ids from time_series.sets
    where tenant_id = ${tenantId} and application_name = ${applicationName} and series_ids && ${seriesIds}::integer[]`
}

/** Both times are within. */
export interface Part {
  endpointNos: number[]
  seriesIds: number[]
  from: number
  to: number
}

const dayMs = 86_400_000

/** Chunks that hold anything of it. */
const within = (sql: Sql, { endpointNos, seriesIds, from, to }: Part) => sql`
  endpoint_no = any(${endpointNos}::bigint[]) and series_id = any(${seriesIds}::integer[])
  and day between ${Math.floor(from / dayMs)} and ${Math.floor(to / dayMs)} and t_max >= ${from} and t_min <= ${to}`

export interface Size {
  /** Of what was asked by: the endpoint, the day or the series. */
  key: number
  points: number
}

/** Points, or texts that take as much: numbers take a few bytes each, and a text may have 65,536. */
const sizeOf = (sql: Sql) => sql`greatest(n, octet_length(data) / 64)`

/** How many packed points there are of each endpoint that has any. */
export async function sumByEndpoint(sql: Sql, part: Part): Promise<Size[]> {
  return await sql`
    select endpoint_no as key, sum(${sizeOf(sql)})::float8 as points from time_series.chunks where ${within(sql, part)}
    group by endpoint_no`
}

/** Of some days, the first or the last ones. */
export async function sumByDay(sql: Sql, part: Part, order: { descending: boolean; limit: number }): Promise<Size[]> {
  return await sql`
    select day as key, sum(${sizeOf(sql)})::float8 as points from time_series.chunks where ${within(sql, part)}
    group by day order by day ${order.descending ? sql`desc` : sql``} limit ${order.limit}`
}

export async function sumBySeries(sql: Sql, part: Part): Promise<Size[]> {
  return await sql`
    select series_id as key, sum(${sizeOf(sql)})::float8 as points from time_series.chunks where ${within(sql, part)}
    group by series_id`
}

/** When the chunks begin, with how many points each has. */
export async function findBeginnings(sql: Sql, part: Part): Promise<{ from: number; points: number }[]> {
  return await sql`
    select t_min as from, ${sizeOf(sql)} as points from time_series.chunks where ${within(sql, part)} order by t_min`
}

export interface PackedOfSeries {
  endpointNo: number
  seriesId: number
  /** Chunks in the order of day and writing, each after its length in four bytes. */
  data: Buffer | null
  /** Of chunks whose points are not needed: the first time, how many they are, their sum, the least and the greatest. */
  sums?: Float64Array
}

export async function findPacked(sql: Sql, part: Part): Promise<PackedOfSeries[]> {
  return await sql`
    select endpoint_no, series_id,
      string_agg(int4send(octet_length(data)) || data, '' order by day, slot, part) as data
    from time_series.chunks where ${within(sql, part)}
    group by endpoint_no, series_id`
}

/**
 * What is known of whole chunks, and the points of those where that is not enough: at the ends of the span, where another chunk
 * or a sample of the same time may count instead, and where there is anything but numbers.
 */
export async function findPackedSums(sql: Sql, part: Part, sampledDays: number[]): Promise<PackedOfSeries[]> {
  const rows = await sql<{ endpointNo: number; seriesId: number; data: Buffer | null; sums: Buffer | null }[]>`
    select endpoint_no, series_id,
      string_agg(int4send(octet_length(data)) || data, '' order by day, slot, part) filter (where not is_enough) as data,
      string_agg(float8send(t_min) || float8send(n) || float8send(v_sum) || float8send(v_min) || float8send(v_max), '')
        filter (where is_enough) as sums
    from (
      select endpoint_no, series_id, day, slot, part, n, t_min, v_sum, v_min, v_max, data,
        coalesce(v_sum is not null and get_byte(substring(data from 2 for 1), 0) = 0
          and t_min >= ${part.from} and t_max <= ${part.to} and day <> all(${sampledDays}::integer[])
          and coalesce(max(t_max) over (days rows between unbounded preceding and 1 preceding) < t_min, true)
          and coalesce(min(t_min) over (days rows between 1 following and unbounded following) > t_max, true), false)
          as is_enough
      from time_series.chunks where ${within(sql, part)}
      window days as (partition by endpoint_no, series_id, day order by t_min)) c
    group by endpoint_no, series_id`
  return rows.map(({ sums, ...row }) => ({ ...row, ...(sums && { sums: floatsIn(sums) }) }))
}

/** Which values of a sample are wanted, by its set. */
export interface HotPart extends Omit<Part, 'seriesIds'> {
  sets: SeriesSet[]
  wanted: number[]
}

/** Samples in whatever order, column by column: rows of their own would take twice the time. */
export interface HotRows {
  /** Absent where there is one endpoint only. */
  endpointNos: Float64Array | undefined
  times: Float64Array
  /** Absent where there is one set only. */
  setIds: Float64Array | undefined
  /** Where they were asked for. */
  slots: Float64Array | undefined
  writtens: Float64Array | undefined
  /** What is not a number, as texts of JSON: of the samples that have such a thing among the values below. */
  others: string[] | null
  /** Of those that are long, and then missing among `others`, unless they were asked for. */
  longBytes: number
  /** Of each wanted series a value for each sample that has it. */
  picked: Float64Array[]
  /** Or, where so much is wanted: all values of each sample, as PostgreSQL sends an array. */
  arrays: Buffer | undefined
}

export interface HotOptions extends WantedColumns {
  limit: number
}

interface WantedColumns {
  /** With slots and stamps, which say who wrote later: only samples of the same time need them. */
  withWriting: boolean
  /** With texts of any length: nobody knows beforehand how much that is. */
  withLong: boolean
}

/** Up to `limit` of them; undefined: none. */
export async function findHot(sql: Sql, part: HotPart, options: HotOptions): Promise<HotRows | undefined> {
  const rows = sql`select * from time_series.samples where ${ofSamples(sql, part)} limit ${options.limit}`
  return await asColumns(sql, part, rows, options)
}

/**
 * Of one endpoint, in a transaction: the first ones (descending: the last ones). The planner knows nothing of samples that came
 * in the last minute, and would sort them all where the index has them in this order.
 */
export async function findFirstHot(
  sql: Sql,
  part: HotPart,
  options: HotOptions & { descending: boolean },
): Promise<HotRows | undefined> {
  await sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`
  const [endpointNo] = part.endpointNos
  const direction = options.descending ? sql`desc` : sql``
  const rows = sql`
    select * from time_series.samples
    where endpoint_no = ${endpointNo!} and ${ofSamples(sql, part)} order by ts ${direction} limit ${options.limit}`
  return await asColumns(sql, part, rows, options)
}

/** At one time, where there may be any number of samples: only those that count. */
export async function findHotAt(sql: Sql, part: HotPart): Promise<HotRows | undefined> {
  const rows = sql`
    select distinct on (endpoint_no, set_id) * from time_series.samples where ${ofSamples(sql, part)}
    order by endpoint_no, set_id, slot desc, written desc`
  return await asColumns(sql, part, rows, { withWriting: true, withLong: true })
}

/** How many samples there are of each endpoint that has any. */
export async function countHot(sql: Sql, part: HotPart): Promise<Size[]> {
  return await sql`
    select endpoint_no as key, count(*)::float8 as points from time_series.samples where ${ofSamples(sql, part)}
    group by endpoint_no`
}

const ofSamples = (sql: Sql, { endpointNos, from, to, sets }: HotPart) => sql`
  endpoint_no = any(${endpointNos}::bigint[])
  and ts between ${from} and ${to} and set_id = any(${sets.map(({ setId }) => setId)}::integer[])`

/** Never in JSON as we write it; to read an array of long texts takes a hundred times as long as to cut one text. */
const lineBreak = '\n'
/** States and the like are shorter, and nulls. */
const longFrom = 256

/** Everything as numbers of eight bytes: their bytes have to be turned around, and nothing else is to be done. */
async function asColumns(
  sql: Sql,
  { endpointNos, sets, wanted }: HotPart,
  rows: ReturnType<typeof ofSamples>,
  { withWriting, withLong }: WantedColumns,
): Promise<HotRows | undefined> {
  const picked = isPicked(sets, wanted) ? wanted : []
  const values = picked.map((seriesId) => valueIn(sql, sets, seriesId))
  const isOther = values.map((value) => sql`${value} = 'NaN'`).reduce((all, one) => sql`${all} or ${one}`, sql`false`)
  const isWanted = picked.length > 0 ? sql`(${isOther})` : sql`true`
  const columns = [
    sql`string_agg(float8send(ts), '') as times`,
    ...(endpointNos.length > 1 ? [sql`string_agg(float8send(endpoint_no), '') as endpoint_nos`] : []),
    ...(sets.length > 1 ? [sql`string_agg(float8send(set_id), '') as set_ids`] : []),
    ...(withWriting
      ? [sql`string_agg(float8send(slot), '') as slots`, sql`string_agg(float8send(written), '') as writtens`]
      : []),
    ...(withLong
      ? [sql`string_agg(x, ${lineBreak}) filter (where x is not null and ${isWanted}) as others`]
      : [
          sql`string_agg(x, ${lineBreak}) filter (where octet_length(x) <= ${longFrom} and ${isWanted}) as others`,
          sql`sum(octet_length(x)) filter (where octet_length(x) > ${longFrom} and ${isWanted})::float8 as long_bytes`,
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
    others: row!.others?.split(lineBreak) ?? null,
    longBytes: row!.longBytes ?? 0,
    picked: picked.map((_, index) => floats(`v${index}`) ?? new Float64Array(0)),
    arrays: row!.arrays ?? undefined,
  }
}

function floatsIn(bytes: Buffer): Float64Array {
  const copy = new Uint8Array(bytes)
  Buffer.from(copy.buffer).swap64()
  return new Float64Array(copy.buffer)
}

/** Null where a sample does not have it. */
function valueIn(sql: Sql, sets: SeriesSet[], seriesId: number) {
  const places = sets.map(({ seriesIds }) => seriesIds.indexOf(seriesId) + 1 || null)
  if (places.length === 1) return sql`v[${places[0]!}::integer]`
  const setIds = sets.map(({ setId }) => setId)
  return sql`v[(${places}::integer[])[array_position(${setIds}::integer[], set_id)]]`
}

/** So many can be picked out one by one. */
const pickedMax = 8
const pickedSetsMax = 32

export const isPicked = (sets: SeriesSet[], wanted: number[]) =>
  wanted.length <= pickedMax && sets.length <= pickedSetsMax
