import { addItem, clearEntries, getEntry, hasKey, keysOf, putEntry, removeEntry } from '../collections.ts'
import { defineClass, type Methods } from '../define.ts'
import { compareNatural, equal, keyText } from '../equality.ts'
import { unsupported } from '../errors.ts'
import { allocate } from '../meter.ts'
import { textOf } from '../text.ts'
import { type JavaObject, mark } from '../values.ts'
import { asBoolean, asDouble, type Fn, type JavaMap, type JavaSet, type List } from './helpers.ts'
import { add, itemsOf } from './lists.ts'
import { getByPath } from './paths.ts'

/** An entry of a map. `setValue` writes to the map from which the entry comes. */
export interface Entry extends JavaObject {
  key_: unknown
  map: JavaMap
  text: () => string
  equals: (other: unknown) => boolean
  key: () => string
}

export function entryOf(map: JavaMap, key: unknown): Entry {
  const value = () => getEntry(map, key)
  return {
    javaClass: 'java.util.Map.Entry',
    key_: key,
    map,
    text: () => `${textOf(key)}=${textOf(value())}`,
    equals: (other) =>
      (other as Entry).javaClass === 'java.util.Map.Entry' &&
      equal(key, (other as Entry).key_) &&
      equal(value(), getEntry((other as Entry).map, (other as Entry).key_)),
    key: () => `${keyText(key)}=${keyText(value())}`,
  }
}

const valueIn = (self: Entry): unknown => getEntry(self.map, self.key_)
const byValue =
  (pick: (entry: Entry) => unknown, comparator?: Fn): Fn =>
  (left, right) =>
    (comparator ?? compareNatural)(pick(left as Entry), pick(right as Entry))

defineClass('java.util.Map.Entry', {
  methods: {
    'def getKey()': (self: Entry) => self.key_,
    'def getValue()': valueIn,
    'def setValue(def)': (self: Entry, value: unknown) => putEntry(self.map, self.key_, value),
    'static Comparator comparingByKey()': () => byValue((entry) => entry.key_),
    'static Comparator comparingByKey(Comparator)': (comparator: Fn) => byValue((entry) => entry.key_, comparator),
    'static Comparator comparingByValue()': () => byValue(valueIn),
    'static Comparator comparingByValue(Comparator)': (comparator: Fn) => byValue(valueIn, comparator),
  },
})
defineClass('java.util.AbstractMap.SimpleEntry', {
  supers: ['java.util.Map.Entry'],
  constructors: { '(def,def)': (key: unknown, value: unknown) => entryOf(new Map([[key, value]]), key) },
})

export const asSet = (items: unknown[]): JavaSet => {
  allocate(32 * items.length)
  const set = new Set<unknown>()
  for (const item of items) addItem(set, item)
  return mark(set, { javaClass: 'java.util.LinkedHashSet' })
}

/** Marks a collection that scripts cannot change. */
const fixed = <T extends object>(value: T): T => mark(value, { readOnly: true })

const pairs = (map: JavaMap): [unknown, unknown][] => keysOf(map).map((key) => [key, getEntry(map, key)])
const filtered = (map: JavaMap, test: Fn): JavaMap => {
  const result: JavaMap = new Map()
  for (const [key, value] of pairs(map)) if (asBoolean(test(key, value))) putEntry(result, key, value)
  return result
}
const firstPair = (map: JavaMap, test: Fn): Entry | null => {
  const found = pairs(map).find(([key, value]) => asBoolean(test(key, value)))
  return found ? entryOf(map, found[0]) : null
}
const firstResult = (map: JavaMap, by: Fn, fallback: unknown): unknown => {
  for (const [key, value] of pairs(map)) {
    const result = by(key, value)
    if (result !== null) return result
  }
  return fallback
}

/** Methods that the Painless language adds to maps. */
const augmented: Methods = {
  'List collect(BiFunction)': (self: JavaMap, by: Fn) => pairs(self).map(([key, value]) => by(key, value)),
  'def collect(Collection,BiFunction)': (self: JavaMap, into: List | JavaSet, by: Fn) => {
    for (const [key, value] of pairs(self)) add(into, by(key, value))
    return into
  },
  'int count(BiPredicate)': (self: JavaMap, test: Fn) => filtered(self, test).size,
  'def each(BiConsumer)': (self: JavaMap, action: Fn) => {
    for (const [key, value] of pairs(self)) action(key, value)
    return self
  },
  'boolean every(BiPredicate)': (self: JavaMap, test: Fn) => filtered(self, test).size === self.size,
  'boolean any(BiPredicate)': (self: JavaMap, test: Fn) => firstPair(self, test) !== null,
  'Map.Entry find(BiPredicate)': firstPair,
  'Map findAll(BiPredicate)': filtered,
  'def findResult(BiFunction)': (self: JavaMap, by: Fn) => firstResult(self, by, null),
  'def findResult(def,BiFunction)': (self: JavaMap, fallback: unknown, by: Fn) => firstResult(self, by, fallback),
  'List findResults(BiFunction)': (self: JavaMap, by: Fn) =>
    pairs(self)
      .map(([key, value]) => by(key, value))
      .filter((item) => item !== null),
  'Map groupBy(BiFunction)': (self: JavaMap, by: Fn) => {
    const groups: JavaMap = new Map()
    for (const [key, value] of pairs(self)) {
      const name = by(key, value)
      let group = getEntry(groups, name) as JavaMap | null
      if (!group) {
        group = new Map()
        putEntry(groups, name, group)
      }
      putEntry(group, key, value)
    }
    return groups
  },
  'double sum(ToDoubleBiFunction)': (self: JavaMap, by: Fn) =>
    pairs(self).reduce((sum, [key, value]) => sum + asDouble(by(key, value)), 0),
  'def getByPath(String)': (self: JavaMap, path: string) => getByPath(self, path, undefined),
  'def getByPath(String,def)': (self: JavaMap, path: string, fallback: unknown) =>
    getByPath(self, path, () => fallback),
}

const compute = (self: JavaMap, key: unknown, value: unknown): unknown => {
  if (value === null) removeEntry(self, key)
  else putEntry(self, key, value)
  return value
}

const mapMethods: Methods = {
  ...augmented,
  'void clear()': clearEntries,
  'boolean containsKey(def)': hasKey,
  'boolean containsValue(def)': (self: JavaMap, value: unknown) =>
    [...self.values()].some((other) => equal(value, other)),
  'def compute(def,BiFunction)': (self: JavaMap, key: unknown, by: Fn) =>
    compute(self, key, by(key, getEntry(self, key))),
  'def computeIfAbsent(def,Function)': (self: JavaMap, key: unknown, by: Fn) => {
    const value = getEntry(self, key)
    return value !== null ? value : compute(self, key, by(key))
  },
  'def computeIfPresent(def,BiFunction)': (self: JavaMap, key: unknown, by: Fn) => {
    const value = getEntry(self, key)
    return value === null ? null : compute(self, key, by(key, value))
  },
  'Set entrySet()': (self: JavaMap) => viewOf(self, 'java.util.HashMap.EntrySet', (key) => entryOf(self, key)),
  'void forEach(BiConsumer)': (self: JavaMap, action: Fn) => {
    for (const [key, value] of pairs(self)) action(key, value)
  },
  'def get(def)': getEntry,
  'def getOrDefault(def,def)': (self: JavaMap, key: unknown, fallback: unknown) =>
    hasKey(self, key) ? getEntry(self, key) : fallback,
  'boolean isEmpty()': (self: JavaMap) => self.size === 0,
  'Set keySet()': (self: JavaMap) => keyView(self),
  'def merge(def,def,BiFunction)': (self: JavaMap, key: unknown, value: unknown, by: Fn) => {
    const former = getEntry(self, key)
    return compute(self, key, former === null ? value : by(former, value))
  },
  'def put(def,def)': putEntry,
  'void putAll(Map)': (self: JavaMap, other: JavaMap) => {
    for (const [key, value] of pairs(other)) putEntry(self, key, value)
  },
  'def putIfAbsent(def,def)': (self: JavaMap, key: unknown, value: unknown) => {
    const former = getEntry(self, key)
    if (former === null) putEntry(self, key, value)
    return former
  },
  'def remove(def)': removeEntry,
  'boolean remove(def,def)': (self: JavaMap, key: unknown, value: unknown) => {
    const match = hasKey(self, key) && equal(getEntry(self, key), value)
    if (match) removeEntry(self, key)
    return match
  },
  'def replace(def,def)': (self: JavaMap, key: unknown, value: unknown) =>
    hasKey(self, key) ? putEntry(self, key, value) : null,
  'boolean replace(def,def,def)': (self: JavaMap, key: unknown, from: unknown, to: unknown) => {
    const match = hasKey(self, key) && equal(getEntry(self, key), from)
    if (match) putEntry(self, key, to)
    return match
  },
  'void replaceAll(BiFunction)': (self: JavaMap, by: Fn) => {
    for (const [key, value] of pairs(self)) putEntry(self, key, by(key, value))
  },
  'int size()': (self: JavaMap) => self.size,
  'Collection values()': (self: JavaMap) => valueView(self),
  'static Map of()': () => fixed(new Map()),
  'static Map of(def,def)': (key: unknown, value: unknown) => fixed(new Map([[key, value]])),
  'static Map of(def,def,def,def)': (one: unknown, first: unknown, two: unknown, second: unknown) =>
    fixed(
      new Map([
        [one, first],
        [two, second],
      ]),
    ),
  'static Map copyOf(Map)': (other: JavaMap) => fixed(fill(new Map(), other)),
}

/**
 * Returns the methods of a view of a map's keys or values. `drop` removes the entry of an item from the map, because scripts usually remove
 * entries with `keySet().removeIf` and similar calls.
 */
const viewMethods = (drop: (view: ViewOf, item: unknown, index: number) => void): Methods => ({
  'boolean add(def)': () => {
    throw unsupported()
  },
  'void clear()': (self: ViewOf) => clearEntries(self.map),
  'boolean remove(def)': (self: ViewOf, item: unknown) => dropWhere(self, drop, (other) => equal(item, other), true),
  'boolean removeIf(Predicate)': (self: ViewOf, test: Fn) =>
    dropWhere(self, drop, (item) => asBoolean(test(item)), false),
  'boolean removeAll(Collection)': (self: ViewOf, other: unknown) => {
    const items = itemsOf(other)
    return dropWhere(self, drop, (item) => items.some((one) => equal(one, item)), false)
  },
  'boolean retainAll(Collection)': (self: ViewOf, other: unknown) => {
    const items = itemsOf(other)
    return dropWhere(self, drop, (item) => !items.some((one) => equal(one, item)), false)
  },
  'boolean contains(def)': (self: ViewOf, item: unknown) => self.iterate().some((other) => equal(item, other)),
  'int size()': (self: ViewOf) => self.map.size,
  'boolean isEmpty()': (self: ViewOf) => self.map.size === 0,
  'Iterator iterator()': (self: ViewOf) => {
    const items = self.iterate()
    return {
      javaClass: 'java.util.ListIterator',
      items,
      next: 0,
      remove: (item: unknown, index: number) => drop(self, item, index),
    }
  },
})

/** A view of the keys or values of a map. It reflects the current state of the map at each use. */
interface ViewOf extends JavaObject {
  map: JavaMap
  keys: unknown[]
  iterate: () => unknown[]
  text: () => string
  equals: (other: unknown) => boolean
  key: () => string
}

function viewOf(map: JavaMap, javaClass: string, pick: (key: unknown) => unknown): ViewOf {
  allocate(64)
  const iterate = () => {
    allocate(32 * map.size)
    return keysOf(map).map(pick)
  }
  return {
    javaClass,
    map,
    keys: keysOf(map),
    iterate,
    text: () => textOf(iterate()),
    equals: (other) => equal(asSet(iterate()), asSet(itemsOf(other))),
    key: () => keyText(asSet(iterate())),
  }
}

const keyView = (map: JavaMap): ViewOf => viewOf(map, 'java.util.HashMap.KeySet', (key) => key)
const valueView = (map: JavaMap): ViewOf => viewOf(map, 'java.util.HashMap.Values', (key) => getEntry(map, key))

function dropWhere(
  view: ViewOf,
  drop: (view: ViewOf, item: unknown, index: number) => void,
  test: (item: unknown) => boolean,
  once: boolean,
): boolean {
  let dropped = false
  for (const [index, item] of [...view.iterate()].entries()) {
    if (!test(item) || (once && dropped)) continue
    drop(view, item, index)
    dropped = true
  }
  return dropped
}

defineClass('java.util.HashMap.KeySet', {
  supers: ['java.util.Set'],
  methods: viewMethods((view, item) => void removeEntry(view.map, item)),
})
defineClass('java.util.HashMap.EntrySet', {
  supers: ['java.util.Set'],
  methods: viewMethods((view, item) => void removeEntry(view.map, (item as Entry).key_)),
})
defineClass('java.util.HashMap.Values', {
  supers: ['java.util.Collection'],
  methods: viewMethods((view, _item, index) => void removeEntry(view.map, view.keys[index])),
})

export function fill(map: JavaMap, other: JavaMap): JavaMap {
  for (const [key, value] of pairs(other)) putEntry(map, key, value)
  return map
}

defineClass('java.util.Map', { methods: mapMethods })
defineClass('java.util.AbstractMap', { supers: ['java.util.Map'] })
for (const name of ['HashMap', 'LinkedHashMap', 'Hashtable', 'IdentityHashMap', 'ConcurrentHashMap'])
  defineClass(name === 'ConcurrentHashMap' ? `java.util.concurrent.${name}` : `java.util.${name}`, {
    supers: name === 'LinkedHashMap' ? ['java.util.HashMap'] : ['java.util.AbstractMap'],
    constructors: {
      '()': () => newMap(name),
      '(def)': (from: unknown) => (from instanceof Map ? fill(newMap(name), from) : newMap(name)),
    },
    methods: { 'def clone()': (self: JavaMap) => fill(newMap(name), self) },
  })

function newMap(name: string): JavaMap {
  allocate(64)
  return name === 'HashMap' ? new Map() : mark(new Map(), { javaClass: `java.util.${name}` })
}
