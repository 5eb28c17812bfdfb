/**
 * Reads points in parts: one part is in memory while the next part is read. Samples are read before chunks. A point that is packed in
 * between is therefore read twice and merged, but never missed.
 */

import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import { dayOf } from '../pack/chunk-builder.ts'
import * as store from '../store/reading.ts'
import type { Span } from '../times.ts'
import type { Interval } from './intervals.ts'
import { createSampleLoader, type LoadOrder } from './load-samples.ts'
import { type SampleFormat, type SamplePoints, sampleFormat } from './sample-points.ts'
import { idsOf, type SelectedSeries } from './selected-series.ts'
import { fragmentsOf, type Loaded, type SeriesFragment } from './series-fragments.ts'
import { groupBySize, splitQuery, type Task } from './split-query.ts'

export interface ReadRequest extends Span {
  tenantId: string
  applicationName: string
  endpointNos: number[]
  series: SelectedSeries[]
  descending: boolean
  /** True if the next part is read while the caller uses the current part. Set it for callers that need all parts. */
  prefetch: boolean
  /** True if all parts of an endpoint and series come before the parts of the next series. */
  seriesFirst?: boolean
  /** Set for reductions, which read larger parts. With `sums`, only the stored sums of chunks are read if these are enough. */
  reducing?: 'points' | 'sums'
  /** Intervals for which sums are returned instead of points. */
  summing?: Interval
}

/** Points that were read together. Parts with the same endpoints and series share the same list objects. */
export type Part = Task & { fragments: Iterable<SeriesFragment> }

export interface Reader {
  /**
   * Yields parts. A part contains each series of an endpoint once. Later parts have later times, or earlier times if the order is
   * descending. Points are unpacked only when the fragments are iterated.
   */
  read(request: ReadRequest): AsyncGenerator<Part>
}

export interface ReaderLimits {
  /** Approximate maximum number of packed points in a part. */
  points: number
  /** Approximate maximum number of sample values in a part. */
  sampleValues: number
  /** Approximate maximum number of bytes of texts in the samples of a part. */
  sampleTextBytes?: number
}

/**
 * Factor by which parts of a reduction are larger. They can be larger, because packed points take a few bytes each and are unpacked one
 * series at a time.
 */
const reductionFactor = 5
/** The factor is smaller for samples, because the samples of a part are converted without a pause. */
const sampleReductionFactor = 2

const defaultLimits: ReaderLimits = { points: 120_000, sampleValues: 120_000 }
const defaultTextBytes = 16_000_000

export function createReader({
  db,
  readLimit,
  limits = defaultLimits,
}: {
  db: Db
  readLimit: ConcurrencyLimit
  limits?: ReaderLimits
}): Reader {
  const { sampleValues: values, sampleTextBytes: textBytes = defaultTextBytes } = limits
  const samples = createSampleLoader(db, { values, reducedValues: values * sampleReductionFactor, textBytes })

  const findPacked = (sql: Sql, { endpointNos, series, from, to }: Task, sampledDays: number[], isSumming: boolean) => {
    const part = { endpointNos, seriesIds: idsOf(series), from, to }
    return isSumming ? store.findPackedSums(sql, part, sampledDays) : store.findPacked(sql, part)
  }

  /** Loads a task. If it was too large, `loaded` is undefined and `rest` contains smaller tasks. */
  async function load(
    task: Task,
    format: SampleFormat,
    order: LoadOrder,
    isSumming: boolean,
  ): Promise<{ loaded: Loaded | undefined; rest: Task[] }> {
    const { loaded, points, remaining: rest } = await samples.load(task, format, order)
    if (!loaded) return { loaded: undefined, rest }
    const packed = byEndpoint(await findPacked(db.sql, loaded, isSumming ? daysOf(points) : [], isSumming))
    return { loaded: { task: loaded, samples: points, packed }, rest }
  }

  return {
    async *read(request) {
      const { tenantId, descending, reducing, seriesFirst = false } = request
      const sets = await store.findSetsWith(db.sql, request, idsOf(request.series))
      const pointsMax = limits.points * (reducing ? reductionFactor : 1)
      const tasks = splitQuery(db.sql, request, { descending, pointsMax, seriesFirst })
      const order = { descending, seriesFirst, isReducing: reducing !== undefined }
      let endpointsPerPart: number | undefined
      const splitTasks: Task[] = []
      const formatOf = cacheLast((series: SelectedSeries[]) => sampleFormat(sets, idsOf(series)))

      const next = () =>
        readLimit.run(tenantId, async () => {
          for (;;) {
            const task = splitTasks.shift() ?? (await tasks.next()).value
            if (!task) return undefined
            const format = formatOf(task.series)
            endpointsPerPart ??= await samples.endpointsPerPart(task, format, order)
            if (endpointsPerPart !== undefined && task.endpointNos.length > endpointsPerPart) {
              const parts = groupBySize(task.endpointNos, () => 1, endpointsPerPart)
              splitTasks.unshift(...Array.from(parts, (endpointNos) => ({ ...task, endpointNos })))
              continue
            }
            const { loaded, rest } = await load(task, format, order, reducing === 'sums')
            splitTasks.unshift(...rest)
            if (loaded) return loaded
          }
        })

      let nextPart = next()
      try {
        for (;;) {
          const loaded = await nextPart
          if (!loaded) return
          if (request.prefetch) {
            nextPart = next()
            nextPart.catch(() => {})
          }
          yield { ...loaded.task, fragments: fragmentsOf(loaded, request.summing) }
          if (!request.prefetch) nextPart = next()
        }
      } finally {
        await nextPart.catch(() => {})
      }
    },
  }
}

function byEndpoint(chunks: store.PackedOfSeries[]): Loaded['packed'] {
  const packed: Loaded['packed'] = new Map()
  for (const { endpointNo, seriesId, ...one } of chunks) {
    const bySeries = packed.get(endpointNo)
    if (bySeries) bySeries.set(seriesId, one)
    else packed.set(endpointNo, new Map([[seriesId, one]]))
  }
  return packed
}

function daysOf(samples: SamplePoints): number[] {
  const days = new Set<number>()
  for (const ofEndpoint of samples.values())
    for (const { times } of ofEndpoint.values()) {
      let last = Number.NaN
      for (const time of times) {
        const day = dayOf(time)
        if (day !== last) days.add(day)
        last = day
      }
    }
  return [...days]
}

function cacheLast<K, V>(make: (key: K) => V): (key: K) => V {
  let cached: { key: K; value: V } | undefined
  return (key) => {
    if (cached?.key !== key) cached = { key, value: make(key) }
    return cached.value
  }
}
