/** From what was read of some endpoints to the points of their series, one series at a time. */
import { dayOf } from '../pack/chunk-builder.ts'
import { firstTimeOf, unpack } from '../pack/chunk-codec.ts'
import { between, merge, type Points } from '../points.ts'
import type { PackedOfSeries } from '../store/reading.ts'
import type { Span } from '../times.ts'
import type { AskedSeries } from './asked-series.ts'
import { sumsOfPacked } from './chunk-sums.ts'
import type { Sum } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import type { Column } from './point-json.ts'
import type { HotPoints } from './sample-points.ts'
import type { Task } from './split-query.ts'

export interface Loaded {
  task: Task
  hot: HotPoints
  /** By endpoint and series. */
  packed: Map<number, Map<number, Packed>>
}

type Packed = Pick<PackedOfSeries, 'data' | 'sums'>

/** One value of a series; where sums were asked for, some points are only in those. */
export interface PieceColumn extends Column {
  sums?: Sum[]
}

/** Some points of one series of one endpoint. Values without points are left out. */
export interface Piece {
  endpointNo: number
  series: AskedSeries
  columns: PieceColumn[]
}

/** `summing`: of packed points only the sums of these parts of time are wanted, where that saves anything. */
export function* piecesOf({ task, hot, packed }: Loaded, summing?: Interval): Generator<Piece> {
  for (const endpointNo of task.endpointNos) {
    const [fresh, chunks] = [hot.get(endpointNo), packed.get(endpointNo)]
    if (!fresh && !chunks) continue
    for (const series of task.series) {
      const columns: PieceColumn[] = []
      for (const { seriesId, name } of series.values) {
        const [old, recent] = [chunks?.get(seriesId), fresh?.get(seriesId)]
        if (!old && !recent) continue
        const sums: Sum[] = old?.sums ? sumsIn(old.sums) : []
        const points = merge([...packedOf(old?.data, task, recent, sums, summing), ...(recent ? [recent] : [])])
        if (points.count > 0 || sums.length > 0) columns.push({ name, points, ...(sums.length > 0 && { sums }) })
      }
      if (columns.length > 0) yield { endpointNo, series, columns }
    }
  }
}

function sumsIn(numbers: Float64Array): Sum[] {
  const sums: Sum[] = []
  for (let at = 0; at < numbers.length; at += 5) {
    const [start, count, sum, least, most] = numbers.subarray(at, at + 5) as unknown as [
      number,
      number,
      number,
      number,
      number,
    ]
    sums.push({ start, count, sum, least, most, others: 0 })
  }
  return sums
}

/** The packed points between the times of the task, but those that became sums. */
function packedOf(
  data: Buffer | null | undefined,
  task: Span,
  recent: Points | undefined,
  sums: Sum[],
  summing: Interval | undefined,
): Points[] {
  if (!data) return []
  const days: Points[] = []
  for (const chunks of byDay(data)) {
    const [only] = chunks
    const known = summing && chunks.length === 1 && only && sumsOfPacked(only, summing, task, recent)
    if (known) sums.push(...known)
    else days.push(merge(chunks.map(unpack)))
  }
  return days.length > 0 ? [between(merge(days), task.from, task.to)] : []
}

/** Chunks of a series in the order of day and writing, each after its length: only those of the same day can meet. */
function* byDay(data: Buffer): Generator<Uint8Array[]> {
  let [day, same]: [number, Uint8Array[]] = [Number.NaN, []]
  for (let at = 0; at < data.length; ) {
    const length = data.readInt32BE(at)
    const chunk = data.subarray(at + 4, at + 4 + length)
    at += 4 + length
    const own = dayOf(firstTimeOf(chunk))
    if (own !== day && same.length > 0) {
      yield same
      same = []
    }
    day = own
    same.push(chunk)
  }
  if (same.length > 0) yield same
}
