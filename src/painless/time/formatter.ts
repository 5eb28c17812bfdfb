import { JavaThrow } from '../errors.ts'
import type { JavaObject } from '../values.ts'
import { checkedDays, checkedNanos, daysFromCivil, nanosPerSecond } from './civil.ts'
import { compileDatePattern, type Parsed, type Pattern, printPattern, readPattern } from './pattern.ts'
import {
  instant,
  localDate,
  localDateTime,
  localTime,
  offsetDateTime,
  type Temporal,
  type TemporalClass,
  utcZone,
  zonedInstant,
  zonedLocal,
} from './temporal.ts'
import { findZone, fixedZone, type Zone } from './zones.ts'

/** A DateTimeFormatter. Parsing tries its patterns one after the other; printing uses the first pattern. */
export interface Formatter extends JavaObject {
  patterns: Pattern[]
  print: ((value: Temporal) => string) | undefined
  zone: Zone | undefined
  /** Values for fields that a text does not contain, by the names of the fields in patterns. */
  defaults: ReadonlyMap<string, number> | undefined
  name: string
  text: () => string
}

function make(
  name: string,
  patterns: Pattern[],
  print?: (value: Temporal) => string,
  zone?: Zone,
  defaults?: ReadonlyMap<string, number>,
): Formatter {
  return { javaClass: 'java.time.format.DateTimeFormatter', patterns, print, zone, defaults, name, text: () => name }
}

const cache = new Map<string, Formatter>()
const cacheMax = 500

export function formatterOf(pattern: string): Formatter {
  const known = cache.get(pattern)
  if (known) return known
  const formatter = make(pattern, [compileDatePattern(pattern)])
  if (cache.size >= cacheMax) cache.clear()
  cache.set(pattern, formatter)
  return formatter
}

export const withZone = (formatter: Formatter, zone: Zone): Formatter =>
  make(formatter.name, formatter.patterns, formatter.print, zone, formatter.defaults)

/** Returns a formatter with values for fields that a text does not contain. */
export const withDefaults = (formatter: Formatter, defaults: ReadonlyMap<string, number>): Formatter =>
  make(formatter.name, formatter.patterns, formatter.print, formatter.zone, defaults)

/** Patterns of fractions of a second with up to nine digits, as in the ISO formats. */
const fractions = ['', ...Array.from({ length: 9 }, (_, index) => `.${'S'.repeat(9 - index)}`)]
const times = ['HH:mm', ...fractions.map((fraction) => `HH:mm:ss${fraction}`)]

function iso(name: string, date: string, withTime: boolean, zones: string[]): Formatter {
  const forms = withTime ? times.map((time) => (date === '' ? time : `${date}'T'${time}`)) : [date]
  const patterns = forms.flatMap((form) => zones.map((zone) => compileDatePattern(form + zone)))
  return make(name, patterns, undefined)
}

const day = 'yyyy-MM-dd'
const printText = (cut: (text: string) => string) => (value: Temporal) => cut(value.text())
const full = (text: string) => text.replace(/T(\d\d:\d\d)(?!:)/, 'T$1:00')
const withoutRegion = (text: string) => full(text).replace(/\[.*$/, '')

const rfc: Formatter = make(
  'RFC_1123_DATE_TIME',
  [compileDatePattern('EEE, d MMM yyyy HH:mm:ss Z'), compileDatePattern("EEE, d MMM yyyy HH:mm:ss 'GMT'")],
  (value) =>
    printPattern(compileDatePattern('EEE, d MMM yyyy HH:mm:ss'), value) +
    (value.offset === 0 ? ' GMT' : printPattern(compileDatePattern(' Z'), value)),
)

/** The formatters that have a name. */
export const namedFormatters: Record<string, Formatter> = {
  ISO_LOCAL_DATE: iso('ISO_LOCAL_DATE', day, false, ['']),
  ISO_DATE: iso('ISO_DATE', day, false, ['', 'XXX']),
  ISO_OFFSET_DATE: iso('ISO_OFFSET_DATE', day, false, ['XXX']),
  ISO_LOCAL_TIME: {
    ...iso('ISO_LOCAL_TIME', '', true, ['']),
    print: (value) => full(`T${localTime(value.nano ?? 0).text()}`).slice(1),
  },
  ISO_TIME: iso('ISO_TIME', '', true, ['', 'XXX']),
  ISO_LOCAL_DATE_TIME: {
    ...iso('ISO_LOCAL_DATE_TIME', day, true, ['']),
    print: (value) => full(localDateTime(value.day ?? 0, value.nano ?? 0).text()),
  },
  ISO_OFFSET_DATE_TIME: {
    ...iso('ISO_OFFSET_DATE_TIME', day, true, ['XXX', 'X', 'XX']),
    print: printText(withoutRegion),
  },
  ISO_ZONED_DATE_TIME: { ...iso('ISO_ZONED_DATE_TIME', day, true, ["XXX'['VV']'", 'XXX']), print: printText(full) },
  ISO_DATE_TIME: { ...iso('ISO_DATE_TIME', day, true, ["XXX'['VV']'", 'XXX', '']), print: printText(full) },
  ISO_INSTANT: {
    ...iso('ISO_INSTANT', day, true, ['XXX']),
    print: (value) =>
      zonedInstant(value, utcZone)
        .text()
        .replace(/T(\d\d:\d\d)Z/, 'T$1:00Z')
        .replace(/\[.*$/, ''),
  },
  ISO_ORDINAL_DATE: make('ISO_ORDINAL_DATE', [compileDatePattern('yyyy-DDD')]),
  BASIC_ISO_DATE: make('BASIC_ISO_DATE', [compileDatePattern('yyyyMMdd')]),
  RFC_1123_DATE_TIME: rfc,
}

export function formatTemporal(formatter: Formatter, value: Temporal): string {
  const shifted = formatter.zone && value.offset !== undefined ? zonedInstant(value, formatter.zone) : value
  return formatter.print ? formatter.print(shifted) : printPattern(formatter.patterns[0]!, shifted)
}

const parseError = (text: string): JavaThrow =>
  new JavaThrow('java.time.format.DateTimeParseException', `Text '${text}' could not be parsed at index 0`)

/** Maximum length of a date's text. */
const textMax = 256

/** Parses a text as a temporal of a class. Throws DateTimeParseException. */
export function parseTemporal(formatter: Formatter, text: string, javaClass: TemporalClass): Temporal {
  if (text.length > textMax) throw parseError(text.slice(0, textMax))
  for (const pattern of formatter.patterns) {
    const parsed = readPattern(pattern, text)
    if (!parsed) continue
    for (const [field, value] of formatter.defaults ?? [])
      if (!parsed.fields.has(field)) parsed.fields.set(field, value)
    const value = resolve(parsed, formatter.zone, javaClass, /'GMT'/.test(pattern.source))
    if (value) return value
  }
  throw parseError(text)
}

const classesByDetail = [
  'java.time.ZonedDateTime',
  'java.time.LocalDateTime',
  'java.time.LocalDate',
  'java.time.LocalTime',
] as const

/** Parses a text as the class that preserves most of its fields: zoned date-time, otherwise local date-time, date or time. */
export function parseAny(formatter: Formatter, text: string): Temporal {
  for (const javaClass of classesByDetail)
    try {
      return parseTemporal(formatter, text, javaClass)
    } catch (error) {
      if (!(error instanceof JavaThrow) || error.fatal) throw error
    }
  throw parseError(text)
}

/** Returns the parsed date in days since 1970. If `lenient` is true, parts that the text lacks are taken from 1970-01-01. */
function resolveDay(fields: Map<string, number>, lenient: boolean): number | undefined {
  const get = (name: string) => fields.get(name)
  const year = get('year') ?? get('weekYear')
  if (year === undefined && !lenient) return undefined
  const knownYear = year ?? 1970
  const ordinal = get('dayOfYear')
  if (ordinal !== undefined) return daysFromCivil(knownYear, 1, 1) + ordinal - 1
  if (!lenient && (get('month') === undefined || get('day') === undefined)) return undefined
  return checkedDays(knownYear, get('month') ?? 1, get('day') ?? 1)
}

function resolveNano(fields: Map<string, number>): number | undefined {
  const half = fields.get('halfHour')
  const hour = fields.get('hour') ?? (half === undefined ? undefined : (half % 12) + 12 * (fields.get('half') ?? 0))
  const milli = fields.get('milliOfDay')
  if (milli !== undefined) return milli * 1e6
  if (hour === undefined) return undefined
  return checkedNanos(
    hour === 24 ? 0 : hour,
    fields.get('minute') ?? 0,
    fields.get('second') ?? 0,
    fields.get('nano') ?? 0,
  )
}

function resolve(
  parsed: Parsed,
  fallback: Zone | undefined,
  javaClass: TemporalClass,
  gmt: boolean,
): Temporal | undefined {
  const day = resolveDay(parsed.fields, false)
  const nano = resolveNano(parsed.fields)
  if (javaClass === 'java.time.LocalDate') return day === undefined ? undefined : localDate(day)
  if (javaClass === 'java.time.LocalTime') return nano === undefined ? undefined : localTime(nano)
  if (day === undefined || nano === undefined) return undefined
  if (javaClass === 'java.time.LocalDateTime') return localDateTime(day, nano)
  const offset = parsed.fields.get('offset') ?? (gmt ? 0 : undefined)
  const zone = parsed.zone !== undefined ? findZone(parsed.zone) : offset !== undefined ? fixedZone(offset) : fallback
  if (!zone) return undefined
  const zoned = zonedLocal(day, nano, zone, offset)
  if (javaClass === 'java.time.ZonedDateTime') return zoned
  if (javaClass === 'java.time.OffsetDateTime') return offsetDateTime(zoned.day!, zoned.nano!, zoned.offset!)
  return instant(
    zoned.day! * 86400 - zoned.offset! + Math.floor(zoned.nano! / nanosPerSecond),
    zoned.nano! % nanosPerSecond,
  )
}

/**
 * Parses a date for the `date` processor, and returns it in `zone`. A missing year is set to `year`, a missing month or day to 1, a missing
 * time to midnight, and a missing zone to `zone`.
 */
export function parseLenient(formatter: Formatter, text: string, zone: Zone, year: number): Temporal | undefined {
  if (text.length > textMax) return undefined
  for (const pattern of formatter.patterns) {
    const parsed = readPattern(pattern, text)
    if (!parsed) continue
    if (!parsed.fields.has('year')) parsed.fields.set('year', year)
    const offset = parsed.fields.get('offset')
    const parsedZone =
      parsed.zone !== undefined ? findZone(parsed.zone) : offset !== undefined ? fixedZone(offset) : zone
    const found = zonedLocal(resolveDay(parsed.fields, true)!, resolveNano(parsed.fields) ?? 0, parsedZone, offset)
    return zonedInstant(found, zone)
  }
  return undefined
}
