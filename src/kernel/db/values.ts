/** Encodes JavaScript values as parameters, and parses columns into JavaScript values. */
import { DatabaseUseError } from './errors.ts'

/** An encoded parameter: text, bytes or null. */
export type Encoded = string | Buffer | null

/** A value that `sql.json` has created. It is sent as jsonb. */
export interface Json {
  readonly jsonText: string
}

export type Value = string | number | bigint | boolean | null | Date | Uint8Array | Json | readonly Value[]

const jsonbOid = 3802

export function jsonOf(value: unknown): Json {
  const jsonText = JSON.stringify(value)
  if (jsonText === undefined) throw new DatabaseUseError('sql.json was given a value that JSON cannot represent')
  return { jsonText }
}

/**
 * Returns the type to pass to PostgreSQL; 0 lets PostgreSQL infer it. Without a type, PostgreSQL would take the date in `${date} - interval
 * '1 day'` for an interval.
 */
export function oidOf(value: unknown): number {
  switch (typeof value) {
    case 'boolean':
      return 16
    case 'bigint':
      return 20
    case 'object':
      if (value === null || Array.isArray(value)) return 0
      if (value instanceof Date) return 1184
      if (value instanceof Uint8Array) return 17
      return (value as Json).jsonText === undefined ? 0 : jsonbOid
    default:
      return 0
  }
}

export function encode(value: unknown): Encoded {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'bigint':
      return String(value)
    case 'boolean':
      return value ? 't' : 'f'
    case 'object':
      if (value === null) return null
      if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? value : Buffer.from(value)
      return Array.isArray(value) ? arrayText(value) : objectText(value)
    default:
      throw new DatabaseUseError(`A parameter of a statement has the type ${typeof value}`)
  }
}

function objectText(value: object): string {
  if (value instanceof Date) return value.toISOString()
  const { jsonText } = value as Json
  return jsonText ?? JSON.stringify(value)
}

function arrayText(values: readonly unknown[]): string {
  let text = '{'
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ','
    text += elementText(values[i])
  }
  return `${text}}`
}

const specialCharacter = /[\\"]/
const specialCharacters = /[\\"]/g

function elementText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return specialCharacter.test(value) ? `"${value.replace(specialCharacters, '\\$&')}"` : `"${value}"`
    case 'number':
    case 'bigint':
      return String(value)
    case 'boolean':
      return value ? 't' : 'f'
    case 'object':
      if (value === null) return 'NULL'
      if (Array.isArray(value)) return arrayText(value)
      if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value).toString('hex')}"`
      return `"${objectText(value).replace(specialCharacters, '\\$&')}"`
    default:
      throw new DatabaseUseError(`An element of an array parameter has the type ${typeof value}`)
  }
}

export type Parser = (text: string) => unknown

const toBoolean: Parser = (text) => text === 't'
const toBytes: Parser = (text) => Buffer.from(text.slice(2), 'hex')
/**
 * Parses `2031-01-02 03:04:05.678+00`, the format in which PostgreSQL prints UTC times. It is six times as fast as JavaScript's own parser.
 */
const toDate: Parser = (text) => {
  if (text.charCodeAt(4) !== 0x2d || text.charCodeAt(10) !== 0x20 || !text.endsWith('+00')) return new Date(text)
  const twoDigits = (at: number) => (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48
  let milliseconds = 0
  for (let at = 20, placeValue = 100; placeValue >= 1 && at < text.length - 3; at++, placeValue /= 10)
    milliseconds += (text.charCodeAt(at) - 48) * placeValue
  const [year, month, day] = [twoDigits(0) * 100 + twoDigits(2), twoDigits(5) - 1, twoDigits(8)]
  // `Date.UTC` reads the year 99 as 1999.
  if (year < 100) return new Date(`${text.replace(' ', 'T')}:00`)
  return new Date(Date.UTC(year, month, day, twoDigits(11), twoDigits(14), twoDigits(17), milliseconds))
}
const toJson: Parser = (text) => JSON.parse(text)
const unchanged: Parser = (text) => text

/**
 * Columns of these types are parsed; values of all other types stay text. bigint columns are parsed as numbers, because they contain counts
 * and sizes far below 2^53.
 */
const scalars: [parser: Parser, ...oids: number[]][] = [
  [toBoolean, 16],
  [toBytes, 17],
  [Number, 20, 21, 23, 26, 700, 701],
  [toDate, 1082, 1114, 1184],
  [toJson, 114, 3802],
]

/** Array types and their elements: bool, bytea, numbers, texts, dates, json, numeric, uuid, inet. */
const arrays: [array: number, element: number][] = [
  [1000, 16],
  [1001, 17],
  [1016, 20],
  [1005, 21],
  [1007, 23],
  [1028, 26],
  [1021, 700],
  [1022, 701],
  [1182, 1082],
  [1115, 1114],
  [1185, 1184],
  [199, 114],
  [3807, 3802],
  [1002, 18],
  [1003, 19],
  [1009, 25],
  [1014, 1042],
  [1015, 1043],
  [1231, 1700],
  [2951, 2950],
  [1041, 869],
  [1187, 1186],
]

const parsers = new Map<number, Parser>()
for (const [parser, ...oids] of scalars) for (const oid of oids) parsers.set(oid, parser)
for (const [array, element] of arrays) {
  const parseElement = parsers.get(element) ?? unchanged
  parsers.set(array, (text) => parseArray(text, parseElement))
}

/** Returns the parser of a type; undefined if the column stays text. */
export const parserOf = (oid: number): Parser | undefined => parsers.get(oid)

/** Parses PostgreSQL's text of an array: `{1,NULL,"a \"b\"",{…}}`, preceded by its bounds if they do not start at 1. */
export function parseArray(text: string, parseElement: Parser): unknown[] {
  if (text === '{}') return []
  if (!text.includes('"') && text.lastIndexOf('{') === 0)
    return text
      .slice(1, -1)
      .split(',')
      .map((part) => (part === 'NULL' ? null : parseElement(part)))
  let position = text.charCodeAt(0) === 0x5b /* [ */ ? text.indexOf('=') + 1 : 0

  function readQuoted(): string {
    let part = ''
    let from = ++position
    for (; text.charCodeAt(position) !== 0x22 /* " */; position++)
      if (text.charCodeAt(position) === 0x5c /* \ */) {
        part += text.slice(from, position)
        from = ++position
      }
    return part + text.slice(from, position++)
  }
  function readUnquoted(): unknown {
    const from = position
    for (
      let code = text.charCodeAt(position);
      code !== 0x2c /* , */ && code !== 0x7d /* } */;
      code = text.charCodeAt(position)
    )
      position++
    const part = text.slice(from, position)
    return part === 'NULL' ? null : parseElement(part)
  }
  function readArray(): unknown[] {
    const elements: unknown[] = []
    position++
    while (text.charCodeAt(position) !== 0x7d /* } */) {
      const code = text.charCodeAt(position)
      if (code === 0x2c /* , */) position++
      else if (code === 0x7b /* { */) elements.push(readArray())
      else elements.push(code === 0x22 /* " */ ? parseElement(readQuoted()) : readUnquoted())
    }
    position++
    return elements
  }
  return readArray()
}
