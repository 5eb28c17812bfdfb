/** Whether a double holds a number of a JSON text. Only for texts that are JSON: what it says of others has no meaning. */

export type Verdict = 'kept' | 'cut' | 'unclear'

/** Fewer characters, without an exponent, are kept in any case. */
export const shortestCut = 16

const dot = 0x2e
const zero = 0x30

/** By arithmetic on the digits. `exponentAt`: where the `e` stands, 0 for none. `nearest`: an integer may be rounded. */
export function judgeNumber(
  bytes: Uint8Array,
  start: number,
  end: number,
  { exponentAt, isInteger, nearest }: { exponentAt: number; isInteger: boolean; nearest: boolean },
): Verdict {
  const first = bytes[start] === 0x2d ? start + 1 : start
  const digits = end - first
  if (!isInteger) return judgeMagnitude(bytes, first, end, exponentAt)
  if (digits > 309) return 'cut'
  if (digits === 309) return 'unclear'
  if (nearest || digits < shortestCut) return 'kept'
  if (digits > 18) return 'unclear'
  let high = 0
  let low = 0
  const middle = end - 9
  for (let i = first; i < middle; i++) high = high * 10 + bytes[i]! - zero
  for (let i = middle; i < end; i++) low = low * 10 + bytes[i]! - zero
  // Exact up to 18 digits, as is the difference of two doubles so close: only the sum is rounded.
  high *= 1e9
  return high + low - high === low ? 'kept' : 'unclear'
}

/** Decimals are rounded as always; only those beyond all doubles are cut. */
function judgeMagnitude(bytes: Uint8Array, first: number, end: number, exponentAt: number): Verdict {
  const mantissaEnd = exponentAt || end
  let leading = -1
  let point = mantissaEnd
  for (let i = first; i < mantissaEnd; i++) {
    const byte = bytes[i]!
    if (byte === dot) point = i
    else if (leading < 0 && byte !== zero) leading = i
    if (leading >= 0 && point < mantissaEnd) break
  }
  if (leading < 0) return 'kept'
  // The power of ten of the leading digit; its own place does not count for digits behind the point.
  const power = (leading < point ? point - leading - 1 : point - leading) + exponentOf(bytes, exponentAt, end)
  if (power > 308) return 'cut'
  return power < 308 ? 'kept' : 'unclear'
}

function exponentOf(bytes: Uint8Array, exponentAt: number, end: number): number {
  if (exponentAt === 0) return 0
  const sign = bytes[exponentAt + 1]
  let exponent = 0
  for (let i = sign === 0x2b || sign === 0x2d ? exponentAt + 2 : exponentAt + 1; i < end; i++)
    // More than the length of any body can make up for.
    exponent = Math.min(1e9, exponent * 10 + bytes[i]! - zero)
  return sign === 0x2d ? -exponent : exponent
}

/** The slow way for those that are not clear otherwise: half a microsecond each. */
export function isCut(source: string, { isInteger, nearest }: { isInteger: boolean; nearest: boolean }): boolean {
  const value = Number(source)
  if (!Number.isFinite(value)) return true
  // A double may be written with the same digits without being the same integer: 37866065945450410.
  return isInteger && !nearest && String(value) !== source && BigInt(source) !== BigInt(value)
}
