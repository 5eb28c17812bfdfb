/** Offsets of IANA time zones, from the data of Node.js. A lookup takes microseconds, so the changes of each year are looked up once. */

export interface TimeZone {
  /** Returns by how many milliseconds the local time of the zone is ahead of UTC. */
  offsetAt(time: number): number
  /** Returns the first time with the new offset. The offset must change exactly once between the two given times. */
  changeBetween(before: number, after: number): number
}

const dayMs = 86_400_000
/** Step of the search for changes, because no zone changes twice within a week. */
const stepMs = 7 * dayMs
/** First year whose offset is looked up. Before it, clocks followed the sun, so earlier times get the offset of this year. */
const firstYear = 1900
const zonesMax = 1000
const yearsMax = 500

const zones = new Map<string, TimeZone>()

/** Returns the time zone with this IANA name or this offset, such as `+05:30`; undefined for an unknown zone. */
export function timeZoneOf(name: string): TimeZone | undefined {
  const known = zones.get(name)
  if (known) return known
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', { ...wallClock, timeZone: name })
  } catch {
    return undefined
  }
  const zone = createTimeZone((time) => readOffset(format, time))
  if (zones.size >= zonesMax) zones.clear()
  zones.set(name, zone)
  return zone
}

const wallClock = {
  calendar: 'gregory',
  numberingSystem: 'latn',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const

function readOffset(format: Intl.DateTimeFormat, time: number): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(time)) parts[type] = Number(value)
  const { year, month, day, hour, minute, second } = parts
  const seconds = Math.floor(time / 1000) * 1000
  return Date.UTC(year!, month! - 1, day, hour, minute, second) - seconds
}

/** A change of the offset: `offset` is valid from `from` on. */
interface Change {
  from: number
  offset: number
}

function createTimeZone(offsetOf: (time: number) => number): TimeZone {
  const years = new Map<number, Change[]>()

  function changeBetween(before: number, after: number): number {
    const offset = offsetOf(before)
    let [low, high] = [before, after]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (offsetOf(middle) === offset) low = middle
      else high = middle
    }
    return high
  }

  function changesOf(year: number): Change[] {
    const [start, end] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)]
    const changes: Change[] = [{ from: start, offset: offsetOf(start) }]
    for (let time = start; time < end; ) {
      const next = Math.min(time + stepMs, end)
      const offset = offsetOf(next)
      if (offset !== changes.at(-1)!.offset) changes.push({ from: changeBetween(time, next), offset })
      time = next
    }
    if (years.size >= yearsMax) years.clear()
    years.set(year, changes)
    return changes
  }

  return {
    changeBetween,
    offsetAt(time) {
      const year = Math.max(new Date(time).getUTCFullYear(), firstYear)
      const changes = years.get(year) ?? changesOf(year)
      let index = changes.length - 1
      while (index > 0 && changes[index]!.from > time) index--
      return changes[index]!.offset
    },
  }
}
