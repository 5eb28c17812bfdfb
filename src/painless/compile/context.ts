import type { Expression, FunctionNode, Statement } from '../ast.ts'
import { castBetween, unchanged } from '../casts.ts'
import { CompileError } from '../errors.ts'
import { findType, type Type } from '../types.ts'

/** The variables of one call of a function, lambda or script, by slot. Slot 0 contains the returned value. */
export type Frame = unknown[]
export type Run = (frame: Frame) => unknown

/** A compiled expression: its static type, and a closure that computes it. */
export interface Compiled {
  type: Type
  run: Run
  at: number
  /** Present if the value is known at compile time. */
  constant?: { value: unknown }
  /** True for the literal `null`. */
  isNull?: boolean
  /** True if the expression may be used as a statement. */
  isStatement?: boolean
}

export interface Variable {
  name: string
  type: Type
  slot: number
  readOnly: boolean
}

/** The state of one function, lambda or the script itself while it is compiled. */
export interface FunctionScope {
  slots: number
  returns: Type
  script: ScriptScope
  /** For a lambda: the scope that contains it. */
  outer?: Scope
  /** Variables that a lambda captures. Each variable is copied from a slot of the enclosing function to a slot of the lambda. */
  captures: { from: Variable; to: Variable }[]
}

export interface Scope {
  variables: Map<string, Variable>
  parent: Scope | undefined
  owner: FunctionScope
  inLoop: boolean
}

export interface LocalFunction {
  node: FunctionNode
  parameters: Type[]
  returns: Type
  /** Calls the function with arguments in the representation of its parameters. */
  call: (args: unknown[]) => unknown
}

/**
 * State that all files of the compiler share. The files call `expression` and `body` through this object, because importing these functions
 * would be circular.
 */
export interface ScriptScope {
  functions: Map<string, LocalFunction>
  regexEnabled: boolean
  expression: (node: Expression, scope: Scope, target?: Type) => Compiled
  body: (statements: Statement[], scope: Scope) => { run: (frame: Frame) => number; returns: boolean }
}

export const childScope = (parent: Scope, inLoop = parent.inLoop): Scope => ({
  variables: new Map(),
  parent,
  owner: parent.owner,
  inLoop,
})

/** Maximum number of variables of one function. Each call creates a frame for all of them. */
const slotsMax = 1000

export function declare(scope: Scope, name: string, type: Type, at: number, readOnly = false): Variable {
  if (type.name === 'void')
    throw new CompileError(at, `invalid declaration: type [void] is not a type of variable [${name}]`)
  if (findVariable(scope, name)) throw new CompileError(at, `variable [${name}] is already defined`)
  if (scope.owner.slots >= slotsMax) throw new CompileError(at, `A function has more than ${slotsMax} variables.`)
  const variable = { name, type, slot: scope.owner.slots++, readOnly }
  scope.variables.set(name, variable)
  return variable
}

/** Finds a variable. A variable from outside a lambda is captured and read-only inside. */
export function findVariable(scope: Scope, name: string): Variable | undefined {
  for (let current: Scope | undefined = scope; current; current = current.parent) {
    const found = current.variables.get(name)
    if (found) return found
  }
  const { owner } = scope
  const captured = owner.captures.find(({ to }) => to.name === name)
  if (captured) return captured.to
  const from = owner.outer && findVariable(owner.outer, name)
  if (!from) return undefined
  const to = { ...from, slot: owner.slots++, readOnly: true }
  owner.captures.push({ from, to })
  return to
}

export function resolveType(name: string, at: number): Type {
  const type = findType(name)
  if (!type) throw new CompileError(at, `cannot resolve type [${name}]`)
  return type
}

/**
 * Casts a compiled expression. If `internal` is true, the cast may also box or unbox a value (`int` to `Integer` and back), as for
 * arguments, operands of `?:` and returned values.
 */
export function castTo(expression: Compiled, to: Type, explicit = false, internal = false): Compiled {
  const { type, run, at } = expression
  if (type === to) return expression
  if (expression.isNull && !to.primitive) return { ...expression, type: to }
  const convert = castBetween(type, to, explicit, internal)
  if (!convert)
    throw new CompileError(at, `Cannot cast from [${type.name}] to [${to.name}].`, 'java.lang.ClassCastException')
  if (convert === unchanged) return { ...expression, type: to }
  const apply = convert as (value: unknown) => unknown
  if (expression.constant) {
    const value = foldSafely(at, () => apply(expression.constant!.value))
    return { type: to, run: () => value, at, constant: { value } }
  }
  return { type: to, at, run: (frame) => apply(run(frame)) }
}

/** Runs a computation on constants while the script is compiled. If the computation throws, a compile error is thrown. */
export function foldSafely<T>(at: number, compute: () => T): T {
  try {
    return compute()
  } catch (error) {
    const javaClass = (error as { javaClass?: string }).javaClass
    throw new CompileError(at, (error as Error).message, javaClass ?? 'java.lang.IllegalArgumentException')
  }
}
