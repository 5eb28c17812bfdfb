/**
 * Parses dates in the same way as the search engine: complete or partial ISO 8601, milliseconds since 1970, and date math such as
 * `now-1d/d`.
 */

const precisions = ['y', 'M', 'd', 'h', 'm', 's', 'ms'] as const
type Unit = (typeof precisions)[number]

interface ParsedDate {
  ms: number
  /** The smallest unit that the text contains. */
  precision: Unit
}

const iso =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2})(?::?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?)?)?)?)?(Z|z|[+-]\d{2}(?::?\d{2})?)?$/
const epoch = /^-?\d{5,16}$/

/** The range of times that PostgreSQL, JavaScript and ISO 8601 all support. */
const [earliest, latest] = [-62_135_510_400_000, Date.UTC(9999, 11, 31)]
const storable = (ms: number) => Number.isFinite(ms) && ms >= earliest && ms <= latest

function parse(text: string, timeZone: string | undefined): ParsedDate | undefined {
  if (epoch.test(text)) return storable(Number(text)) ? { ms: Number(text), precision: 'ms' } : undefined
  const match = iso.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second, fraction, zone] = match
  if (zone !== undefined && hour === undefined) return undefined
  const numbers = [year, month ?? 1, day ?? 1, hour ?? 0, minute ?? 0, second ?? 0].map(Number)
  const [y, mo, d, h, mi, s] = numbers as [number, number, number, number, number, number]
  if (mo < 1 || mo > 12 || d < 1 || h > 23 || mi > 59 || s > 59) return undefined
  const ms = Math.floor(Number(`0.${fraction ?? 0}`) * 1000)
  const local = new Date(0)
  local.setUTCFullYear(y, mo - 1, d)
  local.setUTCHours(h, mi, s, ms)
  if (local.getUTCDate() !== d) return undefined
  const partCount = [month, day, hour, minute, second, fraction].filter((part) => part !== undefined).length
  const precision = precisions[partCount]!
  const utc = local.getTime() - offsetMs(zone ?? timeZone, local.getTime())
  return storable(utc) ? { ms: utc, precision } : undefined
}

const offsetPattern = /^([+-])(\d{2}):?(\d{2})?$/

/** Returns the offset of a zone from UTC at a local time. */
function offsetMs(zone: string | undefined, localMs: number): number {
  if (zone === undefined || zone === 'Z' || zone === 'z' || zone === 'UTC') return 0
  const [, sign, hours, minutes = '0'] = offsetPattern.exec(zone) ?? []
  if (hours !== undefined) return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  // `first` is only approximate, because `zoneOffset` reads `localMs` as a time in UTC. The second look-up corrects the offset if the
  // clocks of the zone change between the two times.
  const first = zoneOffset(zone, localMs)
  return zoneOffset(zone, localMs - first)
}

function zoneOffset(timeZone: string, ms: number): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(ms)
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value ?? 0)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - Math.floor(ms / 1000) * 1000
}

export function isTimeZone(text: string): boolean {
  if (offsetPattern.test(text) || text === 'Z') return true
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: text })
    return true
  } catch {
    return false
  }
}

/** Returns milliseconds since 1970, or undefined if the text is not a date. */
export const parseDate = (text: string): number | undefined => parse(text, undefined)?.ms

const operation = /^([+-])(\d{0,9})([yMwdhHms])|^\/([yMwdhHms])/

function add(ms: number, amount: number, unit: string): number {
  const date = new Date(ms)
  if (unit === 'y' || unit === 'M') {
    const day = date.getUTCDate()
    date.setUTCDate(1)
    date.setUTCMonth(date.getUTCMonth() + amount * (unit === 'y' ? 12 : 1))
    const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
    date.setUTCDate(Math.min(day, days))
    return date.getTime()
  }
  return ms + amount * unitMs[unit]!
}

export const unitMs: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  H: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

function floor(ms: number, unit: string): number {
  const date = new Date(ms)
  if (unit === 'y') return Date.UTC(date.getUTCFullYear(), 0)
  if (unit === 'M') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  // Weeks begin on Monday; 1970-01-01 was a Thursday.
  const shift = unit === 'w' ? 3 * unitMs.d! : 0
  return Math.floor((ms + shift) / unitMs[unit]!) * unitMs[unit]! - shift
}

interface Options {
  now: number
  /** If true, a date with missing parts, and rounding such as `/d`, become the last millisecond of the period instead of the first. */
  up: boolean
  timeZone?: string | undefined
}

/** Resolves a date or date math. Returns undefined if the text is neither a date nor date math. */
export function resolveDate(text: string, { now, up, timeZone }: Options): number | undefined {
  const anchored = text.startsWith('now') ? ['now', text.slice(3)] : text.split('||', 2)
  const [anchor = '', math = ''] = anchored
  const start = anchor === 'now' ? { ms: now, precision: 'ms' as Unit } : parse(anchor, timeZone)
  if (!start) return undefined
  let { ms } = start
  if (up && start.precision !== 'ms' && math === '') ms = add(ms, 1, start.precision) - 1
  // Rounding uses local time, because local midnight is not midnight in UTC.
  const offset = offsetMs(timeZone, ms)
  ms += offset
  for (let rest = math; rest !== ''; ) {
    const match = operation.exec(rest)
    if (!match) return undefined
    const [whole, sign, amount, unit, rounding] = match
    if (rounding !== undefined) {
      const begin = floor(ms, rounding)
      ms = up ? add(begin, 1, rounding) - 1 : begin
    } else ms = add(ms, (sign === '-' ? -1 : 1) * (amount === '' ? 1 : Number(amount)), unit!)
    rest = rest.slice(whole.length)
  }
  ms -= offset
  return storable(ms) ? ms : undefined
}
