/** From what was read of some endpoints to the points of their series, one series at a time. */
import { dayOf } from '../pack/builder.ts'
import { type Points, unpack } from '../pack/chunk.ts'
import type { HotPoints } from './hot.ts'
import { between, merge } from './merge.ts'
import type { Task } from './plan.ts'
import type { Column } from './point-text.ts'
import type { AskedSeries } from './series.ts'

export interface Loaded {
  task: Task
  hot: HotPoints
  /** By endpoint and series. */
  packed: Map<number, Map<number, Buffer>>
}

/** Some points of one series of one endpoint. Values without points are left out. */
export interface Piece {
  endpointNo: number
  series: AskedSeries
  columns: Column[]
}

export function* piecesOf({ task, hot, packed }: Loaded): Generator<Piece> {
  const { from, to } = task
  for (const endpointNo of task.endpointNos) {
    const [fresh, chunks] = [hot.get(endpointNo), packed.get(endpointNo)]
    if (!fresh && !chunks) continue
    for (const series of task.series) {
      const columns: Column[] = []
      for (const { seriesId, name } of series.values) {
        const [old, recent] = [chunks?.get(seriesId), fresh?.get(seriesId)]
        if (!old && !recent) continue
        const sources = old ? [between(packedPoints(old), from, to)] : []
        const points = merge(recent ? [...sources, recent] : sources)
        if (points.count > 0) columns.push({ name, points })
      }
      if (columns.length > 0) yield { endpointNo, series, columns }
    }
  }
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
