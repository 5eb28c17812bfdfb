/** Random ids, names, tokens and secrets. */
import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'

const base32hex = '0123456789abcdefghijklmnopqrstuv'
const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const pool = Buffer.alloc(1024)
let used = pool.length

/** Returns a random byte. Bytes are generated a thousand at a time, because each call of the generator takes microseconds. */
function nextByte(): number {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const byte = pool[used]!
  pool[used++] = 0
  return byte
}

/** Picks characters with equal probability. Bytes above the last multiple of the alphabet's length are skipped. */
function pick(alphabet: string, length: number): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    const byte = nextByte()
    if (byte < limit) text += alphabet[byte % alphabet.length]
  }
  return text
}

export type NewId = () => string
export const newId: NewId = () => randomUUID()

/** Generates an application name: 20 lower-case base32hex characters. */
export const newName = () => pick(base32hex, 20)

/** Generates a short text for people to copy: endpoint tokens, user names. */
export const newShortToken = (length = 10) => pick(alphanumeric, length)

/** Generates a secret that is safe in a URL. Default: 256 random bits. */
export const newSecret = (bytes = 32) => randomBytes(bytes).toString('base64url')
