/** Decides whether a number in a JSON text can be stored as a double. The text must be valid JSON. */

export type Verdict = 'storable' | 'unstorable' | 'unclear'

/** Minimum length at which a number without an exponent may be unstorable. */
export const shortestUnstorable = 16

const dot = 0x2e
const zero = 0x30

/**
 * Decides by arithmetic on the digits whether a number can be stored. `exponentAt` is the index of the `e`; 0 means that there is no
 * exponent. With `roundIntegers`, an integer that a double can only represent rounded is accepted.
 */
export function judgeNumber(
  bytes: Uint8Array,
  start: number,
  end: number,
  { exponentAt, isInteger, roundIntegers }: { exponentAt: number; isInteger: boolean; roundIntegers: boolean },
): Verdict {
  const first = bytes[start] === 0x2d ? start + 1 : start
  const digits = end - first
  if (!isInteger) return judgeMagnitude(bytes, first, end, exponentAt)
  if (digits > 309) return 'unstorable'
  if (digits === 309) return 'unclear'
  if (roundIntegers || digits < shortestUnstorable) return 'storable'
  if (digits > 18) return 'unclear'
  let high = 0
  let low = 0
  const middle = end - 9
  for (let i = first; i < middle; i++) high = high * 10 + bytes[i]! - zero
  for (let i = middle; i < end; i++) low = low * 10 + bytes[i]! - zero
  // `high` and `low` are exact for numbers of up to 18 digits. The difference of two close doubles is exact too, so only the sum is
  // rounded.
  high *= 1e9
  return high + low - high === low ? 'storable' : 'unclear'
}

/** Decides whether a decimal number can be stored. The number may be rounded, but must not exceed the range of doubles. */
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
  if (leading < 0) return 'storable'
  // The decimal exponent of the leading digit.
  const power = (leading < point ? point - leading - 1 : point - leading) + exponentOf(bytes, exponentAt, end)
  if (power > 308) return 'unstorable'
  return power < 308 ? 'storable' : 'unclear'
}

function exponentOf(bytes: Uint8Array, exponentAt: number, end: number): number {
  if (exponentAt === 0) return 0
  const sign = bytes[exponentAt + 1]
  let exponent = 0
  for (let i = sign === 0x2b || sign === 0x2d ? exponentAt + 2 : exponentAt + 1; i < end; i++)
    // Exponents are limited to 1e9, because no body has enough digits to compensate a larger exponent.
    exponent = Math.min(1e9, exponent * 10 + bytes[i]! - zero)
  return sign === 0x2d ? -exponent : exponent
}

/** Decides the unclear cases by parsing the number, which takes half a microsecond. */
export function isUnstorableNumber(
  source: string,
  { isInteger, roundIntegers }: { isInteger: boolean; roundIntegers: boolean },
): boolean {
  const value = Number(source)
  if (!Number.isFinite(value)) return true
  // An integer can be stored if its double prints the same digits, even if the double is another integer, as for 37866065945450410.
  return isInteger && !roundIntegers && String(value) !== source && BigInt(source) !== BigInt(value)
}
