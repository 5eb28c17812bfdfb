/** Packs one closed slot into chunks, in the given transaction. If the packing process is killed, nothing is stored. */
import type { Sql } from '../../../kernel/db.ts'
import type { Pace } from '../../../kernel/pace.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { between, merge, type Points, type Value } from '../points.ts'
import { valuesInRecord } from '../record.ts'
import * as store from '../store/chunks.ts'
import { saveLatest } from '../store/latest.ts'
import { findExistingNumbers } from '../store/numbers.ts'
import { storedForm, valuesOf } from '../write/rows.ts'
import { type Chunk, createBuilder, dayOf, type PackedChunk, packChunk, pointsMax } from './chunk-builder.ts'
import { unpack } from './chunk-codec.ts'

export interface PackTotals {
  samples: number
  points: number
  chunks: number
  bytes: number
  /** Number of samples whose endpoint no longer exists. */
  dropped: number
  /** Number of values that were already older than their retention. */
  expired: number
}

/** Maximum number of rows on a page. A page is parsed without a pause. */
const pageRows = 500
const rowsPerPace = 100
/** Maximum length of all texts in a page. */
const pageTextBytes = 16_000_000
/** When this many points are in memory, they are written. */
const pointsInMemoryMax = 60_000
const chunksInMemoryMax = 2000
/** If a series has this many chunks for one day, the chunks are merged even if the day is large. */
const chunksPerDayMax = 12
const mergedPointsMax = 200_000
const mergedBytesMax = 4_000_000
/** Maximum number of points in memory for one endpoint. Above it, chunks end before the end of their day. */
const pointsPerEndpointMax = 1_000_000

interface NewestOfSet {
  endpointNo: number
  setId: number
  ts: number
  written: number
  values: Value[]
}

export interface PackOptions {
  /** Length of the longest text in the slot. */
  longestText: number
  numbers: Numbers
  /** First day that is kept, by series id. */
  firstDays: ReadonlyMap<number, number>
  /** Called often; throws when the process shuts down. */
  check(): void
  /** Called often; pauses while other work has priority. */
  pace: Pace
}

export async function packSlot(
  sql: Sql,
  slot: number,
  { longestText, numbers, firstDays, check, pace }: PackOptions,
): Promise<PackTotals> {
  const sum: PackTotals = { samples: 0, points: 0, chunks: 0, bytes: 0, dropped: 0, expired: 0 }
  let chunks: Chunk[] = []
  let newest: NewestOfSet[] = []
  let points = 0

  async function flush() {
    const [finished, latest] = [chunks, newest]
    chunks = []
    newest = []
    points = 0
    const written = await mergeWithStored(sql, slot, finished, pace)
    await store.copyChunks(sql, written)
    const rows = latest.map(({ values, ...one }) => ({ ...one, ...storedForm(values) }))
    await saveLatest(sql, rows)
    sum.chunks += written.length
    for (const { n, data } of written) {
      sum.points += n
      sum.bytes += data.length
    }
  }

  let [endpointNo, time] = [Number.NaN, Number.NaN]
  let builder: ReturnType<typeof createBuilder> | undefined
  /** The newest sample of the current endpoint, by set. Rows are in time order, so the last row of a set is its newest sample. */
  let last = new Map<number, NewestOfSet>()
  function finishEndpoint() {
    builder?.finish()
    newest.push(...last.values())
    last = new Map()
  }

  const rowsPerPage = Math.max(1, Math.min(pageRows, Math.floor(pageTextBytes / Math.max(1, longestText))))
  for await (const page of store.readSlot(sql, slot, rowsPerPage)) {
    check()
    const existing = await findExistingNumbers(sql, [...new Set(page.map((row) => row.endpointNo))])
    const seriesOf = await numbers.seriesIdsOf(page.map(({ setId }) => setId))
    for (const [index, row] of page.entries()) {
      if (index % rowsPerPace === 0) {
        await pace()
        check()
      }
      const seriesIds = seriesOf.get(row.setId)
      if (!seriesIds || !existing.has(row.endpointNo)) {
        sum.dropped++
        continue
      }
      if (row.endpointNo !== endpointNo) {
        finishEndpoint()
        endpointNo = row.endpointNo
        builder = createBuilder(endpointNo, (chunk) => {
          chunks.push(chunk)
          points += chunk.points.count + chunk.textLength / 8
        })
      }
      // Samples with the same time must be in one chunk, because the last sample replaces the earlier samples.
      if (builder!.pointsInMemory > pointsPerEndpointMax && row.ts !== time) builder!.flush()
      time = row.ts
      sum.samples++
      const values = valuesOf(valuesInRecord(row.record), row.x)
      const day = dayOf(row.ts)
      let storedValues = 0
      for (let valueIndex = 0; valueIndex < values.length; valueIndex++) {
        const seriesId = seriesIds[valueIndex]!
        const firstDay = firstDays.size > 0 ? firstDays.get(seriesId) : undefined
        if (firstDay !== undefined && day < firstDay) continue
        builder!.add(seriesId, row.ts, values[valueIndex]!)
        storedValues++
      }
      sum.expired += values.length - storedValues
      if (storedValues === 0) continue
      points += (row.x?.length ?? 0) / 8
      last.set(row.setId, { endpointNo, setId: row.setId, ts: row.ts, written: row.written, values })
    }
    if (points >= pointsInMemoryMax || chunks.length >= chunksInMemoryMax) await flush()
  }
  finishEndpoint()
  await flush()
  return sum
}

const keyOf = ({ endpointNo, seriesId, day }: store.ChunkKey) => `${endpointNo} ${seriesId} ${day}`

/**
 * Returns the packed chunks to be written. A chunk is merged with the stored chunks of its day if the day is small or has many chunks. The
 * stored chunks are then deleted. Nothing is merged for a day that has several chunks from this slot alone.
 */
async function mergeWithStored(sql: Sql, slot: number, chunks: Chunk[], pace: Pace): Promise<PackedChunk[]> {
  const candidates = chunks.filter(
    ({ part, points, isContinued }) => part === 0 && points.count < pointsMax && !isContinued,
  )
  const stored = new Map<string, { n: number; count: number; bytes: number }>()
  if (candidates.length > 0)
    for (const head of await store.findHeads(sql, candidates)) {
      const { n, count, bytes } = stored.get(keyOf(head)) ?? { n: 0, count: 0, bytes: 0 }
      stored.set(keyOf(head), { n: n + head.n, count: count + 1, bytes: bytes + head.bytes })
    }
  const toMerge = new Map<string, { chunk: Chunk; sources: Points[] }>()
  for (const chunk of candidates) {
    const storedDay = stored.get(keyOf(chunk))
    if (!storedDay || storedDay.bytes + chunk.textLength > mergedBytesMax) continue
    const pointsAfterMerge = storedDay.n + chunk.points.count
    if (pointsAfterMerge <= pointsMax || (storedDay.count >= chunksPerDayMax && pointsAfterMerge <= mergedPointsMax))
      toMerge.set(keyOf(chunk), { chunk, sources: [] })
  }
  const written: PackedChunk[] = []
  for (const chunk of chunks) {
    await pace()
    if (!toMerge.has(keyOf(chunk))) written.push(packChunk(chunk, slot))
  }
  for (const portion of portions([...toMerge.values()], stored)) {
    const keys = portion.map(({ chunk }) => chunk)
    for (const { data, ...head } of await store.findChunksOfKeys(sql, keys))
      toMerge.get(keyOf(head))!.sources.push(unpack(data))
    await store.deleteChunksOfKeys(sql, keys)
    for (const { chunk, sources } of portion) {
      await pace()
      written.push(...partsOf(chunk, merge([...sources, chunk.points]), slot))
    }
  }
  return written
}

/** Divides chunks into portions that fit into memory. */
function* portions<T extends { chunk: Chunk }>(all: T[], stored: Map<string, { n: number }>) {
  let [portion, points]: [T[], number] = [[], 0]
  for (const one of all) {
    portion.push(one)
    points += stored.get(keyOf(one.chunk))!.n
    if (points < pointsInMemoryMax) continue
    yield portion
    portion = []
    points = 0
  }
  if (portion.length > 0) yield portion
}

function partsOf(chunk: Chunk, points: Points, slot: number): PackedChunk[] {
  const parts: PackedChunk[] = []
  for (let from = 0; from < points.count; from += pointsMax) {
    const to = Math.min(from + pointsMax, points.count) - 1
    const part = between(points, points.times[from]!, points.times[to]!)
    parts.push(packChunk({ ...chunk, part: parts.length, points: part }, slot))
  }
  return parts
}
