/** Decides whether a number is a multiple of another by their decimal digits, as they are written in JSON. */

export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const [a, b] = [decimalOf(value), decimalOf(divisor)]
  const exponent = Math.min(a.exponent, b.exponent)
  return scaled(a, exponent) % scaled(b, exponent) === 0n
}

/** The number `digits` * 10 ^ `exponent`. */
interface Decimal {
  digits: bigint
  exponent: number
}

function decimalOf(number: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(number).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

const scaled = ({ digits, exponent }: Decimal, smallest: number) => digits * 10n ** BigInt(exponent - smallest)
