import { addItem, removeItem, sortedItems } from '../collections.ts'
import { defineClass } from '../define.ts'
import { compareNatural, equal } from '../equality.ts'
import { illegalArgument } from '../errors.ts'
import { allocate, steps } from '../meter.ts'
import { mark, marksOf } from '../values.ts'
import {
  asInt,
  type Compare,
  comparing,
  type Fn,
  type JavaMap,
  type JavaSet,
  type List,
  noSuchElement,
} from './helpers.ts'
import { itemsOf, iteratorOf, sortList } from './lists.ts'

const fill = (set: JavaSet, items: unknown[]): JavaSet => {
  for (const item of items) addItem(set, item)
  return set
}

defineClass('java.util.Set', {
  supers: ['java.util.Collection'],
  methods: {
    'boolean isEmpty()': (self: JavaSet) => itemsOf(self).length === 0,
    'static Set of()': () => mark(new Set(), { readOnly: true }),
    'static Set of(def)': (item: unknown) => mark(fill(new Set(), [item]), { readOnly: true }),
    'static Set of(def,def)': (...items: unknown[]) => mark(fill(new Set(), items), { readOnly: true }),
    'static Set copyOf(Collection)': (other: unknown) => mark(fill(new Set(), itemsOf(other)), { readOnly: true }),
  },
})
defineClass('java.util.AbstractSet', { supers: ['java.util.Set'] })

const newSet = (name: string): JavaSet => {
  allocate(64)
  return name === 'HashSet' ? new Set() : mark(new Set(), { javaClass: `java.util.${name}` })
}
for (const [name, parent] of [
  ['HashSet', 'AbstractSet'],
  ['LinkedHashSet', 'HashSet'],
])
  defineClass(`java.util.${name}`, {
    supers: [`java.util.${parent}`],
    constructors: {
      '()': () => newSet(name!),
      '(def)': (from: unknown) => (typeof from === 'number' ? newSet(name!) : fill(newSet(name!), itemsOf(from))),
    },
    methods: { 'def clone()': (self: JavaSet) => fill(newSet(name!), itemsOf(self)) },
  })

const compareOf = (self: JavaSet): Compare => marksOf(self)?.compare ?? compareNatural
const newTree = (comparator: Fn | null = null): JavaSet =>
  mark(new Set(), { javaClass: 'java.util.TreeSet', compare: comparator ? comparing(comparator) : compareNatural })
const some = (item: unknown): unknown => {
  if (item === undefined) throw noSuchElement('The collection is empty.')
  return item
}
const part = (self: JavaSet, test: (item: unknown) => boolean): JavaSet =>
  fill(
    mark<JavaSet>(new Set(), { javaClass: 'java.util.TreeSet', compare: compareOf(self) }),
    sortedItems(self).filter(test),
  )
const poll = (self: JavaSet, item: unknown): unknown => {
  if (item === undefined) return null
  removeItem(self, item)
  return item
}

/** Returns the part of a sorted set between two items. If `from` or `to` is null, the part has no limit at this end. */
function between(
  self: JavaSet,
  from: { item: unknown; inclusive: boolean } | null,
  to: { item: unknown; inclusive: boolean } | null,
): JavaSet {
  const compare = compareOf(self)
  if (from && to && compare(from.item, to.item) > 0) throw illegalArgument('fromKey > toKey')
  return part(self, (own) => {
    const low = from ? compare(own, from.item) : 1
    const high = to ? compare(own, to.item) : -1
    return (low > 0 || (low === 0 && from!.inclusive)) && (high < 0 || (high === 0 && to!.inclusive))
  })
}

defineClass('java.util.SortedSet', {
  supers: ['java.util.Set'],
  methods: {
    'Comparator comparator()': (self: JavaSet) => (compareOf(self) === compareNatural ? null : compareOf(self)),
    'def first()': (self: JavaSet) => some(sortedItems(self)[0]),
    'def last()': (self: JavaSet) => some(sortedItems(self).at(-1)),
    'SortedSet headSet(def)': (self: JavaSet, item: unknown) => between(self, null, { item, inclusive: false }),
    'SortedSet tailSet(def)': (self: JavaSet, item: unknown) => between(self, { item, inclusive: true }, null),
    'SortedSet subSet(def,def)': (self: JavaSet, from: unknown, to: unknown) =>
      between(self, { item: from, inclusive: true }, { item: to, inclusive: false }),
  },
})
defineClass('java.util.NavigableSet', {
  supers: ['java.util.SortedSet'],
  methods: {
    'def pollFirst()': (self: JavaSet) => poll(self, sortedItems(self)[0]),
    'def pollLast()': (self: JavaSet) => poll(self, sortedItems(self).at(-1)),
    'def ceiling(def)': (self: JavaSet, key: unknown) =>
      sortedItems(self).find((item) => compareOf(self)(item, key) >= 0) ?? null,
    'def floor(def)': (self: JavaSet, key: unknown) =>
      sortedItems(self).findLast((item) => compareOf(self)(item, key) <= 0) ?? null,
    'def higher(def)': (self: JavaSet, key: unknown) =>
      sortedItems(self).find((item) => compareOf(self)(item, key) > 0) ?? null,
    'def lower(def)': (self: JavaSet, key: unknown) =>
      sortedItems(self).findLast((item) => compareOf(self)(item, key) < 0) ?? null,
    'NavigableSet headSet(def,boolean)': (self: JavaSet, item: unknown, inclusive: boolean) =>
      between(self, null, { item, inclusive }),
    'NavigableSet tailSet(def,boolean)': (self: JavaSet, item: unknown, inclusive: boolean) =>
      between(self, { item, inclusive }, null),
    'NavigableSet subSet(def,boolean,def,boolean)': (
      self: JavaSet,
      from: unknown,
      fromInclusive: boolean,
      to: unknown,
      toInclusive: boolean,
    ) => between(self, { item: from, inclusive: fromInclusive }, { item: to, inclusive: toInclusive }),
    'NavigableSet descendingSet()': (self: JavaSet) => {
      const compare = compareOf(self)
      return fill(
        mark<JavaSet>(new Set(), { javaClass: 'java.util.TreeSet', compare: (left, right) => compare(right, left) }),
        itemsOf(self),
      )
    },
    'Iterator descendingIterator()': (self: JavaSet) => iteratorOf([...sortedItems(self)].reverse()),
  },
})
defineClass('java.util.TreeSet', {
  supers: ['java.util.AbstractSet', 'java.util.NavigableSet'],
  constructors: {
    '()': () => newTree(),
    '(def)': (from: unknown) => (typeof from === 'function' ? newTree(from as Fn) : fill(newTree(), itemsOf(from))),
  },
  methods: { 'def clone()': (self: JavaSet) => between(self, null, null) },
})

const extreme = (collection: unknown, compare: Compare, sign: 1 | -1): unknown => {
  const items = itemsOf(collection)
  if (items.length === 0) throw noSuchElement('The collection is empty.')
  steps(items.length)
  return items.reduce((best, item) => (compare(item, best) * sign > 0 ? item : best))
}
const swap = (list: List, one: number, two: number): void => {
  ;[list[one], list[two]] = [list[two], list[one]]
}
const search = (list: unknown[], key: unknown, compare: Compare): number => {
  let low = 0
  let high = list.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const order = compare(list[middle], key)
    if (order === 0) return middle
    if (order < 0) low = middle + 1
    else high = middle - 1
  }
  return -(low + 1)
}
const readOnlyList = (items: unknown[]): List => mark([...items], { readOnly: true })
const repeatItem = (count: number, item: unknown): unknown[] => {
  allocate(16 * count)
  return new Array(count).fill(item)
}

defineClass('java.util.Collections', {
  constants: {
    EMPTY_LIST: ['List', mark([], { readOnly: true })],
    EMPTY_MAP: ['Map', mark(new Map(), { readOnly: true })],
    EMPTY_SET: ['Set', mark(new Set(), { readOnly: true })],
  },
  methods: {
    'static int binarySearch(List,def)': (list: List, key: unknown) => search(list, key, compareNatural),
    'static int binarySearch(List,def,Comparator)': (list: List, key: unknown, by: Fn) =>
      search(list, key, comparing(by)),
    'static boolean disjoint(Collection,Collection)': (left: unknown, right: unknown) =>
      !itemsOf(left).some((item) => {
        const others = itemsOf(right)
        steps(1 + (others.length >> 3))
        return others.some((other) => equal(item, other))
      }),
    'static List emptyList()': () => readOnlyList([]),
    'static Map emptyMap()': () => mark(new Map(), { readOnly: true }),
    'static Set emptySet()': () => mark(new Set(), { readOnly: true }),
    'static void fill(List,def)': (list: List, item: unknown) => void list.fill(item),
    'static int frequency(Collection,def)': (collection: unknown, item: unknown) =>
      itemsOf(collection).filter((other) => equal(item, other)).length,
    'static def max(Collection)': (collection: unknown) => extreme(collection, compareNatural, 1),
    'static def max(Collection,Comparator)': (collection: unknown, by: Fn) => extreme(collection, comparing(by), 1),
    'static def min(Collection)': (collection: unknown) => extreme(collection, compareNatural, -1),
    'static def min(Collection,Comparator)': (collection: unknown, by: Fn) => extreme(collection, comparing(by), -1),
    'static List nCopies(int,def)': repeatItem,
    'static boolean replaceAll(List,def,def)': (list: List, from: unknown, to: unknown) => {
      let replaced = false
      for (let index = 0; index < list.length; index++)
        if (equal(list[index], from)) {
          list[index] = to
          replaced = true
        }
      return replaced
    },
    'static void reverse(List)': (list: List) => void list.reverse(),
    'static Comparator reverseOrder()': () => (left: unknown, right: unknown) => compareNatural(right, left),
    'static Comparator reverseOrder(Comparator)': (by: Fn) => (left: unknown, right: unknown) => asInt(by(right, left)),
    'static void rotate(List,int)': (list: List, by: number) => {
      if (list.length === 0) return
      const from = ((-by % list.length) + list.length) % list.length
      const turned = [...list.slice(from), ...list.slice(0, from)]
      for (const [index, item] of turned.entries()) list[index] = item
    },
    'static Set singleton(def)': (item: unknown) => mark(fill(new Set(), [item]), { readOnly: true }),
    'static List singletonList(def)': (item: unknown) => readOnlyList([item]),
    'static Map singletonMap(def,def)': (key: unknown, value: unknown) =>
      mark(new Map([[key, value]]), { readOnly: true }),
    'static void sort(List)': (list: List) => sortList(list, compareNatural),
    'static void sort(List,Comparator)': (list: List, by: Fn | null) =>
      sortList(list, by ? comparing(by) : compareNatural),
    'static void swap(List,int,int)': swap,
    'static Collection unmodifiableCollection(Collection)': (items: unknown) => readOnlyList(itemsOf(items)),
    'static List unmodifiableList(List)': readOnlyList,
    'static Map unmodifiableMap(Map)': (map: JavaMap) => mark(new Map(map), { readOnly: true }),
    'static Set unmodifiableSet(Set)': (set: unknown) => mark(fill(new Set(), itemsOf(set)), { readOnly: true }),
  },
})
