import { keyText } from './equality.ts'
import { unsupported } from './errors.ts'
import { allocate, steps } from './meter.ts'
import { mark, marksOf } from './values.ts'

/** Bytes that an element of a list, and an entry of a map or set, count towards the memory limit. */
const elementBytes = 16
const entryBytes = 64

/**
 * The document that a pipeline is processing. `read` computes metadata, which scripts read like entries of `map`. While a condition runs,
 * `locked` makes the document read-only. Storing this state in the map itself would cost more than running the script.
 */
const overlay: { map: Map<unknown, unknown> | undefined; locked: boolean; read: (key: unknown) => unknown } = {
  map: undefined,
  locked: false,
  read: () => undefined,
}

/** Sets the document that is being processed. `read` returns the metadata field with a key, or undefined if there is no such field. */
export function setOverlay(map: Map<unknown, unknown> | undefined, read: (key: unknown) => unknown): void {
  overlay.map = map
  overlay.read = read
  overlay.locked = false
}

/** Makes the document read-only, or writable again. */
export function lockOverlay(locked: boolean): void {
  overlay.locked = locked
}

const readOnlyCheck = (target: object): void => {
  if (target === overlay.map ? overlay.locked : marksOf(target)?.readOnly) throw unsupported()
}

/** Returns the key under which a map or set stores this value. Equal objects share one key. */
export function keyIn(target: object, key: unknown): unknown {
  if (typeof key !== 'object' || key === null) return key
  return marksOf(target)?.objectKeys?.get(keyText(key)) ?? key
}

function rememberKey(target: object, key: unknown): void {
  const marks = marksOf(target)
  if (marks?.compare) marks.sorted = undefined
  if (typeof key !== 'object' || key === null) return
  if (!marks?.objectKeys) mark(target, { objectKeys: new Map() })
  marksOf(target)!.objectKeys!.set(keyText(key), key)
}

function forgetKey(target: object, key: unknown): void {
  const marks = marksOf(target)
  if (!marks) return
  if (marks.compare) marks.sorted = undefined
  if (typeof key === 'object' && key !== null) marks.objectKeys?.delete(keyText(key))
}

export const getEntry = (map: Map<unknown, unknown>, key: unknown): unknown => {
  const value = map.get(typeof key === 'object' ? keyIn(map, key) : key)
  if (value !== undefined) return value
  return map === overlay.map ? (overlay.read(key) ?? null) : null
}

/** Sets an entry and returns its former value. */
export function putEntry(map: Map<unknown, unknown>, key: unknown, value: unknown): unknown {
  readOnlyCheck(map)
  const storedKey = typeof key === 'object' ? keyIn(map, key) : key
  const former = map.get(storedKey)
  if (former === undefined && !map.has(storedKey)) {
    allocate(entryBytes)
    if (typeof storedKey === 'object' || marksOf(map)) rememberKey(map, storedKey)
  }
  map.set(storedKey, value)
  return former === undefined ? null : former
}

export function removeEntry(map: Map<unknown, unknown>, key: unknown): unknown {
  readOnlyCheck(map)
  const storedKey = keyIn(map, key)
  const former = map.get(storedKey)
  if (map.delete(storedKey)) forgetKey(map, storedKey)
  return former === undefined ? null : former
}

export const hasKey = (map: Map<unknown, unknown> | Set<unknown>, key: unknown): boolean =>
  map.has(keyIn(map, key)) || (map === overlay.map && overlay.read(key) !== undefined)

export function clearEntries(target: Map<unknown, unknown> | Set<unknown>): void {
  readOnlyCheck(target)
  target.clear()
  const marks = marksOf(target)
  if (!marks) return
  marks.sorted = undefined
  marks.objectKeys?.clear()
}

export function addItem(set: Set<unknown>, item: unknown): boolean {
  readOnlyCheck(set)
  const storedItem = keyIn(set, item)
  if (set.has(storedItem)) return false
  allocate(entryBytes)
  if (typeof storedItem === 'object' || marksOf(set)) rememberKey(set, storedItem)
  set.add(storedItem)
  return true
}

export function removeItem(set: Set<unknown>, item: unknown): boolean {
  readOnlyCheck(set)
  const storedItem = keyIn(set, item)
  if (!set.delete(storedItem)) return false
  forgetKey(set, storedItem)
  return true
}

/** Returns whether the keys of a map have another order than the order of insertion. */
export const isSortedMap = (map: Map<unknown, unknown>): boolean => marksOf(map)?.compare !== undefined

/** Counts the steps of an iteration over all elements. */
export const countIteration = ({ size }: Map<unknown, unknown> | Set<unknown>): void => steps(1 + (size >> 3))

function inOrder(target: Map<unknown, unknown> | Set<unknown>): unknown[] {
  const marks = marksOf(target)
  countIteration(target)
  if (!marks?.compare) return [...target.keys()]
  marks.sorted ??= [...target.keys()].sort(marks.compare)
  return marks.sorted
}

/** Returns the keys of a map in its order. The caller must not change the array. */
export const keysOf = (map: Map<unknown, unknown>): unknown[] => inOrder(map)
/** Returns the elements of a set in its order. The caller must not change the array. */
export const sortedItems = (set: Set<unknown>): unknown[] => inOrder(set)

/** Checks that a list may change, and counts the memory of the new elements. */
export function growList(list: unknown[], count = 1): void {
  if (marksOf(list)) readOnlyCheck(list)
  allocate(elementBytes * count)
}

export const changeList = (list: unknown[]): void => readOnlyCheck(list)
