/** Turns points of the API into series of a chart. */
import type { BodyOf } from '../../api/operation-types.ts'
import type { Series } from '../../parts/chart.tsx'
import { msOf } from '../../parts/time.tsx'

type Points = Extract<BodyOf<'timeSeries.data.get'>, unknown[]>

/** Series whose values are not numbers are left out. `shiftMs` moves an earlier period over the later one. */
export function seriesOf(points: Points | undefined, nameOf: (name: string) => string, shiftMs = 0): Series[] {
  const series: Series[] = []
  for (const byEndpoint of points ?? [])
    for (const [endpointId, bySeries] of Object.entries(byEndpoint))
      for (const [name, ofSeries] of Object.entries(bySeries)) {
        const fields = new Set(ofSeries.flatMap(({ values }) => Object.keys(values)))
        for (const field of fields) {
          const values = ofSeries.map(({ values }) => (typeof values[field] === 'number' ? values[field] : null))
          if (values.every((value) => value === null)) continue
          const title = field === 'value' ? name : `${name} ${field}`
          series.push({
            name: nameOf(`${endpointId} ${title.replace(/^auto~/, '')}`),
            times: ofSeries.map(({ timestamp }) => msOf(timestamp) + shiftMs),
            values,
          })
        }
      }
  return series
}

/** Cells that a spreadsheet would run as a formula are defused. */
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
