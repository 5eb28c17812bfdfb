import { JavaThrow } from '../errors.ts'
import { dateTimeError, daysFromCivil } from './civil.ts'

/** A time zone: a fixed offset in seconds, or a region of the time zone database. */
export interface Zone {
  id: string
  /** The offset in seconds of a zone with a fixed offset; undefined for a region. */
  fixed: number | undefined
}

const utc: Zone = { id: 'Z', fixed: 0 }

/** Cached regions by id. `offset` is the offset in `quarter`, the quarter of an hour (since 1970) that was looked up last. */
const regions = new Map<string, { format: Intl.DateTimeFormat; quarter: number; offset: number }>()
const regionsMax = 600

export function offsetText(seconds: number): string {
  if (seconds === 0) return 'Z'
  const size = Math.abs(seconds)
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const rest = size % 60 === 0 ? '' : `:${two(size % 60)}`
  return `${seconds < 0 ? '-' : '+'}${two(size / 3600)}:${two((size / 60) % 60)}${rest}`
}

/** Parses `Z`, `+1`, `+01`, `+0100`, `+01:00` and `+01:00:00`. Returns undefined for anything else. */
export function parseOffset(text: string): number | undefined {
  if (text === 'Z' || text === 'z') return 0
  const match = /^([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?$/.exec(text)
  if (!match) return undefined
  const seconds = Number(match[2]) * 3600 + Number(match[3] ?? 0) * 60 + Number(match[4] ?? 0)
  if (seconds > 18 * 3600 || Number(match[3] ?? 0) > 59) return undefined
  return match[1] === '-' ? -seconds : seconds
}

export const fixedZone = (seconds: number): Zone => (seconds === 0 ? utc : { id: offsetText(seconds), fixed: seconds })

const abbreviations: Record<string, string> = { EST: '-05:00', MST: '-07:00', HST: '-10:00' }

/** Returns the zone with this id. Throws if no zone has this id. */
export function findZone(id: string): Zone {
  const offset = parseOffset(abbreviations[id] ?? id)
  if (offset !== undefined) return fixedZone(offset)
  if (id === 'UTC' || id === 'GMT' || id === 'UT' || id === 'Etc/UTC') return { id, fixed: 0 }
  const prefixed = /^(?:UTC|GMT|UT)([+-].+)$/.exec(id)
  if (prefixed) {
    const offset = parseOffset(prefixed[1]!)
    if (offset !== undefined) return { id, fixed: offset }
  }
  regionOf(id)
  return { id, fixed: undefined }
}

function regionOf(id: string) {
  const known = regions.get(id)
  if (known) return known
  if (!/^[A-Za-z][A-Za-z0-9~/._+-]{1,60}$/.test(id))
    throw dateTimeError(`Invalid ID for region-based ZoneId, invalid format: ${id}`)
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: id,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      era: 'short',
    })
    if (regions.size >= regionsMax) regions.clear()
    const region = { format, quarter: Number.NaN, offset: 0 }
    regions.set(id, region)
    return region
  } catch {
    throw new JavaThrow('java.time.zone.ZoneRulesException', `Unknown time-zone ID: ${id}`)
  }
}

/** Maximum number of seconds before or after 1970 that JavaScript's calendar supports: about 270,000 years. */
const secondsMax = 8.64e12

/** Returns the offset of a zone at a time. */
export function offsetAt(zone: Zone, epochSeconds: number): number {
  if (zone.fixed !== undefined) return zone.fixed
  const region = regionOf(zone.id)
  const seconds = Math.max(-secondsMax, Math.min(secondsMax, epochSeconds))
  // Offsets only change at quarters of an hour.
  const quarter = Math.floor(seconds / 900)
  if (region.quarter === quarter) return region.offset
  const parts: Record<string, string> = {}
  for (const { type, value } of region.format.formatToParts(quarter * 900_000)) parts[type] = value
  const year = parts.era === 'BC' ? 1 - Number(parts.year) : Number(parts.year)
  const days = daysFromCivil(year, Number(parts.month), Number(parts.day))
  const local = days * 86400 + Number(parts.hour) * 3600 + Number(parts.minute) * 60 + Number(parts.second)
  region.quarter = quarter
  region.offset = local - quarter * 900
  return region.offset
}

/** Returns the offset for a local time. If a change of the clock skips or repeats this time, it is the offset before the change. */
export function offsetForLocal(zone: Zone, localSeconds: number): number {
  if (zone.fixed !== undefined) return zone.fixed
  const before = offsetAt(zone, localSeconds - 86400)
  const after = offsetAt(zone, localSeconds + 86400)
  if (offsetAt(zone, localSeconds - before) === before) return before
  return offsetAt(zone, localSeconds - after) === after ? after : before
}

/** Returns the offsets before and after the change of the clock that repeats a local time; undefined if no change repeats this time. */
export function offsetsAtOverlap(zone: Zone, localSeconds: number): { before: number; after: number } | undefined {
  if (zone.fixed !== undefined) return undefined
  const before = offsetAt(zone, localSeconds - 86400)
  const after = offsetAt(zone, localSeconds + 86400)
  const isRepeated =
    before > after && offsetAt(zone, localSeconds - before) === before && offsetAt(zone, localSeconds - after) === after
  return isRepeated ? { before, after } : undefined
}
