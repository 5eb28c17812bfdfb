/** Reads JSON as the platform did before it checked texts: slowly, by walking through every value. The reference for the quick way. */
import { isUtf8 } from 'node:buffer'
import { InvalidRequest, invalidField, PlatformError } from '../../src/kernel/errors.ts'

const depthLimit = 64

/** Counted on the bytes, before the parser spends anything on a bomb of brackets. */
function tooDeep(bytes: Buffer): boolean {
  let depth = 0
  let inText = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (inText) {
      if (byte === 0x5c) i++
      else if (byte === 0x22) inText = false
    } else if (byte === 0x22) inText = true
    // { and [, then } and ]
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > depthLimit) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

/** Long enough, or with an exponent large enough, that a double may not hold it. */
const suspiciousNumber = /\d{16}|\d[eE]\+?\d{3}/

/** Nothing is silently cut: a number that would come back as another one is refused. */
const losesPrecision = (source: string, value: number) =>
  !Number.isFinite(value) || (/^-?\d+$/.test(source) && String(value) !== source && BigInt(source) !== BigInt(value))

const checkNumbers =
  (part: string, nearest: boolean) =>
  (key: string, value: unknown, context?: { source?: string }): unknown => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined) return value
    if (nearest ? Number.isFinite(value) : !losesPrecision(source, value)) return value
    throw invalidField(key || part, `${source.slice(0, 40)} is not a number that can be kept exactly`)
  }

const badText = 'expected text without NUL and lone surrogates'
const isBad = (text: string) => !text.isWellFormed() || text.includes('\0')

/** Where any JSON is the user's own, `__proto__` is a key like any other. `inside`: all but the names of the body itself. */
type PlainData = boolean | 'inside'

/** The path of the first text that cannot be kept as it is, or of the first `__proto__` that is not the user's own. */
function findInvalidText(
  value: unknown,
  path: string,
  plainData: PlainData,
): { path: string; problem: string } | undefined {
  if (typeof value === 'string') return isBad(value) ? { path, problem: badText } : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const where = path === '' ? key : `${path}.${key}`
    if (key === '__proto__' && !(plainData === 'inside' ? path !== '' : plainData))
      return { path: where, problem: 'this name is not allowed' }
    if (isBad(key)) return { path, problem: badText }
    const found = findInvalidText(inner, where, plainData)
    if (found) return found
  }
  return undefined
}

interface Reading {
  plainData?: PlainData
  /** What a message about the whole calls it. */
  part?: string
  /** An integer that a double cannot hold becomes the nearest one that it can. */
  nearest?: boolean
}

export function referenceParseJson(
  bytes: Buffer,
  { plainData = false, part = 'body', nearest = false }: Reading = {},
): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw InvalidRequest({ problem: `${part}: expected valid UTF-8` })
  if (tooDeep(bytes)) throw InvalidRequest({ problem: `${part}: nested deeper than ${depthLimit} levels` })
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = suspiciousNumber.test(text) ? JSON.parse(text, checkNumbers(part, nearest)) : JSON.parse(text)
  } catch (error) {
    if (error instanceof PlatformError) throw error
    throw InvalidRequest({ problem: `${part}: malformed JSON, ${(error as Error).message}` })
  }
  // NUL and lone surrogates can only come by an escape: texts without one need no walk.
  if (text.includes('\\u') || text.includes('"__proto__"')) {
    const trouble = findInvalidText(value, '', plainData)
    if (trouble) throw invalidField(trouble.path || part, trouble.problem)
  }
  return value
}
