/** Parses JSON bodies. Requires UTF-8 and limits depth and cost. Rejects `__proto__` and texts that PostgreSQL cannot store. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { InvalidRequest, invalidField, UnsupportedEncoding, UnsupportedMediaType } from '../errors.ts'
import {
  costMax,
  findFlaws,
  hasMoreNames,
  measureStructure,
  nameAt,
  unstorableNumbersMax,
  weights,
} from './json-scan.ts'

export const bodyLimitBytes = 1024 * 1024
/**
 * Maximum size of bodies with declared fields. `anyJson` bodies may have `bodyLimitBytes`. Routes override the maximum with `bodyBytesMax`.
 */
const namedFieldsBytes = 256 * 1024

export const bodyLimitOf = ({
  bodyBytesMax,
  anyJson = false,
}: {
  bodyBytesMax?: number
  anyJson?: PlainData
}): number => bodyBytesMax ?? (anyJson === false ? namedFieldsBytes : bodyLimitBytes)

export const depthLimit = 64

/** Matches an exponent that may exceed the range of doubles. */
const longExponent = /[0-9][eE]\+?[0-9]{3}/
/** Matches the name `__proto__`, even if it contains escapes. */
const protoName =
  /"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])(?:_|\\u005[fF]){2}"[ \t\r\n]*:/

const unstorableText = 'expected text without NUL and lone surrogates'
const isUnstorable = (text: string) => !text.isWellFormed() || text.includes('\0')

/**
 * True if the key `__proto__` is allowed, as in data that users define. With `inside`, it is allowed everywhere except in the outermost
 * object.
 */
type PlainData = boolean | 'inside'

interface Flaw {
  /** The keys from the value to the root; the innermost key is first. */
  path: string[]
  problem: string
}

/** Finds the first text that cannot be stored, or the first `__proto__` that is not allowed. */
function findFlaw(value: unknown, plainData: PlainData, isRoot = true): Flaw | undefined {
  if (typeof value === 'string') return isUnstorable(value) ? { path: [], problem: unstorableText } : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findFlaw(value[index], plainData, false)
      if (found) return prependKey(String(index), found)
    }
    return undefined
  }
  const isProtoAllowed = plainData === 'inside' ? !isRoot : plainData
  for (const key of Object.keys(value)) {
    if (key === '__proto__' && !isProtoAllowed) return { path: [key], problem: 'this name is not allowed' }
    if (isUnstorable(key)) return { path: [], problem: unstorableText }
    const found = findFlaw((value as Record<string, unknown>)[key], plainData, isRoot && key === '')
    if (found) return prependKey(key, found)
  }
  return undefined
}

const prependKey = (key: string, { path, problem }: Flaw): Flaw => ({ path: [...path, key], problem })

const pathOf = ({ path }: Flaw) => path.reduceRight((outer, key) => (outer === '' ? key : `${outer}.${key}`), '')

/**
 * Returns the first of these numbers that the parsed value contains. Returns undefined if it contains none: the parser drops a member
 * when a later member has the same name.
 */
function findNumber(value: unknown, numbers: Set<number>): number | undefined {
  if (typeof value === 'number') return numbers.has(value) ? value : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const found = findNumber(inner, numbers)
    if (found !== undefined) return found
  }
  return undefined
}

interface ParseOptions {
  plainData?: PlainData
  /** Name of the whole text in error messages. */
  part?: string
  /** Rounds an integer that a double cannot represent to the nearest double. */
  roundIntegers?: boolean
}

export function parseJson(
  bytes: Buffer,
  { plainData = false, part = 'body', roundIntegers = false }: ParseOptions = {},
): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw InvalidRequest({ problem: `${part}: expected valid UTF-8` })
  const { tooDeep, cost, names, hasLong } = measureStructure(bytes, depthLimit)
  if (tooDeep) throw InvalidRequest({ problem: `${part}: nested deeper than ${depthLimit} levels` })
  const text = bytes.toString('utf8')
  const mayHaveFlaws = hasLong || text.includes('\\u') || longExponent.test(text)
  const flaws = mayHaveFlaws ? findFlaws(bytes, roundIntegers) : undefined
  const remainingCost = costMax - cost - (flaws?.longNumbers ?? 0) * weights.longNumber
  if (
    remainingCost < 0 ||
    (names * weights.newName > remainingCost && hasMoreNames(bytes, remainingCost / weights.newName))
  )
    throw tooExpensive(part)

  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw InvalidRequest({ problem: `${part}: malformed JSON, ${(error as Error).message}` })
  }
  if (flaws && flaws.unstorableNumbers.length > 0) rejectUnstorableNumbers(value, bytes, flaws.unstorableNumbers, part)
  // NUL and lone surrogates can only be written as escapes, so texts without escapes need no search.
  if (flaws?.badEscape || (plainData !== true && protoName.test(text))) {
    const flaw = findFlaw(value, plainData)
    if (flaw) throw invalidField(fieldIn(part, pathOf(flaw)), flaw.problem)
  }
  return value
}

/** Parts that are a whole request or a whole device message. Field names inside them get no prefix in error messages. */
const wholeParts = new Set(['body', 'payload'])

/** Returns the name of a field for error messages. For JSON inside a field of the body, the name of that field is put in front. */
const fieldIn = (part: string, path: string) => (path === '' ? part : wholeParts.has(part) ? path : `${part}.${path}`)

const tooExpensive = (part: string) =>
  InvalidRequest({
    problem:
      `${part}: holds too many values; expected at most ${costMax}, where an array counts as ${weights.array}, a text as ` +
      `${weights.text}, an object as ${weights.object} and each new name as ${weights.newName}`,
  })

function rejectUnstorableNumbers(value: unknown, bytes: Buffer, positions: number[], part: string) {
  const sources: string[] = []
  for (let i = 0; i < positions.length; i += 2) sources.push(bytes.toString('latin1', positions[i], positions[i + 1]))
  const numbers = sources.map(Number)
  const found = findNumber(value, new Set(numbers))
  if (found === undefined && sources.length < unstorableNumbersMax) return
  const first = Math.max(0, numbers.indexOf(found!))
  throw invalidField(
    fieldIn(part, nameAt(bytes, positions[2 * first]!)),
    `${sources[first]!.slice(0, 40)} is not a number that can be kept exactly`,
  )
}

/** Rejects compressed bodies, which would otherwise be reported as malformed JSON. */
function rejectCompressed(given: string | undefined) {
  if (given !== undefined && given !== '' && given.toLowerCase() !== 'identity') throw UnsupportedEncoding({ given })
}

const compressions = /\b(?:gzip|deflate|br|zstd|compress)\b/i

/** Returns the error of a compressed body that is stored unchanged. Simple clients also send names of character sets in this header. */
export function compressionError({ headers }: Pick<FastifyRequest, 'headers'>): Error | undefined {
  const given = headers['content-encoding']
  if (given === undefined || !compressions.test(given)) return undefined
  return UnsupportedEncoding({ given: given.slice(0, 100) })
}

export function readJsonBodies(app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(/^application\/(?:[\w.+-]+\+)?json\b/, { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      request.emptyBody = bytes.length === 0
      rejectCompressed(request.headers['content-encoding'])
      const { anyJson: plainData = false } = request.routeOptions.config
      done(null, parseJson(bytes as Buffer, { plainData }))
    } catch (error) {
      done(error as Error)
    }
  })
  // A body of another type is rejected only if it has bytes; a chunked body may turn out to be empty.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => {
    const { mediaType: accepted = 'application/json' } = request.routeOptions.config
    if (bytes.length === 0) done(null)
    else done(UnsupportedMediaType({ given: request.headers['content-type'] ?? 'none', accepted }))
  })
}

/**
 * Removes the Content-Type of a request without a body. Java, Python and `curl -d ''` add one to an empty POST, which Fastify would answer
 * with 415.
 */
export function dropTypeOfMissingBody({ headers }: Pick<FastifyRequest, 'headers'>) {
  const length = headers['content-length']
  if (headers['transfer-encoding'] === undefined && (length === undefined || Number(length) === 0))
    delete headers['content-type']
}
