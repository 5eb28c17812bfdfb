import { CompileError } from './errors.ts'

export type TokenKind = 'id' | 'keyword' | 'int' | 'decimal' | 'string' | 'regex' | 'op' | 'end'

export interface Token {
  kind: TokenKind
  /** Text of the token, or the content of a string or regular expression. */
  text: string
  at: number
  end: number
  /** Flags of a regular expression. */
  flags?: string
}

const keywords = new Set(
  (
    'if else while do for in continue break return new try catch throw this instanceof true false null ' +
    'boolean byte short char int long float double def void'
  ).split(' '),
)

const operators = (
  '>>>= === !== ==~ >>> <<= >>= -> :: ?. ?: ++ -- && || == != <= >= << >> =~ += -= *= /= %= &= ^= |= ' +
  '{ } [ ] ( ) . , ; : ? ! ~ * / % + - < > & ^ | = $'
).split(' ')
const operatorsByStart = new Map<string, string[]>()
for (const operator of operators)
  operatorsByStart.set(operator[0]!, [...(operatorsByStart.get(operator[0]!) ?? []), operator])

// biome-ignore lint/suspicious/noControlCharactersInRegex: a vertical tab is white space
const space = /[ \t\r\n\f\u000b]+|\/\/[^\n\r]*|\/\*[\s\S]*?\*\//y
const identifier = /[_a-zA-Z][_a-zA-Z0-9]*/y
const number =
  /0[xX][0-9a-fA-F]+[lL]?|(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)[fFdD]?|0[0-7]+[lL]?|(?:0|[1-9][0-9]*)[lLfFdD]?/y
const dotInteger = /0|[1-9][0-9]*/y
const string = /"(?:\\["\\]|[^\\"])*"|'(?:\\['\\]|[^\\'])*'/y
const regex = /\/((?:\\[^\n]|[^/\\\n])+)\/([cilmsUux]*)/y

/** Splits a script into tokens. The last token has the kind `end`. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(source)
  }
  while (at < source.length) {
    const gap = take(space)
    if (gap) {
      at = space.lastIndex
      continue
    }
    const token = readToken(source, at, tokens.at(-1), take)
    tokens.push(token)
    at = token.end
  }
  tokens.push({ kind: 'end', text: '', at: source.length, end: source.length })
  return tokens
}

type Take = (pattern: RegExp) => RegExpExecArray | null

function readToken(source: string, at: number, previous: Token | undefined, take: Take): Token {
  const start = source[at]!
  const afterDot = previous?.kind === 'op' && (previous.text === '.' || previous.text === '?.')
  const word = take(identifier)
  if (word) return token(afterDot || !keywords.has(word[0]) ? 'id' : 'keyword', word[0], at, identifier.lastIndex)
  if (start >= '0' && start <= '9') {
    if (afterDot) return token('id', take(dotInteger)![0], at, dotInteger.lastIndex)
    const found = take(number)!
    const text = found[0]
    const decimal = /[.]|[fFdD]$|[eE]/.test(text) && !/^0[xX]/.test(text)
    return token(decimal ? 'decimal' : 'int', text, at, number.lastIndex)
  }
  if (start === '"' || start === "'") {
    const found = take(string)
    if (!found) throw new CompileError(at, badString(source, at))
    return token('string', unquote(found[0]), at, string.lastIndex)
  }
  if (start === '/' && slashStartsRegex(previous)) {
    const found = take(regex)
    if (found) return { ...token('regex', found[1]!, at, regex.lastIndex), flags: found[2]! }
  }
  const operator = operatorsByStart.get(start)?.find((text) => source.startsWith(text, at))
  if (operator === undefined || operator === '$') throw new CompileError(at, `unexpected character [${start}].`)
  return token('op', operator, at, at + operator.length)
}

const token = (kind: TokenKind, text: string, at: number, end: number): Token => ({ kind, text, at, end })

const unquote = (literal: string): string => {
  const body = literal.slice(1, -1)
  return body.includes('\\') ? body.replace(/\\(.)/gs, '$1') : body
}

function badString(source: string, at: number): string {
  const wrong = /^["'](?:[^\\]|\\["'\\])*?\\([^"'\\])/.exec(source.slice(at, at + 1000))
  return wrong
    ? `unexpected character [${source.slice(at, at + wrong[0].length)}]. The only valid escape sequences in strings starting with [${source[at]}] are [\\\\] and [\\${source[at]}].`
    : `the string that starts here has no end.`
}

/** Returns whether a slash starts a regular expression. After a value, a slash is a division. */
function slashStartsRegex(previous: Token | undefined): boolean {
  if (!previous) return true
  if (previous.kind === 'op') return ![')', ']', '}'].includes(previous.text)
  return previous.kind === 'keyword' && !['true', 'false', 'null', 'this'].includes(previous.text)
}
