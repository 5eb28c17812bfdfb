import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'
import { toLong } from '../values.ts'

const exact = (value: number): number => {
  if ((value | 0) !== value) throw new JavaThrow('java.lang.ArithmeticException', 'integer overflow')
  return value
}
const exactLong = (value: bigint): bigint => {
  if (BigInt.asIntN(64, value) !== value) throw new JavaThrow('java.lang.ArithmeticException', 'long overflow')
  return value
}
const nonZero = (value: bigint): bigint => {
  if (value === 0n) throw new JavaThrow('java.lang.ArithmeticException', '/ by zero')
  return value
}
const floorMod = (left: bigint, right: bigint): bigint => ((left % nonZero(right)) + right) % right

const scale = (value: number, power: number): number => value * 2 ** power

/** Rounds half to even. */
function rint(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  if (rest < 0.5) return floor
  if (rest > 0.5) return floor + 1
  return floor % 2 === 0 ? floor : floor + 1
}

const neighbours = new DataView(new ArrayBuffer(8))
function nextUp(value: number): number {
  if (Number.isNaN(value) || value === Infinity) return value
  if (value === 0) return Number.MIN_VALUE
  neighbours.setFloat64(0, value)
  neighbours.setBigInt64(0, neighbours.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return neighbours.getFloat64(0)
}

const one: Record<string, (value: number) => number> = {
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  cbrt: Math.cbrt,
  ceil: Math.ceil,
  cos: Math.cos,
  cosh: Math.cosh,
  exp: Math.exp,
  expm1: Math.expm1,
  floor: Math.floor,
  log: Math.log,
  log10: Math.log10,
  log1p: Math.log1p,
  nextUp,
  nextDown: (value) => -nextUp(-value),
  rint,
  signum: Math.sign,
  sin: Math.sin,
  sinh: Math.sinh,
  sqrt: Math.sqrt,
  tan: Math.tan,
  tanh: Math.tanh,
  toDegrees: (value) => (value * 180) / Math.PI,
  toRadians: (value) => (value / 180) * Math.PI,
  ulp: (value) => nextUp(Math.abs(value)) - Math.abs(value),
}
const two: Record<string, (left: number, right: number) => number> = {
  atan2: Math.atan2,
  hypot: Math.hypot,
  IEEEremainder: (left, right) => left - right * rint(left / right),
  copySign: (left, right) => (Object.is(Math.sign(right), -0) || right < 0 ? -Math.abs(left) : Math.abs(left)),
  max: Math.max,
  min: Math.min,
  pow: (left, right) => (Math.abs(left) === 1 && Math.abs(right) === Infinity ? Number.NaN : left ** right),
  nextAfter: (left, right) => (left === right ? right : left < right ? nextUp(left) : -nextUp(-left)),
}

/** Rounds half up to a long. NaN becomes 0, and a value outside of the range of long becomes the nearest long. */
const round = (value: number): bigint => toLong(Math.floor(value + 0.5))

const methods: Record<string, (...args: never[]) => unknown> = {
  'static double abs(double)': Math.abs,
  'static long round(double)': round,
  'static double random()': Math.random,
  'static double scalb(double,int)': scale,
  'static int getExponent(double)': (value: number) => Math.floor(Math.log2(Math.abs(value))),
  'static int addExact(int,int)': (left: number, right: number) => exact(left + right),
  'static int subtractExact(int,int)': (left: number, right: number) => exact(left - right),
  'static long multiplyExact(long,long)': (left: bigint, right: bigint) => exactLong(left * right),
  'static int toIntExact(long)': (value: bigint) => exact(Number(value)),
  'static long floorDiv(long,long)': (left: bigint, right: bigint) => (left - floorMod(left, right)) / right,
  'static long floorMod(long,long)': floorMod,
  'static int negateExact(int)': (value: number) => exact(-value),
  'static int incrementExact(int)': (value: number) => exact(value + 1),
  'static int decrementExact(int)': (value: number) => exact(value - 1),
}
for (const [name, body] of Object.entries(one)) methods[`static double ${name}(double)`] = body
for (const [name, body] of Object.entries(two)) methods[`static double ${name}(double,double)`] = body

const constants: Record<string, [string, unknown]> = { E: ['double', Math.E], PI: ['double', Math.PI] }
for (const name of ['Math', 'StrictMath']) defineClass(`java.lang.${name}`, { constants, methods })
