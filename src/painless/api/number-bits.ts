import { defineClass } from '../define.ts'
import { hashOf } from '../equality.ts'
import { JavaThrow, nullPointer } from '../errors.ts'
import { steps } from '../meter.ts'
import { isJavaArray, type JavaArray } from '../values.ts'
import { parseInteger } from './numbers.ts'

/* Implements bits of numbers, unsigned arithmetic, and copies between arrays. */

const view = new DataView(new ArrayBuffer(8))
const nanBits = 0x7ff8000000000000n

function doubleBits(value: number): bigint {
  if (Number.isNaN(value)) return nanBits
  view.setFloat64(0, value)
  return view.getBigInt64(0)
}
function floatBits(value: number): number {
  if (Number.isNaN(value)) return 0x7fc00000
  view.setFloat32(0, value)
  return view.getInt32(0)
}

/** Prints `0x1.8p1`: the mantissa in hexadecimal digits and the exponent of two. */
function hexText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'
  const bits = BigInt.asUintN(64, doubleBits(value))
  const sign = bits >> 63n ? '-' : ''
  const exponent = Number((bits >> 52n) & 0x7ffn)
  const mantissa = bits & 0xfffffffffffffn
  const digits = mantissa.toString(16).padStart(13, '0').replace(/0+$/, '') || '0'
  if (exponent === 0) return mantissa === 0n ? `${sign}0x0.0p0` : `${sign}0x0.${digits}p-1022`
  return `${sign}0x1.${digits}p${exponent - 1023}`
}

defineClass('java.lang.Double', {
  constants: { MAX_EXPONENT: ['int', 1023], MIN_EXPONENT: ['int', -1022] },
  methods: {
    'static long doubleToLongBits(double)': doubleBits,
    'static long doubleToRawLongBits(double)': doubleBits,
    'static double longBitsToDouble(long)': (bits: bigint) => {
      view.setBigInt64(0, bits)
      return view.getFloat64(0)
    },
    'static String toHexString(double)': hexText,
  },
})
defineClass('java.lang.Float', {
  constants: { MAX_EXPONENT: ['int', 127], MIN_EXPONENT: ['int', -126] },
  methods: {
    'static int floatToIntBits(float)': floatBits,
    'static int floatToRawIntBits(float)': floatBits,
    'static float intBitsToFloat(int)': (bits: number) => {
      view.setInt32(0, bits)
      return view.getFloat32(0)
    },
    'static String toHexString(float)': hexText,
  },
})

const unsigned = (value: bigint, bits = 64): bigint => BigInt.asUintN(bits, value)
const signed = (value: bigint, bits = 64): bigint => BigInt.asIntN(bits, value)
const divisor = (value: bigint): bigint => {
  if (value === 0n) throw new JavaThrow('java.lang.ArithmeticException', '/ by zero')
  return value
}
const reversedBits = (value: bigint): bigint =>
  signed(BigInt(`0b${[...unsigned(value).toString(2).padStart(64, '0')].reverse().join('')}`))
const reversedBytes = (value: bigint, bytes: number): bigint => {
  const pairs = unsigned(value, bytes * 8)
    .toString(16)
    .padStart(bytes * 2, '0')
    .match(/../g)!
  return signed(BigInt(`0x${pairs.reverse().join('')}`), bytes * 8)
}
const rotated = (value: bigint, by: number): bigint => {
  const left = BigInt(by & 63)
  return signed((unsigned(value) << left) | (unsigned(value) >> (64n - left)))
}

defineClass('java.lang.Integer', {
  methods: {
    'static int parseUnsignedInt(String,int)': (text: string, radix: number) =>
      Number(signed(parseInteger(text, radix, 33), 32)),
    'static int remainderUnsigned(int,int)': (left: number, right: number) =>
      Number(signed(unsigned(BigInt(left), 32) % divisor(unsigned(BigInt(right), 32)), 32)),
    'static int reverseBytes(int)': (value: number) => Number(reversedBytes(BigInt(value), 4)),
    'static String toUnsignedString(int,int)': (value: number, radix: number) => (value >>> 0).toString(radix),
  },
})
defineClass('java.lang.Long', {
  methods: {
    'static long divideUnsigned(long,long)': (left: bigint, right: bigint) =>
      signed(unsigned(left) / divisor(unsigned(right))),
    'static long parseUnsignedLong(String,int)': (text: string, radix: number) => signed(parseInteger(text, radix, 65)),
    'static long remainderUnsigned(long,long)': (left: bigint, right: bigint) =>
      signed(unsigned(left) % divisor(unsigned(right))),
    'static long reverse(long)': reversedBits,
    'static long reverseBytes(long)': (value: bigint) => reversedBytes(value, 8),
    'static long rotateLeft(long,int)': rotated,
    'static long rotateRight(long,int)': (value: bigint, by: number) => rotated(value, -by),
    'static String toUnsignedString(long,int)': (value: bigint, radix: number) => unsigned(value).toString(radix),
  },
})
defineClass('java.lang.Short', {
  methods: {
    'static short reverseBytes(short)': (value: number) => Number(reversedBytes(BigInt(value), 2)),
  },
})

/** Copies elements as Java does, even within one array. */
function copyArray(from: unknown, start: number, to: unknown, at: number, count: number): void {
  if (from === null || to === null) throw nullPointer('the array is null')
  if (!isJavaArray(from) || !isJavaArray(to) || from.elementType !== to.elementType)
    throw new JavaThrow('java.lang.ArrayStoreException', 'arraycopy: both must be arrays of the same type')
  const isInside =
    start >= 0 && at >= 0 && count >= 0 && start + count <= from.items.length && at + count <= to.items.length
  if (!isInside)
    throw new JavaThrow('java.lang.ArrayIndexOutOfBoundsException', `arraycopy: ${count} elements do not fit`)
  steps(1 + (count >> 3))
  const items = from.items.slice(start, start + count)
  for (const [index, item] of items.entries()) to.items[at + index] = item
}
defineClass('java.lang.System', {
  methods: { 'static void arraycopy(Object,int,Object,int,int)': copyArray },
})

const hashOfItems = (array: unknown): number =>
  array === null ? 0 : hashOf(isJavaArray(array) ? (array as JavaArray).items : array)
defineClass('java.util.Objects', { methods: { 'static int hash(Object)': hashOfItems } })
defineClass('java.util.Arrays', { methods: { 'static int deepHashCode(Object)': hashOfItems } })
