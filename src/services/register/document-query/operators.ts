/** Parses the operators on one field: `{ $gt: 5, $lt: 7 }`, or a constant, which means equality. */
import { compileRegex, RegexError } from '../regex/regex.ts'
import { checkLiteral, childPath, DocumentQueryError, limits } from './limits.ts'
import { someMember } from './members.ts'
import {
  all,
  type Comparison,
  constant,
  isObject,
  type Json,
  type JsonObject,
  type Node,
  not,
  type Test,
  type TypeName,
} from './query.ts'
import { foreignTypes, typeNames } from './types.ts'

/** The value that operators test: the application version, `metadata`, or a path. */
export interface Target {
  test(test: Test): Node
  /** True for `metadata` itself, whose elements are its members. */
  ofMembers?: true
}

/** Functions of the parser that operators need. The first three throw when the query exceeds a limit. */
export interface Parser {
  countOperator(path: string): void
  addPatternSize(patternSize: number, path: string): void
  checkDepth(depth: number, path: string): void
  /** Parses the inside of `$elemMatch`. */
  elementWhere(given: unknown, target: Target, path: string, depth: number): { objects: boolean; where: Node }
}

/** One occurrence of an operator in a query, such as `$gt: 5`. */
interface Occurrence {
  parser: Parser
  /** The value after the operator's name. */
  given: unknown
  target: Target
  /** The place in the query, for error messages. */
  path: string
  depth: number
  /** The object that contains the operator. */
  siblings: JsonObject
}

type Operator = (occurrence: Occurrence) => Node

const operators: Record<string, Operator> = {
  $eq: equals,
  $ne: (occurrence) => not(equals(occurrence)),
  $in: oneOf,
  $nin: (occurrence) => not(oneOf(occurrence)),
  $gt: compares('>'),
  $gte: compares('>='),
  $lt: compares('<'),
  $lte: compares('<='),
  $not({ parser, given, target, path, depth }) {
    if (!hasOperators(given)) throw new DocumentQueryError(path, 'operators are expected here, such as {"$gt": 5}')
    return not(readOperators(parser, given, target, path, depth + 1))
  },
  $exists({ given, target, path }) {
    if (typeof given !== 'boolean' && typeof given !== 'number')
      throw new DocumentQueryError(path, 'true or false is expected')
    const exists = target.test({ is: 'exists' })
    return given ? exists : not(exists)
  },
  $regex: matchesRegex,
  $options({ path, siblings }) {
    if (!('$regex' in siblings)) throw new DocumentQueryError(path, '$options needs $regex')
    return constant(true)
  },
  $elemMatch: someElement,
  $all: containsAll,
  $size({ given, target, path }) {
    if (!Number.isSafeInteger(given) || (given as number) < 0)
      throw new DocumentQueryError(path, 'a whole number from 0 is expected')
    return target.test({ is: 'size', size: given as number })
  },
  $mod({ given, target, path }) {
    const [divisor, remainder, ...more] = Array.isArray(given) ? given.map(truncated) : []
    if (more.length || !Number.isSafeInteger(divisor) || !Number.isSafeInteger(remainder))
      throw new DocumentQueryError(path, 'two whole numbers are expected: [divisor, remainder]')
    if (!divisor) throw new DocumentQueryError(path, 'the divisor is 0')
    return target.test({ is: 'mod', divisor: divisor!, remainder: remainder! })
  },
  $type: ({ given, target, path }) => target.test({ is: 'type', types: typesOf(given, path) }),
}

/** Parses the condition on one field: an object with operators, or a constant, which means equality. */
export function readCondition(parser: Parser, given: unknown, target: Target, path: string, depth: number): Node {
  if (hasOperators(given)) return readOperators(parser, given, target, path, depth)
  parser.countOperator(path)
  return equals({ given, target, path })
}

function readOperators(parser: Parser, given: JsonObject, target: Target, path: string, depth: number): Node {
  parser.checkDepth(depth, path)
  return all(
    ...Object.entries(given).map(([name, value]) => {
      const at = childPath(path, name)
      parser.countOperator(at)
      if (!Object.hasOwn(operators, name))
        throw new DocumentQueryError(
          at,
          name.startsWith('$') ? `there is no operator ${name} here` : 'operators and fields cannot be mixed',
        )
      return operators[name]!({ parser, given: value, target, path: at, depth, siblings: given })
    }),
  )
}

function equals({ given, target, path }: Pick<Occurrence, 'given' | 'target' | 'path'>): Node {
  return target.test({ is: 'in', values: [readLiteral(given, target, path)] })
}

function oneOf({ given, target, path }: Occurrence): Node {
  const values = requireList(given, path).map((value, index) => readLiteral(value, target, childPath(path, index)))
  return values.length ? target.test({ is: 'in', values }) : constant(false)
}

function compares(by: Comparison): Operator {
  return ({ given, target, path }) => {
    const to = checkLiteral(given, path)
    // Values of different types never compare. Null equals only null or a missing value, so only "or equal" can match it.
    if (to === null) return by.length === 2 ? target.test({ is: 'in', values: [null] }) : constant(false)
    if (typeof to === 'object') throw new DocumentQueryError(path, 'a number, a text, true, false or null is expected')
    return target.test({ is: 'compare', by, to })
  }
}

function matchesRegex({ parser, given, target, path, siblings }: Occurrence): Node {
  if (typeof given !== 'string') throw new DocumentQueryError(path, 'a pattern is expected as text')
  const options = siblings.$options ?? ''
  if (typeof options !== 'string') throw new DocumentQueryError(path, '$options is a text of i, m, s and x')
  try {
    const regex = compileRegex(given, options)
    parser.addPatternSize(regex.size, path)
    return target.test({ is: 'regex', regex })
  } catch (error) {
    throw error instanceof RegexError ? new DocumentQueryError(path, error.message) : error
  }
}

function someElement({ parser, given, target, path, depth }: Omit<Occurrence, 'siblings'>): Node {
  const { objects, where } = parser.elementWhere(given, target, path, depth + 1)
  return target.ofMembers ? someMember(where) : target.test({ is: 'element', where, objects })
}

function containsAll({ parser, given, target, path, depth }: Occurrence): Node {
  const values = requireList(given, path)
  // MongoDB: an empty $all matches nothing.
  if (!values.length) return constant(false)
  const nested = values.filter((value) => isObject(value) && '$elemMatch' in value)
  if (!nested.length)
    return all(...values.map((value, index) => equals({ given: value, target, path: childPath(path, index) })))
  return all(
    ...values.map((value, index) => {
      const at = childPath(path, index)
      parser.countOperator(at)
      if (!isObject(value) || Object.keys(value).join() !== '$elemMatch')
        throw new DocumentQueryError(at, '$all takes values, or only {"$elemMatch": …}')
      return someElement({
        parser,
        given: value.$elemMatch,
        target,
        path: childPath(at, '$elemMatch'),
        depth: depth + 1,
      })
    }),
  )
}

const truncated = (given: unknown) => (typeof given === 'number' ? Math.trunc(given) : Number.NaN)

const hasOperators = (given: unknown): given is JsonObject =>
  isObject(given) && Object.keys(given).some((name) => name.startsWith('$'))

function requireList(given: unknown, path: string): unknown[] {
  if (!Array.isArray(given)) throw new DocumentQueryError(path, 'a list is expected')
  if (given.length > limits.listLength)
    throw new DocumentQueryError(path, `a list may have ${limits.listLength} values`)
  return given
}

function readLiteral(given: unknown, target: Target, path: string): Json {
  const value = checkLiteral(given, path)
  if (target.ofMembers && Array.isArray(value))
    throw new DocumentQueryError(path, 'metadata has no order to compare: use $elemMatch, $all or $size')
  return value
}

function typesOf(given: unknown, path: string): TypeName[] {
  const types = (Array.isArray(given) ? given : [given]).flatMap((type): TypeName[] => {
    if (typeof type !== 'string' && typeof type !== 'number') throw new DocumentQueryError(path, 'a type is expected')
    if (foreignTypes.has(type)) return []
    return [Object.hasOwn(typeNames, type) ? typeNames[type]! : unknownType(path)]
  })
  if (Array.isArray(given) && !given.length) throw new DocumentQueryError(path, 'at least one type is expected')
  return types
}

function unknownType(path: string): never {
  throw new DocumentQueryError(
    path,
    `there is no such type; the types are ${Object.keys(typeNames)
      .filter((name) => !/^\d/.test(name))
      .join(', ')}`,
  )
}
