/** One closed slot becomes chunks, in the transaction that it is given: whoever is killed in the middle leaves nothing behind. */
import type { Sql } from '../../../kernel/db.ts'
import type { Pace } from '../../../kernel/pace.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { between, merge, type Points, type Value } from '../points.ts'
import * as store from '../store/chunks.ts'
import { saveLatest } from '../store/latest.ts'
import { findKnownNumbers } from '../store/numbers.ts'
import { storedForm } from '../write/rows.ts'
import { type Chunk, createBuilder, dayOf, type PackedChunk, packed, pointsMax } from './chunk-builder.ts'
import { unpack } from './chunk-codec.ts'

export interface Packed {
  samples: number
  points: number
  chunks: number
  bytes: number
  /** Samples of endpoints that are no more. */
  dropped: number
  /** Values that came so late that nobody keeps them. */
  expired: number
}

const rowsAtOnce = 4000
const rowsBetweenRests = 100
/** Texts of that length at most are read at once. */
const textAtOnce = 16_000_000
/** What is kept in memory before it is written. */
const pointsAtOnce = 400_000
const chunksAtOnce = 2000
/** So many chunks of one day are made one, however large it is. */
const chunksOfDay = 12
const mergedPointsMax = 200_000
const mergedBytesMax = 4_000_000
/** Of an endpoint: then what there is of it is made chunks before its days are over. */
const heldMax = 1_000_000

interface NewestOfSet {
  endpointNo: number
  setId: number
  ts: number
  written: number
  values: Value[]
}

export interface PackOptions {
  numbers: Numbers
  /** By the number of a series, the first day that is kept of it. */
  firstDays: ReadonlyMap<number, number>
  /** Called often; throws when it is time to end. */
  check(): void
  /** Called often: waits while others have more to do. */
  pace: Pace
}

export async function packSlot(
  sql: Sql,
  slot: number,
  { numbers, firstDays, check, pace }: PackOptions,
): Promise<Packed> {
  const sum: Packed = { samples: 0, points: 0, chunks: 0, bytes: 0, dropped: 0, expired: 0 }
  let chunks: Chunk[] = []
  let newest: NewestOfSet[] = []
  let points = 0

  async function flush() {
    const [some, latest] = [chunks, newest]
    chunks = []
    newest = []
    points = 0
    const written = await mergedWithStored(sql, slot, some, pace)
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
  /** Of this endpoint, by set: rows come in the order of their times, so the last one is it. */
  let last = new Map<number, NewestOfSet>()
  function finishEndpoint() {
    builder?.finish()
    newest.push(...last.values())
    last = new Map()
  }

  const longest = await store.longestText(sql, slot)
  const atOnce = Math.max(1, Math.min(rowsAtOnce, Math.floor(textAtOnce / Math.max(1, longest))))
  for await (const page of store.readSlot(sql, slot, atOnce)) {
    check()
    const known = await findKnownNumbers(sql, [...new Set(page.map((row) => row.endpointNo))])
    const seriesOf = await numbers.seriesIdsOf(page.map(({ setId }) => setId))
    for (const [index, row] of page.entries()) {
      if (index % rowsBetweenRests === 0) {
        await pace()
        check()
      }
      const seriesIds = seriesOf.get(row.setId)
      if (!seriesIds || !known.has(row.endpointNo)) {
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
      // Of samples of the same time the last counts, so they stay together.
      if (builder!.held > heldMax && row.ts !== time) builder!.spill()
      time = row.ts
      sum.samples++
      const values = valuesIn(row)
      const day = dayOf(row.ts)
      let kept = 0
      for (let place = 0; place < values.length; place++) {
        const seriesId = seriesIds[place]!
        const firstDay = firstDays.size > 0 ? firstDays.get(seriesId) : undefined
        if (firstDay !== undefined && day < firstDay) continue
        builder!.add(seriesId, row.ts, values[place]!)
        kept++
      }
      sum.expired += values.length - kept
      if (kept === 0) continue
      points += (row.x?.length ?? 0) / 8
      last.set(row.setId, { endpointNo, setId: row.setId, ts: row.ts, written: row.written, values })
    }
    if (points >= pointsAtOnce || chunks.length >= chunksAtOnce) await flush()
  }
  finishEndpoint()
  await flush()
  return sum
}

/** Length and type are known; each number has its length before it. */
const arrayHead = 20
function valuesIn({ v, x }: store.HotRow): Value[] {
  const count = v.length > arrayHead ? v.readInt32BE(12) : 0
  const values: Value[] = new Array(count)
  for (let place = 0; place < count; place++) values[place] = v.readDoubleBE(arrayHead + 4 + place * 12)
  if (x !== null)
    for (const [place, value] of Object.entries(JSON.parse(x) as Record<string, Exclude<Value, number>>))
      values[Number(place)] = value
  return values
}

const keyOf = ({ endpointNo, seriesId, day }: store.ChunkKey) => `${endpointNo} ${seriesId} ${day}`

/**
 * A day that is small, or in too many pieces, is written as a whole again: then all of its chunks take part, and the new one is
 * of the newest slot. What has further parts is a busy day and stays as it is.
 */
async function mergedWithStored(sql: Sql, slot: number, chunks: Chunk[], pace: Pace): Promise<PackedChunk[]> {
  const alone = chunks.filter(({ part, points, goesOn }) => part === 0 && points.count < pointsMax && !goesOn)
  const stored = new Map<string, { n: number; count: number; bytes: number }>()
  if (alone.length > 0)
    for (const head of await store.findHeads(sql, alone)) {
      const { n, count, bytes } = stored.get(keyOf(head)) ?? { n: 0, count: 0, bytes: 0 }
      stored.set(keyOf(head), { n: n + head.n, count: count + 1, bytes: bytes + head.bytes })
    }
  const merging = new Map<string, { chunk: Chunk; sources: Points[] }>()
  for (const chunk of alone) {
    const there = stored.get(keyOf(chunk))
    if (!there || there.bytes + chunk.textLength > mergedBytesMax) continue
    const all = there.n + chunk.points.count
    if (all <= pointsMax || (there.count >= chunksOfDay && all <= mergedPointsMax))
      merging.set(keyOf(chunk), { chunk, sources: [] })
  }
  const written: PackedChunk[] = []
  for (const chunk of chunks) {
    await pace()
    if (!merging.has(keyOf(chunk))) written.push(packed(chunk, slot))
  }
  for (const some of portions([...merging.values()], stored)) {
    const keys = some.map(({ chunk }) => chunk)
    for (const { data, ...head } of await store.findWhole(sql, keys))
      merging.get(keyOf(head))!.sources.push(unpack(data))
    await store.deleteWhole(sql, keys)
    for (const { chunk, sources } of some) {
      await pace()
      written.push(...partsOf(chunk, merge([...sources, chunk.points]), slot))
    }
  }
  return written
}

/** So many that what is read fits into memory. */
function* portions<T extends { chunk: Chunk }>(all: T[], stored: Map<string, { n: number }>) {
  let [some, points]: [T[], number] = [[], 0]
  for (const one of all) {
    some.push(one)
    points += stored.get(keyOf(one.chunk))!.n
    if (points < pointsAtOnce) continue
    yield some
    some = []
    points = 0
  }
  if (some.length > 0) yield some
}

function partsOf(chunk: Chunk, points: Points, slot: number): PackedChunk[] {
  const parts: PackedChunk[] = []
  for (let from = 0; from < points.count; from += pointsMax) {
    const to = Math.min(from + pointsMax, points.count) - 1
    const part = between(points, points.times[from]!, points.times[to]!)
    parts.push(packed({ ...chunk, part: parts.length, points: part }, slot))
  }
  return parts
}
