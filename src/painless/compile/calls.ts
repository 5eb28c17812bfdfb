import type { Expression, ExpressionOf } from '../ast.ts'
import { classOfValue, dynamicCall } from '../dynamic.ts'
import { CompileError } from '../errors.ts'
import { step } from '../meter.ts'
import { boxedType, defType, findClass, findMethod, type Method, type Type, typeNamed } from '../types.ts'
import { javaClassOf } from '../values.ts'
import { notNull } from './assignables.ts'
import { type Compiled, castTo, type Run, resolveType, type Scope } from './context.ts'
import { lateFunction } from './lambdas.ts'

const isFunctionNode = (node: Expression): boolean => node.kind === 'lambda' || node.kind === 'reference'

/** Compiles arguments for known parameter types. */
export function compileArguments(args: Expression[], parameters: Type[], scope: Scope): Run[] {
  return args.map((arg, index) => {
    const type = parameters[index]!
    return castTo(scope.owner.script.expression(arg, scope, type), type, false, true).run
  })
}

export function compileCall(node: ExpressionOf<'call'>, scope: Scope): Compiled {
  const found = scope.owner.script.functions.get(`${node.name}/${node.args.length}`)
  if (!found) throw new CompileError(node.at, `Unknown call [${node.name}] with [${node.args.length}] arguments.`)
  const args = compileArguments(node.args, found.parameters, scope)
  return {
    type: found.returns,
    at: node.at,
    isStatement: true,
    run: (frame) => found.call(args.map((arg) => arg(frame))),
  }
}

export function compileNew(node: ExpressionOf<'new'>, scope: Scope): Compiled {
  const type = resolveType(node.type.name, node.at)
  const method = type.info?.constructors.get(node.args.length)
  if (!method) throw new CompileError(node.at, `constructor [${type.name}, <init>/${node.args.length}] not found`)
  // Constructors of collections take another collection or a comparator. A function can only be a comparator.
  const parameters = method.parameters.map((parameter, index) =>
    parameter === defType && isFunctionNode(node.args[index]!) ? typeNamed('java.util.Comparator') : parameter,
  )
  return {
    type,
    at: node.at,
    isStatement: true,
    run: invoke(method, undefined, compileArguments(node.args, parameters, scope)),
  }
}

export function compileMethod(node: ExpressionOf<'method'>, scope: Scope): Compiled {
  const arity = node.args.length
  if (node.target.kind === 'type') {
    const type = resolveType(node.target.type.name, node.at)
    const method = boxedType(type).info?.statics.get(`${node.name}/${arity}`)
    if (!method) throw new CompileError(node.at, `static method [${type.name}, ${node.name}/${arity}] not found`)
    checkRegex(method, scope, node.at)
    const run = invoke(method, undefined, compileArguments(node.args, method.parameters, scope))
    return { type: method.returns, at: node.at, isStatement: true, run }
  }
  const target = scope.owner.script.expression(node.target, scope)
  if (target.type === defType) return dynamicMethod(node, target, scope)
  const info = target.type.element ? findClass('java.lang.Object') : boxedType(target.type).info
  const method = info && findMethod(info, node.name, arity)
  if (!method) throw new CompileError(node.at, `method [${target.type.name}, ${node.name}/${arity}] not found`)
  if (node.nullSafe && target.type.primitive)
    throw new CompileError(node.at, `The null safe operator cannot be applied to [${target.type.name}]`)
  if (node.nullSafe && method.returns.primitive)
    throw new CompileError(node.at, 'Result of null safe operator must be nullable')
  const receiver = castTo(notNull(target, node.nullSafe, node.name), target.type.primitive ? defType : target.type)
  const args = compileArguments(node.args, method.parameters, scope)
  return {
    type: method.returns,
    at: node.at,
    isStatement: true,
    run: invoke(method, receiver.run, args, node.nullSafe),
  }
}

/** Rejects the static methods of `Pattern`, which take the text of a regular expression, if regular expressions are disabled. */
function checkRegex(method: Method, scope: Scope, at: number): void {
  if (method.owner.name !== 'java.util.regex.Pattern' || scope.owner.script.regexEnabled) return
  throw new CompileError(at, 'Regexes are disabled. The operator of this platform can enable them.')
}

function dynamicMethod(node: ExpressionOf<'method'>, target: Compiled, scope: Scope): Compiled {
  const receiver = target.run
  const args = node.args.map((arg) =>
    isFunctionNode(arg) ? lateFunction(arg, scope) : castTo(scope.owner.script.expression(arg, scope), defType).run,
  )
  const call = dynamicCall(node.name, args.length)
  const { nullSafe } = node
  const [first, second] = args
  const run: Run =
    args.length === 0
      ? (frame) => {
          const object = receiver(frame)
          return object === null && nullSafe ? null : call(object, [])
        }
      : args.length === 1
        ? (frame) => {
            const object = receiver(frame)
            return object === null && nullSafe ? null : call(object, [first!(frame)])
          }
        : args.length === 2
          ? (frame) => {
              const object = receiver(frame)
              return object === null && nullSafe ? null : call(object, [first!(frame), second!(frame)])
            }
          : (frame) => {
              const object = receiver(frame)
              return object === null && nullSafe
                ? null
                : call(
                    object,
                    args.map((arg) => arg(frame)),
                  )
            }
  return { type: defType, at: node.at, isStatement: true, run }
}

/**
 * Returns a function that calls `method` or, if the class of the object overrides the method, the overriding method. The method for the
 * class of the last object is cached.
 */
function virtualCall(method: Method): Method['call'] {
  let lastClass: string | undefined
  let lastCall = method.call
  return (receiver, ...args) => {
    const className = javaClassOf(receiver)
    if (className !== lastClass) {
      lastCall = findMethod(classOfValue(receiver), method.name, method.parameters.length)?.call ?? method.call
      lastClass = className
    }
    return lastCall(receiver, ...args)
  }
}

/** Builds the closure that calls a method whose class is known. */
function invoke(method: Method, receiver: Run | undefined, args: Run[], nullSafe = false): Run {
  const call = method.overridden && receiver ? virtualCall(method) : method.call
  const [first, second] = args
  if (!receiver) {
    if (args.length === 1)
      return (frame) => {
        step()
        return call(first!(frame))
      }
    return (frame) => {
      step()
      return call(...args.map((arg) => arg(frame)))
    }
  }
  const run: Run =
    args.length === 0
      ? (frame) => call(receiver(frame))
      : args.length === 1
        ? (frame) => call(receiver(frame), first!(frame))
        : args.length === 2
          ? (frame) => call(receiver(frame), first!(frame), second!(frame))
          : (frame) => call(receiver(frame), ...args.map((arg) => arg(frame)))
  if (nullSafe)
    return (frame) => {
      step()
      const object = receiver(frame)
      return object === null ? null : call(object, ...args.map((arg) => arg(frame)))
    }
  return (frame) => {
    step()
    return run(frame)
  }
}
