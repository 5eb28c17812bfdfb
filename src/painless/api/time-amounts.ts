import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'
import { nanosPerSecond } from '../time/civil.ts'
import { epochOf, type Temporal } from '../time/temporal.ts'
import type { JavaObject } from '../values.ts'
import { between, type Enumerated, unitMonths, unitSeconds, units, unsupported } from './time-units.ts'

/** A Duration. `nanos` is its whole length in nanoseconds. */
export interface Duration extends JavaObject {
  nanos: bigint
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}

const second = BigInt(nanosPerSecond)
/** The longest duration in Java, in nanoseconds. */
const nanosMax = 9223372036854775807n * second + 999_999_999n

export function durationOf(nanos: bigint): Duration {
  if (nanos > nanosMax || nanos < -nanosMax) throw new JavaThrow('java.lang.ArithmeticException', 'long overflow')
  return {
    javaClass: 'java.time.Duration',
    nanos,
    text: () => durationText(nanos),
    equals: (other) => (other as Duration).nanos === nanos,
    compareTo: (other) => (nanos < (other as Duration).nanos ? -1 : nanos > (other as Duration).nanos ? 1 : 0),
    key: () => String(nanos),
  }
}

function durationText(nanos: bigint): string {
  if (nanos === 0n) return 'PT0S'
  const sign = nanos < 0n ? '-' : ''
  const size = nanos < 0n ? -nanos : nanos
  const hours = size / (3600n * second)
  const minutes = (size / (60n * second)) % 60n
  const seconds = (size / second) % 60n
  const rest = String(size % second)
    .padStart(9, '0')
    .replace(/0+$/, '')
  const parts = [hours > 0n ? `${sign}${hours}H` : '', minutes > 0n ? `${sign}${minutes}M` : '']
  if (seconds > 0n || rest !== '') parts.push(`${sign}${seconds}${rest === '' ? '' : `.${rest}`}S`)
  return `PT${parts.join('')}`
}

/** Returns whole seconds, rounded down. */
const secondsIn = (self: Duration): bigint => (self.nanos - (((self.nanos % second) + second) % second)) / second

function parseDuration(text: string): Duration {
  const match =
    /^([+-])?P(?:([+-]?\d{1,18})D)?(?:T(?:([+-]?\d{1,18})H)?(?:([+-]?\d{1,18})M)?(?:([+-]?\d{1,18})(?:\.(\d{1,9}))?S)?)?$/i.exec(
      text,
    )
  if (!match || !/\d/.test(text))
    throw new JavaThrow('java.time.format.DateTimeParseException', 'Text cannot be parsed to a Duration')
  const amountOf = (index: number, size: bigint) => BigInt(match[index] ?? 0) * size * second
  const rest = BigInt((match[6] ?? '').padEnd(9, '0')) * (match[5]?.startsWith('-') ? -1n : 1n)
  const nanos = amountOf(2, 86400n) + amountOf(3, 3600n) + amountOf(4, 60n) + amountOf(5, 1n) + rest
  return durationOf(match[1] === '-' ? -nanos : nanos)
}

const nanosBetween = (from: Temporal, to: Temporal): bigint => {
  const one = epochOf(from)
  const two = epochOf(to)
  return BigInt(two.seconds - one.seconds) * second + BigInt(two.nano - one.nano)
}

export function unitNanos(unit: Enumerated): bigint {
  const size = unitSeconds[unit.name]
  if (size === undefined) throw unsupported(unit.name)
  return BigInt(Math.round(size * 1e9))
}

const durationUnits = {
  Nanos: 1n,
  Millis: 1_000_000n,
  Seconds: second,
  Minutes: 60n * second,
  Hours: 3600n * second,
  Days: 86400n * second,
}
const durationMethods: Record<string, (...args: never[]) => unknown> = {}
for (const [name, size] of Object.entries(durationUnits)) {
  durationMethods[`Duration plus${name}(long)`] = (self: Duration, amount: bigint) =>
    durationOf(self.nanos + amount * size)
  durationMethods[`Duration minus${name}(long)`] = (self: Duration, amount: bigint) =>
    durationOf(self.nanos - amount * size)
  durationMethods[`long to${name}()`] = (self: Duration) => self.nanos / size
  durationMethods[`static Duration of${name}(long)`] = (amount: bigint) => durationOf(amount * size)
}

defineClass('java.time.temporal.TemporalAmount', {})
defineClass('java.time.Duration', {
  supers: ['java.lang.Comparable', 'java.time.temporal.TemporalAmount'],
  constants: { ZERO: ['Duration', durationOf(0n)] },
  methods: {
    ...durationMethods,
    'Duration abs()': (self: Duration) => durationOf(self.nanos < 0n ? -self.nanos : self.nanos),
    'Duration dividedBy(long)': (self: Duration, by: bigint) => {
      if (by === 0n) throw new JavaThrow('java.lang.ArithmeticException', 'Cannot divide by zero')
      return durationOf(self.nanos / by)
    },
    'int getNano()': (self: Duration) => Number(((self.nanos % second) + second) % second),
    'long getSeconds()': secondsIn,
    'boolean isNegative()': (self: Duration) => self.nanos < 0n,
    'boolean isZero()': (self: Duration) => self.nanos === 0n,
    'Duration minus(Duration)': (self: Duration, other: Duration) => durationOf(self.nanos - other.nanos),
    'Duration multipliedBy(long)': (self: Duration, by: bigint) => durationOf(self.nanos * by),
    'Duration negated()': (self: Duration) => durationOf(-self.nanos),
    'Duration plus(Duration)': (self: Duration, other: Duration) => durationOf(self.nanos + other.nanos),
    'Duration plus(long,TemporalUnit)': (self: Duration, amount: bigint, unit: Enumerated) =>
      durationOf(self.nanos + amount * unitNanos(unit)),
    'int toHoursPart()': (self: Duration) => Number((self.nanos / (3600n * second)) % 24n),
    'int toMinutesPart()': (self: Duration) => Number((self.nanos / (60n * second)) % 60n),
    'int toSecondsPart()': (self: Duration) => Number((self.nanos / second) % 60n),
    'static Duration between(Temporal,Temporal)': (from: Temporal, to: Temporal) => durationOf(nanosBetween(from, to)),
    'static Duration of(long,TemporalUnit)': (amount: bigint, unit: Enumerated) => durationOf(amount * unitNanos(unit)),
    'static Duration ofSeconds(long,long)': (amount: bigint, nanos: bigint) => durationOf(amount * second + nanos),
    'static Duration parse(CharSequence)': (text: unknown) => parseDuration(String(text)),
  },
})

/** A Period. Its months and days have no fixed length. */
export interface Period extends JavaObject {
  years: number
  months: number
  days: number
  text: () => string
  equals: (other: unknown) => boolean
  key: () => string
}

export function periodOf(years: number, months: number, days: number): Period {
  const text = () => {
    const parts = `${years ? `${years}Y` : ''}${months ? `${months}M` : ''}${days ? `${days}D` : ''}`
    return `P${parts || '0D'}`
  }
  return {
    javaClass: 'java.time.Period',
    years,
    months,
    days,
    text,
    equals: (other) => (other as Period).text() === text(),
    key: text,
  }
}

const unit = (name: string): Enumerated => units.find((one) => one.name === name)!

function periodBetween(from: Temporal, to: Temporal, plusMonths: (days: number, months: number) => number): Period {
  const months = Number(between(unit('MONTHS'), from, to))
  const days = (to.day ?? 0) - plusMonths(from.day ?? 0, months)
  return periodOf(Math.trunc(months / 12), months % 12, days)
}

/** Defines Period. `plusMonths` is the calendar's function that adds months. */
export function definePeriod(plusMonths: (days: number, months: number) => number): void {
  defineClass('java.time.Period', {
    supers: ['java.time.temporal.TemporalAmount'],
    constants: { ZERO: ['Period', periodOf(0, 0, 0)] },
    methods: {
      'int getDays()': (self: Period) => self.days,
      'int getMonths()': (self: Period) => self.months,
      'int getYears()': (self: Period) => self.years,
      'boolean isNegative()': (self: Period) => self.days < 0 || self.months < 0 || self.years < 0,
      'boolean isZero()': (self: Period) => !self.days && !self.months && !self.years,
      'Period plusDays(long)': (self: Period, amount: bigint) =>
        periodOf(self.years, self.months, self.days + Number(amount)),
      'Period plusMonths(long)': (self: Period, amount: bigint) =>
        periodOf(self.years, self.months + Number(amount), self.days),
      'Period plusYears(long)': (self: Period, amount: bigint) =>
        periodOf(self.years + Number(amount), self.months, self.days),
      'Period negated()': (self: Period) => periodOf(-self.years, -self.months, -self.days),
      'long toTotalMonths()': (self: Period) => BigInt(self.years * 12 + self.months),
      'static Period between(LocalDate,LocalDate)': (from: Temporal, to: Temporal) =>
        periodBetween(from, to, plusMonths),
      'static Period of(int,int,int)': periodOf,
      'static Period ofDays(int)': (days: number) => periodOf(0, 0, days),
      'static Period ofWeeks(int)': (weeks: number) => periodOf(0, 0, weeks * 7),
      'static Period ofMonths(int)': (months: number) => periodOf(0, months, 0),
      'static Period ofYears(int)': (years: number) => periodOf(years, 0, 0),
    },
  })
}

export const monthsOf = (name: string): number | undefined => unitMonths[name]
