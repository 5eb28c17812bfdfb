import type { Expression, Statement, StatementOf } from '../ast.ts'
import { asJavaThrow, CompileError, nullPointer } from '../errors.ts'
import { callDepth, restoreDepth, step } from '../meter.ts'
import { booleanType, defType, isSubclass, typeNamed, voidType } from '../types.ts'
import { defaultValue } from './arrays.ts'
import { type Compiled, castTo, childScope, declare, type Frame, type Run, resolveType, type Scope } from './context.ts'
import { compileEach } from './each.ts'

/** The way in which a statement ended. The value of a `return` is in slot 0 of the frame. */
export const normal = 0
export const broken = 1
export const continued = 2
export const returned = 3

export type Exec = (frame: Frame) => number

export interface CompiledStatement {
  exec: Exec
  /** True if no path reaches the end, because all paths return or throw. */
  returns: boolean
  /** True if no path reaches the end, because all paths return, throw, break or continue. */
  leaves: boolean
  /** True if a path breaks out of the surrounding loop. */
  breaks: boolean
}

/** Offset of the running statement, for errors. */
export const trace = { at: 0 }

const plain = (exec: Exec): CompiledStatement => ({ exec, returns: false, leaves: false, breaks: false })

/**
 * Compiles statements in a scope of their own. If `last` is true, the value of the final statement is the result of the script, function or
 * lambda.
 */
export function compileBlock(
  statements: Statement[],
  outer: Scope,
  last: boolean,
  inLoop = outer.inLoop,
): CompiledStatement {
  const scope = childScope(outer, inLoop)
  const parts: CompiledStatement[] = []
  for (const [index, statement] of statements.entries()) {
    const previous = parts.at(-1)
    if (previous?.leaves) throw new CompileError(statement.at, 'Unreachable statement.')
    parts.push(compileStatement(statement, scope, last && index === statements.length - 1))
  }
  const end = parts.at(-1)
  return {
    exec: sequence(parts.map(({ exec }) => exec)),
    returns: end?.returns ?? false,
    leaves: end?.leaves ?? false,
    breaks: parts.some(({ breaks }) => breaks),
  }
}

function sequence(parts: Exec[]): Exec {
  const [first, second] = parts
  if (!first) return () => normal
  if (!second) return first
  if (parts.length === 2) return (frame) => first(frame) || second(frame)
  return (frame) => {
    for (let index = 0; index < parts.length; index++) {
      const end = parts[index]!(frame)
      if (end !== normal) return end
    }
    return normal
  }
}

function compileStatement(node: Statement, scope: Scope, last: boolean): CompiledStatement {
  switch (node.kind) {
    case 'expression':
      return expressionStatement(node, scope, last)
    case 'declare':
      return declaration(node, scope)
    case 'return':
      return returnStatement(node, scope)
    case 'if':
      return ifStatement(node, scope, last)
    case 'while':
      return whileLoop(node, scope)
    case 'do':
      return doLoop(node, scope)
    case 'for':
      return forLoop(node, scope)
    case 'each':
      return { ...plain(compileEach(node, scope, (body, inner) => compileBlock(body, inner, false, true).exec)) }
    case 'break':
    case 'continue': {
      if (!scope.inLoop) throw new CompileError(node.at, `The ${node.kind} statement is outside of a loop.`)
      const end = node.kind === 'break' ? broken : continued
      return { exec: () => end, returns: false, leaves: true, breaks: end === broken }
    }
    case 'throw':
      return throwStatement(node, scope)
    case 'try':
      return tryStatement(node, scope, last)
  }
}

const compile = (node: Expression, scope: Scope): Compiled => scope.owner.script.expression(node, scope)

function expressionStatement(node: StatementOf<'expression'>, scope: Scope, last: boolean): CompiledStatement {
  const { returns } = scope.owner
  const expression = scope.owner.script.expression(node.expression, scope, last ? returns : undefined)
  const { at } = node
  if (!last && !expression.isStatement)
    throw new CompileError(at, 'Not a statement: the result of this expression is not used.')
  if (last && returns !== voidType && expression.type !== voidType) {
    const { run } = castTo(expression, returns, false, true)
    return returning(at, run)
  }
  if (!expression.isStatement) throw new CompileError(at, 'Not a statement: the result of this expression is not used.')
  const { run } = expression
  return plain((frame) => {
    trace.at = at
    run(frame)
    return normal
  })
}

const returning = (at: number, run: Run): CompiledStatement => ({
  exec: (frame) => {
    trace.at = at
    frame[0] = run(frame)
    return returned
  },
  returns: true,
  leaves: true,
  breaks: false,
})

function returnStatement(node: StatementOf<'return'>, scope: Scope): CompiledStatement {
  const { returns } = scope.owner
  if (!node.value) {
    if (returns !== voidType && returns !== defType)
      throw new CompileError(node.at, `Cannot cast from [void] to [${returns.name}].`, 'java.lang.ClassCastException')
    return returning(node.at, () => null)
  }
  const value = scope.owner.script.expression(node.value, scope, returns)
  if (returns === voidType || value.type === voidType)
    throw new CompileError(
      node.at,
      `Cannot cast from [${value.type.name}] to [${returns.name}].`,
      'java.lang.ClassCastException',
    )
  return returning(node.at, castTo(value, returns, false, true).run)
}

function declaration(node: StatementOf<'declare'>, scope: Scope): CompiledStatement {
  const type = resolveType(node.type.name, node.type.at)
  const parts = node.names.map(({ name, at, value }): Exec => {
    const initial = value && castTo(scope.owner.script.expression(value, scope, type), type)
    const { slot } = declare(scope, name, type, at)
    const run: Run = initial?.run ?? (() => defaultValue(type))
    return (frame) => {
      trace.at = at
      frame[slot] = run(frame)
      return normal
    }
  })
  return plain(sequence(parts))
}

function conditionOf(node: Expression, scope: Scope): Compiled {
  return castTo(compile(node, scope), booleanType)
}

function ifStatement(node: StatementOf<'if'>, scope: Scope, last: boolean): CompiledStatement {
  const condition = conditionOf(node.condition, scope)
  if (node.condition.kind === 'boolean') throw new CompileError(node.at, 'Extraneous if statement.')
  if (node.yes.length === 0) throw new CompileError(node.at, 'Extraneous if statement.')
  const yes = compileBlock(node.yes, scope, last)
  const no = node.no && compileBlock(node.no, scope, last)
  if (node.no?.length === 0) throw new CompileError(node.at, 'Extraneous else statement.')
  const { at } = node
  const test = condition.run
  const then = yes.exec
  const otherwise = no?.exec ?? (() => normal)
  return {
    exec: (frame) => {
      trace.at = at
      return test(frame) ? then(frame) : otherwise(frame)
    },
    returns: yes.returns && (no?.returns ?? false),
    leaves: yes.leaves && (no?.leaves ?? false),
    breaks: yes.breaks || (no?.breaks ?? false),
  }
}

/** Returns a compiled loop. A loop whose condition is always true ends only by `break`, `return` or an exception. */
function loopResult(exec: Exec, endless: boolean, body: CompiledStatement | undefined): CompiledStatement {
  const never = endless && !body?.breaks
  return { exec, returns: never, leaves: never, breaks: false }
}

function loopCondition(node: Expression | undefined, scope: Scope, at: number): { test: Run; endless: boolean } {
  if (!node) return { test: () => true, endless: true }
  const condition = conditionOf(node, scope)
  const literal = node.kind === 'boolean'
  if (literal && !node.value) throw new CompileError(at, 'Extraneous loop: its condition is always false.')
  return { test: condition.run, endless: literal }
}

function loopBody(body: Statement[] | undefined, scope: Scope, at: number): CompiledStatement | undefined {
  if (!body) return undefined
  const compiled = compileBlock(body, scope, false, true)
  if (compiled.leaves && compiled.returns) throw new CompileError(at, 'Extraneous loop: its body always leaves it.')
  return compiled
}

function whileLoop(node: StatementOf<'while'>, outer: Scope): CompiledStatement {
  const scope = childScope(outer)
  const { test, endless } = loopCondition(node.condition, scope, node.at)
  const body = loopBody(node.body, scope, node.at)
  return loopResult(looping(test, body?.exec, undefined, node.at), endless, body)
}

function looping(test: Run, body: Exec | undefined, after: Run | undefined, at: number): Exec {
  return (frame) => {
    for (;;) {
      trace.at = at
      if (!test(frame)) return normal
      step()
      if (body) {
        const end = body(frame)
        if (end === broken) return normal
        if (end === returned) return end
      }
      if (after) after(frame)
    }
  }
}

function doLoop(node: StatementOf<'do'>, outer: Scope): CompiledStatement {
  const scope = childScope(outer)
  const body = loopBody(node.body, scope, node.at)!
  const { test, endless } = loopCondition(node.condition, scope, node.at)
  const run = body.exec
  const exec: Exec = (frame) => {
    do {
      step()
      const end = run(frame)
      if (end === broken) return normal
      if (end === returned) return end
    } while (test(frame))
    return normal
  }
  return loopResult(exec, endless, body)
}

function forLoop(node: StatementOf<'for'>, outer: Scope): CompiledStatement {
  const scope = childScope(outer)
  const initializer = node.initializer && compileStatement(node.initializer, scope, false)
  const { test, endless } = loopCondition(node.condition, scope, node.at)
  const after = node.after && compile(node.after, scope)
  if (after && !after.isStatement)
    throw new CompileError(after.at, 'Not a statement: the result of this expression is not used.')
  const body = loopBody(node.body, scope, node.at)
  const loop = looping(test, body?.exec, after?.run, node.at)
  const start = initializer?.exec
  return loopResult(start ? (frame) => start(frame) || loop(frame) : loop, endless, body)
}

function throwStatement(node: StatementOf<'throw'>, scope: Scope): CompiledStatement {
  const { run } = castTo(compile(node.value, scope), typeNamed('Exception'))
  const { at } = node
  const exec: Exec = (frame) => {
    trace.at = at
    const error = run(frame)
    if (error === null) throw nullPointer('cannot throw null')
    throw error
  }
  return { exec, returns: true, leaves: true, breaks: false }
}

function tryStatement(node: StatementOf<'try'>, scope: Scope, last: boolean): CompiledStatement {
  const body = compileBlock(node.body, scope, last)
  const catches = node.catches.map(({ type: typeName, name, at, body: handler }) => {
    const type = resolveType(typeName.name, typeName.at)
    if (!type.info || !isSubclass(type.name, 'java.lang.Exception'))
      throw new CompileError(at, `Not an exception type [${type.name}].`, 'java.lang.ClassCastException')
    const inner = childScope(scope)
    const { slot } = declare(inner, name, type, at)
    return { className: type.name, slot, ...compileBlock(handler, inner, last) }
  })
  const exec: Exec = (frame) => {
    const depth = callDepth()
    try {
      return body.exec(frame)
    } catch (thrown) {
      const error = asJavaThrow(thrown)
      if (!error || error.fatal) throw thrown
      const handler = catches.find(({ className }) => isSubclass(error.javaClass, className))
      if (!handler) throw error
      restoreDepth(depth)
      step()
      frame[handler.slot] = error
      return handler.exec(frame)
    }
  }
  const all = [body, ...catches]
  return {
    exec,
    returns: all.every(({ returns }) => returns),
    leaves: all.every(({ leaves }) => leaves),
    breaks: all.some(({ breaks }) => breaks),
  }
}
