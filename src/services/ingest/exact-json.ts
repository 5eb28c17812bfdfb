/** Parses and writes JSON with integers of any size. Integers that a double cannot represent become BigInts. */

/** Matches an integer of at least 16 digits, which may not fit into a double. */
const longInteger = /\d{16}/

/** A reviver of JSON.parse that also gets the source text of a number. */
type SourceReviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown

const keepIntegers: SourceReviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value

export const mayHoldLongIntegers = (text: string) => longInteger.test(text)

export const parseExact = (text: string): unknown =>
  mayHoldLongIntegers(text) ? JSON.parse(text, keepIntegers as never) : JSON.parse(text)

/** Makes JSON.stringify write a text unchanged. */
const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

export const stringifyExact = (value: unknown): string =>
  JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? raw(String(inner)) : inner))
