type JsonObject = Record<string, unknown>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** RFC 7396: null removes, objects merge, anything else replaces. Neither argument is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch))
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  // Not by assignment: `__proto__` is a key like any other.
  return Object.fromEntries(merged)
}
