/** Matches JSON that may contain a number that JavaScript cannot represent exactly. All other JSON is parsed only once. */
const mayChange = /\d{16}|e\+?\d{3}/i

/** Parses JSON. Throws a RangeError for a number that would be sent with another value than the text contains. */
export function parseExactJson(text: string): unknown {
  const parsed: unknown = JSON.parse(text)
  if (mayChange.test(text))
    JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
      const source = context?.source ?? ''
      const isChanged = !Number.isFinite(value) || (/^-?\d+$/.test(source) && !Number.isSafeInteger(value))
      if (typeof value === 'number' && isChanged)
        throw new RangeError(`${source} is too large for a number; write it in quotes`)
      return value
    })
  return parsed
}
