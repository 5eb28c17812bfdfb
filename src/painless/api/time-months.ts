import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'
import { checkedDays, civilFromDays, dateTimeError, isLeapYear, monthLength } from '../time/civil.ts'
import { type Formatter, formatTemporal, formatterOf, withDefaults } from '../time/formatter.ts'
import { localDate, type Temporal } from '../time/temporal.ts'
import { findZone, offsetAt, type Zone } from '../time/zones.ts'
import type { JavaObject } from '../values.ts'
import { type Duration, durationOf, type Period, periodOf, unitNanos } from './time-amounts.ts'
import { allocated, zoneObject } from './time-common.ts'
import { type Enumerated, months } from './time-units.ts'

/* Implements YearMonth, further methods of Period, Duration and TimeZone, and the builder of formatters. */

interface YearMonth extends JavaObject {
  year: number
  month: number
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}

function yearMonthOf(year: number, month: number): YearMonth {
  if (month < 1 || month > 12) throw dateTimeError(`Invalid value for MonthOfYear (valid values 1 - 12): ${month}`)
  const text = () => `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`
  return {
    javaClass: 'java.time.YearMonth',
    year,
    month,
    text,
    equals: (other) => (other as YearMonth).year === year && (other as YearMonth).month === month,
    compareTo: (other) => year - (other as YearMonth).year || month - (other as YearMonth).month,
    key: text,
  }
}
const plusMonths = ({ year, month }: YearMonth, by: number): YearMonth => {
  const all = year * 12 + month - 1 + by
  return yearMonthOf(Math.floor(all / 12), (((all % 12) + 12) % 12) + 1)
}

defineClass('java.time.YearMonth', {
  supers: ['java.lang.Comparable'],
  methods: {
    'LocalDate atDay(int)': ({ year, month }: YearMonth, day: number) => localDate(checkedDays(year, month, day)),
    'LocalDate atEndOfMonth()': ({ year, month }: YearMonth) =>
      localDate(checkedDays(year, month, monthLength(year, month))),
    'String format(DateTimeFormatter)': ({ year, month }: YearMonth, formatter: Formatter) =>
      formatTemporal(formatter, localDate(checkedDays(year, month, 1))),
    'int getYear()': ({ year }: YearMonth) => year,
    'int getMonthValue()': ({ month }: YearMonth) => month,
    'Month getMonth()': ({ month }: YearMonth) => months[month - 1],
    'boolean isLeapYear()': ({ year }: YearMonth) => isLeapYear(year),
    'int lengthOfMonth()': ({ year, month }: YearMonth) => monthLength(year, month),
    'int lengthOfYear()': ({ year }: YearMonth) => (isLeapYear(year) ? 366 : 365),
    'boolean isAfter(YearMonth)': (self: YearMonth, other: YearMonth) => self.compareTo(other) > 0,
    'boolean isBefore(YearMonth)': (self: YearMonth, other: YearMonth) => self.compareTo(other) < 0,
    'YearMonth plusMonths(long)': (self: YearMonth, by: bigint) => plusMonths(self, Number(by)),
    'YearMonth minusMonths(long)': (self: YearMonth, by: bigint) => plusMonths(self, -Number(by)),
    'YearMonth plusYears(long)': (self: YearMonth, by: bigint) => plusMonths(self, Number(by) * 12),
    'YearMonth minusYears(long)': (self: YearMonth, by: bigint) => plusMonths(self, -Number(by) * 12),
    'static YearMonth of(int,int)': yearMonthOf,
    'static YearMonth from(TemporalAccessor)': (value: Temporal) => {
      const { year, month } = civilFromDays(value.day!)
      return yearMonthOf(year, month)
    },
    'static YearMonth parse(CharSequence)': (text: unknown) => {
      const match = /^(\d{4})-(\d{2})$/.exec(String(text))
      if (!match)
        throw new JavaThrow(
          'java.time.format.DateTimeParseException',
          `Text '${String(text).slice(0, 100)}' could not be parsed at index 0`,
        )
      return yearMonthOf(Number(match[1]), Number(match[2]))
    },
  },
})

function parsePeriod(text: string): Period {
  const match = /^([+-])?P(?:([+-]?\d{1,9})Y)?(?:([+-]?\d{1,9})M)?(?:([+-]?\d{1,9})W)?(?:([+-]?\d{1,9})D)?$/i.exec(text)
  if (!match || !/\d/.test(text))
    throw new JavaThrow('java.time.format.DateTimeParseException', 'Text cannot be parsed to a Period')
  const sign = match[1] === '-' ? -1 : 1
  const amountOf = (index: number) => sign * Number(match[index] ?? 0)
  return periodOf(amountOf(2) || 0, amountOf(3) || 0, amountOf(4) * 7 + amountOf(5) || 0)
}
const combined = (self: Period, other: Period, sign: 1 | -1): Period =>
  periodOf(self.years + sign * other.years, self.months + sign * other.months, self.days + sign * other.days)

defineClass('java.time.Period', {
  methods: {
    'Period plus(TemporalAmount)': (self: Period, other: Period) => combined(self, other, 1),
    'Period minus(TemporalAmount)': (self: Period, other: Period) => combined(self, other, -1),
    'Period minusDays(long)': (self: Period, by: bigint) => periodOf(self.years, self.months, self.days - Number(by)),
    'Period minusMonths(long)': (self: Period, by: bigint) => periodOf(self.years, self.months - Number(by), self.days),
    'Period minusYears(long)': (self: Period, by: bigint) => periodOf(self.years - Number(by), self.months, self.days),
    'Period multipliedBy(int)': (self: Period, by: number) =>
      periodOf(self.years * by, self.months * by, self.days * by),
    'Period normalized()': (self: Period) => {
      const all = self.years * 12 + self.months
      return periodOf(Math.trunc(all / 12), all % 12, self.days)
    },
    'Period withDays(int)': (self: Period, days: number) => periodOf(self.years, self.months, days),
    'Period withMonths(int)': (self: Period, count: number) => periodOf(self.years, count, self.days),
    'Period withYears(int)': (self: Period, years: number) => periodOf(years, self.months, self.days),
    'static Period from(TemporalAmount)': (amount: Period) => amount,
    'static Period parse(CharSequence)': (text: unknown) => parsePeriod(String(text)),
  },
})
const second = 1_000_000_000n
const rest = (nanos: bigint): bigint => ((nanos % second) + second) % second
defineClass('java.time.Duration', {
  methods: {
    'Duration minus(long,TemporalUnit)': (self: Duration, amount: bigint, unit: Enumerated) =>
      durationOf(self.nanos - amount * unitNanos(unit)),
    'Duration withSeconds(long)': (self: Duration, seconds: bigint) => durationOf(seconds * second + rest(self.nanos)),
    'Duration withNanos(int)': (self: Duration, nanos: number) =>
      durationOf(self.nanos - rest(self.nanos) + BigInt(nanos)),
    'int toMillisPart()': (self: Duration) => Number(rest(self.nanos) / 1_000_000n),
    'int toNanosPart()': (self: Duration) => Number(rest(self.nanos)),
    'long toDaysPart()': (self: Duration) => self.nanos / (86_400n * second),
    'static Duration from(TemporalAmount)': (amount: Duration) => amount,
  },
})

interface OldZone extends JavaObject {
  zone: Zone
}
/** A time in January and one in July. One of them has the offset without daylight saving time. */
const seasons = [Date.UTC(2024, 0, 1) / 1000, Date.UTC(2024, 6, 1) / 1000] as const
const rawOffset = ({ zone }: OldZone): number => Math.min(offsetAt(zone, seasons[0]), offsetAt(zone, seasons[1])) * 1000
defineClass('java.util.TimeZone', {
  methods: {
    'int getOffset(long)': ({ zone }: OldZone, millis: bigint) =>
      offsetAt(zone, Math.floor(Number(millis) / 1000)) * 1000,
    'int getRawOffset()': rawOffset,
    'boolean useDaylightTime()': ({ zone }: OldZone) => offsetAt(zone, seasons[0]) !== offsetAt(zone, seasons[1]),
    'ZoneId toZoneId()': ({ zone }: OldZone) => zoneObject(zone),
    'static TimeZone getDefault()': (): OldZone => ({ javaClass: 'java.util.TimeZone', zone: findZone('UTC') }),
  },
})

/** A DateTimeFormatterBuilder. `pattern` consists of the parts that were appended so far. */
interface FormatterBuilder extends JavaObject {
  pattern: string
  defaults: Map<string, number>
}
const patternMax = 1000
function append(self: FormatterBuilder, text: string): FormatterBuilder {
  self.pattern += text
  if (self.pattern.length > patternMax) throw dateTimeError(`A pattern has at most ${patternMax} characters.`)
  return self
}
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
/** The names that patterns use for Java's fields. */
const fieldNames: Record<string, string> = {
  YEAR: 'year',
  YEAR_OF_ERA: 'year',
  MONTH_OF_YEAR: 'month',
  DAY_OF_MONTH: 'day',
  DAY_OF_YEAR: 'dayOfYear',
  HOUR_OF_DAY: 'hour',
  MINUTE_OF_HOUR: 'minute',
  SECOND_OF_MINUTE: 'second',
  NANO_OF_SECOND: 'nano',
  OFFSET_SECONDS: 'offset',
}

defineClass('java.time.format.DateTimeFormatterBuilder', {
  constructors: {
    '()': (): FormatterBuilder => ({
      javaClass: 'java.time.format.DateTimeFormatterBuilder',
      pattern: '',
      defaults: new Map(),
    }),
  },
  methods: {
    'DateTimeFormatterBuilder append(DateTimeFormatter)': (self: FormatterBuilder, { patterns }: Formatter) =>
      append(self, patterns[0]!.source),
    'DateTimeFormatterBuilder appendLiteral(String)': (self: FormatterBuilder, text: string) =>
      append(self, quoted(text)),
    'DateTimeFormatterBuilder appendOptional(DateTimeFormatter)': (self: FormatterBuilder, { patterns }: Formatter) =>
      append(self, `[${patterns[0]!.source}]`),
    'DateTimeFormatterBuilder appendPattern(String)': append,
    'DateTimeFormatterBuilder optionalStart()': (self: FormatterBuilder) => append(self, '['),
    'DateTimeFormatterBuilder optionalEnd()': (self: FormatterBuilder) => append(self, ']'),
    'DateTimeFormatterBuilder parseCaseInsensitive()': (self: FormatterBuilder) => self,
    'DateTimeFormatterBuilder parseCaseSensitive()': (self: FormatterBuilder) => self,
    'DateTimeFormatterBuilder parseLenient()': (self: FormatterBuilder) => self,
    'DateTimeFormatterBuilder parseStrict()': (self: FormatterBuilder) => self,
    'DateTimeFormatterBuilder parseDefaulting(TemporalField,long)': (
      self: FormatterBuilder,
      field: Enumerated,
      value: bigint,
    ) => {
      const name = fieldNames[field.name]
      if (name === undefined) throw dateTimeError(`The field ${field.name} has no default.`)
      self.defaults.set(name, Number(value))
      return self
    },
    'DateTimeFormatter toFormatter()': build,
    'DateTimeFormatter toFormatter(Locale)': build,
  },
})

function build({ pattern, defaults }: FormatterBuilder): Formatter {
  const open = pattern.replace(/'[^']*'/g, '').split('[').length - pattern.replace(/'[^']*'/g, '').split(']').length
  return allocated(withDefaults(formatterOf(pattern + ']'.repeat(Math.max(0, open))), new Map(defaults)))
}
