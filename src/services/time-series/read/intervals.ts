/** Intervals in UTC: `15m`, `1h`, `1d`, `1w` (from Monday on), `1M`, `1y`. */
export interface Interval {
  /** Returns the start of the interval that contains this time. */
  startOf(time: number): number
  /** Returns the start of the next interval. */
  nextOf(start: number): number
  /** True if every interval consists of whole days. */
  isOfDays: boolean
  /** Absent if the intervals differ in length. */
  fixed?: { width: number; offset: number }
}

const dayMs = 86_400_000
const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs, w: 7 * dayMs }
/** 1970 began on a Thursday. */
const mondayMs = 4 * dayMs

/** Earliest start: years before 0 are formatted differently, and have no points. */
const yearZero = new Date(0).setUTCFullYear(0, 0, 1)

/** Parses a whole number from 1 to 99999 and a unit; returns undefined for anything else. */
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
