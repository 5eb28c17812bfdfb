import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'
import { civilFromDays, dayOfWeek, dayOfYear, floorMod, nanosPerSecond } from '../time/civil.ts'
import { monthName, weekdayName } from '../time/pattern.ts'
import { epochOf, type Temporal } from '../time/temporal.ts'
import type { JavaObject } from '../values.ts'

/** A constant of an enumeration. `value` counts from `first`. */
export interface Enumerated extends JavaObject {
  name: string
  value: number
  text: () => string
  compareTo: (other: unknown) => number
}

/** Defines an enumeration and returns its constants. */
function enumeration(
  javaClass: string,
  names: string[],
  first: number,
  supers: string[],
  methods: Record<string, (...args: never[]) => unknown>,
): Enumerated[] {
  const short = javaClass.slice(javaClass.lastIndexOf('.') + 1)
  const constants = names.map(
    (name, index): Enumerated => ({
      javaClass,
      name,
      value: index + first,
      text: () => (short.startsWith('Chrono') ? title(name) : name),
      compareTo: (other) => index + first - (other as Enumerated).value,
    }),
  )
  defineClass(javaClass, {
    supers: ['java.lang.Comparable', ...supers],
    constants: Object.fromEntries(constants.map((constant) => [constant.name, [short, constant]])),
    methods: {
      'String name()': (self: Enumerated) => self.name,
      'int ordinal()': (self: Enumerated) => self.value - first,
      [`static ${short} valueOf(String)`]: (name: string) => {
        const found = constants.find((constant) => constant.name === name)
        if (!found) throw new JavaThrow('java.lang.IllegalArgumentException', `No enum constant ${javaClass}.${name}`)
        return found
      },
      [`static ${short}[] values()`]: () => ({ elementType: javaClass, items: [...constants] }),
      ...methods,
    },
  })
  return constants
}

const title = (name: string): string =>
  name
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('')

const style = (name: string, textStyle: Enumerated): string =>
  textStyle.name.startsWith('FULL') ? name : textStyle.name.startsWith('SHORT') ? name.slice(0, 3) : name.slice(0, 1)

enumeration(
  'java.time.format.TextStyle',
  ['FULL', 'FULL_STANDALONE', 'SHORT', 'SHORT_STANDALONE', 'NARROW', 'NARROW_STANDALONE'],
  0,
  [],
  {},
)

const around = (self: Enumerated, by: bigint, all: Enumerated[]): Enumerated =>
  all[floorMod(self.value - 1 + Number(by % BigInt(all.length)), all.length)]!

export const weekdays: Enumerated[] = enumeration(
  'java.time.DayOfWeek',
  ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'],
  1,
  ['java.time.temporal.TemporalAdjuster'],
  {
    'int getValue()': (self: Enumerated) => self.value,
    'String getDisplayName(TextStyle,Locale)': (self: Enumerated, textStyle: Enumerated) =>
      style(weekdayName(self.value), textStyle),
    'DayOfWeek plus(long)': (self: Enumerated, by: bigint) => around(self, by, weekdays),
    'DayOfWeek minus(long)': (self: Enumerated, by: bigint) => around(self, -by, weekdays),
    'static DayOfWeek of(int)': (value: number) => one(weekdays, value, 'DayOfWeek'),
  },
)

function one(all: Enumerated[], value: number, name: string): Enumerated {
  const found = all[value - 1]
  if (!found) throw new JavaThrow('java.time.DateTimeException', `Invalid value for ${name}: ${value}`)
  return found
}

export const months: Enumerated[] = enumeration(
  'java.time.Month',
  Array.from({ length: 12 }, (_, index) => monthName(index + 1).toUpperCase()),
  1,
  ['java.time.temporal.TemporalAdjuster'],
  {
    'int getValue()': (self: Enumerated) => self.value,
    'String getDisplayName(TextStyle,Locale)': (self: Enumerated, textStyle: Enumerated) =>
      style(monthName(self.value), textStyle),
    'Month plus(long)': (self: Enumerated, by: bigint) => around(self, by, months),
    'Month minus(long)': (self: Enumerated, by: bigint) => around(self, -by, months),
    'int maxLength()': (self: Enumerated) => (self.value === 2 ? 29 : [4, 6, 9, 11].includes(self.value) ? 30 : 31),
    'static Month of(int)': (value: number) => one(months, value, 'MonthOfYear'),
  },
)

/** Seconds of the units with a fixed length. Months and years are counted by the calendar. */
export const unitSeconds: Record<string, number> = {
  NANOS: 1e-9,
  MICROS: 1e-6,
  MILLIS: 1e-3,
  SECONDS: 1,
  MINUTES: 60,
  HOURS: 3600,
  HALF_DAYS: 43200,
  DAYS: 86400,
  WEEKS: 604800,
}
export const unitMonths: Record<string, number> = {
  MONTHS: 1,
  YEARS: 12,
  DECADES: 120,
  CENTURIES: 1200,
  MILLENNIA: 12000,
}

/** Returns the whole months between two dates. */
function monthsBetween(from: Temporal, to: Temporal): number {
  const one = civilFromDays(from.day ?? 0)
  const two = civilFromDays(to.day ?? 0)
  const rest = two.day - one.day || (to.nano ?? 0) - (from.nano ?? 0)
  const all = two.year * 12 + two.month - one.year * 12 - one.month
  if (all > 0 && rest < 0) return all - 1
  return all < 0 && rest > 0 ? all + 1 : all
}

/** Returns the whole units from one temporal to another. */
export function between(unit: Enumerated, from: Temporal, to: Temporal): bigint {
  const perMonth = unitMonths[unit.name]
  const target = to.offset !== undefined && from.offset !== undefined ? sameOffset(to, from) : to
  if (perMonth !== undefined) return BigInt(Math.trunc(monthsBetween(from, target) / perMonth))
  const size = unitSeconds[unit.name]
  if (size === undefined) throw unsupported(unit.name)
  const date = size >= 86400
  const days = (target.day ?? 0) - (from.day ?? 0)
  if (date && from.nano === undefined) return BigInt(Math.trunc(days / (size / 86400)))
  const exact = from.offset !== undefined && !date
  const one = exact ? epochOf(from) : local(from)
  const two = exact ? epochOf(to) : local(target)
  const nanos = BigInt(two.seconds - one.seconds) * 1_000_000_000n + BigInt(two.nano - one.nano)
  return nanos / BigInt(Math.round(size * 1e9))
}

const local = (self: Temporal): { seconds: number; nano: number } => epochOf({ ...self, offset: 0 })

/** Returns `self` with the date and time that clocks at the offset of `like` show, so that calendar units of both can be compared. */
function sameOffset(self: Temporal, like: Temporal): Temporal {
  const { seconds, nano } = epochOf(self)
  const localSeconds = seconds + like.offset!
  const day = Math.floor(localSeconds / 86400)
  return { ...self, day, nano: (localSeconds - day * 86400) * nanosPerSecond + nano }
}

export const unsupported = (name: string): JavaThrow =>
  new JavaThrow('java.time.temporal.UnsupportedTemporalTypeException', `Unsupported unit or field: ${title(name)}`)

export const units: Enumerated[] = enumeration(
  'java.time.temporal.ChronoUnit',
  [...Object.keys(unitSeconds), ...Object.keys(unitMonths), 'ERAS', 'FOREVER'],
  0,
  ['java.time.temporal.TemporalUnit'],
  {
    'long between(Temporal,Temporal)': between,
    'boolean isDateBased()': (self: Enumerated) => (unitSeconds[self.name] ?? Infinity) >= 86400,
    'boolean isTimeBased()': (self: Enumerated) => (unitSeconds[self.name] ?? Infinity) < 86400,
  },
)
defineClass('java.time.temporal.TemporalUnit', {})
defineClass('java.time.temporal.TemporalField', {})

const secondsIn = (self: Temporal): number => Math.floor(self.nano! / nanosPerSecond)

/** Functions that read fields. Fields of a date need a date; the other fields need a time. */
export const fieldReaders: Record<string, (self: Temporal) => number | bigint> = {
  NANO_OF_SECOND: (self) => self.nano! % nanosPerSecond,
  NANO_OF_DAY: (self) => BigInt(self.nano!),
  MICRO_OF_SECOND: (self) => Math.floor((self.nano! % nanosPerSecond) / 1000),
  MICRO_OF_DAY: (self) => BigInt(Math.floor(self.nano! / 1000)),
  MILLI_OF_SECOND: (self) => Math.floor((self.nano! % nanosPerSecond) / 1e6),
  MILLI_OF_DAY: (self) => Math.floor(self.nano! / 1e6),
  SECOND_OF_MINUTE: (self) => secondsIn(self) % 60,
  SECOND_OF_DAY: secondsIn,
  MINUTE_OF_HOUR: (self) => Math.floor(secondsIn(self) / 60) % 60,
  MINUTE_OF_DAY: (self) => Math.floor(secondsIn(self) / 60),
  HOUR_OF_AMPM: (self) => Math.floor(secondsIn(self) / 3600) % 12,
  CLOCK_HOUR_OF_AMPM: (self) => Math.floor(secondsIn(self) / 3600) % 12 || 12,
  HOUR_OF_DAY: (self) => Math.floor(secondsIn(self) / 3600),
  CLOCK_HOUR_OF_DAY: (self) => Math.floor(secondsIn(self) / 3600) || 24,
  AMPM_OF_DAY: (self) => (secondsIn(self) < 43200 ? 0 : 1),
  DAY_OF_WEEK: (self) => dayOfWeek(self.day!),
  DAY_OF_MONTH: (self) => civilFromDays(self.day!).day,
  DAY_OF_YEAR: (self) => dayOfYear(civilFromDays(self.day!)),
  ALIGNED_WEEK_OF_MONTH: (self) => Math.ceil(civilFromDays(self.day!).day / 7),
  ALIGNED_WEEK_OF_YEAR: (self) => Math.ceil(dayOfYear(civilFromDays(self.day!)) / 7),
  ALIGNED_DAY_OF_WEEK_IN_MONTH: (self) => ((civilFromDays(self.day!).day - 1) % 7) + 1,
  ALIGNED_DAY_OF_WEEK_IN_YEAR: (self) => ((dayOfYear(civilFromDays(self.day!)) - 1) % 7) + 1,
  EPOCH_DAY: (self) => BigInt(self.day!),
  MONTH_OF_YEAR: (self) => civilFromDays(self.day!).month,
  PROLEPTIC_MONTH: (self) => {
    const { year, month } = civilFromDays(self.day!)
    return BigInt(year * 12 + month - 1)
  },
  YEAR: (self) => civilFromDays(self.day!).year,
  YEAR_OF_ERA: (self) => {
    const { year } = civilFromDays(self.day!)
    return year > 0 ? year : 1 - year
  },
  ERA: (self) => (civilFromDays(self.day!).year > 0 ? 1 : 0),
  INSTANT_SECONDS: (self) => BigInt(epochOf(self).seconds),
  OFFSET_SECONDS: (self) => self.offset!,
}
const timeFields = /^(?:NANO|MICRO|MILLI|SECOND|MINUTE|HOUR|CLOCK|AMPM)/

export const fields: Enumerated[] = enumeration(
  'java.time.temporal.ChronoField',
  Object.keys(fieldReaders),
  0,
  ['java.time.temporal.TemporalField'],
  {},
)

export function supports(self: Temporal, field: Enumerated): boolean {
  if (field.name === 'INSTANT_SECONDS' || field.name === 'OFFSET_SECONDS') return self.offset !== undefined
  return (timeFields.test(field.name) ? self.nano : self.day) !== undefined
}

export function readField(self: Temporal, field: Enumerated): bigint {
  const reader = fieldReaders[field.name]
  if (!reader || !supports(self, field)) throw unsupported(field.name)
  return BigInt(reader(self))
}
