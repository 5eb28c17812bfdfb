import { defineClass } from '../define.ts'
import { illegalArgument, JavaThrow } from '../errors.ts'
import { allocateText } from '../meter.ts'
import { textOf } from '../text.ts'
import { boxDouble, type JavaObject, numberKind, plainNumber } from '../values.ts'
import { type BigDecimal, divideRounded, type Mode, power, roundingModes } from './decimals.ts'
import { sequenceText } from './strings.ts'

/* Implements DecimalFormat and NumberFormat with English symbols, and Normalizer. */

interface DecimalFormat extends JavaObject {
  prefix: string
  suffix: string
  negativePrefix: string
  negativeSuffix: string
  minInteger: number
  maxInteger: number
  minFraction: number
  maxFraction: number
  /** Number of digits in a group; 0 means no groups. */
  group: number
  /** Numbers are multiplied by this factor before they are printed: 100 for percent, 1000 for per mille, otherwise 1. */
  factor: number
  /** Number of digits of the exponent; undefined if no exponent is printed. */
  exponent: number | undefined
  mode: string
  isInteger: boolean
  pattern: string
}

const digitsMax = 340

/** Splits a pattern into its literal parts and the number part. Quoted characters are literal, and two quotes stand for one quote. */
function partsOf(pattern: string): { prefix: string; number: string; suffix: string } {
  let [prefix, number, suffix] = ['', '', '']
  let isQuoted = false
  for (const [char] of pattern.matchAll(/''|./gsu)) {
    if (char === "'") {
      isQuoted = !isQuoted
      continue
    }
    const isNumber = !isQuoted && (/[#0,.]/.test(char) || (char === 'E' && number !== ''))
    if (isNumber && suffix === '') number += char
    else if (isNumber) throw illegalArgument(`Unexpected character in pattern "${pattern}"`)
    else if (number === '') prefix += char === "''" ? "'" : char
    else suffix += char === "''" ? "'" : char
  }
  return { prefix, number, suffix }
}

function compileFormat(pattern: string): DecimalFormat {
  const [positive = '', negative] = pattern.split(';')
  const { prefix, number, suffix } = partsOf(positive)
  const [mantissa = '', exponentDigits] = number.split('E')
  const [whole = '', fraction = ''] = mantissa.split('.')
  if (/0.*#/.test(whole.replaceAll(',', '')) || /#.*0/.test(fraction) || mantissa.split('.').length > 2)
    throw illegalArgument(`Malformed pattern "${pattern}"`)
  const literals = prefix + suffix
  // A pattern with a point but without a zero prints at least one digit: before the point if there is a `#` before it, otherwise after it.
  const hasNoZero = mantissa.includes('.') && !mantissa.includes('0')
  const isBare = whole === ''
  const other = negative === undefined ? undefined : partsOf(negative)
  return {
    javaClass: 'java.text.DecimalFormat',
    prefix: prefix.replace('\u00a4', '$'),
    suffix: suffix.replace('\u00a4', '$'),
    negativePrefix: (other ? other.prefix : `-${prefix}`).replace('\u00a4', '$'),
    negativeSuffix: (other ? other.suffix : suffix).replace('\u00a4', '$'),
    minInteger: hasNoZero && !isBare ? 1 : whole.replace(/[^0]/g, '').length,
    maxInteger: exponentDigits === undefined ? Number.POSITIVE_INFINITY : whole.replaceAll(',', '').length,
    minFraction: hasNoZero && isBare ? 1 : fraction.replace(/[^0]/g, '').length,
    maxFraction: fraction.length,
    group: whole.includes(',') ? whole.length - whole.lastIndexOf(',') - 1 : 0,
    factor: literals.includes('%') ? 100 : literals.includes('\u2030') ? 1000 : 1,
    exponent: exponentDigits?.length,
    mode: 'HALF_EVEN',
    isInteger: false,
    pattern,
  }
}

/** Returns a number as digits and scale, or undefined if it is not finite. */
function digitsOf(value: unknown): { unscaled: bigint; scale: number; isNegative: boolean } | undefined {
  const decimal = value as Partial<BigDecimal> | null
  const text =
    decimal !== null && typeof decimal === 'object' && decimal.unscaled !== undefined
      ? `${decimal.unscaled}e${-decimal.scale!}`
      : textOf(value)
  if (typeof value === 'number' || numberKind(value) === 'double') return exactDigits(plainNumber(value))
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)
  if (!match) return undefined
  const scale = (match[3]?.length ?? 0) - Number(match[4] ?? 0)
  return { unscaled: BigInt(match[2]! + (match[3] ?? '')), scale, isNegative: match[1] === '-' }
}

const bits = new DataView(new ArrayBuffer(8))

/** Returns the exact decimal digits of a double. As in Java, this exact value is rounded, and not the shortest text of the double. */
function exactDigits(value: number): ReturnType<typeof digitsOf> {
  if (!Number.isFinite(value)) return undefined
  bits.setFloat64(0, Math.abs(value))
  const raw = bits.getBigUint64(0)
  const stored = Number(raw >> 52n)
  const mantissa = (raw & 0xfffffffffffffn) | (stored === 0 ? 0n : 1n << 52n)
  const exponent = Math.max(stored, 1) - 1075
  const isNegative = value < 0 || Object.is(value, -0)
  if (exponent >= 0) return { unscaled: mantissa << BigInt(exponent), scale: 0, isNegative }
  return { unscaled: mantissa * 5n ** BigInt(-exponent), scale: -exponent, isNegative }
}

function rounded(unscaled: bigint, scale: number, decimals: number, mode: string, isNegative: boolean): bigint {
  if (scale <= decimals) return unscaled * power(decimals - scale)
  const value = divideRounded(isNegative ? -unscaled : unscaled, power(Math.min(scale - decimals, 2000)), mode)
  return value < 0n ? -value : value
}

function fixedText(format: DecimalFormat, unscaled: bigint, scale: number, isNegative: boolean): string {
  const decimals = Math.min(format.maxFraction, digitsMax)
  const digits = String(rounded(unscaled, scale, decimals, format.mode, isNegative)).padStart(decimals + 1, '0')
  const whole = decimals === 0 ? digits : digits.slice(0, -decimals)
  let fraction = decimals === 0 ? '' : digits.slice(-decimals)
  while (fraction.length > format.minFraction && fraction.endsWith('0')) fraction = fraction.slice(0, -1)
  let shown = whole.replace(/^0+/, '').padStart(format.minInteger, '0')
  if (shown.length > format.maxInteger) shown = shown.slice(-format.maxInteger)
  if (shown === '' && fraction === '') shown = '0'
  if (format.group > 0) shown = shown.replace(new RegExp(`\\B(?=(?:\\d{${format.group}})+$)`, 'g'), ',')
  return fraction === '' ? shown : `${shown}.${fraction}`
}

function exponentText(format: DecimalFormat, unscaled: bigint, scale: number, isNegative: boolean): string {
  const length = String(unscaled).length
  if (unscaled !== 0n && scale - length > 300) return exponentText(format, 0n, 0, isNegative)
  const wholeDigits = Math.max(1, format.minInteger)
  const exponent = unscaled === 0n ? 0 : length - scale - wholeDigits
  const mantissa = fixedText(
    { ...format, group: 0, maxInteger: Number.POSITIVE_INFINITY },
    unscaled,
    scale + exponent,
    isNegative,
  )
  const sign = exponent < 0 ? '-' : ''
  return `${mantissa}E${sign}${String(Math.abs(exponent)).padStart(format.exponent!, '0')}`
}

function format(self: DecimalFormat, value: unknown): string {
  if (value === null || (numberKind(value) === undefined && !digitsOf(value)))
    throw illegalArgument('Cannot format given Object as a Number')
  const number = digitsOf(value)
  if (!number) {
    const text = textOf(value)
    if (text === 'NaN') return 'NaN'
    return text.startsWith('-')
      ? `${self.negativePrefix}\u221e${self.negativeSuffix}`
      : `${self.prefix}\u221e${self.suffix}`
  }
  const unscaled = number.unscaled * BigInt(self.factor)
  const print = self.exponent === undefined ? fixedText : exponentText
  const digits = print(self, unscaled, number.scale, number.isNegative)
  const isZero = !/[1-9]/.test(digits)
  const isNegative = number.isNegative && (!isZero || numberKind(value) === 'double' || numberKind(value) === 'float')
  const text = isNegative ? self.negativePrefix + digits + self.negativeSuffix : self.prefix + digits + self.suffix
  allocateText(text.length)
  return text
}

const parseError = (text: string): JavaThrow =>
  new JavaThrow('java.text.ParseException', `Unparseable number: "${text.slice(0, 100)}"`)

/** Parses the number at the start of a text. As in Java, the rest is ignored. */
function parseNumber(self: DecimalFormat, text: string): unknown {
  const isNegative = self.negativePrefix !== '' && text.startsWith(self.negativePrefix)
  const prefix = isNegative ? self.negativePrefix : self.prefix
  if (!text.startsWith(prefix)) throw parseError(text)
  const found = /^(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:E-?\d+)?/.exec(text.slice(prefix.length))
  if (!found) throw parseError(text)
  const digits = (self.isInteger ? found[0].split('.')[0]! : found[0]).replaceAll(',', '')
  const value = (Number(digits) / self.factor) * (isNegative ? -1 : 1)
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : boxDouble(value)
}

const count = (value: number): number => Math.max(0, Math.min(value, digitsMax))

defineClass('java.text.NumberFormat', {
  methods: {
    'String format(def)': format,
    'Number parse(String)': parseNumber,
    'int getMaximumFractionDigits()': (self: DecimalFormat) => self.maxFraction,
    'int getMinimumFractionDigits()': (self: DecimalFormat) => self.minFraction,
    'int getMaximumIntegerDigits()': (self: DecimalFormat) => Math.min(self.maxInteger, 2147483647),
    'int getMinimumIntegerDigits()': (self: DecimalFormat) => self.minInteger,
    'RoundingMode getRoundingMode()': (self: DecimalFormat) => roundingModes.find(({ name }) => name === self.mode),
    'boolean isGroupingUsed()': (self: DecimalFormat) => self.group > 0,
    'void setGroupingUsed(boolean)': (self: DecimalFormat, isUsed: boolean) => {
      self.group = isUsed ? self.group || 3 : 0
    },
    'void setMaximumFractionDigits(int)': (self: DecimalFormat, digits: number) => {
      self.maxFraction = count(digits)
      self.minFraction = Math.min(self.minFraction, self.maxFraction)
    },
    'void setMinimumFractionDigits(int)': (self: DecimalFormat, digits: number) => {
      self.minFraction = count(digits)
      self.maxFraction = Math.max(self.minFraction, self.maxFraction)
    },
    'void setMaximumIntegerDigits(int)': (self: DecimalFormat, digits: number) => {
      self.maxInteger = Math.max(0, digits)
      self.minInteger = Math.min(self.minInteger, self.maxInteger)
    },
    'void setMinimumIntegerDigits(int)': (self: DecimalFormat, digits: number) => {
      self.minInteger = count(digits)
      self.maxInteger = Math.max(self.minInteger, self.maxInteger)
    },
    'void setParseIntegerOnly(boolean)': (self: DecimalFormat, isOnly: boolean) => {
      self.isInteger = isOnly
    },
    'void setRoundingMode(RoundingMode)': (self: DecimalFormat, { name }: Mode) => {
      self.mode = name
    },
    ...Object.fromEntries(
      [
        ['getInstance', '#,##0.###'],
        ['getNumberInstance', '#,##0.###'],
        ['getIntegerInstance', '#,##0'],
        ['getPercentInstance', '#,##0%'],
        ['getCurrencyInstance', '\u00a4#,##0.00'],
      ].flatMap(([name, pattern]) => [
        [`static NumberFormat ${name}()`, () => compileFormat(pattern!)],
        [`static NumberFormat ${name}(Locale)`, () => compileFormat(pattern!)],
      ]),
    ),
  },
})
const forms = ['NFD', 'NFC', 'NFKD', 'NFKC'].map((name) => ({
  javaClass: 'java.text.Normalizer.Form',
  name,
  text: () => name,
}))
defineClass('java.text.Normalizer.Form', {
  constants: Object.fromEntries(forms.map((form) => [form.name, ['Normalizer.Form', form]])),
  methods: { 'String name()': ({ name }: { name: string }) => name },
})
const normalized = (text: unknown, { name }: { name: string }): string => {
  const parsedText = sequenceText(text)
  // The memory is counted before the text exists, so its length is an estimate: few characters become more than 4 characters.
  allocateText(parsedText.length * 4)
  return parsedText.normalize(name)
}
defineClass('java.text.Normalizer', {
  methods: {
    'static boolean isNormalized(CharSequence,Normalizer.Form)': (text: unknown, form: { name: string }) =>
      normalized(text, form) === sequenceText(text),
    'static String normalize(CharSequence,Normalizer.Form)': normalized,
  },
})
defineClass('java.text.DecimalFormat', {
  supers: ['java.text.NumberFormat'],
  constructors: { '()': () => compileFormat('#,##0.###'), '(String)': compileFormat },
  methods: {
    'void applyPattern(String)': (self: DecimalFormat, pattern: string) =>
      void Object.assign(self, compileFormat(pattern)),
    'String toPattern()': (self: DecimalFormat) => self.pattern,
    'int getGroupingSize()': (self: DecimalFormat) => self.group,
    'void setGroupingSize(int)': (self: DecimalFormat, size: number) => {
      self.group = count(size)
    },
    'String getPositivePrefix()': (self: DecimalFormat) => self.prefix,
    'String getNegativePrefix()': (self: DecimalFormat) => self.negativePrefix,
    'String getPositiveSuffix()': (self: DecimalFormat) => self.suffix,
    'String getNegativeSuffix()': (self: DecimalFormat) => self.negativeSuffix,
    'void setPositivePrefix(String)': (self: DecimalFormat, text: string) => {
      self.prefix = text
    },
    'void setNegativePrefix(String)': (self: DecimalFormat, text: string) => {
      self.negativePrefix = text
    },
    'int getMultiplier()': (self: DecimalFormat) => self.factor,
  },
})
