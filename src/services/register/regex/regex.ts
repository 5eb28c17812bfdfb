/**
 * Compiles regular expressions of users for two engines that must agree: RE2 in memory and PostgreSQL's own. RE2 takes linear time, so it
 * cannot block the node. Both patterns are generated from one tree (`syntax.ts`), in which every character class is spelled out.
 */
import { RE2Set } from 're2js'
import { type CharacterSet, complement } from './characters.ts'
import { type Assertion, type Flags, RegexError, readRegex, type Tree } from './syntax.ts'

export { RegexError } from './syntax.ts'

export interface Regex {
  pattern: string
  options: string
  /** Returns whether some part of the text matches. */
  test(text: string): boolean
  /**
   * Upper bound for the number of atoms (characters, classes and assertions) after repetitions are expanded. `test` takes at most this many
   * steps for each character of a text. For a pattern that is a literal text, it is 0.
   */
  size: number
  /** The pattern for `~` in SQL, and for `like_regex … flag "s"` in jsonpath. */
  sqlPattern: string
}

const lengthMax = 500
const sizeMax = 1500
/** Memory limit of RE2 for one pattern. With its default of 8 MB, a thousand filters would take 8 GB. */
const engineBytes = 32 * 1024

/** Compiles a pattern. Throws a RegexError with a message for its author. */
export function compileRegex(pattern: string, options = ''): Regex {
  if (pattern.length > lengthMax) throw new RegexError(`a pattern may have at most ${lengthMax} characters`)
  if (!pattern.isWellFormed() || pattern.includes('\0')) throw new RegexError('the pattern is not valid text')
  const tree = readRegex(pattern, readOptions(options))
  const size = sizeOf(tree)
  if (size > sizeMax || repetitionsOf(tree) > repetitionsMax)
    throw new RegexError('the pattern is too complex: its repetitions multiply')
  const simple = literalTestOf(tree)
  const sqlPattern = write(tree, postgres)
  return simple
    ? { pattern, options, size: 0, test: simple, sqlPattern }
    : { pattern, options, size, test: engineOf(tree), sqlPattern }
}

function readOptions(options: string): Flags {
  const unknown = options.replace(/[imsx]/g, '')
  if (unknown) throw new RegexError(`the options are i, m, s and x, not ${unknown.slice(0, 10)}`)
  return {
    i: options.includes('i'),
    m: options.includes('m'),
    s: options.includes('s'),
    x: options.includes('x'),
  }
}

function sizeOf(tree: Tree): number {
  switch (tree.is) {
    case 'set':
      return 1
    case 'assertion':
      return tree.assertion === 'start' || tree.assertion === 'end' ? 1 : 8
    case 'repeat':
      return 1 + sizeOf(tree.part) * Math.max(1, tree.min, Number.isFinite(tree.max) ? tree.max : 0)
    default:
      return 1 + tree.parts.reduce((sum, part) => sum + sizeOf(part), 0)
  }
}

/** Limits the product of nested counted repetitions; RE2 rejects more. */
const repetitionsMax = 1000

function repetitionsOf(tree: Tree): number {
  if (tree.is === 'set' || tree.is === 'assertion') return 1
  if (tree.is !== 'repeat') return Math.max(1, ...tree.parts.map(repetitionsOf))
  return Math.max(1, tree.min, Number.isFinite(tree.max) ? tree.max : 0) * repetitionsOf(tree.part)
}

interface Dialect {
  character(codePoint: number): string
  assertion(assertion: Assertion): string
}

const hex = (codePoint: number, digits: number) => codePoint.toString(16).padStart(digits, '0')
const plainCharacter = /^[A-Za-z0-9]$/

const re2: Dialect = {
  character: (codePoint) => `\\x{${hex(codePoint, 2)}}`,
  assertion: (assertion) =>
    ({
      start: '\\A',
      end: '\\z',
      'line start': '(?m:^)',
      'line end': '(?m:$)',
      'word boundary': '\\b',
      'no word boundary': '\\B',
    })[assertion],
}

/** Lookaround is used instead of PostgreSQL's `\y` and `^`, because these depend on the locale and on flags. */
const w = '[0-9A-Za-z_]'
const postgres: Dialect = {
  character: (codePoint) => (codePoint > 0xffff ? `\\U${hex(codePoint, 8)}` : `\\u${hex(codePoint, 4)}`),
  assertion: (assertion) =>
    ({
      start: '\\A',
      end: '\\Z',
      'line start': '(?<![^\\u000a])',
      'line end': '(?![^\\u000a])',
      'word boundary': `(?:(?<=${w})(?!${w})|(?<!${w})(?=${w}))`,
      'no word boundary': `(?:(?<=${w})(?=${w})|(?<!${w})(?!${w}))`,
    })[assertion],
}

function write(tree: Tree, dialect: Dialect): string {
  switch (tree.is) {
    case 'set':
      return writeSet(tree.set, dialect)
    case 'assertion':
      return dialect.assertion(tree.assertion)
    case 'sequence':
      return tree.parts.length ? tree.parts.map((part) => group(part, dialect)).join('') : '(?:)'
    case 'choice':
      return tree.parts.map((part) => group(part, dialect)).join('|')
    case 'repeat': {
      if (tree.max === 0) return '(?:)'
      const times = tree.max === Number.POSITIVE_INFINITY ? `{${tree.min},}` : `{${tree.min},${tree.max}}`
      return group(tree.part, dialect, true) + (times === '{0,}' ? '*' : times === '{1,}' ? '+' : times)
    }
  }
}

function group(tree: Tree, dialect: Dialect, repeated = false): string {
  const text = write(tree, dialect)
  return tree.is === 'set' || (!repeated && (tree.is === 'assertion' || tree.is === 'repeat')) ? text : `(?:${text})`
}

function writeSet(set: CharacterSet, dialect: Dialect): string {
  const character = (codePoint: number) => {
    const text = String.fromCodePoint(codePoint)
    return plainCharacter.test(text) ? text : dialect.character(codePoint)
  }
  const [first] = set
  if (set.length === 1 && first![0] === first![1]) return character(first![0])
  const others = complement(set)
  const negated = others.length > 0 && others.length < set.length + 1 && others.at(-1)![1] !== 0x10ffff
  const ranges = (negated ? others : set).map(([from, to]) =>
    from === to ? character(from) : `${character(from)}-${character(to)}`,
  )
  return `[${negated ? '^' : ''}${ranges.join('')}]`
}

/**
 * Returns a test that works without the engine, if the pattern is a literal text, possibly with anchors. Most patterns of users are such
 * texts.
 */
function literalTestOf(tree: Tree): ((text: string) => boolean) | undefined {
  const parts = tree.is === 'sequence' ? [...tree.parts] : [tree]
  const isAssertion = (part: Tree | undefined, assertion: Assertion) =>
    part?.is === 'assertion' && part.assertion === assertion
  const fromStart = isAssertion(parts[0], 'start')
  if (fromStart) parts.shift()
  const toEnd = isAssertion(parts.at(-1), 'end')
  if (toEnd) parts.pop()
  const literal = literalOf(parts)
  if (literal === undefined) return undefined
  if (fromStart && toEnd) return (text) => text === literal
  if (fromStart) return (text) => text.startsWith(literal)
  if (toEnd) return (text) => text.endsWith(literal)
  return (text) => text.includes(literal)
}

function literalOf(parts: Tree[]): string | undefined {
  let literal = ''
  for (const part of parts) {
    if (part.is !== 'set' || part.set.length !== 1 || part.set[0]![0] !== part.set[0]![1]) return undefined
    literal += String.fromCodePoint(part.set[0]![0])
  }
  return literal
}

/** Compiles the RE2 pattern at its first use, because a change evaluates only few of a thousand filters. */
function engineOf(tree: Tree): (text: string) => boolean {
  let engine: RE2Set | undefined
  return (text) => {
    if (!engine) {
      engine = new RE2Set(RE2Set.UNANCHORED, 0, engineBytes)
      engine.add(write(tree, re2))
    }
    return engine.match(text).length > 0
  }
}
