/**
 * Reference JSON parser. Tests compare its results with the results of the fast parser of the platform. The reference parser is slow,
 * because it parses first and then visits every value.
 */
import { isUtf8 } from 'node:buffer'
import { InvalidRequest, invalidField, PlatformError } from '../../src/kernel/errors.ts'

const depthLimit = 64

/** Counts brackets in the bytes, so that deeply nested input never reaches `JSON.parse`. */
function isTooDeep(bytes: Buffer): boolean {
  let depth = 0
  let inText = false
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!
    if (inText) {
      if (byte === 0x5c) index++
      else if (byte === 0x22) inText = false
    } else if (byte === 0x22) inText = true
    // { and [, then } and ]
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > depthLimit) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

/** Matches numbers that may lose precision as a double: 16 or more digits, or an exponent of three or more digits. */
const suspiciousNumber = /\d{16}|\d[eE]\+?\d{3}/

/** Returns whether the value of the double differs from the number in the text. */
const losesPrecision = (source: string, value: number) =>
  !Number.isFinite(value) || (/^-?\d+$/.test(source) && String(value) !== source && BigInt(source) !== BigInt(value))

const checkNumbers =
  (part: string, roundIntegers: boolean) =>
  (key: string, value: unknown, context?: { source?: string }): unknown => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined) return value
    if (roundIntegers ? Number.isFinite(value) : !losesPrecision(source, value)) return value
    throw invalidField(key || part, `${source.slice(0, 40)} is not a number that can be kept exactly`)
  }

const badText = 'expected text without NUL and lone surrogates'
const isUnstorable = (text: string) => !text.isWellFormed() || text.includes('\0')

/** True if the JSON is data of the user, so that the key `__proto__` is allowed. `inside`: allowed everywhere except at the top level. */
type PlainData = boolean | 'inside'

/** Returns the path of the first text that cannot be stored, or of the first `__proto__` that is not allowed. */
function findInvalidText(
  value: unknown,
  path: string,
  plainData: PlainData,
): { path: string; problem: string } | undefined {
  if (typeof value === 'string') return isUnstorable(value) ? { path, problem: badText } : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const memberPath = path === '' ? key : `${path}.${key}`
    if (key === '__proto__' && !(plainData === 'inside' ? path !== '' : plainData))
      return { path: memberPath, problem: 'this name is not allowed' }
    if (isUnstorable(key)) return { path, problem: badText }
    const found = findInvalidText(inner, memberPath, plainData)
    if (found) return found
  }
  return undefined
}

interface ParseOptions {
  plainData?: PlainData
  /** Name of the parsed text in error messages. */
  part?: string
  /** Rounds integers that a double cannot hold, instead of rejecting them. */
  roundIntegers?: boolean
}

export function referenceParseJson(
  bytes: Buffer,
  { plainData = false, part = 'body', roundIntegers = false }: ParseOptions = {},
): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw InvalidRequest({ problem: `${part}: expected valid UTF-8` })
  if (isTooDeep(bytes)) throw InvalidRequest({ problem: `${part}: nested deeper than ${depthLimit} levels` })
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = suspiciousNumber.test(text) ? JSON.parse(text, checkNumbers(part, roundIntegers)) : JSON.parse(text)
  } catch (error) {
    if (error instanceof PlatformError) throw error
    throw InvalidRequest({ problem: `${part}: malformed JSON, ${(error as Error).message}` })
  }
  // In JSON, NUL and lone surrogates can only be written as `\u` escapes. A text without `\u` needs no check of its values.
  if (text.includes('\\u') || text.includes('"__proto__"')) {
    const invalid = findInvalidText(value, '', plainData)
    if (invalid) throw invalidField(invalid.path || part, invalid.problem)
  }
  return value
}
