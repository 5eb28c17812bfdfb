/** From what was read of some endpoints to the points of their series, one series at a time. */
import { dayOf } from '../pack/builder.ts'
import { type Points, unpack } from '../pack/chunk.ts'
import type { PackedOfSeries } from '../store/reading.ts'
import type { HotPoints } from './hot.ts'
import { between, merge } from './merge.ts'
import type { Task } from './plan.ts'
import type { Column } from './point-text.ts'
import type { AskedSeries } from './series.ts'
import type { Sum } from './sums.ts'

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

export function* piecesOf({ task, hot, packed }: Loaded): Generator<Piece> {
  const { from, to } = task
  for (const endpointNo of task.endpointNos) {
    const [fresh, chunks] = [hot.get(endpointNo), packed.get(endpointNo)]
    if (!fresh && !chunks) continue
    for (const series of task.series) {
      const columns: PieceColumn[] = []
      for (const { seriesId, name } of series.values) {
        const [old, recent] = [chunks?.get(seriesId), fresh?.get(seriesId)]
        if (!old && !recent) continue
        const sources = old?.data ? [between(packedPoints(old.data), from, to)] : []
        const points = merge(recent ? [...sources, recent] : sources)
        const sums = old?.sums && sumsIn(old.sums)
        if (points.count > 0 || sums) columns.push({ name, points, ...(sums && { sums }) })
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

/** Chunks of a series in the order of day and writing, each after its length: only those of the same day can meet. */
export function packedPoints(data: Buffer): Points {
  const days: Points[] = []
  let [day, same]: [number, Points[]] = [Number.NaN, []]
  for (let at = 0; at < data.length; ) {
    const length = data.readInt32BE(at)
    const points = unpack(data.subarray(at + 4, at + 4 + length))
    at += 4 + length
    const own = dayOf(points.times[0]!)
    if (own !== day && same.length > 0) {
      days.push(merge(same))
      same = []
    }
    day = own
    same.push(points)
  }
  days.push(merge(same))
  return merge(days)
}
