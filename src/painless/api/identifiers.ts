import { createHash, randomBytes } from 'node:crypto'
import { defineClass } from '../define.ts'
import { illegalArgument, nullPointer } from '../errors.ts'
import { allocate } from '../meter.ts'
import type { JavaArray, JavaObject } from '../values.ts'

/** A UUID. Both halves are signed integers of 64 bits. */
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

/** Parses five groups of hexadecimal digits. As in Java, short groups are filled with zeros. */
function parseUuid(text: string | null): Uuid {
  if (text === null) throw nullPointer('the text of a UUID is null')
  const groups = text.split('-')
  const lengths = [8, 4, 4, 4, 12]
  const isValid =
    groups.length === 5 && groups.every((group, at) => /^[0-9a-f]+$/i.test(group) && group.length <= lengths[at]!)
  if (!isValid) throw illegalArgument(`Invalid UUID string: ${text.slice(0, 100)}`)
  return fromHex(groups.map((group, at) => group.padStart(lengths[at]!, '0')).join(''))
}

/** Returns the UUID with these 16 bytes, after the bits for version and variant have been set in them. */
function versioned(bytes: Buffer, version: number): Uuid {
  bytes[6] = (bytes[6]! & 0x0f) | (version << 4)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return fromHex(bytes.toString('hex'))
}

const md5 = ({ items }: JavaArray): Buffer =>
  createHash('md5')
    .update(Buffer.from(items as number[]))
    .digest()

const name = 'UUID'
defineClass(`java.util.${name}`, {
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
    'static UUID nameUUIDFromBytes(byte[])': (bytes: JavaArray) => versioned(md5(bytes), 3),
    [`static ${name} random${name}()`]: () => versioned(randomBytes(16), 4),
  },
})
