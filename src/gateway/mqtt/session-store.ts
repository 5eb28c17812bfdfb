import type { Message, Qos, Subscription } from './host.ts'
import { matches } from './topics.ts'

/** A message that a session owes its client. */
export interface OwedMessage {
  /** The store's name for it; absent when only this process knows of it. */
  stored?: string
  message: Message
  /** 0: not sent yet. */
  packetId: number
  /** QoS 2: PUBREC has come, PUBREL is owed. */
  released: boolean
  /** When it was taken in, milliseconds since the epoch: what is left of its expiry interval is counted from here. */
  at: number
}

export interface SessionState {
  /** Infinity: never. */
  expirySeconds: number
  subscriptions: Subscription[]
  /** Packet ids of QoS 2 messages from the client that it has not released, each with a hash of the topic. */
  received: [packetId: number, topicHash: number][]
  /** In the order in which they are to be sent. */
  messages: OwedMessage[]
}

/**
 * Sessions beyond a connection, and beyond the process. What is asked for one session happens in the order of the calls. While a
 * client is connected the truth is in memory, except for messages that were queued before: they stay here until acknowledged.
 */
export interface SessionStore {
  /**
   * At CONNECT, before all else: whoever had the session has it no more. The number grows from connection to connection of a
   * client: what is asked with a smaller one than the last is ignored.
   */
  claim(key: string, clean: boolean): Promise<number>
  /** Undefined: there is none, or it has expired. `claimed`: waits until the node that had it before has written it. */
  load(key: string, claimed?: boolean): Promise<SessionState | undefined>
  /** At CONNECT and when subscriptions change. */
  save(key: string, claim: number, session: Pick<SessionState, 'expirySeconds' | 'subscriptions'>): Promise<void>
  /**
   * When the connection ends. Messages that the store has already are updated, the others are added. `yieldedTo`: the node that
   * the client has connected to, and that waits for it.
   */
  leave(key: string, claim: number, session: SessionState, yieldedTo: string | undefined): Promise<void>
  /** Without a number: whoever has it. */
  discard(key: string, claim?: number): Promise<void>
  /** The connection of this claim has ended, and nothing of its session is kept. */
  vacate(key: string, claim: number): void
  /** Tells a node that waits for a session that nothing more is written of it here. */
  release(key: string, to: string): void
  /** Writes again which clients are connected here: the rows about it may have been lost. */
  hold(sessions: { key: string; claim: number }[]): Promise<void>
  /** For a client that is away: `gone` when there is no session or no subscription of it that asks for this with a QoS above 0. */
  enqueue(key: string, message: Message): Promise<'queued' | 'full' | 'gone'>
  /** The client has acknowledged it. */
  forget(key: string, stored: string): void
  /** These are connected: their expiry starts anew. Answers for those of which there is something to say. */
  touch(sessions: { key: string; claim: number }[]): Promise<Standing[]>
  /** Resolves when all that was asked has been written. */
  close(): Promise<void>
}

export interface Standing {
  key: string
  /** Of who has it; undefined: it is not there any more. */
  claim: number | undefined
  /** Messages wait in it that were not sent yet. */
  waits: boolean
}

export interface QueueLimits {
  queuedMessagesMax: number
  queuedBytesMax: number
}

/** Instead of a topic's hash where a session was written without one. */
export const anyTopic = 0

/** The QoS at which a session's subscriptions ask for a message; 0 when none does. */
export function owedQos(subscriptions: Iterable<Subscription>, message: Message): Qos {
  let granted: Qos = 0
  for (const { filter, qos } of subscriptions) if (qos > granted && matches(filter, message.topic)) granted = qos
  return Math.min(granted, message.qos) as Qos
}

/** What a message weighs in a queue, roughly: enough for a bound. */
export const messageBytes = ({ topic, payload, properties }: Message) =>
  topic.length + payload.length + (properties ? 256 : 0)
