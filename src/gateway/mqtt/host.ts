/**
 * The interface between the MQTT layer and its host. The layer implements packets, acknowledgements, sessions and limits. The host decides
 * about topics and identities. There are two hosts: the gateway, and test/harness/open-broker.ts for test suites of brokers.
 */
import type { X509Certificate } from 'node:crypto'
import type { Duplex } from 'node:stream'

export type Qos = 0 | 1 | 2
export type Transport = 'mqtt' | 'mqtts' | 'websocket'

/** The properties of MQTT 5 that are passed to and from the host. */
export interface MessageProperties {
  payloadFormatIndicator?: boolean
  /** Seconds after which the message expires, as in the packet. */
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
  /** Id of the recipient, as the host defines it. It is stored for `mayDeliver` and never sent. */
  recipientId?: string
  /** True if the message must not be sent on a later connection of the session. */
  transient?: boolean
}

/** The fields of CONNECT and the origin of the connection. */
export interface Client {
  /** Assigned by the layer if the client sent none. */
  clientId: string
  protocolVersion: 3 | 4 | 5
  cleanStart: boolean
  /** 0 means that the session ends with the connection, Infinity that it never expires. */
  sessionExpirySeconds: number
  keepAliveSeconds: number
  username?: string
  password?: Buffer
  /** The certificate of the TLS handshake; not verified. */
  certificate?: X509Certificate
  transport: Transport
  address: string
  will?: Message & { delaySeconds: number }
  /** The tenant of a refused client, if the result of `Host.connect` named one. */
  tenantId?: string
}

export type Verdict =
  /** `owner` is part of the session key, so that a client cannot take over the session of another owner. */
  | { accepted: true; owner: string }
  /** `why` and `tenantId` are for the traffic log; the client gets only the code. */
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

/** An open connection. The host keeps its own data in `state`. */
export interface Connection<S = unknown> {
  readonly client: Client
  readonly origin: Origin
  /** Key of the session: owner (`Verdict`) and client id. */
  readonly sessionKey: string
  readonly open: boolean
  /** Claim number of the CONNECT. It is greater than the numbers of all earlier CONNECTs of the client, on any node. */
  readonly claim: number
  state: S
  /**
   * Sends a message. With a QoS above 0, the message stays in the session until it is acknowledged, unless it is transient. Returns false
   * if the queue is full or the connection is closed. Otherwise `settled` is called once with the outcome.
   */
  send(message: Message, settled?: Settled): boolean
  /** Returns false if the packet of this message would be larger than the client accepts. `send` would drop such a message. */
  accepts(message: Message): boolean
  /** Sends the messages with this `recipientId` that `Host.mustWait` has held back. */
  release(recipientId: string): void
  close(reason: CloseReason, why: string): void
  /** Stops reading until `resume` (back-pressure). */
  pause(): void
  resume(): void
}

/**
 * Called with the outcome of a message. `delivered`: the message was acknowledged, or written at QoS 0. `queued`: it is stored in the
 * session. `lost`: neither happened.
 */
export type Settled = (outcome: 'delivered' | 'queued' | 'lost') => void

/** Reason codes of PUBACK and PUBREC that a host may return; only MQTT 5 has them. */
export type PublishCode = 0x00 | 0x10 | 0x80 | 0x83 | 0x87 | 0x90 | 0x97 | 0x99

export interface Host<S = unknown> {
  connect(client: Client): Promise<Verdict>
  /** Called after CONNACK. If the session was resumed, its subscriptions are passed. */
  connected(connection: Connection<S>, session: { present: boolean; subscriptions: Subscription[] }): void
  /**
   * Called in the order of arrival. Acknowledgements are sent in the same order, each after its promise resolves. A rejected promise closes
   * the connection without an acknowledgement, so that the device sends the message again.
   */
  publish(connection: Connection<S>, message: Message): Promise<PublishCode | undefined> | PublishCode | undefined
  /** Returns, for each subscription, the granted QoS or a reason code (0x80 and above). */
  subscribe(connection: Connection<S>, subscriptions: Subscription[]): number[]
  unsubscribe(connection: Connection<S>, filters: string[]): void
  /** Returns true if UNSUBSCRIBE must not reveal whether the session has this subscription. */
  concealsSubscription?(connection: Connection<S>, filter: string): boolean
  /**
   * Returns true if the session holds this message back until `Connection.release`, because the client has not yet proved on this
   * connection that the message is for it. A message of an earlier connection without `recipientId` is dropped.
   */
  mustWait?(connection: Connection<S>, message: Message): boolean
  /**
   * Returns for each queued message whether it may be delivered. A message that may not be delivered is dropped. Called when a client
   * reconnects and by `Sessions.recheck`.
   */
  mayDeliver?(client: Client, messages: Message[]): Promise<boolean[]>
  /**
   * Called when an open connection has ended. `graceful`: the client sent DISCONNECT with code 0, so its will is discarded. `reason` is one
   * of the names in ending.ts, as in `refused`, or `closed`.
   */
  disconnected(connection: Connection<S>, end: { graceful: boolean; why: string; reason: string }): void
  /** Called when a client is refused before CONNACK, even if `connect` itself refused the client. */
  refused(client: Partial<Client> & { transport: Transport; address: string }, reason: string, detail?: string): void
}

/** The transport and address of a stream. */
export interface Origin {
  transport: Transport
  address: string
  certificate?: X509Certificate
  /** If set, CONNECT is answered with this refusal. */
  refusal?: 'busy' | 'quota_exceeded'
  /** Called when the stream is closed. All connections share this function, because a function for each connection would cost memory. */
  onClosed?(from: Origin): void
}

/** An accepted stream. It is created before the client sends CONNECT. */
export interface Accepted<S = unknown> extends Pick<Connection<S>, 'open'> {
  /** Undefined before CONNECT. */
  readonly client: Client | undefined
  /** Undefined before CONNACK. */
  readonly state: S | undefined
  /** Closes the stream without waiting for the client. Sends CONNACK or DISCONNECT first if the protocol version has such a packet. */
  evict(why: string): void
}

/** All MQTT sessions of this node; created by `createSessions` (sessions.ts). */
export interface Sessions<S = unknown> {
  /** Starts MQTT on a new stream. Returns undefined and destroys the stream if the layer is closing. */
  accept(stream: Duplex, from: Origin): Accepted<S> | undefined
  /**
   * Sends to the connection of the session, or stores the message in the queue of a disconnected client. `full`: the queue is full and the
   * message was dropped. `gone`: there is no session, or the message has QoS 0 or matches no subscription with a QoS above 0.
   * `too_large`: the connected client does not accept so large a packet, and the message was dropped.
   */
  deliver(
    sessionKey: string,
    message: Message,
    settled?: Settled,
  ): Promise<'sent' | 'queued' | 'full' | 'gone' | 'too_large'>
  /** Closes the connection of a client that has connected to node `by`. If the connection of this node is newer, it stays open. */
  yield(to: { key: string; claim: number; clean: boolean; by: string }): void
  /** Loads and sends messages that another node has queued for connected clients. */
  fetch(sessionKeys: string[]): Promise<void>
  /** Compares all sessions with the store after a reset, because calls of `yield` and `fetch`, or rows in the store, may have been lost. */
  catchUp(): void
  /** Checks queued messages of connected clients with `Host.mayDeliver`, after a permission has ended. Calls are debounced. */
  recheck(): void
  /** Returns the number of connections, including connections that have not sent CONNECT yet. */
  count(): number
  /** Stops accepting connections, acknowledges stored messages, sends DISCONNECT and closes all connections. */
  close(): Promise<void>
}
