/** Computes the keys of a histogram's empty buckets. These are the buckets between its first and last bucket, or between its bounds. */
import { bucketsMax, type CalendarUnit, type Grouping } from '../query/aggregations.ts'
import { invalid } from '../query/clauses.ts'
import { resolveDate } from '../query/dates.ts'

type Histogram = Exclude<Grouping, { kind: 'terms' }>

const calendarMath: Record<CalendarUnit, string> = {
  minute: 'm',
  hour: 'h',
  day: 'd',
  week: 'w',
  month: 'M',
  quarter: 'M',
  year: 'y',
}

/** Returns the start of the bucket that a value belongs to. */
function floorOf(grouping: Histogram, value: number): number {
  if (grouping.kind === 'histogram')
    return Math.floor((value - grouping.offset) / grouping.interval) * grouping.interval + grouping.offset
  const { interval, offsetMs, timeZone } = grouping
  const math = typeof interval === 'number' ? undefined : `||/${calendarMath[interval]}`
  if (math === undefined) {
    const shift = (resolveDate('1970-01-01T00:00:00', { now: 0, up: false, timeZone }) ?? 0) + offsetMs
    return Math.floor((value - shift) / (interval as number)) * (interval as number) + shift
  }
  const floor = resolveDate(`${new Date(value - offsetMs).toISOString()}${math}`, { now: 0, up: false, timeZone })!
  if (interval !== 'quarter') return floor + offsetMs
  const months = new Date(floor).getUTCMonth() % 3
  return resolveDate(`${new Date(floor).toISOString()}||-${months}M`, { now: 0, up: false, timeZone })! + offsetMs
}

function nextOf(grouping: Histogram, key: number): number {
  if (grouping.kind === 'histogram') return key + grouping.interval
  const { interval, offsetMs, timeZone } = grouping
  if (typeof interval === 'number') return key + interval
  const step = interval === 'quarter' ? '3M' : `1${calendarMath[interval]}`
  const text = new Date(key - offsetMs).toISOString()
  // The time is rounded again, because a local day can have 23 or 25 hours.
  const next = resolveDate(`${text}||+${step}`, { now: 0, up: false, timeZone })!
  return floorOf(grouping, next + offsetMs + (interval === 'day' || interval === 'week' ? 7_200_000 : 0))
}

export function emptyKeys(grouping: Histogram, keys: number[]): number[] {
  const { bounds } = grouping
  if (grouping.minimum > 0 || (keys.length === 0 && !bounds)) return []
  const present = new Set(keys)
  const first = Math.min(...keys, ...(bounds ? [floorOf(grouping, bounds.min)] : []))
  const last = Math.max(...keys, ...(bounds ? [floorOf(grouping, bounds.max)] : []))
  const empty: number[] = []
  for (let key = first, steps = 0; key <= last; steps++) {
    if (steps > bucketsMax)
      throw invalid(`aggs: the search has more than ${bucketsMax} buckets; use longer intervals or min_doc_count 1`)
    if (!present.has(key)) empty.push(key)
    const next = nextOf(grouping, key)
    if (!(next > key)) break
    key = next
  }
  return empty
}
