import { findPattern, matchPattern } from '../api/regex.ts'
import type { BinaryOperator, Expression, ExpressionOf } from '../ast.ts'
import { equal } from '../equality.ts'
import { CompileError } from '../errors.ts'
import {
  type Arithmetic,
  type Comparison,
  compareNumbers,
  concat,
  defCompare,
  defEquals,
  defOperations,
  doubleOperations,
  identical,
  intOperations,
  isShift,
  longOperations,
} from '../operators.ts'
import {
  booleanType,
  defType,
  doubleType,
  findType,
  floatType,
  intType,
  isNumeric,
  longType,
  type Type,
} from '../types.ts'
import { type Compiled, castTo, foldSafely, type Run, type Scope } from './context.ts'
import { stringifier } from './stringify.ts'

const stringType = (): Type => findType('String')!

/**
 * Returns the type in which numbers of these types are combined. Returns undefined if they cannot be combined; if `decimal` is false, this
 * includes floats and doubles.
 */
export function promoteNumeric(left: Type, right: Type, decimal: boolean): Type | undefined {
  if (left === defType || right === defType) return defType
  if (!isNumeric(left) || !isNumeric(right)) return undefined
  const has = (type: Type) => left === type || right === type
  if (has(doubleType) || has(floatType)) return decimal ? (has(doubleType) ? doubleType : floatType) : undefined
  return has(longType) ? longType : intType
}

const cannotApply = (at: number, operator: string, left: Type, right: Type) =>
  new CompileError(
    at,
    `Cannot apply [${operator}] operation to types [${left.name}] and [${right.name}].`,
    'java.lang.ClassCastException',
  )

export function compileBinary(node: ExpressionOf<'binary'>, scope: Scope): Compiled {
  const compile = (part: Expression) => scope.owner.script.expression(part, scope)
  const { operator, at } = node
  const left = compile(node.left)
  if (operator === '&&' || operator === '||') return logical(operator, at, left, compile(node.right))
  const right = compile(node.right)
  return fold(combine(operator, at, left, right, scope), left, right)
}

/** Combines two compiled operands. */
export function combine(operator: BinaryOperator, at: number, left: Compiled, right: Compiled, scope: Scope): Compiled {
  switch (operator) {
    case '==':
    case '!=':
    case '===':
    case '!==':
      return equality(operator, at, left, right)
    case '<':
    case '<=':
    case '>':
    case '>=':
      return comparison(operator, at, left, right)
    case '=~':
    case '==~':
      return regexMatch(operator, at, left, right, scope)
    case '&&':
    case '||':
      return logical(operator, at, left, right)
    default:
      return arithmetic(operator, at, left, right)
  }
}

/** Computes an operation on constants once, at compile time. */
function fold(result: Compiled, left: Compiled, right: Compiled): Compiled {
  if (!left.constant || !right.constant || result.type === defType) return result
  const value = foldSafely(result.at, () => result.run([]))
  return { type: result.type, at: result.at, run: () => value, constant: { value } }
}

function logical(operator: '&&' | '||', at: number, leftSide: Compiled, rightSide: Compiled): Compiled {
  const left = castTo(leftSide, booleanType)
  const right = castTo(rightSide, booleanType)
  const one = left.run
  const two = right.run
  const run: Run = operator === '&&' ? (frame) => one(frame) && two(frame) : (frame) => one(frame) || two(frame)
  return fold({ type: booleanType, at, run }, left, right)
}

export function arithmetic(operator: Arithmetic, at: number, left: Compiled, right: Compiled): Compiled {
  if (operator === '+' && (left.type === stringType() || right.type === stringType())) return textSum(at, left, right)
  // A value of type def may be a text, to which null can be added.
  const isDynamicSum = operator === '+' && [left, right].some(({ type, isNull }) => type === defType && !isNull)
  if ((left.isNull || right.isNull) && !isDynamicSum) throw cannotApply(at, operator, left.type, right.type)
  if (isShift(operator)) return shift(operator, at, left, right)
  const logicalOperator = operator === '&' || operator === '^' || operator === '|'
  if (logicalOperator && left.type === booleanType && right.type === booleanType)
    return booleanOperation(operator, at, left.run, right.run)
  const type = promoteNumeric(left.type, right.type, !logicalOperator)
  if (!type) throw cannotApply(at, operator, left.type, right.type)
  if (logicalOperator && [left.type, right.type].some((side) => side === doubleType || side === floatType))
    throw cannotApply(at, operator, left.type, right.type)
  return { type, at, run: arithmeticRun(operator, type, castTo(left, type).run, castTo(right, type).run) }
}

const booleanOperations = {
  '&': (left: boolean, right: boolean) => left && right,
  '|': (left: boolean, right: boolean) => left || right,
  '^': (left: boolean, right: boolean) => left !== right,
}

function booleanOperation(operator: '&' | '^' | '|', at: number, one: Run, two: Run): Compiled {
  const operation = booleanOperations[operator]
  const run: Run = (frame) => operation(one(frame) as boolean, two(frame) as boolean)
  return { type: booleanType, at, run }
}

function arithmeticRun(operator: Arithmetic, type: Type, one: Run, two: Run): Run {
  if (type === intType) {
    if (operator === '+') return (frame) => ((one(frame) as number) + (two(frame) as number)) | 0
    if (operator === '-') return (frame) => ((one(frame) as number) - (two(frame) as number)) | 0
    const operation = intOperations[operator]
    return (frame) => operation(one(frame) as number, two(frame) as number)
  }
  if (type === longType) {
    const operation = longOperations[operator]
    return (frame) => operation(one(frame) as bigint, two(frame) as bigint)
  }
  if (type === defType) {
    const operation = defOperations[operator]
    return (frame) => operation(one(frame), two(frame))
  }
  const operation = doubleOperations[operator]!
  return type === floatType
    ? (frame) => Math.fround(operation(one(frame) as number, two(frame) as number))
    : (frame) => operation(one(frame) as number, two(frame) as number)
}

function shift(operator: Arithmetic, at: number, left: Compiled, right: Compiled): Compiled {
  const type = promoteNumeric(left.type, left.type, false)
  const distance = promoteNumeric(right.type, right.type, false)
  const fractions = [left.type, right.type].some((side) => side === doubleType || side === floatType)
  if (!type || !distance || fractions) throw cannotApply(at, operator, left.type, right.type)
  if (type === defType || distance === defType) {
    const operation = defOperations[operator]
    const one = castTo(left, defType).run
    const two = castTo(right, defType).run
    return { type: defType, at, run: (frame) => operation(one(frame), two(frame)) }
  }
  const one = castTo(left, type).run
  const two = castTo(right, intType, true).run
  if (type === intType) return { type, at, run: arithmeticRun(operator, intType, one, two) }
  const operation = longOperations[operator]
  return { type, at, run: (frame) => operation(one(frame) as bigint, BigInt(two(frame) as number)) }
}

/** Compiles a concatenation. Each operand is printed according to its static type. */
function textSum(at: number, left: Compiled, right: Compiled): Compiled {
  if (left.type.name === 'void' || right.type.name === 'void') throw cannotApply(at, '+', left.type, right.type)
  const one = stringifier(left)
  const two = stringifier(right)
  return { type: stringType(), at, run: (frame) => concat(one(frame), two(frame)) }
}

function equality(operator: '==' | '!=' | '===' | '!==', at: number, left: Compiled, right: Compiled): Compiled {
  if (left.isNull && right.isNull) throw new CompileError(at, `Extraneous comparison of null constants.`)
  const negated = operator.startsWith('!')
  const equals = equalityRun(operator.length === 3, at, operator, left, right)
  return { type: booleanType, at, run: negated ? (frame) => !equals(frame) : equals }
}

function equalityRun(
  sameObject: boolean,
  at: number,
  operator: string,
  left: Compiled,
  right: Compiled,
): (frame: unknown[]) => boolean {
  const bothPrimitive = left.type.primitive && right.type.primitive
  if (bothPrimitive) {
    const type =
      left.type === booleanType && right.type === booleanType
        ? booleanType
        : promoteNumeric(left.type, right.type, true)
    if (!type) throw cannotApply(at, operator, left.type, right.type)
    const one = castTo(left, type).run
    const two = castTo(right, type).run
    return (frame) => one(frame) === two(frame)
  }
  for (const [side, other] of [
    [left, right],
    [right, left],
  ] as const)
    if (side.isNull && other.type.primitive)
      return (frame) => {
        other.run(frame)
        return false
      }
  const one = castTo(left, defType).run
  const two = castTo(right, defType).run
  if (left.isNull) return (frame) => two(frame) === null
  if (right.isNull) return (frame) => one(frame) === null
  if (sameObject) return (frame) => identical(one(frame), two(frame))
  const equals = left.type === defType || right.type === defType ? defEquals : equal
  return (frame) => equals(one(frame), two(frame))
}

function comparison(operator: Comparison, at: number, left: Compiled, right: Compiled): Compiled {
  const type = promoteNumeric(left.type, right.type, true)
  if (!type || left.isNull || right.isNull) throw cannotApply(at, operator, left.type, right.type)
  const one = castTo(left, type).run
  const two = castTo(right, type).run
  const run: Run =
    type === defType
      ? (frame) => defCompare(operator, one(frame), two(frame))
      : (frame) => compareNumbers(operator, one(frame) as number, two(frame) as number)
  return { type: booleanType, at, run }
}

function regexMatch(operator: '=~' | '==~', at: number, left: Compiled, right: Compiled, scope: Scope): Compiled {
  if (!scope.owner.script.regexEnabled) throw regexDisabled(at)
  const text = castTo(left, stringType()).run
  const pattern = castTo(right, findType('Pattern')!).run
  const test = operator === '=~' ? findPattern : matchPattern
  return { type: booleanType, at, run: (frame) => test(pattern(frame), text(frame)) }
}

export const regexDisabled = (at: number): CompileError =>
  new CompileError(at, 'Regexes are disabled. The operator of this platform can enable them.')
