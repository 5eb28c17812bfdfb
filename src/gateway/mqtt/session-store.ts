import type { Message, Qos, Subscription } from './host.ts'
import { matches } from './topics.ts'

/** A message in a session that its client has not acknowledged. */
export interface SessionMessage {
  /** Id in the store; absent if the message is only in memory. */
  storeId?: string
  message: Message
  /** The packet id; 0 if the message was not sent yet. */
  packetId: number
  /** True if PUBREC has arrived (QoS 2), so that PUBREL must be sent. */
  released: boolean
  /** The time at which the message was queued, in milliseconds since the epoch. Its expiry interval starts at this time. */
  queuedAt: number
}

export interface SessionState {
  /** Infinity if the session does not expire. */
  expirySeconds: number
  subscriptions: Subscription[]
  /** Packet ids of QoS 2 messages for which the client has not sent PUBREL yet, each with a hash of the topic. */
  received: [packetId: number, topicHash: number][]
  /** Messages in the order in which they are to be sent. */
  messages: SessionMessage[]
}

/**
 * Stores sessions so that they outlive connections and restarts. Calls for one session run in the order in which they are made. While a
 * client is connected, its session in memory is authoritative; messages that were stored before stay in the store until they are
 * acknowledged.
 */
export interface SessionStore {
  /**
   * Takes over the session at CONNECT, before any other call. Returns the claim number, which grows with each connection of a client.
   * Writes with a smaller number than that of the last claim are ignored.
   */
  claim(key: string, clean: boolean): Promise<number>
  /**
   * Returns the session, or undefined if it does not exist or has expired. With `claimed`, waits until the previous node has written the
   * session.
   */
  load(key: string, claimed?: boolean): Promise<SessionState | undefined>
  /** Stores the expiry and the subscriptions of a session, at CONNECT and when subscriptions change. */
  save(key: string, claim: number, session: Pick<SessionState, 'expirySeconds' | 'subscriptions'>): Promise<void>
  /**
   * Stores the session when its connection ends. Updates the messages that are stored already, and inserts the other messages. `yieldedTo`
   * is the node that the client has connected to and that waits for the session.
   */
  leave(key: string, claim: number, session: SessionState, yieldedTo: string | undefined): Promise<void>
  /** Deletes the session. If a claim is passed, the session is deleted only if no later connection has claimed it. */
  discard(key: string, claim?: number): Promise<void>
  /** Removes the row that records which node has the connection of the client. Called when a connection without a stored session ends. */
  removeHolder(key: string, claim: number): void
  /** Signals a waiting node that this node no longer writes to the session. */
  release(key: string, to: string): void
  /** Writes the rows of connected clients again, because they may have been lost. */
  restoreHolders(sessions: { key: string; claim: number }[]): Promise<void>
  /** Queues a message. `gone`: there is no session, or no subscription with a QoS above 0 matches. */
  enqueue(key: string, message: Message): Promise<'queued' | 'full' | 'gone'>
  /** Deletes a stored message, after it was acknowledged or dropped. */
  deleteMessage(key: string, storeId: string): void
  /**
   * Restarts the expiry of connected sessions. Returns the sessions that another node has taken over, that are deleted, or that have queued
   * messages.
   */
  touch(sessions: { key: string; claim: number }[]): Promise<SessionStatus[]>
  /** Resolves when all pending calls are written. */
  close(): Promise<void>
}

export interface SessionStatus {
  key: string
  /** The claim number in the store; undefined if the session no longer exists. */
  claim: number | undefined
  /** True if the session has messages that were not sent yet. */
  hasQueued: boolean
}

export interface QueueLimits {
  queuedMessagesMax: number
  queuedBytesMax: number
}

/** The topic hash in sessions that an older version of the platform stored without hashes. It matches every topic. */
export const anyTopic = 0

/** Returns the highest QoS of the subscriptions that match the message; 0 if no subscription matches. */
export function subscribedQos(subscriptions: Iterable<Subscription>, message: Message): Qos {
  let granted: Qos = 0
  for (const { filter, qos } of subscriptions) if (qos > granted && matches(filter, message.topic)) granted = qos
  return Math.min(granted, message.qos) as Qos
}

/** Estimates the memory that a queued message needs. The limit of the queue uses this number. */
export const messageBytes = ({ topic, payload, properties }: Message) =>
  topic.length + payload.length + (properties ? 256 : 0)
