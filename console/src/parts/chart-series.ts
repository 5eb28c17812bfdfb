/** Turns points of the API into series of a chart. */
import type { Series } from './chart.tsx'
import { msOf } from './time.tsx'

export interface Point {
  timestamp: string
  values: Record<string, unknown>
}

/** Points by endpoint and by name of the series, as the API returns them. */
export type Points = readonly Record<string, Record<string, readonly Point[]>>[]

/** Returns the name without `auto~`, the prefix of series that the platform created itself. */
export const withoutMark = (series: string) => series.replace(/^auto~/, '')

/**
 * Returns the series of a chart. Series whose values are not numbers are left out. `shiftMs` is added to the times of the points, so that
 * an earlier period is drawn over a later period.
 */
export function seriesOf(points: Points | undefined, nameOf: (name: string) => string, shiftMs = 0): Series[] {
  const series: Series[] = []
  for (const byEndpoint of points ?? [])
    for (const [endpointId, bySeries] of Object.entries(byEndpoint))
      for (const [name, ofSeries] of Object.entries(bySeries)) {
        const fields = new Set(ofSeries.flatMap(({ values }) => Object.keys(values)))
        for (const field of fields) {
          const one = numbersOf(ofSeries, field)
          if (one.values.every((value) => value === null)) continue
          const title = field === 'value' ? name : `${name} ${field}`
          series.push({
            name: nameOf(`${endpointId} ${withoutMark(title)}`),
            times: one.times.map((time) => time + shiftMs),
            values: one.values,
          })
        }
      }
  return series
}

/** Returns the times and one value of each point. A value that is not a number becomes a gap. */
export const numbersOf = (points: readonly Point[], field: string) => ({
  times: points.map(({ timestamp }) => msOf(timestamp)),
  values: points.map(({ values }) => (typeof values[field] === 'number' ? values[field] : null)),
})

/** Returns a CSV cell. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
const cell = (text: string) => {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function csvOf(series: Series[], timeText: (ms: number) => string): string {
  const rows = series.flatMap(({ name, times, values }) =>
    times.map((time, index) => [name, timeText(time), values[index] === null ? '' : String(values[index])]),
  )
  return [['series', 'time', 'value'], ...rows].map((row) => row.map(cell).join(',')).join('\r\n')
}
