import { classCast } from '../errors.ts'
import type { JavaObject } from '../values.ts'
import { civilFromDays, floorMod, nanosPerDay, nanosPerSecond } from './civil.ts'
import { findZone, fixedZone, offsetAt, offsetForLocal, offsetText, type Zone } from './zones.ts'

export type TemporalClass =
  | 'java.time.Instant'
  | 'java.time.LocalDate'
  | 'java.time.LocalTime'
  | 'java.time.LocalDateTime'
  | 'java.time.OffsetDateTime'
  | 'java.time.ZonedDateTime'

/** A date, a time, or both. The date and time of an Instant are in UTC. */
export interface Temporal extends JavaObject {
  javaClass: TemporalClass
  /** Days since 1970; undefined for a LocalTime. */
  day: number | undefined
  /** Nanoseconds since midnight; undefined for a LocalDate. */
  nano: number | undefined
  offset: number | undefined
  zone: Zone | undefined
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}

function make(javaClass: TemporalClass, day?: number, nano?: number, offset?: number, zone?: Zone): Temporal {
  const self: Temporal = {
    javaClass,
    day,
    nano,
    offset,
    zone,
    text: () => temporalText(self),
    equals: (other) => (other as Temporal).javaClass === javaClass && self.key() === (other as Temporal).key(),
    compareTo: (other) => compareTemporals(self, other as Temporal),
    key: () => temporalText(self),
  }
  return self
}

/** Carries nanoseconds beyond a day over into the days. */
const carry = (day: number, nano: number): [number, number] => [
  day + Math.floor(nano / nanosPerDay),
  floorMod(nano, nanosPerDay),
]

export const localDate = (day: number): Temporal => make('java.time.LocalDate', day)
export const localTime = (nano: number): Temporal => make('java.time.LocalTime', undefined, floorMod(nano, nanosPerDay))
export const localDateTime = (day: number, nano: number): Temporal =>
  make('java.time.LocalDateTime', ...carry(day, nano))
export const offsetDateTime = (day: number, nano: number, offset: number): Temporal =>
  make('java.time.OffsetDateTime', ...carry(day, nano), offset, fixedZone(offset))
export const instant = (seconds: number, nano: number): Temporal => {
  const day = Math.floor(seconds / 86400)
  return make('java.time.Instant', ...carry(day, (seconds - day * 86400) * nanosPerSecond + nano), 0)
}

/** Returns the ZonedDateTime of a local time in a zone. If clocks show the local time twice, `offset` selects one of the two offsets. */
export function zonedLocal(day: number, nano: number, zone: Zone, offset?: number): Temporal {
  const [ownDay, ownNano] = carry(day, nano)
  const seconds = ownDay * 86400 + Math.floor(ownNano / nanosPerSecond)
  if (offset !== undefined && offsetAt(zone, seconds - offset) === offset)
    return make('java.time.ZonedDateTime', ownDay, ownNano, offset, zone)
  const localOffset = offsetForLocal(zone, seconds)
  const actual = offsetAt(zone, seconds - localOffset)
  // If a change of the clock skips the local time, the time moves forward by the length of the change.
  return make(
    'java.time.ZonedDateTime',
    ...carry(ownDay, ownNano + (actual - localOffset) * nanosPerSecond),
    actual,
    zone,
  )
}

/** Returns the seconds and nanoseconds since 1970 of a temporal with date, time and offset. */
export function epochOf(self: Temporal): { seconds: number; nano: number } {
  const nano = self.nano ?? 0
  const second = Math.floor(nano / nanosPerSecond)
  return { seconds: (self.day ?? 0) * 86400 + second - (self.offset ?? 0), nano: nano - second * nanosPerSecond }
}

/** Returns the same moment in a zone. */
export function zonedInstant(self: Temporal, zone: Zone): Temporal {
  const { seconds, nano } = epochOf(self)
  const offset = offsetAt(zone, seconds)
  const local = seconds + offset
  const day = Math.floor(local / 86400)
  return make('java.time.ZonedDateTime', day, (local - day * 86400) * nanosPerSecond + nano, offset, zone)
}

/** Returns the same moment with a fixed offset. */
export function offsetInstant(self: Temporal, offset: number): Temporal {
  const { day, nano } = zonedInstant(self, fixedZone(offset))
  return make('java.time.OffsetDateTime', day, nano, offset, fixedZone(offset))
}

/** Returns a temporal of the same class with another date or time. */
export function withDateTime(self: Temporal, day: number | undefined, nano: number | undefined): Temporal {
  switch (self.javaClass) {
    case 'java.time.LocalDate':
      return localDate(day!)
    case 'java.time.LocalTime':
      return localTime(nano!)
    case 'java.time.LocalDateTime':
      return localDateTime(day!, nano!)
    case 'java.time.OffsetDateTime':
      return offsetDateTime(day!, nano!, self.offset!)
    case 'java.time.ZonedDateTime':
      return zonedLocal(day!, nano!, self.zone!, self.offset)
    case 'java.time.Instant':
      return make('java.time.Instant', ...carry(day!, nano!), 0)
  }
}

/** Adds seconds and nanoseconds. For a ZonedDateTime, this is elapsed time, so the offset of its zone may change. */
export function plusNanos(self: Temporal, seconds: number, nano: number): Temporal {
  if (self.javaClass === 'java.time.ZonedDateTime') {
    const at = epochOf(self)
    return zonedInstant(instant(at.seconds + seconds, at.nano + nano), self.zone!)
  }
  if (self.day === undefined) return localTime((self.nano ?? 0) + (seconds % 86400) * nanosPerSecond + nano)
  const days = Math.floor(seconds / 86400)
  return withDateTime(self, self.day + days, (self.nano ?? 0) + (seconds - days * 86400) * nanosPerSecond + nano)
}

function compareTemporals(left: Temporal, right: Temporal): number {
  if (left.offset !== undefined && right.offset !== undefined) {
    const one = epochOf(left)
    const two = epochOf(right)
    const order = one.seconds - two.seconds || one.nano - two.nano
    if (order !== 0 || left.javaClass === 'java.time.Instant') return Math.sign(order)
  }
  if (typeof right !== 'object' || right === null) throw classCast('cannot compare a date with something else')
  return Math.sign((left.day ?? 0) - (right.day ?? 0) || (left.nano ?? 0) - (right.nano ?? 0))
}

const two = (value: number): string => String(value).padStart(2, '0')

export function dateText(day: number): string {
  const { year, month, day: dayOfMonth } = civilFromDays(day)
  const size = String(Math.abs(year)).padStart(4, '0')
  const shown = year < 0 ? `-${size}` : year > 9999 ? `+${size}` : size
  return `${shown}-${two(month)}-${two(dayOfMonth)}`
}

/** Prints hours and minutes, and seconds if they are not 0 or `always` is set. */
export function timeText(nano: number, always = false): string {
  const second = Math.floor(nano / nanosPerSecond)
  const rest = nano - second * nanosPerSecond
  const minutes = `${two(Math.floor(second / 3600))}:${two(Math.floor(second / 60) % 60)}`
  if (!always && rest === 0 && second % 60 === 0) return minutes
  return `${minutes}:${two(second % 60)}${fractionText(rest)}`
}

/** Returns a point and three, six or nine digits; empty if there is no fraction. */
function fractionText(nano: number): string {
  if (nano === 0) return ''
  const digits = String(nano).padStart(9, '0')
  return `.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}`
}

function temporalText(self: Temporal): string {
  if (self.javaClass === 'java.time.Instant') return `${dateText(self.day!)}T${timeText(self.nano!, true)}Z`
  const date = self.day === undefined ? '' : dateText(self.day)
  const time = self.nano === undefined ? '' : timeText(self.nano)
  const local = date && time ? `${date}T${time}` : date || time
  if (self.offset === undefined) return local
  const region =
    self.javaClass === 'java.time.ZonedDateTime' && self.zone!.id !== offsetText(self.offset)
      ? `[${self.zone!.id}]`
      : ''
  return local + offsetText(self.offset) + region
}

export const utcZone = findZone('Z')
