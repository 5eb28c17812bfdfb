/** Evaluates queries in memory. A query is compiled to closures, because each change of an endpoint evaluates many filters. */
import { sameJson } from '../../../kernel/same-json.ts'
import { type Comparison, isObject, type Json, type JsonObject, type Node, type Query, type Test } from './query.ts'
import { isOfType } from './types.ts'

export interface EndpointView {
  versionName: string | null
  metadata: JsonObject
}

type Check = (value: Json | undefined) => boolean
type Condition = (scope: Json | undefined, versionName: string | undefined) => boolean

/** Compiles a query to a function that tests an endpoint. */
export function compile(query: Query): (endpoint: EndpointView) => boolean {
  const condition = conditionOf(query.where)
  return (endpoint) => condition(endpoint.metadata, endpoint.versionName ?? undefined)
}

export const matches = (query: Query, endpoint: EndpointView) => compile(query)(endpoint)

export function conditionOf(node: Node): Condition {
  switch (node.node) {
    case 'constant':
      return () => node.holds
    case 'all': {
      const parts = node.parts.map(conditionOf)
      return (scope, version) => parts.every((part) => part(scope, version))
    }
    case 'any': {
      const parts = node.parts.map(conditionOf)
      return (scope, version) => parts.some((part) => part(scope, version))
    }
    case 'not': {
      const part = conditionOf(node.part)
      return (scope, version) => !part(scope, version)
    }
    case 'test': {
      const check = checkOf(node.test)
      return (scope) => someValueAtPath(scope, node.path, 0, node.withElements && testsElements(node.test), check)
    }
    case 'version': {
      const check = checkOf(node.test)
      return (_, version) => check(version)
    }
    case 'member': {
      const where = conditionOf(node.where)
      return (scope) => Object.entries(scope as JsonObject).some(([key, value]) => where({ key, value }, undefined))
    }
    case 'size':
      return (scope) => Object.keys(scope as JsonObject).length === node.size
  }
}

/**
 * Returns whether a test applies to the elements of an array. `$exists`, `$size` and `$elemMatch` test only the array itself; all other
 * tests also test its elements.
 */
const testsElements = (test: Test) => test.is !== 'exists' && test.is !== 'size' && test.is !== 'element'

function someValueAtPath(
  value: Json | undefined,
  path: string[],
  depth: number,
  withElements: boolean,
  check: Check,
): boolean {
  if (depth === path.length) return check(value) || (withElements && Array.isArray(value) && value.some(check))
  // Elements that are not objects are ignored. They do not count as missing values.
  if (Array.isArray(value))
    return value.some((element) => isObject(element) && someValueAtPath(element, path, depth, withElements, check))
  const name = path[depth]!
  if (isObject(value) && Object.hasOwn(value, name))
    return someValueAtPath(value[name], path, depth + 1, withElements, check)
  return check(undefined)
}

export function checkOf(test: Test): Check {
  switch (test.is) {
    case 'in':
      return equalityWith(test.values)
    case 'compare':
      return comparisonWith(test.by, test.to)
    case 'exists':
      return (value) => value !== undefined
    case 'regex':
      return (value) => typeof value === 'string' && test.regex.test(value)
    case 'mod':
      return (value) =>
        typeof value === 'number' &&
        Number.isSafeInteger(Math.trunc(value)) &&
        Math.trunc(value) % test.divisor === test.remainder
    case 'type':
      return (value) => value !== undefined && test.types.some((type) => isOfType(value, type))
    case 'size':
      return (value) => Array.isArray(value) && value.length === test.size
    case 'element': {
      const where = conditionOf(test.where)
      if (!test.objects) return (value) => Array.isArray(value) && value.some((element) => where(element, undefined))
      // MongoDB treats a nested array as an object whose field names are indexes. Queries cannot name indexes, so the array is tested as an
      // empty object.
      const ofArray = where({}, undefined)
      return (value) =>
        Array.isArray(value) &&
        value.some((element) => (isObject(element) ? where(element, undefined) : Array.isArray(element) && ofArray))
    }
  }
}

function equalityWith(values: Json[]): Check {
  const scalars = new Set<Json | undefined>(values.filter((value) => typeof value !== 'object' || value === null))
  if (scalars.has(null)) scalars.add(undefined)
  const structures = values.filter((value) => typeof value === 'object' && value !== null)
  if (!structures.length) return (value) => scalars.has(value)
  return (value) => scalars.has(value) || structures.some((structure) => sameJson(structure, value))
}

const comparisons: Record<Comparison, (order: number) => boolean> = {
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
}

function comparisonWith(by: Comparison, to: number | string | boolean): Check {
  const holds = comparisons[by]
  if (typeof to === 'string') return (value) => typeof value === 'string' && holds(compareText(value, to))
  return (value) => typeof value === typeof to && holds(Number(value) - Number(to))
}

/** Compares by code point, as MongoDB and PostgreSQL do. JavaScript's `<` compares UTF-16 units. */
export function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  for (let index = 0; index < end; index++) {
    const unitOfA = a.charCodeAt(index)
    const unitOfB = b.charCodeAt(index)
    if (unitOfA === unitOfB) continue
    const leftIsHalf = unitOfA >= 0xd800 && unitOfA <= 0xdfff
    const rightIsHalf = unitOfB >= 0xd800 && unitOfB <= 0xdfff
    return leftIsHalf === rightIsHalf ? unitOfA - unitOfB : leftIsHalf ? 1 : -1
  }
  return a.length - b.length
}
