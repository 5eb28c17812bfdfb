/** Reads and writes the properties of MQTT 5. */
import { Code, MqttError, malformed, protocolError } from './codes.ts'
import type { Limits } from './limits.ts'
import {
  endReadingLimit,
  limitReading,
  readBinary,
  readByte,
  readText,
  readUint16,
  readUint32,
  readVariableInteger,
  remainingBytes,
} from './reader.ts'

export type UserProperties = Record<string, string | string[]>
export type Properties = Record<string, unknown> & { userProperties?: UserProperties }

type Kind = 'flag' | 'byte' | 'two' | 'four' | 'variable' | 'text' | 'binary' | 'pair'

/** Packet types; `will` stands for the properties of the will in CONNECT. */
export const Packet = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
  auth: 15,
  will: 16,
} as const

interface Property {
  id: number
  name: string
  kind: Kind
  /** One bit for each packet type in which a client may send this property. */
  allowedIn: number
}

const bitMask = (...types: number[]) => types.reduce((sum, type) => sum | (1 << type), 0)
const { connect, publish, will, subscribe, disconnect, auth } = Packet
const acknowledgements = [Packet.puback, Packet.pubrec, Packet.pubrel, Packet.pubcomp]

const defineProperty = (id: number, name: string, kind: Kind, ...from: number[]): Property => ({
  id,
  name,
  kind,
  allowedIn: bitMask(...from),
})

const propertyTable: Property[] = [
  defineProperty(0x01, 'payloadFormatIndicator', 'flag', publish, will),
  defineProperty(0x02, 'messageExpiryInterval', 'four', publish, will),
  defineProperty(0x03, 'contentType', 'text', publish, will),
  defineProperty(0x08, 'responseTopic', 'text', publish, will),
  defineProperty(0x09, 'correlationData', 'binary', publish, will),
  defineProperty(0x0b, 'subscriptionIdentifier', 'variable', subscribe),
  defineProperty(0x11, 'sessionExpiryInterval', 'four', connect, disconnect),
  defineProperty(0x12, 'assignedClientIdentifier', 'text'),
  defineProperty(0x13, 'serverKeepAlive', 'two'),
  defineProperty(0x15, 'authenticationMethod', 'text', connect, auth),
  defineProperty(0x16, 'authenticationData', 'binary', connect, auth),
  defineProperty(0x17, 'requestProblemInformation', 'flag', connect),
  defineProperty(0x18, 'willDelayInterval', 'four', will),
  defineProperty(0x19, 'requestResponseInformation', 'flag', connect),
  defineProperty(0x1a, 'responseInformation', 'text'),
  defineProperty(0x1c, 'serverReference', 'text', disconnect),
  defineProperty(0x1f, 'reasonString', 'text', disconnect, auth, ...acknowledgements),
  defineProperty(0x21, 'receiveMaximum', 'two', connect),
  defineProperty(0x22, 'topicAliasMaximum', 'two', connect),
  defineProperty(0x23, 'topicAlias', 'two', publish),
  defineProperty(0x24, 'maximumQoS', 'byte'),
  defineProperty(0x25, 'retainAvailable', 'flag'),
  defineProperty(
    0x26,
    'userProperties',
    'pair',
    connect,
    publish,
    will,
    subscribe,
    Packet.unsubscribe,
    disconnect,
    auth,
    ...acknowledgements,
  ),
  defineProperty(0x27, 'maximumPacketSize', 'four', connect),
  defineProperty(0x28, 'wildcardSubscriptionAvailable', 'flag'),
  defineProperty(0x29, 'subscriptionIdentifiersAvailable', 'flag'),
  defineProperty(0x2a, 'sharedSubscriptionAvailable', 'flag'),
]

const byId: (Property | undefined)[] = []
const byName = new Map<string, Property>()
for (const property of propertyTable) {
  byId[property.id] = property
  byName.set(property.name, property)
}

/** Reads the properties at the cursor of reader.ts. Throws if a property is not allowed in this packet, is repeated or is malformed. */
export function readProperties(packet: number, limits: Limits): Properties | undefined {
  const length = readVariableInteger()
  if (length === 0) return undefined
  const packetEnd = limitReading(length)
  const properties: Properties = {}
  let pairs = 0
  let pairBytes = 0
  let misplaced: Property | undefined
  while (remainingBytes() > 0) {
    const id = readVariableInteger()
    const property = byId[id]
    if (!property) throw malformed(`property ${id} is unknown`)
    if ((property.allowedIn & (1 << packet)) === 0) misplaced ??= property
    if (property.kind === 'pair') {
      const before = remainingBytes()
      properties.userProperties ??= Object.create(null) as UserProperties
      addPair(properties.userProperties, readText(), readText())
      pairBytes += before - remainingBytes()
      if (++pairs > limits.userPropertiesMax || pairBytes > limits.userPropertiesBytesMax)
        throw new MqttError(Code.quotaExceeded, 'too many user properties')
    } else {
      if (property.name in properties) throw protocolError(`property ${property.name} is present twice`)
      properties[property.name] = readValue(property)
    }
  }
  endReadingLimit(packetEnd)
  if (misplaced) throw misplacedError(packet, misplaced)
  return properties
}

/**
 * Returns the error for a property that does not belong to this packet. The standard calls it both a malformed packet (2.2.2.2) and a
 * protocol error (1.2). The choice follows the broker that most devices are tested with.
 */
const misplacedError = (packet: number, { name }: Property) =>
  (packet === Packet.subscribe || packet === Packet.unsubscribe ? malformed : protocolError)(
    `property ${name} is not allowed in this packet`,
  )

function readValue({ name, kind }: Property): unknown {
  if (kind === 'flag') {
    const value = readByte()
    if (value > 1) throw protocolError(`property ${name} is neither 0 nor 1`)
    return value === 1
  }
  if (kind === 'two') return readUint16()
  if (kind === 'four') return readUint32()
  if (kind === 'text') return readText()
  // The value is copied, because the read buffer is reused.
  if (kind === 'binary') return Buffer.from(readBinary())
  return kind === 'variable' ? readVariableInteger() : readByte()
}

function addPair(pairs: UserProperties, name: string, value: string) {
  const before = pairs[name]
  if (before === undefined) pairs[name] = value
  else if (Array.isArray(before)) before.push(value)
  else pairs[name] = [before, value]
}

export function variableIntegerBytes(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  return value < 0x20_0000 ? 3 : 4
}

const noProperties = Buffer.from([0])

/** Encodes properties, preceded by their length. */
export function propertyBytes(properties: Properties | undefined): Buffer {
  if (!properties) return noProperties
  const parts: number[] = []
  const chunks: Buffer[] = []
  for (const [name, value] of Object.entries(properties)) {
    const property = byName.get(name)
    if (!property || value === undefined) continue
    for (const single of Array.isArray(value) ? value : [value]) writeValue(parts, property, single)
  }
  if (parts.length === 0) return noProperties
  const length: number[] = []
  pushVariable(length, parts.length)
  chunks.push(Buffer.from(length), Buffer.from(parts))
  return Buffer.concat(chunks)
}

function writeValue(out: number[], { id, kind }: Property, value: unknown) {
  if (kind === 'pair') {
    for (const [name, texts] of Object.entries(value as UserProperties))
      for (const single of Array.isArray(texts) ? texts : [texts]) {
        out.push(id)
        pushBytes(out, Buffer.from(name))
        pushBytes(out, Buffer.from(single))
      }
    return
  }
  out.push(id)
  const number = Number(value)
  if (kind === 'text' || kind === 'binary') pushBytes(out, Buffer.from(value as string))
  else if (kind === 'variable') pushVariable(out, number)
  else if (kind === 'two') out.push((number >> 8) & 0xff, number & 0xff)
  else if (kind === 'four')
    out.push((number >>> 24) & 0xff, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff)
  else out.push(number)
}

function pushBytes(out: number[], bytes: Buffer) {
  out.push((bytes.length >> 8) & 0xff, bytes.length & 0xff)
  for (const single of bytes) out.push(single)
}

export function pushVariable(out: number[], value: number) {
  let remaining = value
  do {
    const digit = remaining & 0x7f
    remaining >>>= 7
    out.push(remaining > 0 ? digit | 0x80 : digit)
  } while (remaining > 0)
}
