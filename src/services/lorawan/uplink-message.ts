/** Parses the messages of a network: uplinks and reports on downlinks. All functions are pure. Nothing in a message is trusted. */
import { createHash } from 'node:crypto'

export interface Uplink {
  sessionKey: string
  fCnt: number
  fPort: number
  /** Milliseconds since 1970; undefined if the network sent no usable time. */
  receivedAt: number | undefined
  /** The payload; undefined if there is no `frm_payload`. */
  bytes: Buffer | undefined
  decoded: unknown
}

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the uplink, or the problem with it. */
export function parseUplink(payload: Buffer): Uplink | { problem: string } {
  const message = parseJson(payload)
  if (message === undefined) return { problem: 'the uplink is not JSON' }
  const uplink = isObject(message) ? message.uplink_message : undefined
  if (!isObject(message) || !isObject(uplink)) return { problem: 'the uplink has no object uplink_message' }
  const { session_key_id: session, f_cnt: fCnt = 0, f_port: fPort = 0, frm_payload: frame } = uplink
  if (!isCount(fCnt, 0xffff_ffff)) return { problem: 'uplink_message.f_cnt: expected a number of 32 bits' }
  if (!isCount(fPort, 255)) return { problem: 'uplink_message.f_port: expected a number from 0 to 255' }
  if (session !== undefined && session !== null && (typeof session !== 'string' || session.length > 255))
    return { problem: 'uplink_message.session_key_id: expected a text of up to 255 characters' }
  const bytes = typeof frame === 'string' ? base64(frame) : undefined
  if (frame !== undefined && frame !== null && bytes === undefined)
    return { problem: 'uplink_message.frm_payload: expected base64' }
  return {
    // If an uplink has neither a session nor a counter, only an identical message counts as the same uplink.
    sessionKey: session || uplink.f_cnt !== undefined ? storable(String(session ?? '')) : digestOf(payload),
    fCnt,
    fPort,
    receivedAt: timeOf(message.received_at) ?? timeOf(uplink.received_at),
    bytes,
    decoded: uplink.decoded_payload,
  }
}

const digestOf = (payload: Buffer) => `payload ${createHash('sha256').update(payload).digest('base64url')}`

/** Removes parts of a text that PostgreSQL cannot store: NUL and halves of surrogate pairs. */
const storable = (text: string) => text.replaceAll('\0', '').toWellFormed()

const isCount = (value: unknown, max: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export const isBase64 = (text: string) => base64Pattern.test(text)

const base64 = (text: string): Buffer | undefined => (isBase64(text) ? Buffer.from(text, 'base64') : undefined)

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

/** Parses a time. Networks write fractions of a second with up to nine digits. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== 'string' || !timePattern.test(value)) return undefined
  const time = Date.parse(value.replace(/(\.\d{3})\d+/, '$1'))
  return Number.isNaN(time) ? undefined : time
}

function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString('utf8'))
  } catch {
    return undefined
  }
}

export type DownlinkStatus = 'sent' | 'ack' | 'nack' | 'failed'

export interface DownlinkReport {
  correlationIds: string[]
  /** The reason why the network could not send the downlink. */
  reason: string | undefined
}

/** Prefix of the correlation ids of downlinks that the platform sends. */
export const correlationPrefix = 'waypost:'

const idsMax = 20

export function parseReport(status: DownlinkStatus, payload: Buffer): DownlinkReport {
  const message = parseJson(payload)
  if (!isObject(message)) return { correlationIds: [], reason: undefined }
  const part = message[`downlink_${status}`]
  const downlink = isObject(part) && isObject(part.downlink) ? part.downlink : undefined
  const ids = [message, part, downlink].flatMap((container) => {
    const list = isObject(container) ? container.correlation_ids : undefined
    return Array.isArray(list) ? list : []
  })
  const ownIds = ids.filter((id) => typeof id === 'string' && id.startsWith(correlationPrefix) && id.length <= 100)
  return { correlationIds: [...new Set<string>(ownIds)].slice(0, idsMax), reason: reasonIn(part) }
}

function reasonIn(part: unknown): string | undefined {
  const error = isObject(part) ? part.error : undefined
  if (typeof error === 'string') return error
  if (!isObject(error)) return undefined
  const { message_format: format, name, message } = error
  return [message, format, name].find((text): text is string => typeof text === 'string' && text !== '')
}

export type Topic = { kind: 'up'; netDeviceId: string } | { kind: 'down'; netDeviceId: string; status: DownlinkStatus }

/** Parses a topic. Returns undefined for topics of other users and for topics without a subscription. */
export function parseTopic(topic: string, username: string): Topic | undefined {
  const prefix = `v3/${username}/devices/`
  if (!topic.startsWith(prefix)) return undefined
  const [netDeviceId = '', kind, status, ...rest] = topic.slice(prefix.length).split('/')
  if (netDeviceId === '' || rest.length > 0) return undefined
  if (kind === 'up' && status === undefined) return { kind, netDeviceId }
  if (kind === 'down' && isDownlinkStatus(status)) return { kind, netDeviceId, status }
  return undefined
}

const isDownlinkStatus = (status: string | undefined): status is DownlinkStatus =>
  ['sent', 'ack', 'nack', 'failed'].includes(status ?? '')
