/**
 * What the session layer asks of whoever stands behind it. The layer keeps MQTT's promises (packets, acknowledgements,
 * sessions, limits) and knows neither topics of ours nor identities; the platform stands behind it, and for suites of other
 * brokers plain topic routing does (test/harness/open-broker.ts).
 */
import type { X509Certificate } from 'node:crypto'
import type { Duplex } from 'node:stream'

export type Qos = 0 | 1 | 2
export type Transport = 'mqtt' | 'mqtts' | 'websocket'

/** MQTT 5 properties that a device platform cares for, in both directions. */
export interface MessageProperties {
  payloadFormatIndicator?: boolean
  /** Seconds, as it stood in the packet. */
  messageExpiryInterval?: number
  contentType?: string
  responseTopic?: string
  correlationData?: Buffer
  userProperties?: Record<string, string | string[]>
  subscriptionIdentifier?: number | number[]
}

export interface Message {
  topic: string
  payload: Buffer
  qos: Qos
  retain?: boolean
  properties?: MessageProperties
  /** Whose it is, in the host's own words: kept with it for `mayDeliver`, and never sent. */
  about?: string
}

/** What a client says in CONNECT, and where it comes from. */
export interface Client {
  /** Ours when the client gave none. */
  clientId: string
  protocolVersion: 3 | 4 | 5
  cleanStart: boolean
  /** 0: the session ends with the connection; Infinity: never. */
  sessionExpirySeconds: number
  keepAliveSeconds: number
  username?: string
  password?: Buffer
  /** Of a TLS handshake; whether it is one of ours has to be asked. */
  certificate?: X509Certificate
  transport: Transport
  address: string
  will?: Message & { delaySeconds: number }
  /** Of a client that was turned away: whose it is, where the verdict said so. */
  tenantId?: string
}

export type Verdict =
  /** `owner`: whose session the client id names; nobody can take over the session of another owner. */
  | { accepted: true; owner: string }
  /** `why` and `tenantId`, where it is known, are for the record; the peer gets the code alone. */
  | {
      accepted: false
      code: 'bad_credentials' | 'not_authorized' | 'busy' | 'banned'
      why: string
      tenantId?: string
    }

export interface Subscription {
  filter: string
  qos: Qos
  noLocal?: boolean
  retainAsPublished?: boolean
  retainHandling?: 0 | 1 | 2
  subscriptionIdentifier?: number
}

export type CloseReason =
  | 'taken_over'
  | 'not_authorized'
  | 'administrative'
  | 'shutting_down'
  | 'quota_exceeded'
  | 'protocol_error'

/** An open connection. Whoever stands behind keeps its own state in `state`. */
export interface Connection<S = unknown> {
  readonly client: Client
  readonly from: From
  /** Owner and client id: the session's name. */
  readonly sessionKey: string
  readonly open: boolean
  /** Of its CONNECT: greater than that of every earlier one of the client, on whichever node. */
  readonly claim: number
  state: S
  /**
   * QoS above 0 is kept until it is acknowledged, and beyond the connection when the session is. False: nothing was kept, because
   * the client does not keep up and its queue is full, or it is gone. `settled` is called once, unless this returns false.
   */
  send(message: Message, settled?: Settled): boolean
  /** Sends the messages about this that `Host.mustWait` has held back. */
  release(about: string): void
  close(reason: CloseReason, why: string): void
  /** Back-pressure: nothing more is read until `resume`. */
  pause(): void
  resume(): void
}

/** `delivered`: acknowledged, or written at QoS 0. `kept`: stored in the session. `lost`: neither. */
export type Settled = (outcome: 'delivered' | 'kept' | 'lost') => void

/** MQTT 5's reason codes of PUBACK and PUBREC that a host may answer with; 3.1.1 has none. */
export type PublishCode = 0x00 | 0x10 | 0x80 | 0x83 | 0x87 | 0x90 | 0x97 | 0x99

export interface Host<S = unknown> {
  connect(client: Client): Promise<Verdict>
  /** After CONNACK; with what was there of the session, if anything. */
  connected(connection: Connection<S>, session: { present: boolean; subscriptions: Subscription[] }): void
  /**
   * In the order of arrival; the acknowledgement leaves once this has settled, in that order too. Anything but a promise is done
   * already. A rejection closes the connection without an acknowledgement: the device sends again.
   */
  publish(connection: Connection<S>, message: Message): Promise<PublishCode | undefined> | PublishCode | undefined
  /** The granted QoS or a reason code (0x80 and above) for each. */
  subscribe(connection: Connection<S>, subscriptions: Subscription[]): number[]
  unsubscribe(connection: Connection<S>, filters: string[]): void
  /** True: UNSUBSCRIBE must not reveal whether the session has this subscription. */
  concealsSubscription?(connection: Connection<S>, filter: string): boolean
  /**
   * True: the session holds this message back until `Connection.release`, because the client has not shown on this connection
   * that the message is for it. A message from an earlier connection without `about` can never be released and is dropped.
   */
  mustWait?(connection: Connection<S>, message: Message): boolean
  /**
   * Asked before what waited in a session is sent to a client that is back, and by `Sessions.recheck`; an answer for each
   * message. What may not be delivered is dropped.
   */
  mayDeliver?(client: Client, messages: Message[]): Promise<boolean[]>
  /** `graceful`: by DISCONNECT, and its will is void. */
  disconnected(connection: Connection<S>, how: { graceful: boolean; why: string }): void
  /** Whoever was turned away before it was a connection, by `connect` too. */
  refused(client: Partial<Client> & { transport: Transport; address: string }, reason: string, detail?: string): void
}

export interface From {
  transport: Transport
  address: string
  certificate?: X509Certificate
  /** Its CONNECT is answered with this and nothing else. */
  refusal?: 'busy' | 'quota_exceeded'
  /** Called when the stream is gone, whatever it was good for. One for all: a listener for each is memory that idles. */
  left?(from: From): void
}

/** A stream on which MQTT is spoken. */
export interface Accepted<S = unknown> extends Pick<Connection<S>, 'open'> {
  /** Undefined before CONNECT. */
  readonly client: Client | undefined
  /** Undefined before CONNACK. */
  readonly state: S | undefined
  /** Closes it without waiting for the peer, with CONNACK or DISCONNECT where the peer understands one. */
  evict(why: string): void
}

/** All sessions of this process; made by `createSessions` (sessions.ts). */
export interface Sessions<S = unknown> {
  /** A stream that has just been opened: MQTT is spoken on it from now on. Undefined: the layer is closing, and the stream is gone. */
  accept(stream: Duplex, from: From): Accepted<S> | undefined
  /**
   * To the session's connection, or, when the client is away and the session is not, into its queue (QoS above 0, matching a
   * subscription, durable when this resolves). `full`: the queue is, and nothing was kept.
   */
  deliver(sessionKey: string, message: Message, settled?: Settled): Promise<'sent' | 'queued' | 'full' | 'gone'>
  /** The client has connected to node `by`: its connection here ends, unless it is the newer one. */
  yield(to: { key: string; claim: number; clean: boolean; by: string }): void
  /** Messages were queued elsewhere for these sessions: those whose clients are here get them. */
  fetch(sessionKeys: string[]): Promise<void>
  /** Calls of `yield` and `fetch` may have been missed, and rows lost: the store is asked, and told who is here. */
  catchUp(): void
  /** Rights ended: what waits for clients that are connected is asked about soon (`Host.mayDeliver`). */
  recheck(): void
  /** Open connections; those whose CONNECT is still to come are counted too. */
  count(): number
  /** Stops accepting, acknowledges what was stored, says goodbye and closes. */
  close(): Promise<void>
}
