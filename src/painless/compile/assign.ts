import type { BinaryOperator, Expression, ExpressionOf } from '../ast.ts'
import { CompileError } from '../errors.ts'
import { defCompound, isArithmetic } from '../operators.ts'
import { defType, findType, intType } from '../types.ts'
import { arithmetic } from './binary.ts'
import { type Compiled, castTo, type Frame, type Run, type Scope } from './context.ts'
import { checkAssignable, compilePlace, type Place } from './places.ts'

function placeOf(node: Expression, scope: Scope): Place {
  const place = compilePlace(node, scope)
  if (!place)
    throw new CompileError(
      node.at,
      'invalid assignment: cannot assign a value to an expression that is no variable, field or element',
    )
  checkAssignable(place, node, scope)
  return place
}

export function compileAssign(node: ExpressionOf<'assign'>, scope: Scope): Compiled {
  const place = placeOf(node.target, scope)
  if (node.operator)
    return compound(node.operator, node.at, place, scope.owner.script.expression(node.value, scope), false)
  const value = castTo(scope.owner.script.expression(node.value, scope, place.type), place.type)
  return { type: place.type, at: node.at, run: storing(place, value.run), isStatement: true }
}

export function compileIncrement(node: ExpressionOf<'increment'>, scope: Scope): Compiled {
  const place = placeOf(node.target, scope)
  const one: Compiled = { type: intType, at: node.at, run: () => 1, constant: { value: 1 } }
  if (place.type !== defType && !place.type.primitive)
    throw new CompileError(
      node.at,
      `Cannot apply [++] or [--] to type [${place.type.name}].`,
      'java.lang.ClassCastException',
    )
  return compound(node.by === 1 ? '+' : '-', node.at, place, one, node.postfix)
}

function storing(place: Place, value: Run): Run {
  const { slot, target, key, write, nullSafe } = place
  if (slot !== undefined)
    return (frame) => {
      const result = value(frame)
      frame[slot] = result
      return result
    }
  const object = target!
  const set = write!
  if (key)
    return (frame) => {
      const owner = object(frame)
      const at = key(frame)
      const result = value(frame)
      set(owner, at, result)
      return result
    }
  return (frame) => {
    const owner = object(frame)
    if (owner === null && nullSafe) return null
    const result = value(frame)
    set(owner, null, result)
    return result
  }
}

/** `x += y`, `x++`: reads, combines, casts back to the type of the place and writes. */
function compound(operator: BinaryOperator, at: number, place: Place, right: Compiled, postfix: boolean): Compiled {
  if (!isArithmetic(operator)) throw new CompileError(at, `Illegal compound assignment [${operator}].`)
  if (!place.read && place.slot === undefined) throw new CompileError(at, 'This field can only be assigned.')
  let former: unknown
  const left: Compiled = { type: place.type, at, run: () => former }
  // The right side may run other code that reaches this same place, so it is computed before `former` is set.
  let rightValue: unknown
  const held: Compiled = { ...right, run: () => rightValue }
  const sum = arithmetic(operator, at, left, right.constant ? right : held)
  const string = findType('String')!
  if (sum.type === string && place.type !== string && place.type !== defType && place.type.name !== 'java.lang.Object')
    throw new CompileError(
      at,
      `Cannot cast from [${sum.type.name}] to [${place.type.name}].`,
      'java.lang.ClassCastException',
    )
  const result = castTo(sum, place.type, true).run
  const isDef = place.type === defType
  const combine = (frame: Frame, before: unknown, rightSide: unknown): unknown => {
    former = before
    rightValue = rightSide
    const value = result(frame)
    return isDef ? defCompound(before, value) : value
  }
  const rightRun: Run = right.constant ? () => null : right.run
  return { type: place.type, at, run: changing(place, combine, rightRun, postfix), isStatement: true }
}

type Combine = (frame: Frame, before: unknown, right: unknown) => unknown

function changing(place: Place, combine: Combine, right: Run, postfix: boolean): Run {
  const { slot, target, key, read, write, nullSafe } = place
  if (slot !== undefined)
    return (frame) => {
      const before = frame[slot]
      const after = combine(frame, before, right(frame))
      frame[slot] = after
      return postfix ? before : after
    }
  return (frame) => {
    const owner = target!(frame)
    if (owner === null && nullSafe) return null
    const at = key ? key(frame) : null
    const before = read!(owner, at)
    const after = combine(frame, before, right(frame))
    write!(owner, at, after)
    return postfix ? before : after
  }
}
