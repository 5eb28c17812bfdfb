import { createHash, randomUUID } from 'node:crypto'
import { defineClass } from '../define.ts'
import { illegalArgument, nullPointer } from '../errors.ts'
import { allocate } from '../meter.ts'
import type { JavaArray, JavaObject } from '../values.ts'

/** A UUID: both halves as signed integers of 64 bits. */
interface Uuid extends JavaObject {
  high: bigint
  low: bigint
  text: () => string
  equals: (other: unknown) => boolean
  compareTo: (other: unknown) => number
  key: () => string
}

const half = (value: bigint): string => BigInt.asUintN(64, value).toString(16).padStart(16, '0')
const order = (left: bigint, right: bigint): number => (left < right ? -1 : left > right ? 1 : 0)

function uuidOf(high: bigint, low: bigint): Uuid {
  allocate(128)
  const text = () => `${half(high)}${half(low)}`.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return {
    javaClass: 'java.util.UUID',
    high,
    low,
    text,
    equals: (other) => (other as Uuid).high === high && (other as Uuid).low === low,
    compareTo: (other) => order(high, (other as Uuid).high) || order(low, (other as Uuid).low),
    key: text,
  }
}

const signed = (hex: string): bigint => BigInt.asIntN(64, BigInt(`0x${hex}`))
const fromHex = (hex: string): Uuid => uuidOf(signed(hex.slice(0, 16)), signed(hex.slice(16)))

/** Reads five groups of hexadecimal digits; short groups are filled with zeros, as there. */
function parseUuid(text: string | null): Uuid {
  if (text === null) throw nullPointer('the text of a UUID is null')
  const groups = text.split('-')
  const lengths = [8, 4, 4, 4, 12]
  const isValid =
    groups.length === 5 && groups.every((group, at) => /^[0-9a-f]+$/i.test(group) && group.length <= lengths[at]!)
  if (!isValid) throw illegalArgument(`Invalid UUID string: ${text.slice(0, 100)}`)
  return fromHex(groups.map((group, at) => group.padStart(lengths[at]!, '0')).join(''))
}

/** The UUID of bytes: their MD5 with the bits of version 3. */
function nameUuid(bytes: JavaArray): Uuid {
  const hash = createHash('md5')
    .update(Buffer.from(bytes.items as number[]))
    .digest()
  hash[6] = (hash[6]! & 0x0f) | 0x30
  hash[8] = (hash[8]! & 0x3f) | 0x80
  return fromHex(hash.toString('hex'))
}

defineClass('java.util.UUID', {
  supers: ['java.lang.Comparable'],
  constructors: { '(long,long)': uuidOf },
  methods: {
    'int compareTo(UUID)': (self: Uuid, other: Uuid) => self.compareTo(other),
    'long getMostSignificantBits()': (self: Uuid) => self.high,
    'long getLeastSignificantBits()': (self: Uuid) => self.low,
    'int version()': (self: Uuid) => Number((self.high >> 12n) & 15n),
    'int variant()': (self: Uuid) => {
      const bits = Number(BigInt.asUintN(64, self.low) >> 61n)
      return bits < 4 ? 0 : bits < 6 ? 2 : bits
    },
    'static UUID fromString(String)': parseUuid,
    'static UUID nameUUIDFromBytes(byte[])': nameUuid,
    'static UUID randomUUID()': () => fromHex(randomUUID().replaceAll('-', '')),
  },
})
