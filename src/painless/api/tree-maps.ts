import { addItem, getEntry, keysOf, putEntry, removeEntry } from '../collections.ts'
import { defineClass } from '../define.ts'
import { compareNatural } from '../equality.ts'
import { illegalArgument } from '../errors.ts'
import { type Marks, mark, marksOf } from '../values.ts'
import { comparing, type Fn, type JavaMap, noSuchElement } from './helpers.ts'
import { type Entry, entryOf, fill } from './maps.ts'

const sortedMarks = (javaClass: string, comparator: Fn | null): Marks => ({
  javaClass,
  compare: comparator ? comparing(comparator) : compareNatural,
})
const newTree = (comparator: Fn | null = null): JavaMap => mark(new Map(), sortedMarks('java.util.TreeMap', comparator))

/** Returns the nearest key above (`side` 1) or below (-1) a key. If `inclusive` is true, the key itself counts too. */
function nearestKey(
  sorted: unknown[],
  key: unknown,
  compare: (left: unknown, right: unknown) => number,
  side: -1 | 1,
  inclusive: boolean,
): unknown {
  const fits = (other: unknown) => {
    const order = compare(other, key)
    return order === 0 ? inclusive : Math.sign(order) === side
  }
  return (side === 1 ? sorted.find(fits) : sorted.findLast(fits)) ?? null
}

const near = (self: JavaMap, key: unknown, side: -1 | 1, inclusive: boolean): unknown =>
  nearestKey(keysOf(self), key, marksOf(self)?.compare ?? compareNatural, side, inclusive)
const entryOrNull = (self: JavaMap, key: unknown): Entry | null =>
  key === null || key === undefined ? null : entryOf(self, key)
const pollEntry = (self: JavaMap, key: unknown): Entry | null => {
  if (key === undefined) return null
  const entry = entryOf(new Map([[key, getEntry(self, key)]]), key)
  removeEntry(self, key)
  return entry
}
const requireKey = (key: unknown): unknown => {
  if (key === undefined) throw noSuchElement('The collection is empty.')
  return key
}

/** Returns the part of a sorted map between two keys. If `from` or `to` is null, the part has no limit at this end. */
function between(
  self: JavaMap,
  from: { key: unknown; inclusive: boolean } | null,
  to: { key: unknown; inclusive: boolean } | null,
): JavaMap {
  const compare = marksOf(self)?.compare ?? compareNatural
  if (from && to && compare(from.key, to.key) > 0) throw illegalArgument('fromKey > toKey')
  const isInside = (entryKey: unknown): boolean => {
    const low = from ? compare(entryKey, from.key) : 1
    const high = to ? compare(entryKey, to.key) : -1
    return (low > 0 || (low === 0 && from!.inclusive)) && (high < 0 || (high === 0 && to!.inclusive))
  }
  const result = mark<JavaMap>(new Map(), { javaClass: 'java.util.TreeMap', compare })
  for (const entryKey of keysOf(self)) if (isInside(entryKey)) putEntry(result, entryKey, getEntry(self, entryKey))
  return result
}

const keySet = (self: JavaMap, isDescending: boolean) => {
  const compareKeys = marksOf(self)?.compare ?? compareNatural
  const compare = isDescending ? (left: unknown, right: unknown) => compareKeys(right, left) : compareKeys
  const set = mark(new Set<unknown>(), { javaClass: 'java.util.TreeSet', compare })
  for (const key of keysOf(self)) addItem(set, key)
  return set
}
const descending = (self: JavaMap): JavaMap => {
  const compare = marksOf(self)?.compare ?? compareNatural
  return fill(
    mark<JavaMap>(new Map(), { javaClass: 'java.util.TreeMap', compare: (left, right) => compare(right, left) }),
    self,
  )
}

defineClass('java.util.SortedMap', {
  supers: ['java.util.Map'],
  methods: {
    'Comparator comparator()': (self: JavaMap) => {
      const compare = marksOf(self)?.compare
      return compare === undefined || compare === compareNatural ? null : compare
    },
    'def firstKey()': (self: JavaMap) => requireKey(keysOf(self)[0]),
    'def lastKey()': (self: JavaMap) => requireKey(keysOf(self).at(-1)),
    'SortedMap headMap(def)': (self: JavaMap, key: unknown) => between(self, null, { key, inclusive: false }),
    'SortedMap tailMap(def)': (self: JavaMap, key: unknown) => between(self, { key, inclusive: true }, null),
    'SortedMap subMap(def,def)': (self: JavaMap, from: unknown, to: unknown) =>
      between(self, { key: from, inclusive: true }, { key: to, inclusive: false }),
  },
})
defineClass('java.util.NavigableMap', {
  supers: ['java.util.SortedMap'],
  methods: {
    'Map.Entry ceilingEntry(def)': (self: JavaMap, key: unknown) => entryOrNull(self, near(self, key, 1, true)),
    'def ceilingKey(def)': (self: JavaMap, key: unknown) => near(self, key, 1, true),
    'Map.Entry floorEntry(def)': (self: JavaMap, key: unknown) => entryOrNull(self, near(self, key, -1, true)),
    'def floorKey(def)': (self: JavaMap, key: unknown) => near(self, key, -1, true),
    'Map.Entry higherEntry(def)': (self: JavaMap, key: unknown) => entryOrNull(self, near(self, key, 1, false)),
    'def higherKey(def)': (self: JavaMap, key: unknown) => near(self, key, 1, false),
    'Map.Entry lowerEntry(def)': (self: JavaMap, key: unknown) => entryOrNull(self, near(self, key, -1, false)),
    'def lowerKey(def)': (self: JavaMap, key: unknown) => near(self, key, -1, false),
    'Map.Entry firstEntry()': (self: JavaMap) => entryOrNull(self, keysOf(self)[0]),
    'Map.Entry lastEntry()': (self: JavaMap) => entryOrNull(self, keysOf(self).at(-1)),
    'Map.Entry pollFirstEntry()': (self: JavaMap) => pollEntry(self, keysOf(self)[0]),
    'Map.Entry pollLastEntry()': (self: JavaMap) => pollEntry(self, keysOf(self).at(-1)),
    'NavigableMap headMap(def,boolean)': (self: JavaMap, key: unknown, inclusive: boolean) =>
      between(self, null, { key, inclusive }),
    'NavigableMap tailMap(def,boolean)': (self: JavaMap, key: unknown, inclusive: boolean) =>
      between(self, { key, inclusive }, null),
    'NavigableMap subMap(def,boolean,def,boolean)': (
      self: JavaMap,
      from: unknown,
      fromInclusive: boolean,
      to: unknown,
      toInclusive: boolean,
    ) => between(self, { key: from, inclusive: fromInclusive }, { key: to, inclusive: toInclusive }),
    'NavigableMap descendingMap()': descending,
    'NavigableSet navigableKeySet()': (self: JavaMap) => keySet(self, false),
    'NavigableSet descendingKeySet()': (self: JavaMap) => keySet(self, true),
  },
})
defineClass('java.util.TreeMap', {
  supers: ['java.util.AbstractMap', 'java.util.NavigableMap'],
  constructors: {
    '()': () => newTree(),
    '(def)': (from: unknown) => (from instanceof Map ? fill(newTree(), from) : newTree(from as Fn)),
  },
  methods: { 'def clone()': (self: JavaMap) => between(self, null, null) },
})
