import { addItem } from '../collections.ts'
import { defineClass, type Methods } from '../define.ts'
import { compareNatural } from '../equality.ts'
import { JavaThrow } from '../errors.ts'
import { allocate, step } from '../meter.ts'
import { boxDouble, isJavaArray, type JavaArray, type JavaObject } from '../values.ts'
import { asBoolean, asDouble, asInt, asLong, comparing, type Fn, type JavaSet } from './helpers.ts'
import { iteratorOf } from './lists.ts'
import { type NumberStream, optional, optionalNumber, statistics } from './optionals.ts'

/** A stream. Its items are computed when they are read, so that endless streams can be limited. */
export interface Stream extends JavaObject {
  items: Iterable<unknown>
}

const packageName = 'java.util.stream.'

function* mapped(items: Iterable<unknown>, by: (item: unknown) => unknown): Iterable<unknown> {
  for (const item of items) {
    step()
    yield by(item)
  }
}
function* peeked(items: Iterable<unknown>, by: (item: unknown) => unknown): Iterable<unknown> {
  for (const item of items) {
    step()
    by(item)
    yield item
  }
}
function* filtered(items: Iterable<unknown>, test: (item: unknown) => boolean): Iterable<unknown> {
  for (const item of items) {
    step()
    if (test(item)) yield item
  }
}
function* limited(items: Iterable<unknown>, count: bigint): Iterable<unknown> {
  let left = count
  if (left <= 0n) return
  for (const item of items) {
    yield item
    if (--left <= 0n) return
  }
}
function* skipped(items: Iterable<unknown>, count: bigint): Iterable<unknown> {
  let left = count
  for (const item of items) if (left-- <= 0n) yield item
}
function* while_(items: Iterable<unknown>, test: (item: unknown) => boolean): Iterable<unknown> {
  for (const item of items) {
    if (!test(item)) return
    yield item
  }
}
function* after(items: Iterable<unknown>, test: (item: unknown) => boolean): Iterable<unknown> {
  let passed = false
  for (const item of items)
    if (passed || !test(item)) {
      passed = true
      yield item
    }
}
function* flattened(items: Iterable<unknown>, by: (item: unknown) => unknown): Iterable<unknown> {
  for (const item of items) {
    step()
    const inner = by(item) as Stream | null
    if (inner) yield* inner.items
  }
}
function* concatenated(first: Iterable<unknown>, second: Iterable<unknown>): Iterable<unknown> {
  yield* first
  yield* second
}
function* iterated(
  seed: unknown,
  next: (item: unknown) => unknown,
  test?: (item: unknown) => boolean,
): Iterable<unknown> {
  for (let item = seed; test?.(item) ?? true; item = next(item)) {
    step()
    yield item
  }
}
function* generated(supply: () => unknown): Iterable<unknown> {
  for (;;) {
    step()
    yield supply()
  }
}
function* range(from: bigint, to: bigint, long: boolean): Iterable<unknown> {
  for (let value = from; value < to; value++) {
    step()
    yield long ? value : Number(value)
  }
}

/** Reads all items of a stream. */
export function take(stream: Stream): unknown[] {
  const items: unknown[] = []
  for (const item of stream.items) {
    step()
    allocate(16)
    items.push(item)
  }
  return items
}

const make = (name: string, items: Iterable<unknown>): Stream => ({ javaClass: packageName + name, items })

/** A kind of stream. Its items are raw values, but lambdas take and return references. */
interface Kind {
  name: string
  primitive: string
  box: (item: unknown) => unknown
  unbox: (item: unknown) => unknown
}

const same = (item: unknown): unknown => item
const kinds: Kind[] = [
  { name: 'Stream', primitive: 'def', box: same, unbox: same },
  { name: 'IntStream', primitive: 'int', box: same, unbox: asInt },
  { name: 'LongStream', primitive: 'long', box: same, unbox: asLong },
  { name: 'DoubleStream', primitive: 'double', box: (item) => boxDouble(item as number), unbox: asDouble },
]
const [objects, ints, longs, doubles] = kinds as [Kind, Kind, Kind, Kind]

function reduce(self: Stream, kind: Kind, start: unknown, by: Fn): unknown {
  let result: unknown = start
  for (const item of self.items) {
    step()
    result = result === undefined ? item : kind.unbox(by(kind.box(result), kind.box(item)))
  }
  return result
}

const distinct = (items: unknown[]): unknown[] => {
  const set: JavaSet = new Set()
  return items.filter((item) => addItem(set, item))
}

/** Methods that all four kinds of streams have, with the interfaces of their kind. */
function shared(kind: Kind): Methods {
  const { name, primitive: type, box, unbox } = kind
  const prefix = name.replace('Stream', '')
  const test = (by: Fn) => (item: unknown) => asBoolean(by(box(item)))
  const maybe = (value: unknown) => (kind === objects ? optional(value ?? null) : optionalNumber(prefix, value))
  const Optional = kind === objects ? 'Optional' : `Optional${prefix}`
  return {
    [`boolean allMatch(${prefix}Predicate)`]: (self: Stream, by: Fn) => take(self).every(test(by)),
    [`boolean anyMatch(${prefix}Predicate)`]: (self: Stream, by: Fn) =>
      [...limited(filtered(self.items, test(by)), 1n)].length > 0,
    [`boolean noneMatch(${prefix}Predicate)`]: (self: Stream, by: Fn) =>
      [...limited(filtered(self.items, test(by)), 1n)].length === 0,
    'long count()': (self: Stream) => BigInt(take(self).length),
    [`${name} distinct()`]: (self: Stream) => make(name, distinct(take(self))),
    [`${name} dropWhile(${prefix}Predicate)`]: (self: Stream, by: Fn) => make(name, after(self.items, test(by))),
    [`${name} takeWhile(${prefix}Predicate)`]: (self: Stream, by: Fn) => make(name, while_(self.items, test(by))),
    [`${name} filter(${prefix}Predicate)`]: (self: Stream, by: Fn) => make(name, filtered(self.items, test(by))),
    [`${Optional} findAny()`]: (self: Stream) => maybe([...limited(self.items, 1n)][0]),
    [`${Optional} findFirst()`]: (self: Stream) => maybe([...limited(self.items, 1n)][0]),
    [`${name} flatMap(${prefix}Function)`]: (self: Stream, by: Fn) =>
      make(
        name,
        flattened(self.items, (item) => by(box(item))),
      ),
    [`void forEach(${prefix}Consumer)`]: (self: Stream, by: Fn) => {
      for (const item of self.items) by(box(item))
    },
    [`void forEachOrdered(${prefix}Consumer)`]: (self: Stream, by: Fn) => {
      for (const item of self.items) by(box(item))
    },
    'Iterator iterator()': (self: Stream) => iteratorOf(take(self).map(box)),
    [`${name} limit(long)`]: (self: Stream, count: bigint) => make(name, limited(self.items, count)),
    [`${name} parallel()`]: (self: Stream) => self,
    [`${name} sequential()`]: (self: Stream) => self,
    'void close()': () => undefined,
    [`${name} peek(${prefix}Consumer)`]: (self: Stream, by: Fn) =>
      make(
        name,
        peeked(self.items, (item) => by(box(item))),
      ),
    [`${type} reduce(${type},${prefix}BinaryOperator)`]: (self: Stream, start: unknown, by: Fn) =>
      reduce(self, kind, start, by),
    [`${Optional} reduce(${prefix}BinaryOperator)`]: (self: Stream, by: Fn) => maybe(reduce(self, kind, undefined, by)),
    [`${name} skip(long)`]: (self: Stream, count: bigint) => make(name, skipped(self.items, count)),
    [`${name} sorted()`]: (self: Stream) => make(name, take(self).map(box).sort(compareNatural).map(unbox)),
    [`static ${name} concat(${name},${name})`]: (one: Stream, two: Stream) =>
      make(name, concatenated(one.items, two.items)),
    [`static ${name} empty()`]: () => make(name, []),
    [`static ${name} of(Object)`]: (value: unknown) =>
      make(name, isJavaArray(value) ? value.items.map(same) : [unbox(value)]),
    [`static ${name} generate(${prefix}Supplier)`]: (supply: Fn) =>
      make(
        name,
        generated(() => unbox(supply())),
      ),
    [`static ${name} iterate(${type},${prefix}UnaryOperator)`]: (seed: unknown, next: Fn) =>
      make(
        name,
        iterated(seed, (item) => unbox(next(box(item)))),
      ),
    [`static ${name} iterate(${type},${prefix}Predicate,${prefix}UnaryOperator)`]: (seed: unknown, by: Fn, next: Fn) =>
      make(
        name,
        iterated(seed, (item) => unbox(next(box(item))), test(by)),
      ),
  }
}

/** Converts a stream to another kind with a function. */
const converting = (from: Kind, to: Kind) => (self: Stream, by: Fn) =>
  make(
    to.name,
    mapped(self.items, (item) => to.unbox(by(from.box(item)))),
  )

/** Runs a mutable reduction with a supplier and an accumulator. */
function collectInto(self: Stream, box: (item: unknown) => unknown, supply: Fn, accumulate: Fn): unknown {
  const container = supply()
  for (const item of self.items) {
    step()
    accumulate(container, box(item))
  }
  return container
}

export interface Collector extends JavaObject {
  supply: () => unknown
  accumulate: (container: unknown, item: unknown) => unknown
  finish: (container: unknown) => unknown
}

/** Collects items. The accumulator of a collector returns the new container. */
export function collect(items: Iterable<unknown>, collector: Collector): unknown {
  let container = collector.supply()
  for (const item of items) {
    step()
    container = collector.accumulate(container, item)
  }
  return collector.finish(container)
}

const extreme = (self: Stream, by: Fn, sign: number): unknown => {
  const compare = comparing(by)
  const items = take(self)
  return items.length === 0 ? null : items.reduce((best, item) => (compare(item, best) * sign > 0 ? item : best))
}

defineClass('java.util.stream.BaseStream', {})
defineClass('java.util.stream.Stream', {
  supers: ['java.util.stream.BaseStream'],
  methods: {
    ...shared(objects),
    'def collect(Collector)': (self: Stream, collector: Collector) => collect(self.items, collector),
    'def collect(Supplier,BiConsumer,BiConsumer)': (self: Stream, supply: Fn, accumulate: Fn) =>
      collectInto(self, same, supply, accumulate),
    'DoubleStream flatMapToDouble(Function)': (self: Stream, by: Fn) =>
      make(
        'DoubleStream',
        flattened(self.items, (item) => by(item)),
      ),
    'IntStream flatMapToInt(Function)': (self: Stream, by: Fn) =>
      make(
        'IntStream',
        flattened(self.items, (item) => by(item)),
      ),
    'LongStream flatMapToLong(Function)': (self: Stream, by: Fn) =>
      make(
        'LongStream',
        flattened(self.items, (item) => by(item)),
      ),
    'Stream map(Function)': converting(objects, objects),
    'DoubleStream mapToDouble(ToDoubleFunction)': converting(objects, doubles),
    'IntStream mapToInt(ToIntFunction)': converting(objects, ints),
    'LongStream mapToLong(ToLongFunction)': converting(objects, longs),
    'Optional max(Comparator)': (self: Stream, by: Fn) => optional(extreme(self, by, 1)),
    'Optional min(Comparator)': (self: Stream, by: Fn) => optional(extreme(self, by, -1)),
    'def reduce(def,BiFunction,BinaryOperator)': (self: Stream, start: unknown, by: Fn) =>
      reduce(self, objects, start, by),
    'Stream sorted(Comparator)': (self: Stream, by: Fn) => make('Stream', take(self).sort(comparing(by))),
    'def[] toArray()': (self: Stream): JavaArray => ({ elementType: 'def', items: take(self) }),
    'def[] toArray(IntFunction)': (self: Stream, maker: Fn): JavaArray => {
      const items = take(self)
      const array = maker(items.length)
      if (!isJavaArray(array)) throw new JavaThrow('java.lang.ArrayStoreException', 'The function must make an array.')
      return { elementType: array.elementType, items }
    },
    'List toList()': (self: Stream) => take(self),
  },
})

function numeric(kind: Kind): Methods {
  const { name, primitive: type, box } = kind
  const prefix = name.replace('Stream', '')
  const others = [ints, longs, doubles].filter((other) => other !== kind)
  const methods: Methods = {
    [`${name} map(${prefix}UnaryOperator)`]: converting(kind, kind),
    [`Stream mapToObj(${prefix}Function)`]: converting(kind, objects),
    'OptionalDouble average()': (self: Stream) => statistics(prefix as NumberStream, take(self)).average,
    'Stream boxed()': (self: Stream) => make('Stream', mapped(self.items, box)),
    [`def collect(Supplier,Obj${prefix}Consumer,BiConsumer)`]: (self: Stream, supply: Fn, accumulate: Fn) =>
      collectInto(self, box, supply, accumulate),
    [`Optional${prefix} max()`]: (self: Stream) => statistics(prefix as NumberStream, take(self)).optionalMax,
    [`Optional${prefix} min()`]: (self: Stream) => statistics(prefix as NumberStream, take(self)).optionalMin,
    [`${type} sum()`]: (self: Stream) => statistics(prefix as NumberStream, take(self)).sum,
    [`${prefix}SummaryStatistics summaryStatistics()`]: (self: Stream) =>
      statistics(prefix as NumberStream, take(self)).summary,
    [`${type}[] toArray()`]: (self: Stream): JavaArray => ({ elementType: type, items: take(self) }),
  }
  for (const other of others) {
    const target = other.name.replace('Stream', '')
    methods[`${other.name} mapTo${target}(${prefix}To${target}Function)`] = converting(kind, other)
  }
  return methods
}

const asLongs = (self: Stream) =>
  make(
    'LongStream',
    mapped(self.items, (item) => BigInt(item as number)),
  )
const asDoubles = (self: Stream) =>
  make(
    'DoubleStream',
    mapped(self.items, (item) => Number(item)),
  )

defineClass('java.util.stream.IntStream', {
  supers: ['java.util.stream.BaseStream'],
  methods: {
    ...shared(ints),
    ...numeric(ints),
    'LongStream asLongStream()': asLongs,
    'DoubleStream asDoubleStream()': asDoubles,
    'static IntStream range(int,int)': (from: number, to: number) =>
      make('IntStream', range(BigInt(from), BigInt(to), false)),
    'static IntStream rangeClosed(int,int)': (from: number, to: number) =>
      make('IntStream', range(BigInt(from), BigInt(to) + 1n, false)),
  },
})
defineClass('java.util.stream.LongStream', {
  supers: ['java.util.stream.BaseStream'],
  methods: {
    ...shared(longs),
    ...numeric(longs),
    'DoubleStream asDoubleStream()': asDoubles,
    'static LongStream range(long,long)': (from: bigint, to: bigint) => make('LongStream', range(from, to, true)),
    'static LongStream rangeClosed(long,long)': (from: bigint, to: bigint) =>
      make('LongStream', range(from, to + 1n, true)),
  },
})
defineClass('java.util.stream.DoubleStream', {
  supers: ['java.util.stream.BaseStream'],
  methods: { ...shared(doubles), ...numeric(doubles) },
})

/** Returns an IntStream over integers. */
export const streamOfInts = (items: number[]): Stream => make('IntStream', items)

interface StreamBuilder extends JavaObject {
  items: unknown[]
  kind: string
}

for (const [name, type] of [
  ['Stream', 'def'],
  ['IntStream', 'int'],
  ['LongStream', 'long'],
  ['DoubleStream', 'double'],
] as const) {
  const builder = `${packageName}${name}.Builder`
  const push = (self: StreamBuilder, item: unknown): StreamBuilder => {
    allocate(16)
    self.items.push(item)
    return self
  }
  defineClass(builder, {
    methods: {
      [`void accept(${type})`]: (self: StreamBuilder, item: unknown) => void push(self, item),
      [`${name}.Builder add(${type})`]: push,
      [`${name} build()`]: (self: StreamBuilder) => make(name, self.items),
    },
  })
  defineClass(packageName + name, {
    methods: {
      [`static ${name}.Builder builder()`]: (): StreamBuilder => ({ javaClass: builder, items: [], kind: name }),
    },
  })
}
