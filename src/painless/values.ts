import { JavaThrow } from './errors.ts'

/* The representation of values of the language. The README of this folder contains the table. */

export type BoxKind = 'byte' | 'short' | 'char' | 'float' | 'double'

/** A boxed number whose type a plain number cannot represent. */
export interface Box {
  readonly box: BoxKind
  readonly value: number
}

/** An array. `elementType` is the type of its elements; `items` contains them in the representation of that type. */
export interface JavaArray {
  readonly elementType: string
  readonly items: unknown[]
}

/** An object of a class that has no JavaScript counterpart. */
export interface JavaObject {
  readonly javaClass: string
}

export type JavaFunction = (...args: unknown[]) => unknown

/** Properties of a list, map or set that differs from the usual ArrayList, HashMap and HashSet. */
export interface Marks {
  javaClass?: string
  readOnly?: boolean
  /** Order of a TreeMap or TreeSet. */
  compare?: (left: unknown, right: unknown) => number
  /** Sorted keys of a TreeMap or elements of a TreeSet. They are sorted again after one is added or removed. */
  sorted?: unknown[] | undefined
  /** Keys that are objects, by their `keyText`. Equal objects have the same text and therefore share one key. */
  objectKeys?: Map<string, unknown>
}

const marksKey = Symbol('marks')

export const marksOf = (value: object): Marks | undefined => (value as { [marksKey]?: Marks })[marksKey]

export function mark<T extends object>(value: T, marks: Marks): T {
  const holder = value as { [marksKey]?: Marks }
  holder[marksKey] = { ...holder[marksKey], ...marks }
  return value
}

export const isBox = (value: unknown): value is Box => typeof value === 'object' && value !== null && 'box' in value
export const isJavaArray = (value: unknown): value is JavaArray =>
  typeof value === 'object' && value !== null && 'elementType' in value
export const isInteger = (value: unknown): value is number => typeof value === 'number' && (value | 0) === value

export const makeBox = (box: BoxKind, value: number): Box => ({ box, value })

/** Returns a double as a reference: a Box if the number would look like an Integer. */
export function boxDouble(value: number): number | Box {
  return (value | 0) === value ? makeBox('double', value) : value
}

const makers = new Map<string, (value: number) => unknown>([
  ['byte', (value) => makeBox('byte', value)],
  ['short', (value) => makeBox('short', value)],
  ['char', (value) => makeBox('char', value)],
  ['float', (value) => makeBox('float', value)],
  ['double', boxDouble],
])

/**
 * Returns the function that converts a value of this primitive type to a reference. Returns undefined if both have the same representation.
 */
export const boxerOf = (primitive: string): ((value: never) => unknown) | undefined => makers.get(primitive)

export type NumberKind = 'byte' | 'short' | 'char' | 'int' | 'long' | 'float' | 'double'

/** Returns the primitive type of a boxed number or character. Returns undefined for any other value. */
export function numberKind(value: unknown): NumberKind | undefined {
  if (typeof value === 'number') return (value | 0) === value ? 'int' : 'double'
  if (typeof value === 'bigint') return 'long'
  if (typeof value === 'object' && value !== null && 'box' in value) return (value as Box).box
  return undefined
}

/** Returns the number inside a reference. A long that a double cannot represent is rounded. */
export const plainNumber = (value: unknown): number =>
  typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : (value as Box).value

/**
 * Converts a number to a 64-bit integer as Java does: NaN becomes 0, and a number outside of the range becomes the nearest long. A bigint
 * keeps only its lower 64 bits.
 */
export function toLong(value: number | bigint): bigint {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value)
  if (Number.isNaN(value)) return 0n
  if (value >= 2 ** 63) return 9223372036854775807n
  if (value <= -(2 ** 63)) return -9223372036854775808n
  return BigInt(Math.trunc(value))
}

/** Converts a number to an int as Java does. A bigint keeps only its lower 32 bits. */
export function toInt(value: number | bigint): number {
  if (typeof value === 'bigint') return Number(BigInt.asIntN(32, value))
  if (Number.isNaN(value)) return 0
  return value > 2147483647 ? 2147483647 : value < -2147483648 ? -2147483648 : value | 0
}

/** Converts between primitive representations. `raw` is the representation in a variable of type `from`. */
export function convertNumber(raw: number | bigint, from: NumberKind, to: NumberKind): number | bigint {
  if (from === to) return raw
  switch (to) {
    case 'long':
      return from === 'float' || from === 'double' ? toLong(raw) : BigInt(raw)
    case 'double':
      return Number(raw)
    case 'float':
      return Math.fround(Number(raw))
    case 'int':
      return toInt(raw)
    case 'byte':
      return (toInt(raw) << 24) >> 24
    case 'short':
      return (toInt(raw) << 16) >> 16
    case 'char':
      return toInt(raw) & 0xffff
  }
}

/** Converts a boxed number to the representation in a variable of type `to`. */
export const unboxTo = (value: unknown, kind: NumberKind, to: NumberKind): number | bigint =>
  convertNumber(typeof value === 'object' ? (value as Box).value : (value as number | bigint), kind, to)

/** Returns a number of this kind, in the representation of a variable, as a reference. */
export function boxNumber(raw: number | bigint, kind: NumberKind): unknown {
  if (kind === 'int' || kind === 'long') return raw
  return kind === 'double' ? boxDouble(raw as number) : makeBox(kind, raw as number)
}

const boxClasses: Record<BoxKind, string> = {
  byte: 'java.lang.Byte',
  short: 'java.lang.Short',
  char: 'java.lang.Character',
  float: 'java.lang.Float',
  double: 'java.lang.Double',
}

/** Returns the Java class name of a reference. The name of an array ends with `[]`. */
export function javaClassOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return 'java.lang.String'
    case 'number':
      return (value | 0) === value ? 'java.lang.Integer' : 'java.lang.Double'
    case 'bigint':
      return 'java.lang.Long'
    case 'boolean':
      return 'java.lang.Boolean'
    case 'function':
      return (value as { javaClass?: string }).javaClass ?? 'java.lang.Object'
  }
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return marksOf(value)?.javaClass ?? 'java.util.ArrayList'
  if (value instanceof Map) return marksOf(value)?.javaClass ?? 'java.util.HashMap'
  if (value instanceof Set) return marksOf(value)?.javaClass ?? 'java.util.HashSet'
  if ('box' in (value as object)) return boxClasses[(value as Box).box]
  if ('elementType' in (value as object)) return `${(value as JavaArray).elementType}[]`
  if (value instanceof JavaThrow) return value.javaClass
  return (value as JavaObject).javaClass ?? 'java.lang.Object'
}
