import { JavaThrow } from '../../../../painless/errors.ts'
import { textOf } from '../../../../painless/text.ts'
import { formatTemporal, formatterOf, namedFormatters, parseLenient } from '../../../../painless/time/formatter.ts'
import { instant, type Temporal, zonedInstant } from '../../../../painless/time/temporal.ts'
import { findZone, type Zone } from '../../../../painless/time/zones.ts'
import { type Config, ConfigError, optionalText, requiredText, textList } from '../config.ts'
import { getField, setField } from '../document.ts'
import { illegalArgument } from '../failure.ts'
import { compileTemplate, isTemplate, type Template } from '../template.ts'
import type { IngestDocument } from '../types.ts'
import type { ProcessorDefinition } from './define.ts'
import { checkedPath } from './paths.ts'

type Reader = (text: string, zone: Zone, year: number) => Temporal | undefined

/** Parses a time since 1970 in seconds or, if `perSecond` is 1000, in milliseconds. The number may have a fraction. */
function unix(text: string, zone: Zone, perSecond: number): Temporal | undefined {
  if (!/^[+-]?\d{1,16}(?:\.\d{1,9})?$/.test(text)) return undefined
  const value = Number(text) / perSecond
  const seconds = Math.floor(value)
  if (Math.abs(seconds) > 1e13) return undefined
  return zonedInstant(instant(seconds, Math.round((value - seconds) * 1e3) * 1e6), zone)
}

/** Parses a TAI64 label in hexadecimal: seconds of the atomic clock since 1970, and nanoseconds. UTC is taken to be ten seconds behind. */
function tai64(text: string, zone: Zone): Temporal | undefined {
  const match = /^@?([0-9a-fA-F]{16})([0-9a-fA-F]{8})?$/.exec(text)
  if (!match) return undefined
  const seconds = Number(BigInt(`0x${match[1]}`) - 2n ** 62n - 10n)
  if (Math.abs(seconds) > 1e13) return undefined
  return zonedInstant(instant(seconds, Math.floor(Number.parseInt(match[2] ?? '0', 16) / 1e6) * 1e6), zone)
}

const isoNames = ['ISO_DATE_TIME', 'ISO_OFFSET_DATE_TIME', 'ISO_DATE']

const special: Record<string, Reader> = {
  ISO8601: (text, zone, year) => {
    const isoText = text.replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, '$1T').replace(/,(\d+)/, '.$1')
    for (const name of isoNames) {
      const found = parseLenient(namedFormatters[name]!, isoText, zone, year)
      if (found) return found
    }
    return parseLenient(formatterOf('yyyy[-MM]'), isoText, zone, year)
  },
  UNIX: (text, zone) => unix(text, zone, 1),
  UNIX_MS: (text, zone) => unix(text, zone, 1000),
  TAI64N: tai64,
}

/** Compiles a format: a name in `special`, or a pattern. Several patterns may be joined by `||`. */
function readerOf(format: string): Reader {
  const found = Object.hasOwn(special, format) ? special[format] : undefined
  if (found) return found
  const formatters = format.split('||').map((pattern) => formatterFor(pattern, 'formats'))
  return (text, zone, year) => {
    for (const formatter of formatters) {
      const value = parseLenient(formatter, text, zone, year)
      if (value) return value
    }
    return undefined
  }
}

const namedPatterns: Record<string, string> = {
  iso8601: 'ISO_DATE_TIME',
  strict_date_optional_time: 'ISO_DATE_TIME',
  date_optional_time: 'ISO_DATE_TIME',
  date_time: 'ISO_OFFSET_DATE_TIME',
  date: 'ISO_LOCAL_DATE',
  strict_date: 'ISO_LOCAL_DATE',
  strict_date_time: 'ISO_OFFSET_DATE_TIME',
}

function formatterFor(pattern: string, property: string) {
  const name = Object.hasOwn(namedPatterns, pattern) ? namedPatterns[pattern] : undefined
  if (name !== undefined) return namedFormatters[name]!
  try {
    return formatterOf(pattern)
  } catch (error) {
    if (error instanceof JavaThrow) throw new ConfigError(`Invalid format: [${pattern}]: ${error.message}`, property)
    throw error
  }
}

/** Compiles a time zone, which may be a template. */
function zoneOf(text: string): Template<Zone> {
  if (isTemplate(text)) {
    const template = compileTemplate(text)
    return (document) => findZone(template(document))
  }
  try {
    const zone = findZone(text)
    return () => zone
  } catch (error) {
    if (error instanceof JavaThrow) throw new ConfigError(error.message, 'timezone')
    throw error
  }
}

/** Returns the year of `_ingest.timestamp`. Dates without a year get this year. */
function yearOf(document: IngestDocument): number {
  const year = Number(/^(\d{4})/.exec(document.timestamp)?.[1])
  return Number.isNaN(year) ? 1970 : year
}

/**
 * Parses a text with one format. Returns undefined if the text does not match the format or the date does not exist, such as 30 February.
 */
function tryReader(reader: Reader, text: string, zone: Zone, year: number): Temporal | undefined {
  try {
    return reader(text, zone, year)
  } catch (error) {
    if (error instanceof JavaThrow && !error.fatal) return undefined
    throw error
  }
}

const defaultOutput = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"

function readOptions(config: Config) {
  const field = requiredText(config, 'field')
  const target = optionalText(config, 'target_field') ?? '@timestamp'
  optionalText(config, 'locale')
  return {
    field,
    parts: checkedPath(field),
    target,
    targetParts: checkedPath(target),
    readers: textList(config, 'formats').map(readerOf),
    zone: zoneOf(optionalText(config, 'timezone') ?? 'UTC'),
    output: formatterFor(optionalText(config, 'output_format') ?? defaultOutput, 'output_format'),
  }
}

export const date: ProcessorDefinition = {
  summary: 'Reads a date and writes it to `@timestamp` or another field.',
  options: {
    field: 'Field with the date.',
    formats: 'Formats to try in turn: a pattern, `ISO8601`, `UNIX`, `UNIX_MS` or `TAI64N`.',
    target_field: 'Field for the date, default `@timestamp`.',
    timezone: 'Time zone of dates without a time zone, default UTC; may be a template.',
    locale: 'Accepted, but without effect: names of months and days are always English.',
    output_format: "Pattern of the result, default `yyyy-MM-dd'T'HH:mm:ss.SSSXXX`.",
  },
  compile: (config) => {
    const { field, parts, target, targetParts, readers, zone, output } = readOptions(config)
    return (document) => {
      const value = getField(document, field, parts)
      if (value === null) throw illegalArgument(`field [${field}] is null, cannot parse date`)
      const text = textOf(value)
      const zoneName = zone(document)
      const year = yearOf(document)
      for (const reader of readers) {
        const found = tryReader(reader, text, zoneName, year)
        if (found) return setField(document, target, formatTemporal(output, found), targetParts)
      }
      throw illegalArgument(`unable to parse date [${text}]`)
    }
  },
}
