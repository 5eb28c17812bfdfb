import {
  addItem,
  changeList,
  clearEntries,
  growList,
  hasKey,
  putEntry,
  removeItem,
  sortedItems,
} from '../collections.ts'
import { defineClass, type Methods } from '../define.ts'
import { writeItem } from '../dynamic.ts'
import { compareNatural, equal } from '../equality.ts'
import { indexOutOfBounds, JavaThrow, unsupported } from '../errors.ts'
import { allocate, step, steps } from '../meter.ts'
import { joinTexts, textOf } from '../text.ts'
import { isJavaArray, type JavaArray, type JavaObject, mark } from '../values.ts'
import {
  asBoolean,
  asDouble,
  type Compare,
  comparing,
  type Fn,
  type JavaSet,
  type List,
  noSuchElement,
} from './helpers.ts'
import { getByPath } from './paths.ts'

/** An Iterator or ListIterator over `items`. `next` is the index of the next element. */
export interface Iteration extends JavaObject {
  items: unknown[]
  next: number
  remove?: ((item: unknown, index: number) => void) | undefined
}

export const iteratorOf = (items: unknown[], remove?: Iteration['remove']): Iteration => ({
  javaClass: 'java.util.ListIterator',
  items,
  next: 0,
  remove,
})

/** Returns the elements of a List, Set, Deque or another Iterable. */
export function itemsOf(collection: unknown): unknown[] {
  if (Array.isArray(collection)) {
    steps(collection.length >> 6)
    return collection
  }
  if (collection instanceof Set) return sortedItems(collection)
  const iterateItems = (collection as { iterate?: () => Iterable<unknown> } | null)?.iterate
  if (iterateItems) return [...iterateItems.call(collection)]
  throw new JavaThrow('java.lang.NullPointerException', 'the collection is null')
}

/** Returns an iterator over a list. Its `remove` removes the element from the list, so the position of the iterator moves back. */
function liveIterator(list: List): Iteration {
  const iterator = iteratorOf(list, (_item, index) => {
    changeList(list)
    list.splice(index, 1)
    iterator.next = index
  })
  return iterator
}

function nextOf(self: Iteration): unknown {
  step()
  if (self.next >= self.items.length) throw noSuchElement('The iterator has no more elements.')
  return self.items[self.next++]
}

defineClass('java.util.Iterator', {
  methods: {
    'boolean hasNext()': (self: Iteration) => self.next < self.items.length,
    'def next()': nextOf,
    'void forEachRemaining(Consumer)': (self: Iteration, action: Fn) => {
      while (self.next < self.items.length) action(nextOf(self))
    },
    'void remove()': (self: Iteration) => {
      if (!self.remove) throw unsupported('remove')
      self.remove(self.items[self.next - 1], self.next - 1)
    },
  },
})
defineClass('java.util.ListIterator', {
  supers: ['java.util.Iterator'],
  methods: {
    'boolean hasPrevious()': (self: Iteration) => self.next > 0,
    'int nextIndex()': (self: Iteration) => self.next,
    'int previousIndex()': (self: Iteration) => self.next - 1,
    'def previous()': (self: Iteration) => {
      if (self.next === 0) throw noSuchElement('The iterator has no previous element.')
      return self.items[--self.next]
    },
  },
})

export const add = (self: List | JavaSet, item: unknown): boolean => {
  step()
  if (self instanceof Set) return addItem(self, item)
  growList(self)
  self.push(item)
  return true
}

const contains = (self: unknown, item: unknown): boolean =>
  self instanceof Set ? hasKey(self, item) : indexIn(itemsOf(self), item) >= 0

function indexIn(list: unknown[], item: unknown): number {
  steps(1 + (list.length >> 3))
  return typeof item === 'object' && item !== null ? list.findIndex((other) => equal(item, other)) : list.indexOf(item)
}

/** Keeps the elements that pass a test. Returns whether any element was removed. */
function keep(self: List | JavaSet, test: (item: unknown) => boolean): boolean {
  const before = itemsOf(self).length
  steps(1 + (before >> 3))
  if (self instanceof Set) for (const item of [...self]) !test(item) && removeItem(self, item)
  else {
    changeList(self)
    const kept = self.filter(test)
    self.length = 0
    for (const item of kept) self.push(item)
  }
  return itemsOf(self).length !== before
}

function removeOne(self: List | JavaSet, item: unknown): boolean {
  if (self instanceof Set) return removeItem(self, item)
  changeList(self)
  const index = indexIn(self, item)
  if (index >= 0) self.splice(index, 1)
  return index >= 0
}

const arrayFrom = (self: unknown, elementType = 'def'): JavaArray => {
  const items = itemsOf(self)
  allocate(16 * items.length)
  return { elementType, items: [...items] }
}

const found = (self: unknown, test: Fn): unknown => itemsOf(self).find((item) => asBoolean(test(item)))
const stream = (self: unknown) => ({ javaClass: 'java.util.stream.Stream', items: itemsOf(self) })
export const copyAll = (items: unknown[]): unknown[] => {
  allocate(32 + 16 * items.length)
  return [...items]
}

/** Methods that the Painless language adds to every collection. */
const augmented: Methods = {
  'boolean any(Predicate)': (self: unknown, test: Fn) => itemsOf(self).some((item) => asBoolean(test(item))),
  'Collection asCollection()': (self: unknown) => self,
  'List asList()': (self: unknown) => (Array.isArray(self) ? self : copyAll(itemsOf(self))),
  'List collect(Function)': (self: unknown, by: Fn) => copyAll(itemsOf(self)).map((item) => by(item)),
  'def collect(Collection,Function)': (self: unknown, into: List | JavaSet, by: Fn) => {
    for (const item of copyAll(itemsOf(self))) add(into, by(item))
    return into
  },
  'int count(Predicate)': (self: unknown, test: Fn) => itemsOf(self).filter((item) => asBoolean(test(item))).length,
  'def each(Consumer)': (self: unknown, action: Fn) => {
    for (const item of copyAll(itemsOf(self))) action(item)
    return self
  },
  'def eachWithIndex(ObjIntConsumer)': (self: unknown, action: Fn) => {
    for (const [index, item] of copyAll(itemsOf(self)).entries()) action(item, index)
    return self
  },
  'boolean every(Predicate)': (self: unknown, test: Fn) => itemsOf(self).every((item) => asBoolean(test(item))),
  'def find(Predicate)': (self: unknown, test: Fn) => found(self, test) ?? null,
  'List findAll(Predicate)': (self: unknown, test: Fn) =>
    copyAll(itemsOf(self)).filter((item) => asBoolean(test(item))),
  'def findResult(Function)': (self: unknown, by: Fn) => firstResult(self, by, null),
  'def findResult(def,Function)': (self: unknown, fallback: unknown, by: Fn) => firstResult(self, by, fallback),
  'List findResults(Function)': (self: unknown, by: Fn) =>
    copyAll(itemsOf(self))
      .map((item) => by(item))
      .filter((item) => item !== null),
  'Map groupBy(Function)': (self: unknown, by: Fn) => {
    const groups = mark(new Map<unknown, unknown>(), { javaClass: 'java.util.LinkedHashMap' })
    for (const item of copyAll(itemsOf(self))) {
      const key = by(item)
      const group = groups.get(key) as unknown[] | undefined
      if (group) group.push(item)
      else putEntry(groups, key, [item])
    }
    return groups
  },
  'String join(String)': (self: unknown, delimiter: string) =>
    joinTexts(
      itemsOf(self).map((item) => textOf(item)),
      delimiter,
    ),
  'double sum()': (self: unknown) => itemsOf(self).reduce((sum: number, item) => sum + asDouble(item), 0),
  'double sum(ToDoubleFunction)': (self: unknown, by: Fn) =>
    itemsOf(self).reduce((sum: number, item) => sum + asDouble(by(item)), 0),
  'List split(Predicate)': (self: unknown, test: Fn) => {
    const halves: [unknown[], unknown[]] = [[], []]
    for (const item of copyAll(itemsOf(self))) halves[asBoolean(test(item)) ? 0 : 1].push(item)
    return halves
  },
}

function firstResult(self: unknown, by: Fn, fallback: unknown): unknown {
  for (const item of itemsOf(self)) {
    const result = by(item)
    if (result !== null) return result
  }
  return fallback
}

defineClass('java.util.Collection', {
  supers: ['java.lang.Iterable'],
  methods: {
    ...augmented,
    'boolean add(def)': add,
    'boolean addAll(Collection)': (self: List | JavaSet, other: unknown) =>
      copyAll(itemsOf(other)).filter((item) => add(self, item)).length > 0,
    'void clear()': (self: List | JavaSet) => {
      if (self instanceof Set) clearEntries(self)
      else {
        changeList(self)
        self.length = 0
      }
    },
    'boolean contains(def)': contains,
    'boolean containsAll(Collection)': (self: unknown, other: unknown) =>
      itemsOf(other).every((item) => contains(self, item)),
    'boolean isEmpty()': (self: unknown) => itemsOf(self).length === 0,
    'Iterator iterator()': (self: List | JavaSet) =>
      Array.isArray(self)
        ? liveIterator(self)
        : iteratorOf(copyAll(itemsOf(self)), (item) => void removeOne(self, item)),
    'boolean remove(def)': removeOne,
    'boolean removeAll(Collection)': (self: List | JavaSet, other: unknown) =>
      keep(self, (item) => !contains(other, item)),
    'boolean removeIf(Predicate)': (self: List | JavaSet, test: Fn) => keep(self, (item) => !asBoolean(test(item))),
    'boolean retainAll(Collection)': (self: List | JavaSet, other: unknown) =>
      keep(self, (item) => contains(other, item)),
    'int size()': (self: unknown) => itemsOf(self).length,
    'Stream stream()': stream,
    'def[] toArray()': (self: unknown) => arrayFrom(self),
    'def[] toArray(def[])': (self: unknown, like: JavaArray) =>
      arrayFrom(self, isJavaArray(like) ? like.elementType : 'def'),
  },
})

const checkIndex = (list: List, index: number, end = list.length): number => {
  if (index < 0 || index >= end) throw indexOutOfBounds(index, list.length)
  return index
}

export function sortList(list: List, compare: Compare): void {
  changeList(list)
  steps(list.length)
  list.sort(compare)
}

/** Removes the element at an index. As in Java, `remove` of a list takes an index if its argument is an int. */
export function removeAt(self: List, index: number): unknown {
  changeList(self)
  steps(1 + (self.length >> 5))
  return self.splice(checkIndex(self, index), 1)[0]
}

defineClass('java.util.List', {
  supers: ['java.util.Collection'],
  methods: {
    'boolean isEmpty()': (self: List) => self.length === 0,
    'int size()': (self: List) => self.length,
    'void add(int,def)': (self: List, index: number, item: unknown) => {
      growList(self)
      steps(1 + (self.length >> 5))
      self.splice(checkIndex(self, index, self.length + 1), 0, item)
    },
    'boolean addAll(int,Collection)': (self: List, index: number, other: unknown) => {
      const items = copyAll(itemsOf(other))
      growList(self, items.length)
      steps(items.length + (self.length >> 5))
      const tail = self.splice(checkIndex(self, index, self.length + 1))
      for (const item of [...items, ...tail]) self.push(item)
      return items.length > 0
    },
    'def get(int)': (self: List, index: number) => self[checkIndex(self, index)],
    'int getLength()': (self: List) => self.length,
    'def getByPath(String)': (self: List, path: string) => getByPath(self, path, undefined),
    'def getByPath(String,def)': (self: List, path: string, fallback: unknown) => getByPath(self, path, () => fallback),
    'int indexOf(def)': (self: List, item: unknown) => indexIn(self, item),
    'int lastIndexOf(def)': (self: List, item: unknown) => {
      steps(1 + (self.length >> 3))
      return self.findLastIndex((other) => equal(item, other))
    },
    'ListIterator listIterator()': (self: List) => liveIterator(self),
    'def remove(int)': removeAt,
    'void replaceAll(UnaryOperator)': (self: List, by: Fn) => {
      changeList(self)
      for (let index = 0; index < self.length; index++) self[index] = by(self[index])
    },
    'def set(int,def)': (self: List, index: number, item: unknown) => {
      const former = self[checkIndex(self, index)]
      writeItem(self, index, item)
      return former
    },
    'void sort(Comparator)': (self: List, comparator: Fn | null) =>
      sortList(self, comparator ? comparing(comparator) : compareNatural),
    'List subList(int,int)': (self: List, start: number, end: number) => {
      if (start < 0 || end > self.length || start > end) throw indexOutOfBounds(start < 0 ? start : end, self.length)
      return mark(copyAll(self.slice(start, end)), { readOnly: true })
    },
    'static List of()': () => mark([], { readOnly: true }),
    'static List of(def)': (item: unknown) => mark([item], { readOnly: true }),
    'static List of(def,def)': (one: unknown, two: unknown) => mark([one, two], { readOnly: true }),
    'static List of(def,def,def)': (...items: unknown[]) => mark(items, { readOnly: true }),
    'static List copyOf(Collection)': (other: unknown) => mark(copyAll(itemsOf(other)), { readOnly: true }),
  },
})

const copyOf = (other: unknown): unknown[] => copyAll(itemsOf(other))

/** Defines a list class that differs from ArrayList only by its name and methods. */
export const listClass = (name: string, supers: string[], methods: Methods = {}): void =>
  defineClass(`java.util.${name}`, {
    supers,
    constructors: {
      '()': () => {
        allocate(32)
        return name === 'ArrayList' ? [] : mark([], { javaClass: `java.util.${name}` })
      },
      '(def)': (from: unknown) => {
        const items = typeof from === 'number' ? [] : copyOf(from)
        return name === 'ArrayList' ? items : mark(items, { javaClass: `java.util.${name}` })
      },
    },
    methods,
  })

defineClass('java.util.AbstractList', { supers: ['java.util.List'] })
defineClass('java.util.RandomAccess', {})
listClass('ArrayList', ['java.util.AbstractList', 'java.util.RandomAccess'], {
  'void trimToSize()': () => undefined,
  'void ensureCapacity(int)': () => undefined,
  'def clone()': copyOf,
})
