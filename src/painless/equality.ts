import { classCast, nullPointer } from './errors.ts'
import { readText, steps } from './meter.ts'
import { type Box, isJavaArray, type JavaArray, javaClassOf, marksOf, numberKind, plainNumber } from './values.ts'

/*
 * Equality and order of references as Java defines them. operators.ts implements the operator `==`, which compares numbers of different
 * types by value.
 */

interface Comparing {
  equals?(other: unknown): boolean
  compareTo?(other: unknown): number
  key?(): string
}

/** Returns the result of `equals`: whether class and value are the same. */
export function equal(left: unknown, right: unknown): boolean {
  if (typeof left === 'string') readText(left.length)
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return Number.isNaN(left) && Number.isNaN(right)
  return equalObjects(left, right)
}

function equalObjects(left: object, right: object): boolean {
  steps(1)
  if (Array.isArray(left))
    return (
      Array.isArray(right) && left.length === right.length && left.every((item, index) => equal(item, right[index]))
    )
  if (left instanceof Map) return right instanceof Map && equalMaps(left, right)
  if (left instanceof Set && 'iterate' in right) return equalObjects(right, left)
  if (left instanceof Set)
    return right instanceof Set && left.size === right.size && [...left].every((item) => hasEqual(right, item))
  if ('box' in left)
    return 'box' in right && left.box === right.box && Object.is((left as Box).value, (right as Box).value)
  const equals = (left as Comparing).equals
  return equals ? equals.call(left, right) : false
}

const hasEqual = (set: Set<unknown>, item: unknown): boolean =>
  typeof item === 'object' && item !== null ? [...set].some((other) => equal(item, other)) : set.has(item)

function equalMaps(left: Map<unknown, unknown>, right: Map<unknown, unknown>): boolean {
  if (left.size !== right.size) return false
  for (const [key, value] of left) {
    const storedKey =
      typeof key === 'object' && key !== null ? (marksOf(right)?.objectKeys?.get(keyText(key)) ?? key) : key
    const other = right.get(storedKey)
    if ((other === undefined && !right.has(storedKey)) || !equal(value, other)) return false
  }
  return true
}

/** Returns a text that is the same for equal objects, and different for objects that are not equal. */
export function keyText(value: unknown): string {
  steps(1)
  if (typeof value === 'string') {
    readText(value.length)
    return JSON.stringify(value)
  }
  if (typeof value !== 'object' || value === null) return `${typeof value}:${String(value)}`
  if (Array.isArray(value)) return `[${value.map(keyText).join()}]`
  if (value instanceof Map)
    return `{${[...value]
      .map(([key, item]) => `${keyText(key)}=${keyText(item)}`)
      .sort()
      .join()}}`
  if (value instanceof Set) return `<${[...value].map(keyText).sort().join()}>`
  if ('box' in value)
    return `${(value as Box).box}:${Object.is((value as Box).value, -0) ? '-0' : (value as Box).value}`
  const keyOf = (value as Comparing).key
  return keyOf ? `${javaClassOf(value)}(${keyOf.call(value)})` : `#${identity(value)}`
}

const identities = new WeakMap<object, number>()
let nextIdentity = 1

/** Returns a number that is unique to this object. */
export function identity(value: object): number {
  const known = identities.get(value)
  if (known !== undefined) return known
  identities.set(value, nextIdentity)
  return nextIdentity++
}

const order = (left: number | bigint | string, right: number | bigint | string): number =>
  left < right ? -1 : left > right ? 1 : 0

/** Compares doubles like `Double.compare`: -0.0 comes before 0.0, and NaN is last. */
export function compareDoubles(left: number, right: number): number {
  if (left < right) return -1
  if (left > right) return 1
  if (left === right) return left !== 0 ? 0 : Object.is(left, right) ? 0 : Object.is(left, -0) ? -1 : 1
  return Number.isNaN(left) ? (Number.isNaN(right) ? 0 : 1) : -1
}

/** Compares strings as Java does: the difference of the first unequal characters, otherwise the difference of the lengths. */
export function compareStrings(left: string, right: string): number {
  const shared = Math.min(left.length, right.length)
  readText(shared)
  for (let index = 0; index < shared; index++) {
    const difference = left.charCodeAt(index) - right.charCodeAt(index)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** Compares two objects of the same class by `compareTo`. */
export function compareNatural(left: unknown, right: unknown): number {
  steps(1)
  if (left === null || right === null) throw nullPointer('cannot compare null')
  const leftKind = numberKind(left)
  const rightKind = numberKind(right)
  if (leftKind !== undefined && leftKind === rightKind) {
    if (leftKind === 'long') return order(left as bigint, right as bigint)
    if (leftKind === 'int') return order(left as number, right as number)
    if (leftKind === 'float' || leftKind === 'double') return compareDoubles(plainNumber(left), plainNumber(right))
    return plainNumber(left) - plainNumber(right)
  }
  if (typeof left === 'string' && typeof right === 'string') return compareStrings(left, right)
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  const compareTo = typeof left === 'object' ? (left as Comparing).compareTo : undefined
  if (compareTo && javaClassOf(left) === javaClassOf(right)) return compareTo.call(left, right)
  throw classCast(`class ${javaClassOf(left)} cannot be cast to class ${comparedWith(left, right)}`)
}

const comparedWith = (left: unknown, right: unknown): string =>
  typeof left === 'object' && !(left as Comparing).compareTo && numberKind(left) === undefined
    ? 'java.lang.Comparable'
    : javaClassOf(right)

/** Returns the hash of a text as Java computes it. */
export function stringHash(text: string): number {
  readText(text.length)
  let hash = 0
  for (let index = 0; index < text.length; index++) hash = (Math.imul(31, hash) + text.charCodeAt(index)) | 0
  return hash
}

const doubleBits = new DataView(new ArrayBuffer(8))

function doubleHash(value: number): number {
  doubleBits.setFloat64(0, value)
  return doubleBits.getInt32(0) ^ doubleBits.getInt32(4)
}

/** Returns `hashCode`. Equal objects have the same hash. */
export function hashOf(value: unknown): number {
  steps(1)
  if (value === null) return 0
  if (typeof value === 'string') return stringHash(value)
  if (typeof value === 'boolean') return value ? 1231 : 1237
  if (typeof value === 'bigint') return Number(BigInt.asIntN(32, value ^ (value >> 32n)))
  if (typeof value === 'number') return (value | 0) === value ? value : doubleHash(value)
  if (typeof value !== 'object') return 1
  if (Array.isArray(value)) return value.reduce<number>((hash, item) => (Math.imul(31, hash) + hashOf(item)) | 0, 1)
  if (value instanceof Map)
    return [...value].reduce((hash, [key, item]) => (hash + (hashOf(key) ^ hashOf(item))) | 0, 0)
  if (value instanceof Set) return [...value].reduce<number>((hash, item) => (hash + hashOf(item)) | 0, 0)
  if ('box' in value) {
    const box = value as Box
    if (box.box === 'double') return doubleHash(box.value)
    if (box.box !== 'float') return box.value
    doubleBits.setFloat32(0, box.value)
    return doubleBits.getInt32(0)
  }
  return stringHash(keyText(value))
}

/** Returns whether two arrays have equal elements. */
export const equalArrays = (left: JavaArray | null, right: JavaArray | null): boolean =>
  left === right ||
  (isJavaArray(left) &&
    isJavaArray(right) &&
    left.items.length === right.items.length &&
    left.items.every((item, index) => equal(item, right.items[index])))
