/** Reads JSON bodies: valid UTF-8, bounded depth and cost, and nothing that PostgreSQL or a prototype could stumble over. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { InvalidRequest, invalidField } from '../errors.ts'
import { costMax, cutNumbersMax, flawsOf, hasMoreNames, nameAt, structureOf, weights } from './json-scan.ts'

export const bodyLimitBytes = 1024 * 1024
/** Of bodies with named fields; `anyJson` may be as large as a body can be. A route declares another in `bodyBytesMax`. */
const namedFieldsBytes = 256 * 1024

export const bodyLimitOf = ({
  bodyBytesMax,
  anyJson = false,
}: {
  bodyBytesMax?: number
  anyJson?: PlainData
}): number => bodyBytesMax ?? (anyJson === false ? namedFieldsBytes : bodyLimitBytes)

export const depthLimit = 64

/** Large enough that a double may not hold it. */
const longExponent = /[0-9][eE]\+?[0-9]{3}/
/** A name `__proto__`, with escapes or without. */
const protoName =
  /"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])(?:_|\\u005[fF]){2}"[ \t\r\n]*:/

const badText = 'expected text without NUL and lone surrogates'
const isBad = (text: string) => !text.isWellFormed() || text.includes('\0')

/** Where any JSON is the user's own, `__proto__` is a key like any other. `inside`: all but the names of the body itself. */
type PlainData = boolean | 'inside'

interface Trouble {
  /** From the inside out. */
  path: string[]
  problem: string
}

/** The first text that cannot be kept as it is, or the first `__proto__` that is not the user's own. */
function findTrouble(value: unknown, plainData: PlainData, isWhole = true): Trouble | undefined {
  if (typeof value === 'string') return isBad(value) ? { path: [], problem: badText } : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findTrouble(value[index], plainData, false)
      if (found) return below(String(index), found)
    }
    return undefined
  }
  const isProtoAllowed = plainData === 'inside' ? !isWhole : plainData
  for (const key of Object.keys(value)) {
    if (key === '__proto__' && !isProtoAllowed) return { path: [key], problem: 'this name is not allowed' }
    if (isBad(key)) return { path: [], problem: badText }
    const found = findTrouble((value as Record<string, unknown>)[key], plainData, isWhole && key === '')
    if (found) return below(key, found)
  }
  return undefined
}

const below = (key: string, { path, problem }: Trouble): Trouble => ({ path: [...path, key], problem })

const pathOf = ({ path }: Trouble) => path.reduceRight((outer, key) => (outer === '' ? key : `${outer}.${key}`), '')

/** The first of these numbers in the value. None may be there: where a name occurs twice, the parser keeps the last. */
function findNumber(value: unknown, numbers: Set<number>): number | undefined {
  if (typeof value === 'number') return numbers.has(value) ? value : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const found = findNumber(inner, numbers)
    if (found !== undefined) return found
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

export function parseJson(bytes: Buffer, { plainData = false, part = 'body', nearest = false }: Reading = {}): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw InvalidRequest({ problem: `${part}: expected valid UTF-8` })
  const { tooDeep, cost, names, hasLong } = structureOf(bytes, depthLimit)
  if (tooDeep) throw InvalidRequest({ problem: `${part}: nested deeper than ${depthLimit} levels` })
  const text = bytes.toString('utf8')
  const mayHaveFlaws = hasLong || text.includes('\\u') || longExponent.test(text)
  const flaws = mayHaveFlaws ? flawsOf(bytes, nearest) : undefined
  const left = costMax - cost - (flaws?.longNumbers ?? 0) * weights.longNumber
  if (left < 0 || (names * weights.newName > left && hasMoreNames(bytes, left / weights.newName))) throw tooMuch(part)

  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw InvalidRequest({ problem: `${part}: malformed JSON, ${(error as Error).message}` })
  }
  if (flaws && flaws.cutNumbers.length > 0) refuseCutNumbers(value, bytes, flaws.cutNumbers, part)
  // NUL and lone surrogates can only come by an escape: texts without one need no walk.
  if (flaws?.badEscape || (plainData !== true && protoName.test(text))) {
    const trouble = findTrouble(value, plainData)
    if (trouble) throw invalidField(pathOf(trouble) || part, trouble.problem)
  }
  return value
}

const tooMuch = (part: string) =>
  InvalidRequest({
    problem:
      `${part}: holds too many values; expected at most ${costMax}, where an array counts as ${weights.array}, a text as ` +
      `${weights.text}, an object as ${weights.object} and each new name as ${weights.newName}`,
  })

function refuseCutNumbers(value: unknown, bytes: Buffer, cut: number[], part: string) {
  const sources: string[] = []
  for (let i = 0; i < cut.length; i += 2) sources.push(bytes.toString('latin1', cut[i], cut[i + 1]))
  const numbers = sources.map(Number)
  const found = findNumber(value, new Set(numbers))
  if (found === undefined && sources.length < cutNumbersMax) return
  const first = Math.max(0, numbers.indexOf(found!))
  throw invalidField(
    nameAt(bytes, cut[2 * first]!) || part,
    `${sources[first]!.slice(0, 40)} is not a number that can be kept exactly`,
  )
}

export function readJsonBodies(app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(/^application\/(?:[\w.+-]+\+)?json\b/, { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      request.emptyBody = bytes.length === 0
      const { anyJson: plainData = false } = request.routeOptions.config
      done(null, parseJson(bytes as Buffer, { plainData }))
    } catch (error) {
      done(error as Error)
    }
  })
}
