/** Parses aggregations: the fields by which documents are grouped, and the metrics of each group. */
import { type Body, checkField, invalid, isObject } from './clauses.ts'
import { isTimeZone, resolveDate, unitMs } from './dates.ts'

export type Metric = 'avg' | 'min' | 'max' | 'sum' | 'value_count' | 'cardinality'
export type CalendarUnit = 'minute' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'

export interface TermsOrder {
  /** `_count`, `_key`, or the name of a metric that is computed for each group. */
  by: string
  descending: boolean
}

interface Histogram {
  field: string
  minimum: number
  bounds: { min: number; max: number } | undefined
  keyed: boolean
}

export type Grouping =
  | {
      kind: 'terms'
      field: string
      size: number
      minimum: number
      order: TermsOrder[]
      missing: string | number | undefined
    }
  | ({ kind: 'histogram'; interval: number; offset: number } & Histogram)
  | ({
      kind: 'date_histogram'
      /** The interval in milliseconds, or a calendar unit. */
      interval: number | CalendarUnit
      offsetMs: number
      timeZone: string
    } & Histogram)

export interface Aggregation {
  name: string
  definition: { metric: Metric; field: string } | { grouping: Grouping; below: Aggregation[] }
}

const metrics: Metric[] = ['avg', 'min', 'max', 'sum', 'value_count', 'cardinality']
const groupings = ['terms', 'date_histogram', 'histogram']
const aggregationsMax = 50
export const aggregationDepthMax = 5
export const bucketsMax = 10_000

export function readAggregations(byName: unknown, now: number): Aggregation[] {
  const count = { value: 0 }
  return byName === undefined || byName === null ? [] : readAll(byName, 'aggs', now, count, 1)
}

function readAll(byName: unknown, at: string, now: number, count: { value: number }, depth: number): Aggregation[] {
  if (!isObject(byName)) throw invalid(`${at}: expected an object of aggregations by name`)
  if (depth > aggregationDepthMax)
    throw invalid(`${at}: aggregations may be nested at most ${aggregationDepthMax} levels deep`)
  return Object.entries(byName).map(([name, body]) => {
    if (++count.value > aggregationsMax) throw invalid(`aggs: expected at most ${aggregationsMax} aggregations`)
    if (!/^[^[\]>]{1,255}$/.test(name) || name.includes('\0'))
      throw invalid(`${at}: expected names of 1 to 255 characters without [, ] and >`)
    return readOne(name, body, `${at}.${name}`, now, count, depth)
  })
}

function readOne(
  name: string,
  body: unknown,
  at: string,
  now: number,
  count: { value: number },
  depth: number,
): Aggregation {
  if (!isObject(body)) throw invalid(`${at}: expected an object with one aggregation`)
  const { aggs, aggregations, meta: _, ...rest } = body
  const kinds = Object.keys(rest)
  if (kinds.length !== 1) throw invalid(`${at}: expected exactly one aggregation, such as {"avg": {"field": …}}`)
  const kind = kinds[0]!
  const options = rest[kind]
  const inner = aggregations ?? aggs
  if (!isObject(options)) throw invalid(`${at}.${kind}: expected an object with a field`)
  if (metrics.includes(kind as Metric)) {
    if (inner !== undefined) throw invalid(`${at}: ${kind} cannot have aggregations below it`)
    return { name, definition: { metric: kind as Metric, field: checkField(options.field, `${at}.${kind}.field`) } }
  }
  if (!groupings.includes(kind))
    throw invalid(
      `${at}: unknown aggregation [${kind.slice(0, 100)}]; supported are ${[...groupings, ...metrics].join(', ')}`,
    )
  const below = inner === undefined ? [] : readAll(inner, `${at}.aggs`, now, count, depth + 1)
  const path = `${at}.${kind}`
  const field = checkField(options.field, `${path}.field`)
  if (kind === 'terms') return { name, definition: { grouping: readTerms(field, options, path, below), below } }
  const grouping = kind === 'histogram' ? readHistogram(field, options, path) : readDates(field, options, path, now)
  return { name, definition: { grouping, below } }
}

function number(
  given: unknown,
  byDefault: number,
  at: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER } = {},
): number {
  if (given === undefined || given === null) return byDefault
  if (typeof given !== 'number' || !Number.isInteger(given) || given < min || given > max)
    throw invalid(`${at}: expected a whole number from ${min} to ${max}`)
  return given
}

function readTerms(field: string, options: Body, at: string, below: Aggregation[]): Grouping {
  const { missing } = options
  if (missing !== undefined && typeof missing !== 'string' && typeof missing !== 'number')
    throw invalid(`${at}.missing: expected a text or a number`)
  return {
    kind: 'terms',
    field,
    size: number(options.size, 10, `${at}.size`, { min: 1, max: bucketsMax }),
    minimum: number(options.min_doc_count, 1, `${at}.min_doc_count`, { min: 1 }),
    order: readOrder(options.order, `${at}.order`, below),
    missing,
  }
}

function readOrder(value: unknown, at: string, below: Aggregation[]): TermsOrder[] {
  if (value === undefined || value === null) return [{ by: '_count', descending: true }]
  return [value].flat().flatMap((one) => {
    if (!isObject(one)) throw invalid(`${at}: expected an object such as {"_count": "desc"}`)
    return Object.entries(one).map(([name, direction]) => {
      const by = (name === '_term' ? '_key' : name).replace(/\.value$/, '')
      const isKnown =
        by === '_count' || by === '_key' || below.some((other) => other.name === by && 'metric' in other.definition)
      if (!isKnown) throw invalid(`${at}: expected _count, _key or the name of a metric below, not ${by.slice(0, 100)}`)
      const order = typeof direction === 'string' ? direction.toLowerCase() : direction
      if (order !== 'asc' && order !== 'desc') throw invalid(`${at}.${name}: expected asc or desc`)
      return { by, descending: order === 'desc' }
    })
  })
}

function readBounds(limits: unknown, at: string, read: (bound: unknown, at: string) => number): Histogram['bounds'] {
  if (limits === undefined || limits === null) return undefined
  if (!isObject(limits)) throw invalid(`${at}: expected min and max`)
  const bounds = { min: read(limits.min, `${at}.min`), max: read(limits.max, `${at}.max`) }
  if (bounds.min > bounds.max) throw invalid(`${at}: min is greater than max`)
  return bounds
}

function finite(value: unknown, at: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`${at}: expected a number`)
  return value
}

function readHistogram(field: string, options: Body, at: string): Grouping {
  const interval = finite(options.interval, `${at}.interval`)
  if (interval <= 0) throw invalid(`${at}.interval: expected a number greater than 0`)
  return {
    kind: 'histogram',
    field,
    interval,
    offset: options.offset === undefined ? 0 : finite(options.offset, `${at}.offset`),
    minimum: number(options.min_doc_count, 0, `${at}.min_doc_count`),
    bounds: readBounds(options.extended_bounds, `${at}.extended_bounds`, finite),
    keyed: options.keyed === true,
  }
}

const calendarUnits: Record<string, CalendarUnit> = {
  '1m': 'minute',
  '1h': 'hour',
  '1d': 'day',
  '1w': 'week',
  '1M': 'month',
  '1q': 'quarter',
  '1y': 'year',
}
for (const unit of Object.values(calendarUnits)) calendarUnits[unit] = unit

/** Parses a duration such as `90m` to milliseconds. */
function duration(value: unknown, at: string): number {
  const [, sign, amount, unit] = /^([+-])?(\d{1,9})(ms|s|m|h|d)$/.exec(String(value)) ?? []
  if (amount === undefined || unit === undefined) throw invalid(`${at}: expected a duration, such as 90m or 12h`)
  return (sign === '-' ? -1 : 1) * Number(amount) * unitMs[unit]!
}

function intervalOf(options: Body, at: string): number | CalendarUnit {
  const { fixed_interval: fixed, calendar_interval: calendar, interval: either } = options
  if ([fixed, calendar, either].filter((one) => one !== undefined).length !== 1)
    throw invalid(`${at}: expected exactly one of fixed_interval and calendar_interval`)
  const name = calendar ?? either
  const unit = typeof name === 'string' && Object.hasOwn(calendarUnits, name) ? calendarUnits[name] : undefined
  if (unit) return unit
  if (calendar !== undefined)
    throw invalid(`${at}.calendar_interval: expected one of ${Object.values(calendarUnits).slice(0, 7).join(', ')}`)
  const ms = duration(fixed ?? either, `${at}.${fixed === undefined ? 'interval' : 'fixed_interval'}`)
  if (ms <= 0) throw invalid(`${at}.fixed_interval: expected a duration greater than 0`)
  return ms
}

function readDates(field: string, options: Body, at: string, now: number): Grouping {
  const { time_zone: timeZone = 'UTC', offset } = options
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone))
    throw invalid(`${at}.time_zone: expected a time zone, such as +01:00 or Europe/Berlin`)
  const date = (value: unknown, path: string) => {
    const resolved =
      typeof value === 'number'
        ? value
        : typeof value === 'string'
          ? resolveDate(value, { now, up: false, timeZone })
          : undefined
    if (resolved === undefined) throw invalid(`${path}: expected a date`)
    return resolved
  }
  return {
    kind: 'date_histogram',
    field,
    interval: intervalOf(options, at),
    offsetMs: offset === undefined ? 0 : duration(offset, `${at}.offset`),
    timeZone,
    minimum: number(options.min_doc_count, 0, `${at}.min_doc_count`),
    bounds: readBounds(options.extended_bounds, `${at}.extended_bounds`, date),
    keyed: options.keyed === true,
  }
}
