/** Periods of the page, in milliseconds, and the intervals that fit them. */
import { msOf, nowMs, utcOf } from '../../parts/time.tsx'

export interface Period {
  from: number
  to: number
}

const minuteMs = 60_000
export const lengths = {
  '1h': 60 * minuteMs,
  '6h': 360 * minuteMs,
  '1d': 1440 * minuteMs,
  '7d': 7 * 1440 * minuteMs,
  '30d': 30 * 1440 * minuteMs,
}
export type Range = keyof typeof lengths
export const ranges = Object.keys(lengths) as Range[]

/** The period of the address: a chosen one, `from/to` in ISO 8601, or the last hours. */
export function periodOf(range: Range, chosen: string, refreshedAt: number): Period {
  const [from, to] = chosen.split('/').map(msOf)
  if (from !== undefined && to !== undefined && from < to) return { from, to }
  return { from: refreshedAt - lengths[range], to: refreshedAt }
}

export const chosenOf = ({ from, to }: Period) => `${utcOf(from)}/${utcOf(to)}`

/** The earlier period to compare with. */
export function earlierOf({ from, to }: Period, compare: string): number | undefined {
  if (compare === 'previous') return to - from
  if (compare === 'day') return lengths['1d']
  return compare === 'week' ? lengths['7d'] : undefined
}

const intervals: [string, number][] = [
  ['1m', minuteMs],
  ['5m', 5 * minuteMs],
  ['15m', 15 * minuteMs],
  ['1h', 60 * minuteMs],
  ['6h', 360 * minuteMs],
  ['1d', 1440 * minuteMs],
  ['1w', 7 * 1440 * minuteMs],
]
const intervalsMax = 400

/** Returns the shortest interval that gives a readable number of points. */
export const intervalOf = ({ from, to }: Period) =>
  (intervals.find(([, ms]) => (to - from) / ms <= intervalsMax) ?? intervals.at(-1)!)[0]

/** The present, rounded, so that a page that renders again asks for the same period. */
export const roundedNow = () => Math.ceil(nowMs() / 10_000) * 10_000
