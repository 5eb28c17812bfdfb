/**
 * Joins the changes that the user and another caller made to one object, key by key: keys that the user has changed keep the values of the
 * user, and all other keys get the values of the other caller.
 */

/** A field with both values: the stored value, and the value that the user wants to save. */
export interface ComparedField {
  name: string
  theirs: unknown
  yours: unknown
  /** The value before the user began to edit. */
  before?: unknown
  /** False if only the other caller has changed the field. Saving then keeps the stored value. Default: true. */
  isYours?: boolean
}

type Values = Record<string, unknown>

export const isSameJson = (a: unknown, b: unknown) => a === b || JSON.stringify(a) === JSON.stringify(b)

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value of a key, and undefined for keys such as `constructor` that only the prototype has. */
const valueAt = (values: object, key: string): unknown =>
  Object.hasOwn(values, key) ? (values as Values)[key] : undefined

const keysOf = (...objects: object[]) => [...new Set(objects.flatMap((object) => Object.keys(object)))]

/**
 * Keys that have a meaning only together, such as a switch and the values that it uses. A change of one key counts as a change of all these
 * keys.
 */
export type Together = readonly (readonly string[])[]

/** Returns the keys that the user has changed. */
function changedKeys(base: object, yours: object, together: Together): Set<string> {
  const changed = keysOf(base, yours).filter((key) => !isSameJson(valueAt(base, key), valueAt(yours, key)))
  return new Set([...changed, ...together.filter((group) => group.some((key) => changed.includes(key))).flat()])
}

/** Returns the values to save. `base` are the values before the user changed them. */
export function mergeKeys(base: object, theirs: object, yours: object, together: Together = []): Values {
  const changed = changedKeys(base, yours, together)
  return Object.fromEntries(
    keysOf(yours, theirs)
      .map((key) => [key, valueAt(changed.has(key) ? yours : theirs, key)] as const)
      .filter(([, value]) => value !== undefined),
  )
}

/** Returns the keys whose values differ, with both values. */
export function compareKeys(base: object, theirs: object, yours: object, together: Together = []): ComparedField[] {
  const changed = changedKeys(base, yours, together)
  return keysOf(theirs, yours).flatMap((name) => {
    const [before, stored, own] = [valueAt(base, name), valueAt(theirs, name), valueAt(yours, name)]
    if (isSameJson(stored, own)) return []
    return [{ name, before, theirs: stored, yours: own, isYours: changed.has(name) }]
  })
}

/** Merges JSON documents. If one of them is not an object, the document of the user is returned. */
export const mergeJson = (base: unknown, theirs: unknown, yours: unknown): unknown =>
  isObject(base) && isObject(theirs) && isObject(yours) ? mergeKeys(base, theirs, yours) : yours

/** Compares JSON documents key by key. If one of them is not an object, they are compared as one field with the name `name`. */
export const compareJson = (name: string, base: unknown, theirs: unknown, yours: unknown): ComparedField[] =>
  isObject(base) && isObject(theirs) && isObject(yours) ? compareKeys(base, theirs, yours) : [{ name, theirs, yours }]
