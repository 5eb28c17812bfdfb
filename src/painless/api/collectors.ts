import { addItem, getEntry, hasKey, putEntry } from '../collections.ts'
import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'
import { allocateText } from '../meter.ts'
import { textOf } from '../text.ts'
import { boxDouble, mark } from '../values.ts'
import { asBoolean, asDouble, asInt, asLong, comparing, type Fn, type JavaMap, type JavaSet } from './helpers.ts'
import { type NumberStream, optional, statistics } from './optionals.ts'
import type { Collector } from './streams.ts'

const same = (container: unknown): unknown => container

function collector(
  supply: () => unknown,
  accumulate: (container: never, item: unknown) => unknown,
  finish: (container: never) => unknown = same as never,
): Collector {
  return {
    javaClass: 'java.util.stream.Collector',
    supply,
    accumulate: accumulate as Collector['accumulate'],
    finish: finish as Collector['finish'],
  }
}

const toList = (finish: (items: unknown[]) => unknown = same): Collector => collector(() => [], append as never, finish)

const append = (target: unknown, item: unknown): unknown => {
  if (target instanceof Set) addItem(target, item)
  else (target as unknown[]).push(item)
  return target
}

function grouping(key: Fn, supply: () => unknown, inner: Collector): Collector {
  return collector(
    supply,
    (groups: JavaMap, item) => {
      const name = key(item)
      const container = hasKey(groups, name) ? getEntry(groups, name) : inner.supply()
      putEntry(groups, name, inner.accumulate(container, item))
      return groups
    },
    (groups: JavaMap) => {
      for (const [name, container] of [...groups]) groups.set(name, inner.finish(container))
      return groups
    },
  )
}

const partitioning = (test: Fn, inner: Collector): Collector =>
  grouping(
    (item) => asBoolean(test(item)),
    () =>
      new Map([
        [false, inner.supply()],
        [true, inner.supply()],
      ]),
    inner,
  )

function toMap(key: Fn, value: Fn, merge: Fn | undefined, supply: () => unknown): Collector {
  return collector(supply, (map: JavaMap, item) => {
    const name = key(item)
    if (hasKey(map, name)) {
      if (!merge) throw new JavaThrow('java.lang.IllegalStateException', `Duplicate key ${textOf(name)}`)
      putEntry(map, name, merge(getEntry(map, name), value(item)))
    } else putEntry(map, name, value(item))
    return map
  })
}

const joining = (delimiter: string, prefix: string, suffix: string): Collector =>
  toList((items) => {
    const parts = items.map((item) => textOf(item))
    allocateText(parts.reduce((sum, part) => sum + part.length + delimiter.length, prefix.length + suffix.length))
    return prefix + parts.join(delimiter) + suffix
  })

const unboxers = { Int: asInt, Long: asLong, Double: asDouble }
type Statistics = ReturnType<typeof statistics>

const numbers = (kind: NumberStream, by: Fn, finish: (result: Statistics) => unknown): Collector =>
  toList((items) =>
    finish(
      statistics(
        kind,
        items.map((item) => unboxers[kind](by(item))),
      ),
    ),
  )

const average = (result: Statistics): unknown => boxDouble((result.average.value as number | null) ?? 0)
const total = (kind: NumberStream) => (result: Statistics) =>
  kind === 'Double' ? boxDouble(result.sum as number) : result.sum

const extreme = (by: Fn, sign: number): Collector => {
  const compare = comparing(by)
  return toList((items) =>
    optional(items.length === 0 ? null : items.reduce((best, item) => (compare(item, best) * sign > 0 ? item : best))),
  )
}

const newSet = (): JavaSet => new Set()
const newMap = (): JavaMap => new Map()
const list = toList()

defineClass('java.util.stream.Collector', {})
defineClass('java.util.stream.Collectors', {
  methods: {
    'static Collector averagingDouble(ToDoubleFunction)': (by: Fn) => numbers('Double', by, average),
    'static Collector averagingInt(ToIntFunction)': (by: Fn) => numbers('Int', by, average),
    'static Collector averagingLong(ToLongFunction)': (by: Fn) => numbers('Long', by, average),
    'static Collector collectingAndThen(Collector,Function)': (inner: Collector, then: Fn) =>
      collector(inner.supply, inner.accumulate as never, (container) => then(inner.finish(container))),
    'static Collector counting()': () =>
      collector(
        () => 0n,
        (count: bigint) => count + 1n,
      ),
    'static Collector filtering(Predicate,Collector)': (test: Fn, inner: Collector) =>
      collector(
        inner.supply,
        (container: unknown, item) => (asBoolean(test(item)) ? inner.accumulate(container, item) : container),
        inner.finish as never,
      ),
    'static Collector groupingBy(Function)': (key: Fn) => grouping(key, newMap, list),
    'static Collector groupingBy(Function,Collector)': (key: Fn, inner: Collector) => grouping(key, newMap, inner),
    'static Collector groupingBy(Function,Supplier,Collector)': (key: Fn, supply: Fn, inner: Collector) =>
      grouping(key, supply, inner),
    'static Collector joining()': () => joining('', '', ''),
    'static Collector joining(CharSequence)': (delimiter: unknown) => joining(textOf(delimiter), '', ''),
    'static Collector joining(CharSequence,CharSequence,CharSequence)': (
      delimiter: unknown,
      prefix: unknown,
      suffix: unknown,
    ) => joining(textOf(delimiter), textOf(prefix), textOf(suffix)),
    'static Collector mapping(Function,Collector)': (by: Fn, inner: Collector) =>
      collector(
        inner.supply,
        (container: unknown, item) => inner.accumulate(container, by(item)),
        inner.finish as never,
      ),
    'static Collector maxBy(Comparator)': (by: Fn) => extreme(by, 1),
    'static Collector minBy(Comparator)': (by: Fn) => extreme(by, -1),
    'static Collector partitioningBy(Predicate)': (test: Fn) => partitioning(test, list),
    'static Collector partitioningBy(Predicate,Collector)': partitioning,
    'static Collector reducing(def,BinaryOperator)': (start: unknown, by: Fn) =>
      collector(
        () => start,
        (result: unknown, item) => by(result, item),
      ),
    'static Collector reducing(def,Function,BinaryOperator)': (start: unknown, key: Fn, by: Fn) =>
      collector(
        () => start,
        (result: unknown, item) => by(result, key(item)),
      ),
    'static Collector summarizingDouble(ToDoubleFunction)': (by: Fn) => numbers('Double', by, ({ summary }) => summary),
    'static Collector summarizingInt(ToIntFunction)': (by: Fn) => numbers('Int', by, ({ summary }) => summary),
    'static Collector summarizingLong(ToLongFunction)': (by: Fn) => numbers('Long', by, ({ summary }) => summary),
    'static Collector summingDouble(ToDoubleFunction)': (by: Fn) => numbers('Double', by, total('Double')),
    'static Collector summingInt(ToIntFunction)': (by: Fn) => numbers('Int', by, total('Int')),
    'static Collector summingLong(ToLongFunction)': (by: Fn) => numbers('Long', by, total('Long')),
    'static Collector toCollection(Supplier)': (supply: Fn) => collector(supply, append),
    'static Collector toList()': () => list,
    'static Collector toMap(Function,Function)': (key: Fn, value: Fn) => toMap(key, value, undefined, newMap),
    'static Collector toMap(Function,Function,BinaryOperator)': (key: Fn, value: Fn, merge: Fn) =>
      toMap(key, value, merge, newMap),
    'static Collector toMap(Function,Function,BinaryOperator,Supplier)': (key: Fn, value: Fn, merge: Fn, supply: Fn) =>
      toMap(key, value, merge, supply),
    'static Collector toSet()': () => collector(newSet, append),
    'static Collector toUnmodifiableList()': () => toList((items) => mark(items, { readOnly: true })),
  },
})
