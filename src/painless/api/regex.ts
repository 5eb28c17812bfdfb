import { RE2JS } from 're2js'
import { defineClass } from '../define.ts'
import { illegalArgument, JavaThrow, nullPointer } from '../errors.ts'
import { allocate, allocateText, steps } from '../meter.ts'
import { textOf } from '../text.ts'
import type { JavaArray, JavaObject } from '../values.ts'
import type { Fn } from './helpers.ts'

/** A compiled regular expression. Matching takes time in proportion to the length of the text (RE2). */
export interface Pattern extends JavaObject {
  source: string
  flags: number
  regex: RE2JS
  /** Number of instructions of the compiled expression. A match takes at most this many steps for each character. */
  size: number
  text: () => string
}

export interface Matcher extends JavaObject {
  pattern: Pattern
  input: string
  matcher: ReturnType<RE2JS['matcher']>
  matched: boolean
}

/** Maximum length of a regular expression, because its compiled program grows with it. */
const patternMax = 4096

/**
 * Flags of Java. RE2 has corresponding flags for some of these flags. A flag without a counterpart needs no flag in RE2, or the pattern is
 * rewritten for it.
 */
const flagBits = {
  CASE_INSENSITIVE: 2,
  COMMENTS: 4,
  MULTILINE: 8,
  LITERAL: 16,
  DOTALL: 32,
  UNICODE_CASE: 64,
  CANON_EQ: 128,
  UNICODE_CHARACTER_CLASS: 256,
}
const letters: Record<string, number> = { i: 2, x: 4, m: 8, l: 16, s: 32, u: 64, c: 128, U: 256 | 64 }

export function compilePattern(source: string, letterFlags: string | number): Pattern {
  let flags = 0
  if (typeof letterFlags === 'number') flags = letterFlags
  else for (const letter of letterFlags) flags |= letters[letter] ?? 0
  if (source.length > patternMax) throw illegalArgument(`A regular expression has at most ${patternMax} characters.`)
  steps(source.length)
  allocate(source.length * 256)
  let groupNumber = 0
  if (flags & flagBits.CASE_INSENSITIVE) groupNumber |= RE2JS.CASE_INSENSITIVE
  if (flags & flagBits.MULTILINE) groupNumber |= RE2JS.MULTILINE
  if (flags & flagBits.DOTALL) groupNumber |= RE2JS.DOTALL
  const text =
    flags & flagBits.LITERAL ? RE2JS.quote(source) : flags & flagBits.COMMENTS ? withoutComments(source) : source
  const regex = compileRegex(text, groupNumber, source)
  const size = regex.matcher('').programSize()
  allocate(size * 64)
  return { javaClass: 'java.util.regex.Pattern', source, flags, regex, size, text: () => source }
}

function compileRegex(text: string, flags: number, source: string): RE2JS {
  try {
    return RE2JS.compile(text, flags)
  } catch (error) {
    throw new JavaThrow('java.util.regex.PatternSyntaxException', `${(error as Error).message} near: ${source}`)
  }
}

const withoutComments = (source: string): string =>
  source.replace(/\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|#[^\n]*|\s+/g, (part) => (/^[\\[]/.test(part) ? part : ''))

const inputOf = (text: unknown, pattern?: Pattern): string => {
  if (text === null) throw nullPointer('the text of a regular expression is null')
  const input = textOf(text)
  steps(1 + Math.ceil(((pattern?.size ?? 16) * input.length) / 256))
  return input
}

const needPattern = (pattern: unknown): Pattern => {
  if (pattern === null) throw nullPointer('the regular expression is null')
  return pattern as Pattern
}

export const findPattern = (pattern: unknown, text: unknown): boolean =>
  needPattern(pattern)
    .regex.matcher(inputOf(text, pattern as Pattern))
    .find()
export const matchPattern = (pattern: unknown, text: unknown): boolean =>
  needPattern(pattern)
    .regex.matcher(inputOf(text, pattern as Pattern))
    .matches()

export function matcherOf(pattern: Pattern, text: unknown): Matcher {
  const input = inputOf(text, pattern)
  allocate(256)
  return { javaClass: 'java.util.regex.Matcher', pattern, input, matcher: pattern.regex.matcher(input), matched: false }
}

/** Splits a text as Java does. Without a limit, empty parts at the end are left out. */
export function splitText(pattern: Pattern, text: unknown, limit: number): JavaArray {
  const input = inputOf(text, pattern)
  const matcher = pattern.regex.matcher(input)
  const items: string[] = []
  let start = 0
  while (matcher.find() && (limit <= 0 || items.length < limit - 1)) {
    steps(1)
    if (matcher.end() === 0) continue
    items.push(input.slice(start, matcher.start()))
    start = matcher.end()
  }
  if (items.length === 0) return { elementType: 'java.lang.String', items: [input] }
  items.push(input.slice(start))
  if (limit === 0) while (items.length > 0 && items.at(-1) === '') items.pop()
  allocateText(input.length + 16 * items.length)
  return { elementType: 'java.lang.String', items }
}

/** Replaces each match with the result of a function. */
export function replaceWith(pattern: Pattern, input: string, by: Fn, all: boolean): string {
  const found = matcherOf(pattern, input)
  let result = ''
  let start = 0
  while (advance(found)) {
    steps(1)
    const replacement = inputOf(by(found))
    result += input.slice(start, found.matcher.start()) + replacement
    allocateText(replacement.length)
    start = found.matcher.end()
    if (!all) break
  }
  return result + input.slice(start)
}

/** Replaces matches with a text in which `$1` and `${name}` stand for groups. */
export function replaceMatches(pattern: Pattern, input: string, replacement: string, all: boolean): string {
  const template = replacementParts(replacement)
  return replaceWith(
    pattern,
    input,
    (found) =>
      template
        .map((part) => (typeof part === 'string' ? part : (groupOf(found as Matcher, part.group) ?? '')))
        .join(''),
    all,
  )
}

function replacementParts(text: string): (string | { group: string | number })[] {
  const parts: (string | { group: string | number })[] = []
  for (const match of text.matchAll(/\\([\s\S])|\$\{(\w+)\}|\$(\d)|([^\\$]+)|([\s\S])/g)) {
    if (match[5] !== undefined) throw illegalArgument('Illegal group reference')
    if (match[2] !== undefined) parts.push({ group: match[2] })
    else if (match[3] !== undefined) parts.push({ group: Number(match[3]) })
    else parts.push(match[1] ?? match[4]!)
  }
  return parts
}

function advance(found: Matcher): boolean {
  steps(1)
  found.matched = found.matcher.find()
  return found.matched
}

function groupOf(found: Matcher, group: string | number): string | null {
  if (!found.matched) throw new JavaThrow('java.lang.IllegalStateException', 'No match found')
  if (typeof group === 'number' && (group < 0 || group > found.matcher.groupCount()))
    throw new JavaThrow('java.lang.IndexOutOfBoundsException', `No group ${group}`)
  try {
    return found.matcher.group(group)
  } catch {
    throw illegalArgument(`No group with name <${group}>`)
  }
}

const at = (found: Matcher, side: 'start' | 'end', group: number): number => {
  groupOf(found, group)
  return found.matcher[side](group)
}

const patternTest =
  (pattern: Pattern, whole: boolean): Fn =>
  (text) =>
    (whole ? matchPattern : findPattern)(pattern, text)

defineClass('java.util.regex.Pattern', {
  constants: Object.fromEntries(Object.entries(flagBits).map(([name, value]) => [name, ['int', value]])),
  methods: {
    'static String quote(String)': (text: string) => RE2JS.quote(text),
    'Predicate asPredicate()': (self: Pattern) => patternTest(self, false),
    'Predicate asMatchPredicate()': (self: Pattern) => patternTest(self, true),
    'int flags()': (self: Pattern) => self.flags,
    'Matcher matcher(CharSequence)': matcherOf,
    'String pattern()': (self: Pattern) => self.source,
    'String[] split(CharSequence)': (self: Pattern, text: unknown) => splitText(self, text, 0),
    'String[] split(CharSequence,int)': splitText,
    'Stream splitAsStream(CharSequence)': (self: Pattern, text: unknown) => ({
      javaClass: 'java.util.stream.Stream',
      items: splitText(self, text, 0).items,
    }),
  },
})

defineClass('java.util.regex.Matcher', {
  methods: {
    'int end()': (self: Matcher) => at(self, 'end', 0),
    'int end(int)': (self: Matcher, group: number) => at(self, 'end', group),
    'boolean find()': advance,
    'boolean find(int)': (self: Matcher, from: number) => {
      steps(1)
      self.matched = self.matcher.find(from)
      return self.matched
    },
    'String group()': (self: Matcher) => groupOf(self, 0),
    'String group(def)': (self: Matcher, group: unknown) => groupOf(self, group as string | number),
    'String namedGroup(String)': (self: Matcher, group: string) => groupOf(self, group),
    'int groupCount()': (self: Matcher) => self.matcher.groupCount(),
    'boolean hitEnd()': (self: Matcher) => !self.matched || self.matcher.end() === self.input.length,
    'boolean lookingAt()': (self: Matcher) => (self.matched = self.matcher.lookingAt()),
    'boolean matches()': (self: Matcher) => (self.matched = self.matcher.matches()),
    'Pattern pattern()': (self: Matcher) => self.pattern,
    'String replaceAll(String)': (self: Matcher, replacement: string) =>
      replaceMatches(self.pattern, self.input, replacement, true),
    'String replaceFirst(String)': (self: Matcher, replacement: string) =>
      replaceMatches(self.pattern, self.input, replacement, false),
    'Matcher reset()': (self: Matcher) => {
      self.matcher.reset()
      self.matched = false
      return self
    },
    'int start()': (self: Matcher) => at(self, 'start', 0),
    'int start(int)': (self: Matcher, group: number) => at(self, 'start', group),
    'static String quoteReplacement(String)': (text: string) => text.replace(/[\\$]/g, '\\$&'),
  },
})
