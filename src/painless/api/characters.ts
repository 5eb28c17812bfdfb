import { defineClass } from '../define.ts'
import { illegalArgument } from '../errors.ts'
import type { JavaArray } from '../values.ts'
import { sequenceText, stringIndex } from './strings.ts'

/* Implements the methods of Character for code points, surrogates and Unicode categories. */

const characterOf = (code: number): string => String.fromCodePoint(code)
const isValid = (code: number): boolean => code >= 0 && code <= 0x10ffff
const matches =
  (pattern: RegExp) =>
  (code: number): boolean =>
    isValid(code) && pattern.test(characterOf(code))

/** Unicode categories with their numbers in Java. */
const categories: [name: string, value: number, category: string][] = [
  ['UNASSIGNED', 0, 'Cn'],
  ['UPPERCASE_LETTER', 1, 'Lu'],
  ['LOWERCASE_LETTER', 2, 'Ll'],
  ['TITLECASE_LETTER', 3, 'Lt'],
  ['MODIFIER_LETTER', 4, 'Lm'],
  ['OTHER_LETTER', 5, 'Lo'],
  ['NON_SPACING_MARK', 6, 'Mn'],
  ['ENCLOSING_MARK', 7, 'Me'],
  ['COMBINING_SPACING_MARK', 8, 'Mc'],
  ['DECIMAL_DIGIT_NUMBER', 9, 'Nd'],
  ['LETTER_NUMBER', 10, 'Nl'],
  ['OTHER_NUMBER', 11, 'No'],
  ['SPACE_SEPARATOR', 12, 'Zs'],
  ['LINE_SEPARATOR', 13, 'Zl'],
  ['PARAGRAPH_SEPARATOR', 14, 'Zp'],
  ['CONTROL', 15, 'Cc'],
  ['FORMAT', 16, 'Cf'],
  ['PRIVATE_USE', 18, 'Co'],
  ['SURROGATE', 19, 'Cs'],
  ['DASH_PUNCTUATION', 20, 'Pd'],
  ['START_PUNCTUATION', 21, 'Ps'],
  ['END_PUNCTUATION', 22, 'Pe'],
  ['CONNECTOR_PUNCTUATION', 23, 'Pc'],
  ['OTHER_PUNCTUATION', 24, 'Po'],
  ['MATH_SYMBOL', 25, 'Sm'],
  ['CURRENCY_SYMBOL', 26, 'Sc'],
  ['MODIFIER_SYMBOL', 27, 'Sk'],
  ['OTHER_SYMBOL', 28, 'So'],
  ['INITIAL_QUOTE_PUNCTUATION', 29, 'Pi'],
  ['FINAL_QUOTE_PUNCTUATION', 30, 'Pf'],
]
const tests = categories.map(([, value, category]) => ({ value, test: new RegExp(`^\\p{${category}}$`, 'u') }))
const typeOf = (code: number): number => {
  if (!isValid(code)) return 0
  const text = characterOf(code)
  return tests.find(({ test }) => test.test(text))?.value ?? 0
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
const high = (code: number): number => ((code - 0x10000) >> 10) + 0xd800
const low = (code: number): number => ((code - 0x10000) & 0x3ff) + 0xdc00

function pointAt(text: string, index: number): number {
  if (index < 0 || index >= text.length) throw stringIndex(`String index out of range: ${index}`)
  return text.codePointAt(index)!
}

/** Moves an index by a number of code points. */
function moved(text: string, index: number, by: number): number {
  let at = index
  for (let left = Math.abs(by); left > 0; left--) {
    const isPair = by > 0 ? pointAt(text, at) > 0xffff : at > 1 && pointAt(text, at - 2) > 0xffff
    at += (by > 0 ? 1 : -1) * (isPair ? 2 : 1)
    if (at < 0 || at > text.length) throw stringIndex(`String index out of range: ${at}`)
  }
  return at
}

const charsOf = (code: number): JavaArray => {
  if (!isValid(code))
    throw illegalArgument(`Not a valid Unicode code point: 0x${(code >>> 0).toString(16).toUpperCase()}`)
  return { elementType: 'char', items: code > 0xffff ? [high(code), low(code)] : [code] }
}
const isFormat = matches(/^\p{Cf}$/u)
const identifierPart = /^[\p{L}\p{Nl}\p{Nd}\p{Sc}\p{Pc}\p{Mn}\p{Mc}]$/u

defineClass('java.lang.Character', {
  constants: {
    ...Object.fromEntries(categories.map(([name, value]) => [name, ['byte', value]] as const)),
    BYTES: ['int', 2],
    SIZE: ['int', 16],
    MAX_CODE_POINT: ['int', 0x10ffff],
    MIN_CODE_POINT: ['int', 0],
    MIN_SUPPLEMENTARY_CODE_POINT: ['int', 0x10000],
    MIN_SURROGATE: ['char', 0xd800],
    MAX_SURROGATE: ['char', 0xdfff],
    MIN_HIGH_SURROGATE: ['char', 0xd800],
    MAX_HIGH_SURROGATE: ['char', 0xdbff],
    MIN_LOW_SURROGATE: ['char', 0xdc00],
    MAX_LOW_SURROGATE: ['char', 0xdfff],
  },
  methods: {
    'static int codePointAt(CharSequence,int)': (text: unknown, index: number) => pointAt(sequenceText(text), index),
    'static int codePointBefore(CharSequence,int)': (text: unknown, index: number) => {
      const characters = sequenceText(text)
      return pointAt(characters, moved(characters, index, -1))
    },
    'static int codePointCount(CharSequence,int,int)': (text: unknown, start: number, end: number) =>
      [...sequenceText(text).slice(start, end)].length,
    'static int getType(int)': typeOf,
    'static char highSurrogate(int)': high,
    'static char lowSurrogate(int)': low,
    'static boolean isBmpCodePoint(int)': (code: number) => code >>> 16 === 0,
    'static boolean isDefined(int)': (code: number) => typeOf(code) !== 0,
    'static boolean isHighSurrogate(char)': isHigh,
    'static boolean isLowSurrogate(char)': isLow,
    'static boolean isSurrogate(char)': (code: number) => isHigh(code) || isLow(code),
    'static boolean isSurrogatePair(char,char)': (first: number, second: number) => isHigh(first) && isLow(second),
    'static boolean isISOControl(int)': (code: number) => code <= 0x9f && (code >= 0x7f || code < 0x20) && code >= 0,
    'static boolean isIdeographic(int)': matches(/^\p{Ideographic}$/u),
    'static boolean isIdentifierIgnorable(int)': (code: number) =>
      (code >= 0 && code <= 8) || (code >= 0x0e && code <= 0x1b) || (code >= 0x7f && code <= 0x9f) || isFormat(code),
    'static boolean isJavaIdentifierStart(int)': matches(/^[\p{L}\p{Nl}\p{Sc}\p{Pc}]$/u),
    'static boolean isJavaIdentifierPart(int)': matches(identifierPart),
    'static boolean isUnicodeIdentifierStart(int)': matches(/^\p{ID_Start}$/u),
    'static boolean isUnicodeIdentifierPart(int)': matches(/^\p{ID_Continue}$/u),
    'static boolean isMirrored(int)': matches(/^\p{Bidi_Mirrored}$/u),
    'static boolean isSupplementaryCodePoint(int)': (code: number) => code >= 0x10000 && code <= 0x10ffff,
    'static boolean isTitleCase(int)': matches(/^\p{Lt}$/u),
    'static boolean isValidCodePoint(int)': isValid,
    'static int offsetByCodePoints(CharSequence,int,int)': (text: unknown, index: number, by: number) =>
      moved(sequenceText(text), index, by),
    'static char reverseBytes(char)': (code: number) => ((code & 255) << 8) | (code >> 8),
    'static char[] toChars(int)': charsOf,
    'static int toCodePoint(char,char)': (first: number, second: number) =>
      ((first - 0xd800) << 10) + (second - 0xdc00) + 0x10000,
    'static int toTitleCase(int)': (code: number) => characterOf(code).toUpperCase().codePointAt(0)!,
  },
})
