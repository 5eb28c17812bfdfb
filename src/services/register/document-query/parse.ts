/** Parses a MongoDB find filter over `{ application_version, metadata: [{ key, value }] }`. README.md describes the language. */

import { checkText, childPath, DocumentQueryError, limits } from './limits.ts'
import { someMember, testOfMember, testOfMetadata } from './members.ts'
import { type Parser, readCondition, type Target } from './operators.ts'
import { all, any, isObject, type JsonObject, type Node, not, type Query } from './query.ts'

export { DocumentQueryError } from './limits.ts'

/** Parses a query that is given as an object or as JSON text. Throws a DocumentQueryError. */
export function parse(query: unknown): Query {
  const source = typeof query === 'string' ? parseJson(query) : query
  if (!isObject(source)) throw new DocumentQueryError('', 'the query is not a JSON object')
  return { source, ...readDocument(source) }
}

function parseJson(text: string): unknown {
  if (text.length > limits.sourceLength) throw new DocumentQueryError('', 'the query is too long')
  try {
    return JSON.parse(text)
  } catch {
    throw new DocumentQueryError('', 'the query is not valid JSON')
  }
}

/** Resolves a field name. The meaning of a name depends on whether it is in the document, in a member or in an element of a value. */
type Scope = (name: string, path: string) => Target

function readDocument(source: JsonObject): Pick<Query, 'where' | 'patternSize'> {
  let operators = 0
  let patternSize = 0
  const countOperator = (path: string) => {
    if (++operators > limits.operators)
      throw new DocumentQueryError(path, `a query may have at most ${limits.operators} operators`)
  }
  const addPatternSize = (size: number, path: string) => {
    patternSize += size
    if (patternSize > limits.patternSize)
      throw new DocumentQueryError(path, 'the patterns are too complex together: their repetitions multiply')
  }
  const checkDepth = (depth: number, path: string) => {
    if (depth > limits.depth) throw new DocumentQueryError(path, `nested deeper than ${limits.depth}`)
  }

  function readFilter(filter: unknown, scope: Scope, path: string, depth: number): Node {
    checkDepth(depth, path)
    if (!isObject(filter)) throw new DocumentQueryError(path, 'an object is expected here')
    return all(
      ...Object.entries(filter).map(([name, condition]) => {
        const memberPath = childPath(path, name)
        if (!name.startsWith('$'))
          return readCondition(parser, condition, scope(name, memberPath), memberPath, depth + 1)
        countOperator(memberPath)
        if (name !== '$and' && name !== '$or' && name !== '$nor')
          throw new DocumentQueryError(memberPath, operatorProblem(name))
        if (!Array.isArray(condition) || !condition.length)
          throw new DocumentQueryError(memberPath, 'a list of at least one query is expected')
        const parts = condition.map((part, index) => readFilter(part, scope, childPath(memberPath, index), depth + 1))
        return name === '$and' ? all(...parts) : name === '$or' ? any(...parts) : not(any(...parts))
      }),
    )
  }

  /** Parses the inside of `$elemMatch`, which is either operators on the element itself or a query on its fields. */
  function elementWhere(operand: unknown, target: Target, path: string, depth: number) {
    if (!isObject(operand)) throw new DocumentQueryError(path, 'an object is expected here')
    const [first] = Object.keys(operand)
    const objects = !first?.startsWith('$') || first === '$and' || first === '$or' || first === '$nor'
    if (!objects) {
      const self: Target = target.ofMembers
        ? { test: testOfMember }
        : { test: (test) => ({ node: 'test', path: [], withElements: false, test }) }
      return { objects, where: readCondition(parser, operand, self, path, depth) }
    }
    return { objects, where: readFilter(operand, target.ofMembers ? memberScope : elementScope, path, depth) }
  }

  const parser: Parser = { countOperator, addPatternSize, checkDepth, elementWhere }
  return { where: readFilter(source, documentScope, '', 0), patternSize }
}

const version: Target = { test: (test) => ({ node: 'version', test }) }
const metadata: Target = { test: testOfMetadata, ofMembers: true }
const atPath = (path: string[]): Target => ({ test: (test) => ({ node: 'test', path, withElements: true, test }) })
const inMembers = (path: string[]): Target => ({
  test: (test) => someMember({ node: 'test', path, withElements: true, test }),
})

const versionNames = new Set(['application_version', 'applicationVersion', 'appVersion.name'])

const documentScope: Scope = (name, where) => {
  if (versionNames.has(name)) return version
  if (name === 'metadata') return metadata
  if (!name.startsWith('metadata.'))
    throw new DocumentQueryError(where, 'there is no such field: a query may name application_version and metadata')
  const path = readPath(name.slice('metadata.'.length), where, 1)
  // `key` and `value` have MongoDB's meaning; any other name is an alias for the metadata key of that name.
  return path[0] === 'key' || path[0] === 'value' ? inMembers(path) : atPath(path)
}

const memberScope: Scope = (name, where) => {
  const path = readPath(name, where)
  if (path[0] !== 'key' && path[0] !== 'value')
    throw new DocumentQueryError(where, 'a member of metadata has the fields key and value')
  return atPath(path)
}

const elementScope: Scope = (name, where) => atPath(readPath(name, where))

/** Splits a path into parts. The first `names` parts are metadata keys, which may be numbers. */
function readPath(name: string, fieldPath: string, names = 0): string[] {
  const parts = name.split('.')
  checkText(name, fieldPath)
  if (parts.length > limits.pathParts)
    throw new DocumentQueryError(fieldPath, `a path may have at most ${limits.pathParts} parts`)
  for (const [index, part] of parts.entries()) {
    if (!part) throw new DocumentQueryError(fieldPath, 'a part of the path is empty')
    if (part.startsWith('$')) throw new DocumentQueryError(fieldPath, 'a part of the path starts with $')
    if (index >= names && /^\d+$/.test(part))
      throw new DocumentQueryError(fieldPath, 'positions in arrays and fields named by numbers are not supported')
  }
  return parts
}

const unsupportedOperators = new Set(['$where', '$expr', '$function', '$accumulator', '$jsonSchema', '$text'])

const operatorProblem = (name: string) =>
  unsupportedOperators.has(name)
    ? `${name} is not supported: a query compares one metadata key or the application version with constants`
    : `there is no operator ${name} here`
