/**
 * What happens to every message of a device, whatever it came over:
 *
 *   identify         who speaks (identify.ts): by host.ts and http/binding.ts, from memory where it was asked before
 *   limit            the rates of the connection and of the tenant (limits.ts): there too, since each slows down in its own way
 *   find extension   decided with the identity, since the version says which it may use
 *   receive          the extension's part
 *   record           the traffic log's
 *   conclude         the answer, recorded and counted
 *   answer           back over what it came over
 *
 * Nothing here waits where nobody lets it wait: an extension that answers at once is answered at once, and all others cost one
 * promise. With a thousand connections a second one is 2 % of a message.
 */
import { monotonicMs } from '../kernel/clock.ts'
import { isConnectionTrouble, isExhausted } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceAnswer, DeviceEndpoint, DeviceMessage, Extension } from '../kernel/device.ts'
import { PlatformError } from '../kernel/errors.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import { ExtensionUnknown } from './errors.ts'
import type { MessageCounts } from './metrics.ts'
import type { Transport } from './tenants.ts'
import type { Tail } from './topic.ts'

/** Where messages with the same beginning of their topic go. */
export interface Addressed {
  endpoint: DeviceEndpoint
  /** As the topic names it. */
  extensionName: string
  /** Undefined: there is none, or this version may not use it. */
  extension: Extension | undefined
  counts: MessageCounts
}

export interface Arrival {
  to: Addressed
  tail: Tail
  payload: Buffer
  transport: Transport
  /** By the monotonic clock. */
  at: number
}

export interface Reply {
  statusCode: number
  payload: Buffer
  /** Whether it goes out. */
  wanted: boolean
}

/** What `answer` makes of the reply. It rejects only where that throws. */
export type Dispatch = <A extends Arrival, T>(arrival: A, answer: (arrival: A, reply: Reply) => T) => Promise<T> | T

export const empty = Buffer.alloc(0)

export function createDispatch(
  kit: Pick<Kit, 'now' | 'log' | 'newId'>,
  trafficLog: Pick<TrafficLog, 'record'>,
): Dispatch {
  const { log } = kit
  const timeAt = coarse(kit.now)
  const correlate = correlations(kit.newId)

  function dispatch<A extends Arrival, T>(arrival: A, answer: (arrival: A, reply: Reply) => T): Promise<T> | T {
    const message = messageOf(arrival)
    const received = receive(arrival, message)
    const recorded = record(arrival, message)
    return received instanceof Promise || recorded !== undefined
      ? later(arrival, message, received, recorded, answer)
      : answer(arrival, conclude(arrival, message, received))
  }

  /** Both before the acknowledgement: what was received is stored, and the log has it. */
  async function later<A extends Arrival, T>(
    arrival: A,
    message: DeviceMessage,
    received: Promise<DeviceAnswer | undefined> | Reply,
    recorded: Promise<void> | undefined,
    answer: (arrival: A, reply: Reply) => T,
  ): Promise<T> {
    let reply: Reply
    try {
      reply = received instanceof Promise ? success(await received, message.requestId) : received
    } catch (error) {
      reply = failure(message, error)
    }
    try {
      await recorded
    } catch (error) {
      return answer(arrival, replyTo(understand(error)))
    }
    return answer(arrival, conclude(arrival, message, reply))
  }

  function messageOf({ to, tail, payload, at }: Arrival): DeviceMessage {
    const message: DeviceMessage = {
      endpoint: to.endpoint,
      extension: to.extensionName,
      resourcePath: tail.resourcePath,
      payload,
      receivedAt: timeAt(at),
      correlationId: correlate(),
    }
    if (tail.requestId !== undefined) message.requestId = tail.requestId
    return message
  }

  function receive({ to }: Arrival, message: DeviceMessage): Promise<DeviceAnswer | undefined> | Reply {
    try {
      if (!to.extension) throw ExtensionUnknown({ extension: message.extension })
      const answer = to.extension.receive(message)
      return answer instanceof Promise ? answer : success(answer, message.requestId)
    } catch (error) {
      return failure(message, error)
    }
  }

  const isRecorded = ({ extension }: Addressed) => extension?.unrecorded !== true

  function record({ to, payload, transport }: Arrival, message: DeviceMessage): Promise<void> | undefined {
    if (!isRecorded(to)) return undefined
    return trafficLog.record(recordOf(message, 'INBOUND', payload, inbound[transport], message.receivedAt))
  }

  function conclude({ to, transport, at }: Arrival, message: DeviceMessage, reply: Reply): Reply {
    const finished = monotonicMs()
    const { statusCode, payload, wanted } = reply
    if (wanted && isRecorded(to)) {
      const metadata = statusCode === 200 ? answered[transport] : { transport, statusCode }
      // Nobody waits for it: what the log could not keep it says itself.
      void trafficLog.record(recordOf(message, 'OUTBOUND', payload, metadata, timeAt(finished)))
    }
    if (wanted) to.counts.answered()
    to.counts.handled((finished - at) / 1000, statusCode)
    return reply
  }

  function failure({ correlationId, extension }: DeviceMessage, error: unknown): Reply {
    const known = understand(error)
    if (known.statusCode >= 500)
      log.error({ err: error, correlationId, extension }, 'a message of a device could not be handled')
    return replyTo(known)
  }

  return dispatch
}

const replyTo = (error: { statusCode: number; reasonPhrase: string }): Reply => ({
  statusCode: error.statusCode,
  payload: errorPayload(error),
  wanted: true,
})

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

type Metadata = Record<Transport, Record<string, unknown>>

/** One for each transport: thousands of records a second share them. */
const inbound: Metadata = {
  mqtt: { transport: 'mqtt' },
  mqtts: { transport: 'mqtts' },
  websocket: { transport: 'websocket' },
  http: { transport: 'http' },
}
const answered: Metadata = {
  mqtt: { transport: 'mqtt', statusCode: 200 },
  mqtts: { transport: 'mqtts', statusCode: 200 },
  websocket: { transport: 'websocket', statusCode: 200 },
  http: { transport: 'http', statusCode: 200 },
}

function recordOf(
  message: DeviceMessage,
  direction: Traffic['direction'],
  payload: Buffer,
  additionalMetadata: Record<string, unknown>,
  createdAt: Date,
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
    additionalMetadata,
    createdAt,
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
