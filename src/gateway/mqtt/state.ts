/**
 * The records that the layer works on. Plain records and module functions, maps made when first needed: an idle connection is what
 * this process has most of.
 */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Connection, From, Host, Message, Settled, Subscription } from './host.ts'
import type { Limits } from './limits.ts'
import type { SessionStore } from './session-store.ts'

/** What MQTT 5 clients are told of in CONNACK. */
export interface Offers {
  retainedMessages: boolean
  sharedSubscriptions: boolean
  subscriptionIdentifiers: boolean
  /** For clients that ask where answers should go. */
  responseInformation?: string
  /** Texts beside the codes, for peers that did not decline them. */
  reasonStrings: boolean
}

/** All that the connections of one `createSessions` share. */
export interface Layer {
  // biome-ignore lint/suspicious/noExplicitAny: the host alone knows its state
  host: Host<any>
  store: SessionStore
  limits: Limits
  offers: Offers
  log: Log
  now: Clock
  peers: Set<Peer>
  /** Sessions with a connection, by key. */
  sessions: Map<string, Session>
  /** Have something to write at the end of this turn. */
  unflushed: Peer[]
  partialBytes: number
  /** Grows by one with each sweep: the only clock that connections look at. */
  tick: number
  closing: boolean
  /** Goes on reading where nothing speaks against it any more. */
  proceed(peer: Peer): void
}

export const Phase = { fresh: 0, connecting: 1, open: 2, closing: 3, closed: 4 } as const

/** Why nothing is read; bits of `Peer.paused`. */
export const Pause = { host: 1, pending: 2, unsent: 4, connecting: 8, turn: 16 } as const

/** An acknowledgement that waits for its turn. */
export interface Acknowledgement {
  /** First byte of the packet; 0: nothing is sent (QoS 0). */
  header: number
  packetId: number
  code: number
  /** SUBACK's and UNSUBACK's. */
  codes: number[] | undefined
  bytes: number
  done: boolean
  /** The one behind it. */
  next: Acknowledgement | undefined
}

export interface Outgoing {
  message: Message
  packetId: number
  released: boolean
  /** Sent on an earlier connection. */
  again: boolean
  /** When it was enqueued, in milliseconds since the epoch; 0 where nothing expires. */
  at: number
  bytes: number
  stored: string | undefined
  settled: Settled | undefined
  /** Sent after this one (in-flight.ts). */
  next: Outgoing | undefined
}

export interface Session {
  key: string
  /** The number of its connection: the one with the greatest has the session, in whichever process. */
  claim: number
  /** A connection has the session and does not know its number yet. */
  claiming: boolean
  /** The greatest that was heard of from elsewhere until then. */
  contested: { claim: number; clean: boolean; by: string } | undefined
  peer: Peer | undefined
  expirySeconds: number
  /** The store has a row of it. */
  kept: boolean
  /** From an earlier connection of this process, by one that is not open yet: the store does not have all of it. */
  inherited: boolean
  subscriptions: Map<string, Subscription> | undefined
  /** Sent on this connection and not acknowledged: how many, the first and the last (in-flight.ts). */
  inFlight: number
  firstInFlight: Outgoing | undefined
  lastInFlight: Outgoing | undefined
  queue: Outgoing[] | undefined
  /** Messages that the client may not get yet (held-messages.ts); they count in `owedBytes` and in the queue's bound. */
  held: Outgoing[] | undefined
  owedBytes: number
  /** QoS 2 from the client, acknowledged by PUBREC and not released yet: packet id and hash of the topic. */
  received: Map<number, number> | undefined
  lastPacketId: number
  loading: Promise<void> | undefined
}

export interface Peer extends Connection {
  client: Connection['client']
  claim: number
  /** `Accepted.evict`. */
  evict(why: string): void
  sessionKey: string
  open: boolean
  layer: Layer
  stream: Duplex
  from: From
  session: Session | undefined
  phase: number
  version: number
  paused: number
  parsing: boolean
  /** The peer has closed its side. */
  ended: boolean
  /** Bytes that are not parsed yet: `rest[0, restLength)`. */
  rest: Buffer | undefined
  restLength: number
  /** Length of the packet at the start of `rest`, once it is known. */
  restNeeds: number
  restSince: number
  out: Buffer | undefined
  outLength: number
  unflushed: boolean
  /** Tick of the last packet, of the beginning, of the end: what time-outs count from. */
  seen: number
  keepAliveTicks: number
  slowSince: number
  /** Those that wait for their turn: the first of the row and the last. */
  firstWaiting: Acknowledgement | undefined
  lastWaiting: Acknowledgement | undefined
  pending: number
  pendingBytes: number
  aliasesIn: string[] | undefined
  aliasesOut: Map<string, number> | undefined
  aliasesOutMax: number
  packetBytesMax: number
  receiveMaximum: number
  problemInformation: boolean
  discarded: number
  failure: string | undefined
}

export const ticksPerSecond = 2
