import { defineClass } from '../define.ts'
import { boxElement } from '../dynamic.ts'
import { compareNatural, equal, equalArrays, hashOf } from '../equality.ts'
import { indexOutOfBounds, nullPointer } from '../errors.ts'
import { allocate, steps } from '../meter.ts'
import { textOf } from '../text.ts'
import type { JavaArray } from '../values.ts'
import { type Compare, comparing, type Fn } from './helpers.ts'

const boxed = (array: JavaArray): unknown[] => {
  if (array === null) throw nullPointer('the array is null')
  allocate(16 * array.items.length)
  return array.items.map((item) => boxElement(array, item))
}

/** Sorts an array in place. Numbers are sorted by value. */
function sort(array: JavaArray, compare: Compare): void {
  const order = boxed(array).map((item, index) => ({ item, raw: array.items[index] }))
  steps(order.length)
  order.sort((left, right) => compare(left.item, right.item))
  for (const [index, { raw }] of order.entries()) array.items[index] = raw
}

const range = (array: JavaArray, start: number, end: number): JavaArray => {
  if (start < 0 || start > array.items.length || start > end) throw indexOutOfBounds(start, array.items.length)
  allocate(16 * (end - start))
  const items = array.items.slice(start, end)
  const kind = array.elementType
  const filler =
    kind === 'boolean' ? false : kind === 'long' ? 0n : /^(?:byte|short|char|int|float|double)$/.test(kind) ? 0 : null
  while (items.length < end - start) items.push(filler)
  return { elementType: kind, items }
}

defineClass('java.util.Arrays', {
  methods: {
    'static List asList(Object)': (array: unknown) => boxed(array as JavaArray),
    'static def copyOf(Object,int)': (array: unknown, length: number) => range(array as JavaArray, 0, length),
    'static def copyOfRange(Object,int,int)': (array: unknown, start: number, end: number) =>
      range(array as JavaArray, start, end),
    'static boolean deepEquals(Object,Object)': (left: unknown, right: unknown) =>
      equalArrays(left as JavaArray, right as JavaArray),
    'static String deepToString(Object)': (array: unknown) => deepText(array),
    'static boolean equals(Object,Object)': (left: unknown, right: unknown) =>
      left === right || (left !== null && right !== null && equal(boxed(left as JavaArray), boxed(right as JavaArray))),
    'static void fill(Object,def)': (array: unknown, value: unknown) => {
      const target = array as JavaArray
      const raw =
        typeof value === 'object' && value !== null && 'box' in value ? (value as { value?: unknown }).value : value
      target.items.fill(target.elementType === 'def' ? value : raw)
    },
    'static int hashCode(Object)': (array: unknown) => hashOf(boxed(array as JavaArray)),
    'static void sort(Object)': (array: unknown) => sort(array as JavaArray, compareNatural),
    'static void sort(Object,Comparator)': (array: unknown, by: Fn) => sort(array as JavaArray, comparing(by)),
    'static Stream stream(Object)': (array: unknown) => streamOf(array as JavaArray),
    'static String toString(Object)': (array: unknown) => (array === null ? 'null' : textOf(boxed(array as JavaArray))),
  },
})

const streamClasses: Record<string, string> = { int: 'IntStream', long: 'LongStream', double: 'DoubleStream' }
const streamOf = (array: JavaArray) => ({
  javaClass: `java.util.stream.${streamClasses[array.elementType] ?? 'Stream'}`,
  items: streamClasses[array.elementType] ? [...array.items] : boxed(array),
})

function deepText(value: unknown): string {
  if (value === null || typeof value !== 'object' || !('elementType' in value)) return textOf(value)
  return `[${boxed(value as JavaArray)
    .map(deepText)
    .join(', ')}]`
}
