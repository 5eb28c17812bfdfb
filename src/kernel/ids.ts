import { randomBytes, randomInt, randomUUID } from 'node:crypto'

const base32hex = '0123456789abcdefghijklmnopqrstuv'
const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const pick = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

export type NewId = () => string
export const newId: NewId = () => randomUUID()

/** Generated application names: 20 lower-case base32hex characters. */
export const newName = () => pick(base32hex, 20)

/** Generated endpoint tokens, user names: short, for people to copy. */
export const newShortToken = (length = 10) => pick(alphanumeric, length)

/** 256 bits that nobody guesses, safe in a URL. */
export const newSecret = (bytes = 32) => randomBytes(bytes).toString('base64url')
