/** The state of connections and sessions in memory. Maps are created when first needed, to keep idle connections small. */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Connection, Host, Message, Origin, Settled, Subscription } from './host.ts'
import type { Limits } from './limits.ts'
import type { SessionStore } from './session-store.ts'

/** Features that CONNACK announces to MQTT 5 clients. */
export interface Offers {
  retainedMessages: boolean
  sharedSubscriptions: boolean
  subscriptionIdentifiers: boolean
  /** The response information for clients that request it. */
  responseInformation?: string
  /** True if reason strings are sent to clients that did not decline them. */
  reasonStrings: boolean
}

/** State that all connections of one MQTT layer share (`createSessions`). */
export interface Layer {
  // biome-ignore lint/suspicious/noExplicitAny: only the host knows the type of its state
  host: Host<any>
  store: SessionStore
  limits: Limits
  offers: Offers
  log: Log
  now: Clock
  peers: Set<Peer>
  /** Sessions with a connection, by key. */
  sessions: Map<string, Session>
  /** Connections with packets that are not written to the stream yet. */
  unflushed: Peer[]
  partialBytes: number
  /** Grows by one with each sweep. All time-outs are measured in ticks. */
  tick: number
  closing: boolean
  /** Continues reading if nothing pauses the connection. */
  proceed(peer: Peer): void
}

export const Phase = { fresh: 0, connecting: 1, open: 2, closing: 3, closed: 4 } as const

/**
 * Reasons why reading from a connection is paused. Each reason is a bit of `Peer.paused`. `pending`: too many messages are not processed
 * yet. `unsent`: the client does not read. `yielding`: other connections are handled first.
 */
export const Pause = { host: 1, pending: 2, unsent: 4, connecting: 8, yielding: 16 } as const

/** An acknowledgement that waits until earlier acknowledgements are sent. */
export interface Acknowledgement {
  /** First byte of the packet. 0 means that nothing is sent (QoS 0). */
  header: number
  packetId: number
  code: number
  /** Reason codes of SUBACK and UNSUBACK. */
  codes: number[] | undefined
  bytes: number
  done: boolean
  next: Acknowledgement | undefined
}

export interface Outgoing {
  message: Message
  packetId: number
  released: boolean
  /** True if the message was sent on an earlier connection, so that DUP must be set. */
  isDuplicate: boolean
  /** When the message was queued, in milliseconds since the epoch; 0 while no expiry depends on this time. */
  queuedAt: number
  bytes: number
  storeId: string | undefined
  settled: Settled | undefined
  /** The next message in the list (in-flight.ts). */
  next: Outgoing | undefined
}

export interface Session {
  key: string
  /** Claim number of the connection. The connection with the highest claim number on any node owns the session. */
  claim: number
  /** True until the store has returned the claim number. */
  claiming: boolean
  /** The latest claim of another node that arrived before the claim number of this connection was known. */
  competingClaim: { claim: number; clean: boolean; by: string } | undefined
  peer: Peer | undefined
  expirySeconds: number
  /** True if the store has a row for this session. */
  isStored: boolean
  /**
   * True until CONNACK if the session was taken over from an earlier connection of this node. The store does not have its latest state
   * then.
   */
  inherited: boolean
  subscriptions: Map<string, Subscription> | undefined
  /**
   * Number of messages that were sent on this connection and not acknowledged. The next two fields are the first and the last of these
   * messages (in-flight.ts).
   */
  inFlight: number
  firstInFlight: Outgoing | undefined
  lastInFlight: Outgoing | undefined
  queue: Outgoing[] | undefined
  /** Messages that the client may not get yet (held-messages.ts); they count in `queuedBytes` and in the limit of the queue. */
  held: Outgoing[] | undefined
  queuedBytes: number
  /** QoS 2 messages of the client between PUBREC and PUBREL: packet id and hash of the topic. */
  received: Map<number, number> | undefined
  lastPacketId: number
  loading: Promise<void> | undefined
}

/** A connection as the MQTT layer uses it. */
export interface Peer extends Connection {
  client: Connection['client']
  claim: number
  /** Implements `Accepted.evict`. */
  evict(why: string): void
  sessionKey: string
  open: boolean
  layer: Layer
  stream: Duplex
  origin: Origin
  session: Session | undefined
  phase: number
  version: number
  paused: number
  parsing: boolean
  /** True if the client has closed its side of the stream. */
  ended: boolean
  /** Bytes that are not parsed yet: the first `unparsedLength` of this buffer. */
  unparsed: Buffer | undefined
  unparsedLength: number
  /** Length of the packet at the start of `unparsed`, once it is known. */
  nextPacketSize: number
  unparsedSince: number
  out: Buffer | undefined
  outLength: number
  unflushed: boolean
  /** The tick from which time-outs count: the tick of the start, of the last packet, or of the end of the connection. */
  lastActiveTick: number
  keepAliveTicks: number
  slowSinceTick: number
  /** The first and the last acknowledgement that wait to be sent in order. */
  firstAcknowledgement: Acknowledgement | undefined
  lastAcknowledgement: Acknowledgement | undefined
  pending: number
  pendingBytes: number
  aliasesIn: string[] | undefined
  aliasesOut: Map<string, number> | undefined
  aliasesOutMax: number
  packetBytesMax: number
  receiveMaximum: number
  problemInformation: boolean
  discardedBytes: number
  failure: string | undefined
}

export const ticksPerSecond = 2
