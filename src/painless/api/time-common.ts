import { defineClass, type Methods } from '../define.ts'
import { nullPointer } from '../errors.ts'
import { allocate } from '../meter.ts'
import {
  checkedDays,
  checkedNanos,
  civilFromDays,
  dateTimeError,
  dayOfWeek,
  dayOfYear,
  daysFromCivil,
  monthLength,
  nanosPerSecond,
  plusMonths,
} from '../time/civil.ts'
import { type Formatter, formatTemporal, namedFormatters, parseTemporal } from '../time/formatter.ts'
import {
  epochOf,
  instant,
  localDate,
  localDateTime,
  localTime,
  plusNanos,
  type Temporal,
  type TemporalClass,
  withDateTime,
} from '../time/temporal.ts'
import { findZone, fixedZone, offsetText, type Zone } from '../time/zones.ts'
import type { JavaObject } from '../values.ts'
import { type Duration, monthsOf, type Period } from './time-amounts.ts'
import {
  between,
  type Enumerated,
  fieldReaders,
  months,
  readField,
  supports,
  unitSeconds,
  unsupported,
  weekdays,
} from './time-units.ts'

/** A ZoneId or ZoneOffset. */
export interface ZoneObject extends JavaObject {
  zone: Zone
  text: () => string
  equals: (other: unknown) => boolean
  key: () => string
}

export function zoneObject(zone: Zone): ZoneObject {
  const isOffset = zone.fixed !== undefined && zone.id === offsetText(zone.fixed)
  return {
    javaClass: isOffset ? 'java.time.ZoneOffset' : 'java.time.ZoneId',
    zone,
    text: () => zone.id,
    equals: (other) => (other as ZoneObject).zone?.id === zone.id,
    key: () => zone.id,
  }
}

defineClass('java.time.ZoneId', {
  methods: {
    'String getId()': (self: ZoneObject) => self.zone.id,
    'ZoneId normalized()': (self: ZoneObject) =>
      zoneObject(self.zone.fixed === undefined ? self.zone : fixedZone(self.zone.fixed)),
    'static ZoneId of(String)': (id: string) => zoneObject(findZone(id)),
    'static ZoneId systemDefault()': () => zoneObject(findZone('Z')),
  },
})
defineClass('java.time.ZoneOffset', {
  supers: ['java.time.ZoneId'],
  constants: { UTC: ['ZoneOffset', zoneObject(findZone('Z'))] },
  methods: {
    'int getTotalSeconds()': (self: ZoneObject) => self.zone.fixed ?? 0,
    'static ZoneOffset of(String)': (id: string) => {
      const zone = findZone(id)
      if (zone.fixed === undefined) throw dateTimeError(`Invalid ID for ZoneOffset, invalid format: ${id}`)
      return zoneObject(fixedZone(zone.fixed))
    },
    'static ZoneOffset ofHours(int)': (hours: number) => zoneObject(fixedZone(hours * 3600)),
    'static ZoneOffset ofHoursMinutes(int,int)': (hours: number, minutes: number) =>
      zoneObject(fixedZone(hours * 3600 + minutes * 60)),
    'static ZoneOffset ofTotalSeconds(int)': (seconds: number) => zoneObject(fixedZone(seconds)),
  },
})

export const number = (amount: bigint): number => {
  const value = Number(amount)
  if (Math.abs(value) > 1e15) throw dateTimeError(`The amount ${amount} is too large.`)
  return value
}

const moveMonths = (self: Temporal, amount: number): Temporal =>
  withDateTime(self, plusMonths(self.day!, amount), self.nano)
export const moveDays = (self: Temporal, amount: number): Temporal =>
  withDateTime(self, checkedDay(self.day! + amount), self.nano)

/** Maximum distance of a date from 1970, in days. */
const dayMax = 365_241_780_471
export const checkedDay = (day: number): number => {
  if (Math.abs(day) > dayMax) throw dateTimeError(`The date is out of range.`)
  return day
}

/** Adds an amount of a unit. */
export function plusUnit(self: Temporal, amount: bigint, unit: Enumerated): Temporal {
  const perMonth = monthsOf(unit.name)
  if (perMonth !== undefined) {
    if (self.day === undefined || self.javaClass === 'java.time.Instant') throw unsupported(unit.name)
    return moveMonths(self, number(amount) * perMonth)
  }
  const size = unitSeconds[unit.name]
  if (size === undefined) throw unsupported(unit.name)
  if (size >= 86400 && self.day !== undefined) return moveDays(self, number(amount) * (size / 86400))
  if (self.nano === undefined) throw unsupported(unit.name)
  const nanos = amount * BigInt(Math.round(size * 1e9))
  return plusNanos(self, number(nanos / 1_000_000_000n), Number(nanos % 1_000_000_000n))
}

const isPeriod = (amount: Duration | Period): amount is Period => amount.javaClass === 'java.time.Period'

export function plusAmount(self: Temporal, amount: Duration | Period, sign: 1 | -1): Temporal {
  if (amount === null) throw nullPointer('the amount is null')
  if (isPeriod(amount))
    return moveDays(moveMonths(self, sign * (amount.years * 12 + amount.months)), sign * amount.days)
  const nanos = amount.nanos * BigInt(sign)
  return plusNanos(self, number(nanos / 1_000_000_000n), Number(nanos % 1_000_000_000n))
}

function truncate(self: Temporal, unit: Enumerated): Temporal {
  const size = unitSeconds[unit.name]
  if (size === undefined || size > 86400 || self.nano === undefined) throw unsupported(unit.name)
  const nanos = Math.round(size * 1e9)
  return withDateTime(self, self.day, Math.floor(self.nano / nanos) * nanos)
}

/** Sets a field of a date or time. Throws if the class does not have this field. */
export function withField(self: Temporal, field: Enumerated, value: bigint): Temporal {
  const setter = fieldSetters[field.name]
  if (!setter || !supports(self, field)) throw unsupported(field.name)
  return setter(self, number(value))
}

const setDate = (self: Temporal, change: Partial<{ year: number; month: number; day: number }>): Temporal => {
  const civil = { ...civilFromDays(self.day!), ...change }
  if (change.day === undefined)
    civil.day = Math.min(civil.day, monthLength(civil.year, Math.min(12, Math.max(1, civil.month))))
  return withDateTime(self, checkedDays(civil.year, civil.month, civil.day), self.nano)
}
const setTime = (
  self: Temporal,
  change: Partial<{ hour: number; minute: number; second: number; nano: number }>,
): Temporal => {
  const second = Math.floor(self.nano! / nanosPerSecond)
  const time = {
    hour: Math.floor(second / 3600),
    minute: Math.floor(second / 60) % 60,
    second: second % 60,
    nano: self.nano! % nanosPerSecond,
    ...change,
  }
  return withDateTime(self, self.day, checkedNanos(time.hour, time.minute, time.second, time.nano))
}

export const fieldSetters: Record<string, (self: Temporal, value: number) => Temporal> = {
  NANO_OF_SECOND: (self, nano) => setTime(self, { nano }),
  MILLI_OF_SECOND: (self, value) => setTime(self, { nano: value * 1_000_000 }),
  SECOND_OF_MINUTE: (self, second) => setTime(self, { second }),
  MINUTE_OF_HOUR: (self, minute) => setTime(self, { minute }),
  HOUR_OF_DAY: (self, hour) => setTime(self, { hour }),
  DAY_OF_MONTH: (self, day) => setDate(self, { day }),
  DAY_OF_YEAR: (self, value) =>
    withDateTime(self, daysFromCivil(civilFromDays(self.day!).year, 1, 1) + value - 1, self.nano),
  DAY_OF_WEEK: (self, value) => moveDays(self, value - dayOfWeek(self.day!)),
  EPOCH_DAY: (self, value) => withDateTime(self, checkedDay(value), self.nano),
  MONTH_OF_YEAR: (self, month) => setDate(self, { month }),
  YEAR: (self, year) => setDate(self, { year }),
}

const shortOf = (javaClass: string): string => javaClass.slice(javaClass.lastIndexOf('.') + 1)
/** Counts the memory of a new object towards the script's limit. */
export const allocated = <T>(value: T): T => {
  allocate(128)
  return value
}

/** Methods of all classes that have a date or a time. */
export function common(javaClass: TemporalClass): Methods {
  const name = shortOf(javaClass)
  const parseWith = (formatter: Formatter) => (text: unknown) =>
    allocated(parseTemporal(formatter, String(text), javaClass))
  const iso = {
    Instant: 'ISO_INSTANT',
    LocalDate: 'ISO_LOCAL_DATE',
    LocalTime: 'ISO_LOCAL_TIME',
    LocalDateTime: 'ISO_LOCAL_DATE_TIME',
    OffsetDateTime: 'ISO_OFFSET_DATE_TIME',
    ZonedDateTime: 'ISO_ZONED_DATE_TIME',
  }[name]!
  return {
    'String format(DateTimeFormatter)': (self: Temporal, formatter: Formatter) => formatTemporal(formatter, self),
    'int get(TemporalField)': (self: Temporal, field: Enumerated) => Number(readField(self, field)),
    'long getLong(TemporalField)': readField,
    'boolean isSupported(TemporalField)': supports,
    'boolean isAfter(def)': (self: Temporal, other: Temporal) => self.compareTo(other) > 0,
    'boolean isBefore(def)': (self: Temporal, other: Temporal) => self.compareTo(other) < 0,
    'boolean isEqual(def)': (self: Temporal, other: Temporal) => self.compareTo(other) === 0,
    [`${name} plus(TemporalAmount)`]: (self: Temporal, amount: Duration | Period) =>
      allocated(plusAmount(self, amount, 1)),
    [`${name} minus(TemporalAmount)`]: (self: Temporal, amount: Duration | Period) =>
      allocated(plusAmount(self, amount, -1)),
    [`${name} plus(long,TemporalUnit)`]: (self: Temporal, amount: bigint, unit: Enumerated) =>
      allocated(plusUnit(self, amount, unit)),
    [`${name} minus(long,TemporalUnit)`]: (self: Temporal, amount: bigint, unit: Enumerated) =>
      allocated(plusUnit(self, -amount, unit)),
    [`${name} with(TemporalField,long)`]: withField,
    'long until(Temporal,TemporalUnit)': (self: Temporal, other: Temporal, unit: Enumerated) =>
      between(unit, self, other),
    [`${name} truncatedTo(TemporalUnit)`]: truncate,
    [`static ${name} parse(CharSequence)`]: parseWith(namedFormatters[iso]!),
    [`static ${name} parse(CharSequence,DateTimeFormatter)`]: (text: unknown, formatter: Formatter) =>
      allocated(parseTemporal(formatter, String(text), javaClass)),
  }
}

const unit = (name: string): Enumerated => ({ name }) as Enumerated
export const moving = (name: string, units: Record<string, string>): Methods =>
  Object.fromEntries(
    Object.entries(units).flatMap(([suffix, unitName]): [string, Methods[string]][] => [
      [
        `${name} plus${suffix}(long)`,
        (self: Temporal, amount: bigint) => allocated(plusUnit(self, amount, unit(unitName))),
      ],
      [
        `${name} minus${suffix}(long)`,
        (self: Temporal, amount: bigint) => allocated(plusUnit(self, -amount, unit(unitName))),
      ],
    ]),
  )

export function dateMethods(name: string): Methods {
  return {
    'int getDayOfMonth()': (self: Temporal) => civilFromDays(self.day!).day,
    'DayOfWeek getDayOfWeek()': (self: Temporal) => weekdays[dayOfWeek(self.day!) - 1],
    'DayOfWeek getDayOfWeekEnum()': (self: Temporal) => weekdays[dayOfWeek(self.day!) - 1],
    'int getDayOfYear()': (self: Temporal) => dayOfYear(civilFromDays(self.day!)),
    'Month getMonth()': (self: Temporal) => months[civilFromDays(self.day!).month - 1],
    'int getMonthValue()': (self: Temporal) => civilFromDays(self.day!).month,
    'int getYear()': (self: Temporal) => civilFromDays(self.day!).year,
    [`${name} withDayOfMonth(int)`]: fieldSetters.DAY_OF_MONTH!,
    [`${name} withDayOfYear(int)`]: fieldSetters.DAY_OF_YEAR!,
    [`${name} withMonth(int)`]: fieldSetters.MONTH_OF_YEAR!,
    [`${name} withYear(int)`]: fieldSetters.YEAR!,
    ...moving(name, { Days: 'DAYS', Weeks: 'WEEKS', Months: 'MONTHS', Years: 'YEARS' }),
  }
}

export function timeMethods(name: string): Methods {
  return {
    'int getHour()': (self: Temporal) => Number(fieldReaders.HOUR_OF_DAY!(self)),
    'int getMinute()': (self: Temporal) => Number(fieldReaders.MINUTE_OF_HOUR!(self)),
    'int getSecond()': (self: Temporal) => Number(fieldReaders.SECOND_OF_MINUTE!(self)),
    'int getNano()': (self: Temporal) => self.nano! % nanosPerSecond,
    [`${name} withHour(int)`]: fieldSetters.HOUR_OF_DAY!,
    [`${name} withMinute(int)`]: fieldSetters.MINUTE_OF_HOUR!,
    [`${name} withSecond(int)`]: fieldSetters.SECOND_OF_MINUTE!,
    [`${name} withNano(int)`]: fieldSetters.NANO_OF_SECOND!,
    ...moving(name, { Hours: 'HOURS', Minutes: 'MINUTES', Seconds: 'SECONDS', Nanos: 'NANOS' }),
  }
}

export const offsetMethods: Methods = {
  'ZoneOffset getOffset()': (self: Temporal) => zoneObject(fixedZone(self.offset!)),
  'long toEpochSecond()': (self: Temporal) => BigInt(epochOf(self).seconds),
  'Instant toInstant()': (self: Temporal) => allocated(toInstant(self)),
  'LocalDate toLocalDate()': (self: Temporal) => localDate(self.day!),
  'LocalDateTime toLocalDateTime()': (self: Temporal) => localDateTime(self.day!, self.nano!),
  'LocalTime toLocalTime()': (self: Temporal) => localTime(self.nano!),
}
export const toInstant = (self: Temporal): Temporal => {
  const { seconds, nano } = epochOf(self)
  return instant(seconds, nano)
}
export const millis = (self: Temporal): bigint => {
  const { seconds, nano } = epochOf(self)
  return BigInt(seconds) * 1000n + BigInt(Math.floor(nano / 1e6))
}
export const fromMillis = (value: bigint): Temporal => {
  const seconds = (value - (((value % 1000n) + 1000n) % 1000n)) / 1000n
  return instant(number(seconds), Number(value - seconds * 1000n) * 1e6)
}
