/** A field in which two JSON values differ: its path, such as `place.city`, and both values. */
export interface Difference {
  path: string
  left: unknown
  right: unknown
}

const fieldsMax = 200

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function differencesOf(left: unknown, right: unknown, path = ''): Difference[] {
  if (JSON.stringify(left) === JSON.stringify(right)) return []
  if (!isObject(left) || !isObject(right)) return [{ path: path === '' ? '.' : path, left, right }]
  return [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .flatMap((key) => differencesOf(left[key], right[key], path === '' ? key : `${path}.${key}`))
    .slice(0, fieldsMax)
}
