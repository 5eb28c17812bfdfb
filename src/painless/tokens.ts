import type { Statement, TypeName } from './ast.ts'
import { CompileError } from './errors.ts'
import type { Token } from './lexer.ts'
import { findType } from './types.ts'

/** Maximum nesting of statements and expressions. */
const nestingMax = 150

const primitives = new Set(['boolean', 'byte', 'short', 'char', 'int', 'long', 'float', 'double', 'def', 'void'])

/** The state of the parser: its position in the list of tokens, and the nesting depth. */
export interface Cursor {
  tokens: Token[]
  position: number
  depth: number
  /**
   * Parses `{ … }`. The parser of expressions calls this function for the body of a lambda. It cannot import the function, because the
   * parser of statements imports the parser of expressions.
   */
  parseBlock: (cursor: Cursor) => Statement[]
}

export const peek = (cursor: Cursor, ahead = 0): Token =>
  cursor.tokens[Math.min(cursor.position + ahead, cursor.tokens.length - 1)]!

export const isNext = (cursor: Cursor, text: string, ahead = 0): boolean => {
  const token = peek(cursor, ahead)
  return token.text === text && (token.kind === 'op' || token.kind === 'keyword')
}

export function next(cursor: Cursor): Token {
  const token = peek(cursor)
  if (token.kind !== 'end') cursor.position++
  return token
}

export function accept(cursor: Cursor, text: string): boolean {
  if (!isNext(cursor, text)) return false
  cursor.position++
  return true
}

export function expect(cursor: Cursor, text: string): Token {
  if (isNext(cursor, text)) return next(cursor)
  return unexpected(cursor, `['${text}']`)
}

export function expectName(cursor: Cursor): Token {
  if (peek(cursor).kind === 'id') return next(cursor)
  return unexpected(cursor, '[a name]')
}

export function unexpected(cursor: Cursor, expected: string): never {
  const token = peek(cursor)
  throw new CompileError(
    token.at,
    token.kind === 'end'
      ? `unexpected end of script but was expecting one of ${expected}.`
      : `unexpected token ['${token.text}'] was expecting one of ${expected}.`,
  )
}

/** Runs a part of the parser one nesting level deeper. */
export function nested<T>(cursor: Cursor, parse: () => T): T {
  if (++cursor.depth > nestingMax)
    throw new CompileError(peek(cursor).at, `The script is nested more than ${nestingMax} levels deep.`)
  const result = parse()
  cursor.depth--
  return result
}

/**
 * Reads the name of a type, with package and `[]`, that begins `ahead` tokens after the position, and does not move the position. `length`
 * is the number of tokens of the name. Returns undefined if there is no such name.
 */
export function typeAhead(cursor: Cursor, ahead = 0, brackets = true): (TypeName & { length: number }) | undefined {
  const first = peek(cursor, ahead)
  let length = 1
  let name = first.text
  if (first.kind === 'keyword') {
    if (!primitives.has(name)) return undefined
  } else if (first.kind === 'id') {
    let best = findType(name) ? { name, length } : undefined
    while (isNext(cursor, '.', ahead + length) && peek(cursor, ahead + length + 1).kind === 'id') {
      name += `.${peek(cursor, ahead + length + 1).text}`
      length += 2
      if (findType(name)) best = { name, length }
      else if (length > 15) break
    }
    if (!best) return undefined
    ;({ name, length } = best)
  } else return undefined
  while (brackets && isNext(cursor, '[', ahead + length) && isNext(cursor, ']', ahead + length + 1)) {
    name += '[]'
    length += 2
  }
  return { at: first.at, name, length }
}

export function expectType(cursor: Cursor): TypeName {
  const type = typeAhead(cursor)
  if (!type) {
    const token = peek(cursor)
    if (token.kind === 'id') throw new CompileError(token.at, `cannot resolve type [${token.text}]`)
    return unexpected(cursor, '[a type]')
  }
  cursor.position += type.length
  return type
}
