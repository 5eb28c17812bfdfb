/**
 * Passes a message of an identified endpoint to its extension and the traffic log, and returns the response. No promise is created if the
 * extension answers synchronously: with a thousand connections, a promise is 2 % of the cost of a message.
 */
import { monotonicMs } from '../kernel/clock.ts'
import { isDatabaseUnavailable, isExhausted } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceAnswer, DeviceEndpoint, DeviceMessage, Extension } from '../kernel/device.ts'
import { PlatformError, StorageLowForDevices } from '../kernel/errors.ts'
import type { Register } from '../services/register/contract.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import { ExtensionUnknown } from './errors.ts'
import { deviceMessageFailed } from './log-messages.ts'
import type { MessageCounts } from './metrics.ts'
import type { Transport } from './tenants.ts'
import type { Tail } from './topic.ts'

/** The endpoint and extension that messages with the same topic prefix belong to. */
export interface Destination {
  endpoint: DeviceEndpoint
  /** The extension name in the topic. */
  extensionName: string
  /** Undefined if the extension does not exist or this version may not use it. */
  extension: Extension | undefined
  counts: MessageCounts
  /** Time of the last report to the register that the endpoint is active, in monotonic milliseconds; 0 if there was no report. */
  activeAt: number
}

/** A message that has arrived, with its destination. */
export interface Arrival {
  destination: Destination
  tail: Tail
  payload: Buffer
  transport: Transport
  /** Monotonic milliseconds. */
  arrivedAt: number
}

export interface Reply {
  statusCode: number
  payload: Buffer
  /** Payload in the traffic log, if it differs from `payload`. */
  recordedPayload?: Buffer
  /** Headers of an error, for devices that use HTTP. */
  headers?: Record<string, string>
  /** False if the device gets no response, because it sent no request id. */
  isSent: boolean
}

/** Handles a message and returns the result of `answer`, which sends the reply. Rejects only if `answer` throws. */
export type Dispatch = <A extends Arrival, T>(arrival: A, answer: (arrival: A, reply: Reply) => T) => Promise<T> | T

export const emptyPayload = Buffer.alloc(0)

/** Minimum time between two reports to the register that an endpoint is active. */
const activityMs = 60_000

export function createDispatch(
  kit: Pick<Kit, 'now' | 'log' | 'newId' | 'diskSpace'>,
  trafficLog: Pick<TrafficLog, 'record'>,
  register: Pick<Register, 'noteActivity'>,
): Dispatch {
  const { log, diskSpace } = kit
  const timeAt = createMillisecondClock(kit.now)
  const newCorrelationId = createCorrelationIds(kit.newId)

  function dispatch<A extends Arrival, T>(arrival: A, answer: (arrival: A, reply: Reply) => T): Promise<T> | T {
    // Messages of extensions that the traffic log does not record store nothing, so they are accepted when the disk is full.
    if (diskSpace.isLow && isRecorded(arrival.destination)) return answer(arrival, refuseForSpace(arrival))
    const message = messageOf(arrival)
    noteActivity(register, arrival, message)
    const received = receive(arrival, message)
    const recorded = record(arrival, message)
    return received instanceof Promise || recorded !== undefined
      ? finishLater(arrival, message, received, recorded, answer)
      : answer(arrival, finish(arrival, message, received))
  }

  function refuseForSpace({ destination, arrivedAt }: Arrival): Reply {
    const reply = replyTo(describeError(StorageLowForDevices()))
    destination.counts.recordHandled((monotonicMs() - arrivedAt) / 1000, reply.statusCode)
    return reply
  }

  /** Waits for both the extension and the traffic log: a message is acknowledged only after both have stored it. */
  async function finishLater<A extends Arrival, T>(
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
      return answer(arrival, replyTo(describeError(error)))
    }
    return answer(arrival, finish(arrival, message, reply))
  }

  function messageOf({ destination, tail, payload, arrivedAt }: Arrival): DeviceMessage {
    const message: DeviceMessage = {
      endpoint: destination.endpoint,
      extension: destination.extensionName,
      resourcePath: tail.resourcePath,
      payload,
      receivedAt: timeAt(arrivedAt),
      correlationId: newCorrelationId(),
    }
    if (tail.requestId !== undefined) message.requestId = tail.requestId
    return message
  }

  function receive({ destination }: Arrival, message: DeviceMessage): Promise<DeviceAnswer | undefined> | Reply {
    try {
      if (!destination.extension) throw ExtensionUnknown({ extension: message.extension })
      const answer = destination.extension.receive(message)
      return answer instanceof Promise ? answer : success(answer, message.requestId)
    } catch (error) {
      return failure(message, error)
    }
  }

  const isRecorded = ({ extension }: Destination) => extension?.unrecorded !== true

  function record({ destination, payload, transport }: Arrival, message: DeviceMessage): Promise<void> | undefined {
    if (!isRecorded(destination)) return undefined
    return trafficLog.record(recordOf(message, 'INBOUND', payload, inboundMetadata[transport], message.receivedAt))
  }

  function finish({ destination, transport, arrivedAt }: Arrival, message: DeviceMessage, reply: Reply): Reply {
    const finished = monotonicMs()
    const { statusCode, payload, recordedPayload = payload, isSent } = reply
    if (isSent && isRecorded(destination)) {
      const metadata = statusCode === 200 ? answeredMetadata[transport] : { transport, statusCode }
      // The write is not awaited, because the traffic log reports its own failures.
      void trafficLog.record(recordOf(message, 'OUTBOUND', recordedPayload, metadata, timeAt(finished)))
    }
    if (isSent) destination.counts.recordAnswer()
    destination.counts.recordHandled((finished - arrivedAt) / 1000, statusCode)
    return reply
  }

  function failure({ correlationId, extension }: DeviceMessage, error: unknown): Reply {
    const described = describeError(error)
    if (described.statusCode >= 500) deviceMessageFailed(log, { err: error, correlationId, extension })
    return replyTo(described)
  }

  return dispatch
}

function noteActivity(
  register: Pick<Register, 'noteActivity'>,
  { destination, arrivedAt }: Arrival,
  { endpoint, receivedAt }: DeviceMessage,
) {
  if (destination.activeAt !== 0 && arrivedAt - destination.activeAt < activityMs) return
  destination.activeAt = arrivedAt
  register.noteActivity(endpoint.endpointId, receivedAt)
}

const replyTo = (error: DescribedError): Reply => ({
  statusCode: error.statusCode,
  payload: errorPayload(error),
  isSent: true,
  ...(error.headers && { headers: error.headers }),
})

const noResponse: Reply = { statusCode: 200, payload: emptyPayload, isSent: false }
const emptyResponse: Reply = { statusCode: 200, payload: emptyPayload, isSent: true }

function success(answer: DeviceAnswer | undefined, requestId: number | undefined): Reply {
  const isSent = requestId !== undefined || answer?.always === true
  if (answer?.payload === undefined) return isSent ? emptyResponse : noResponse
  const reply: Reply = { statusCode: 200, payload: payloadOf(answer.payload), isSent }
  if (answer.recordedPayload !== undefined) reply.recordedPayload = payloadOf(answer.recordedPayload)
  return reply
}

export function payloadOf(value: unknown): Buffer {
  if (value === undefined) return emptyPayload
  return Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))
}

export interface DescribedError {
  statusCode: number
  reasonPhrase: string
  headers?: Record<string, string>
}

/** Returns the status and the text that a device gets for an error. */
export function describeError(error: unknown): DescribedError {
  if (error instanceof PlatformError)
    return {
      statusCode: error.status,
      reasonPhrase: error.message,
      ...(error.headers && { headers: error.headers }),
    }
  if (isDatabaseUnavailable(error) || isExhausted(error))
    return { statusCode: 503, reasonPhrase: 'The platform cannot store this right now, try again' }
  return { statusCode: 500, reasonPhrase: 'The platform could not process this because of an internal error' }
}

export const errorPayload = ({ statusCode, reasonPhrase }: { statusCode: number; reasonPhrase: string }) =>
  Buffer.from(JSON.stringify({ statusCode, reasonPhrase }))

type Traffic = Parameters<TrafficLog['record']>[0]

type Metadata = Record<Transport, Record<string, unknown>>

/** Metadata of records in the traffic log. All records of a transport share one object, to avoid allocations. */
const inboundMetadata: Metadata = {
  mqtt: { transport: 'mqtt' },
  mqtts: { transport: 'mqtts' },
  websocket: { transport: 'websocket' },
  http: { transport: 'http' },
}
const answeredMetadata: Metadata = {
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

/** Returns a clock that creates at most one `Date` object per millisecond. */
function createMillisecondClock(now: () => Date): (at: number) => Date {
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

/**
 * Returns a generator of correlation ids. An id is a random prefix with a counter, because a random id would cost 0.5 µs for each message.
 */
export function createCorrelationIds(newId: () => string): () => string {
  const prefix = newId().replaceAll('-', '').slice(0, 16)
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}
