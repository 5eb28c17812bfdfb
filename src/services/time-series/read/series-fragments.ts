/** Merges the packed points and the samples of a part, one series at a time. */
import { dayOf } from '../pack/chunk-builder.ts'
import { firstTimeOf, unpack } from '../pack/chunk-codec.ts'
import { between, merge, type Points } from '../points.ts'
import type { PackedOfSeries } from '../store/reading.ts'
import type { Span } from '../times.ts'
import { sumsOfPacked } from './chunk-sums.ts'
import type { Sum } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import type { Column } from './point-json.ts'
import type { RecentPoints, SamplePoints } from './sample-points.ts'
import type { SelectedSeries } from './selected-series.ts'
import type { Task } from './split-query.ts'

export interface Loaded {
  task: Task
  samples: SamplePoints
  /** Chunks by endpoint and series. */
  packed: Map<number, Map<number, Packed>>
}

type Packed = Omit<PackedOfSeries, 'endpointNo' | 'seriesId'>

/** The points of one series value. If sums are requested, some points are contained only in `sums`. */
export interface FragmentColumn extends Column {
  sums?: Sum[]
}

/** Points of one series of one endpoint within a part. Values without points are left out. */
export interface SeriesFragment {
  endpointNo: number
  series: SelectedSeries
  columns: FragmentColumn[]
}

/** Yields the fragments of a part. With `summing`, packed points are returned as sums of these intervals if that is cheaper. */
export function* fragmentsOf({ task, samples, packed }: Loaded, summing?: Interval): Generator<SeriesFragment> {
  for (const endpointNo of task.endpointNos) {
    const [sampled, chunks] = [samples.get(endpointNo), packed.get(endpointNo)]
    if (!sampled && !chunks) continue
    for (const series of task.series) {
      const columns: FragmentColumn[] = []
      for (const { seriesId, name } of series.values) {
        const [packedChunks, recent] = [chunks?.get(seriesId), sampled?.get(seriesId)]
        if (!packedChunks && !recent) continue
        const sums: Sum[] = packedChunks?.sums ? sumsIn(packedChunks.sums) : []
        const recentSums =
          summing && recent?.sums && isDisjoint(recent, packedChunks) ? recent.sums(summing) : undefined
        const recentPoints = recentSums ? undefined : recent?.points()
        const points = merge([
          ...packedOf(packedChunks?.data, task, recentPoints, sums, summing),
          ...(recentPoints ? [recentPoints] : []),
        ])
        if (recentSums) sums.push(...recentSums)
        if (points.count > 0 || sums.length > 0) columns.push({ name, points, ...(sums.length > 0 && { sums }) })
      }
      if (columns.length > 0) yield { endpointNo, series, columns }
    }
  }
}

/** Returns true if no sample can replace a packed point. */
function isDisjoint({ times }: RecentPoints, packed: Packed | undefined): boolean {
  if (!packed || packed.tMin === null || packed.tMax === null) return true
  return packed.tMax < times[0]! || packed.tMin > times[times.length - 1]!
}

function sumsIn(numbers: Float64Array): Sum[] {
  const sums: Sum[] = []
  for (let index = 0; index < numbers.length; index += 5) {
    const [start, count, sum, min, max] = numbers.subarray(index, index + 5) as unknown as [
      number,
      number,
      number,
      number,
      number,
    ]
    sums.push({ start, count, sum, min, max, others: 0 })
  }
  return sums
}

/**
 * Unpacks the points of the task. With `summing`, adds the sums of a chunk to `sums` instead, if they can be computed without unpacking
 * points.
 */
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
    const chunkSums = summing && chunks.length === 1 && only && sumsOfPacked(only, summing, task, recent)
    if (chunkSums) sums.push(...chunkSums)
    else days.push(merge(chunks.map(unpack)))
  }
  return days.length > 0 ? [between(merge(days), task.from, task.to)] : []
}

/** Splits the chunks of a series by day. Each chunk has a length prefix. Only chunks of the same day can overlap. */
function* byDay(data: Buffer): Generator<Uint8Array[]> {
  let [day, chunksOfDay]: [number, Uint8Array[]] = [Number.NaN, []]
  for (let offset = 0; offset < data.length; ) {
    const length = data.readInt32BE(offset)
    const chunk = data.subarray(offset + 4, offset + 4 + length)
    offset += 4 + length
    const chunkDay = dayOf(firstTimeOf(chunk))
    if (chunkDay !== day && chunksOfDay.length > 0) {
      yield chunksOfDay
      chunksOfDay = []
    }
    day = chunkDay
    chunksOfDay.push(chunk)
  }
  if (chunksOfDay.length > 0) yield chunksOfDay
}
