/** Limits of queries, and the error for an invalid query. */
import { isObject, type Json } from './query.ts'

export const limits = {
  depth: 16,
  operators: 200,
  listLength: 1000,
  textLength: 4096,
  sourceLength: 100_000,
  literalParts: 500,
  pathParts: 16,
  patternSize: 500,
}

/** Reports an invalid query. The HTTP response is a 400 with this message. */
export class DocumentQueryError extends Error {
  override readonly name = 'DocumentQueryError'
  /** The path in the query, such as `metadata.$elemMatch.value.$gt`; empty for the whole query. */
  readonly path: string
  readonly problem: string

  constructor(path: string, problem: string) {
    super(path ? `${path}: ${problem}` : problem)
    this.path = path
    this.problem = problem
  }
}

export const childPath = (path: string, name: string | number) => (path ? `${path}.${name}` : String(name))

export function checkText(text: string, path: string) {
  if (text.length > limits.textLength)
    throw new DocumentQueryError(path, `a text may have at most ${limits.textLength} characters`)
  // Metadata cannot contain NUL or half of a surrogate pair, and the database would reject the comparison.
  if (!text.isWellFormed() || text.includes('\0')) throw new DocumentQueryError(path, 'this is not valid text')
}

/** Checks a constant operand. It may be any JSON without operators. */
export function checkLiteral(literal: unknown, path: string): Json {
  let parts = 0
  const check = (value: unknown, valuePath: string, depth: number) => {
    if (++parts > limits.literalParts) throw new DocumentQueryError(path, 'the value to compare with is too large')
    if (depth > limits.depth) throw new DocumentQueryError(valuePath, `nested deeper than ${limits.depth}`)
    if (typeof value === 'string') checkText(value, valuePath)
    else if (typeof value === 'number') {
      if (!Number.isFinite(value)) throw new DocumentQueryError(valuePath, 'this number is out of range')
    } else if (Array.isArray(value))
      for (const [index, element] of value.entries()) check(element, childPath(valuePath, index), depth + 1)
    else if (isObject(value))
      for (const [name, field] of Object.entries(value)) {
        if (name.startsWith('$'))
          throw new DocumentQueryError(
            childPath(valuePath, name),
            'an operator cannot stand inside a value to compare with',
          )
        checkText(name, valuePath)
        check(field, childPath(valuePath, name), depth + 1)
      }
    else if (value !== null && typeof value !== 'boolean') throw new DocumentQueryError(valuePath, 'this is not JSON')
  }
  check(literal, path, 0)
  return literal as Json
}
