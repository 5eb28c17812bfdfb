import type { BinaryOperator, Expression, Parameter } from './ast.ts'
import { CompileError } from './errors.ts'
import { accept, type Cursor, expect, expectName, isNext, nested, next, peek, typeAhead, unexpected } from './tokens.ts'

/** Binary operators from the weakest to the strongest. */
const levels: string[][] = [
  ['||'],
  ['&&'],
  ['|'],
  ['^'],
  ['&'],
  ['==', '===', '!=', '!=='],
  ['instanceof'],
  ['<', '<=', '>', '>='],
  ['<<', '>>', '>>>'],
  ['=~', '==~'],
  ['+', '-'],
  ['*', '/', '%'],
]

const assignments = new Set(['=', '+=', '-=', '*=', '/=', '%=', '&=', '^=', '|=', '<<=', '>>=', '>>>='])

export function parseExpression(cursor: Cursor): Expression {
  return nested(cursor, () => {
    const left = parseElvis(cursor)
    const token = peek(cursor)
    if (token.kind !== 'op') return left
    if (token.text === '?') {
      next(cursor)
      const yes = parseExpression(cursor)
      expect(cursor, ':')
      return { kind: 'conditional', at: token.at, condition: left, yes, no: parseExpression(cursor) }
    }
    if (!assignments.has(token.text)) return left
    next(cursor)
    const operator = token.text === '=' ? undefined : (token.text.slice(0, -1) as BinaryOperator)
    return { kind: 'assign', at: token.at, operator, target: left, value: parseExpression(cursor) }
  })
}

function parseElvis(cursor: Cursor): Expression {
  const left = parseBinary(cursor, 0)
  if (!isNext(cursor, '?:')) return left
  const { at } = next(cursor)
  return { kind: 'elvis', at, left, right: nested(cursor, () => parseElvis(cursor)) }
}

function parseBinary(cursor: Cursor, level: number): Expression {
  const operators = levels[level]
  if (!operators) return parseUnary(cursor)
  let left = parseBinary(cursor, level + 1)
  for (;;) {
    const token = peek(cursor)
    if ((token.kind !== 'op' && token.kind !== 'keyword') || !operators.includes(token.text)) return left
    next(cursor)
    if (token.text === 'instanceof') {
      const type = typeAhead(cursor)
      if (!type) return unexpected(cursor, '[a type]')
      cursor.position += type.length
      left = { kind: 'instanceof', at: token.at, operand: left, type }
    } else {
      const right = parseBinary(cursor, level + 1)
      left = { kind: 'binary', at: token.at, operator: token.text as BinaryOperator, left, right }
    }
  }
}

function parseUnary(cursor: Cursor): Expression {
  return nested(cursor, () => {
    const token = peek(cursor)
    if (token.kind === 'op') {
      if (token.text === '++' || token.text === '--') {
        next(cursor)
        const target = parseChain(cursor)
        return { kind: 'increment', at: token.at, target, by: token.text === '++' ? 1 : -1, postfix: false }
      }
      if (token.text === '+' || token.text === '-') {
        next(cursor)
        return signed(token.text, token.at, parseUnary(cursor))
      }
    }
    return parseUnsigned(cursor)
  })
}

/** Returns a signed operand. A minus before a literal belongs to the literal: -2147483648 is an int, but 2147483648 is not. */
function signed(operator: '+' | '-', at: number, operand: Expression): Expression {
  if (operator === '-' && (operand.kind === 'int' || operand.kind === 'decimal') && !operand.negative)
    return { ...operand, at, negative: true }
  return { kind: 'unary', at, operator, operand }
}

function parseUnsigned(cursor: Cursor): Expression {
  const token = peek(cursor)
  if (token.kind === 'op' && (token.text === '!' || token.text === '~')) {
    next(cursor)
    return { kind: 'unary', at: token.at, operator: token.text, operand: parseUnary(cursor) }
  }
  const cast = parseCast(cursor)
  if (cast) return cast
  const target = parseChain(cursor)
  const after = peek(cursor)
  if (after.kind === 'op' && (after.text === '++' || after.text === '--')) {
    next(cursor)
    return { kind: 'increment', at: after.at, target, by: after.text === '++' ? 1 : -1, postfix: true }
  }
  return target
}

/**
 * Parses `(type) operand`. A `+` or `-` after a primitive type or `def` in parentheses is the sign of the operand. After any other type, it
 * is a binary operator, so there is no cast.
 */
function parseCast(cursor: Cursor): Expression | undefined {
  if (!isNext(cursor, '(')) return undefined
  const type = typeAhead(cursor, 1)
  if (!type || !isNext(cursor, ')', 1 + type.length)) return undefined
  if (isNext(cursor, '->', 2 + type.length)) return undefined
  const following = peek(cursor, 2 + type.length)
  const simple = /^(?:boolean|byte|short|char|int|long|float|double|def)$/.test(type.name)
  const signs = ['+', '-', '++', '--']
  const starts =
    following.kind === 'op'
      ? ['(', '[', '!', '~', ...(simple ? signs : [])].includes(following.text)
      : startsValue(following)
  if (!starts) return undefined
  const { at } = next(cursor)
  cursor.position += type.length + 1
  const operand = simple ? parseUnary(cursor) : nested(cursor, () => parseUnsigned(cursor))
  return { kind: 'cast', at, type, operand }
}

const startsValue = (token: { kind: string; text: string }): boolean =>
  token.kind === 'keyword' ? ['true', 'false', 'null', 'new', 'this'].includes(token.text) : token.kind !== 'end'

function parseChain(cursor: Cursor): Expression {
  let target = parsePrimary(cursor)
  for (;;) {
    const token = peek(cursor)
    if (token.kind !== 'op') return target
    if (token.text === '.' || token.text === '?.') {
      next(cursor)
      const nullSafe = token.text === '?.'
      const name = expectName(cursor)
      target = isNext(cursor, '(')
        ? { kind: 'method', at: name.at, target, name: name.text, args: parseArguments(cursor), nullSafe }
        : { kind: 'field', at: name.at, target, name: name.text, nullSafe }
    } else if (token.text === '[') {
      next(cursor)
      const index = parseExpression(cursor)
      expect(cursor, ']')
      target = { kind: 'index', at: token.at, target, index }
    } else return target
  }
}

export function parseArguments(cursor: Cursor): Expression[] {
  expect(cursor, '(')
  const args: Expression[] = []
  if (accept(cursor, ')')) return args
  do args.push(parseArgument(cursor))
  while (accept(cursor, ','))
  expect(cursor, ')')
  return args
}

function parseArgument(cursor: Cursor): Expression {
  return parseLambda(cursor) ?? parseReference(cursor) ?? parseExpression(cursor)
}

/** Returns the number of tokens of a lambda's parameters and arrow, or 0 if there is no lambda here. */
function lambdaHead(cursor: Cursor): number {
  const parameter = (ahead: number): number => {
    if (peek(cursor, ahead).kind === 'id') {
      const following = peek(cursor, ahead + 1)
      if (following.kind === 'op' && ['->', ',', ')'].includes(following.text)) return 1
    }
    const type = typeAhead(cursor, ahead)
    return type && peek(cursor, ahead + type.length).kind === 'id' ? type.length + 1 : 0
  }
  if (!isNext(cursor, '(')) {
    const length = parameter(0)
    return length > 0 && isNext(cursor, '->', length) ? length + 1 : 0
  }
  let ahead = 1
  if (!isNext(cursor, ')', ahead))
    for (;;) {
      const length = parameter(ahead)
      if (length === 0) return 0
      ahead += length
      if (!isNext(cursor, ',', ahead)) break
      ahead++
    }
  return isNext(cursor, ')', ahead) && isNext(cursor, '->', ahead + 1) ? ahead + 2 : 0
}

export function parseLambda(cursor: Cursor): Expression | undefined {
  const head = lambdaHead(cursor)
  if (head === 0) return undefined
  const { at } = peek(cursor)
  const parenthesis = accept(cursor, '(')
  const parameters: Parameter[] = []
  while (!isNext(cursor, ')') && !isNext(cursor, '->')) {
    const following = peek(cursor, 1)
    const untyped = following.kind === 'op' && ['->', ',', ')'].includes(following.text)
    const type = untyped ? undefined : typeAhead(cursor)
    if (type) cursor.position += type.length
    const name = expectName(cursor)
    parameters.push({ type, name: name.text, at: name.at })
    accept(cursor, ',')
  }
  if (parenthesis) expect(cursor, ')')
  const arrow = expect(cursor, '->')
  const body = isNext(cursor, '{') ? cursor.parseBlock(cursor) : (parseLambda(cursor) ?? parseExpression(cursor))
  return { kind: 'lambda', at: arrow.at ?? at, parameters, body }
}

/** Parses `Type::method`, `Type::new`, `variable::method` or `this::function`. */
function parseReference(cursor: Cursor): Expression | undefined {
  const { at, text } = peek(cursor)
  const type = typeAhead(cursor)
  const length = type?.length ?? 1
  if (!isNext(cursor, '::', length)) return undefined
  if (!type && text !== 'this' && peek(cursor).kind !== 'id') return undefined
  cursor.position += length + 1
  const name = next(cursor)
  if (name.kind !== 'id' && name.text !== 'new') throw new CompileError(name.at, `unexpected token ['${name.text}'].`)
  return { kind: 'reference', at, target: type ?? text, isType: type !== undefined, name: name.text }
}

function parsePrimary(cursor: Cursor): Expression {
  const token = peek(cursor)
  const { at, text } = token
  switch (token.kind) {
    case 'int':
    case 'decimal':
      next(cursor)
      return { kind: token.kind, at, text, negative: false }
    case 'string':
      next(cursor)
      return { kind: 'string', at, value: text }
    case 'regex':
      next(cursor)
      return { kind: 'regex', at, pattern: text, flags: token.flags ?? '' }
    case 'id':
      return parseName(cursor)
    case 'keyword':
      return parseKeyword(cursor)
    case 'op':
      if (text === '(') {
        next(cursor)
        const inner = parseExpression(cursor)
        expect(cursor, ')')
        return inner
      }
      if (text === '[') return parseInitializer(cursor)
  }
  return unexpected(cursor, '[an expression]')
}

function parseName(cursor: Cursor): Expression {
  const { at, text } = peek(cursor)
  if (isNext(cursor, '(', 1)) {
    next(cursor)
    return { kind: 'call', at, name: text, args: parseArguments(cursor) }
  }
  const type = typeAhead(cursor, 0, false)
  if (type) {
    cursor.position += type.length
    return { kind: 'type', at, type }
  }
  next(cursor)
  return { kind: 'name', at, name: text }
}

function parseKeyword(cursor: Cursor): Expression {
  const { at, text } = peek(cursor)
  if (text === 'true' || text === 'false') {
    next(cursor)
    return { kind: 'boolean', at, value: text === 'true' }
  }
  if (text === 'null') {
    next(cursor)
    return { kind: 'null', at }
  }
  if (text === 'new') return parseNew(cursor)
  const type = typeAhead(cursor, 0, false)
  if (type && isNext(cursor, '.', 1)) {
    cursor.position += type.length
    return { kind: 'type', at, type }
  }
  return unexpected(cursor, '[an expression]')
}

function parseNew(cursor: Cursor): Expression {
  const { at } = next(cursor)
  const type = typeAhead(cursor, 0, false)
  if (!type) throw new CompileError(peek(cursor).at, `cannot resolve type [${peek(cursor).text}]`)
  cursor.position += type.length
  if (isNext(cursor, '(')) return { kind: 'new', at, type, args: parseArguments(cursor) }
  if (isNext(cursor, '[') && isNext(cursor, ']', 1)) {
    let name = type.name
    while (isNext(cursor, '[') && isNext(cursor, ']', 1)) {
      cursor.position += 2
      name += '[]'
    }
    const element = { at: type.at, name: name.slice(0, -2) }
    return { kind: 'arrayInit', at, element, items: parseList(cursor, '{', '}') }
  }
  const sizes: Expression[] = []
  while (isNext(cursor, '[') && !isNext(cursor, ']', 1)) {
    next(cursor)
    sizes.push(parseExpression(cursor))
    expect(cursor, ']')
  }
  let dimensions = sizes.length
  while (sizes.length > 0 && isNext(cursor, '[') && isNext(cursor, ']', 1)) {
    cursor.position += 2
    dimensions++
  }
  if (sizes.length === 0) return unexpected(cursor, "['(', '[']")
  return { kind: 'newArray', at, element: type, sizes, dimensions }
}

function parseList(cursor: Cursor, open: string, close: string): Expression[] {
  expect(cursor, open)
  const items: Expression[] = []
  if (accept(cursor, close)) return items
  do items.push(parseArgument(cursor))
  while (accept(cursor, ','))
  expect(cursor, close)
  return items
}

function parseInitializer(cursor: Cursor): Expression {
  const { at } = peek(cursor)
  if (isNext(cursor, ':', 1)) {
    cursor.position += 2
    expect(cursor, ']')
    return { kind: 'map', at, entries: [] }
  }
  if (isNext(cursor, ']', 1)) {
    cursor.position += 2
    return { kind: 'list', at, items: [] }
  }
  next(cursor)
  const first = parseExpression(cursor)
  if (!isNext(cursor, ':')) {
    const items = [first]
    while (accept(cursor, ',')) items.push(parseExpression(cursor))
    expect(cursor, ']')
    return { kind: 'list', at, items }
  }
  const entries: [Expression, Expression][] = []
  let key = first
  for (;;) {
    expect(cursor, ':')
    entries.push([key, parseExpression(cursor)])
    if (!accept(cursor, ',')) break
    key = parseExpression(cursor)
  }
  expect(cursor, ']')
  return { kind: 'map', at, entries }
}
