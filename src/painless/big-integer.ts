import type { JavaObject } from './values.ts'

/** An integer beyond 64 bits. */
export interface BigInteger extends JavaObject {
  big: bigint
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}

export const bigIntegerOf = (big: bigint): BigInteger => ({
  javaClass: 'java.math.BigInteger',
  big,
  text: () => big.toString(),
  equals: (other) => (other as BigInteger).big === big,
  compareTo: (other) => {
    const right = (other as BigInteger).big
    return big < right ? -1 : big > right ? 1 : 0
  },
  key: () => big.toString(),
})
