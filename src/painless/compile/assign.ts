import type { BinaryOperator, Expression, ExpressionOf } from '../ast.ts'
import { CompileError } from '../errors.ts'
import { defCompound, isArithmetic } from '../operators.ts'
import { defType, findType, intType } from '../types.ts'
import { type Assignable, checkAssignable, compileAssignable } from './assignables.ts'
import { arithmetic } from './binary.ts'
import { type Compiled, castTo, type Frame, type Run, type Scope } from './context.ts'

function assignableOf(node: Expression, scope: Scope): Assignable {
  const assignable = compileAssignable(node, scope)
  if (!assignable)
    throw new CompileError(
      node.at,
      'invalid assignment: cannot assign a value to an expression that is not a variable, field or element',
    )
  checkAssignable(assignable, node, scope)
  return assignable
}

export function compileAssign(node: ExpressionOf<'assign'>, scope: Scope): Compiled {
  const assignable = assignableOf(node.target, scope)
  if (node.operator)
    return compound(node.operator, node.at, assignable, scope.owner.script.expression(node.value, scope), false)
  const value = castTo(scope.owner.script.expression(node.value, scope, assignable.type), assignable.type)
  return { type: assignable.type, at: node.at, run: storing(assignable, value.run), isStatement: true }
}

export function compileIncrement(node: ExpressionOf<'increment'>, scope: Scope): Compiled {
  const assignable = assignableOf(node.target, scope)
  const one: Compiled = { type: intType, at: node.at, run: () => 1, constant: { value: 1 } }
  if (assignable.type !== defType && !assignable.type.primitive)
    throw new CompileError(
      node.at,
      `Cannot apply [++] or [--] to type [${assignable.type.name}].`,
      'java.lang.ClassCastException',
    )
  return compound(node.by === 1 ? '+' : '-', node.at, assignable, one, node.postfix)
}

function storing(assignable: Assignable, value: Run): Run {
  const { slot, target, key, write, nullSafe } = assignable
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

/** Compiles `x += y` and `x++`: reads, combines, casts back to the type of the target and writes. */
function compound(
  operator: BinaryOperator,
  at: number,
  assignable: Assignable,
  right: Compiled,
  postfix: boolean,
): Compiled {
  if (!isArithmetic(operator)) throw new CompileError(at, `Illegal compound assignment [${operator}].`)
  if (!assignable.read && assignable.slot === undefined) throw new CompileError(at, 'This field can only be assigned.')
  let former: unknown
  const left: Compiled = { type: assignable.type, at, run: () => former }
  // The right side may run other code that changes the same target, so it is computed before `former` is set.
  let rightValue: unknown
  const rightOnce: Compiled = { ...right, run: () => rightValue }
  const sum = arithmetic(operator, at, left, right.constant ? right : rightOnce)
  const string = findType('String')!
  if (
    sum.type === string &&
    assignable.type !== string &&
    assignable.type !== defType &&
    assignable.type.name !== 'java.lang.Object'
  )
    throw new CompileError(
      at,
      `Cannot cast from [${sum.type.name}] to [${assignable.type.name}].`,
      'java.lang.ClassCastException',
    )
  const result = castTo(sum, assignable.type, true).run
  const isDef = assignable.type === defType
  const combine = (frame: Frame, before: unknown, rightSide: unknown): unknown => {
    former = before
    rightValue = rightSide
    const value = result(frame)
    return isDef ? defCompound(before, value) : value
  }
  const rightRun: Run = right.constant ? () => null : right.run
  return { type: assignable.type, at, run: changing(assignable, combine, rightRun, postfix), isStatement: true }
}

type Combine = (frame: Frame, before: unknown, right: unknown) => unknown

function changing(assignable: Assignable, combine: Combine, right: Run, postfix: boolean): Run {
  const { slot, target, key, read, write, nullSafe } = assignable
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
