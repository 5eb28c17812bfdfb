/** Converts points of the API to rows. */
import { msOf } from '../parts/time.tsx'

interface Point {
  timestamp: string
  values: Record<string, unknown>
}

export interface ValueRow {
  /** Series and value: `auto~temperature value`. */
  id: string
  series: string
  valueName: string
  name: string
  last: unknown
  at: string
  /** The newest numbers with their times in milliseconds, the oldest first. */
  points: { at: number; value: number }[]
}

/**
 * Returns the name to show. It leaves out the name of the value if the series has only one value, and the prefix `auto~`, which marks
 * series that the platform created itself.
 */
const nameOf = (series: string, valueName: string, isOnly: boolean) =>
  isOnly ? series.replace(/^auto~/, '') : `${series.replace(/^auto~/, '')} ${valueName}`

/** Returns one row for each value of each series. The points of a series may be in any order. */
export function rowsOf(points: Record<string, readonly Point[]> | undefined): ValueRow[] {
  return Object.entries(points ?? {}).flatMap(([series, newestFirst]) => {
    const ordered = newestFirst.toSorted((a, b) => msOf(b.timestamp) - msOf(a.timestamp))
    const names = [...new Set(ordered.flatMap(({ values }) => Object.keys(values)))]
    return names.flatMap((valueName) => {
      const having = ordered.filter(({ values }) => values[valueName] !== undefined)
      const newest = having[0]
      if (!newest) return []
      const points = having.flatMap(({ timestamp, values }) => {
        const value = values[valueName]
        return typeof value === 'number' ? [{ at: msOf(timestamp), value }] : []
      })
      return [
        {
          ...{ id: `${series} ${valueName}`, series, valueName, name: nameOf(series, valueName, names.length === 1) },
          ...{ last: newest.values[valueName], at: newest.timestamp, points: points.toReversed() },
        },
      ]
    })
  })
}
