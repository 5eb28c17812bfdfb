/** Periods of time, in milliseconds, and the intervals that fit them. */
import type { Codec } from './address-state.ts'
import { msOf, nowMs, utcOf } from './time.tsx'

export interface Period {
  from: number
  to: number
}

const minuteMs = 60_000
const dayMs = 1440 * minuteMs
export const lengths = {
  '1h': 60 * minuteMs,
  '6h': 360 * minuteMs,
  '1d': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
}
export type Range = keyof typeof lengths
export const ranges = Object.keys(lengths) as Range[]

/** Parses a period, which is `from/to` in ISO 8601. Returns undefined if it is invalid. */
export function chosenPeriod(text: string): Period | undefined {
  const [from, to, more] = text.split('/').map(msOf)
  return from !== undefined && to !== undefined && more === undefined && from < to ? { from, to } : undefined
}

/** A fixed period in the address; empty for a range until now. */
export const periodText: Codec<string> = {
  default: '',
  read: (text) => (text === '' || chosenPeriod(text) ? text : undefined),
  write: String,
}

/** Returns the period that the address names: a fixed period, or a range until now. */
export const periodOf = (range: Range, chosen: string, refreshedAt: number): Period =>
  chosenPeriod(chosen) ?? { from: refreshedAt - lengths[range], to: refreshedAt }

export const chosenOf = ({ from, to }: Period) => `${utcOf(from)}/${utcOf(to)}`

/** Returns how many milliseconds earlier the period of the comparison is, or undefined without a comparison. */
export function earlierOf({ from, to }: Period, compare: string): number | undefined {
  if (compare === 'previous') return to - from
  if (compare === 'day') return lengths['1d']
  return compare === 'week' ? lengths['7d'] : undefined
}

const intervals: [string, number][] = [
  ['1s', 1000],
  ['5s', 5000],
  ['15s', 15_000],
  ['1m', minuteMs],
  ['5m', 5 * minuteMs],
  ['15m', 15 * minuteMs],
  ['1h', 60 * minuteMs],
  ['6h', 360 * minuteMs],
  ['1d', dayMs],
  ['1w', 7 * dayMs],
]
const intervalsMax = 400

/** Returns the shortest interval with which a chart of the period has at most `max` points. */
export const intervalOf = ({ from, to }: Period, max = intervalsMax) =>
  (intervals.find(([, ms]) => (to - from) / ms <= max) ?? intervals.at(-1)!)[0]

/** Returns the current time, rounded up to ten seconds, so that a page that renders again requests the same period. */
export const roundedNow = () => Math.ceil(nowMs() / 10_000) * 10_000
