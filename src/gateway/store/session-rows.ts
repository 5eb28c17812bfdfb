/** Converts sessions and messages to rows and back. */
import type { Log } from '../../kernel/log.ts'
import type { Secrets } from '../../kernel/secrets.ts'
import type { Message, Qos, Subscription } from '../mqtt/host.ts'
import { subscriptionsUnreadable } from '../mqtt/log-messages.ts'
import { messageBytes, type SessionMessage, type SessionState } from '../mqtt/session-store.ts'

export interface SessionRow {
  sessionKey: string
  expirySeconds: number | null
  expiresAt: Date | null
  subscriptions: string
  claim: number
}

export interface MessageRow {
  sessionKey: string
  sequence: number
  qos: number
  packetId: number
  released: boolean
  takenAt: Date
  bytes: number
  sealed: string
}

export const expiresAt = (seconds: number, now: Date) =>
  Number.isFinite(seconds) ? new Date(now.getTime() + seconds * 1000) : null

export const toSessionRow = (
  secrets: Secrets,
  {
    key,
    claim,
    session,
  }: { key: string; claim: number; session: Pick<SessionState, 'expirySeconds' | 'subscriptions'> },
  now: Date,
): SessionRow => ({
  sessionKey: key,
  expirySeconds: Number.isFinite(session.expirySeconds) ? session.expirySeconds : null,
  expiresAt: expiresAt(session.expirySeconds, now),
  subscriptions: secrets.seal(JSON.stringify(session.subscriptions)),
  claim,
})

export const toSubscriptions = (secrets: Secrets, sealed: string) => JSON.parse(secrets.open(sealed)) as Subscription[]

export function toMessageRow(secrets: Secrets, key: string, queued: Omit<SessionMessage, 'storeId'>) {
  const { message, packetId, released, queuedAt } = queued
  const { topic, payload, qos, retain, properties, recipientId } = message
  const interval = properties?.messageExpiryInterval
  const correlationData = properties?.correlationData?.toString('base64')
  const text = {
    topic,
    about: recipientId,
    payload: payload.toString('base64'),
    retain,
    properties: { ...properties, correlationData },
  }
  return {
    sessionKey: key,
    qos,
    packetId,
    released,
    takenAt: new Date(queuedAt),
    expiresAt: interval === undefined ? null : new Date(queuedAt + interval * 1000),
    bytes: messageBytes(message),
    sealed: secrets.seal(JSON.stringify(properties ? text : { ...text, properties: undefined })),
  }
}

export function toSessionMessage(secrets: Secrets, row: MessageRow): SessionMessage {
  const { topic, about, payload, retain, properties } = JSON.parse(secrets.open(row.sealed))
  const message: Message = { topic, payload: Buffer.from(payload, 'base64'), qos: row.qos as Qos }
  if (retain) message.retain = true
  if (about !== undefined) message.recipientId = about
  if (properties) {
    message.properties = properties
    if (properties.correlationData) properties.correlationData = Buffer.from(properties.correlationData, 'base64')
  }
  const { packetId, released, takenAt } = row
  return { storeId: String(row.sequence), message, packetId, released, queuedAt: takenAt.getTime() }
}

/** Decrypts subscriptions. Returns undefined if they were sealed with another data key. The session is then treated as missing. */
export function openSubscriptions({ secrets, log }: { secrets: Secrets; log: Log }, sealed: string) {
  try {
    return toSubscriptions(secrets, sealed)
  } catch (error) {
    subscriptionsUnreadable(log, { err: error })
    return undefined
  }
}
