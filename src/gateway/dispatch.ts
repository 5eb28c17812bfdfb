/**
 * What happens to every message of a device, whatever it came over:
 *
 *   identify         who speaks (identify.ts): by host.ts and http/binding.ts, from memory where it was asked before
 *   limit            the rates of the connection and of the tenant (limits.ts): there too, since each slows down in its own way
 *   record traffic
 *   find extension   decided with the identity, since the version says which it may use
 *   receive          the extension's part
 *   answer
 */
import { monotonicMs } from '../kernel/clock.ts'
import { isConnectionTrouble, isExhausted } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceAnswer, DeviceEndpoint, DeviceMessage, Extension } from '../kernel/device.ts'
import { PlatformError } from '../kernel/errors.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import { ExtensionUnknown } from './errors.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Transport } from './tenants.ts'
import type { Tail } from './topic.ts'

export interface Arrival {
  endpoint: DeviceEndpoint
  /** As the topic names it. */
  extensionName: string
  /** Undefined: there is none, or this version may not use it. */
  extension: Extension | undefined
  tail: Tail
  payload: Buffer
  transport: Transport
}

export interface Reply {
  statusCode: number
  payload: Buffer
  /** Whether it goes out. */
  wanted: boolean
}

export type Dispatch = (arrival: Arrival) => Promise<Reply>

export const empty = Buffer.alloc(0)

export function createDispatch(
  kit: Pick<Kit, 'now' | 'log' | 'newId'>,
  trafficLog: Pick<TrafficLog, 'record'>,
  metrics: GatewayMetrics,
): Dispatch {
  const { log } = kit
  const timeAt = coarse(kit.now)
  const correlate = correlations(kit.newId)

  async function receive(extension: Extension | undefined, message: DeviceMessage): Promise<Reply> {
    try {
      if (!extension) throw ExtensionUnknown({ extension: message.extension })
      return success(await extension.receive(message), message.requestId)
    } catch (error) {
      const known = understand(error)
      if (known.statusCode >= 500)
        log.error(
          { err: error, correlationId: message.correlationId, extension: message.extension },
          'a message of a device could not be handled',
        )
      return { statusCode: known.statusCode, payload: errorPayload(known), wanted: true }
    }
  }

  return async function dispatch({ endpoint, extensionName, extension, tail, payload, transport }) {
    const started = monotonicMs()
    const message: DeviceMessage = {
      endpoint,
      extension: extensionName,
      resourcePath: tail.resourcePath,
      payload,
      receivedAt: timeAt(started),
      correlationId: correlate(),
    }
    if (tail.requestId !== undefined) message.requestId = tail.requestId
    const recorded = extension?.unrecorded !== true
    // Both before the acknowledgement: what was received is stored, and the log has it. The work never rejects, so it may wait.
    const work = receive(extension, message)
    if (recorded) await trafficLog.record(recordOf(message, 'INBOUND', payload, transport))
    const reply = await work
    const finished = monotonicMs()
    if (recorded && reply.wanted) {
      const answer = recordOf(message, 'OUTBOUND', reply.payload, transport, reply.statusCode)
      answer.createdAt = timeAt(finished)
      trafficLog.record(answer).catch((error) => log.warn({ err: error }, 'an answer is missing in the traffic log'))
    }
    if (reply.wanted) metrics.sent(extension?.name ?? 'unknown', 'answer')
    metrics.handled((finished - started) / 1000, extension?.name ?? 'unknown', transport, reply.statusCode)
    return reply
  }
}

const done: Reply = { statusCode: 200, payload: empty, wanted: false }
const doneAndSaid: Reply = { statusCode: 200, payload: empty, wanted: true }

function success(answer: DeviceAnswer | undefined, requestId: number | undefined): Reply {
  const wanted = requestId !== undefined || answer?.always === true
  if (answer?.payload === undefined) return wanted ? doneAndSaid : done
  return { statusCode: 200, payload: payloadOf(answer.payload), wanted }
}

export const payloadOf = (value: unknown): Buffer => (value === undefined ? empty : Buffer.from(JSON.stringify(value)))

/** Everything that can be thrown, in the words of the protocol. */
export function understand(error: unknown): { statusCode: number; reasonPhrase: string } {
  if (error instanceof PlatformError) return { statusCode: error.status, reasonPhrase: error.message }
  if (isConnectionTrouble(error) || isExhausted(error))
    return { statusCode: 503, reasonPhrase: 'The platform cannot store this right now, try again' }
  return { statusCode: 500, reasonPhrase: 'Something went wrong here' }
}

export const errorPayload = ({ statusCode, reasonPhrase }: { statusCode: number; reasonPhrase: string }) =>
  Buffer.from(JSON.stringify({ statusCode, reasonPhrase }))

type Traffic = Parameters<TrafficLog['record']>[0]

/** One for each transport: thousands of records a second share them. */
const inboundMetadata: Record<Transport, Record<string, unknown>> = {
  mqtt: { transport: 'mqtt' },
  mqtts: { transport: 'mqtts' },
  websocket: { transport: 'websocket' },
  http: { transport: 'http' },
}

function recordOf(
  message: DeviceMessage,
  direction: Traffic['direction'],
  payload: Buffer,
  transport: Transport,
  statusCode?: number,
): Traffic {
  const { endpoint, requestId } = message
  const record: Traffic = {
    correlationId: message.correlationId,
    direction,
    tenantId: endpoint.tenantId,
    applicationName: endpoint.applicationName,
    versionName: endpoint.versionName,
    endpointId: endpoint.endpointId,
    extension: message.extension,
    resourcePath: message.resourcePath,
    payload,
    additionalMetadata: statusCode === undefined ? inboundMetadata[transport] : { transport, statusCode },
    createdAt: message.receivedAt,
  }
  if (requestId !== undefined) record.requestId = requestId
  return record
}

/** The same time for what happens within a millisecond: nothing finer can be told of it. */
function coarse(now: () => Date): (at: number) => Date {
  let time = now()
  let since = monotonicMs()
  return (at) => {
    if (at - since >= 1) {
      time = now()
      since = at
    }
    return time
  }
}

/** Unique everywhere by the process, here by the number: a random id for each message would be half a microsecond. */
export function correlations(newId: () => string): () => string {
  const process = newId().replaceAll('-', '').slice(0, 16)
  let count = 0
  return () => `${process}-${(++count).toString(36)}`
}
