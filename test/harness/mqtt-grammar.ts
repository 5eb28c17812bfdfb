/** Grammar for fuzzing the MQTT listener: well-formed packets, malformed packets, and packets with wrong lengths. */
import fc, { type Arbitrary } from 'fast-check'

export interface Attack {
  /** Protocol version of the CONNECT packet that is sent first; 0 means no CONNECT. */
  version: 0 | 3 | 4 | 5
  bytes: Buffer
  /** Number of writes that the bytes are split into. */
  pieces: number
  ending: 'end' | 'destroy' | 'stay'
}

const uint16 = (value: number) => Buffer.from([(value >> 8) & 0xff, value & 0xff])
const uint32 = (value: number) => Buffer.concat([uint16(value >>> 16), uint16(value & 0xffff)])

export function variable(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  do {
    bytes.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0))
    left >>>= 7
  } while (left > 0)
  return Buffer.from(bytes)
}

/** Generates a usual value in eight of nine cases and a rare value in the ninth case. */
const mostly = <T>(usual: Arbitrary<T>, rare: Arbitrary<T>) =>
  fc.oneof({ arbitrary: usual, weight: 8 }, { arbitrary: rare, weight: 1 })

const badText = fc.constantFrom(
  Buffer.from([0]),
  Buffer.from([0xc3, 0x28]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xff]),
  Buffer.from('\u0001'),
)
const goodText = fc
  .oneof(
    fc.constantFrom('', 't', 'a/b', 'a/+', '#', '$share/g/a', '$SYS/x', 'MQTT', '__proto__'),
    fc.string({ maxLength: 12 }),
  )
  .map((text) => Buffer.from(text))
/** Generates a text with a length prefix. Sometimes the prefix is wrong. */
const text = fc
  .tuple(mostly(goodText, badText), mostly(fc.constant(0), fc.integer({ min: -3, max: 70_000 })))
  .map(([bytes, lie]) => Buffer.concat([uint16(bytes.length + lie), bytes]))
const binary = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.concat([uint16(bytes.length), bytes]))
const packetId = mostly(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 0xffff })).map(uint16)
const byte = fc.integer({ min: 0, max: 255 }).map((value) => Buffer.from([value]))
const junk = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))

const propertyKinds: [number[], Arbitrary<Buffer>][] = [
  [[0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2a], mostly(fc.constantFrom(Buffer.from([0]), Buffer.from([1])), byte)],
  [[0x13, 0x21, 0x22, 0x23], fc.integer({ min: 0, max: 0xffff }).map(uint16)],
  [[0x02, 0x11, 0x18, 0x27], fc.integer({ min: 0, max: 0xffff_ffff }).map(uint32)],
  [[0x03, 0x08, 0x12, 0x15, 0x1a, 0x1c, 0x1f], text],
  [[0x09, 0x16], binary],
  [[0x0b], fc.integer({ min: 0, max: 0xfff_ffff }).map(variable)],
  [[0x26], fc.tuple(text, text).map((pair) => Buffer.concat(pair))],
]
const property = fc.oneof(
  ...propertyKinds.map(([ids, value]) =>
    fc.tuple(fc.constantFrom(...ids), value).map(([id, bytes]) => Buffer.concat([Buffer.from([id]), bytes])),
  ),
  junk,
)
const properties = fc
  .tuple(fc.array(property, { maxLength: 4 }), mostly(fc.constant(0), fc.integer({ min: -4, max: 3000 })))
  .map(([all, lie]) => {
    const bytes = Buffer.concat(all)
    return Buffer.concat([variable(Math.max(0, bytes.length + lie)), bytes])
  })
const noProperties = fc.constant(Buffer.alloc(0))

const sequence = (...parts: Arbitrary<Buffer>[]) => fc.tuple(...parts).map((all) => Buffer.concat(all))
const someOf = (part: Arbitrary<Buffer>) => fc.array(part, { maxLength: 5 }).map((all) => Buffer.concat(all))

function bodies(version: number): Arbitrary<{ first: number; body: Buffer }> {
  const extra = version === 5 ? properties : noProperties
  const acknowledgement = fc.oneof(packetId, sequence(packetId, byte), sequence(packetId, byte, extra), junk)
  const name = fc.constantFrom(Buffer.from('\0\x04MQTT'), Buffer.from('\0\x06MQIsdp'), Buffer.from('\0\x04MQTt'))
  const connect = sequence(
    name,
    byte,
    byte,
    packetId,
    extra,
    text,
    fc.oneof(noProperties, text, sequence(text, binary)),
  )
  const publish = (qos: number) => sequence(text, qos > 0 ? packetId : noProperties, extra, junk)
  const kinds: [number, Arbitrary<Buffer>][] = [
    [0x10, connect],
    [0x30, publish(0)],
    [0x31, publish(0)],
    [0x32, publish(1)],
    [0x3a, publish(1)],
    [0x34, publish(2)],
    [0x3c, publish(2)],
    [0x40, acknowledgement],
    [0x50, acknowledgement],
    [0x62, acknowledgement],
    [0x70, acknowledgement],
    [0x82, sequence(packetId, extra, someOf(sequence(text, byte)))],
    [0xa2, sequence(packetId, extra, someOf(text))],
    [0xc0, mostly(noProperties, junk)],
    [0xe0, mostly(noProperties, sequence(byte, extra))],
    [0xf0, sequence(byte, extra)],
  ]
  return fc.oneof(
    ...kinds.map(([first, body]) =>
      fc.record({ first: mostly(fc.constant(first), fc.integer({ min: 0, max: 255 })), body }),
    ),
    fc.record({ first: fc.integer({ min: 0, max: 255 }), body: junk }),
  )
}

/** Generates wrong values of the field "remaining length", some above the 256 MB that MQTT allows. */
const wrongLength = fc.oneof(
  fc.integer({ min: 0, max: 200 }).map(variable),
  fc.constantFrom(0xfff_ffff, 1_048_577, 1_000_000).map(variable),
  fc.constantFrom(Buffer.from([0xff, 0xff, 0xff, 0xff, 0x7f]), Buffer.from([0x80, 0x00])),
)
const packet = (version: number) =>
  fc
    .tuple(bodies(version), mostly(fc.constant(undefined), wrongLength as Arbitrary<Buffer | undefined>))
    .map(([{ first, body }, lie]) => Buffer.concat([Buffer.from([first]), lie ?? variable(body.length), body]))

export const attack: Arbitrary<Attack> = fc.constantFrom(0, 3, 4, 5).chain((version) =>
  fc.record({
    version: fc.constant(version as Attack['version']),
    bytes: fc.array(packet(version || 5), { minLength: 1, maxLength: 8 }).map((all) => Buffer.concat(all)),
    pieces: mostly(fc.constant(1), fc.integer({ min: 1, max: 10 })),
    ending: fc.constantFrom('end', 'destroy', 'stay'),
  }),
)

/** Returns the bytes of a CONNECT packet. Clean Session (Clean Start) is set if the length of the client id is odd. */
export function connectBytes(version: number, clientId: string): Buffer {
  const name = version === 3 ? '\0\x06MQIsdp' : '\0\x04MQTT'
  const head = Buffer.concat([Buffer.from(name), Buffer.from([version, clientId.length % 2 ? 2 : 0, 0, 60])])
  const extra = version === 5 ? Buffer.from([5, 0x11, 0, 0, 0, 60]) : Buffer.alloc(0)
  const body = Buffer.concat([head, extra, uint16(clientId.length), Buffer.from(clientId)])
  return Buffer.concat([Buffer.from([0x10]), variable(body.length), body])
}

export const splitIntoWrites = ({ bytes, pieces }: Attack): Buffer[] => {
  const size = Math.max(1, Math.ceil(bytes.length / pieces))
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}
