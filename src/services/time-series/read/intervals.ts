/** Intervals: `15m`, `1h`, `1d`, `1w` (starting on Monday), `1M`, `1y`, in UTC or in the local time of a time zone. */
import type { TimeZone } from './time-zones.ts'

export interface Interval {
  /** Returns the start of the interval that contains this time. */
  startOf(time: number): number
  /** Returns the start of the next interval. */
  nextOf(start: number): number
  /** True if every interval consists of whole days. */
  isOfDays: boolean
  /** Width of the intervals, and offset of their starts from 1970. Absent if the intervals differ in length. */
  fixed?: { width: number; offset: number }
}

const dayMs = 86_400_000
const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs, w: 7 * dayMs }
/** Offset of the first Monday, because 1970 began on a Thursday. */
const mondayMs = 4 * dayMs

/** The earliest start of an interval. Years before 0 are formatted differently and have no points. */
const yearZero = new Date(0).setUTCFullYear(0, 0, 1)

/** Parses a whole number from 1 to 99999 with a unit. Returns undefined for any other text. */
export function intervalOf(text: string): Interval | undefined {
  const [, amount, unit] = /^([1-9]\d{0,4})([smhdwMy])$/.exec(text) ?? []
  if (!amount || !unit) return undefined
  const ms = unitMs[unit]
  if (ms === undefined) return months(Number(amount) * (unit === 'y' ? 12 : 1))
  const width = ms * Number(amount)
  const offset = unit === 'w' ? mondayMs : 0
  const count = (time: number) => Math.floor((time - offset) / width)
  return {
    startOf: (time) => Math.max(count(time) * width + offset, yearZero),
    nextOf: (start) => (count(start) + 1) * width + offset,
    isOfDays: width % dayMs === 0,
    fixed: { width, offset },
  }
}

function months(width: number): Interval {
  const first = (month: number) =>
    new Date(0).setUTCFullYear(Math.floor(month / 12), month - Math.floor(month / 12) * 12, 1)
  const monthOf = (time: number) => {
    const date = new Date(time)
    return date.getUTCFullYear() * 12 + date.getUTCMonth()
  }
  return {
    startOf: (time) => first(Math.floor(monthOf(time) / width) * width),
    nextOf: (start) => first(monthOf(start) + width),
    isOfDays: true,
  }
}

/**
 * Parses an interval as `intervalOf` does, but in the local time of a zone. A day on which the clock changes has 23 or 25 hours. An hour
 * that the clock repeats counts as two intervals.
 */
export function intervalInZone(text: string, zone: TimeZone): Interval | undefined {
  const local = intervalOf(text)
  if (!local) return undefined
  const localOf = (time: number) => time + zone.offsetAt(time)
  const isShort = local.fixed !== undefined && local.fixed.width < dayMs

  /** Returns the times at which the clock shows this local time: no time if the clock skips it, two times if the clock repeats it. */
  function timesOf(wallTime: number): number[] {
    const offsets = [zone.offsetAt(wallTime - dayMs), zone.offsetAt(wallTime + dayMs)]
    const times = offsets.map((offset) => wallTime - offset).filter((time) => localOf(time) === wallTime)
    return [...new Set(times)].sort((a, b) => a - b)
  }
  const endOfSkip = (wallTime: number) => zone.changeBetween(wallTime - dayMs, wallTime + dayMs)

  function startOf(time: number): number {
    const wallTime = local!.startOf(localOf(time))
    const times = timesOf(wallTime)
    if (times.length === 0) return endOfSkip(wallTime)
    // East of Greenwich, the local year 0 begins in the year before it in UTC.
    if (times[0]! < yearZero) return yearZero
    return isShort ? (times.findLast((one) => one <= time) ?? times[0]!) : times[0]!
  }

  function nextOf(start: number): number {
    const wallTime = local!.nextOf(local!.startOf(localOf(start)))
    const next = timesOf(wallTime).find((time) => time > start) ?? endOfSkip(wallTime)
    if (!isShort || zone.offsetAt(start) <= zone.offsetAt(next)) return next
    const repeated = startOf(zone.changeBetween(start, next))
    return repeated > start ? repeated : next
  }

  return { startOf, nextOf, isOfDays: false }
}
