import { castFromDef } from '../casts.ts'
import { JavaThrow } from '../errors.ts'
import { booleanType, doubleType, intType, longType } from '../types.ts'
import type { JavaFunction } from '../values.ts'

/** Converts the result of a lambda or an element of a list to a primitive value, as the following functions do. */
export const asInt = castFromDef(intType, false) as (value: unknown) => number
export const asLong = castFromDef(longType, false) as (value: unknown) => bigint
export const asDouble = castFromDef(doubleType, false) as (value: unknown) => number
export const asBoolean = castFromDef(booleanType, false) as (value: unknown) => boolean

export type Fn = JavaFunction
export type JavaMap = Map<unknown, unknown>
export type JavaSet = Set<unknown>
export type List = unknown[]
export type Compare = (left: unknown, right: unknown) => number

/** Returns a comparator in the form that JavaScript's sort expects. */
export const comparing =
  (comparator: Fn): Compare =>
  (left, right) =>
    asInt(comparator(left, right))

export const noSuchElement = (message = 'No value present'): JavaThrow =>
  new JavaThrow('java.util.NoSuchElementException', message)

export const numberFormat = (text: unknown): JavaThrow =>
  new JavaThrow(
    'java.lang.NumberFormatException',
    text === null ? 'Cannot parse null string' : `For input string: "${String(text)}"`,
  )
