import type { BinaryOperator } from './ast.ts'
import { equal } from './equality.ts'
import { classCast, JavaThrow, nullPointer } from './errors.ts'
import { allocateText, readText, step } from './meter.ts'
import { textOf } from './text.ts'
import {
  type Box,
  boxDouble,
  boxNumber,
  convertNumber,
  isBox,
  javaClassOf,
  makeBox,
  type NumberKind,
  numberKind,
  unboxTo,
} from './values.ts'

/* Arithmetic. Functions named `int*` and `long*` work on raw numbers, `def*` on references whose types are known only at run time. */

export type Arithmetic = '+' | '-' | '*' | '/' | '%' | '<<' | '>>' | '>>>' | '&' | '^' | '|'
export type Comparison = '<' | '<=' | '>' | '>='

const divisionByZero = () => new JavaThrow('java.lang.ArithmeticException', '/ by zero')

export const intOperations: Record<Arithmetic, (left: number, right: number) => number> = {
  '+': (left, right) => (left + right) | 0,
  '-': (left, right) => (left - right) | 0,
  '*': (left, right) => Math.imul(left, right),
  '/': (left, right) => {
    if (right === 0) throw divisionByZero()
    return (left / right) | 0
  },
  '%': (left, right) => {
    if (right === 0) throw divisionByZero()
    return (left % right) | 0
  },
  '<<': (left, right) => left << right,
  '>>': (left, right) => left >> right,
  '>>>': (left, right) => (left >>> right) | 0,
  '&': (left, right) => left & right,
  '^': (left, right) => left ^ right,
  '|': (left, right) => left | right,
}

const wrap = (value: bigint): bigint => BigInt.asIntN(64, value)

/** Operations on longs. The right operand of a shift is an int. */
export const longOperations: Record<Arithmetic, (left: bigint, right: bigint) => bigint> = {
  '+': (left, right) => wrap(left + right),
  '-': (left, right) => wrap(left - right),
  '*': (left, right) => wrap(left * right),
  '/': (left, right) => {
    if (right === 0n) throw divisionByZero()
    return wrap(left / right)
  },
  '%': (left, right) => {
    if (right === 0n) throw divisionByZero()
    return left % right
  },
  '<<': (left, right) => wrap(left << (right & 63n)),
  '>>': (left, right) => left >> (right & 63n),
  '>>>': (left, right) => wrap(BigInt.asUintN(64, left) >> (right & 63n)),
  '&': (left, right) => left & right,
  '^': (left, right) => left ^ right,
  '|': (left, right) => left | right,
}

export const doubleOperations: Partial<Record<Arithmetic, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
}

export const isShift = (operator: string): boolean => operator === '<<' || operator === '>>' || operator === '>>>'

/** Concatenates two texts. Only the memory of the shorter text is counted, because V8 shares the longer text instead of copying it. */
export function concat(left: string, right: string): string {
  allocateText(Math.min(left.length, right.length))
  return left + right
}

/** Returns the type in which two numbers are combined. */
function promote(left: NumberKind, right: NumberKind): NumberKind {
  if (left === 'double' || right === 'double') return 'double'
  if (left === 'float' || right === 'float') return 'float'
  return left === 'long' || right === 'long' ? 'long' : 'int'
}

const needed = (operator: string, value: unknown) =>
  value === null
    ? nullPointer(`Cannot apply [${operator}] operation to null.`)
    : classCast(`Cannot apply [${operator}] operation to type [${javaClassOf(value)}].`)

/** Applies an arithmetic operator to two numbers whose types are known only at run time. */
function defNumeric(operator: Arithmetic, left: unknown, right: unknown): unknown {
  const leftKind = numberKind(left)
  const rightKind = numberKind(right)
  if (leftKind === undefined || rightKind === undefined) {
    if (typeof left === 'boolean' && typeof right === 'boolean') return defBoolean(operator, left, right)
    throw left === null || right === null ? needed(operator, null) : mismatch(operator, left, right)
  }
  if (isShift(operator)) return defShift(operator, left, right, leftKind, rightKind)
  const kind = promote(leftKind, rightKind)
  const one = unboxTo(left, leftKind, kind)
  const two = unboxTo(right, rightKind, kind)
  if (kind === 'int') return intOperations[operator](one as number, two as number)
  if (kind === 'long') return longOperations[operator](one as bigint, two as bigint)
  const operation = doubleOperations[operator]
  if (!operation) throw mismatch(operator, left, right)
  const result = operation(one as number, two as number)
  return kind === 'double' ? boxDouble(result) : makeBox('float', Math.fround(result))
}

const mismatch = (operator: string, left: unknown, right: unknown) =>
  classCast(`Cannot apply [${operator}] operation to types [${javaClassOf(left)}] and [${javaClassOf(right)}].`)

function defBoolean(operator: Arithmetic, left: boolean, right: boolean): boolean {
  if (operator === '&') return left && right
  if (operator === '|') return left || right
  if (operator === '^') return left !== right
  throw mismatch(operator, left, right)
}

function defShift(
  operator: Arithmetic,
  left: unknown,
  right: unknown,
  leftKind: NumberKind,
  rightKind: NumberKind,
): unknown {
  if (promote(leftKind, 'int') === 'double' || promote(leftKind, 'int') === 'float')
    throw mismatch(operator, left, right)
  if (rightKind === 'float' || rightKind === 'double') throw mismatch(operator, left, right)
  const distance = unboxTo(right, rightKind, 'int') as number
  return leftKind === 'long'
    ? longOperations[operator](left as bigint, BigInt(distance & 63))
    : intOperations[operator](unboxTo(left, leftKind, 'int') as number, distance)
}

export type DefOperation = (left: unknown, right: unknown) => unknown

function defAdd(left: unknown, right: unknown): unknown {
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right
    return (left | 0) === left && (right | 0) === right ? sum | 0 : boxDouble(sum)
  }
  if (typeof left === 'string') return concat(left, textOf(right))
  if (typeof right === 'string') return concat(textOf(left), right)
  return defNumeric('+', left, right)
}

function defMultiply(left: unknown, right: unknown): unknown {
  if (typeof left === 'number' && typeof right === 'number')
    return (left | 0) === left && (right | 0) === right ? Math.imul(left, right) : boxDouble(left * right)
  return defNumeric('*', left, right)
}

function defDivide(left: unknown, right: unknown): unknown {
  if (typeof left === 'number' && typeof right === 'number' && ((left | 0) !== left || (right | 0) !== right))
    return boxDouble(left / right)
  return defNumeric('/', left, right)
}

const generic =
  (operator: Arithmetic): DefOperation =>
  (left, right) =>
    defNumeric(operator, left, right)

export const defOperations: Record<Arithmetic, DefOperation> = {
  '+': defAdd,
  '-': generic('-'),
  '*': defMultiply,
  '/': defDivide,
  '%': generic('%'),
  '<<': generic('<<'),
  '>>': generic('>>'),
  '>>>': generic('>>>'),
  '&': generic('&'),
  '^': generic('^'),
  '|': generic('|'),
}

/** Implements `==` of references. Numbers are compared by value across types, everything else with `equals`. */
export function defEquals(left: unknown, right: unknown): boolean {
  if (typeof left === 'string') readText(left.length)
  if (left === right) return true
  if (typeof left === 'string' || typeof right === 'string' || left === null || right === null) return false
  const leftKind = numberKind(left)
  if (leftKind !== undefined) {
    const rightKind = numberKind(right)
    if (rightKind === undefined) return false
    const kind = promote(leftKind, rightKind)
    return unboxTo(left, leftKind, kind) === unboxTo(right, rightKind, kind)
  }
  return equal(left, right)
}

/**
 * Implements `===` of references: true for the same object and for equal texts. The README says when two boxed numbers are the same object.
 */
export function identical(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true
  return isBox(left) && isBox(right) && left.box === right.box && left.value === right.value && isCached(left)
}

/** Returns true if Java has only one object of this class and value, because `valueOf` takes it from a cache. */
function isCached({ box, value }: Box): boolean {
  if (box === 'char') return value <= 127
  return (box === 'byte' || box === 'short') && value >= -128 && value <= 127
}

export function defCompare(operator: Comparison, left: unknown, right: unknown): boolean {
  step()
  if (typeof left === 'number' && typeof right === 'number') return compareNumbers(operator, left, right)
  const leftKind = numberKind(left)
  const rightKind = numberKind(right)
  if (leftKind === undefined || rightKind === undefined)
    throw left === null || right === null ? needed(operator, null) : mismatch(operator, left, right)
  const kind = promote(leftKind, rightKind)
  return compareNumbers(operator, unboxTo(left, leftKind, kind), unboxTo(right, rightKind, kind))
}

export function compareNumbers(operator: Comparison, left: number | bigint, right: number | bigint): boolean {
  switch (operator) {
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
  }
}

/** Applies `+`, `-` or `~` to a number whose type is known only at run time. */
export function defUnary(operator: '+' | '-' | '~', value: unknown): unknown {
  const kind = numberKind(value)
  if (kind === undefined) throw needed(operator, value)
  const target = promote(kind, 'int')
  const raw = unboxTo(value, kind, target)
  if (operator === '+') return boxNumber(raw, target)
  if (operator === '-') {
    if (target === 'long') return wrap(-(raw as bigint))
    return boxNumber(target === 'int' ? -(raw as number) | 0 : -(raw as number), target)
  }
  if (target === 'long') return ~(raw as bigint)
  if (target === 'int') return ~(raw as number)
  throw needed(operator, value)
}

/** Converts the result of `x + y` for `x += y`: if the result and `x` are numbers, the result gets the type that `x` had. */
export function defCompound(former: unknown, result: unknown): unknown {
  const kind = numberKind(former)
  const resultKind = numberKind(result)
  if (kind === undefined || resultKind === undefined || kind === resultKind) return result
  const raw = typeof result === 'object' ? (result as Box).value : (result as number | bigint)
  return boxNumber(convertNumber(raw, resultKind, kind), kind)
}

export const isArithmetic = (operator: BinaryOperator): operator is Arithmetic => operator in intOperations
