/** Parses scripts without running them. Only threads of the sandbox load this module, because parsing a long script takes 100 ms or more. */
import { type Node, parse } from 'acorn'
import type { FailureText } from './outcome.ts'

export interface Parsed {
  ok: true
  /** True if the text has a `return` statement outside of inner functions. */
  hasOwnReturn: boolean
}

/** Parses a text as the body of a JavaScript function. */
export function parseScript(text: string): Parsed | ({ ok: false } & FailureText) {
  try {
    const program = parse(text, {
      ecmaVersion: 'latest',
      sourceType: 'script',
      allowReturnOutsideFunction: true,
      allowHashBang: false,
    })
    return { ok: true, hasOwnReturn: hasReturn(program) }
  } catch (error) {
    return { ok: false, ...syntaxFailure(error) }
  }
}

/**
 * Returns whether there is a `return` statement outside of inner functions. The search uses a list instead of recursion, so that a deeply
 * nested script cannot exhaust the stack.
 */
function hasReturn(program: Node): boolean {
  const open: unknown[] = [program]
  while (open.length > 0) {
    const node = open.pop()
    if (Array.isArray(node)) open.push(...node)
    else if (isNode(node)) {
      if (node.type === 'ReturnStatement') return true
      if (!ownScopes.has(node.type)) open.push(...Object.values(node))
    }
  }
  return false
}

const ownScopes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression', 'StaticBlock'])

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

function syntaxFailure(error: unknown): FailureText {
  // The parser is recursive, so a text with thousands of brackets exhausts the stack.
  if (error instanceof RangeError) return { reason: 'SYNTAX', message: 'the script is nested too deeply' }
  if (!(error instanceof SyntaxError) || !('loc' in error)) throw error
  const { line, column } = error.loc as { line: number; column: number }
  return { reason: 'SYNTAX', message: error.message.replace(/ \(\d+:\d+\)$/, ''), line, column: column + 1 }
}
