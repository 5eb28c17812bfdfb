import type { FunctionNode, Parameter, ScriptNode, Statement, StatementOf } from './ast.ts'
import { CompileError } from './errors.ts'
import { tokenize } from './lexer.ts'
import { parseExpression, parseLambda } from './parse-expression.ts'
import {
  accept,
  type Cursor,
  expect,
  expectName,
  expectType,
  isNext,
  nested,
  next,
  peek,
  typeAhead,
  unexpected,
} from './tokens.ts'

/** Maximum length of a script, in characters. */
const sourceMax = 65_535

export function parseScript(source: string): ScriptNode {
  if (source.length > sourceMax)
    throw new CompileError(
      0,
      `Scripts may be no longer than ${sourceMax} characters. The passed in script is ${source.length} characters.`,
    )
  const cursor: Cursor = { tokens: tokenize(source), position: 0, depth: 0, parseBlock }
  const functions: FunctionNode[] = []
  while (startsFunction(cursor)) functions.push(parseFunction(cursor))
  const statements: Statement[] = []
  while (peek(cursor).kind !== 'end') statements.push(parseStatement(cursor))
  return { functions, statements }
}

function startsFunction(cursor: Cursor): boolean {
  const type = typeAhead(cursor)
  return type !== undefined && peek(cursor, type.length).kind === 'id' && isNext(cursor, '(', type.length + 1)
}

function parseFunction(cursor: Cursor): FunctionNode {
  const returns = expectType(cursor)
  const name = expectName(cursor)
  expect(cursor, '(')
  const parameters: Parameter[] = []
  while (!isNext(cursor, ')')) {
    const type = expectType(cursor)
    const parameter = expectName(cursor)
    parameters.push({ type, name: parameter.text, at: parameter.at })
    if (!accept(cursor, ',')) break
  }
  expect(cursor, ')')
  return { at: name.at, returns, name: name.text, parameters, body: parseBlock(cursor) }
}

function parseBlock(cursor: Cursor): Statement[] {
  return nested(cursor, () => {
    expect(cursor, '{')
    const statements: Statement[] = []
    while (!isNext(cursor, '}')) {
      if (peek(cursor).kind === 'end') return unexpected(cursor, "['}']")
      statements.push(parseStatement(cursor))
    }
    next(cursor)
    return statements
  })
}

const parseTrailer = (cursor: Cursor): Statement[] =>
  isNext(cursor, '{') ? parseBlock(cursor) : [nested(cursor, () => parseStatement(cursor))]

/** Parses the body of a loop, which may be a single semicolon. */
const parseLoopBody = (cursor: Cursor): Statement[] | undefined =>
  accept(cursor, ';') ? undefined : parseTrailer(cursor)

function parseStatement(cursor: Cursor): Statement {
  const token = peek(cursor)
  if (token.kind === 'keyword')
    switch (token.text) {
      case 'if':
        return parseIf(cursor)
      case 'while':
        return parseWhile(cursor)
      case 'for':
        return parseFor(cursor)
      case 'try':
        return parseTry(cursor)
    }
  const statement = parseSimple(cursor)
  if (!accept(cursor, ';') && !isNext(cursor, '}') && peek(cursor).kind !== 'end') unexpected(cursor, "[';']")
  return statement
}

function parseSimple(cursor: Cursor): Statement {
  const { kind, text, at } = peek(cursor)
  if (kind === 'keyword')
    switch (text) {
      case 'do': {
        next(cursor)
        const body = parseBlock(cursor)
        expect(cursor, 'while')
        expect(cursor, '(')
        const condition = parseExpression(cursor)
        expect(cursor, ')')
        return { kind: 'do', at, condition, body }
      }
      case 'continue':
      case 'break':
        next(cursor)
        return { kind: text, at }
      case 'return': {
        next(cursor)
        const empty = isNext(cursor, ';') || isNext(cursor, '}') || peek(cursor).kind === 'end'
        return { kind: 'return', at, value: empty ? undefined : parseExpression(cursor) }
      }
      case 'throw':
        next(cursor)
        return { kind: 'throw', at, value: parseExpression(cursor) }
    }
  return parseDeclaration(cursor) ?? { kind: 'expression', at, expression: parseExpression(cursor) }
}

function parseDeclaration(cursor: Cursor): StatementOf<'declare'> | undefined {
  const type = typeAhead(cursor)
  if (!type || peek(cursor, type.length).kind !== 'id') {
    const token = peek(cursor)
    if (!type && token.kind === 'id' && peek(cursor, 1).kind === 'id')
      throw new CompileError(token.at, `invalid declaration: cannot resolve type [${token.text}]`)
    return undefined
  }
  cursor.position += type.length
  const names: StatementOf<'declare'>['names'] = []
  do {
    const name = expectName(cursor)
    const value = accept(cursor, '=') ? (parseLambda(cursor) ?? parseExpression(cursor)) : undefined
    names.push({ name: name.text, at: name.at, value })
  } while (accept(cursor, ','))
  return { kind: 'declare', at: type.at, type, names }
}

function parseIf(cursor: Cursor): Statement {
  const { at } = next(cursor)
  expect(cursor, '(')
  const condition = parseExpression(cursor)
  expect(cursor, ')')
  const yes = parseTrailer(cursor)
  return { kind: 'if', at, condition, yes, no: accept(cursor, 'else') ? parseTrailer(cursor) : undefined }
}

function parseWhile(cursor: Cursor): Statement {
  const { at } = next(cursor)
  expect(cursor, '(')
  const condition = parseExpression(cursor)
  expect(cursor, ')')
  return { kind: 'while', at, condition, body: parseLoopBody(cursor) }
}

function parseFor(cursor: Cursor): Statement {
  const { at } = next(cursor)
  expect(cursor, '(')
  const each = parseEach(cursor, at)
  if (each) return each
  const initializer = isNext(cursor, ';') ? undefined : parseForInitializer(cursor)
  expect(cursor, ';')
  const condition = isNext(cursor, ';') ? undefined : parseExpression(cursor)
  expect(cursor, ';')
  const after = isNext(cursor, ')') ? undefined : parseExpression(cursor)
  expect(cursor, ')')
  return { kind: 'for', at, initializer, condition, after, body: parseLoopBody(cursor) }
}

function parseForInitializer(cursor: Cursor): Statement {
  const { at } = peek(cursor)
  return parseDeclaration(cursor) ?? { kind: 'expression', at, expression: parseExpression(cursor) }
}

function parseEach(cursor: Cursor, at: number): Statement | undefined {
  const type = typeAhead(cursor)
  const untyped = peek(cursor).kind === 'id' && isNext(cursor, 'in', 1)
  const typed = type && peek(cursor, type.length).kind === 'id' && isNext(cursor, ':', type.length + 1)
  if (!untyped && !typed) return undefined
  if (!untyped && type) cursor.position += type.length
  const name = expectName(cursor)
  next(cursor)
  const source = parseExpression(cursor)
  expect(cursor, ')')
  return { kind: 'each', at, type: untyped ? undefined : type, name: name.text, source, body: parseTrailer(cursor) }
}

function parseTry(cursor: Cursor): Statement {
  const { at } = next(cursor)
  const body = parseBlock(cursor)
  const catches: StatementOf<'try'>['catches'] = []
  while (isNext(cursor, 'catch')) {
    const start = next(cursor).at
    expect(cursor, '(')
    const type = expectType(cursor)
    const name = expectName(cursor)
    expect(cursor, ')')
    catches.push({ at: start, type, name: name.text, body: parseBlock(cursor) })
  }
  if (catches.length === 0) return unexpected(cursor, "['catch']")
  return { kind: 'try', at, body, catches }
}
