import { bigIntegerOf } from './big-integer.ts'
import { countIteration, isSortedMap, keysOf, sortedItems } from './collections.ts'
import { boxElement } from './dynamic.ts'
import { illegalArgument, JavaThrow } from './errors.ts'
import { boxText, textOf } from './text.ts'
import { type Box, boxDouble, isJavaArray, javaClassOf } from './values.ts'

/** A document or a part of it, in the representation of scripts (values.ts). */
export type DocumentValue = unknown
export type DocumentMap = Map<unknown, unknown>

/** Maximum nesting of a document that is parsed or written. */
const depthMax = 256

/** The error for a text that is not JSON. `offset` is the position of the mistake. */
export class JsonError extends Error {
  readonly offset: number
  constructor(message: string, offset: number) {
    super(`${message} at offset ${offset}`)
    this.offset = offset
  }
}

interface Reader {
  text: string
  at: number
}

/**
 * Parses JSON so that integers keep 64 bits. Objects become Maps, integers become numbers or bigints, and fractions become doubles. Throws
 * `JsonError`.
 */
export function parseDocument(text: string): DocumentValue {
  const reader: Reader = { text, at: 0 }
  const value = readValue(reader, 0)
  skipSpace(reader)
  if (reader.at < text.length) throw new JsonError('unexpected text after the JSON value', reader.at)
  return value
}

function skipSpace(reader: Reader): number {
  const { text } = reader
  let code = text.charCodeAt(reader.at)
  while (code === 32 || code === 10 || code === 13 || code === 9) code = text.charCodeAt(++reader.at)
  return code
}

function readValue(reader: Reader, depth: number): unknown {
  if (depth > depthMax) throw new JsonError(`nested more than ${depthMax} levels deep`, reader.at)
  const code = skipSpace(reader)
  switch (code) {
    case 34:
      return readString(reader)
    case 123:
      return readObject(reader, depth)
    case 91:
      return readArray(reader, depth)
    case 116:
      return readWord(reader, 'true', true)
    case 102:
      return readWord(reader, 'false', false)
    case 110:
      return readWord(reader, 'null', null)
    default:
      return readNumber(reader)
  }
}

function readWord(reader: Reader, word: string, value: boolean | null): boolean | null {
  if (!reader.text.startsWith(word, reader.at)) throw new JsonError('unexpected character', reader.at)
  reader.at += word.length
  return value
}

function readString(reader: Reader): string {
  const { text } = reader
  const start = reader.at + 1
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    if (code === 34) {
      reader.at = at + 1
      return text.slice(start, at)
    }
    if (code === 92 || code < 32 || Number.isNaN(code)) return readEscapedString(reader, start)
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these
const rest = /(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

function readEscapedString(reader: Reader, start: number): string {
  rest.lastIndex = start
  if (!rest.test(reader.text)) throw new JsonError('the string is not valid', start - 1)
  reader.at = rest.lastIndex
  return JSON.parse(reader.text.slice(start - 1, reader.at)) as string
}

function readObject(reader: Reader, depth: number): DocumentMap {
  const map: DocumentMap = new Map()
  reader.at++
  if (skipSpace(reader) === 125) {
    reader.at++
    return map
  }
  for (;;) {
    if (skipSpace(reader) !== 34) throw new JsonError('a field name is expected', reader.at)
    const key = readString(reader)
    if (skipSpace(reader) !== 58) throw new JsonError('a colon is expected', reader.at)
    reader.at++
    map.set(key, readValue(reader, depth + 1))
    const code = skipSpace(reader)
    reader.at++
    if (code === 125) return map
    if (code !== 44) throw new JsonError('a comma or } is expected', reader.at - 1)
  }
}

function readArray(reader: Reader, depth: number): unknown[] {
  const list: unknown[] = []
  reader.at++
  if (skipSpace(reader) === 93) {
    reader.at++
    return list
  }
  for (;;) {
    list.push(readValue(reader, depth + 1))
    const code = skipSpace(reader)
    reader.at++
    if (code === 93) return list
    if (code !== 44) throw new JsonError('a comma or ] is expected', reader.at - 1)
  }
}

const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
/** Number of digits up to which every integer fits into an int (32 bits). */
const intDigits = 9
/** Maximum number of digits of a number. Longer numbers would take long to convert. */
const digitsMax = 1000

/** Reads an integer of up to nine digits without a regular expression. Returns undefined for any other number. */
function readInt(reader: Reader): number | undefined {
  const { text, at: start } = reader
  const isNegative = text.charCodeAt(start) === 45
  const first = isNegative ? start + 1 : start
  let [at, value] = [first, 0]
  let code = text.charCodeAt(at)
  for (; code >= 48 && code <= 57 && at - first <= intDigits; code = text.charCodeAt(++at))
    value = value * 10 + code - 48
  const digits = at - first
  const isOther = digits === 0 || digits > intDigits || code === 46 || code === 69 || code === 101
  if (isOther || (digits > 1 && text.charCodeAt(first) === 48)) return undefined
  // JSON allows -0, which becomes the int 0.
  reader.at = at
  return isNegative ? -value | 0 : value
}

function readNumber(reader: Reader): unknown {
  const int = readInt(reader)
  if (int !== undefined) return int
  number.lastIndex = reader.at
  const match = number.exec(reader.text)
  if (!match) throw new JsonError('unexpected character', reader.at)
  reader.at = number.lastIndex
  const text = match[0]
  if (text.length > digitsMax)
    throw new JsonError(`a number has more than ${digitsMax} digits`, reader.at - text.length)
  if (match[1] !== undefined || match[2] !== undefined) return boxDouble(Number(text))
  if (text.length < 10) return Number(text) | 0
  const value = BigInt(text)
  const small = Number(value)
  if ((small | 0) === small) return small
  return BigInt.asIntN(64, value) === value ? value : bigIntegerOf(value)
}

/** Converts a value that `JSON.parse` returned. Integers beyond 32 bits become longs. */
export function fromPlain(value: unknown): DocumentValue {
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return value
    return (value | 0) === value ? value | 0 : Number.isSafeInteger(value) ? BigInt(value) : value
  }
  if (Array.isArray(value)) return value.map(fromPlain)
  if (typeof value === 'object' && value !== null && !(value instanceof Map))
    return new Map(Object.entries(value).map(([key, item]) => [key, fromPlain(item)]))
  return value === undefined ? null : value
}

interface Writer {
  left: number
}

/** Maximum length of a written document, in characters. */
const writeMax = 16 * 1024 * 1024

/**
 * Writes a document as JSON. Throws `JavaThrow` if it refers to itself, is longer than `limit` characters, or contains a value without a
 * JSON form.
 */
export function writeDocument(value: DocumentValue, limit = writeMax): string {
  return write(value, { left: limit }, 0)
}

function write(value: unknown, writer: Writer, depth: number): string {
  switch (typeof value) {
    case 'string':
      take(writer, value.length + 2)
      return jsonOfText(value)
    case 'number':
      take(writer, 8)
      return (value | 0) === value ? String(value) : doubleJson(value)
    case 'bigint':
      take(writer, 8)
      return value.toString()
    case 'boolean':
      take(writer, 5)
      return value ? 'true' : 'false'
  }
  take(writer, 4)
  if (value === null || value === undefined) return 'null'
  if (depth > depthMax) throw illegalArgument('Iterable object is self-referencing itself or nested too deeply')
  if (value instanceof Map) return writeMap(value, writer, depth)
  if (Array.isArray(value)) return writeList(value, writer, depth)
  return writeObject(value as object, writer, depth)
}

function take(writer: Writer, characters: number): void {
  writer.left -= characters
  if (writer.left < 0) throw new JavaThrow('java.lang.OutOfMemoryError', 'The document is too large.', true)
}

/** Returns the JSON of a double. A double without decimals keeps its point: 5.0. */
function doubleJson(value: number): string {
  if (!Number.isFinite(value)) return `"${String(value)}"`
  const text = Object.is(value, -0) ? '-0' : String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}

/** Matches a text that JSON contains unchanged, as most texts are. */
const plainText = /^[ !#-[\]-~]*$/
/** Maximum length of a text that is compared with `plainText`. For longer texts, `JSON.stringify` is faster. */
const plainTextLength = 100

const jsonOfText = (text: string) =>
  text.length <= plainTextLength && plainText.test(text) ? `"${text}"` : JSON.stringify(text)

function writeMap(map: DocumentMap, writer: Writer, depth: number): string {
  if (!isSortedMap(map)) {
    // Iterating over the map takes half as long as reading its keys first.
    countIteration(map)
    let text = ''
    for (const [key, value] of map) text += writeField(text === '' ? '' : ',', key, value, writer, depth)
    return `{${text}}`
  }
  let text = ''
  for (const key of keysOf(map)) text += writeField(text === '' ? '' : ',', key, map.get(key), writer, depth)
  return `{${text}}`
}

function writeField(separator: string, key: unknown, value: unknown, writer: Writer, depth: number): string {
  const name = typeof key === 'string' ? key : textOf(key)
  take(writer, name.length + 4)
  return `${separator}${jsonOfText(name)}:${write(value, writer, depth + 1)}`
}

function writeList(list: unknown[], writer: Writer, depth: number): string {
  let text = '['
  for (let index = 0; index < list.length; index++)
    text += (index > 0 ? ',' : '') + write(list[index], writer, depth + 1)
  return `${text}]`
}

const dateClasses = /^java\.time\./

function writeObject(value: object, writer: Writer, depth: number): string {
  if ('box' in value) {
    const box = value as Box
    if (box.box === 'char') return JSON.stringify(boxText(box))
    return box.box === 'float' || box.box === 'double'
      ? doubleJson(box.box === 'float' ? Number(boxText(box)) : box.value)
      : String(box.value)
  }
  if (value instanceof Set) return writeList(sortedItems(value), writer, depth)
  if (isJavaArray(value))
    return writeList(
      value.items.map((item) => boxElement(value, item)),
      writer,
      depth,
    )
  const javaClass = javaClassOf(value)
  if (javaClass === 'java.math.BigInteger' || javaClass === 'java.math.BigDecimal') return textOf(value)
  const iterate = (value as { iterate?: () => unknown[] }).iterate
  if (iterate) return writeList([...iterate.call(value)], writer, depth)
  if (dateClasses.test(javaClass) || javaClass.startsWith('java.lang.String'))
    return write(textOf(value), writer, depth)
  throw illegalArgument(`cannot write value of type [${javaClass}] to a document`)
}

/** Converts a value to plain JavaScript. Longs that a number cannot represent stay bigints. */
export function toPlain(value: DocumentValue, depth = 0): unknown {
  if (typeof value === 'bigint') return BigInt(Number(value)) === value ? Number(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth > depthMax) throw illegalArgument('Iterable object is self-referencing itself or nested too deeply')
  if (value instanceof Map) {
    const entries = keysOf(value).map((key) => [
      typeof key === 'string' ? key : textOf(key),
      toPlain(value.get(key), depth + 1),
    ])
    return Object.fromEntries(entries)
  }
  if (Array.isArray(value)) return value.map((item) => toPlain(item, depth + 1))
  if ('box' in value) return (value as Box).box === 'char' ? boxText(value as Box) : (value as Box).value
  return JSON.parse(writeDocument(value))
}
