import './api/classes.ts'
import type { FunctionNode } from './ast.ts'
import { defaultValue } from './compile/arrays.ts'
import {
  declare,
  type Frame,
  type FunctionScope,
  type LocalFunction,
  resolveType,
  type Scope,
  type ScriptScope,
} from './compile/context.ts'
import { compileExpression } from './compile/expressions.ts'
import { compileBlock, trace } from './compile/statements.ts'
import { asJavaThrow, CompileError, ScriptError } from './errors.ts'
import { enterCall, leaveCall, startMeter } from './meter.ts'
import { parseScript } from './parse-statement.ts'
import { defType, type Type, voidType } from './types.ts'

export interface ScriptOptions {
  /** Variables that the script can use, in the order in which `run` takes them. Each variable has a name and a type. */
  variables: [name: string, type: string][]
  /** Type of the result, `def` if absent. */
  returns?: string
  regexEnabled?: boolean
}

export interface Script {
  /** Runs the script with the values of its variables. Throws `ScriptError`. The caller must have called `startMeter` before. */
  run: (...values: unknown[]) => unknown
}

/** Compiles a script. Throws `ScriptError` with the position of the first mistake. */
export function compileScript(source: string, options: ScriptOptions): Script {
  startMeter()
  try {
    return build(source, options)
  } catch (error) {
    if (error instanceof CompileError)
      throw new ScriptError('compile error', error.javaClass, error.message, source, error.offset)
    if (error instanceof RangeError)
      throw new ScriptError(
        'compile error',
        'java.lang.StackOverflowError',
        'The script is nested too deeply.',
        source,
        0,
      )
    throw error
  }
}

function build(source: string, options: ScriptOptions): Script {
  const node = parseScript(source)
  const script: ScriptScope = {
    functions: new Map(),
    regexEnabled: options.regexEnabled ?? true,
    expression: compileExpression,
    body: (statements, scope) => {
      const { exec, returns } = compileBlock(statements, scope, true)
      return { run: exec, returns }
    },
  }
  declareFunctions(node.functions, script)
  for (const local of script.functions.values()) local.call = compileFunction(local, script)
  const owner: FunctionScope = { slots: 1, returns: typeOf(options.returns), script, captures: [] }
  const scope: Scope = { variables: new Map(), parent: undefined, owner, inLoop: false }
  for (const [name, type] of options.variables) declare(scope, name, resolveType(type, 0), 0, true)
  const { exec } = compileBlock(node.statements, scope, true)
  return { run: runner(source, owner, exec) }
}

const typeOf = (name: string | undefined): Type => (name === undefined ? defType : resolveType(name, 0))

function runner(source: string, owner: FunctionScope, exec: (frame: Frame) => number): Script['run'] {
  const initial = defaultValue(owner.returns)
  return (...values) => {
    const frame: Frame = new Array(owner.slots)
    frame[0] = initial
    for (let index = 0; index < values.length; index++) frame[index + 1] = values[index]
    try {
      exec(frame)
      return frame[0]
    } catch (error) {
      throw asScriptError(error, source)
    }
  }
}

function asScriptError(error: unknown, source: string): unknown {
  const javaThrow = asJavaThrow(error)
  return javaThrow ? new ScriptError('runtime error', javaThrow.javaClass, javaThrow.message, source, trace.at) : error
}

function declareFunctions(nodes: FunctionNode[], script: ScriptScope): void {
  for (const node of nodes) {
    const key = `${node.name}/${node.parameters.length}`
    if (script.functions.has(key))
      throw new CompileError(node.at, `Duplicate function [${node.name}] with [${node.parameters.length}] parameters.`)
    script.functions.set(key, {
      node,
      parameters: node.parameters.map(({ type, at }) => resolveType(type!.name, at)),
      returns: resolveType(node.returns.name, node.returns.at),
      call: () => null,
    })
  }
}

function compileFunction({ node, parameters, returns }: LocalFunction, script: ScriptScope): LocalFunction['call'] {
  const owner: FunctionScope = { slots: 1, returns, script, captures: [] }
  const scope: Scope = { variables: new Map(), parent: undefined, owner, inLoop: false }
  for (const [index, { name, at }] of node.parameters.entries()) declare(scope, name, parameters[index]!, at)
  const { exec, returns: always } = compileBlock(node.body, scope, true)
  if (!always && returns !== voidType)
    throw new CompileError(
      node.at,
      `not all paths provide a return value for function [${node.name}] with [${parameters.length}] parameters`,
    )
  return (args) => {
    enterCall()
    const frame: Frame = new Array(owner.slots)
    frame[0] = null
    for (let index = 0; index < args.length; index++) frame[index + 1] = args[index]
    exec(frame)
    leaveCall()
    return frame[0]
  }
}
