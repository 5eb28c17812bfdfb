/**
 * Translates a condition of a documentQuery to a PostgreSQL jsonpath predicate. The README ("In SQL") explains why the results are the same
 * as in MongoDB.
 */

import { conditionOf } from './evaluate.ts'
import { holdsForMissing, isObject, type Json, type Node, type Test, type TypeName } from './query.ts'
import { intLimit, longLimit } from './types.ts'

const quote = (text: string) => JSON.stringify(text)
const steps = (base: string, names: string[]) => base + names.map((name) => `.${quote(name)}`).join('')
const isType = (value: string, type: string) => `${value}.type() == "${type}"`
const and = (parts: string[]) => (parts.length ? `(${parts.join(' && ')})` : '(1 == 1)')
const or = (parts: string[]) => (parts.length ? `(${parts.join(' || ')})` : '(1 == 0)')

/** Returns the predicate for a condition. `base` is `$` for the metadata, or `@` for the member or element within a filter. */
export function predicateOf(node: Node, base = '$'): string {
  switch (node.node) {
    case 'constant':
      return node.holds ? and([]) : or([])
    case 'all':
      return and(node.parts.map((part) => predicateOf(part, base)))
    case 'any':
      return or(node.parts.map((part) => predicateOf(part, base)))
    case 'not':
      return `(!${predicateOf(node.part, base)})`
    case 'test':
      return existsAt(node.path, node.withElements, node.test, base)
    case 'member':
      return someMember(node.where)
    default:
      throw new Error(`${node.node} has no jsonpath`)
  }
}

/**
 * Returns the predicate that some member satisfies `where`. It uses `$.*` if possible, because `keyvalue()` creates an object for each
 * member and takes ten times as long.
 */
function someMember(where: Node): string {
  if (where.node === 'test' && where.withElements && where.path[0] === 'value') {
    const { path, test } = where
    const values = steps('$.*', path.slice(1))
    if (test.is === 'exists') return `(exists(${values}))`
    if (!testsArrayItself(test) && !holdsForArrays(test) && !holdsForMissing(test))
      return `(exists(${values} ? ${testPredicate(test, '@')}))`
  }
  return `(exists($.keyvalue() ? ${predicateOf(where, '@')}))`
}

function existsAt(path: string[], withElements: boolean, test: Test, base: string): string {
  if (!path.length) return testPredicate(test, base)
  const fullPath = steps(base, path)
  if (test.is === 'exists') return `(exists(${fullPath}))`
  const parts: string[] = []
  if (withElements && !testsArrayItself(test)) parts.push(`exists(${fullPath} ? ${testPredicate(test, '@')})`)
  if (!withElements || testsArrayItself(test) || holdsForArrays(test)) {
    const parent = steps(base, path.slice(0, -1))
    parts.push(`exists(${parent} ? (${isType('@', 'object')} && ${testPredicate(test, steps('@', path.slice(-1)))}))`)
  }
  if (holdsForMissing(test)) parts.push(...missingAt(path, base))
  return or(parts)
}

/** Returns predicates that hold if a path does not exist: an object lacks the name, or a value is neither an object nor an array. */
function missingAt(path: string[], base: string): string[] {
  return path.flatMap((name, index) => {
    const reached = steps(base, path.slice(0, index))
    const withoutName = `exists(${reached} ? (${isType('@', 'object')} && !exists(@.${quote(name)})))`
    return index === 0 ? [withoutName] : [withoutName, `exists(${reached}.type() ? (@ != "object" && @ != "array"))`]
  })
}

/** Returns whether a test applies to the array and not to its elements, as `$size` and `$elemMatch` do. */
const testsArrayItself = (test: Test) => test.is === 'size' || test.is === 'element'

const holdsForArrays = (test: Test) =>
  (test.is === 'in' && test.values.some(Array.isArray)) || (test.is === 'type' && test.types.includes('array'))

/** Returns the predicate for the test of one value. It is false if there is no value. */
function testPredicate(test: Test, value: string): string {
  switch (test.is) {
    case 'in':
      return isOneOf(test.values, value)
    case 'compare': {
      const type = typeof test.to as 'number' | 'string' | 'boolean'
      return and([isType(value, type), `${value} ${test.by} ${JSON.stringify(test.to)}`])
    }
    case 'exists':
      return `(exists(${value}))`
    case 'regex':
      // Without flag s, character classes in jsonpath do not match a newline.
      return and([isType(value, 'string'), `${value} like_regex ${quote(test.regex.sqlPattern)} flag "s"`])
    case 'mod': {
      const rest = (rounding: string) => `${value}.${rounding}() % ${Math.abs(test.divisor)} == ${test.remainder}`
      const limit = 2 ** 53
      return and([
        isType(value, 'number'),
        `${value} > -${limit} && ${value} < ${limit}`,
        or([`(${value} >= 0 && ${rest('floor')})`, `(${value} < 0 && ${rest('ceiling')})`]),
      ])
    }
    case 'type':
      return or(test.types.map((type) => isOfType(value, type)))
    case 'size':
      return and([isType(value, 'array'), `${value}.size() == ${test.size}`])
    case 'element':
      return and([isType(value, 'array'), `exists(${value} ? ${elementHolds(test.where, test.objects)})`])
  }
}

function elementHolds(where: Node, objects: boolean): string {
  const inner = predicateOf(where, '@')
  if (!objects) return inner
  const ofObject = `(${isType('@', 'object')} && ${inner})`
  return conditionOf(where)({}, undefined) ? `(${ofObject} || ${isType('@', 'array')})` : ofObject
}

function isOneOf(values: Json[], value: string): string {
  const ofType = (type: 'number' | 'string' | 'boolean') => {
    const same = values.filter((one) => typeof one === type)
    return same.length ? [and([isType(value, type), or(same.map((one) => `${value} == ${JSON.stringify(one)}`))])] : []
  }
  return or([
    ...(values.includes(null) ? [isType(value, 'null')] : []),
    ...ofType('string'),
    ...ofType('number'),
    ...ofType('boolean'),
    ...values.filter((one) => typeof one === 'object' && one !== null).map((one) => equals(value, one)),
  ])
}

/** Returns a predicate for equality. Structures are compared part by part, because jsonpath compares only scalars. */
function equals(value: string, to: Json): string {
  if (Array.isArray(to))
    return and([
      isType(value, 'array'),
      `${value}.size() == ${to.length}`,
      ...to.map((element, index) => equals(`${value}[${index}]`, element)),
    ])
  if (!isObject(to)) return isOneOf([to], value)
  const names = Object.keys(to)
  const others = names.length ? ` ? (${names.map((name) => `@.key != ${quote(name)}`).join(' && ')})` : ''
  return and([
    isType(value, 'object'),
    `!exists(${value}.keyvalue()${others})`,
    ...names.map((name) => equals(steps(value, [name]), to[name]!)),
  ])
}

function isOfType(value: string, type: TypeName): string {
  const int = `${value} >= -${intLimit} && ${value} < ${intLimit}`
  const whole = `${value}.floor() == ${value}`
  const inLong = `${value} > -${BigInt(longLimit)} && ${value} < ${BigInt(longLimit)}`
  switch (type) {
    case 'bool':
      return isType(value, 'boolean')
    case 'int':
      return and([isType(value, 'number'), whole, int])
    case 'long':
      return and([isType(value, 'number'), whole, inLong, `!(${int})`])
    case 'double':
      return and([isType(value, 'number'), `!(${whole} && ${inLong})`])
    default:
      return isType(value, type)
  }
}
