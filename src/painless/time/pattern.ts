import { JavaThrow } from '../errors.ts'
import { civilFromDays, dayOfWeek, dayOfYear, floorMod, isoWeek, nanosPerSecond } from './civil.ts'
import type { Temporal } from './temporal.ts'
import { findZone, offsetText, parseOffset } from './zones.ts'

/* Compiles patterns of dates and times, such as `yyyy-MM-dd'T'HH:mm:ss.SSSXXX`. */

/** Field values that were parsed from a text. `formatter.ts` builds a temporal from them. */
export interface Parsed {
  fields: Map<string, number>
  zone: string | undefined
}

interface Part {
  print: (value: Temporal) => string
  /** Parses the text at a position. Returns the position after the parsed text, or -1 if it does not match. */
  read: (text: string, at: number, parsed: Parsed) => number
}

export interface Pattern {
  parts: Part[]
  source: string
}

const months = 'January February March April May June July August September October November December'.split(' ')
const weekdays = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ')
export const monthName = (month: number): string => months[month - 1]!
export const weekdayName = (day: number): string => weekdays[day - 1]!

const illegal = (message: string): JavaThrow => new JavaThrow('java.lang.IllegalArgumentException', message)
const missing = (field: string): JavaThrow =>
  new JavaThrow('java.time.temporal.UnsupportedTemporalTypeException', `Unsupported field: ${field}`)

const dayIn = (value: Temporal): number => {
  if (value.day === undefined) throw missing('YearOfEra')
  return value.day
}
const secondIn = (value: Temporal): number => {
  if (value.nano === undefined) throw missing('HourOfDay')
  return Math.floor(value.nano / nanosPerSecond)
}
const nanoIn = (value: Temporal): number => (value.nano ?? 0) - secondIn(value) * nanosPerSecond
const offsetIn = (value: Temporal): number => {
  if (value.offset === undefined) throw missing('OffsetSeconds')
  return value.offset
}

/**
 * A numeric field. It is printed with at least `count` digits, the number of its letters. A single letter accepts up to 19 digits, unless
 * another numeric field follows without a separator (`adjacent`).
 */
function numeric(field: string, count: number, get: (value: Temporal) => number, adjacent: boolean): Part {
  const most = adjacent || count > 1 ? Math.max(count, field === 'year' && !adjacent ? 10 : count) : 19
  const match = new RegExp(`[+-]?\\d{${count === 1 ? 1 : count},${most}}`, 'y')
  return {
    print: (value) => {
      const number = get(value)
      return (number < 0 ? '-' : '') + String(Math.abs(number)).padStart(count, '0')
    },
    read: (text, at, parsed) => {
      match.lastIndex = at
      const found = match.exec(text)
      if (!found || (/^[+-]/.test(found[0]) && field !== 'year')) return -1
      parsed.fields.set(field, Number(found[0]))
      return at + found[0].length
    },
  }
}

/** A field that is printed by name, such as Mon or Monday. */
function named(field: string, names: string[], short: boolean, get: (value: Temporal) => number): Part {
  const shown = names.map((name) => (short ? name.slice(0, 3) : name))
  return {
    print: (value) => shown[get(value) - 1]!,
    read: (text, at, parsed) => {
      const index = shown.findIndex((name) => text.slice(at, at + name.length).toLowerCase() === name.toLowerCase())
      if (index < 0) return -1
      parsed.fields.set(field, index + 1)
      return at + shown[index]!.length
    },
  }
}

function literal(text: string): Part {
  return {
    print: () => text,
    read: (input, at) => (input.startsWith(text, at) ? at + text.length : -1),
  }
}

const offsetForms = /Z|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?/y

/**
 * An offset. `X` prints Z for zero, `x` prints digits. One letter prints hours, two and four letters print no colon, three and five letters
 * print a colon.
 */
function offset(letter: string, count: number): Part {
  const colon = count === 3 || count === 5
  const print = (value: Temporal) => {
    const seconds = offsetIn(value)
    if (seconds === 0 && letter === 'X') return 'Z'
    const text = seconds === 0 ? '+00:00' : offsetText(seconds)
    if (count === 1 && text.endsWith(':00')) return text.slice(0, 3)
    return colon ? text : text.replaceAll(':', '')
  }
  return { print, read: (text, at, parsed) => readOffset(text, at, parsed) }
}

function readOffset(text: string, at: number, parsed: Parsed): number {
  offsetForms.lastIndex = at
  const found = offsetForms.exec(text)
  const seconds = found ? parseOffset(found[0]) : undefined
  if (!found || seconds === undefined) return -1
  parsed.fields.set('offset', seconds)
  return at + found[0].length
}

const zoneName = /[A-Za-z][A-Za-z0-9~/._+-]*/y

const zone: Part = {
  print: (value) => value.zone?.id ?? offsetText(offsetIn(value)),
  read: (text, at, parsed) => {
    const end = readOffset(text, at, parsed)
    if (end >= 0) return end
    zoneName.lastIndex = at
    const found = zoneName.exec(text)
    if (!found) return -1
    try {
      findZone(found[0])
    } catch {
      return -1
    }
    parsed.zone = found[0]
    return at + found[0].length
  },
}

const fraction = (count: number): Part => ({
  print: (value) => String(nanoIn(value)).padStart(9, '0').slice(0, count),
  read: (text, at, parsed) => {
    const digits = text.slice(at, at + count)
    if (digits.length < count || !/^\d+$/.test(digits)) return -1
    parsed.fields.set('nano', Number(digits.slice(0, 9).padEnd(9, '0')))
    return at + count
  },
})

const amPm: Part = {
  print: (value) => (secondIn(value) < 43200 ? 'AM' : 'PM'),
  read: (text, at, parsed) => {
    const half = text.slice(at, at + 2).toUpperCase()
    if (half !== 'AM' && half !== 'PM') return -1
    parsed.fields.set('half', half === 'AM' ? 0 : 1)
    return at + 2
  },
}

const era: Part = {
  print: (value) => (civilFromDays(dayIn(value)).year > 0 ? 'AD' : 'BC'),
  read: (text, at) => (/^(?:AD|BC)/.test(text.slice(at, at + 2)) ? at + 2 : -1),
}

/** A year with two digits, which stand for 2000 to 2099. */
const shortYear: Part = {
  print: (value) => String(floorMod(civilFromDays(dayIn(value)).year, 100)).padStart(2, '0'),
  read: (text, at, parsed) => {
    const digits = /^\d\d/.exec(text.slice(at, at + 2))
    if (!digits) return -1
    parsed.fields.set('year', 2000 + Number(digits[0]))
    return at + 2
  },
}

const hourOf = (value: Temporal): number => Math.floor(secondIn(value) / 3600)

function letterPart(letter: string, count: number, adjacent: boolean): Part {
  const number = (field: string, get: (value: Temporal) => number) => numeric(field, count, get, adjacent)
  switch (letter) {
    case 'y':
    case 'u':
      return count === 2 ? shortYear : number('year', (value) => civilFromDays(dayIn(value)).year)
    case 'Y':
      return number('weekYear', (value) => isoWeek(dayIn(value)).year)
    case 'M':
    case 'L':
      return count > 2
        ? named('month', months, count === 3, (value) => civilFromDays(dayIn(value)).month)
        : number('month', (value) => civilFromDays(dayIn(value)).month)
    case 'd':
      return number('day', (value) => civilFromDays(dayIn(value)).day)
    case 'D':
      return number('dayOfYear', (value) => dayOfYear(civilFromDays(dayIn(value))))
    case 'w':
      return number('week', (value) => isoWeek(dayIn(value)).week)
    case 'E':
      return named('weekday', weekdays, count < 4, (value) => dayOfWeek(dayIn(value)))
    case 'e':
      return number('weekday', (value) => dayOfWeek(dayIn(value)))
    case 'Q':
    case 'q':
      return number('quarter', (value) => Math.ceil(civilFromDays(dayIn(value)).month / 3))
    case 'a':
      return amPm
    case 'G':
      return era
    case 'H':
      return number('hour', hourOf)
    case 'k':
      return number('hour', (value) => hourOf(value) || 24)
    case 'h':
      return number('halfHour', (value) => hourOf(value) % 12 || 12)
    case 'K':
      return number('halfHour', (value) => hourOf(value) % 12)
    case 'm':
      return number('minute', (value) => Math.floor(secondIn(value) / 60) % 60)
    case 's':
      return number('second', (value) => secondIn(value) % 60)
    case 'S':
      return fraction(count)
    case 'n':
      return number('nano', nanoIn)
    case 'A':
      return number('milliOfDay', (value) => Math.floor((value.nano ?? 0) / 1e6))
    case 'X':
    case 'x':
      return offset(letter, count)
    case 'Z':
      return count === 5 ? offset('X', 3) : offset('x', 2)
    case 'V':
    case 'v':
    case 'z':
      return zone
    default:
      throw illegal(`Unknown pattern letter: ${letter}`)
  }
}

/** Maximum length of a pattern, in characters. */
const patternMax = 256

/** Compiles a pattern. Parts in square brackets may be missing in a text. */
export function compileDatePattern(source: string): Pattern {
  if (source.length > patternMax) throw illegal(`A date pattern has at most ${patternMax} characters.`)
  const stack: Part[][] = [[]]
  const tokens = source.match(/''|'(?:[^']|'')*'|([a-zA-Z])\1*|[\s\S]/g) ?? []
  for (const [index, token] of tokens.entries()) {
    const parts = stack.at(-1)!
    const next = tokens[index + 1] ?? ''
    if (token === '[') stack.push([])
    else if (token === ']') {
      if (stack.length === 1) throw illegal(`Pattern invalid as it contains ] without previous [`)
      const inner = stack.pop()!
      stack.at(-1)!.push(optional(inner))
    } else if (token.startsWith("'")) {
      if (token === "'") throw illegal(`Pattern ends with an incomplete string literal: ${source}`)
      parts.push(literal(token === "''" ? "'" : token.slice(1, -1).replaceAll("''", "'")))
    } else if (/^[a-zA-Z]/.test(token)) parts.push(letterPart(token[0]!, token.length, /^[yuMdHhmsSn]/.test(next)))
    else if (/[{}#]/.test(token)) throw illegal(`Pattern includes reserved character: '${token}'`)
    else parts.push(literal(token))
  }
  if (stack.length > 1) throw illegal(`Pattern invalid as it contains [ without ]`)
  return { parts: stack[0]!, source }
}

function optional(inner: Part[]): Part {
  return {
    print: (value) => {
      try {
        return inner.map((part) => part.print(value)).join('')
      } catch {
        return ''
      }
    },
    read: (text, at, parsed) => {
      const trial: Parsed = { fields: new Map(parsed.fields), zone: parsed.zone }
      let end = at
      for (const part of inner) {
        end = part.read(text, end, trial)
        if (end < 0) return at
      }
      for (const [name, value] of trial.fields) parsed.fields.set(name, value)
      parsed.zone = trial.zone
      return end
    },
  }
}

export const printPattern = (pattern: Pattern, value: Temporal): string =>
  pattern.parts.map((part) => part.print(value)).join('')

/** Parses a text. Returns undefined if it does not match the pattern. */
export function readPattern(pattern: Pattern, text: string): Parsed | undefined {
  const parsed: Parsed = { fields: new Map(), zone: undefined }
  let at = 0
  for (const part of pattern.parts) {
    at = part.read(text, at, parsed)
    if (at < 0) return undefined
  }
  return at === text.length ? parsed : undefined
}
