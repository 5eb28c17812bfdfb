/** Parses the operators on one field, such as `{ $gt: 5, $lt: 7 }`. A constant means equality. */
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

/** The value that operators test: the application version, `metadata`, or the value at a path. */
export interface Target {
  test(test: Test): Node
  /** True for `metadata` itself, whose elements are the members. */
  ofMembers?: true
}

/** Functions of the parser that operators call. The first three throw if the query exceeds a limit. */
export interface Parser {
  countOperator(path: string): void
  addPatternSize(patternSize: number, path: string): void
  checkDepth(depth: number, path: string): void
  /** Parses the inside of `$elemMatch`. */
  elementWhere(operand: unknown, target: Target, path: string, depth: number): { objects: boolean; where: Node }
}

/** One occurrence of an operator in a query, such as `$gt: 5`. */
interface Occurrence {
  parser: Parser
  /** The value after the operator's name. */
  operand: unknown
  target: Target
  /** The path in the query, for error messages. */
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
  $not({ parser, operand, target, path, depth }) {
    if (!hasOperators(operand)) throw new DocumentQueryError(path, 'operators are expected here, such as {"$gt": 5}')
    return not(readOperators(parser, operand, target, path, depth + 1))
  },
  $exists({ operand, target, path }) {
    if (typeof operand !== 'boolean' && typeof operand !== 'number')
      throw new DocumentQueryError(path, 'true or false is expected')
    const exists = target.test({ is: 'exists' })
    return operand ? exists : not(exists)
  },
  $regex: matchesRegex,
  $options({ path, siblings }) {
    if (!('$regex' in siblings)) throw new DocumentQueryError(path, '$options needs $regex')
    return constant(true)
  },
  $elemMatch: someElement,
  $all: containsAll,
  $size({ operand, target, path }) {
    if (!Number.isSafeInteger(operand) || (operand as number) < 0)
      throw new DocumentQueryError(path, 'a whole number from 0 is expected')
    return target.test({ is: 'size', size: operand as number })
  },
  $mod({ operand, target, path }) {
    const [divisor, remainder, ...more] = Array.isArray(operand) ? operand.map(truncated) : []
    if (more.length || !Number.isSafeInteger(divisor) || !Number.isSafeInteger(remainder))
      throw new DocumentQueryError(path, 'two whole numbers are expected: [divisor, remainder]')
    if (!divisor) throw new DocumentQueryError(path, 'the divisor is 0')
    return target.test({ is: 'mod', divisor: divisor!, remainder: remainder! })
  },
  $type: ({ operand, target, path }) => target.test({ is: 'type', types: typesOf(operand, path) }),
}

/** Parses the condition on one field: an object with operators, or a constant, which means equality. */
export function readCondition(parser: Parser, operand: unknown, target: Target, path: string, depth: number): Node {
  if (hasOperators(operand)) return readOperators(parser, operand, target, path, depth)
  parser.countOperator(path)
  return equals({ operand, target, path })
}

function readOperators(parser: Parser, operand: JsonObject, target: Target, path: string, depth: number): Node {
  parser.checkDepth(depth, path)
  return all(
    ...Object.entries(operand).map(([name, value]) => {
      const operatorPath = childPath(path, name)
      parser.countOperator(operatorPath)
      if (!Object.hasOwn(operators, name))
        throw new DocumentQueryError(
          operatorPath,
          name.startsWith('$') ? `there is no operator ${name} here` : 'operators and fields cannot be mixed',
        )
      return operators[name]!({ parser, operand: value, target, path: operatorPath, depth, siblings: operand })
    }),
  )
}

function equals({ operand, target, path }: Pick<Occurrence, 'operand' | 'target' | 'path'>): Node {
  return target.test({ is: 'in', values: [readLiteral(operand, target, path)] })
}

function oneOf({ operand, target, path }: Occurrence): Node {
  const values = requireList(operand, path).map((value, index) => readLiteral(value, target, childPath(path, index)))
  return values.length ? target.test({ is: 'in', values }) : constant(false)
}

function compares(by: Comparison): Operator {
  return ({ operand, target, path }) => {
    const to = checkLiteral(operand, path)
    // A comparison never matches values of different types. Null equals only null or a missing value, so only `$gte` and `$lte` can match
    // it.
    if (to === null) return by.length === 2 ? target.test({ is: 'in', values: [null] }) : constant(false)
    if (typeof to === 'object') throw new DocumentQueryError(path, 'a number, a text, true, false or null is expected')
    return target.test({ is: 'compare', by, to })
  }
}

function matchesRegex({ parser, operand, target, path, siblings }: Occurrence): Node {
  if (typeof operand !== 'string') throw new DocumentQueryError(path, 'a pattern is expected as text')
  const options = siblings.$options ?? ''
  if (typeof options !== 'string') throw new DocumentQueryError(path, '$options is a text of i, m, s and x')
  try {
    const regex = compileRegex(operand, options)
    parser.addPatternSize(regex.size, path)
    return target.test({ is: 'regex', regex })
  } catch (error) {
    throw error instanceof RegexError ? new DocumentQueryError(path, error.message) : error
  }
}

function someElement({ parser, operand, target, path, depth }: Omit<Occurrence, 'siblings'>): Node {
  const { objects, where } = parser.elementWhere(operand, target, path, depth + 1)
  return target.ofMembers ? someMember(where) : target.test({ is: 'element', where, objects })
}

function containsAll({ parser, operand, target, path, depth }: Occurrence): Node {
  const values = requireList(operand, path)
  // MongoDB: an empty $all matches nothing.
  if (!values.length) return constant(false)
  const nested = values.filter((value) => isObject(value) && '$elemMatch' in value)
  if (!nested.length)
    return all(...values.map((value, index) => equals({ operand: value, target, path: childPath(path, index) })))
  return all(
    ...values.map((value, index) => {
      const elementPath = childPath(path, index)
      parser.countOperator(elementPath)
      if (!isObject(value) || Object.keys(value).join() !== '$elemMatch')
        throw new DocumentQueryError(elementPath, '$all takes values, or only {"$elemMatch": …}')
      return someElement({
        parser,
        operand: value.$elemMatch,
        target,
        path: childPath(elementPath, '$elemMatch'),
        depth: depth + 1,
      })
    }),
  )
}

const truncated = (value: unknown) => (typeof value === 'number' ? Math.trunc(value) : Number.NaN)

const hasOperators = (value: unknown): value is JsonObject =>
  isObject(value) && Object.keys(value).some((name) => name.startsWith('$'))

function requireList(operand: unknown, path: string): unknown[] {
  if (!Array.isArray(operand)) throw new DocumentQueryError(path, 'a list is expected')
  if (operand.length > limits.listLength)
    throw new DocumentQueryError(path, `a list may have at most ${limits.listLength} values`)
  return operand
}

function readLiteral(operand: unknown, target: Target, path: string): Json {
  const value = checkLiteral(operand, path)
  if (target.ofMembers && Array.isArray(value))
    throw new DocumentQueryError(path, 'metadata has no order to compare: use $elemMatch, $all or $size')
  return value
}

function typesOf(operand: unknown, path: string): TypeName[] {
  const types = (Array.isArray(operand) ? operand : [operand]).flatMap((type): TypeName[] => {
    if (typeof type !== 'string' && typeof type !== 'number') throw new DocumentQueryError(path, 'a type is expected')
    if (foreignTypes.has(type)) return []
    return [Object.hasOwn(typeNames, type) ? typeNames[type]! : unknownType(path)]
  })
  if (Array.isArray(operand) && !operand.length) throw new DocumentQueryError(path, 'at least one type is expected')
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
