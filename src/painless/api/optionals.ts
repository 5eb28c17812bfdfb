import { defineClass, type Methods } from '../define.ts'
import { equal, keyText } from '../equality.ts'
import { nullPointer } from '../errors.ts'
import { doubleText, textOf } from '../text.ts'
import { boxDouble, type JavaObject } from '../values.ts'
import { asBoolean, asDouble, asInt, asLong, type Fn, noSuchElement } from './helpers.ts'

export type NumberStream = 'Int' | 'Long' | 'Double'

interface Optional extends JavaObject {
  /** The value: a primitive value in OptionalInt, OptionalLong and OptionalDouble; null if the Optional is empty. */
  value: unknown
  text: () => string
  equals: (other: unknown) => boolean
  key: () => string
}

function make(kind: '' | NumberStream, value: unknown): Optional {
  const javaClass = `java.util.Optional${kind}`
  const shown = () => (kind === 'Double' ? doubleText(value as number) : textOf(value))
  return {
    javaClass,
    value,
    text: () => (value === null ? `Optional${kind}.empty` : `Optional${kind}[${shown()}]`),
    equals: (other) => (other as Optional).javaClass === javaClass && equal(value, (other as Optional).value),
    key: () => keyText(value),
  }
}

export const optional = (value: unknown): Optional => make('', value)
export const optionalNumber = (kind: string, value: unknown): Optional => make(kind as NumberStream, value ?? null)

const get = (self: Optional): unknown => {
  if (self.value === null) throw noSuchElement()
  return self.value
}

function common(kind: '' | NumberStream, type: string, box: (value: unknown) => unknown): Methods {
  const name = `Optional${kind}`
  const unbox = { '': (value: unknown) => value, Int: asInt, Long: asLong, Double: asDouble }[kind]
  return {
    [`${type} get${kind === '' ? '' : `As${kind}`}()`]: get,
    'boolean isPresent()': (self: Optional) => self.value !== null,
    'boolean isEmpty()': (self: Optional) => self.value === null,
    [`void ifPresent(${kind}Consumer)`]: (self: Optional, action: Fn) => {
      if (self.value !== null) action(box(self.value))
    },
    [`${type} orElse(${type})`]: (self: Optional, other: unknown) => self.value ?? other,
    [`${type} orElseGet(${kind}Supplier)`]: (self: Optional, supply: Fn) => self.value ?? unbox(supply()),
    [`${type} orElseThrow()`]: get,
    [`${type} orElseThrow(Supplier)`]: (self: Optional, supply: Fn) => {
      if (self.value === null) throw supply()
      return self.value
    },
    [`static ${name} empty()`]: () => make(kind, null),
    [`static ${name} of(${type})`]: (value: unknown) => {
      if (value === null) throw nullPointer('the value of an Optional is null')
      return make(kind, value)
    },
  }
}

defineClass('java.util.Optional', {
  methods: {
    ...common('', 'def', (value) => value),
    'Optional filter(Predicate)': (self: Optional, test: Fn) =>
      self.value !== null && asBoolean(test(self.value)) ? self : make('', null),
    'def flatMap(Function)': (self: Optional, by: Fn) => (self.value === null ? self : by(self.value)),
    'Optional map(Function)': (self: Optional, by: Fn) => (self.value === null ? self : make('', by(self.value))),
    'static Optional ofNullable(def)': (value: unknown) => make('', value),
  },
})
defineClass('java.util.OptionalInt', { methods: common('Int', 'int', (value) => value) })
defineClass('java.util.OptionalLong', { methods: common('Long', 'long', (value) => value) })
defineClass('java.util.OptionalDouble', { methods: common('Double', 'double', (value) => boxDouble(value as number)) })

/** Running statistics of a stream of numbers. Values and sums have the same representation as in the stream. */
interface Summary extends JavaObject {
  kind: NumberStream
  count: number
  sum: number | bigint
  min: number | bigint
  max: number | bigint
  text: () => string
}

const starts: Record<NumberStream, [min: number | bigint, max: number | bigint, zero: number | bigint]> = {
  Int: [2147483647, -2147483648, 0n],
  Long: [9223372036854775807n, -9223372036854775808n, 0n],
  Double: [Infinity, -Infinity, 0],
}

function newSummary(kind: NumberStream): Summary {
  const [min, max, sum] = starts[kind]
  const summary: Summary = {
    javaClass: `java.util.${kind}SummaryStatistics`,
    kind,
    count: 0,
    sum,
    min,
    max,
    text: () =>
      `${kind}SummaryStatistics{count=${summary.count}, sum=${summary.sum}, min=${summary.min}, average=${mean(summary)}, max=${summary.max}}`,
  }
  return summary
}

const mean = (self: Summary): number => (self.count === 0 ? 0 : Number(self.sum) / self.count)

function accept(self: Summary, value: number | bigint): void {
  self.count++
  self.sum =
    self.kind === 'Double'
      ? (self.sum as number) + (value as number)
      : BigInt.asIntN(64, (self.sum as bigint) + BigInt(value))
  if (value < self.min) self.min = value
  if (value > self.max) self.max = value
}

/** Computes all statistics that numeric streams offer. */
export function statistics(kind: NumberStream, items: unknown[]) {
  const summary = newSummary(kind)
  for (const item of items) accept(summary, item as number | bigint)
  const none = summary.count === 0
  return {
    summary,
    sum: kind === 'Int' ? Number(BigInt.asIntN(32, summary.sum as bigint)) : summary.sum,
    average: make('Double', none ? null : mean(summary)),
    optionalMax: make(kind, none ? null : summary.max),
    optionalMin: make(kind, none ? null : summary.min),
  }
}

for (const kind of ['Int', 'Long', 'Double'] as const) {
  const type = kind.toLowerCase()
  defineClass(`java.util.${kind}SummaryStatistics`, {
    supers: [`java.util.function.${kind}Consumer`],
    constructors: { '()': () => newSummary(kind) },
    methods: {
      [`void accept(${type})`]: accept,
      [`void combine(${kind}SummaryStatistics)`]: (self: Summary, other: Summary) => {
        self.count += other.count
        self.sum = (self.sum as number) + (other.sum as number)
        if (other.min < self.min) self.min = other.min
        if (other.max > self.max) self.max = other.max
      },
      'double getAverage()': mean,
      'long getCount()': (self: Summary) => BigInt(self.count),
      [`${type} getMax()`]: (self: Summary) => self.max,
      [`${type} getMin()`]: (self: Summary) => self.min,
      [`${kind === 'Double' ? 'double' : 'long'} getSum()`]: (self: Summary) => self.sum,
    },
  })
}
