/** Sends messages to a client. The number of unacknowledged messages is limited; further messages wait in a bounded queue. */
import { Code, protocolError } from './codes.ts'
import { holdBack } from './held-messages.ts'
import type { Message, MessageProperties, Settled } from './host.ts'
import { addInFlight, findInFlight, listInFlight, removeInFlight } from './in-flight.ts'
import { Packet } from './properties.ts'
import { toOutgoing } from './session.ts'
import { messageBytes } from './session-store.ts'
import { type Layer, type Outgoing, Pause, type Peer, type Session } from './state.ts'
import { writeAcknowledgement, writePublish } from './writer.ts'

/** Implements `Connection.send`. Returns false if the queue is full or the connection is closed. */
export function send(this: Peer, message: Message, settled?: Settled): boolean {
  const { session, layer } = this
  if (!this.open || !session) return false
  if (message.qos === 0) {
    if (this.paused & Pause.unsent) return false
    const written = writePublish(this, message, 0, false, message.properties)
    settled?.(written ? 'delivered' : 'lost')
    return true
  }
  const { queuedMessagesMax, queuedBytesMax } = layer.limits
  const bytes = messageBytes(message)
  const count = session.inFlight + (session.queue?.length ?? 0) + (session.held?.length ?? 0)
  if (count >= queuedMessagesMax || session.queuedBytes + bytes > queuedBytesMax) return false
  session.queuedBytes += bytes
  const expires = message.properties?.messageExpiryInterval !== undefined
  const outgoing: Outgoing = {
    message,
    packetId: 0,
    released: false,
    isDuplicate: false,
    queuedAt: expires ? layer.now().getTime() : 0,
    bytes,
    storeId: undefined,
    settled,
    next: undefined,
  }
  if (!session.queue?.length && mayTransmit(this, session)) transmit(this, session, outgoing)
  else {
    session.queue ??= []
    session.queue.push(outgoing)
  }
  return true
}

const mayTransmit = (peer: Peer, session: Session) =>
  (peer.paused & Pause.unsent) === 0 && session.inFlight < peer.receiveMaximum

/** Sends queued messages until the receive maximum of the client is reached. */
export function sendQueued(peer: Peer) {
  const { session } = peer
  if (!session) return
  while (session.queue && session.queue.length > 0 && mayTransmit(peer, session))
    transmit(peer, session, session.queue.shift()!)
  if (session.queue?.length === 0) session.queue = undefined
}

/**
 * Implements `Connection.release`. The released messages keep their order and are sent before newer messages with the same `recipientId`.
 */
export function release(this: Peer, recipientId: string) {
  const { session } = this
  if (!session?.held) return
  const due = session.held.filter(({ message }) => message.recipientId === recipientId)
  if (due.length === 0) return
  const rest = session.held.filter(({ message }) => message.recipientId !== recipientId)
  session.held = rest.length > 0 ? rest : undefined
  session.queue = [...(session.queue ?? []), ...due]
  sendQueued(this)
}

/** Implements `Sessions.fetch` for one session: loads the stored messages that are not in memory, and sends them. */
export async function fetchQueued(layer: Layer, key: string) {
  const session = layer.sessions.get(key)
  // A load that is already running may have read the store before the message was stored, so the store is read again after it.
  await session?.loading
  if (!session?.isStored || !session.peer?.open) return
  // The known ids are collected before and after the load, because a message that is acknowledged during the load must not be sent again.
  const knownIds = new Set(storeIdsOf(session))
  const state = await layer.store.load(key)
  const { peer } = session
  if (!state || !peer?.open || layer.sessions.get(key) !== session) return
  for (const storeId of storeIdsOf(session)) knownIds.add(storeId)
  const newMessages = state.messages.filter(({ storeId, packetId }) => packetId === 0 && !knownIds.has(storeId!))
  if (newMessages.length === 0) return
  const added = newMessages.map(toOutgoing)
  for (const { bytes } of added) session.queuedBytes += bytes
  session.queue = [...(session.queue ?? []), ...holdBack(peer, session, added)]
  sendQueued(peer)
}

const storeIdsOf = (session: Session) =>
  [...listInFlight(session), ...(session.queue ?? []), ...(session.held ?? [])].flatMap(({ storeId }) => storeId ?? [])

function transmit(peer: Peer, session: Session, outgoing: Outgoing) {
  if (outgoing.packetId === 0) outgoing.packetId = nextPacketId(session)
  addInFlight(session, outgoing)
  if (outgoing.released) {
    writeAcknowledgement(peer, 0x62, outgoing.packetId, 0)
    return
  }
  const { message, queuedAt } = outgoing
  let properties: MessageProperties | undefined = message.properties
  if (queuedAt > 0 && properties?.messageExpiryInterval !== undefined) {
    const waitedSeconds = Math.floor((peer.layer.now().getTime() - queuedAt) / 1000)
    const remainingSeconds = properties.messageExpiryInterval - waitedSeconds
    if (remainingSeconds <= 0) {
      complete(peer, session, outgoing, 'lost')
      return
    }
    if (waitedSeconds > 0) properties = { ...properties, messageExpiryInterval: remainingSeconds }
  }
  // MQTT-3.1.2-25: a message that is too large for the client counts as sent.
  if (!writePublish(peer, message, outgoing.packetId, outgoing.isDuplicate, properties))
    complete(peer, session, outgoing, 'lost')
}

function nextPacketId(session: Session): number {
  let id = session.lastPacketId
  do id = id >= 0xffff ? 1 : id + 1
  while (findInFlight(session, id) || hasPacketId(session.queue, id) || hasPacketId(session.held, id))
  session.lastPacketId = id
  return id
}

const hasPacketId = (messages: Outgoing[] | undefined, id: number) => messages?.some(({ packetId }) => packetId === id)

function complete(peer: Peer, session: Session, outgoing: Outgoing, outcome: Parameters<Settled>[0] = 'delivered') {
  removeInFlight(session, outgoing)
  outgoing.settled?.(outcome)
  outgoing.settled = undefined
  session.queuedBytes -= outgoing.bytes
  if (outgoing.storeId !== undefined) peer.layer.store.deleteMessage(session.key, outgoing.storeId)
}

/** Handles PUBACK, PUBREC and PUBCOMP. */
export function handleAcknowledgement(peer: Peer, type: number, packetId: number, code: number) {
  const session = peer.session!
  const outgoing = findInFlight(session, packetId)
  if (!outgoing) {
    // The client acknowledges an unknown packet id. The reason code makes the client discard the message.
    if (type === Packet.pubrec && code < 0x80) writeAcknowledgement(peer, 0x62, packetId, Code.packetIdNotFound)
    return
  }
  const { qos } = outgoing.message
  const expected = qos === 1 ? Packet.puback : outgoing.released ? Packet.pubcomp : Packet.pubrec
  if (type === Packet.pubrec && qos === 2 && code < 0x80) {
    outgoing.released = true
    writeAcknowledgement(peer, 0x62, packetId, 0)
    return
  }
  if (type !== expected) throw protocolError('the acknowledgement does not match the QoS of the message')
  complete(peer, session, outgoing)
  if (session.queue) sendQueued(peer)
}
