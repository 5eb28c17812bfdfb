/**
 * Aggregates points by interval, part by part. An interval that a part does not complete continues in the next part.
 */
import type { Span } from '../times.ts'
import { type Aggregate, mergeSums, pointsOfSums, type Sum, sortAndCombine, sumsOf } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import type { SeriesFragment } from './series-fragments.ts'

/** Reduces fragments of the same endpoints and series to fewer points. The fragments must be given in the order in which they are read. */
export interface Reducer {
  /**
   * Adds a fragment. Returns the points that later fragments cannot change. `part` is the time range of the fragment; `isLast` is true for
   * the last part of a series.
   */
  add(fragment: SeriesFragment, part: Span & { isLast: boolean }): SeriesFragment | undefined
  /** Returns the remaining points after the last part. */
  end(): Iterable<SeriesFragment>
}

interface IncompleteInterval {
  fragment: SeriesFragment
  /** Sums of the interval that is not complete yet, by value name. */
  sums: Map<string, Sum[]>
}

export function createAggregator(interval: Interval, aggregate: Aggregate, descending: boolean): Reducer {
  const incomplete = new Map<string, IncompleteInterval>()

  /** Returns the start of the interval that may get more points from the next part. */
  function incompleteStart({ from, to }: Span): number | undefined {
    const start = interval.startOf(descending ? from : to)
    const isComplete = descending ? start === from : interval.nextOf(start) === to + 1
    return isComplete ? undefined : start
  }

  const fragmentOf = (fragment: SeriesFragment, sums: Map<string, Sum[]>): SeriesFragment | undefined => {
    const columns = fragment.series.values.flatMap(({ name }) => {
      const intervalSums = sums.get(name)
      return intervalSums && intervalSums.length > 0 ? { name, points: pointsOfSums(intervalSums, aggregate) } : []
    })
    return columns.length > 0 ? { ...fragment, columns } : undefined
  }

  return {
    add(fragment, part) {
      const key = `${fragment.endpointNo} ${fragment.series.name}`
      const sums = incomplete.get(key)?.sums ?? new Map<string, Sum[]>()
      for (const { name, points, sums: chunkSums = [] } of fragment.columns)
        sums.set(name, mergeSums(sums.get(name) ?? [], sumsOfChunks(chunkSums, interval), sumsOf(points, interval)))
      const start = part.isLast ? undefined : incompleteStart(part)
      const carriedOver = new Map<string, Sum[]>()
      if (start !== undefined)
        for (const [name, intervalSums] of sums) {
          const last = intervalSums.filter((sum) => sum.start === start)
          if (last.length === 0) continue
          carriedOver.set(name, last)
          sums.set(
            name,
            intervalSums.filter((sum) => sum.start !== start),
          )
        }
      if (carriedOver.size > 0) incomplete.set(key, { fragment, sums: carriedOver })
      else incomplete.delete(key)
      return fragmentOf(fragment, sums)
    },
    *end() {
      for (const { fragment, sums } of incomplete.values()) {
        const last = fragmentOf(fragment, sums)
        if (last) yield last
      }
      incomplete.clear()
    },
  }
}

/** Assigns the sums of whole chunks to intervals. Each chunk is within one interval. */
const sumsOfChunks = (chunkSums: Sum[], interval: Interval): Sum[] =>
  sortAndCombine(chunkSums.map((sum) => ({ ...sum, start: interval.startOf(sum.start) })))
