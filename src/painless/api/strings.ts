import { defineClass } from '../define.ts'
import { compareStrings, stringHash } from '../equality.ts'
import { illegalArgument, JavaThrow, nullPointer } from '../errors.ts'
import { allocateText, steps } from '../meter.ts'
import { boxText, doubleText, floatText, joinTexts, textOf, trimText } from '../text.ts'
import { type Box, isJavaArray, type JavaArray } from '../values.ts'
import type { Fn, List } from './helpers.ts'
import { type Pattern, replaceWith, splitText } from './regex.ts'

export const stringIndex = (message: string): JavaThrow =>
  new JavaThrow('java.lang.StringIndexOutOfBoundsException', message)

/** Returns a part of a text. Positions outside of the text throw the same errors as in Java. */
export function substring(text: string, start: number, end: number): string {
  if (start < 0 || end > text.length || start > end)
    throw stringIndex(`begin ${start}, end ${end}, length ${text.length}`)
  steps(1)
  return text.slice(start, end)
}

function charAt(text: string, index: number): number {
  if (index < 0 || index >= text.length) throw stringIndex(`Index ${index} out of bounds for length ${text.length}`)
  return text.charCodeAt(index)
}

/** Returns the text of a CharSequence: a String or StringBuilder. */
export const sequenceText = (value: unknown): string => {
  if (value === null) throw nullPointer('a text is null')
  return typeof value === 'string' ? value : textOf(value)
}

function repeat(text: string, count: number): string {
  if (count < 0) throw illegalArgument(`count is negative: ${count}`)
  allocateText(text.length * count)
  return text.repeat(count)
}

function replace(text: string, from: unknown, to: unknown): string {
  const target = sequenceText(from)
  const replacement = sequenceText(to)
  const parts = text.split(target)
  allocateText(text.length + parts.length * replacement.length)
  return parts.join(replacement)
}

const sized = (text: string): string => {
  allocateText(text.length)
  return text
}

const chars = (text: string): JavaArray => {
  allocateText(text.length * 4)
  return { elementType: 'char', items: Array.from({ length: text.length }, (_, index) => text.charCodeAt(index)) }
}

export function splitOnToken(text: string, token: string, limit = -1): JavaArray {
  const all = token === '' ? [text] : text.split(token)
  const items = limit > 0 && all.length > limit ? [...all.slice(0, limit - 1), all.slice(limit - 1).join(token)] : all
  allocateText(text.length + items.length * 16)
  return { elementType: 'java.lang.String', items }
}

defineClass('java.lang.CharSequence', {
  methods: {
    'char charAt(int)': (self: unknown, index: number) => charAt(sequenceText(self), index),
    'int length()': (self: unknown) => sequenceText(self).length,
    'String subSequence(int,int)': (self: unknown, start: number, end: number) =>
      substring(sequenceText(self), start, end),
    'boolean isEmpty()': (self: unknown) => sequenceText(self) === '',
    'IntStream chars()': (self: unknown) => intStreamOf(chars(sequenceText(self)).items),
    'IntStream codePoints()': (self: unknown) =>
      intStreamOf([...sequenceText(self)].map((char) => char.codePointAt(0))),
    'String replaceAll(Pattern,Function)': (self: unknown, pattern: Pattern, by: Fn) =>
      replaceWith(pattern, sequenceText(self), by, true),
    'String replaceFirst(Pattern,Function)': (self: unknown, pattern: Pattern, by: Fn) =>
      replaceWith(pattern, sequenceText(self), by, false),
  },
})

const intStreamOf = (items: unknown[]) => ({ javaClass: 'java.util.stream.IntStream', items })

defineClass('java.lang.String', {
  supers: ['java.lang.CharSequence', 'java.lang.Comparable'],
  constants: {
    CASE_INSENSITIVE_ORDER: [
      'Comparator',
      (left: string, right: string) => compareStrings(left.toLowerCase(), right.toLowerCase()),
    ],
  },
  constructors: { '()': () => '', '(String)': (text: string) => text },
  methods: {
    'int codePointAt(int)': (self: string, index: number) => {
      charAt(self, index)
      return self.codePointAt(index)!
    },
    'int codePointCount(int,int)': (self: string, start: number, end: number) =>
      [...substring(self, start, end)].length,
    'int compareTo(String)': compareStrings,
    'int compareToIgnoreCase(String)': (self: string, other: string) =>
      compareStrings(self.toLowerCase(), other.toLowerCase()),
    'String concat(String)': (self: string, other: string) => sized(self + sequenceText(other)),
    'boolean contains(CharSequence)': (self: string, other: unknown) => self.includes(sequenceText(other)),
    'boolean contentEquals(CharSequence)': (self: string, other: unknown) => self === sequenceText(other),
    'boolean endsWith(String)': (self: string, other: string) => self.endsWith(sequenceText(other)),
    'boolean equalsIgnoreCase(String)': (self: string, other: string | null) =>
      other !== null && self.toLowerCase() === other.toLowerCase(),
    'int indexOf(String)': (self: string, other: string) => self.indexOf(sequenceText(other)),
    'int indexOf(String,int)': (self: string, other: string, from: number) => self.indexOf(sequenceText(other), from),
    'boolean isBlank()': (self: string) => self.trim() === '',
    'boolean isEmpty()': (self: string) => self === '',
    'int length()': (self: string) => self.length,
    'int lastIndexOf(String)': (self: string, other: string) => self.lastIndexOf(sequenceText(other)),
    'int lastIndexOf(String,int)': (self: string, other: string, from: number) =>
      from < 0 ? -1 : self.lastIndexOf(sequenceText(other), from),
    'Stream lines()': (self: string) => ({
      javaClass: 'java.util.stream.Stream',
      items:
        self === ''
          ? []
          : self.replace(/\r\n?|\n$/g, (end, at: number) => (at + end.length === self.length ? '' : '\n')).split('\n'),
    }),
    'int offsetByCodePoints(int,int)': (self: string, index: number, by: number) =>
      index + [...self.slice(index)].slice(0, by).join('').length,
    'boolean regionMatches(int,String,int,int)': (
      self: string,
      at: number,
      other: string,
      from: number,
      length: number,
    ) => self.slice(at, at + length) === other.slice(from, from + length),
    'boolean regionMatches(boolean,int,String,int,int)': (
      self: string,
      ignoreCase: boolean,
      at: number,
      other: string,
      from: number,
      length: number,
    ) => {
      const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text)
      return fold(self.slice(at, at + length)) === fold(other.slice(from, from + length))
    },
    'String repeat(int)': repeat,
    'String replace(CharSequence,CharSequence)': replace,
    'String[] split(Pattern)': (self: string, pattern: Pattern) => splitText(pattern, self, 0),
    'String[] split(Pattern,int)': (self: string, pattern: Pattern, limit: number) => splitText(pattern, self, limit),
    'String[] splitOnToken(String)': (self: string, token: string) => splitOnToken(self, token),
    'String[] splitOnToken(String,int)': splitOnToken,
    'boolean startsWith(String)': (self: string, other: string) => self.startsWith(sequenceText(other)),
    'boolean startsWith(String,int)': (self: string, other: string, from: number) =>
      self.startsWith(sequenceText(other), from),
    'String strip()': (self: string) => self.trim(),
    'String stripLeading()': (self: string) => self.trimStart(),
    'String stripTrailing()': (self: string) => self.trimEnd(),
    'String substring(int)': (self: string, start: number) => substring(self, start, self.length),
    'String substring(int,int)': substring,
    'char[] toCharArray()': chars,
    'String toLowerCase()': (self: string) => sized(self.toLowerCase()),
    'String toLowerCase(Locale)': (self: string) => sized(self.toLowerCase()),
    'String toUpperCase()': (self: string) => sized(self.toUpperCase()),
    'String toUpperCase(Locale)': (self: string) => sized(self.toUpperCase()),
    'String trim()': (self: string) => trimText(self),
    'int hashCode()': stringHash,
    'String intern()': (self: string) => self,
    'String encodeBase64()': (self: string) => sized(Buffer.from(self, 'utf8').toString('base64')),
    'String decodeBase64()': (self: string) => decodeBase64(self),
    'static String copyValueOf(char[])': (value: JavaArray) => charsText(value),
    'static String join(CharSequence,Iterable)': (delimiter: unknown, items: List) =>
      joinTexts(
        [...items].map((item) => textOf(item)),
        sequenceText(delimiter),
      ),
    'static String valueOf(def)': (value: unknown) =>
      isJavaArray(value) && value.elementType === 'char' ? charsText(value) : textOf(value),
  },
})

export const charsText = (value: JavaArray): string => sized(String.fromCharCode(...(value.items as number[])))

export function decodeBase64(text: string): string {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw illegalArgument('Illegal base64 character')
  return sized(Buffer.from(text, 'base64').toString('utf8'))
}

/** Returns a raw primitive value as text, in the form that `StringBuilder.append` prints. */
export function rawText(value: unknown, kind: string): string {
  if (kind === 'char') return String.fromCharCode(value as number)
  if (kind === 'double') return doubleText(value as number)
  if (kind === 'float') return floatText(value as number)
  return textOf(value)
}

const letter = /^\p{L}$/u
const upper = /^\p{Lu}$/u
const lower = /^\p{Ll}$/u
const characterOf = (code: number): string => String.fromCodePoint(code)
/** Returns whether a character is white space. Characters are given as `char` or as a code point, which is an int. */
const isSpace = (code: number): boolean =>
  ((code >= 0x1c && code <= 0x1f) || /^\s$/.test(characterOf(code))) && !/[\u00a0\u2007\u202f]/.test(characterOf(code))

defineClass('java.lang.Character', {
  supers: ['java.lang.Comparable'],
  constants: { MAX_VALUE: ['char', 65535], MIN_VALUE: ['char', 0], MAX_RADIX: ['int', 36], MIN_RADIX: ['int', 2] },
  methods: {
    'char charValue()': (self: Box) => self.value,
    'int compareTo(Character)': (self: Box, other: Box) => self.value - other.value,
    'String toString()': (self: Box) => boxText(self),
    'static int charCount(int)': (code: number) => (code > 0xffff ? 2 : 1),
    'static int compare(char,char)': (left: number, right: number) => left - right,
    'static int digit(int,int)': (code: number, radix: number) => {
      const value = Number.parseInt(characterOf(code), radix)
      return Number.isNaN(value) ? -1 : value
    },
    'static char forDigit(int,int)': (digit: number, radix: number) => digit.toString(radix).charCodeAt(0),
    'static int getNumericValue(int)': (code: number) => {
      const value = Number.parseInt(characterOf(code), 36)
      return Number.isNaN(value) ? -1 : value
    },
    'static String getName(int)': (code: number) => `U+${code.toString(16).toUpperCase().padStart(4, '0')}`,
    'static int hashCode(char)': (code: number) => code,
    'static boolean isAlphabetic(int)': (code: number) => /^\p{Alphabetic}$/u.test(characterOf(code)),
    'static boolean isDigit(int)': (code: number) => /^\p{Nd}$/u.test(characterOf(code)),
    'static boolean isLetter(int)': (code: number) => letter.test(characterOf(code)),
    'static boolean isLetterOrDigit(int)': (code: number) => /^[\p{L}\p{Nd}]$/u.test(characterOf(code)),
    'static boolean isLowerCase(int)': (code: number) => lower.test(characterOf(code)),
    'static boolean isSpaceChar(int)': (code: number) => /^\p{Z}$/u.test(characterOf(code)),
    'static boolean isUpperCase(int)': (code: number) => upper.test(characterOf(code)),
    'static boolean isWhitespace(int)': isSpace,
    'static int toLowerCase(int)': (code: number) => characterOf(code).toLowerCase().codePointAt(0)!,
    'static int toUpperCase(int)': (code: number) => characterOf(code).toUpperCase().codePointAt(0)!,
    'static String toString(char)': (code: number) => String.fromCharCode(code),
    'static Character valueOf(char)': (code: number): Box => ({ box: 'char', value: code }),
  },
})
