/** The operators on one field: `{ $gt: 5, $lt: 7 }`, or a constant, which means equality. */
import { compileRegex, RegexError } from '../regex/regex.ts'
import { below, checkLiteral, DocumentQueryError, limits } from './limits.ts'
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

/** What the operators speak of. */
export interface Target {
  test(test: Test): Node
  /** `metadata` itself: its elements are the members. */
  ofMembers?: true
}

interface Help {
  count(path: string): void
  weigh(patternSize: number, path: string): void
  checkDepth(depth: number, path: string): void
  elementWhere(given: unknown, target: Target, path: string, depth: number): { objects: boolean; where: Node }
}

type Operator = (given: unknown, target: Target, path: string, depth: number, siblings: JsonObject) => Node

const comparisons: Record<string, Comparison> = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' }

export function operatorsReader(help: Help) {
  const operators: Record<string, Operator> = {
    $eq: (given, target, path) => target.test({ is: 'in', values: [literal(given, target, path)] }),
    $ne: (given, target, path) => not(target.test({ is: 'in', values: [literal(given, target, path)] })),
    $in: (given, target, path) => oneOf(given, target, path),
    $nin: (given, target, path) => not(oneOf(given, target, path)),
    $not(given, target, path, depth) {
      if (!hasOperators(given)) throw new DocumentQueryError(path, 'operators are expected here, such as {"$gt": 5}')
      return not(readOperators(given, target, path, depth + 1))
    },
    $exists(given, target, path) {
      if (typeof given !== 'boolean' && typeof given !== 'number')
        throw new DocumentQueryError(path, 'true or false is expected')
      const exists = target.test({ is: 'exists' })
      return given ? exists : not(exists)
    },
    $regex(given, target, path, _, siblings) {
      if (typeof given !== 'string') throw new DocumentQueryError(path, 'a pattern is expected as text')
      const options = siblings.$options ?? ''
      if (typeof options !== 'string') throw new DocumentQueryError(path, '$options is a text of i, m, s and x')
      try {
        const regex = compileRegex(given, options)
        help.weigh(regex.size, path)
        return target.test({ is: 'regex', regex })
      } catch (error) {
        throw error instanceof RegexError ? new DocumentQueryError(path, error.message) : error
      }
    },
    $options(_, __, path, ___, siblings) {
      if (!('$regex' in siblings)) throw new DocumentQueryError(path, '$options needs $regex')
      return constant(true)
    },
    $elemMatch: (given, target, path, depth) => someElement(given, target, path, depth),
    $all(given, target, path, depth) {
      const values = list(given, path)
      // MongoDB: an empty $all matches nothing.
      if (!values.length) return constant(false)
      const nested = values.filter((value) => isObject(value) && '$elemMatch' in value)
      if (!nested.length)
        return all(...values.map((value, index) => operators.$eq!(value, target, below(path, index), depth, {})))
      return all(
        ...values.map((value, index) => {
          const at = below(path, index)
          help.count(at)
          if (!isObject(value) || Object.keys(value).join() !== '$elemMatch')
            throw new DocumentQueryError(at, '$all takes values, or only {"$elemMatch": …}')
          return someElement(value.$elemMatch, target, below(at, '$elemMatch'), depth + 1)
        }),
      )
    },
    $size(given, target, path) {
      if (!Number.isSafeInteger(given) || (given as number) < 0)
        throw new DocumentQueryError(path, 'a whole number from 0 is expected')
      return target.test({ is: 'size', size: given as number })
    },
    $mod(given, target, path) {
      const [divisor, remainder, ...more] = Array.isArray(given) ? given.map(whole) : []
      if (more.length || !Number.isSafeInteger(divisor) || !Number.isSafeInteger(remainder))
        throw new DocumentQueryError(path, 'two whole numbers are expected: [divisor, remainder]')
      if (!divisor) throw new DocumentQueryError(path, 'the divisor is 0')
      return target.test({ is: 'mod', divisor: divisor!, remainder: remainder! })
    },
    $type: (given, target, path) => target.test({ is: 'type', types: typesOf(given, path) }),
  }
  for (const [name, by] of Object.entries(comparisons))
    operators[name] = (given, target, path) => {
      const to = checkLiteral(given, path)
      // Comparisons stay within one type: of null there is only null (or nothing), so only "or equal" can hold.
      if (to === null) return by.length === 2 ? target.test({ is: 'in', values: [null] }) : constant(false)
      if (typeof to === 'object')
        throw new DocumentQueryError(path, 'a number, a text, true, false or null is expected')
      return target.test({ is: 'compare', by, to })
    }

  function someElement(given: unknown, target: Target, path: string, depth: number): Node {
    const { objects, where } = help.elementWhere(given, target, path, depth + 1)
    return target.ofMembers ? someMember(where) : target.test({ is: 'element', where, objects })
  }

  function readOperators(given: JsonObject, target: Target, path: string, depth: number): Node {
    help.checkDepth(depth, path)
    return all(
      ...Object.entries(given).map(([name, value]) => {
        const at = below(path, name)
        help.count(at)
        if (!Object.hasOwn(operators, name))
          throw new DocumentQueryError(
            at,
            name.startsWith('$') ? `there is no operator ${name} here` : 'operators and fields cannot be mixed',
          )
        return operators[name]!(value, target, at, depth, given)
      }),
    )
  }

  return (given: unknown, target: Target, path: string, depth: number): Node => {
    if (hasOperators(given)) return readOperators(given, target, path, depth)
    help.count(path)
    return operators.$eq!(given, target, path, depth, {})
  }
}

const whole = (given: unknown) => (typeof given === 'number' ? Math.trunc(given) : Number.NaN)

const hasOperators = (given: unknown): given is JsonObject =>
  isObject(given) && Object.keys(given).some((name) => name.startsWith('$'))

function list(given: unknown, path: string): unknown[] {
  if (!Array.isArray(given)) throw new DocumentQueryError(path, 'a list is expected')
  if (given.length > limits.listLength)
    throw new DocumentQueryError(path, `a list may have ${limits.listLength} values`)
  return given
}

const oneOf = (given: unknown, target: Target, path: string): Node => {
  const values = list(given, path).map((value, index) => literal(value, target, below(path, index)))
  return values.length ? target.test({ is: 'in', values }) : constant(false)
}

function literal(given: unknown, target: Target, path: string): Json {
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
