import { randomBytes } from 'node:crypto'
import { addItem, changeList, growList, keysOf, putEntry, sortedItems } from '../collections.ts'
import { defineClass, type Methods } from '../define.ts'
import { compareNatural, equal } from '../equality.ts'
import { illegalArgument, indexOutOfBounds, unsupported } from '../errors.ts'
import { allocate, steps } from '../meter.ts'
import { isJavaArray, type JavaObject, mark, marksOf } from '../values.ts'
import { comparing, type Fn, type JavaMap, type JavaSet, type List, noSuchElement } from './helpers.ts'
import { type Iteration, itemsOf, iteratorOf, listClass } from './lists.ts'

/* Implements PriorityQueue, Random, and less common methods of collections. */

const orderOf = (self: List) => marksOf(self)?.compare ?? compareNatural
/** Inserts an item before the first larger item, so that the list is always sorted. */
function offer(self: List, item: unknown): boolean {
  growList(self)
  const compare = orderOf(self)
  let [low, high] = [0, self.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(self[middle], item) <= 0) low = middle + 1
    else high = middle
  }
  if (self.length === 0) compare(item, item)
  steps(1 + (self.length >> 5))
  self.splice(low, 0, item)
  return true
}
const newQueue = (comparator: Fn | null): List =>
  mark([], {
    javaClass: 'java.util.PriorityQueue',
    compare: comparator ? comparing(comparator) : compareNatural,
  })
function queueOf(from: unknown): List {
  if (typeof from === 'function') return newQueue(from as Fn)
  const queue = newQueue(null)
  if (typeof from === 'object' && from !== null) for (const item of itemsOf(from)) offer(queue, item)
  return queue
}
defineClass('java.util.PriorityQueue', {
  supers: ['java.util.Queue'],
  constructors: {
    '()': () => newQueue(null),
    '(def)': queueOf,
    '(int,Comparator)': (_size: number, comparator: Fn | null) => newQueue(comparator),
  },
  methods: {
    'boolean add(def)': offer,
    'boolean offer(def)': offer,
    'boolean addAll(Collection)': (self: List, items: unknown) => {
      for (const item of [...itemsOf(items)]) offer(self, item)
      return true
    },
  },
})

defineClass('java.util.Queue', {
  methods: {
    'def remove()': (self: List) => {
      if (self.length === 0) throw noSuchElement('The collection is empty.')
      changeList(self)
      return self.shift()
    },
  },
})

const removeFound = (self: List, index: number): boolean => {
  changeList(self)
  if (index >= 0) self.splice(index, 1)
  steps(1 + (self.length >> 5))
  return index >= 0
}
defineClass('java.util.Deque', {
  methods: {
    'boolean removeFirstOccurrence(def)': (self: List, item: unknown) =>
      removeFound(
        self,
        self.findIndex((other) => equal(item, other)),
      ),
    'boolean removeLastOccurrence(def)': (self: List, item: unknown) =>
      removeFound(
        self,
        self.findLastIndex((other) => equal(item, other)),
      ),
  },
})

/** The state of Java's random generator with 48 bits. A seed gives the same numbers as in Java. */
interface Random extends JavaObject {
  seed: bigint
  gaussian: number | undefined
}
const mask = (1n << 48n) - 1n
const multiplier = 0x5deece66dn
const randomOf = (seed: bigint): Random => ({
  javaClass: 'java.util.Random',
  seed: (seed ^ multiplier) & mask,
  gaussian: undefined,
})
function nextBits(self: Random, bits: number): number {
  steps(1)
  self.seed = (self.seed * multiplier + 0xbn) & mask
  return Number(BigInt.asIntN(32, self.seed >> BigInt(48 - bits)))
}
function nextInt(self: Random, bound: number): number {
  if (bound <= 0) throw illegalArgument('bound must be positive')
  let bits = nextBits(self, 31)
  if ((bound & -bound) === bound) return Number((BigInt(bound) * BigInt(bits)) >> 31n)
  let value = bits % bound
  while (bits - value + (bound - 1) > 0x7fffffff) {
    bits = nextBits(self, 31)
    value = bits % bound
  }
  return value
}
const nextDouble = (self: Random): number => (nextBits(self, 26) * 2 ** 27 + nextBits(self, 27)) * 2 ** -53
function nextGaussian(self: Random): number {
  const known = self.gaussian
  self.gaussian = undefined
  if (known !== undefined) return known
  for (;;) {
    const [x, y] = [2 * nextDouble(self) - 1, 2 * nextDouble(self) - 1]
    const s = x * x + y * y
    if (s >= 1 || s === 0) continue
    const factor = Math.sqrt((-2 * Math.log(s)) / s)
    self.gaussian = y * factor
    return x * factor
  }
}
defineClass('java.util.Random', {
  constructors: {
    '()': () => randomOf(randomBytes(8).readBigInt64BE()),
    '(long)': randomOf,
  },
  methods: {
    'boolean nextBoolean()': (self: Random) => nextBits(self, 1) !== 0,
    'double nextDouble()': nextDouble,
    'float nextFloat()': (self: Random) => nextBits(self, 24) / 2 ** 24,
    'double nextGaussian()': nextGaussian,
    'int nextInt()': (self: Random) => nextBits(self, 32),
    'int nextInt(int)': nextInt,
    'long nextLong()': (self: Random) =>
      BigInt.asIntN(64, (BigInt(nextBits(self, 32)) << 32n) + BigInt(nextBits(self, 32))),
    'void setSeed(long)': (self: Random, seed: bigint) => {
      self.seed = (seed ^ multiplier) & mask
      self.gaussian = undefined
    },
    'void nextBytes(byte[])': (self: Random, { items }: { items: unknown[] }) => {
      for (let at = 0; at < items.length; )
        for (let bits = nextBits(self, 32), left = 4; left-- > 0 && at < items.length; bits >>= 8)
          items[at++] = (bits << 24) >> 24
    },
  },
})

function shuffle(list: List, random: Random): void {
  changeList(list)
  for (let index = list.length; index > 1; index--) {
    const other = nextInt(random, index)
    ;[list[index - 1], list[other]] = [list[other], list[index - 1]]
  }
}
const startsAt = (list: List, part: List, at: number): boolean => {
  steps(1 + part.length)
  return part.every((item, index) => equal(item, list[at + index]))
}
const positions = (list: List, part: List): number[] =>
  Array.from({ length: Math.max(0, list.length - part.length + 1) }, (_, at) => at)

const readOnly = { readOnly: true }
const emptySet = () =>
  mark(new Set<unknown>(), { ...readOnly, javaClass: 'java.util.TreeSet', compare: compareNatural })
const emptyMap = () =>
  mark(new Map<unknown, unknown>(), { ...readOnly, javaClass: 'java.util.TreeMap', compare: compareNatural })
const lockedSet = (set: JavaSet): JavaSet => mark(new Set(sortedItems(set)), { ...marksOf(set), ...readOnly })
const lockedMap = (map: JavaMap): JavaMap => {
  const copy: JavaMap = new Map()
  for (const key of keysOf(map)) putEntry(copy, key, map.get(key))
  return mark(copy, { ...marksOf(map), ...readOnly })
}
const sorted: Methods = {}
for (const name of ['Sorted', 'Navigable']) {
  sorted[`static ${name}Map empty${name}Map()`] = emptyMap
  sorted[`static ${name}Set empty${name}Set()`] = emptySet
  sorted[`static ${name}Map unmodifiable${name}Map(${name}Map)`] = lockedMap
  sorted[`static ${name}Set unmodifiable${name}Set(${name}Set)`] = lockedSet
}
defineClass('java.util.Collections', {
  methods: {
    ...sorted,
    'static boolean addAll(Collection,Object)': (collection: unknown, items: unknown) => {
      const target = collection as List | JavaSet
      const before = itemsOf(target).length
      for (const item of isJavaArray(items) ? items.items : itemsOf(items)) {
        if (target instanceof Set) addItem(target, item)
        else {
          growList(target)
          target.push(item)
        }
      }
      return itemsOf(target).length !== before
    },
    'static void copy(List,List)': (to: List, from: List) => {
      if (from.length > to.length) throw indexOutOfBounds(from.length, to.length)
      steps(1 + from.length)
      changeList(to)
      for (const [index, item] of from.entries()) to[index] = item
    },
    'static Iterator emptyIterator()': () => iteratorOf([]),
    'static ListIterator emptyListIterator()': () => iteratorOf([]),
    'static Enumeration emptyEnumeration()': () => enumerationOf([]),
    'static Enumeration enumeration(Collection)': (items: unknown) => enumerationOf(itemsOf(items)),
    'static ArrayList list(Enumeration)': (enumeration: Iteration) => {
      allocate(16 * enumeration.items.length)
      return enumeration.items.slice(enumeration.next)
    },
    'static int indexOfSubList(List,List)': (list: List, part: List) =>
      positions(list, part).find((at) => startsAt(list, part, at)) ?? -1,
    'static int lastIndexOfSubList(List,List)': (list: List, part: List) =>
      positions(list, part).findLast((at) => startsAt(list, part, at)) ?? -1,
    'static void shuffle(List)': (list: List) => shuffle(list, randomOf(randomBytes(8).readBigInt64BE())),
    'static void shuffle(List,Random)': shuffle,
  },
})

const enumerationOf = (items: unknown[]): Iteration => ({ ...iteratorOf(items), javaClass: 'java.util.Enumeration' })
defineClass('java.util.Enumeration', {
  methods: {
    'boolean hasMoreElements()': (self: Iteration) => self.next < self.items.length,
    'def nextElement()': (self: Iteration) => {
      if (self.next >= self.items.length) throw noSuchElement('The enumeration has no more elements.')
      return self.items[self.next++]
    },
  },
})

const listOf = (self: Iteration): List => {
  if (!self.remove) throw unsupported('the iterator is read-only')
  changeList(self.items)
  return self.items
}
defineClass('java.util.ListIterator', {
  methods: {
    'void add(def)': (self: Iteration, item: unknown) => {
      growList(listOf(self))
      self.items.splice(self.next++, 0, item)
    },
    'void set(def)': (self: Iteration, item: unknown) => {
      listOf(self)[self.next - 1] = item
    },
  },
})
defineClass('java.util.List', {
  methods: {
    'ListIterator listIterator(int)': (self: List, from: number) => {
      if (from < 0 || from > self.length) throw indexOutOfBounds(from, self.length)
      const iterator: Iteration = iteratorOf(self, (_item, index) => {
        changeList(self)
        self.splice(index, 1)
        iterator.next = index
      })
      iterator.next = from
      return iterator
    },
  },
})
const at = (self: List, index: number): number => {
  if (index < 0 || index >= self.length) throw indexOutOfBounds(index, self.length)
  changeList(self)
  return index
}
listClass('Vector', ['java.util.AbstractList'], {
  'Enumeration elements()': (self: List) => enumerationOf(self),
  'void insertElementAt(def,int)': (self: List, item: unknown, index: number) => {
    growList(self)
    self.splice(index === self.length ? index : at(self, index), 0, item)
  },
  'void removeAllElements()': (self: List) => void self.splice(0),
  'boolean removeElement(def)': (self: List, item: unknown) =>
    removeFound(
      self,
      self.findIndex((other) => equal(item, other)),
    ),
  'void removeElementAt(int)': (self: List, index: number) => void self.splice(at(self, index), 1),
  'void setElementAt(def,int)': (self: List, item: unknown, index: number) => {
    self[at(self, index)] = item
  },
  'def clone()': (self: List) => mark([...self], { javaClass: 'java.util.Vector' }),
})
