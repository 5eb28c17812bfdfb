import { defineClass } from '../define.ts'
import { compareDoubles, hashOf } from '../equality.ts'
import { nullPointer } from '../errors.ts'
import { doubleText, floatText } from '../text.ts'
import { type Box, boxDouble, makeBox, type NumberKind, numberKind, plainNumber, unboxTo } from '../values.ts'
import { numberFormat } from './helpers.ts'

const to = (kind: NumberKind) => (self: unknown) => unboxTo(self, numberKind(self)!, kind)

defineClass('java.lang.Number', {
  methods: {
    'byte byteValue()': to('byte'),
    'short shortValue()': to('short'),
    'int intValue()': to('int'),
    'long longValue()': to('long'),
    'float floatValue()': to('float'),
    'double doubleValue()': to('double'),
  },
})

const order = (left: number | bigint, right: number | bigint): number => (left < right ? -1 : left > right ? 1 : 0)

/** Parses an integer as Java does: a sign and digits of the radix, and nothing else. */
export function parseInteger(text: string | null, radix: number, bits: number): bigint {
  if (text === null) throw numberFormat(null)
  const digits = /^[+-]?([0-9a-zA-Z]+)$/.exec(text)?.[1]
  if (digits === undefined || digits.length > 128) throw numberFormat(text)
  let value = 0n
  const base = BigInt(radix)
  for (const digit of digits) {
    const digitValue = Number.parseInt(digit, radix)
    if (Number.isNaN(digitValue)) throw numberFormat(text)
    value = value * base + BigInt(digitValue)
  }
  if (text.startsWith('-')) value = -value
  if (BigInt.asIntN(bits, value) !== value) throw numberFormat(text)
  return value
}

export function parseDouble(text: string | null): number {
  if (text === null) throw nullPointer('cannot parse null as a number')
  const trimmed = text.trim()
  if (/^[+-]?(?:NaN|Infinity)$/.test(trimmed)) return Number(trimmed)
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?$/.test(trimmed)) throw numberFormat(text)
  return Number(trimmed.replace(/[fFdD]$/, ''))
}

const small = (text: string | null, radix: number, bits: number): number => Number(parseInteger(text, radix, bits))
const unsigned = (value: number): bigint => BigInt.asUintN(32, BigInt(value))
const bitCount = (value: bigint): number => value.toString(2).replaceAll('0', '').length

/** Parses `0x1f`, `#1f`, `017` or decimal digits. */
function decode(text: string, bits: number): bigint {
  const match = /^([+-]?)(0[xX]|#|0(?=\d))?(.+)$/.exec(text)
  if (!match) throw numberFormat(text)
  const radix = match[2] === undefined ? 10 : match[2] === '0' ? 8 : 16
  return parseInteger(match[1]! + match[3]!, radix, bits)
}

defineClass('java.lang.Integer', {
  supers: ['java.lang.Number', 'java.lang.Comparable'],
  constants: { MAX_VALUE: ['int', 2147483647], MIN_VALUE: ['int', -2147483648], SIZE: ['int', 32], BYTES: ['int', 4] },
  methods: {
    'int compareTo(Integer)': order,
    'static int compare(int,int)': order,
    'static int compareUnsigned(int,int)': (left: number, right: number) => order(unsigned(left), unsigned(right)),
    'static int bitCount(int)': (value: number) => bitCount(unsigned(value)),
    'static Integer decode(String)': (text: string) => Number(decode(text, 32)),
    'static int divideUnsigned(int,int)': (left: number, right: number) =>
      Number(BigInt.asIntN(32, unsigned(left) / unsigned(right))),
    'static int hashCode(int)': (value: number) => value,
    'static int highestOneBit(int)': (value: number) => (value === 0 ? 0 : (1 << (31 - Math.clz32(value))) | 0),
    'static int lowestOneBit(int)': (value: number) => value & -value,
    'static int numberOfLeadingZeros(int)': (value: number) => Math.clz32(value),
    'static int numberOfTrailingZeros(int)': (value: number) => (value === 0 ? 32 : 31 - Math.clz32(value & -value)),
    'static int max(int,int)': (left: number, right: number) => Math.max(left, right),
    'static int min(int,int)': (left: number, right: number) => Math.min(left, right),
    'static int parseInt(String)': (text: string | null) => small(text, 10, 32),
    'static int parseInt(String,int)': (text: string | null, radix: number) => small(text, radix, 32),
    'static int parseUnsignedInt(String)': (text: string) => Number(BigInt.asIntN(32, parseInteger(text, 10, 33))),
    'static int reverse(int)': (value: number) =>
      Number.parseInt([...(value >>> 0).toString(2).padStart(32, '0')].reverse().join(''), 2) | 0,
    'static int rotateLeft(int,int)': (value: number, by: number) => (value << by) | (value >>> (32 - (by & 31))),
    'static int rotateRight(int,int)': (value: number, by: number) => (value >>> by) | (value << (32 - (by & 31))),
    'static int signum(int)': (value: number) => Math.sign(value),
    'static int sum(int,int)': (left: number, right: number) => (left + right) | 0,
    'static String toBinaryString(int)': (value: number) => (value >>> 0).toString(2),
    'static String toHexString(int)': (value: number) => (value >>> 0).toString(16),
    'static String toOctalString(int)': (value: number) => (value >>> 0).toString(8),
    'static String toString(int)': (value: number) => String(value),
    'static String toString(int,int)': (value: number, radix: number) => value.toString(radix),
    'static long toUnsignedLong(int)': unsigned,
    'static String toUnsignedString(int)': (value: number) => String(value >>> 0),
    'static Integer valueOf(int)': (value: number) => value,
    'static Integer valueOf(String,int)': (text: string, radix: number) => small(text, radix, 32),
  },
})

defineClass('java.lang.Long', {
  supers: ['java.lang.Number', 'java.lang.Comparable'],
  constants: {
    MAX_VALUE: ['long', 9223372036854775807n],
    MIN_VALUE: ['long', -9223372036854775808n],
    SIZE: ['int', 64],
    BYTES: ['int', 8],
  },
  methods: {
    'int compareTo(Long)': order,
    'static int compare(long,long)': order,
    'static int compareUnsigned(long,long)': (left: bigint, right: bigint) =>
      order(BigInt.asUintN(64, left), BigInt.asUintN(64, right)),
    'static int bitCount(long)': (value: bigint) => bitCount(BigInt.asUintN(64, value)),
    'static Long decode(String)': (text: string) => decode(text, 64),
    'static int hashCode(long)': (value: bigint) => hashOf(value),
    'static long highestOneBit(long)': (value: bigint) =>
      value === 0n ? 0n : BigInt.asIntN(64, 1n << BigInt(BigInt.asUintN(64, value).toString(2).length - 1)),
    'static long lowestOneBit(long)': (value: bigint) => value & -value,
    'static int numberOfLeadingZeros(long)': (value: bigint) =>
      value === 0n ? 64 : 64 - BigInt.asUintN(64, value).toString(2).length,
    'static int numberOfTrailingZeros(long)': (value: bigint) =>
      value === 0n ? 64 : (value & -value).toString(2).replace('-', '').length - 1,
    'static long max(long,long)': (left: bigint, right: bigint) => (left > right ? left : right),
    'static long min(long,long)': (left: bigint, right: bigint) => (left < right ? left : right),
    'static long parseLong(String)': (text: string | null) => parseInteger(text, 10, 64),
    'static long parseLong(String,int)': (text: string | null, radix: number) => parseInteger(text, radix, 64),
    'static long parseUnsignedLong(String)': (text: string) => BigInt.asIntN(64, parseInteger(text, 10, 65)),
    'static int signum(long)': (value: bigint) => order(value, 0n),
    'static long sum(long,long)': (left: bigint, right: bigint) => BigInt.asIntN(64, left + right),
    'static String toBinaryString(long)': (value: bigint) => BigInt.asUintN(64, value).toString(2),
    'static String toHexString(long)': (value: bigint) => BigInt.asUintN(64, value).toString(16),
    'static String toOctalString(long)': (value: bigint) => BigInt.asUintN(64, value).toString(8),
    'static String toString(long)': (value: bigint) => String(value),
    'static String toString(long,int)': (value: bigint, radix: number) => value.toString(radix),
    'static String toUnsignedString(long)': (value: bigint) => String(BigInt.asUintN(64, value)),
    'static Long valueOf(long)': (value: bigint) => value,
    'static Long valueOf(String,int)': (text: string, radix: number) => parseInteger(text, radix, 64),
  },
})

const difference = (left: Box, right: Box): number => left.value - right.value

for (const [kind, name, bits] of [
  ['byte', 'Byte', 8],
  ['short', 'Short', 16],
] as const)
  defineClass(`java.lang.${name}`, {
    supers: ['java.lang.Number', 'java.lang.Comparable'],
    constants: {
      MAX_VALUE: [kind, 2 ** (bits - 1) - 1],
      MIN_VALUE: [kind, -(2 ** (bits - 1))],
      SIZE: ['int', bits],
      BYTES: ['int', bits / 8],
    },
    methods: {
      [`int compareTo(${name})`]: difference,
      [`static int compare(${kind},${kind})`]: (left: number, right: number) => left - right,
      [`static ${name} decode(String)`]: (text: string) => makeBox(kind, Number(decode(text, bits))),
      [`static int hashCode(${kind})`]: (value: number) => value,
      [`static ${kind} parse${name}(String)`]: (text: string | null) => small(text, 10, bits),
      [`static ${kind} parse${name}(String,int)`]: (text: string | null, radix: number) => small(text, radix, bits),
      [`static String toString(${kind})`]: (value: number) => String(value),
      [`static int toUnsignedInt(${kind})`]: (value: number) => value & (2 ** bits - 1),
      [`static long toUnsignedLong(${kind})`]: (value: number) => BigInt(value & (2 ** bits - 1)),
      [`static ${name} valueOf(${kind})`]: (value: number) => makeBox(kind, value),
      [`static ${name} valueOf(String,int)`]: (text: string, radix: number) => makeBox(kind, small(text, radix, bits)),
    },
  })

for (const [kind, name] of [
  ['float', 'Float'],
  ['double', 'Double'],
] as const) {
  const round = kind === 'float' ? Math.fround : (value: number) => value
  const box = (value: number): unknown => (kind === 'float' ? makeBox('float', Math.fround(value)) : boxDouble(value))
  const text = kind === 'float' ? floatText : doubleText
  defineClass(`java.lang.${name}`, {
    supers: ['java.lang.Number', 'java.lang.Comparable'],
    constants: {
      MAX_VALUE: [kind, kind === 'float' ? 3.4028234663852886e38 : Number.MAX_VALUE],
      MIN_VALUE: [kind, kind === 'float' ? 1.401298464324817e-45 : Number.MIN_VALUE],
      MIN_NORMAL: [kind, kind === 'float' ? 1.1754943508222875e-38 : 2.2250738585072014e-308],
      NaN: [kind, Number.NaN],
      NEGATIVE_INFINITY: [kind, -Infinity],
      POSITIVE_INFINITY: [kind, Infinity],
      SIZE: ['int', kind === 'float' ? 32 : 64],
      BYTES: ['int', kind === 'float' ? 4 : 8],
    },
    methods: {
      [`int compareTo(${name})`]: (left: unknown, right: unknown) =>
        compareDoubles(plainNumber(left), plainNumber(right)),
      'boolean isInfinite()': (self: unknown) => Math.abs(plainNumber(self)) === Infinity,
      'boolean isNaN()': (self: unknown) => Number.isNaN(plainNumber(self)),
      [`static int compare(${kind},${kind})`]: compareDoubles,
      [`static int hashCode(${kind})`]: (value: number) => hashOf(box(value)),
      [`static boolean isFinite(${kind})`]: (value: number) => Number.isFinite(value),
      [`static boolean isInfinite(${kind})`]: (value: number) => Math.abs(value) === Infinity,
      [`static boolean isNaN(${kind})`]: (value: number) => Number.isNaN(value),
      [`static ${kind} max(${kind},${kind})`]: (left: number, right: number) => Math.max(left, right),
      [`static ${kind} min(${kind},${kind})`]: (left: number, right: number) => Math.min(left, right),
      [`static ${kind} sum(${kind},${kind})`]: (left: number, right: number) => round(left + right),
      [`static ${kind} parse${name}(String)`]: (value: string | null) => round(parseDouble(value)),
      [`static String toString(${kind})`]: text,
      [`static ${name} valueOf(${kind})`]: box,
    },
  })
}

defineClass('java.lang.Boolean', {
  supers: ['java.lang.Comparable'],
  constants: { TRUE: ['Boolean', true], FALSE: ['Boolean', false] },
  methods: {
    'boolean booleanValue()': (self: boolean) => self,
    'int compareTo(Boolean)': (self: boolean, other: boolean) => Number(self) - Number(other),
    'static int compare(boolean,boolean)': (left: boolean, right: boolean) => Number(left) - Number(right),
    'static int hashCode(boolean)': (value: boolean) => hashOf(value),
    'static boolean logicalAnd(boolean,boolean)': (left: boolean, right: boolean) => left && right,
    'static boolean logicalOr(boolean,boolean)': (left: boolean, right: boolean) => left || right,
    'static boolean logicalXor(boolean,boolean)': (left: boolean, right: boolean) => left !== right,
    'static boolean parseBoolean(String)': (text: string | null) => text?.toLowerCase() === 'true',
    'static String toString(boolean)': (value: boolean) => String(value),
    'static Boolean valueOf(boolean)': (value: boolean) => value,
  },
})
