/** SQL of packed chunks and their monthly partitions. */
import { copyIn } from '../../../kernel/copy-in.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { PackedChunk } from '../pack/chunk-builder.ts'
import { limitLockWait, partitionOf } from './slots.ts'

export interface ChunkKey {
  endpointNo: number
  seriesId: number
  day: number
}

export interface ChunkHead extends ChunkKey {
  slot: number
  part: number
  n: number
}

/** Finds the chunks of all combinations of these endpoints, days and series. */
export async function findHeads(sql: Sql, keys: ChunkKey[]): Promise<(ChunkHead & { bytes: number })[]> {
  const uniqueOf = (column: keyof ChunkKey) => [...new Set(keys.map((key) => key[column]))]
  return await sql`
    select endpoint_no, series_id, day, slot, part, n, octet_length(data) as bytes from time_series.chunks
    where endpoint_no = any(${uniqueOf('endpointNo')}::bigint[]) and day = any(${uniqueOf('day')}::integer[])
      and series_id = any(${uniqueOf('seriesId')}::integer[])`
}

const keysOf = (sql: Sql, keys: ChunkKey[]) => sql`
  unnest(${keys.map(({ endpointNo }) => endpointNo)}::bigint[], ${keys.map(({ seriesId }) => seriesId)}::integer[],
    ${keys.map(({ day }) => day)}::integer[]) as k (endpoint_no, series_id, day)`

/** Finds all chunks of these keys, in the order of writes. */
export async function findChunksOfKeys(sql: Sql, keys: ChunkKey[]): Promise<(ChunkHead & { data: Buffer })[]> {
  return await sql`
    select c.endpoint_no, c.series_id, c.day, c.slot, c.part, c.n, c.data
    from time_series.chunks c join ${keysOf(sql, keys)}
      on c.endpoint_no = k.endpoint_no and c.series_id = k.series_id and c.day = k.day
    where c.endpoint_no = any(${[...new Set(keys.map(({ endpointNo }) => endpointNo))]}::bigint[])
      and c.day = any(${[...new Set(keys.map(({ day }) => day))]}::integer[])
    order by c.slot, c.part`
}

export async function deleteChunksOfKeys(sql: Sql, keys: ChunkKey[]) {
  await sql`
    delete from time_series.chunks c using ${keysOf(sql, keys)}
    where c.endpoint_no = k.endpoint_no and c.series_id = k.series_id and c.day = k.day
      and c.endpoint_no = any(${[...new Set(keys.map(({ endpointNo }) => endpointNo))]}::bigint[])
      and c.day = any(${[...new Set(keys.map(({ day }) => day))]}::integer[])`
}

export async function deleteChunksOf(sql: Sql, endpointNos: number[]) {
  await sql`delete from time_series.chunks where endpoint_no = any(${endpointNos}::bigint[])`
}

const columns = 'endpoint_no, series_id, day, slot, part, n, t_min, t_max, v_min, v_max, v_sum, data'
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const rowLength = 2 + 12 * 4 + 3 * 8 + 5 * 4 + 3 * 8

/** Writes chunks. Must be called in a transaction. */
export async function copyChunks(sql: Sql, chunks: PackedChunk[]) {
  if (chunks.length === 0) return
  const copy = sql.unsafe(`copy time_series.chunks (${columns}) from stdin (format binary)`)
  await copyIn(copy, () => encode(chunks))
}

function encode(chunks: PackedChunk[]): Buffer {
  const data = chunks.reduce((sum, chunk) => sum + chunk.data.length, 0)
  const buffer = Buffer.allocUnsafe(header.length + chunks.length * rowLength + data + 2)
  let offset = header.copy(buffer)
  const int32 = (value: number) => {
    offset = buffer.writeInt32BE(value, offset)
  }
  const integer = (value: number) => {
    int32(4)
    int32(value)
  }
  const bigint = (value: number) => {
    int32(8)
    offset = buffer.writeBigInt64BE(BigInt(value), offset)
  }
  const float = (value: number | null) => {
    int32(value === null ? -1 : 8)
    if (value !== null) offset = buffer.writeDoubleBE(value, offset)
  }
  for (const chunk of chunks) {
    offset = buffer.writeInt16BE(12, offset)
    bigint(chunk.endpointNo)
    for (const value of [chunk.seriesId, chunk.day, chunk.slot, chunk.part, chunk.n]) integer(value)
    bigint(chunk.tMin)
    bigint(chunk.tMax)
    for (const value of [chunk.vMin, chunk.vMax, chunk.vSum]) float(value)
    int32(chunk.data.length)
    offset += chunk.data.copy(buffer, offset)
  }
  offset = buffer.writeInt16BE(-1, offset)
  return buffer.subarray(0, offset)
}

export interface SlotRow {
  endpointNo: number
  ts: number
  setId: number
  written: number
  record: Buffer
  x: string | null
}

/** Reads the samples of a slot in pages, ordered by endpoint, time and `written`. Must be called in a transaction. */
export async function* readSlot(sql: Sql, slot: number, pageSize: number): AsyncGenerator<SlotRow[]> {
  // The cursor reads in the order of the index, so that each page costs the same. A sort would read the whole slot before the first page.
  await sql`
    select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
      set_config('max_parallel_workers_per_gather', '0', true)`
  await sql.unsafe(`
    declare packing no scroll cursor for
    select endpoint_no, ts, set_id, written, record, x from ${partitionOf(slot)}
    order by endpoint_no, ts, written`)
  for (;;) {
    const page = (await sql.unsafe(`fetch ${pageSize} from packing`)) as unknown as SlotRow[]
    if (page.length > 0) yield page
    if (page.length < pageSize) break
  }
  await sql.unsafe('close packing')
}

const dayMs = 86_400_000
/** Number of pages that a step scans. A scan of the whole slot in one statement would leave no time for a pause. */
const pagesPerScan = 500

export interface SlotExtent {
  /** The days of the slot's samples. */
  days: number[]
  /** The length of the longest text in the slot. */
  longestText: number
}

/** Finds the days and the longest text of a slot's samples, in steps. `pause` is called between the steps. */
export async function findExtent(sql: Sql, slot: number, pause: () => Promise<void> | undefined): Promise<SlotExtent> {
  const days = new Set<number>()
  let longestText = 0
  const [size] = await sql`select pg_relation_size(to_regclass(${partitionOf(slot)})) / 8192 as pages`
  for (let page = 0; page < size!.pages; page += pagesPerScan) {
    const rows = await sql.unsafe(
      `select floor(ts::float8 / ${dayMs})::integer as day, max(coalesce(octet_length(x), 0)) as longest from ${partitionOf(slot)}
       where ctid >= '(${page},0)' and ctid < '(${page + pagesPerScan},0)' group by day`,
    )
    for (const { day, longest } of rows) {
      days.add(day)
      longestText = Math.max(longestText, longest)
    }
    await pause()
  }
  return { days: [...days], longestText }
}

/** A partition of one month. `from` is the first day of the month, `to` the first day of the next month. */
export interface Month {
  name: string
  from: number
  to: number
}

export async function findMonths(sql: Sql): Promise<Set<string>> {
  const rows = await sql`
    select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'time_series.chunks'::regclass`
  return new Set(rows.map(({ name }) => name))
}

/** Creates the partition, moves existing chunks into it, and attaches it. */
export async function createMonth(sql: Sql, { name, from, to }: Month) {
  await limitLockWait(sql, 2000)
  await sql.unsafe(`create table time_series.${name} (like time_series.chunks including all)`)
  await sql.unsafe(
    `insert into time_series.${name} select * from time_series.chunks_far where day >= ${from} and day < ${to}`,
  )
  await sql.unsafe(`delete from time_series.chunks_far where day >= ${from} and day < ${to}`)
  await sql.unsafe(
    `alter table time_series.chunks attach partition time_series.${name} for values from (${from}) to (${to})`,
  )
}

/** Drops a partition. Fails with 55P03 if a long read would make other statements wait. */
export async function dropMonth(sql: Sql, name: string) {
  await limitLockWait(sql, 300)
  await sql.unsafe(`drop table if exists time_series.${name}`)
}

/** Tries to take the lock under which one node at a time packs and deletes chunks. Returns false if another node has it. */
export async function tryPackingLock(sql: Sql): Promise<boolean> {
  const [row] = await sql`select pg_try_advisory_xact_lock(hashtextextended('time-series.packing', 0)) as ok`
  return row!.ok
}
