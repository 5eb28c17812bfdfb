import { defineClass } from '../define.ts'
import { JavaThrow } from '../errors.ts'
import { allocate, steps } from '../meter.ts'
import type { JavaArray, JavaObject } from '../values.ts'
import { streamOfInts } from './streams.ts'

/** A BitSet. It has as many words of 32 bits as the highest bit requires. */
interface BitSet extends JavaObject {
  words: number[]
  text: () => string
  equals: (other: unknown) => boolean
  key: () => string
}

/** Maximum number of bits, so that one call cannot use all memory. */
const bitsMax = 8_000_000

function bitSetOf(words: number[]): BitSet {
  allocate(64 + words.length * 8)
  const self: BitSet = {
    javaClass: 'java.util.BitSet',
    words,
    text: () => `{${bitsOf(self).join(', ')}}`,
    equals: (other) => self.key() === (other as BitSet).key(),
    key: () => trimmed(self).join(),
  }
  return self
}

const trimmed = ({ words }: BitSet): number[] => words.slice(0, words.findLastIndex((word) => word !== 0) + 1)

function checked(index: number): number {
  if (index < 0) throw new JavaThrow('java.lang.IndexOutOfBoundsException', `bitIndex < 0: ${index}`)
  if (index > bitsMax) throw new JavaThrow('java.lang.OutOfMemoryError', `More than ${bitsMax} bits.`, true)
  return index
}

const has = ({ words }: BitSet, index: number): boolean =>
  ((words[checked(index) >>> 5] ?? 0) & (1 << (index & 31))) !== 0

function put(self: BitSet, index: number, value: boolean): void {
  const at = checked(index) >>> 5
  if (!value && at >= self.words.length) return
  if (at >= self.words.length) allocate((at - self.words.length + 1) * 8)
  while (self.words.length <= at) self.words.push(0)
  const bit = 1 << (index & 31)
  self.words[at] = value ? self.words[at]! | bit : self.words[at]! & ~bit
}

function forRange(from: number, to: number, change: (index: number) => void): void {
  if (checked(from) > checked(to))
    throw new JavaThrow('java.lang.IndexOutOfBoundsException', `fromIndex: ${from} > toIndex: ${to}`)
  steps(1 + ((to - from) >> 3))
  for (let index = from; index < to; index++) change(index)
}

function bitsOf(self: BitSet): number[] {
  const bits: number[] = []
  steps(1 + self.words.length)
  for (const [at, word] of self.words.entries()) {
    allocate(bitCount(word) * 16)
    for (let rest = word; rest !== 0; rest &= rest - 1) bits.push(at * 32 + 31 - Math.clz32(rest & -rest))
  }
  return bits
}

/** Finds the next bit from the index `from` on that is set or, if `isSet` is false, not set. `by` is the direction. */
function nearest(self: BitSet, from: number, isSet: boolean, by: 1 | -1): number {
  const end = by === 1 ? self.words.length * 32 : -1
  for (let index = from; by === 1 ? index < end : index > end; index += by) {
    steps(1)
    if (has(self, index) === isSet) return index
  }
  return isSet || by === -1 ? -1 : Math.max(from, end)
}

const combine = (self: BitSet, other: BitSet, change: (left: number, right: number) => number): void => {
  const length = Math.max(self.words.length, other.words.length)
  steps(1 + length)
  allocate(Math.max(0, length - self.words.length) * 8)
  for (let at = 0; at < length; at++) self.words[at] = change(self.words[at] ?? 0, other.words[at] ?? 0)
}

const bitCount = (word: number): number => {
  let count = 0
  for (let rest = word; rest !== 0; rest &= rest - 1) count++
  return count
}
const length = (self: BitSet): number => {
  const words = trimmed(self)
  return words.length === 0 ? 0 : words.length * 32 - Math.clz32(words.at(-1)!)
}

function toLongs(self: BitSet): JavaArray {
  const words = trimmed(self)
  const items: bigint[] = []
  for (let at = 0; at < words.length; at += 2)
    items.push(BigInt.asIntN(64, (BigInt((words[at + 1] ?? 0) >>> 0) << 32n) | BigInt(words[at]! >>> 0)))
  return { elementType: 'long', items }
}

function toBytes(self: BitSet): JavaArray {
  const items: number[] = []
  for (const word of trimmed(self)) for (let by = 0; by < 32; by += 8) items.push((word << (24 - by)) >> 24)
  while (items.at(-1) === 0) items.pop()
  allocate(items.length * 8)
  return { elementType: 'byte', items }
}

function bitSetFrom({ elementType, items }: JavaArray): BitSet {
  const self = bitSetOf([])
  steps(1 + items.length)
  allocate(items.length * 16)
  for (const [at, item] of items.entries())
    if (elementType === 'long') {
      const bits = BigInt.asUintN(64, item as bigint)
      self.words[at * 2] = Number(bits & 0xffffffffn) | 0
      self.words[at * 2 + 1] = Number(bits >> 32n) | 0
    } else self.words[at >> 2] = (self.words[at >> 2] ?? 0) | (((item as number) & 255) << ((at & 3) * 8))
  return self
}

function bitSetSized(size: number): BitSet {
  if (size < 0) throw new JavaThrow('java.lang.NegativeArraySizeException', `nbits < 0: ${size}`)
  return bitSetOf([])
}

defineClass('java.util.BitSet', {
  constructors: { '()': () => bitSetOf([]), '(int)': bitSetSized },
  methods: {
    'void and(BitSet)': (self: BitSet, other: BitSet) => combine(self, other, (left, right) => left & right),
    'void andNot(BitSet)': (self: BitSet, other: BitSet) => combine(self, other, (left, right) => left & ~right),
    'void or(BitSet)': (self: BitSet, other: BitSet) => combine(self, other, (left, right) => left | right),
    'void xor(BitSet)': (self: BitSet, other: BitSet) => combine(self, other, (left, right) => left ^ right),
    'int cardinality()': (self: BitSet) => self.words.reduce((sum, word) => sum + bitCount(word), 0),
    'void clear()': (self: BitSet) => void self.words.splice(0),
    'void clear(int)': (self: BitSet, index: number) => put(self, index, false),
    'void clear(int,int)': (self: BitSet, from: number, to: number) =>
      forRange(from, to, (index) => put(self, index, false)),
    'def clone()': (self: BitSet) => bitSetOf([...self.words]),
    'void flip(int)': (self: BitSet, index: number) => put(self, index, !has(self, index)),
    'void flip(int,int)': (self: BitSet, from: number, to: number) =>
      forRange(from, to, (index) => put(self, index, !has(self, index))),
    'boolean get(int)': has,
    'BitSet get(int,int)': (self: BitSet, from: number, to: number) => {
      const part = bitSetOf([])
      forRange(from, to, (index) => put(part, index - from, has(self, index)))
      return part
    },
    'boolean intersects(BitSet)': (self: BitSet, other: BitSet) =>
      self.words.some((word, at) => (word & (other.words[at] ?? 0)) !== 0),
    'boolean isEmpty()': (self: BitSet) => length(self) === 0,
    'int length()': length,
    'int nextClearBit(int)': (self: BitSet, from: number) => nearest(self, checked(from), false, 1),
    'int nextSetBit(int)': (self: BitSet, from: number) => nearest(self, checked(from), true, 1),
    'int previousClearBit(int)': (self: BitSet, from: number) => nearest(self, from, false, -1),
    'int previousSetBit(int)': (self: BitSet, from: number) => nearest(self, from, true, -1),
    'void set(int)': (self: BitSet, index: number) => put(self, index, true),
    'void set(int,def)': (self: BitSet, from: number, to: unknown) =>
      typeof to === 'boolean' ? put(self, from, to) : forRange(from, Number(to), (index) => put(self, index, true)),
    'void set(int,int,boolean)': (self: BitSet, from: number, to: number, value: boolean) =>
      forRange(from, to, (index) => put(self, index, value)),
    'int size()': (self: BitSet) => Math.max(64, Math.ceil(self.words.length / 2) * 64),
    'IntStream stream()': (self: BitSet) => streamOfInts(bitsOf(self)),
    'byte[] toByteArray()': toBytes,
    'long[] toLongArray()': toLongs,
    'static BitSet valueOf(Object)': (array: unknown) => bitSetFrom(array as JavaArray),
  },
})
