/** Random ids, names, tokens and secrets. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'

const base32hex = '0123456789abcdefghijklmnopqrstuv'
const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const pick = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

export type NewId = () => string
export const newId: NewId = () => randomUUID()

/** Generates an application name: 20 lower-case base32hex characters. */
export const newName = () => pick(base32hex, 20)

/** Generates a short text for people to copy: endpoint tokens, user names. */
export const newShortToken = (length = 10) => pick(alphanumeric, length)

/** Generates a secret of 256 random bits by default, safe in a URL. */
export const newSecret = (bytes = 32) => randomBytes(bytes).toString('base64url')
