import type { Expression, ExpressionOf } from '../ast.ts'
import { boxerFor, castBetween, castFromDef } from '../casts.ts'
import { callMethod, classOfValue } from '../dynamic.ts'
import { CompileError, illegalArgument, JavaThrow, nullPointer } from '../errors.ts'
import { allocate, enterCall, leaveCall } from '../meter.ts'
import { boxedType, defType, findMethod, functionalMethod, type Method, type Type, voidType } from '../types.ts'
import type { JavaFunction } from '../values.ts'
import { newArray } from './arrays.ts'
import {
  type Compiled,
  castTo,
  declare,
  type Frame,
  type FunctionScope,
  findVariable,
  type Run,
  resolveType,
  type Scope,
} from './context.ts'

/** Compiles a lambda or method reference whose functional interface is known. */
export function compileFunction(
  node: ExpressionOf<'lambda'> | ExpressionOf<'reference'>,
  scope: Scope,
  target: Type | undefined,
): Compiled {
  const method = target && functionalMethod(target)
  if (!target || !method) {
    if (target === undefined || target === defType)
      throw new CompileError(node.at, 'A lambda or method reference needs a functional interface as its type.')
    throw new CompileError(node.at, `Cannot convert function reference to a non-functional interface [${target.name}].`)
  }
  const make = node.kind === 'lambda' ? lambdaMaker(node, scope, method) : referenceMaker(node, scope, method)
  const { name } = target
  return { type: target, at: node.at, run: (frame) => named(make(frame), name) }
}

function named(lambda: JavaFunction, javaClass: string): JavaFunction {
  ;(lambda as { javaClass?: string }).javaClass = javaClass
  return lambda
}

/** Compiles a lambda or method reference whose interface is known only at run time. Parameters without a type, and results, are `def`. */
export function lateFunction(node: Expression, scope: Scope): Run {
  if (node.kind === 'lambda') {
    const compiled = lambdaBody(
      node,
      scope,
      node.parameters.map(() => defType),
      defType,
    )
    return (frame) => {
      const outer = frame
      return {
        late: (method: Method, type: Type) => {
          if (method.parameters.length !== node.parameters.length) throw wrongArity(method, node.parameters.length)
          return named(compiled(outer), type.name)
        },
      }
    }
  }
  if (node.kind !== 'reference') throw new CompileError(node.at, 'A method reference is expected.')
  const capture = captureOf(node, scope)
  return (frame) => {
    const captured = capture?.(frame)
    return {
      late: (method: Method, type: Type) => {
        return atRunTime(() => named(resolveReference(node, scope, method, capture !== undefined)(captured), type.name))
      },
    }
  }
}

/** Resolves a method reference while the script runs. A mistake is thrown as an exception of the language, not as a compile error. */
function atRunTime<T>(resolve: () => T): T {
  try {
    return resolve()
  } catch (error) {
    if (!(error instanceof CompileError)) throw error
    throw error.javaClass.endsWith('ClassCastException')
      ? new JavaThrow('java.lang.invoke.LambdaConversionException', error.message)
      : illegalArgument(error.message)
  }
}

const wrongArity = (method: Method, count: number) =>
  illegalArgument(
    `Incorrect number of parameters for [${method.name}] in [${method.owner.name}]: expected ${method.parameters.length}, found ${count}`,
  )

function lambdaMaker(node: ExpressionOf<'lambda'>, scope: Scope, method: Method): (frame: Frame) => JavaFunction {
  if (method.parameters.length !== node.parameters.length)
    throw new CompileError(node.at, wrongArity(method, node.parameters.length).message)
  return lambdaBody(node, scope, method.parameters, method.returns)
}

/** Compiles a lambda. The returned function creates the lambda, with the captured variables of the frame that surrounds it. */
function lambdaBody(
  node: ExpressionOf<'lambda'>,
  scope: Scope,
  parameters: Type[],
  returns: Type,
): (frame: Frame) => JavaFunction {
  const owner: FunctionScope = { slots: 1, returns, script: scope.owner.script, outer: scope, captures: [] }
  const inner: Scope = { variables: new Map(), parent: undefined, owner, inLoop: false }
  const slots = node.parameters.map(({ type, name, at }, index) => {
    const parameterType = type ? resolveType(type.name, type.at) : parameters[index]!
    return {
      slot: declare(inner, name, parameterType, at).slot,
      cast: castFromDef(parameterType, false) as (value: unknown) => unknown,
    }
  })
  const body = bodyOf(node, inner, returns)
  const box = boxerFor(returns) as ((value: unknown) => unknown) | undefined
  return (outer) => {
    allocate(64 + 16 * owner.captures.length)
    const captured = owner.captures.map(({ from, to }) => ({ slot: to.slot, value: outer[from.slot] }))
    return (...args) => {
      const frame: Frame = new Array(owner.slots)
      for (const { slot, value } of captured) frame[slot] = value
      for (let index = 0; index < slots.length; index++) frame[slots[index]!.slot] = slots[index]!.cast(args[index])
      enterCall()
      const result = body(frame)
      leaveCall()
      return box ? box(result) : result
    }
  }
}

function bodyOf(node: ExpressionOf<'lambda'>, scope: Scope, returns: Type): Run {
  if (Array.isArray(node.body)) {
    const { run, returns: always } = scope.owner.script.body(node.body, scope)
    if (!always && returns !== voidType && returns !== defType)
      throw new CompileError(node.at, 'not all paths return a value')
    return (frame) => {
      frame[0] = null
      run(frame)
      return frame[0]
    }
  }
  const value = scope.owner.script.expression(node.body, scope, returns)
  if (returns === voidType || value.type === voidType) {
    if (returns !== voidType)
      throw new CompileError(node.at, `Cannot cast from [void] to [${returns.name}].`, 'java.lang.ClassCastException')
    return (frame) => {
      value.run(frame)
      return null
    }
  }
  return castTo(value, returns, false, true).run
}

type FromCapture = (captured: unknown) => JavaFunction

function referenceMaker(node: ExpressionOf<'reference'>, scope: Scope, method: Method): (frame: Frame) => JavaFunction {
  const capture = captureOf(node, scope)
  const make = resolveReference(node, scope, method, capture !== undefined)
  return (frame) => atRunTime(() => make(capture?.(frame)))
}

/** Returns the closure that reads the variable before `::`. Returns undefined for types and `this`. */
function captureOf(node: ExpressionOf<'reference'>, scope: Scope): Run | undefined {
  if (node.isType || node.target === 'this') return undefined
  const variable = findVariable(scope, node.target as string)
  if (!variable) throw new CompileError(node.at, `cannot resolve symbol [${node.target as string}]`)
  const { slot } = variable
  const box = boxerFor(variable.type) as ((value: unknown) => unknown) | undefined
  return (frame) => {
    const value = frame[slot]
    if (value === null) throw nullPointer(`cannot take method [${node.name}] of null`)
    return box ? box(value) : value
  }
}

function resolveReference(
  node: ExpressionOf<'reference'>,
  scope: Scope,
  method: Method,
  captured: boolean,
): FromCapture {
  const arity = method.parameters.length
  if (node.target === 'this') return thisReference(node, scope, method)
  if (captured) return variableReference(node, scope, method)
  const typeName = (node.target as { name: string }).name
  const type = resolveType(typeName, node.at)
  if (node.name === 'new') return constructorReference(node, type, arity)
  const info = boxedType(type).info
  const found = info?.statics.get(`${node.name}/${arity}`)
  if (found) {
    checkResult(node, found.returns, method)
    return () =>
      (...args) =>
        callMethod(found, undefined, args)
  }
  const member = info && arity > 0 ? findMethod(info, node.name, arity - 1) : undefined
  if (!member) throw unknownReference(node, typeName, method)
  checkResult(node, member.returns, method)
  return () =>
    (receiver, ...args) => {
      if (receiver === null) throw nullPointer(`cannot call method [${node.name}] of null`)
      return callMethod(member, receiver, args)
    }
}

const unknownReference = (node: ExpressionOf<'reference'>, owner: string, method: Method) =>
  new CompileError(
    node.at,
    `function reference [${owner}::${node.name}/${method.parameters.length}] matching [${method.owner.name}, ${method.name}/${method.parameters.length}] not found`,
  )

/** Rejects a referenced method whose result cannot be cast to the result of the interface. */
function checkResult(node: ExpressionOf<'reference'>, found: Type, method: Method): void {
  if (method.returns === voidType || method.returns === defType) return
  if (found === voidType || !castBetween(found, method.returns, false, true))
    throw new CompileError(
      node.at,
      `Cannot cast from [${found.name}] to [${method.returns.name}].`,
      'java.lang.ClassCastException',
    )
}

function variableReference(node: ExpressionOf<'reference'>, scope: Scope, method: Method): FromCapture {
  const arity = method.parameters.length
  const { type } = findVariable(scope, node.target as string)!
  if (type === defType)
    return (receiver) => {
      const found = findMethod(classOfValue(receiver), node.name, arity)
      if (!found) throw unknownReference(node, node.target as string, method)
      checkResult(node, found.returns, method)
      return (...args) => callMethod(found, receiver, args)
    }
  const info = boxedType(type).info
  const found = info && findMethod(info, node.name, arity)
  if (!found) throw unknownReference(node, node.target as string, method)
  checkResult(node, found.returns, method)
  return (receiver) =>
    (...args) =>
      callMethod(found, receiver, args)
}

function constructorReference(node: ExpressionOf<'reference'>, type: Type, arity: number): FromCapture {
  const { element } = type
  if (element && arity === 1) return () => (size) => newArray(element, [castSize(size)], 0)
  const found = type.info?.constructors.get(arity)
  if (!found) throw new CompileError(node.at, `constructor [${type.name}, <init>/${arity}] not found`)
  return () =>
    (...args) =>
      callMethod(found, undefined, args)
}

const castSize = castFromDef(resolveType('int', 0), false) as (value: unknown) => number

function thisReference(node: ExpressionOf<'reference'>, scope: Scope, method: Method): FromCapture {
  const found = scope.owner.script.functions.get(`${node.name}/${method.parameters.length}`)
  if (!found) throw unknownReference(node, 'this', method)
  checkResult(node, found.returns, method)
  const casts = found.parameters.map((type) => castFromDef(type, false) as (value: unknown) => unknown)
  const box = boxerFor(found.returns) as ((value: unknown) => unknown) | undefined
  return () =>
    (...args) => {
      const result = found.call(args.map((arg, index) => casts[index]!(arg)))
      return box ? box(result) : result
    }
}
