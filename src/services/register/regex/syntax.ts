/**
 * Parses a regular expression of the supported subset (document-query/README.md) into a tree. The patterns for RE2 and for PostgreSQL are
 * generated from this tree, so that differences of dialect and locale do not matter.
 */
import {
  anything,
  type CharacterSet,
  complement,
  escapedClasses,
  ignoreCase,
  namedClasses,
  notNewline,
  singleCharacter,
  union,
} from './characters.ts'

/** A zero-width assertion. */
export type Assertion = 'start' | 'end' | 'line start' | 'line end' | 'word boundary' | 'no word boundary'

export type Tree =
  | { is: 'set'; set: CharacterSet }
  | { is: 'assertion'; assertion: Assertion }
  | { is: 'sequence'; parts: Tree[] }
  | { is: 'choice'; parts: Tree[] }
  | { is: 'repeat'; part: Tree; min: number; max: number }

/** Reports an invalid pattern. The message is for the author of the pattern. */
export class RegexError extends Error {
  override readonly name = 'RegexError'
}

export interface Flags {
  i: boolean
  m: boolean
  s: boolean
  x: boolean
}

const repeatMax = 255
const depthMax = 20

const controls: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7, e: 27 }
const assertions: Record<string, Assertion> = {
  A: 'start',
  z: 'end',
  b: 'word boundary',
  B: 'no word boundary',
}

/** The state of the parser for one pattern. */
interface Reader {
  characters: string[]
  /** Index of the next character. */
  at: number
  flags: Flags
  /** Number of groups that are open. */
  depth: number
}

export function readRegex(pattern: string, flags: Flags): Tree {
  const reader: Reader = { characters: Array.from(pattern), at: 0, flags, depth: 0 }
  const tree = choice(reader)
  if (peek(reader) === ')') fail(reader, 'a parenthesis is not opened')
  return tree
}

const peek = ({ characters, at }: Reader, ahead = 0) => characters[at + ahead]
const take = (reader: Reader) => reader.characters[reader.at++]
const rest = ({ characters, at }: Reader) => characters.slice(at, at + 40).join('')
const fold = ({ flags }: Reader, set: CharacterSet) => (flags.i ? ignoreCase(set) : set)

function fail({ characters, at }: Reader, problem: string): never {
  throw new RegexError(`${problem} (near character ${Math.max(1, Math.min(at, characters.length))})`)
}

function choice(reader: Reader): Tree {
  const choices = [sequence(reader)]
  while (peek(reader) === '|') {
    take(reader)
    choices.push(sequence(reader))
  }
  return choices.length === 1 ? choices[0]! : { is: 'choice', parts: choices }
}

function sequence(reader: Reader): Tree {
  const parts: Tree[] = []
  for (;;) {
    skipComments(reader)
    const next = peek(reader)
    if (next === undefined || next === '|' || next === ')') break
    const atom = readAtom(reader)
    if (atom) parts.push(quantified(reader, atom))
  }
  return parts.length === 1 ? parts[0]! : { is: 'sequence', parts }
}

function skipComments(reader: Reader) {
  if (!reader.flags.x) return
  for (;;) {
    if (/^[\t-\r ]$/.test(peek(reader) ?? '')) take(reader)
    else if (peek(reader) === '#') while (peek(reader) !== undefined && take(reader) !== '\n');
    else return
  }
}

/** Reads an atom. Returns undefined for `(?i)`, which only changes the flags. */
function readAtom(reader: Reader): Tree | undefined {
  const character = take(reader)!
  switch (character) {
    case '(':
      return group(reader)
    case '[':
      return { is: 'set', set: bracket(reader) }
    case '.':
      return { is: 'set', set: reader.flags.s ? anything : notNewline }
    case '^':
      return { is: 'assertion', assertion: reader.flags.m ? 'line start' : 'start' }
    case '$':
      return { is: 'assertion', assertion: reader.flags.m ? 'line end' : 'end' }
    case '*':
    case '+':
    case '?':
      reader.at--
      return fail(reader, 'there is nothing to repeat')
    case '\\': {
      const assertion = assertions[peek(reader) ?? '']
      if (!assertion) return { is: 'set', set: readEscape(reader, false) }
      take(reader)
      return { is: 'assertion', assertion }
    }
    case '{':
      reader.at--
      if (/^\{\d+(,\d*)?\}/.test(rest(reader))) return fail(reader, 'there is nothing to repeat')
      take(reader)
  }
  return { is: 'set', set: fold(reader, singleCharacter(character.codePointAt(0)!)) }
}

function group(reader: Reader): Tree | undefined {
  if (++reader.depth > depthMax) fail(reader, `groups are nested deeper than ${depthMax}`)
  const outer = reader.flags
  if (peek(reader) === '?') {
    const groupName = /^\?P?<[A-Za-z_]\w*>/.exec(rest(reader))
    const flagChange = /^\?([imsx]*)(?:-([imsx]+))?([:)])/.exec(rest(reader))
    if (groupName) reader.at += groupName[0].length
    else if (flagChange) {
      reader.at += flagChange[0].length
      reader.flags = { ...reader.flags }
      for (const flag of flagChange[1]!) reader.flags[flag as keyof Flags] = true
      for (const flag of flagChange[2] ?? '') reader.flags[flag as keyof Flags] = false
      // `(?i)` applies to the rest of the enclosing group.
      if (flagChange[3] === ')') {
        reader.depth--
        return undefined
      }
    } else if (/^\?(?:<?[=!]|>|\|)/.test(rest(reader)))
      fail(reader, 'lookahead, lookbehind and atomic groups are not supported')
    else fail(reader, 'this kind of group is not supported')
  } else if (peek(reader) === '*') fail(reader, 'verbs are not supported')
  const inner = choice(reader)
  if (take(reader) !== ')') fail(reader, 'a parenthesis is not closed')
  reader.flags = outer
  reader.depth--
  return inner
}

function quantified(reader: Reader, atom: Tree): Tree {
  skipComments(reader)
  const counted = /^\{(\d{1,9})(?:(,)(\d{0,9}))?\}/.exec(rest(reader))
  let min: number
  let max: number
  if (counted) {
    reader.at += counted[0].length
    min = Number(counted[1])
    max = counted[2] ? (counted[3] ? Number(counted[3]) : Number.POSITIVE_INFINITY) : min
  } else {
    const sign = peek(reader)
    if (sign !== '*' && sign !== '+' && sign !== '?') return atom
    take(reader)
    min = sign === '+' ? 1 : 0
    max = sign === '?' ? 1 : Number.POSITIVE_INFINITY
  }
  if (min > max) fail(reader, 'the numbers of a repetition are out of order')
  if (min > repeatMax || (max !== Number.POSITIVE_INFINITY && max > repeatMax))
    fail(reader, `a repetition may count to ${repeatMax}`)
  // Greedy and lazy repetitions match the same texts.
  if (peek(reader) === '?') take(reader)
  else if (peek(reader) === '+') fail(reader, 'possessive repetition is not supported')
  if (/^(?:[*+?]|\{\d+(?:,\d*)?\})/.test(rest(reader))) fail(reader, 'a repetition cannot be repeated without a group')
  // PostgreSQL rejects repeated assertions. An assertion matches the empty text, so one occurrence is enough, or no occurrence if the
  // minimum is 0.
  if (atom.is === 'assertion') return min > 0 ? atom : { is: 'sequence', parts: [] }
  return { is: 'repeat', part: atom, min, max }
}

function readEscape(reader: Reader, inBracket: boolean): CharacterSet {
  const character = take(reader) ?? fail(reader, 'the pattern ends with a backslash')
  const escapedClass = escapedClasses[character]
  if (escapedClass) return escapedClass
  const control = inBracket && character === 'b' ? 8 : controls[character]
  if (control !== undefined) return singleCharacter(control)
  if (character === 'x') {
    const code =
      /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(rest(reader)) ??
      fail(reader, '\\x needs two digits or \\x{…}')
    reader.at += code[0].length
    const codePoint = Number.parseInt(code[1] ?? code[2]!, 16)
    if (codePoint > 0x10ffff) fail(reader, 'there is no such character')
    return fold(reader, singleCharacter(codePoint))
  }
  if (/^[1-9]$/.test(character) || character === 'k' || character === 'g')
    fail(reader, 'back-references are not supported')
  if (/^[A-Za-z0-9]$/.test(character)) fail(reader, `\\${character} is not supported`)
  return fold(reader, singleCharacter(character.codePointAt(0)!))
}

function bracket(reader: Reader): CharacterSet {
  const negated = peek(reader) === '^'
  if (negated) take(reader)
  const members: CharacterSet[] = []
  for (let first = true; first || peek(reader) !== ']'; first = false) {
    const [set, single] = member(reader)
    // Only single characters are case-folded. The class \W contains the Kelvin sign, but must not match k because of that.
    const dash = peek(reader) === '-' && peek(reader, 1) !== ']' && peek(reader, 1) !== undefined
    if (!dash) {
      members.push(single ? fold(reader, set) : set)
      continue
    }
    take(reader)
    const [end, endIsSingle] = member(reader)
    if (!single || !endIsSingle) fail(reader, 'a range needs a character on both sides')
    if (end[0]![0] < set[0]![0]) fail(reader, 'a range is out of order')
    members.push(fold(reader, [[set[0]![0], end[0]![0]]]))
  }
  take(reader)
  const combined = union(...members)
  const set = negated ? complement(combined) : combined
  if (!set.length) fail(reader, 'no character can match this class')
  return set
}

/** Reads one member of a bracket expression and returns whether it is a single character. The caller folds its case. */
function member(reader: Reader): [CharacterSet, boolean] {
  const character = take(reader) ?? fail(reader, 'a bracket is not closed')
  const named = character === '[' && /^:(\^?)(\w+):\]/.exec(rest(reader))
  if (named) {
    reader.at += named[0].length
    const set = namedClasses[named[2]!] ?? fail(reader, `there is no class [:${named[2]}:]`)
    return [named[1] ? complement(set) : set, false]
  }
  if (character === '[' && /^[.=]/.test(rest(reader))) fail(reader, 'collating elements are not supported')
  if (character !== '\\') return [singleCharacter(character.codePointAt(0)!), true]
  const letter = peek(reader) ?? ''
  const outer = reader.flags
  reader.flags = { ...reader.flags, i: false }
  const set = readEscape(reader, true)
  reader.flags = outer
  return [set, !(letter in escapedClasses)]
}
