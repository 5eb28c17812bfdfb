/** Serial numbers and dates of certificates. */
import { randomBytes } from 'node:crypto'

/** Returns a random positive number of exactly 16 octets in DER, as a decimal text. */
export function newSerialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return BigInt(`0x${bytes.toString('hex')}`).toString()
}

/** Rounds down, because X.509 dates have no fractions of a second. */
export const toSecond = (date: Date) => new Date(Math.floor(date.getTime() / 1000) * 1000)

/**
 * RFC 5280, 4.1.2.5: this date means that a certificate does not expire. Authorities use it, because they must outlive every certificate
 * that they issue.
 */
export const never = new Date('9999-12-31T23:59:59Z')
