import { epochMilliseconds } from '../clock.ts'
import { putEntry } from '../collections.ts'
import { defineClass } from '../define.ts'
import { illegalArgument, JavaThrow, nullPointer } from '../errors.ts'
import { JsonError, parseDocument, writeDocument } from '../json.ts'
import { allocate, allocateText } from '../meter.ts'
import { formatTemporal, formatterOf, parseLenient } from '../time/formatter.ts'
import { epochOf, instant, type Temporal, zonedInstant } from '../time/temporal.ts'
import { findZone, type Zone } from '../time/zones.ts'
import type { JavaObject } from '../values.ts'
import type { JavaMap } from './helpers.ts'

/* Helpers for ingest scripts: Processors, Json, and the older date classes. */

function readJson(text: unknown): unknown {
  if (typeof text !== 'string') return text
  allocate(text.length * 4)
  try {
    return parseDocument(text)
  } catch (error) {
    if (error instanceof JsonError) throw illegalArgument(error.message)
    throw error
  }
}

const units: Record<string, number> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4, pb: 1024 ** 5 }

/** Parses a size such as `1.5kb`. */
function bytes(text: string): bigint {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]{1,2})$/.exec(text.trim().toLowerCase())
  const unit = match && Object.hasOwn(units, match[2]!) ? units[match[2]!] : undefined
  if (!match || unit === undefined)
    throw new JavaThrow(
      'org.opensearch.OpenSearchParseException',
      `failed to parse setting [Ingest Field] with value [${text}] as a size in bytes`,
    )
  return BigInt(Math.floor(Number(match[1]) * unit))
}

function urlDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw illegalArgument(`unable to decode [${text}]`)
  }
}

const sized = (text: string): string => {
  allocateText(text.length)
  return text
}

defineClass('org.opensearch.ingest.common.Processors', {
  methods: {
    'static long bytes(String)': bytes,
    'static String lowercase(String)': (text: string) => sized(text.toLowerCase()),
    'static String uppercase(String)': (text: string) => sized(text.toUpperCase()),
    'static def json(Object)': readJson,
    'static void json(Map,String)': (map: JavaMap, field: string) => {
      const value = readJson(map.get(field))
      if (!(value instanceof Map)) throw illegalArgument('cannot add non-map fields to root of document')
      for (const [key, item] of value) putEntry(map, key, item)
    },
    'static String urlDecode(String)': urlDecode,
  },
})

defineClass('org.opensearch.painless.api.Json', {
  methods: {
    'static def load(String)': readJson,
    'static String dump(def)': (value: unknown) => sized(writeDocument(value)),
    'static String dump(def,boolean)': (value: unknown) => sized(writeDocument(value)),
  },
})

interface OldDate extends JavaObject {
  at: Temporal
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}

function dateOf(at: Temporal): OldDate {
  allocate(128)
  const pattern = formatterOf('EEE MMM dd HH:mm:ss z yyyy')
  return {
    javaClass: 'java.util.Date',
    at,
    text: () => formatTemporal(pattern, zonedInstant(at, findZone('UTC'))),
    equals: (other) => (other as OldDate).at.equals(at),
    compareTo: (other) => at.compareTo((other as OldDate).at),
    key: () => at.key(),
  }
}

const fromMillis = (value: bigint): Temporal => {
  const number = Number(value)
  const seconds = Math.floor(number / 1000)
  return instant(seconds, (number - seconds * 1000) * 1e6)
}
const toMillis = ({ at }: OldDate): bigint =>
  BigInt(epochOf(at).seconds) * 1000n + BigInt(Math.floor(epochOf(at).nano / 1e6))

defineClass('java.util.Date', {
  supers: ['java.lang.Comparable'],
  constructors: {
    '()': () => dateOf(fromMillis(BigInt(epochMilliseconds()))),
    '(long)': (value: bigint) => dateOf(fromMillis(value)),
  },
  methods: {
    'boolean after(Date)': (self: OldDate, other: OldDate) => self.compareTo(other) > 0,
    'boolean before(Date)': (self: OldDate, other: OldDate) => self.compareTo(other) < 0,
    'int compareTo(Date)': (self: OldDate, other: OldDate) => self.compareTo(other),
    'long getTime()': toMillis,
    'Instant toInstant()': (self: OldDate) => self.at,
    'static Date from(Instant)': dateOf,
  },
})

interface OldZone extends JavaObject {
  zone: Zone
}
defineClass('java.util.TimeZone', {
  methods: {
    'static TimeZone getTimeZone(String)': (id: string): OldZone => ({
      javaClass: 'java.util.TimeZone',
      zone: findZone(id),
    }),
    'String getID()': (self: OldZone) => self.zone.id,
  },
})

interface OldFormat extends JavaObject {
  pattern: string
  zone: Zone
}
const formatOf = (pattern: string): OldFormat => {
  formatterOf(pattern)
  return { javaClass: 'java.text.SimpleDateFormat', pattern, zone: findZone('UTC') }
}

defineClass('java.text.SimpleDateFormat', {
  constructors: { '(String)': formatOf, '(String,Locale)': formatOf },
  methods: {
    'String format(Date)': (self: OldFormat, date: OldDate) =>
      formatTemporal(formatterOf(self.pattern), zonedInstant(date.at, self.zone)),
    'Date parse(String)': (self: OldFormat, text: string) => {
      if (text === null) throw nullPointer('the date is null')
      const found = parseLenient(formatterOf(self.pattern), text, self.zone, 1970)
      if (!found) throw new JavaThrow('java.text.ParseException', `Unparseable date: "${text}"`)
      const { seconds, nano } = epochOf(found)
      return dateOf(instant(seconds, nano))
    },
    'void setTimeZone(TimeZone)': (self: OldFormat, zone: OldZone) => {
      self.zone = zone.zone
    },
  },
})
