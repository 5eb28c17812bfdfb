/** Interprets `retention` of an application's configuration, for example `{"days": 30, "series": {"auto~x": 7}}`. */
import type { RetentionConfiguration } from '../configuration.ts'
import { dayMs, dayOf } from '../pack/chunk-builder.ts'
import type { Series } from '../store/numbers.ts'

/** Returns the days for which a series is kept; undefined means for ever. */
const daysFor = ({ days, series = {} }: RetentionConfiguration, seriesName: string) =>
  Object.hasOwn(series, seriesName) ? series[seriesName] : days
/** Returns the first day that is kept. A UTC day is deleted as a whole, when all of it is too old. */
const firstDayKept = (days: number, now: Date) => dayOf(now.getTime() - days * dayMs)

/** Returns the time from which on the points of a series are kept. */
export type KeptSince = (seriesName: string) => number

export const keptSinceOf =
  (retention: RetentionConfiguration, now: Date): KeptSince =>
  (seriesName) => {
    const days = daysFor(retention, seriesName)
    return days === undefined ? Number.NEGATIVE_INFINITY : firstDayKept(days, now) * dayMs
  }

/** Series that are kept for the same number of days. */
export interface RetentionLimit {
  days: number
  firstDay: number
  series: Series[]
}

/** Groups series by the number of days for which they are kept. Series that are kept for ever are left out. */
export function limitsOf(retention: RetentionConfiguration, series: Series[], now: Date): RetentionLimit[] {
  const limited = series.filter(({ name }) => daysFor(retention, name) !== undefined)
  const byDays = Map.groupBy(limited, ({ name }) => daysFor(retention, name)!)
  return [...byDays].map(([days, seriesOfDays]) => ({ days, firstDay: firstDayKept(days, now), series: seriesOfDays }))
}
