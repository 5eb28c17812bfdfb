import { defineClass } from '../define.ts'
import { compareNatural } from '../equality.ts'
import { nullPointer } from '../errors.ts'
import { asBoolean, asDouble, asInt, asLong, type Fn } from './helpers.ts'

/* The functional interfaces. Their abstract method calls the lambda; the other methods combine lambdas. */

const functional = (
  name: string,
  signature: string,
  methods: Record<string, (...args: never[]) => unknown> = {},
): void => defineClass(`java.util.function.${name}`, { functional: signature, methods })

const after =
  (first: Fn, second: Fn): Fn =>
  (...args) =>
    second(first(...args))

/** Implements `andThen` of a consumer, which runs both consumers with the same arguments. */
const both =
  (first: Fn, second: Fn): Fn =>
  (...args) => {
    first(...args)
    second(...args)
  }

const compose = { andThen: after, compose: (self: Fn, before: Fn): Fn => after(before, self) }

functional('Function', 'def apply(def)', {
  'Function andThen(Function)': compose.andThen,
  'Function compose(Function)': compose.compose,
  'static Function identity()': () => (value: unknown) => value,
})
functional('BiFunction', 'def apply(def,def)', { 'BiFunction andThen(Function)': compose.andThen })
functional('UnaryOperator', 'def apply(def)', {
  'Function andThen(Function)': compose.andThen,
  'Function compose(Function)': compose.compose,
  'static UnaryOperator identity()': () => (value: unknown) => value,
})
functional('BinaryOperator', 'def apply(def,def)', {
  'BiFunction andThen(Function)': compose.andThen,
  'static BinaryOperator maxBy(Comparator)':
    (comparator: Fn): Fn =>
    (left, right) =>
      asInt(comparator(left, right)) >= 0 ? left : right,
  'static BinaryOperator minBy(Comparator)':
    (comparator: Fn): Fn =>
    (left, right) =>
      asInt(comparator(left, right)) <= 0 ? left : right,
})
functional('Supplier', 'def get()')
functional('BooleanSupplier', 'boolean getAsBoolean()')
functional('IntSupplier', 'int getAsInt()')
functional('LongSupplier', 'long getAsLong()')
functional('DoubleSupplier', 'double getAsDouble()')
functional('Consumer', 'void accept(def)', { 'Consumer andThen(Consumer)': both })
functional('BiConsumer', 'void accept(def,def)', { 'BiConsumer andThen(BiConsumer)': both })
functional('IntConsumer', 'void accept(int)', { 'IntConsumer andThen(IntConsumer)': both })
functional('LongConsumer', 'void accept(long)', { 'LongConsumer andThen(LongConsumer)': both })
functional('DoubleConsumer', 'void accept(double)', { 'DoubleConsumer andThen(DoubleConsumer)': both })
functional('ObjIntConsumer', 'void accept(def,int)')
functional('ObjLongConsumer', 'void accept(def,long)')
functional('ObjDoubleConsumer', 'void accept(def,double)')

for (const [name, parameters] of [
  ['Predicate', 'def'],
  ['BiPredicate', 'def,def'],
  ['IntPredicate', 'int'],
  ['LongPredicate', 'long'],
  ['DoublePredicate', 'double'],
])
  functional(name!, `boolean test(${parameters})`, {
    [`${name} and(${name})`]:
      (self: Fn, other: Fn): Fn =>
      (...args) =>
        asBoolean(self(...args)) && other(...args),
    [`${name} or(${name})`]:
      (self: Fn, other: Fn): Fn =>
      (...args) =>
        asBoolean(self(...args)) || other(...args),
    [`${name} negate()`]:
      (self: Fn): Fn =>
      (...args) =>
        !asBoolean(self(...args)),
  })

functional('ToIntFunction', 'int applyAsInt(def)')
functional('ToLongFunction', 'long applyAsLong(def)')
functional('ToDoubleFunction', 'double applyAsDouble(def)')
functional('ToIntBiFunction', 'int applyAsInt(def,def)')
functional('ToLongBiFunction', 'long applyAsLong(def,def)')
functional('ToDoubleBiFunction', 'double applyAsDouble(def,def)')
functional('IntFunction', 'def apply(int)')
functional('LongFunction', 'def apply(long)')
functional('DoubleFunction', 'def apply(double)')
for (const [kind, method] of [
  ['Int', 'int'],
  ['Long', 'long'],
  ['Double', 'double'],
]) {
  functional(`${kind}UnaryOperator`, `${method} applyAs${kind}(${method})`, {
    [`${kind}UnaryOperator andThen(${kind}UnaryOperator)`]: compose.andThen,
    [`${kind}UnaryOperator compose(${kind}UnaryOperator)`]: compose.compose,
    [`static ${kind}UnaryOperator identity()`]: () => (value: unknown) => value,
  })
  functional(`${kind}BinaryOperator`, `${method} applyAs${kind}(${method},${method})`)
}
functional('IntToLongFunction', 'long applyAsLong(int)')
functional('IntToDoubleFunction', 'double applyAsDouble(int)')
functional('LongToIntFunction', 'int applyAsInt(long)')
functional('LongToDoubleFunction', 'double applyAsDouble(long)')
functional('DoubleToIntFunction', 'int applyAsInt(double)')
functional('DoubleToLongFunction', 'long applyAsLong(double)')

const order = (left: number | bigint, right: number | bigint): number => (left < right ? -1 : left > right ? 1 : 0)

const byKey =
  (key: Fn, compare: Fn = compareNatural): Fn =>
  (left, right) =>
    compare(key(left), key(right))
const then =
  (first: Fn, second: Fn): Fn =>
  (left, right) => {
    const result = asInt(first(left, right))
    return result !== 0 ? result : second(left, right)
  }
const reverse =
  (comparator: Fn): Fn =>
  (left, right) =>
    comparator(right, left)
const nulls =
  (comparator: Fn | null, first: number): Fn =>
  (left, right) => {
    if (left === null || right === null) return left === right ? 0 : left === null ? first : -first
    return comparator ? comparator(left, right) : 0
  }
const byNumber =
  (key: Fn, unbox: (value: unknown) => number | bigint): Fn =>
  (left, right) =>
    order(unbox(key(left)), unbox(key(right)))

defineClass('java.util.Comparator', {
  functional: 'int compare(def,def)',
  methods: {
    'Comparator reversed()': reverse,
    'Comparator thenComparing(Comparator)': (self: Fn, next: Fn) => then(self, next.length === 1 ? byKey(next) : next),
    'Comparator thenComparing(Function,Comparator)': (self: Fn, key: Fn, next: Fn) => then(self, byKey(key, next)),
    'Comparator thenComparingInt(ToIntFunction)': (self: Fn, key: Fn) => then(self, byNumber(key, asInt)),
    'Comparator thenComparingLong(ToLongFunction)': (self: Fn, key: Fn) => then(self, byNumber(key, asLong)),
    'Comparator thenComparingDouble(ToDoubleFunction)': (self: Fn, key: Fn) => then(self, byNumber(key, asDouble)),
    'static Comparator comparing(Function)': (key: Fn) => byKey(key),
    'static Comparator comparing(Function,Comparator)': (key: Fn, comparator: Fn) => byKey(key, comparator),
    'static Comparator comparingInt(ToIntFunction)': (key: Fn) => byNumber(key, asInt),
    'static Comparator comparingLong(ToLongFunction)': (key: Fn) => byNumber(key, asLong),
    'static Comparator comparingDouble(ToDoubleFunction)': (key: Fn) => byNumber(key, asDouble),
    'static Comparator naturalOrder()': () => {
      const natural: Fn = (left, right) => {
        if (left === null || right === null) throw nullPointer('cannot compare null')
        return compareNatural(left, right)
      }
      ;(natural as { javaClass?: string }).javaClass = 'java.util.Comparator'
      return natural
    },
    'static Comparator reverseOrder()': () => reverse(compareNatural as Fn),
    'static Comparator nullsFirst(Comparator)': (comparator: Fn | null) => nulls(comparator, -1),
    'static Comparator nullsLast(Comparator)': (comparator: Fn | null) => nulls(comparator, 1),
  },
})
