/**
 * Reads a regular expression of the accepted subset (document-query/README.md) into a tree. Both engines, RE2 in memory
 * and PostgreSQL's, get a text written from this tree, so that neither the dialect nor the locale can make them disagree.
 */
import {
  anything,
  type CharacterSet,
  complement,
  escapedClasses,
  ignoreCase,
  namedClasses,
  notNewline,
  one,
  union,
} from './characters.ts'

export type Place = 'start' | 'end' | 'line start' | 'line end' | 'word boundary' | 'no word boundary'

export type Tree =
  | { is: 'set'; set: CharacterSet }
  | { is: 'place'; place: Place }
  | { is: 'sequence'; of: Tree[] }
  | { is: 'choice'; of: Tree[] }
  | { is: 'repeat'; of: Tree; min: number; max: number }

/** A sentence for the author of the pattern. */
export class RegexError extends Error {
  override readonly name = 'RegexError'
}

export interface Flags {
  i: boolean
  m: boolean
  s: boolean
  x: boolean
}

const greatestRepeat = 255
const greatestDepth = 20

const controls: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7, e: 27 }
const places: Record<string, Place> = {
  A: 'start',
  z: 'end',
  b: 'word boundary',
  B: 'no word boundary',
}

export function readRegex(pattern: string, given: Flags): Tree {
  const characters = Array.from(pattern)
  let at = 0
  let flags = given
  let depth = 0

  const peek = (ahead = 0) => characters[at + ahead]
  const take = () => characters[at++]
  const rest = () => characters.slice(at, at + 40).join('')
  const fail = (problem: string): never => {
    throw new RegexError(`${problem} (near character ${Math.max(1, Math.min(at, characters.length))})`)
  }
  const fold = (set: CharacterSet) => (flags.i ? ignoreCase(set) : set)

  function choice(): Tree {
    const of = [sequence()]
    while (peek() === '|') {
      take()
      of.push(sequence())
    }
    return of.length === 1 ? of[0]! : { is: 'choice', of }
  }

  function sequence(): Tree {
    const of: Tree[] = []
    for (;;) {
      skipComments()
      const next = peek()
      if (next === undefined || next === '|' || next === ')') break
      const atom = readAtom()
      if (atom) of.push(quantified(atom))
    }
    return of.length === 1 ? of[0]! : { is: 'sequence', of }
  }

  function skipComments() {
    if (!flags.x) return
    for (;;) {
      if (/^[\t-\r ]$/.test(peek() ?? '')) take()
      else if (peek() === '#') while (peek() !== undefined && take() !== '\n');
      else return
    }
  }

  /** Nothing for `(?i)`, which only changes the flags. */
  function readAtom(): Tree | undefined {
    const character = take()!
    switch (character) {
      case '(':
        return group()
      case '[':
        return { is: 'set', set: bracket() }
      case '.':
        return { is: 'set', set: flags.s ? anything : notNewline }
      case '^':
        return { is: 'place', place: flags.m ? 'line start' : 'start' }
      case '$':
        return { is: 'place', place: flags.m ? 'line end' : 'end' }
      case '*':
      case '+':
      case '?':
        at--
        return fail('there is nothing to repeat')
      case '\\': {
        const place = places[peek() ?? '']
        if (!place) return { is: 'set', set: readEscape(false) }
        take()
        return { is: 'place', place }
      }
      case '{':
        at--
        if (/^\{\d+(,\d*)?\}/.test(rest())) return fail('there is nothing to repeat')
        take()
    }
    return { is: 'set', set: fold(one(character.codePointAt(0)!)) }
  }

  function group(): Tree | undefined {
    if (++depth > greatestDepth) fail(`groups are nested deeper than ${greatestDepth}`)
    const outer = flags
    if (peek() === '?') {
      const named = /^\?P?<[A-Za-z_]\w*>/.exec(rest())
      const switched = /^\?([imsx]*)(?:-([imsx]+))?([:)])/.exec(rest())
      if (named) at += named[0].length
      else if (switched) {
        at += switched[0].length
        flags = { ...flags }
        for (const flag of switched[1]!) flags[flag as keyof Flags] = true
        for (const flag of switched[2] ?? '') flags[flag as keyof Flags] = false
        // `(?i)` holds to the end of the group that it stands in.
        if (switched[3] === ')') {
          depth--
          return undefined
        }
      } else if (/^\?(?:<?[=!]|>|\|)/.test(rest())) fail('lookahead, lookbehind and atomic groups are not supported')
      else fail('this kind of group is not supported')
    } else if (peek() === '*') fail('verbs are not supported')
    const inner = choice()
    if (take() !== ')') fail('a parenthesis is not closed')
    flags = outer
    depth--
    return inner
  }

  function quantified(atom: Tree): Tree {
    skipComments()
    const counted = /^\{(\d{1,9})(?:(,)(\d{0,9}))?\}/.exec(rest())
    let min: number
    let max: number
    if (counted) {
      at += counted[0].length
      min = Number(counted[1])
      max = counted[2] ? (counted[3] ? Number(counted[3]) : Number.POSITIVE_INFINITY) : min
    } else {
      const sign = peek()
      if (sign !== '*' && sign !== '+' && sign !== '?') return atom
      take()
      min = sign === '+' ? 1 : 0
      max = sign === '?' ? 1 : Number.POSITIVE_INFINITY
    }
    if (min > max) fail('the numbers of a repetition are out of order')
    if (min > greatestRepeat || (max !== Number.POSITIVE_INFINITY && max > greatestRepeat))
      fail(`a repetition may count to ${greatestRepeat}`)
    // Whether a text matches does not depend on greed.
    if (peek() === '?') take()
    else if (peek() === '+') fail('possessive repetition is not supported')
    if (/^(?:[*+?]|\{\d+(?:,\d*)?\})/.test(rest())) fail('a repetition cannot be repeated without a group')
    // A place takes no room: repeated, it is there once or need not be. PostgreSQL refuses to repeat it.
    if (atom.is === 'place') return min > 0 ? atom : { is: 'sequence', of: [] }
    return { is: 'repeat', of: atom, min, max }
  }

  function readEscape(inBracket: boolean): CharacterSet {
    const character = take() ?? fail('the pattern ends with a backslash')
    const known = escapedClasses[character]
    if (known) return known
    const control = inBracket && character === 'b' ? 8 : controls[character]
    if (control !== undefined) return one(control)
    if (character === 'x') {
      const code = /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(rest()) ?? fail('\\x needs two digits or \\x{…}')
      at += code[0].length
      const codePoint = Number.parseInt(code[1] ?? code[2]!, 16)
      if (codePoint > 0x10ffff) fail('there is no such character')
      return fold(one(codePoint))
    }
    if (/^[1-9]$/.test(character) || character === 'k' || character === 'g') fail('back-references are not supported')
    if (/^[A-Za-z0-9]$/.test(character)) fail(`\\${character} is not supported`)
    return fold(one(character.codePointAt(0)!))
  }

  function bracket(): CharacterSet {
    const negated = peek() === '^'
    if (negated) take()
    const members: CharacterSet[] = []
    for (let first = true; first || peek() !== ']'; first = false) {
      const [set, single] = member()
      // Only what was written as characters is folded: \W holds the Kelvin sign, and must not match k for that.
      const dash = peek() === '-' && peek(1) !== ']' && peek(1) !== undefined
      if (!dash) {
        members.push(single ? fold(set) : set)
        continue
      }
      take()
      const [end, endIsSingle] = member()
      if (!single || !endIsSingle) fail('a range needs a character on both sides')
      if (end[0]![0] < set[0]![0]) fail('a range is out of order')
      members.push(fold([[set[0]![0], end[0]![0]]]))
    }
    take()
    const whole = union(...members)
    const set = negated ? complement(whole) : whole
    if (!set.length) fail('no character can match this class')
    return set
  }

  /** One member of a bracket, and whether it is a single character: folding comes after ranges are made. */
  function member(): [CharacterSet, boolean] {
    const character = take() ?? fail('a bracket is not closed')
    const named = character === '[' && /^:(\^?)(\w+):\]/.exec(rest())
    if (named) {
      at += named[0].length
      const set = namedClasses[named[2]!] ?? fail(`there is no class [:${named[2]}:]`)
      return [named[1] ? complement(set) : set, false]
    }
    if (character === '[' && /^[.=]/.test(rest())) fail('collating elements are not supported')
    if (character !== '\\') return [one(character.codePointAt(0)!), true]
    const letter = peek() ?? ''
    const outer = flags
    flags = { ...flags, i: false }
    const set = readEscape(true)
    flags = outer
    return [set, !(letter in escapedClasses)]
  }

  const tree = choice()
  if (peek() === ')') fail('a parenthesis is not opened')
  return tree
}
