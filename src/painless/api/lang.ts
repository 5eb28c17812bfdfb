import { epochMilliseconds, monotonicMilliseconds } from '../clock.ts'
import { defineClass } from '../define.ts'
import { compareNatural, equal, hashOf, keyText } from '../equality.ts'
import { JavaThrow, nullPointer } from '../errors.ts'
import { textOf } from '../text.ts'
import { asInt, type Fn } from './helpers.ts'

defineClass('java.lang.Object', {
  constructors: { '()': () => ({ javaClass: 'java.lang.Object' }) },
  methods: {
    'boolean equals(Object)': (self: unknown, other: unknown) => equal(self, other),
    'int hashCode()': (self: unknown) => hashOf(self),
    'String toString()': (self: unknown) => textOf(self),
  },
})

defineClass('java.lang.Comparable', {
  methods: { 'int compareTo(def)': (self: unknown, other: unknown) => compareNatural(self, other) },
})
defineClass('java.lang.Iterable', {
  methods: {
    'void forEach(Consumer)': (self: Iterable<unknown>, action: Fn) => {
      for (const item of [...iterable(self)]) action(item)
    },
  },
})

const iterable = (self: unknown): Iterable<unknown> =>
  (self as { iterate?: () => Iterable<unknown> }).iterate?.() ?? (self as Iterable<unknown>)

defineClass('java.lang.AutoCloseable', {})
defineClass('java.lang.System', {
  methods: {
    'static long currentTimeMillis()': () => BigInt(epochMilliseconds()),
    'static long nanoTime()': () => BigInt(Math.round(monotonicMilliseconds() * 1e6)),
  },
})

defineClass('java.util.Objects', {
  methods: {
    'static int compare(def,def,Comparator)': (left: unknown, right: unknown, comparator: Fn) =>
      left === right ? 0 : asInt(comparator(left, right)),
    'static boolean equals(Object,Object)': (left: unknown, right: unknown) => equal(left, right),
    'static boolean deepEquals(Object,Object)': (left: unknown, right: unknown) => keyText(left) === keyText(right),
    'static int hashCode(Object)': (value: unknown) => hashOf(value),
    'static boolean isNull(Object)': (value: unknown) => value === null,
    'static boolean nonNull(Object)': (value: unknown) => value !== null,
    'static def requireNonNull(def)': (value: unknown) => {
      if (value === null) throw new JavaThrow('java.lang.NullPointerException', null)
      return value
    },
    'static def requireNonNull(def,String)': (value: unknown, message: string) => {
      if (value === null) throw nullPointer(message)
      return value
    },
    'static String toString(Object)': (value: unknown) => textOf(value),
    'static String toString(Object,String)': (value: unknown, fallback: string) =>
      value === null ? fallback : textOf(value),
  },
})

/** `Debug.explain` stops the script and reports the value. Scripts cannot catch it. */
defineClass('org.opensearch.painless.api.Debug', {
  methods: {
    'static void explain(Object)': (value: unknown) => {
      throw new JavaThrow('org.opensearch.painless.PainlessExplainError', textOf(value), true)
    },
  },
})
