import { createHash } from 'node:crypto'
import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'
import { allocateText } from '../meter.ts'
import { textOf } from '../text.ts'
import { isJavaArray, type JavaArray, javaClassOf, numberKind, plainNumber } from '../values.ts'
import { charsText, stringIndex } from './strings.ts'

/* Implements `String.format`, and less common methods of String. */

interface Conversion {
  flags: string
  width: number
  precision: number | undefined
  type: string
}

const specifier = /%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/g
/** Maximum width and precision. Longer texts are not useful. */
const sizeMax = 1000

const formatError = (name: string, message: string): JavaThrow => new JavaThrow(`java.util.${name}`, message)

/** Formats like `String.format`, with English rules. */
export function formatText(pattern: string, args: unknown[]): string {
  let next = 0
  const text = pattern.replace(specifier, (_whole, index, flags, width, precision, type) => {
    const conversion: Conversion = {
      flags,
      width: Number(width ?? 0),
      precision: precision === undefined ? undefined : Number(precision),
      type,
    }
    if (conversion.width > sizeMax || (conversion.precision ?? 0) > sizeMax)
      throw formatError('IllegalFormatWidthException', String(Math.max(conversion.width, conversion.precision ?? 0)))
    if (type === '%') return padded('%', conversion)
    if (type === 'n') return '\n'
    const position = index === undefined ? next++ : Number(index) - 1
    if (position >= args.length) throw formatError('MissingFormatArgumentException', `Format specifier '%${type}'`)
    const shown = padded(converted(args[position], conversion), conversion)
    allocateText(shown.length)
    return /[A-Z]/.test(type) ? shown.toUpperCase() : shown
  })
  const rest = pattern.replace(specifier, '')
  if (rest.includes('%'))
    throw formatError('UnknownFormatConversionException', `Conversion = '${rest.charAt(rest.indexOf('%') + 1) || '%'}'`)
  allocateText(text.length)
  return text
}

function padded(text: string, { flags, width, type }: Conversion): string {
  if (text.length >= width) return text
  if (flags.includes('-')) return text.padEnd(width)
  if (!flags.includes('0') || !/[dfeEgGoxX]/.test(type) || /[a-z]{3}/i.test(text)) return text.padStart(width)
  const sign = /^[-+ (]/.test(text) ? text.charAt(0) : ''
  return sign + text.slice(sign.length).padStart(width - sign.length, '0')
}

function converted(value: unknown, conversion: Conversion): string {
  const { type, precision, flags } = conversion
  switch (type.toLowerCase()) {
    case 's': {
      const text = textOf(value)
      return precision === undefined ? text : text.slice(0, precision)
    }
    case 'b':
      return value === null ? 'false' : typeof value === 'boolean' ? String(value) : 'true'
    case 'c':
      return charText(value)
    case 'd':
      return value === null ? 'null' : signed(integerOf(value, type), flags)
    case 'x':
    case 'o': {
      if (value === null) return 'null'
      const radix = type.toLowerCase() === 'x' ? 16 : 8
      const prefix = flags.includes('#') ? (radix === 16 ? '0x' : '0') : ''
      return prefix + unsignedOf(value, type).toString(radix)
    }
    case 'f':
    case 'e':
    case 'g':
      return value === null ? 'null' : fraction(value, conversion)
    case 'h':
      return textOf(value)
    default:
      throw formatError('UnknownFormatConversionException', `Conversion = '${type}'`)
  }
}

function charText(value: unknown): string {
  if (value === null) return 'null'
  const kind = numberKind(value)
  if (kind === undefined || kind === 'long' || kind === 'float' || kind === 'double') throw mismatch('c', value)
  return String.fromCodePoint(plainNumber(value))
}

const mismatch = (type: string, value: unknown): JavaThrow =>
  formatError('IllegalFormatConversionException', `${type} != ${javaClassOf(value)}`)

const bigOf = (value: unknown): bigint | undefined => (value as { big?: bigint } | null)?.big

function integerOf(value: unknown, type: string): bigint {
  const big = bigOf(value)
  if (big !== undefined) return big
  const kind = numberKind(value)
  if (kind === undefined || kind === 'float' || kind === 'double' || kind === 'char') throw mismatch(type, value)
  return BigInt(kind === 'long' ? (value as bigint) : plainNumber(value))
}

const bitsOf: Record<string, number> = { byte: 8, short: 16, int: 32, long: 64 }
const unsignedOf = (value: unknown, type: string): bigint =>
  BigInt.asUintN(bitsOf[numberKind(value) ?? 'long'] ?? 64, integerOf(value, type))

function signed(value: bigint, flags: string): string {
  const digits = grouped(String(value < 0n ? -value : value), flags)
  return withSign(digits, value < 0n, flags)
}

const grouped = (digits: string, flags: string): string =>
  flags.includes(',') ? digits.replace(/\B(?=(?:\d{3})+(?!\d))/g, ',') : digits

function withSign(digits: string, isNegative: boolean, flags: string): string {
  if (isNegative) return flags.includes('(') ? `(${digits})` : `-${digits}`
  return flags.includes('+') ? `+${digits}` : flags.includes(' ') ? ` ${digits}` : digits
}

function fraction(value: unknown, { type, flags, precision = 6 }: Conversion): string {
  const kind = numberKind(value)
  const isDecimal = javaClassOf(value) === 'java.math.BigDecimal'
  if (!isDecimal && kind !== 'float' && kind !== 'double') throw mismatch(type, value)
  const number = isDecimal ? Number(textOf(value)) : plainNumber(value)
  if (!Number.isFinite(number)) return Number.isNaN(number) ? 'NaN' : number > 0 ? 'Infinity' : '-Infinity'
  const size = Math.abs(number)
  const isNegative = number < 0 || Object.is(number, -0)
  const digits = Math.min(precision, 100)
  if (type.toLowerCase() === 'e') return withSign(exponential(size, digits), isNegative, flags)
  if (type.toLowerCase() === 'g' && (size < 1e-4 || size >= 10 ** digits) && size !== 0)
    return withSign(exponential(size, Math.max(0, digits - 1)), isNegative, flags)
  const decimals = type.toLowerCase() === 'g' ? Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1))) : digits
  const [whole = '', rest] = roundedHalfUp(isDecimal ? textOf(value).replace('-', '') : size, decimals).split('.')
  return withSign(grouped(whole, flags) + (rest === undefined ? '' : `.${rest}`), isNegative, flags)
}

const exponential = (size: number, digits: number): string =>
  size.toExponential(digits).replace(/e([+-])(\d)$/, 'e$10$2')

/** Rounds the shortest decimal text of a number, half up. `toFixed` cannot be used, because it rounds the exact binary value. */
function roundedHalfUp(value: number | string, decimals: number): string {
  const [mantissa = '0', exponentText = '0'] = String(value).toLowerCase().split('e')
  const [whole = '0', part = ''] = mantissa.split('.')
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > 400) return '0'
  const digits = BigInt(whole + part)
  const scale = part.length - exponent
  const shift = scale - decimals
  const unscaled = shift <= 0 ? digits * 10n ** BigInt(-shift) : (digits / 10n ** BigInt(shift - 1) + 5n) / 10n
  const text = String(unscaled).padStart(decimals + 1, '0')
  return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}

const argumentsOf = (value: unknown): unknown[] =>
  value === null ? [] : isJavaArray(value) ? value.items : Array.isArray(value) ? value : [value]

const digest = (algorithm: string) => (self: string) => createHash(algorithm).update(self, 'utf8').digest('hex')

function codePointBefore(text: string, index: number): number {
  if (index < 1 || index > text.length) throw stringIndex(`String index out of range: ${index}`)
  const low = text.charCodeAt(index - 1)
  const pair = index > 1 ? text.codePointAt(index - 2)! : 0
  return pair > 0xffff ? pair : low
}

function copyChars(text: string, start: number, end: number, target: JavaArray, at: number): void {
  const isInside =
    start >= 0 && end <= text.length && start <= end && at >= 0 && at + end - start <= target.items.length
  if (!isInside) throw stringIndex(`begin ${start}, end ${end}, length ${text.length}`)
  for (let index = start; index < end; index++) target.items[at + index - start] = text.charCodeAt(index)
}

defineClass('java.lang.String', {
  methods: {
    'static String format(String,Object)': (pattern: string, args: unknown) => formatText(pattern, argumentsOf(args)),
    'static String format(Locale,String,Object)': (_locale: unknown, pattern: string, args: unknown) =>
      formatText(pattern, argumentsOf(args)),
    'static String copyValueOf(char[],int,int)': (chars: JavaArray, from: number, count: number) => {
      if (from < 0 || count < 0 || from + count > chars.items.length)
        throw stringIndex(`offset ${from}, count ${count}, length ${chars.items.length}`)
      return charsText({ elementType: 'char', items: chars.items.slice(from, from + count) })
    },
    'int codePointBefore(int)': codePointBefore,
    'void getChars(int,int,char[],int)': copyChars,
    'String sha1()': digest('sha1'),
    'String sha256()': digest('sha256'),
  },
})

interface WithText {
  value: string
}
for (const name of ['StringBuilder', 'StringBuffer'])
  defineClass(`java.lang.${name}`, {
    methods: {
      'int codePointBefore(int)': (self: WithText, index: number) => codePointBefore(self.value, index),
      'int codePointCount(int,int)': (self: WithText, start: number, end: number) =>
        [...self.value.slice(start, end)].length,
      'void getChars(int,int,char[],int)': (
        self: WithText,
        start: number,
        end: number,
        target: JavaArray,
        at: number,
      ) => copyChars(self.value, start, end, target, at),
    },
  })
for (const name of [
  'DuplicateFormatFlagsException',
  'IllegalFormatConversionException',
  'IllegalFormatWidthException',
  'MissingFormatArgumentException',
  'UnknownFormatConversionException',
])
  defineClass(`java.util.${name}`, { supers: ['java.util.IllegalFormatException'] })
defineClass('java.util.IllegalFormatException', { supers: ['java.lang.IllegalArgumentException'] })
