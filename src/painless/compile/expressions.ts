import { compilePattern } from '../api/regex.ts'
import type { Expression, ExpressionOf } from '../ast.ts'
import { isInstance } from '../casts.ts'
import { putEntry } from '../collections.ts'
import { CompileError } from '../errors.ts'
import { allocate } from '../meter.ts'
import { defUnary, intOperations } from '../operators.ts'
import {
  booleanType,
  boxedType,
  defType,
  doubleType,
  findType,
  floatType,
  intType,
  isAssignable,
  isNumeric,
  longType,
  type Type,
  typeNamed,
  unboxedType,
  voidType,
} from '../types.ts'
import { compileArrayInit, compileNewArray } from './arrays.ts'
import { compileAssign, compileIncrement } from './assign.ts'
import { compileAssignable, readAssignable } from './assignables.ts'
import { compileBinary, promoteNumeric, regexDisabled } from './binary.ts'
import { compileCall, compileMethod, compileNew } from './calls.ts'
import { type Compiled, castTo, foldSafely, type Run, resolveType, type Scope } from './context.ts'
import { compileFunction } from './lambdas.ts'

const constant = (type: Type, at: number, value: unknown): Compiled => ({
  type,
  at,
  run: () => value,
  constant: { value },
})

/**
 * Compiles an expression. `target` is the type that the surrounding expression expects; the type of lambdas, method references and small
 * integers depends on it.
 */
export function compileExpression(node: Expression, scope: Scope, target?: Type): Compiled {
  const { at } = node
  switch (node.kind) {
    case 'int':
      return integerLiteral(node, target)
    case 'decimal':
      return decimalLiteral(node)
    case 'string':
      return constant(typeNamed('String'), at, node.value)
    case 'boolean':
      return constant(booleanType, at, node.value)
    case 'null':
      return { ...constant(findType('Object')!, at, null), isNull: true, type: defType }
    case 'regex':
      return regexLiteral(node, scope)
    case 'name':
    case 'field':
    case 'index': {
      const assignable = compileAssignable(node, scope)!
      const compiled: Compiled = { type: assignable.type, at, run: readAssignable(assignable) }
      return assignable.constant ? { ...compiled, constant: assignable.constant } : compiled
    }
    case 'type':
      throw new CompileError(at, `The type [${node.type.name}] is not a value here.`)
    case 'list':
      return listInitializer(node, scope)
    case 'map':
      return mapInitializer(node, scope)
    case 'new':
      return compileNew(node, scope)
    case 'newArray':
      return compileNewArray(node, scope)
    case 'arrayInit':
      return compileArrayInit(node, scope)
    case 'call':
      return compileCall(node, scope)
    case 'method':
      return compileMethod(node, scope)
    case 'unary':
      return compileUnary(node, scope)
    case 'cast': {
      const type = resolveType(node.type.name, node.at)
      if (type === voidType) throw new CompileError(at, 'Cannot cast to [void].', 'java.lang.ClassCastException')
      return { ...castTo(compileExpression(node.operand, scope), type, true), isStatement: false }
    }
    case 'binary':
      return compileBinary(node, scope)
    case 'instanceof':
      return compileInstanceof(node, scope)
    case 'elvis':
      return compileElvis(node, scope)
    case 'conditional':
      return compileConditional(node, scope, target)
    case 'assign':
      return compileAssign(node, scope)
    case 'increment':
      return compileIncrement(node, scope)
    case 'lambda':
    case 'reference':
      return compileFunction(node, scope, target)
  }
}

const invalidConstant = (value: bigint, long: boolean, digits: string): string => {
  const hint = ` Write [${digits}L] for a long.`
  return `[${digits}] does not fit into ${long ? 'a long' : 'an int'}.${!long && BigInt.asIntN(64, value) === value ? hint : ''}`
}

const smallRanges: Record<string, [number, number]> = { byte: [-128, 127], short: [-32768, 32767], char: [0, 65535] }

/** Compiles an integer literal. It has the type byte, short or char if that type is expected and the value fits. */
function integerLiteral({ text, at, negative }: ExpressionOf<'int'>, target?: Type): Compiled {
  const long = /[lL]$/.test(text)
  const digits = long ? text.slice(0, -1) : text
  const octal = /^0[0-7]+$/.test(digits)
  const size = BigInt(octal ? `0o${digits.slice(1)}` : digits)
  const value = negative ? -size : size
  const bits = long ? 64 : 32
  if (BigInt.asIntN(bits, value) !== value)
    throw new CompileError(at, invalidConstant(value, long, `${negative ? '-' : ''}${digits}`))
  if (long) return constant(longType, at, value)
  const range = target && smallRanges[target.name]
  const fits = range && value >= range[0] && value <= range[1]
  return constant(fits ? target : intType, at, Number(value))
}

function decimalLiteral({ text, at, negative }: ExpressionOf<'decimal'>): Compiled {
  const isFloat = /[fF]$/.test(text)
  const size = Number(/[fFdD]$/.test(text) ? text.slice(0, -1) : text)
  const value = isFloat ? Math.fround(size) : size
  if (!Number.isFinite(value)) throw new CompileError(at, `Invalid ${isFloat ? 'float' : 'double'} constant [${text}].`)
  return constant(isFloat ? floatType : doubleType, at, negative ? -value : value)
}

function regexLiteral(node: ExpressionOf<'regex'>, scope: Scope): Compiled {
  if (!scope.owner.script.regexEnabled) throw regexDisabled(node.at)
  const pattern = foldSafely(node.at, () => compilePattern(node.pattern, node.flags))
  return { type: typeNamed('Pattern'), at: node.at, run: () => pattern }
}

function listInitializer(node: ExpressionOf<'list'>, scope: Scope): Compiled {
  const items = node.items.map((item) => castTo(compileExpression(item, scope), defType).run)
  return {
    type: typeNamed('ArrayList'),
    at: node.at,
    run: (frame) => {
      allocate(32 + 16 * items.length)
      return items.map((item) => item(frame))
    },
  }
}

function mapInitializer(node: ExpressionOf<'map'>, scope: Scope): Compiled {
  const entries = node.entries.map(([key, value]) => [
    castTo(compileExpression(key, scope), defType).run,
    castTo(compileExpression(value, scope), defType).run,
  ]) as [Run, Run][]
  return {
    type: typeNamed('HashMap'),
    at: node.at,
    run: (frame) => {
      allocate(64)
      const map = new Map<unknown, unknown>()
      for (const [key, value] of entries) putEntry(map, key(frame), value(frame))
      return map
    },
  }
}

function compileUnary(node: ExpressionOf<'unary'>, scope: Scope): Compiled {
  const { operator, at } = node
  const operand = compileExpression(node.operand, scope)
  if (operator === '!') {
    const value = castTo(operand, booleanType)
    return foldOne({ type: booleanType, at, run: (frame) => !value.run(frame) }, value)
  }
  const type = promoteNumeric(operand.type, operand.type, operator !== '~')
  const fraction = operand.type === doubleType || operand.type === floatType
  if (!type || operand.isNull || (operator === '~' && fraction))
    throw new CompileError(
      at,
      `Cannot apply [${operator}] operation to type [${operand.type.name}].`,
      'java.lang.ClassCastException',
    )
  const { run } = castTo(operand, type)
  return foldOne({ type, at, run: unaryRun(operator, type, run) }, operand)
}

function foldOne(result: Compiled, operand: Compiled): Compiled {
  if (!operand.constant || result.type === defType) return result
  const value = foldSafely(result.at, () => result.run([]))
  return constant(result.type, result.at, value)
}

function unaryRun(operator: '+' | '-' | '~', type: Type, run: Run): Run {
  if (type === defType) return (frame) => defUnary(operator, run(frame))
  if (operator === '+') return run
  if (operator === '~')
    return type === longType ? (frame) => ~(run(frame) as bigint) : (frame) => ~(run(frame) as number)
  if (type === longType) return (frame) => BigInt.asIntN(64, -(run(frame) as bigint))
  if (type === intType) return (frame) => intOperations['-'](0, run(frame) as number)
  return (frame) => -(run(frame) as number)
}

function compileInstanceof(node: ExpressionOf<'instanceof'>, scope: Scope): Compiled {
  const operand = castTo(compileExpression(node.operand, scope), defType)
  const type = resolveType(node.type.name, node.at)
  return { type: booleanType, at: node.at, run: (frame) => isInstance(operand.run(frame), type) }
}

/** Returns the common type of the two operands of `condition ? left : right` or `left ?: right`. */
function commonType(left: Compiled, right: Compiled): Type {
  if (left.type === right.type) return left.type
  if (left.isNull || right.isNull) {
    const other = left.isNull ? right.type : left.type
    return boxedType(other)
  }
  if (left.type === defType || right.type === defType) return defType
  if (left.type.primitive && right.type.primitive) return promoteSides(left, right)
  if (left.type.primitive || right.type.primitive) return mixedType(left.type, right.type)
  if (isAssignable(left.type, right.type)) return left.type
  if (isAssignable(right.type, left.type)) return right.type
  return typeNamed('Object')
}

function promoteSides(left: Compiled, right: Compiled): Type {
  const has = (name: string) => left.type.name === name || right.type.name === name
  const wide = ['double', 'float', 'long', 'int'].find(has)
  if (!isNumeric(left.type) || !isNumeric(right.type)) return typeNamed('Object')
  if (wide) return typeNamed(wide)
  if (has('char')) return intType
  return typeNamed(has('short') ? 'short' : 'byte')
}

const mixedType = (left: Type, right: Type): Type => {
  const same = unboxedType(left) === right || unboxedType(right) === left
  return same ? boxedType(left) : typeNamed('Object')
}

function compileElvis(node: ExpressionOf<'elvis'>, scope: Scope): Compiled {
  const left = compileExpression(node.left, scope)
  const right = compileExpression(node.right, scope)
  const extraneous = (reason: string) => new CompileError(node.at, `Extraneous elvis operator. ${reason}`)
  if (left.type.primitive) throw extraneous('LHS is a primitive.')
  if (left.isNull) throw extraneous('LHS is null.')
  if (left.constant) throw extraneous('LHS is a constant.')
  if (right.isNull) throw extraneous('RHS is null.')
  const type = boxedType(commonType(left, right))
  const one = castTo(left, type, false, true).run
  const two = castTo(right, type, false, true).run
  return { type, at: node.at, run: (frame) => one(frame) ?? two(frame) }
}

function compileConditional(node: ExpressionOf<'conditional'>, scope: Scope, target?: Type): Compiled {
  const condition = castTo(compileExpression(node.condition, scope), booleanType)
  if (node.condition.kind === 'boolean') throw new CompileError(node.at, 'Extraneous conditional statement.')
  const yes = compileExpression(node.yes, scope, target)
  const no = compileExpression(node.no, scope, target)
  const type = commonType(yes, no)
  const test = condition.run
  const one = castTo(yes, type, false, true).run
  const two = castTo(no, type, false, true).run
  return { type, at: node.at, run: (frame) => (test(frame) ? one(frame) : two(frame)) }
}
