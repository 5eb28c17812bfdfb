/** Parses and validates all packets of clients except PUBLISH (publish.ts). Later code does not validate them again. */
import { Code, MqttError, malformed, protocolError } from './codes.ts'
import type { MessageProperties, Qos, Subscription } from './host.ts'
import type { Limits } from './limits.ts'
import { Packet, type Properties, readProperties } from './properties.ts'
import { readBinary, readByte, readText, readUint16, remainingBytes } from './reader.ts'
import { isFilter, isShared, levelsOf } from './topics.ts'

export interface Connect {
  version: 3 | 4 | 5
  cleanStart: boolean
  keepAliveSeconds: number
  clientId: string
  username?: string
  password?: Buffer
  will?: {
    topic: string
    payload: Buffer
    qos: Qos
    retain: boolean
    delaySeconds: number
    properties?: MessageProperties
  }
  properties: Properties
}

const protocolNames = new Map([
  ['MQIsdp', [3]],
  ['MQTT', [4, 5]],
])

/** Reads CONNECT. Sets the version of the peer as soon as it is known, because errors that follow have a reason code only in MQTT 5. */
export function readConnect(flags: number, limits: Limits, peer: { version: number }): Connect {
  const versions = protocolNames.get(readText(32))
  if (!versions) throw malformed('the protocol name is neither MQTT nor MQIsdp')
  const version = readByte() as 3 | 4 | 5
  // A client with a version above 5 is answered with the reason codes of MQTT 5. Bridges of older versions set the bit 0x80 in the version.
  if (version > 5 && version < 0x80) peer.version = 5
  if (!versions.includes(version)) throw new MqttError(Code.unsupportedVersion, `protocol version ${version}`)
  peer.version = version
  // MQTT 3.1 does not reserve the flags of the fixed header.
  if (version > 3 && flags !== 0) throw malformed('reserved bits are set')
  const bits = readByte()
  if (version > 3 && bits & 1) throw malformed('a reserved flag is set')
  const willQos = (bits >> 3) & 3
  const hasWill = (bits & 4) !== 0
  const hasUsername = (bits & 0x80) !== 0
  const hasPassword = (bits & 0x40) !== 0
  if (willQos === 3 || (!hasWill && bits & 0x38)) throw malformed('the flags of the will contradict each other')
  if (hasPassword && !hasUsername && version < 5) throw malformed('a password without a user name')
  const keepAliveSeconds = readUint16()
  const properties = (version === 5 && readProperties(Packet.connect, limits)) || {}
  checkConnectProperties(properties)
  const connect: Connect = { version, cleanStart: (bits & 2) !== 0, keepAliveSeconds, clientId: readText(), properties }
  if (hasWill) connect.will = readWill(version, willQos as Qos, (bits & 0x20) !== 0, limits)
  if (hasUsername) connect.username = readText()
  if (hasPassword) connect.password = readBinary()
  if (remainingBytes() > 0) throw malformed('CONNECT has bytes after its last field')
  return connect
}

function checkConnectProperties({
  receiveMaximum,
  maximumPacketSize,
  authenticationData,
  authenticationMethod,
}: Properties) {
  if (receiveMaximum === 0) throw protocolError('a receive maximum of 0')
  if (maximumPacketSize === 0) throw protocolError('a maximum packet size of 0')
  if (authenticationData !== undefined && authenticationMethod === undefined)
    throw protocolError('authentication data without a method')
}

function readWill(version: number, qos: Qos, retain: boolean, limits: Limits): NonNullable<Connect['will']> {
  const { willDelayInterval, ...properties } = (version === 5 && readProperties(Packet.will, limits)) || {}
  const topic = readText(limits.topicBytesMax)
  if (topic === '' || /[+#]/.test(topic)) throw malformed('the will has no topic')
  return {
    topic,
    payload: Buffer.from(readBinary()),
    qos,
    retain,
    delaySeconds: Number(willDelayInterval ?? 0),
    ...(Object.keys(properties).length > 0 ? { properties: properties as MessageProperties } : {}),
  }
}

function readPacketId(): number {
  const id = readUint16()
  if (id === 0) throw malformed('packet id 0')
  return id
}

const publishCodes = new Set([0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99])
const releaseCodes = new Set([0x00, 0x92])

/** Reads PUBACK, PUBREC, PUBREL or PUBCOMP. */
export function readAcknowledgement(type: number, version: number, limits: Limits): { packetId: number; code: number } {
  const id = readUint16()
  if (id === 0) throw protocolError('packet id 0')
  if (version < 5) {
    if (remainingBytes() > 0) throw malformed('an acknowledgement has more than a packet id')
    return { packetId: id, code: 0 }
  }
  const code = remainingBytes() > 0 ? readByte() : 0
  const allowedCodes = type === Packet.puback || type === Packet.pubrec ? publishCodes : releaseCodes
  if (!allowedCodes.has(code)) throw protocolError(`reason code ${code} is not valid in this packet`)
  if (remainingBytes() > 0) readProperties(type, limits)
  if (remainingBytes() > 0) throw malformed('an acknowledgement has bytes after its last field')
  return { packetId: id, code }
}

export interface Subscribe {
  packetId: number
  subscriptions: Subscription[]
}

export function readSubscribe(version: number, limits: Limits): Subscribe {
  const id = readPacketId()
  const properties = version === 5 ? readProperties(Packet.subscribe, limits) : undefined
  const identifier = properties?.subscriptionIdentifier as number | undefined
  if (identifier === 0) throw protocolError('subscription identifier 0')
  const subscriptions: Subscription[] = []
  do {
    const filter = readFilter(limits)
    const options = readByte()
    const qos = options & 3
    const retainHandling = (options >> 4) & 3
    if (qos === 3 || options & (version === 5 ? 0xc0 : 0xfc)) throw malformed('reserved bits of a subscription are set')
    if (retainHandling === 3) throw protocolError('retain handling 3')
    const noLocal = (options & 4) !== 0
    if (noLocal && isShared(filter)) throw protocolError('a shared subscription has the option No Local')
    // Absent options get no property, to save memory: a packet may hold hundreds of subscriptions, usually without options.
    const subscription: Subscription = { filter, qos: qos as Qos }
    if (noLocal) subscription.noLocal = true
    if (options & 8) subscription.retainAsPublished = true
    if (retainHandling) subscription.retainHandling = retainHandling as 1 | 2
    if (identifier !== undefined) subscription.subscriptionIdentifier = identifier
    subscriptions.push(subscription)
    rejectTooMany(subscriptions.length, limits)
  } while (remainingBytes() > 0)
  return { packetId: id, subscriptions }
}

export function readUnsubscribe(version: number, limits: Limits): { packetId: number; filters: string[] } {
  const id = readPacketId()
  if (version === 5) readProperties(Packet.unsubscribe, limits)
  const filters: string[] = []
  do {
    filters.push(readFilter(limits))
    rejectTooMany(filters.length, limits)
  } while (remainingBytes() > 0)
  return { packetId: id, filters }
}

const rejectTooMany = (count: number, { subscriptionsMax }: Limits) => {
  if (count > subscriptionsMax) throw new MqttError(Code.quotaExceeded, `more than ${subscriptionsMax} filters`)
}

function readFilter(limits: Limits): string {
  const filter = readText(limits.topicBytesMax)
  if (!isFilter(filter)) throw (isShared(filter) ? protocolError : malformed)('a topic filter is malformed')
  if (levelsOf(filter) > limits.topicLevelsMax) throw new MqttError(Code.quotaExceeded, 'a filter is too deep')
  return filter
}

export function readDisconnect(version: number, limits: Limits): { code: number; sessionExpirySeconds?: number } {
  if (version < 5) {
    if (remainingBytes() > 0) throw malformed('DISCONNECT has a body')
    return { code: 0 }
  }
  const code = remainingBytes() > 0 ? readByte() : 0
  const properties = remainingBytes() > 0 ? readProperties(Packet.disconnect, limits) : undefined
  if (remainingBytes() > 0) throw malformed('DISCONNECT has bytes after its last field')
  const seconds = properties?.sessionExpiryInterval as number | undefined
  return seconds === undefined ? { code } : { code, sessionExpirySeconds: seconds === 0xffff_ffff ? Infinity : seconds }
}
