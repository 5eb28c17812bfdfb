import { classCast, nullPointer } from './errors.ts'
import {
  booleanType,
  boxedType,
  charType,
  defType,
  isAssignable,
  isNumeric,
  isSubclass,
  type Type,
  unboxedType,
  voidType,
} from './types.ts'
import {
  boxerOf,
  boxNumber,
  convertNumber,
  isBox,
  isJavaArray,
  javaClassOf,
  type NumberKind,
  numberKind,
  unboxTo,
} from './values.ts'

export type Convert = (value: never) => unknown

/** A cast between types whose values have the same representation. */
export const unchanged: Convert = (value: unknown) => value

/** For each numeric type, the types to which it widens without a cast. */
const widening: Record<string, string> = {
  byte: 'byte short int long float double',
  short: 'short int long float double',
  char: 'char int long float double',
  int: 'int long float double',
  long: 'long float double',
  float: 'float double',
  double: 'double',
}

export const widens = (from: string, to: string): boolean => (widening[from] ?? '').split(' ').includes(to)

const canWiden = (from: Type, to: Type): boolean => from === to || widens(from.name, to.name)

const box = (type: Type): Convert => (type.primitive ? (boxerOf(type.name) ?? unchanged) : unchanged)

/**
 * Returns the function that casts one static type to another. Returns undefined if the language has no such cast. `explicit` is true for a
 * cast that the script itself contains; `internal` allows boxing, as in `castTo`.
 */
export function castBetween(from: Type, to: Type, explicit: boolean, internal: boolean): Convert | undefined {
  if (from === to) return unchanged
  if (from === voidType || to === voidType) return undefined
  if (from === defType) return to.name === 'java.lang.Object' ? unchanged : castFromDef(to, explicit)
  if (to === defType) return box(from)
  if (from.primitive) return castPrimitive(from, to, explicit, internal)
  if (to.primitive) return unboxCast(from, to, explicit, internal)
  return castReference(from, to, explicit, internal)
}

function castPrimitive(from: Type, to: Type, explicit: boolean, internal: boolean): Convert | undefined {
  if (to.primitive) {
    if (!isNumeric(from) || !isNumeric(to)) return undefined
    return explicit || canWiden(from, to) ? numberCast(from, to) : undefined
  }
  if (from === charType && to.name === 'java.lang.String' && explicit)
    return (value: number) => String.fromCharCode(value)
  if (!internal) return undefined
  if (isAssignable(to, boxedType(from))) return box(from)
  const inner = unboxedType(to)
  if (!inner || !isNumeric(from) || !isNumeric(inner) || !(canWiden(from, inner) || explicit)) return undefined
  const convert = numberCast(from, inner)
  const wrap = box(inner)
  return (value: unknown) => wrap(convert(value as never) as never)
}

function numberCast(from: Type, to: Type): Convert {
  const fromKind = from.name as NumberKind
  const toKind = to.name as NumberKind
  if (from === to || (toKind === 'int' && ['byte', 'short', 'char'].includes(fromKind))) return unchanged
  if (toKind === 'double' && fromKind !== 'long') return unchanged
  return (value: number | bigint) => convertNumber(value, fromKind, toKind)
}

function unboxCast(from: Type, to: Type, explicit: boolean, internal: boolean): Convert | undefined {
  if (from.name === 'java.lang.String' && to === charType && explicit) return textToChar
  if (!internal) return undefined
  const inner = unboxedType(from)
  if (inner && (inner === to || (isNumeric(inner) && isNumeric(to) && canWiden(inner, to))))
    return castFromDef(to, false)
  return undefined
}

function castReference(from: Type, to: Type, explicit: boolean, internal: boolean): Convert | undefined {
  if (isAssignable(to, from)) return unchanged
  const inner = unboxedType(from)
  const target = unboxedType(to)
  if (internal && inner && target && isNumeric(inner) && isNumeric(target) && canWiden(inner, target))
    return castFromDef(to, false)
  if (explicit && isAssignable(from, to)) return referenceCast(to)
  return undefined
}

function textToChar(value: string): number {
  if (value === null) throw nullPointer('cannot cast null [String] to [char].')
  if (value.length !== 1) throw classCast('cannot cast [String] with length not equal to one to [char]')
  return value.charCodeAt(0)
}

const castCache = new Map<string, Convert>()

/** Returns a function that casts a reference to the type `to` while the script runs. It throws if the cast is not possible. */
export function castFromDef(to: Type, explicit: boolean): Convert {
  const key = `${to.name} ${explicit}`
  const known = castCache.get(key)
  if (known) return known
  const cast = makeDefCast(to, explicit)
  castCache.set(key, cast)
  return cast
}

function makeDefCast(to: Type, explicit: boolean): Convert {
  if (to === defType || to === voidType || to.name === 'java.lang.Object') return unchanged
  if (to === booleanType) return toBoolean
  if (to.primitive) return (value: unknown) => unboxNumber(value, to, explicit)
  const inner = unboxedType(to)
  if (inner && isNumeric(inner)) {
    const wrap = (raw: number | bigint) => boxNumber(raw, inner.name as NumberKind)
    return (value: unknown) => (value === null ? null : wrap(unboxNumber(value, inner, explicit)))
  }
  if (to.name === 'java.lang.String')
    return (value: unknown) => {
      if (typeof value === 'string' || value === null) return value
      if (explicit && isBox(value) && value.box === 'char') return String.fromCharCode(value.value)
      throw badCast(value, to)
    }
  return referenceCast(to)
}

function toBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  if (value === null) throw nullPointer('cannot convert null to boolean')
  throw badCast(value, booleanType)
}

function unboxNumber(value: unknown, to: Type, explicit: boolean): number | bigint {
  const target = to.name as NumberKind
  const kind = numberKind(value)
  if (kind !== undefined && (explicit || widens(kind, target))) return unboxTo(value, kind, target)
  if (explicit && to === charType && typeof value === 'string') return textToChar(value)
  if (value === null) throw nullPointer(`cannot convert null to ${to.name}`)
  throw badCast(value, to)
}

const badCast = (value: unknown, to: Type) => classCast(`Cannot cast from [${javaClassOf(value)}] to [${to.name}].`)

/** Checks that a reference is null or an object of this class. */
function referenceCast(to: Type): Convert {
  return (value: unknown) => {
    if (value === null || isInstance(value, to)) return value
    throw badCast(value, to)
  }
}

/** Returns whether a reference is an object of this type. Null is an object of no type. */
export function isInstance(value: unknown, type: Type): boolean {
  if (value === null || value === undefined) return false
  if (type === defType) return true
  if (type.element) {
    if (!isJavaArray(value)) return false
    const { name } = type.element
    if (value.elementType === name) return true
    return (
      !type.element.primitive &&
      !primitiveName.test(value.elementType) &&
      (name === 'def' || isSubclass(value.elementType, name))
    )
  }
  const target = boxedType(type)
  if (typeof value === 'function') {
    const className = (value as { javaClass?: string }).javaClass
    return className === undefined || isSubclass(className, target.name)
  }
  if (isJavaArray(value)) return target.name === 'java.lang.Object'
  return isSubclass(javaClassOf(value), target.name)
}

const primitiveName = /^(?:boolean|byte|short|char|int|long|float|double)$/

/** Returns the function that converts the value of a variable of this type to a reference. */
export const boxerFor = (type: Type): ((value: never) => unknown) | undefined =>
  type.primitive ? boxerOf(type.name) : undefined
