import { type BigInteger, bigIntegerOf } from '../big-integer.ts'
import { defineClass } from '../define.ts'
import { illegalArgument, JavaThrow } from '../errors.ts'
import { allocate, steps } from '../meter.ts'
import type { JavaArray, JavaObject } from '../values.ts'
import {
  aligned,
  type BigDecimal,
  big,
  divide,
  divideExactly,
  divideRounded,
  divisor,
  type Mode,
  make,
  parse,
  power,
  roundingModes,
  setScale,
  whole,
} from './decimals.ts'

/* Implements MathContext, and less common methods of BigDecimal and BigInteger. */

interface MathContext extends JavaObject {
  precision: number
  mode: Mode
  text: () => string
  key: () => string
  equals: (other: unknown) => boolean
}

const modeNamed = (name: string): Mode => roundingModes.find((mode) => mode.name === name)!

function contextOf(precision: number, mode: Mode): MathContext {
  if (precision < 0) throw illegalArgument('Digits < 0')
  const text = () => `precision=${precision} roundingMode=${mode.name}`
  return {
    javaClass: 'java.math.MathContext',
    precision,
    mode,
    text,
    key: text,
    equals: (other) => (other as MathContext).text() === text(),
  }
}
const constant = (precision: number, mode: string): [string, unknown] => [
  'MathContext',
  contextOf(precision, modeNamed(mode)),
]

defineClass('java.math.MathContext', {
  constants: {
    DECIMAL32: constant(7, 'HALF_EVEN'),
    DECIMAL64: constant(16, 'HALF_EVEN'),
    DECIMAL128: constant(34, 'HALF_EVEN'),
    UNLIMITED: constant(0, 'HALF_UP'),
  },
  constructors: {
    '(int)': (precision: number) => contextOf(precision, modeNamed('HALF_UP')),
    '(int,RoundingMode)': contextOf,
  },
  methods: {
    'int getPrecision()': ({ precision }: MathContext) => precision,
    'RoundingMode getRoundingMode()': ({ mode }: MathContext) => mode,
  },
})

const digitsIn = (value: bigint): number => String(value < 0n ? -value : value).length

/** Rounds a number to the precision of a context. If rounding up adds a digit (999 becomes 1000), the loop rounds again. */
function round(self: BigDecimal, { precision, mode }: MathContext): BigDecimal {
  let rounded = self
  while (precision > 0 && digitsIn(rounded.unscaled) > precision) {
    const drop = digitsIn(rounded.unscaled) - precision
    rounded = make(divideRounded(rounded.unscaled, power(drop), mode.name), rounded.scale - drop)
  }
  return rounded
}

function divideIn(self: BigDecimal, other: BigDecimal, context: MathContext): BigDecimal {
  if (context.precision === 0) return divideExactly(self, other)
  const extra = context.precision + digitsIn(other.unscaled) - digitsIn(self.unscaled) + 3
  const preferred = self.scale - other.scale
  // The quotient gets more digits than the precision, and these decide the rounding. If there is a remainder, a digit 1 is appended, so
  // that a quotient slightly above a half is not rounded as exactly a half.
  const scale = Math.max(preferred + extra, preferred, 0)
  const exact = divide(self, other, scale, 'DOWN')
  const [product, value] = aligned(make(exact.unscaled * other.unscaled, exact.scale + other.scale), self)
  const isExact = product === value
  const sign = self.unscaled < 0n !== other.unscaled < 0n ? -1n : 1n
  const marked = isExact ? exact : make(exact.unscaled * 10n + sign, exact.scale + 1)
  let rounded = round(marked, context)
  while (isExact && rounded.scale > preferred && rounded.unscaled % 10n === 0n)
    rounded = make(rounded.unscaled / 10n, rounded.scale - 1)
  return rounded
}

const add = (left: BigDecimal, right: BigDecimal, sign: bigint): BigDecimal => {
  const [one, two, scale] = aligned(left, right)
  return make(one + sign * two, scale)
}

/** Returns the whole quotient, with the scale that Java prefers for these operands. */
function integralQuotient(self: BigDecimal, other: BigDecimal): BigDecimal {
  const [one, two] = aligned(self, other)
  if (two === 0n) throw new JavaThrow('java.lang.ArithmeticException', 'Division by zero')
  const preferred = Math.max(0, self.scale - other.scale)
  return setScale(make(one / two, 0), preferred, 'UNNECESSARY')
}
const remainder = (self: BigDecimal, other: BigDecimal): BigDecimal => {
  const quotient = integralQuotient(self, other)
  return add(self, make(quotient.unscaled * other.unscaled, quotient.scale + other.scale), -1n)
}

function exactly(value: bigint, bits: number, type: string): bigint {
  if (BigInt.asIntN(bits, value) !== value)
    throw new JavaThrow('java.lang.ArithmeticException', `${type} out of ${type} range`)
  return value
}
const wholeExactly = (self: BigDecimal): bigint => setScale(self, 0, 'UNNECESSARY').unscaled
const pair = (javaClass: string, one: unknown, two: unknown): JavaArray => ({
  elementType: javaClass,
  items: [one, two],
})

defineClass('java.math.BigDecimal', {
  constructors: { '(String,MathContext)': (text: string, context: MathContext) => round(parse(text), context) },
  methods: {
    'BigDecimal abs(MathContext)': (self: BigDecimal, context: MathContext) =>
      round(make(self.unscaled < 0n ? -self.unscaled : self.unscaled, self.scale), context),
    'BigDecimal add(BigDecimal,MathContext)': (self: BigDecimal, other: BigDecimal, context: MathContext) =>
      round(add(self, other, 1n), context),
    'BigDecimal subtract(BigDecimal,MathContext)': (self: BigDecimal, other: BigDecimal, context: MathContext) =>
      round(add(self, other, -1n), context),
    'BigDecimal multiply(BigDecimal,MathContext)': (self: BigDecimal, other: BigDecimal, context: MathContext) =>
      round(make(self.unscaled * other.unscaled, self.scale + other.scale), context),
    'BigDecimal divide(BigDecimal,def)': (self: BigDecimal, other: BigDecimal, how: unknown) =>
      'precision' in (how as object)
        ? divideIn(self, other, how as MathContext)
        : divide(self, other, self.scale, (how as Mode).name),
    'BigDecimal divideToIntegralValue(BigDecimal)': integralQuotient,
    'BigDecimal[] divideAndRemainder(BigDecimal)': (self: BigDecimal, other: BigDecimal) =>
      pair('java.math.BigDecimal', integralQuotient(self, other), remainder(self, other)),
    'BigDecimal remainder(BigDecimal)': remainder,
    'BigDecimal remainder(BigDecimal,MathContext)': (self: BigDecimal, other: BigDecimal, context: MathContext) =>
      round(remainder(self, other), context),
    'BigDecimal negate(MathContext)': (self: BigDecimal, context: MathContext) =>
      round(make(-self.unscaled, self.scale), context),
    'BigDecimal plus()': (self: BigDecimal) => self,
    'BigDecimal plus(MathContext)': round,
    'BigDecimal round(MathContext)': round,
    'BigDecimal movePointLeft(int)': (self: BigDecimal, by: number) => moved(self, by),
    'BigDecimal movePointRight(int)': (self: BigDecimal, by: number) => moved(self, -by),
    'BigDecimal scaleByPowerOfTen(int)': (self: BigDecimal, by: number) => make(self.unscaled, self.scale - by),
    'BigDecimal ulp()': (self: BigDecimal) => make(1n, self.scale),
    'BigInteger unscaledValue()': (self: BigDecimal) => bigIntegerOf(self.unscaled),
    'BigInteger toBigIntegerExact()': (self: BigDecimal) => bigIntegerOf(wholeExactly(self)),
    'byte byteValueExact()': (self: BigDecimal) => Number(exactly(wholeExactly(self), 8, 'Byte')),
    'short shortValueExact()': (self: BigDecimal) => Number(exactly(wholeExactly(self), 16, 'Short')),
    'int intValueExact()': (self: BigDecimal) => Number(exactly(wholeExactly(self), 32, 'Int')),
    'long longValueExact()': (self: BigDecimal) => exactly(wholeExactly(self), 64, 'Long'),
    'short shortValue()': (self: BigDecimal) => Number(BigInt.asIntN(16, whole(self))),
    'byte byteValue()': (self: BigDecimal) => Number(BigInt.asIntN(8, whole(self))),
  },
})

function moved(self: BigDecimal, by: number): BigDecimal {
  const scale = self.scale + by
  return scale < 0 ? setScale(make(self.unscaled, scale), 0, 'UNNECESSARY') : make(self.unscaled, scale)
}

const size = (value: bigint): bigint => (value < 0n ? -value : value)
/** Returns the number of steps that one operation on numbers of this size counts. */
const workOf = (value: bigint): number => 1 + (value.toString(16).length >> 4)

function greatest(left: bigint, right: bigint): bigint {
  let [one, two] = [size(left), size(right)]
  while (two !== 0n) {
    steps(workOf(two))
    ;[one, two] = [two, one % two]
  }
  return one
}
const modulo = (value: bigint, by: bigint): bigint => ((value % by) + by) % by
const modulusOf = ({ big: value }: BigInteger): bigint => {
  if (value <= 0n) throw new JavaThrow('java.lang.ArithmeticException', 'BigInteger: modulus not positive')
  return value
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [old, rest, oldFactor, factor] = [modulo(value, modulus), modulus, 1n, 0n]
  while (rest !== 0n) {
    steps(workOf(rest))
    const quotient = old / rest
    ;[old, rest] = [rest, old - quotient * rest]
    ;[oldFactor, factor] = [factor, oldFactor - quotient * factor]
  }
  if (old !== 1n) throw new JavaThrow('java.lang.ArithmeticException', 'BigInteger not invertible.')
  return modulo(oldFactor, modulus)
}

function powerModulo(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, factor, left] = [1n % modulus, modulo(base, modulus), exponent]
  const work = workOf(modulus)
  for (; left > 0n; left >>= 1n) {
    allocate(256)
    steps(work)
    if (left & 1n) result = (result * factor) % modulus
    factor = (factor * factor) % modulus
  }
  return result
}

const bitLength = (value: bigint): number => (value < 0n ? ~value : value).toString(2).replace(/^0$/, '').length
const bitAt = (index: number): bigint => {
  if (index < 0) throw new JavaThrow('java.lang.ArithmeticException', 'Negative bit address')
  return 1n << BigInt(Math.min(index, 10_000))
}

/** Returns the bytes in two's complement, highest byte first. */
function bytesOf(value: bigint): JavaArray {
  const length = Math.floor(bitLength(value) / 8) + 1
  const items = Array.from({ length }, (_, at) => Number(BigInt.asIntN(8, value >> BigInt((length - 1 - at) * 8))))
  return { elementType: 'byte', items }
}

const lowestBit = (value: bigint): number => (value === 0n ? -1 : (value & -value).toString(2).length - 1)

defineClass('java.math.BigInteger', {
  methods: {
    'BigInteger andNot(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big & ~other.big),
    'int bitCount()': ({ big: value }: BigInteger) =>
      (value < 0n ? ~value : value).toString(2).replaceAll('0', '').length,
    'int bitLength()': ({ big: value }: BigInteger) => bitLength(value),
    'BigInteger clearBit(int)': (self: BigInteger, index: number) => big(self.big & ~bitAt(index)),
    'BigInteger flipBit(int)': (self: BigInteger, index: number) => big(self.big ^ bitAt(index)),
    'BigInteger setBit(int)': (self: BigInteger, index: number) => big(self.big | bitAt(index)),
    'boolean testBit(int)': (self: BigInteger, index: number) => (self.big & bitAt(index)) !== 0n,
    'BigInteger[] divideAndRemainder(BigInteger)': (self: BigInteger, other: BigInteger) =>
      pair('java.math.BigInteger', big(self.big / divisor(other)), big(self.big % other.big)),
    'BigInteger gcd(BigInteger)': (self: BigInteger, other: BigInteger) => big(greatest(self.big, other.big)),
    'int getLowestSetBit()': ({ big: value }: BigInteger) => lowestBit(value),
    'BigInteger max(BigInteger)': (self: BigInteger, other: BigInteger) => (self.big >= other.big ? self : other),
    'BigInteger min(BigInteger)': (self: BigInteger, other: BigInteger) => (self.big <= other.big ? self : other),
    'BigInteger modInverse(BigInteger)': (self: BigInteger, other: BigInteger) =>
      big(inverse(self.big, modulusOf(other))),
    'BigInteger modPow(BigInteger,BigInteger)': (self: BigInteger, exponent: BigInteger, other: BigInteger) => {
      const modulus = modulusOf(other)
      const base = exponent.big < 0n ? inverse(self.big, modulus) : self.big
      return big(powerModulo(base, size(exponent.big), modulus))
    },
    'BigInteger not()': (self: BigInteger) => big(~self.big),
    'BigInteger remainder(BigInteger)': (self: BigInteger, other: BigInteger) => big(self.big % divisor(other)),
    'byte[] toByteArray()': ({ big: value }: BigInteger) => bytesOf(value),
    'byte byteValueExact()': ({ big: value }: BigInteger) => Number(exactly(value, 8, 'BigInteger')),
    'short shortValueExact()': ({ big: value }: BigInteger) => Number(exactly(value, 16, 'BigInteger')),
    'int intValueExact()': ({ big: value }: BigInteger) => Number(exactly(value, 32, 'BigInteger')),
    'long longValueExact()': ({ big: value }: BigInteger) => exactly(value, 64, 'BigInteger'),
  },
})
