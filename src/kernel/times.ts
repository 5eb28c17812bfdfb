/** Parses times in requests and device messages to milliseconds (document 5, 10.7). */

/** The years 1 to 9999, which every ISO 8601 parser accepts. */
export const timeMin = Date.parse('0001-01-01T00:00:00Z')
export const timeMax = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

const isoDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?$/i
const zoned = /(?:Z|[+-]\d{2}:?\d{2})$/i
/** Matches an offset without minutes, such as `+02`, which Date.parse rejects. */
const hourOffset = /[+-]\d{2}$/

/** Matches the space before a time zone in a query. Scripts often do not encode the `+` of a time zone, so it is decoded as a space. */
const lostPlus = /(:\d{2}(?:[.,]\d{1,9})?) (?=\d{2}:?\d{2}$)/

/** Parses ISO 8601. A time without a time zone is in UTC. */
export function timeOfText(given: string): number | undefined {
  const text = given.includes(' ') ? given.replace(lostPlus, '$1+') : given
  if (!isoDate.test(text)) return undefined
  // Date.parse would turn 30 February into 2 March.
  if (Number(text.slice(8, 10)) > daysOf(Number(text.slice(0, 4)), Number(text.slice(5, 7)))) return undefined
  const normal = text.replace(',', '.').replace(' ', 'T')
  const time = Date.parse(withZone(normal))
  return Number.isNaN(time) ? undefined : time
}

/** Adds the time zone UTC to a text without a time zone. A text of ten characters is a date and needs no time zone. */
function withZone(text: string): string {
  if (text.length === 10 || zoned.test(text)) return text
  return hourOffset.test(text) ? `${text}:00` : `${text}Z`
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

const relative = /^now(?:-(\d{1,9})([smhdwMy]))?$/

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Matches milliseconds since 1970. */
const milliseconds = /^-?\d{1,15}$/
export const millisecondsMax = 10 ** 15 - 1

/** Describes the texts that `timeOf` accepts, for error messages and the API reference. */
export const timeText =
  'ISO 8601 (UTC if it has no time zone), `now`, `now-<n><unit>` with the unit s, m, h, d, w, M (months) or y, or milliseconds since 1970.'
/** Matches texts that may be times. */
export const timePattern = '^(now(-[0-9]{1,9}[smhdwMy])?|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|-?[0-9]{1,15})$'

/** Limits a time to the years 1 to 9999, because PostgreSQL rejects the text of other times. */
const withinYears = (time: number) => Math.min(timeMax, Math.max(timeMin, time))

/** Parses milliseconds since 1970 or ISO 8601. */
export const absoluteTimeOf = (text: string): number | undefined =>
  milliseconds.test(text) ? withinYears(Number(text)) : timeOfText(text)

/** Parses `now`, `now-15m`, milliseconds since 1970 or ISO 8601. Months and years are calendar months and years. */
export function timeOf(given: string | number, now: Date): number | undefined {
  const time = anyTimeOf(given, now)
  return time === undefined ? undefined : withinYears(time)
}

/** Parses a time as `timeOf` does, but returns times outside of the years 1 to 9999 as they are. */
export function anyTimeOf(given: string | number, now: Date): number | undefined {
  const text = String(given)
  const match = relative.exec(text)
  if (!match) return milliseconds.test(text) ? Number(text) : timeOfText(text)
  const [, amount = '0', unit = 's'] = match
  const ms = unitMs[unit]
  const time =
    ms === undefined ? monthsBefore(now, Number(amount) * (unit === 'y' ? 12 : 1)) : now.getTime() - Number(amount) * ms
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time
}

/** Returns the same day of an earlier month. If that month is shorter, returns its last day: a month before 31 March is 28 February. */
function monthsBefore(now: Date, months: number): number {
  const first = new Date(now)
  first.setUTCDate(1)
  first.setUTCMonth(first.getUTCMonth() - months)
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  first.setUTCDate(Math.min(now.getUTCDate(), last))
  return first.getTime()
}
