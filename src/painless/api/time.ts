import { epochMilliseconds } from '../clock.ts'
import { defineClass } from '../define.ts'
import {
  checkedDays,
  checkedNanos,
  civilFromDays,
  daysFromCivil,
  isLeapYear,
  monthLength,
  nanosPerDay,
  nanosPerSecond,
  plusMonths,
} from '../time/civil.ts'
import { type Formatter, formatTemporal, formatterOf, namedFormatters, withZone } from '../time/formatter.ts'
import {
  epochOf,
  instant,
  localDate,
  localDateTime,
  localTime,
  offsetDateTime,
  offsetInstant,
  type Temporal,
  zonedInstant,
  zonedLocal,
} from '../time/temporal.ts'
import { fixedZone, offsetAt } from '../time/zones.ts'
import { definePeriod } from './time-amounts.ts'
import {
  allocated,
  checkedDay,
  common,
  dateMethods,
  fromMillis,
  millis,
  moving,
  number,
  offsetMethods,
  timeMethods,
  toInstant,
  type ZoneObject,
  zoneObject,
} from './time-common.ts'

const temporal = ['java.lang.Comparable', 'java.time.temporal.Temporal', 'java.time.temporal.TemporalAdjuster']
defineClass('java.time.temporal.TemporalAccessor', {})
defineClass('java.time.temporal.Temporal', { supers: ['java.time.temporal.TemporalAccessor'] })

defineClass('java.time.Instant', {
  supers: temporal,
  constants: { EPOCH: ['Instant', instant(0, 0)] },
  methods: {
    ...common('java.time.Instant'),
    ...moving('Instant', { Millis: 'MILLIS', Nanos: 'NANOS', Seconds: 'SECONDS' }),
    'ZonedDateTime atZone(ZoneId)': (self: Temporal, { zone }: ZoneObject) => zonedInstant(self, zone),
    'OffsetDateTime atOffset(ZoneOffset)': (self: Temporal, { zone }: ZoneObject) => offsetInstant(self, zone.fixed!),
    'long getEpochSecond()': (self: Temporal) => BigInt(epochOf(self).seconds),
    'int getNano()': (self: Temporal) => epochOf(self).nano,
    'long toEpochMilli()': millis,
    'static Instant now()': () => fromMillis(BigInt(epochMilliseconds())),
    'static Instant ofEpochMilli(long)': fromMillis,
    'static Instant ofEpochSecond(long)': (seconds: bigint) => instant(number(seconds), 0),
    'static Instant ofEpochSecond(long,long)': (seconds: bigint, nano: bigint) =>
      instant(number(seconds), number(nano)),
  },
})

defineClass('java.time.LocalDate', {
  supers: temporal,
  methods: {
    ...common('java.time.LocalDate'),
    ...dateMethods('LocalDate'),
    'LocalDateTime atStartOfDay()': (self: Temporal) => localDateTime(self.day!, 0),
    'ZonedDateTime atStartOfDay(ZoneId)': (self: Temporal, { zone }: ZoneObject) => zonedLocal(self.day!, 0, zone),
    'LocalDateTime atTime(int,int)': (self: Temporal, hour: number, minute: number) =>
      localDateTime(self.day!, checkedNanos(hour, minute, 0, 0)),
    'LocalDateTime atTime(LocalTime)': (self: Temporal, time: Temporal) => localDateTime(self.day!, time.nano!),
    'boolean isLeapYear()': (self: Temporal) => isLeapYear(civilFromDays(self.day!).year),
    'int lengthOfMonth()': (self: Temporal) =>
      monthLength(civilFromDays(self.day!).year, civilFromDays(self.day!).month),
    'int lengthOfYear()': (self: Temporal) => (isLeapYear(civilFromDays(self.day!).year) ? 366 : 365),
    'long toEpochDay()': (self: Temporal) => BigInt(self.day!),
    'static LocalDate of(int,int,int)': (year: number, month: number, day: number) =>
      localDate(checkedDays(year, month, day)),
    'static LocalDate ofEpochDay(long)': (day: bigint) => localDate(checkedDay(number(day))),
    'static LocalDate ofYearDay(int,int)': (year: number, day: number) =>
      localDate(daysFromCivil(year, 1, 1) + day - 1),
    'static LocalDate ofInstant(Instant,ZoneId)': (at: Temporal, { zone }: ZoneObject) =>
      localDate(zonedInstant(at, zone).day!),
  },
})

defineClass('java.time.LocalTime', {
  supers: temporal,
  constants: {
    MIDNIGHT: ['LocalTime', localTime(0)],
    NOON: ['LocalTime', localTime(nanosPerDay / 2)],
    MIN: ['LocalTime', localTime(0)],
    MAX: ['LocalTime', localTime(nanosPerDay - 1)],
  },
  methods: {
    ...common('java.time.LocalTime'),
    ...timeMethods('LocalTime'),
    'LocalDateTime atDate(LocalDate)': (self: Temporal, date: Temporal) => localDateTime(date.day!, self.nano!),
    'int toSecondOfDay()': (self: Temporal) => Math.floor(self.nano! / nanosPerSecond),
    'long toNanoOfDay()': (self: Temporal) => BigInt(self.nano!),
    'static LocalTime of(int,int)': (hour: number, minute: number) => localTime(checkedNanos(hour, minute, 0, 0)),
    'static LocalTime of(int,int,int)': (hour: number, minute: number, second: number) =>
      localTime(checkedNanos(hour, minute, second, 0)),
    'static LocalTime of(int,int,int,int)': (hour: number, minute: number, second: number, nano: number) =>
      localTime(checkedNanos(hour, minute, second, nano)),
    'static LocalTime ofSecondOfDay(long)': (second: bigint) => localTime(number(second) * nanosPerSecond),
  },
})

defineClass('java.time.LocalDateTime', {
  supers: temporal,
  methods: {
    ...common('java.time.LocalDateTime'),
    ...dateMethods('LocalDateTime'),
    ...timeMethods('LocalDateTime'),
    'OffsetDateTime atOffset(ZoneOffset)': (self: Temporal, { zone }: ZoneObject) =>
      offsetDateTime(self.day!, self.nano!, zone.fixed!),
    'ZonedDateTime atZone(ZoneId)': (self: Temporal, { zone }: ZoneObject) => zonedLocal(self.day!, self.nano!, zone),
    'long toEpochSecond(ZoneOffset)': (self: Temporal, { zone }: ZoneObject) =>
      BigInt(epochOf({ ...self, offset: zone.fixed }).seconds),
    'Instant toInstant(ZoneOffset)': (self: Temporal, { zone }: ZoneObject) =>
      toInstant({ ...self, offset: zone.fixed }),
    'LocalDate toLocalDate()': offsetMethods['LocalDate toLocalDate()']!,
    'LocalTime toLocalTime()': offsetMethods['LocalTime toLocalTime()']!,
    'static LocalDateTime of(LocalDate,LocalTime)': (date: Temporal, time: Temporal) =>
      localDateTime(date.day!, time.nano!),
    'static LocalDateTime of(int,int,int,int,int)': (
      year: number,
      month: number,
      day: number,
      hour: number,
      minute: number,
    ) => localDateTime(checkedDays(year, month, day), checkedNanos(hour, minute, 0, 0)),
    'static LocalDateTime of(int,int,int,int,int,int)': (
      year: number,
      month: number,
      day: number,
      hour: number,
      minute: number,
      second: number,
    ) => localDateTime(checkedDays(year, month, day), checkedNanos(hour, minute, second, 0)),
    'static LocalDateTime of(int,int,int,int,int,int,int)': (
      year: number,
      month: number,
      day: number,
      hour: number,
      minute: number,
      second: number,
      nano: number,
    ) => localDateTime(checkedDays(year, month, day), checkedNanos(hour, minute, second, nano)),
    'static LocalDateTime ofEpochSecond(long,int,ZoneOffset)': (
      seconds: bigint,
      nano: number,
      { zone }: ZoneObject,
    ) => {
      const { day, nano: localNano } = instant(number(seconds) + zone.fixed!, nano)
      return localDateTime(day!, localNano!)
    },
    'static LocalDateTime ofInstant(Instant,ZoneId)': (at: Temporal, { zone }: ZoneObject) => {
      const { day, nano } = zonedInstant(at, zone)
      return localDateTime(day!, nano!)
    },
  },
})

defineClass('java.time.OffsetDateTime', {
  supers: temporal,
  methods: {
    ...common('java.time.OffsetDateTime'),
    ...dateMethods('OffsetDateTime'),
    ...timeMethods('OffsetDateTime'),
    ...offsetMethods,
    'ZonedDateTime atZoneSameInstant(ZoneId)': (self: Temporal, { zone }: ZoneObject) => zonedInstant(self, zone),
    'ZonedDateTime toZonedDateTime()': (self: Temporal) => zonedLocal(self.day!, self.nano!, self.zone!),
    'OffsetDateTime withOffsetSameInstant(ZoneOffset)': (self: Temporal, { zone }: ZoneObject) =>
      offsetInstant(self, zone.fixed!),
    'OffsetDateTime withOffsetSameLocal(ZoneOffset)': (self: Temporal, { zone }: ZoneObject) =>
      offsetDateTime(self.day!, self.nano!, zone.fixed!),
    'static OffsetDateTime of(LocalDateTime,ZoneOffset)': (local: Temporal, { zone }: ZoneObject) =>
      offsetDateTime(local.day!, local.nano!, zone.fixed!),
    'static OffsetDateTime ofInstant(Instant,ZoneId)': (at: Temporal, { zone }: ZoneObject) =>
      offsetInstant(at, offsetAt(zone, epochOf(at).seconds)),
  },
})

defineClass('java.time.ZonedDateTime', {
  supers: [...temporal, 'java.time.chrono.ChronoZonedDateTime'],
  methods: {
    ...common('java.time.ZonedDateTime'),
    ...dateMethods('ZonedDateTime'),
    ...timeMethods('ZonedDateTime'),
    ...offsetMethods,
    'long getMillis()': millis,
    'ZoneId getZone()': (self: Temporal) => zoneObject(self.zone!),
    'OffsetDateTime toOffsetDateTime()': (self: Temporal) => offsetDateTime(self.day!, self.nano!, self.offset!),
    'ZonedDateTime withFixedOffsetZone()': (self: Temporal) => zonedInstant(self, fixedZone(self.offset!)),
    'ZonedDateTime withZoneSameInstant(ZoneId)': (self: Temporal, { zone }: ZoneObject) =>
      allocated(zonedInstant(self, zone)),
    'ZonedDateTime withZoneSameLocal(ZoneId)': (self: Temporal, { zone }: ZoneObject) =>
      zonedLocal(self.day!, self.nano!, zone),
    'static ZonedDateTime of(LocalDate,LocalTime,ZoneId)': (date: Temporal, time: Temporal, { zone }: ZoneObject) =>
      zonedLocal(date.day!, time.nano!, zone),
    'static ZonedDateTime of(LocalDateTime,ZoneId)': (local: Temporal, { zone }: ZoneObject) =>
      zonedLocal(local.day!, local.nano!, zone),
    'static ZonedDateTime of(int,int,int,int,int,int,int,ZoneId)': (
      year: number,
      month: number,
      day: number,
      hour: number,
      minute: number,
      second: number,
      nano: number,
      { zone }: ZoneObject,
    ) => zonedLocal(checkedDays(year, month, day), checkedNanos(hour, minute, second, nano), zone),
    'static ZonedDateTime ofInstant(Instant,ZoneId)': (at: Temporal, { zone }: ZoneObject) =>
      allocated(zonedInstant(at, zone)),
  },
})
defineClass('java.time.chrono.ChronoZonedDateTime', {})
definePeriod(plusMonths)

defineClass('java.time.format.DateTimeFormatter', {
  constants: Object.fromEntries(
    Object.entries(namedFormatters).map(([name, formatter]) => [name, ['DateTimeFormatter', formatter]]),
  ),
  methods: {
    'String format(TemporalAccessor)': formatTemporal,
    'DateTimeFormatter withZone(ZoneId)': (self: Formatter, { zone }: ZoneObject) => withZone(self, zone),
    'DateTimeFormatter withLocale(Locale)': (self: Formatter) => self,
    'static DateTimeFormatter ofPattern(String)': (pattern: string) => allocated(formatterOf(pattern)),
    'static DateTimeFormatter ofPattern(String,Locale)': (pattern: string) => allocated(formatterOf(pattern)),
  },
})
