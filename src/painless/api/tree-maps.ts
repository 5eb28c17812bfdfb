import { getEntry, keysOf, putEntry, removeEntry } from '../collections.ts'
import { defineClass } from '../define.ts'
import { compareNatural } from '../equality.ts'
import { type Marks, mark, marksOf } from '../values.ts'
import { comparing, type Fn, type JavaMap, noSuchElement } from './helpers.ts'
import { asSet, type Entry, entryOf, fill } from './maps.ts'

const sortedMarks = (javaClass: string, comparator: Fn | null): Marks => ({
  javaClass,
  compare: comparator ? comparing(comparator) : compareNatural,
})
const newTree = (comparator: Fn | null = null): JavaMap => mark(new Map(), sortedMarks('java.util.TreeMap', comparator))

/** Returns the key at or next to another in a sorted collection. */
function neighbour(
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

const part = (self: JavaMap, test: (order: number, key: unknown) => boolean, key: unknown): JavaMap => {
  const compare = marksOf(self)?.compare ?? compareNatural
  const result = mark<JavaMap>(new Map(), { javaClass: 'java.util.TreeMap', compare })
  for (const own of keysOf(self)) if (test(compare(own, key), own)) putEntry(result, own, getEntry(self, own))
  return result
}
const near = (self: JavaMap, key: unknown, side: -1 | 1, inclusive: boolean): unknown =>
  neighbour(keysOf(self), key, marksOf(self)?.compare ?? compareNatural, side, inclusive)
const entryOrNull = (self: JavaMap, key: unknown): Entry | null =>
  key === null || key === undefined ? null : entryOf(self, key)
const pollEntry = (self: JavaMap, key: unknown): Entry | null => {
  if (key === undefined) return null
  const entry = entryOf(new Map([[key, getEntry(self, key)]]), key)
  removeEntry(self, key)
  return entry
}
const some = (key: unknown): unknown => {
  if (key === undefined) throw noSuchElement('The collection is empty.')
  return key
}

defineClass('java.util.SortedMap', { supers: ['java.util.Map'] })
defineClass('java.util.NavigableMap', { supers: ['java.util.SortedMap'] })
defineClass('java.util.TreeMap', {
  supers: ['java.util.AbstractMap', 'java.util.NavigableMap'],
  constructors: {
    '()': () => newTree(),
    '(def)': (from: unknown) => (from instanceof Map ? fill(newTree(), from) : newTree(from as Fn)),
  },
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
    'def firstKey()': (self: JavaMap) => some(keysOf(self)[0]),
    'Map.Entry lastEntry()': (self: JavaMap) => entryOrNull(self, keysOf(self).at(-1)),
    'def lastKey()': (self: JavaMap) => some(keysOf(self).at(-1)),
    'Map.Entry pollFirstEntry()': (self: JavaMap) => pollEntry(self, keysOf(self)[0]),
    'Map.Entry pollLastEntry()': (self: JavaMap) => pollEntry(self, keysOf(self).at(-1)),
    'TreeMap headMap(def)': (self: JavaMap, key: unknown) => part(self, (order) => order < 0, key),
    'TreeMap tailMap(def)': (self: JavaMap, key: unknown) => part(self, (order) => order >= 0, key),
    'TreeMap descendingMap()': (self: JavaMap) => {
      const compare = marksOf(self)?.compare ?? compareNatural
      return fill(
        mark<JavaMap>(new Map(), { javaClass: 'java.util.TreeMap', compare: (left, right) => compare(right, left) }),
        self,
      )
    },
    'Set navigableKeySet()': (self: JavaMap) => asSet(keysOf(self)),
  },
})
