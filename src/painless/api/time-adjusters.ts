import { defineClass, type Methods } from '../define.ts'
import { classCast } from '../errors.ts'
import {
  civilFromDays,
  dateTimeError,
  dayOfWeek,
  dayOfYear,
  daysFromCivil,
  floorMod,
  isLeapYear,
  isoWeek,
  monthLength,
  plusMonths,
} from '../time/civil.ts'
import { type Formatter, parseAny } from '../time/formatter.ts'
import {
  localDate,
  localDateTime,
  localTime,
  offsetDateTime,
  type Temporal,
  type TemporalClass,
  withDateTime,
  zonedLocal,
} from '../time/temporal.ts'
import { offsetsAtOverlap } from '../time/zones.ts'
import type { Fn } from './helpers.ts'
import type { Duration, Period } from './time-amounts.ts'
import { allocated, fieldSetters, moveDays, plusAmount, plusUnit, toInstant, withField } from './time-common.ts'
import {
  between,
  type Enumerated,
  fieldReaders,
  months,
  readField,
  supports,
  unitMonths,
  weekdays,
} from './time-units.ts'

/* Implements adjusters, fields of weeks and quarters, and conversions between the classes of dates. */

type Adjuster = Fn | Temporal | Enumerated

/** Applies an adjuster to a date or time. The adjuster is a function, another date or time, a weekday or a month. */
function adjust(self: Temporal, adjuster: Adjuster): Temporal {
  if (typeof adjuster === 'function') return adjuster(self) as Temporal
  if ('name' in adjuster && adjuster.javaClass === 'java.time.DayOfWeek')
    return fieldSetters.DAY_OF_WEEK!(self, adjuster.value)
  if ('name' in adjuster && adjuster.javaClass === 'java.time.Month')
    return fieldSetters.MONTH_OF_YEAR!(self, adjuster.value)
  const { day, nano } = adjuster as Temporal
  return allocated(withDateTime(self, day ?? self.day, nano ?? self.nano))
}

defineClass('java.time.temporal.TemporalAdjuster', { functional: 'Temporal adjustInto(Temporal)' })

const civil = (self: Temporal) => {
  if (self.day === undefined) throw dateTimeError('A time without a date cannot be adjusted.')
  return civilFromDays(self.day)
}
const toDay = (self: Temporal, day: number): Temporal => allocated(withDateTime(self, day, self.nano))
const inMonth = (self: Temporal, by: number, day: number): Temporal => {
  const { year, month } = civil(self)
  const first = plusMonths(daysFromCivil(year, month, 1), by)
  const target = civilFromDays(first)
  return toDay(self, first + Math.min(day, monthLength(target.year, target.month)) - 1)
}
/** Returns the days to the next date with this weekday, forwards or backwards (`by`). Returns 0 if the date itself has this weekday. */
const distance = (self: Temporal, weekday: Enumerated, by: 1 | -1): number =>
  floorMod((weekday.value - dayOfWeek(self.day!)) * by, 7) * by

function nthInMonth(self: Temporal, nth: number, weekday: Enumerated): Temporal {
  if (nth >= 0) {
    const first = inMonth(self, 0, 1)
    return toDay(self, first.day! + distance(first, weekday, 1) + (nth - 1) * 7)
  }
  const last = inMonth(self, 0, 31)
  return toDay(self, last.day! + distance(last, weekday, -1) + (nth + 1) * 7)
}

const byWeekday =
  (move: (self: Temporal, weekday: Enumerated) => Temporal) => (weekday: Enumerated) => (self: unknown) =>
    move(self as Temporal, weekday)
const plain = (move: (self: Temporal) => Temporal) => () => (self: unknown) => move(self as Temporal)
const moveTo = (by: 1 | -1, isSameAllowed: boolean) =>
  byWeekday((self, weekday) => moveDays(self, distance(self, weekday, by) || (isSameAllowed ? 0 : 7 * by)))

defineClass('java.time.temporal.TemporalAdjusters', {
  methods: {
    'static TemporalAdjuster firstDayOfMonth()': plain((self) => inMonth(self, 0, 1)),
    'static TemporalAdjuster lastDayOfMonth()': plain((self) => inMonth(self, 0, 31)),
    'static TemporalAdjuster firstDayOfNextMonth()': plain((self) => inMonth(self, 1, 1)),
    'static TemporalAdjuster firstDayOfYear()': plain((self) => toDay(self, daysFromCivil(civil(self).year, 1, 1))),
    'static TemporalAdjuster lastDayOfYear()': plain((self) => toDay(self, daysFromCivil(civil(self).year, 12, 31))),
    'static TemporalAdjuster firstDayOfNextYear()': plain((self) =>
      toDay(self, daysFromCivil(civil(self).year + 1, 1, 1)),
    ),
    'static TemporalAdjuster dayOfWeekInMonth(int,DayOfWeek)': (nth: number, weekday: Enumerated) => (self: unknown) =>
      nthInMonth(self as Temporal, nth, weekday),
    'static TemporalAdjuster firstInMonth(DayOfWeek)': byWeekday((self, weekday) => nthInMonth(self, 1, weekday)),
    'static TemporalAdjuster lastInMonth(DayOfWeek)': byWeekday((self, weekday) => nthInMonth(self, -1, weekday)),
    'static TemporalAdjuster next(DayOfWeek)': moveTo(1, false),
    'static TemporalAdjuster nextOrSame(DayOfWeek)': moveTo(1, true),
    'static TemporalAdjuster previous(DayOfWeek)': moveTo(-1, false),
    'static TemporalAdjuster previousOrSame(DayOfWeek)': moveTo(-1, true),
    'static TemporalAdjuster ofDateAdjuster(UnaryOperator)': (change: Fn) => (self: unknown) =>
      adjust(self as Temporal, change(localDate((self as Temporal).day!)) as Temporal),
  },
})

/** Converts a date or time to another class. A missing part is an error. */
function converted(value: Temporal, javaClass: TemporalClass): Temporal {
  if (typeof value !== 'object' || value === null || !('day' in value))
    throw classCast('the value is not a date or time')
  const { day, nano, offset, zone } = value
  const missing = () =>
    dateTimeError(
      `Unable to obtain ${javaClass.slice(10)} from TemporalAccessor: ${value.text()} of type ${value.javaClass}`,
    )
  const isInstant = value.javaClass === 'java.time.Instant'
  switch (javaClass) {
    case 'java.time.LocalDate':
      if (day === undefined || isInstant) throw missing()
      return localDate(day)
    case 'java.time.LocalTime':
      if (nano === undefined || isInstant) throw missing()
      return localTime(nano)
    case 'java.time.LocalDateTime':
      if (day === undefined || nano === undefined || isInstant) throw missing()
      return localDateTime(day, nano)
    case 'java.time.Instant':
      if (offset === undefined) throw missing()
      return isInstant ? value : toInstant(value)
    case 'java.time.OffsetDateTime':
      if (day === undefined || nano === undefined || offset === undefined || isInstant) throw missing()
      return offsetDateTime(day, nano, offset)
    case 'java.time.ZonedDateTime':
      if (day === undefined || nano === undefined || zone === undefined || isInstant) throw missing()
      return zonedLocal(day, nano, zone, offset)
  }
}

const classes: TemporalClass[] = [
  'java.time.Instant',
  'java.time.LocalDate',
  'java.time.LocalTime',
  'java.time.LocalDateTime',
  'java.time.OffsetDateTime',
  'java.time.ZonedDateTime',
]
for (const javaClass of classes) {
  const name = javaClass.slice('java.time.'.length)
  defineClass(javaClass, {
    methods: {
      [`${name} with(TemporalAdjuster)`]: adjust,
      [`static ${name} from(TemporalAccessor)`]: (value: Temporal) => allocated(converted(value, javaClass)),
    },
  })
}

defineClass('java.time.temporal.TemporalAccessor', {
  methods: {
    'int get(TemporalField)': (self: Temporal, field: Enumerated) => Number(readField(self, field)),
    'long getLong(TemporalField)': readField,
    'boolean isSupported(TemporalField)': supports,
  },
})
defineClass('java.time.temporal.Temporal', {
  methods: {
    'Temporal minus(long,TemporalUnit)': (self: Temporal, amount: bigint, unit: Enumerated) =>
      allocated(plusUnit(self, -amount, unit)),
    'Temporal plus(long,TemporalUnit)': (self: Temporal, amount: bigint, unit: Enumerated) =>
      allocated(plusUnit(self, amount, unit)),
    'Temporal minus(TemporalAmount)': (self: Temporal, amount: Duration | Period) =>
      allocated(plusAmount(self, amount, -1)),
    'Temporal plus(TemporalAmount)': (self: Temporal, amount: Duration | Period) =>
      allocated(plusAmount(self, amount, 1)),
    'Temporal with(TemporalAdjuster)': adjust,
    'Temporal with(TemporalField,long)': withField,
    'long until(Temporal,TemporalUnit)': (self: Temporal, other: Temporal, unit: Enumerated) =>
      between(unit, self, other),
  },
})
defineClass('java.time.temporal.TemporalUnit', {
  methods: { 'long between(Temporal,Temporal)': between },
})
defineClass('java.time.temporal.TemporalField', {
  methods: { 'long getFrom(TemporalAccessor)': (self: Enumerated, value: Temporal) => readField(value, self) },
})
defineClass('java.time.format.DateTimeFormatter', {
  methods: {
    'TemporalAccessor parse(CharSequence)': (self: Formatter, text: unknown) => allocated(parseAny(self, String(text))),
  },
})
defineClass('java.time.DayOfWeek', {
  methods: {
    'static DayOfWeek from(TemporalAccessor)': (value: Temporal) => weekdays[dayOfWeek(value.day!) - 1],
  },
})
defineClass('java.time.Month', {
  methods: {
    'static Month from(TemporalAccessor)': (value: Temporal) => months[civil(value).month - 1],
    'int length(boolean)': (self: Enumerated, isLeap: boolean) => monthLength(isLeap ? 2000 : 2001, self.value),
    'int minLength()': (self: Enumerated) => monthLength(2001, self.value),
    'int firstDayOfYear(boolean)': (self: Enumerated, isLeap: boolean) =>
      dayOfYear({ year: isLeap ? 2000 : 2001, month: self.value, day: 1 }),
    'Month firstMonthOfQuarter()': (self: Enumerated) => months[Math.floor((self.value - 1) / 3) * 3],
  },
})
const withOffsetAtOverlap = (which: 'before' | 'after') => (self: Temporal) => {
  const { day, nano, zone } = self
  const offsets = offsetsAtOverlap(zone!, day! * 86_400 + Math.floor(nano! / 1e9))
  return offsets ? zonedLocal(day!, nano!, zone!, offsets[which]) : self
}
defineClass('java.time.ZonedDateTime', {
  methods: {
    'ZonedDateTime withEarlierOffsetAtOverlap()': withOffsetAtOverlap('before'),
    'ZonedDateTime withLaterOffsetAtOverlap()': withOffsetAtOverlap('after'),
  },
})

const quarterStart = (self: Temporal): number => {
  const { year, month } = civil(self)
  return daysFromCivil(year, Math.floor((month - 1) / 3) * 3 + 1, 1)
}
Object.assign(fieldReaders, {
  QUARTER_OF_YEAR: (self: Temporal) => Math.floor((civil(self).month - 1) / 3) + 1,
  DAY_OF_QUARTER: (self: Temporal) => self.day! - quarterStart(self) + 1,
  WEEK_OF_WEEK_BASED_YEAR: (self: Temporal) => isoWeek(self.day!).week,
  WEEK_BASED_YEAR: (self: Temporal) => isoWeek(self.day!).year,
})
Object.assign(unitMonths, { QUARTER_YEARS: 3 })
Object.assign(fieldSetters, {
  QUARTER_OF_YEAR: (self: Temporal, value: number) =>
    toDay(self, plusMonths(self.day!, (value - Number(fieldReaders.QUARTER_OF_YEAR!(self))) * 3)),
  WEEK_OF_WEEK_BASED_YEAR: (self: Temporal, value: number) => moveDays(self, (value - isoWeek(self.day!).week) * 7),
})

const constant = (type: string, javaClass: string, name: string): [string, unknown] => [
  type,
  { javaClass, name, value: 0, text: () => name, compareTo: () => 0 } satisfies Enumerated,
]
const isoField = (name: string) => constant('TemporalField', 'java.time.temporal.ChronoField', name)
defineClass('java.time.temporal.IsoFields', {
  constants: {
    DAY_OF_QUARTER: isoField('DAY_OF_QUARTER'),
    QUARTER_OF_YEAR: isoField('QUARTER_OF_YEAR'),
    WEEK_BASED_YEAR: isoField('WEEK_BASED_YEAR'),
    WEEK_OF_WEEK_BASED_YEAR: isoField('WEEK_OF_WEEK_BASED_YEAR'),
    QUARTER_YEARS: constant('TemporalUnit', 'java.time.temporal.ChronoUnit', 'QUARTER_YEARS'),
  },
})
const weekMethods: Methods = {
  'TemporalField weekOfWeekBasedYear()': () => isoField('WEEK_OF_WEEK_BASED_YEAR')[1],
  'TemporalField weekBasedYear()': () => isoField('WEEK_BASED_YEAR')[1],
  'TemporalField dayOfWeek()': () => isoField('DAY_OF_WEEK')[1],
  'DayOfWeek getFirstDayOfWeek()': () => weekdays[0],
  'int getMinimalDaysInFirstWeek()': () => 4,
}
defineClass('java.time.temporal.WeekFields', {
  constants: {
    ISO: ['WeekFields', { javaClass: 'java.time.temporal.WeekFields', text: () => 'WeekFields[MONDAY,4]' }],
  },
  methods: weekMethods,
})

interface Year {
  javaClass: 'java.time.Year'
  year: number
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}
function yearOf(year: number): Year {
  return {
    javaClass: 'java.time.Year',
    year,
    text: () => String(year),
    equals: (other) => (other as Year).year === year,
    compareTo: (other) => year - (other as Year).year,
    key: () => String(year),
  }
}
defineClass('java.time.Year', {
  supers: ['java.lang.Comparable'],
  constants: { MAX_VALUE: ['int', 999_999_999], MIN_VALUE: ['int', -999_999_999] },
  methods: {
    'LocalDate atDay(int)': ({ year }: Year, day: number) => {
      if (day < 1 || day > (isLeapYear(year) ? 366 : 365)) throw dateTimeError(`Invalid value for DayOfYear: ${day}`)
      return localDate(daysFromCivil(year, 1, 1) + day - 1)
    },
    'int getValue()': ({ year }: Year) => year,
    'boolean isLeap()': ({ year }: Year) => isLeapYear(year),
    'int length()': ({ year }: Year) => (isLeapYear(year) ? 366 : 365),
    'boolean isAfter(Year)': (self: Year, other: Year) => self.year > other.year,
    'boolean isBefore(Year)': (self: Year, other: Year) => self.year < other.year,
    'Year plusYears(long)': ({ year }: Year, by: bigint) => yearOf(year + Number(by)),
    'Year minusYears(long)': ({ year }: Year, by: bigint) => yearOf(year - Number(by)),
    'static boolean isLeap(long)': (year: bigint) => isLeapYear(Number(year)),
    'static Year of(int)': yearOf,
    'static Year from(TemporalAccessor)': (value: Temporal) => yearOf(civil(value).year),
    'static Year parse(CharSequence)': (text: unknown) => {
      if (!/^[+-]?\d{4,9}$/.test(String(text)))
        throw dateTimeError(`Text '${String(text)}' could not be parsed at index 0`)
      return yearOf(Number(text))
    },
  },
})
