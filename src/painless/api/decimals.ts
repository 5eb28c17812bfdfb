import { type BigInteger, bigIntegerOf } from '../big-integer.ts'
import { defineClass } from '../define.ts'
import { illegalArgument, JavaThrow } from '../errors.ts'
import { allocate } from '../meter.ts'
import { doubleText, textOf } from '../text.ts'
import { type JavaObject, toLong } from '../values.ts'
import { numberFormat } from './helpers.ts'

/** A BigDecimal. Its value is `unscaled` divided by ten to the power of `scale`. */
export interface BigDecimal extends JavaObject {
  unscaled: bigint
  scale: number
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}

/** Maximum number of digits. An operation on more digits would take too long. */
const digitsMax = 2000

export const power = (exponent: number): bigint => {
  if (exponent > digitsMax) throw new JavaThrow('java.lang.ArithmeticException', `More than ${digitsMax} digits.`)
  return 10n ** BigInt(exponent)
}

export function make(unscaled: bigint, scale: number): BigDecimal {
  if (Math.abs(scale) > digitsMax) throw new JavaThrow('java.lang.ArithmeticException', 'The scale is out of range.')
  const bits = unscaled.toString(16).length * 4
  if (bits > digitsMax * 4) throw new JavaThrow('java.lang.ArithmeticException', `More than ${digitsMax} digits.`)
  allocate(64 + bits / 8)
  const self: BigDecimal = {
    javaClass: 'java.math.BigDecimal',
    unscaled,
    scale,
    text: () => plainText(self),
    equals: (other) => (other as BigDecimal).unscaled === unscaled && (other as BigDecimal).scale === scale,
    compareTo: (other) => compare(self, other as BigDecimal),
    key: () => `${unscaled}e${scale}`,
  }
  return self
}

function plainText({ unscaled, scale }: BigDecimal): string {
  if (scale <= 0) return String(unscaled * power(-scale))
  const sign = unscaled < 0n ? '-' : ''
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

export function parse(text: string): BigDecimal {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5}))?$/.exec(text)
  const digits = (match?.[2] ?? '') + (match?.[3] ?? '')
  if (!match || digits === '' || digits.length > digitsMax) throw numberFormat(text)
  return make(BigInt(match[1] === '-' ? `-${digits}` : digits), (match[3]?.length ?? 0) - Number(match[4] ?? 0))
}

export const aligned = (left: BigDecimal, right: BigDecimal): [bigint, bigint, number] => {
  const scale = Math.max(left.scale, right.scale)
  return [left.unscaled * power(scale - left.scale), right.unscaled * power(scale - right.scale), scale]
}
export const compare = (left: BigDecimal, right: BigDecimal): number => {
  const [one, two] = aligned(left, right)
  return one < two ? -1 : one > two ? 1 : 0
}

export interface Mode extends JavaObject {
  name: string
  text: () => string
}

/** Divides and rounds. The variable `twice` is positive if the remainder is more than half of the divisor, and 0 if it is half. */
export function divideRounded(value: bigint, by: bigint, mode: string): bigint {
  if (by === 0n) throw new JavaThrow('java.lang.ArithmeticException', '/ by zero')
  const quotient = value / by
  const rest = value % by
  if (rest === 0n) return quotient
  const sign = value < 0n !== by < 0n ? -1n : 1n
  const size = (number: bigint) => (number < 0n ? -number : number)
  const twice = size(rest) * 2n - size(by)
  const away = quotient + sign
  switch (mode) {
    case 'UP':
      return away
    case 'DOWN':
      return quotient
    case 'CEILING':
      return sign > 0n ? away : quotient
    case 'FLOOR':
      return sign < 0n ? away : quotient
    case 'HALF_UP':
      return twice >= 0n ? away : quotient
    case 'HALF_DOWN':
      return twice > 0n ? away : quotient
    case 'HALF_EVEN':
      return twice > 0n || (twice === 0n && quotient % 2n !== 0n) ? away : quotient
    default:
      throw new JavaThrow('java.lang.ArithmeticException', 'Rounding necessary')
  }
}

export function setScale(self: BigDecimal, scale: number, mode: string): BigDecimal {
  if (scale >= self.scale) return make(self.unscaled * power(scale - self.scale), scale)
  return make(divideRounded(self.unscaled, power(self.scale - scale), mode), scale)
}

export function divide(left: BigDecimal, right: BigDecimal, scale: number, mode: string): BigDecimal {
  const shift = scale + right.scale - left.scale
  const top = shift >= 0 ? left.unscaled * power(shift) : left.unscaled
  const bottom = shift >= 0 ? right.unscaled : right.unscaled * power(-shift)
  return make(divideRounded(top, bottom, mode), scale)
}

export function stripZeros(self: BigDecimal): BigDecimal {
  let { unscaled, scale } = self
  if (unscaled === 0n) return make(0n, 0)
  while (unscaled % 10n === 0n && scale > -digitsMax) {
    unscaled /= 10n
    scale--
  }
  return make(unscaled, scale)
}

/** Returns an exact quotient. As in Java, a quotient with infinitely many digits is an error. */
export function divideExactly(left: BigDecimal, right: BigDecimal): BigDecimal {
  const wide = divide(left, right, 200, 'DOWN')
  const [product, value] = aligned(make(wide.unscaled * right.unscaled, wide.scale + right.scale), left)
  if (product !== value)
    throw new JavaThrow(
      'java.lang.ArithmeticException',
      'Non-terminating decimal expansion; no exact representable decimal result.',
    )
  const short = stripZeros(wide)
  const preferred = left.scale - right.scale
  return short.scale < preferred ? setScale(short, preferred, 'UNNECESSARY') : short
}

const modes = ['UP', 'DOWN', 'CEILING', 'FLOOR', 'HALF_UP', 'HALF_DOWN', 'HALF_EVEN', 'UNNECESSARY']
export const roundingModes: Mode[] = modes.map((name) => ({
  javaClass: 'java.math.RoundingMode',
  name,
  text: () => name,
}))
defineClass('java.math.RoundingMode', {
  constants: Object.fromEntries(roundingModes.map((mode) => [mode.name, ['RoundingMode', mode]])),
  methods: {
    'String name()': ({ name }: Mode) => name,
    'int ordinal()': ({ name }: Mode) => modes.indexOf(name),
    'static RoundingMode valueOf(String)': (name: string) => {
      const found = roundingModes.find((mode) => mode.name === name)
      if (!found) throw illegalArgument(`No enum constant java.math.RoundingMode.${name}`)
      return found
    },
    'static RoundingMode[] values()': () => ({ elementType: 'java.math.RoundingMode', items: [...roundingModes] }),
  },
})

const toDouble = (self: BigDecimal): number => Number(plainText(self))
export const whole = (self: BigDecimal): bigint => setScale(self, 0, 'DOWN').unscaled
const fromDouble = (value: number): BigDecimal => {
  if (!Number.isFinite(value)) throw numberFormat(doubleText(value))
  return parse(doubleText(value))
}
const decimal = (name: string, value: bigint): [string, [string, unknown]] => [name, ['BigDecimal', make(value, 0)]]

defineClass('java.math.BigDecimal', {
  supers: ['java.lang.Number', 'java.lang.Comparable'],
  constants: Object.fromEntries([decimal('ZERO', 0n), decimal('ONE', 1n), decimal('TEN', 10n)]),
  constructors: {
    '(def)': (value: unknown) => (typeof value === 'string' ? parse(value) : parse(textOf(value))),
  },
  methods: {
    'BigDecimal abs()': (self: BigDecimal) => make(self.unscaled < 0n ? -self.unscaled : self.unscaled, self.scale),
    'BigDecimal add(BigDecimal)': (self: BigDecimal, other: BigDecimal) => {
      const [one, two, scale] = aligned(self, other)
      return make(one + two, scale)
    },
    'BigDecimal subtract(BigDecimal)': (self: BigDecimal, other: BigDecimal) => {
      const [one, two, scale] = aligned(self, other)
      return make(one - two, scale)
    },
    'BigDecimal multiply(BigDecimal)': (self: BigDecimal, other: BigDecimal) =>
      make(self.unscaled * other.unscaled, self.scale + other.scale),
    'BigDecimal divide(BigDecimal)': divideExactly,
    'BigDecimal divide(BigDecimal,RoundingMode)': (self: BigDecimal, other: BigDecimal, mode: Mode) =>
      divide(self, other, self.scale, mode.name),
    'BigDecimal divide(BigDecimal,int,RoundingMode)': (
      self: BigDecimal,
      other: BigDecimal,
      scale: number,
      mode: Mode,
    ) => divide(self, other, scale, mode.name),
    'BigDecimal max(BigDecimal)': (self: BigDecimal, other: BigDecimal) => (compare(self, other) >= 0 ? self : other),
    'BigDecimal min(BigDecimal)': (self: BigDecimal, other: BigDecimal) => (compare(self, other) <= 0 ? self : other),
    'BigDecimal negate()': (self: BigDecimal) => make(-self.unscaled, self.scale),
    'BigDecimal pow(int)': (self: BigDecimal, exponent: number) => {
      if (exponent < 0 || exponent > 999) throw new JavaThrow('java.lang.ArithmeticException', 'Invalid operation')
      return make(self.unscaled ** BigInt(checkedPower(self.unscaled, exponent)), self.scale * exponent)
    },
    'int precision()': (self: BigDecimal) => String(self.unscaled).replace('-', '').length,
    'int scale()': (self: BigDecimal) => self.scale,
    'BigDecimal setScale(int)': (self: BigDecimal, scale: number) => setScale(self, scale, 'UNNECESSARY'),
    'BigDecimal setScale(int,RoundingMode)': (self: BigDecimal, scale: number, mode: Mode) =>
      setScale(self, scale, mode.name),
    'int signum()': (self: BigDecimal) => (self.unscaled < 0n ? -1 : self.unscaled > 0n ? 1 : 0),
    'BigDecimal stripTrailingZeros()': stripZeros,
    'String toPlainString()': plainText,
    'double doubleValue()': toDouble,
    'float floatValue()': (self: BigDecimal) => Math.fround(toDouble(self)),
    'int intValue()': (self: BigDecimal) => Number(BigInt.asIntN(32, whole(self))),
    'long longValue()': (self: BigDecimal) => BigInt.asIntN(64, whole(self)),
    'BigInteger toBigInteger()': (self: BigDecimal) => bigIntegerOf(whole(self)),
    'static BigDecimal valueOf(def)': (value: unknown) =>
      typeof value === 'bigint' || (typeof value === 'number' && (value | 0) === value)
        ? make(BigInt(value), 0)
        : fromDouble(Number(textOf(value))),
    'static BigDecimal valueOf(long,int)': make,
  },
})

function checkedPower(base: bigint, exponent: number): number {
  if (base.toString(16).length * exponent > digitsMax)
    throw new JavaThrow('java.lang.ArithmeticException', `More than ${digitsMax} digits.`)
  return exponent
}

export const big = (value: bigint): BigInteger => {
  if (value.toString(16).length > digitsMax)
    throw new JavaThrow('java.lang.ArithmeticException', `More than ${digitsMax} digits.`)
  allocate(64)
  return bigIntegerOf(value)
}
export const divisor = (other: BigInteger): bigint => {
  if (other.big === 0n) throw new JavaThrow('java.lang.ArithmeticException', 'BigInteger divide by zero')
  return other.big
}
const constant = (value: bigint): [string, unknown] => ['BigInteger', bigIntegerOf(value)]

defineClass('java.math.BigInteger', {
  supers: ['java.lang.Number', 'java.lang.Comparable'],
  constants: { ZERO: constant(0n), ONE: constant(1n), TEN: constant(10n) },
  constructors: {
    '(String)': (text: string) => big(parseBig(text, 10)),
    '(String,int)': (text: string, radix: number) => big(parseBig(text, radix)),
  },
  methods: {
    'BigInteger abs()': (self: BigInteger) => big(self.big < 0n ? -self.big : self.big),
    'BigInteger add(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big + other.big),
    'BigInteger and(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big & other.big),
    'BigInteger divide(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big / divisor(other)),
    'BigInteger mod(BigInteger)': (self: BigInteger, other: BigInteger) =>
      big(((self.big % divisor(other)) + other.big) % other.big),
    'BigInteger multiply(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big * other.big),
    'BigInteger negate()': (self: BigInteger) => big(-self.big),
    'BigInteger or(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big | other.big),
    'BigInteger pow(int)': (self: BigInteger, exponent: number) => {
      if (exponent < 0) throw new JavaThrow('java.lang.ArithmeticException', 'Negative exponent')
      return big(self.big ** BigInt(checkedPower(self.big, exponent)))
    },
    'BigInteger shiftLeft(int)': (self: BigInteger, by: number) => big(self.big << BigInt(Math.min(by, digitsMax * 4))),
    'BigInteger shiftRight(int)': (self: BigInteger, by: number) => big(self.big >> BigInt(by)),
    'int signum()': (self: BigInteger) => (self.big < 0n ? -1 : self.big > 0n ? 1 : 0),
    'BigInteger subtract(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big - other.big),
    'BigInteger xor(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big ^ other.big),
    'String toString(int)': (self: BigInteger, radix: number) => self.big.toString(radix),
    'double doubleValue()': (self: BigInteger) => Number(self.big),
    'float floatValue()': (self: BigInteger) => Math.fround(Number(self.big)),
    'int intValue()': (self: BigInteger) => Number(BigInt.asIntN(32, self.big)),
    'long longValue()': (self: BigInteger) => BigInt.asIntN(64, self.big),
    'static BigInteger valueOf(long)': (value: bigint) => big(toLong(value)),
  },
})

function parseBig(text: string, radix: number): bigint {
  if (text === null || text.length > digitsMax || !/^[+-]?[0-9a-zA-Z]+$/.test(text)) throw numberFormat(text)
  if (radix < 2 || radix > 36) throw illegalArgument(`Illegal radix ${radix}`)
  let value = 0n
  for (const digit of text.replace(/^[+-]/, '')) {
    const digitValue = Number.parseInt(digit, radix)
    if (Number.isNaN(digitValue)) throw numberFormat(text)
    value = value * BigInt(radix) + BigInt(digitValue)
  }
  return text.startsWith('-') ? -value : value
}
