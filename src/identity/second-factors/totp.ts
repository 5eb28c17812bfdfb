/** Time-based one-time passwords (RFC 6238) with SHA-1, 6 digits and 30 seconds, as all authenticator apps use them. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const stepMs = 30_000
/** The codes of this many time steps before and after the current time step are accepted too, because clocks differ. */
const driftSteps = 1
const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns a new secret of 160 bits in base32, as apps expect it. */
export const newTotpSecret = () => encodeBase32(randomBytes(20))

function encodeBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map((five) => base32[Number.parseInt(five, 2)]).join('')
}

function decodeBase32(text: string): Buffer {
  const bits = [...text].map((character) => base32.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)))
}

export const stepAt = (at: Date) => Math.floor(at.getTime() / stepMs)

export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', decodeBase32(secret)).update(counter).digest()
  const offset = digest.at(-1)! & 15
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** Returns the time step of a code. Returns undefined if the code is wrong, too old or too new. */
export function stepOfCode(secret: string, code: string, at: Date): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined
  const now = stepAt(at)
  let found: number | undefined
  for (let step = now - driftSteps; step <= now + driftSteps; step++)
    if (timingSafeEqual(Buffer.from(totpCode(secret, step)), Buffer.from(code))) found = step
  return found
}

/** Returns the URI that authenticator apps read from a QR code. */
export function totpUri(secret: string, { issuer, username }: { issuer: string; username: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(username)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`
}
