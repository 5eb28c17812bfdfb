/** Publishes received samples in the commit that stores them, if a service handles the event. */
import type { Bus } from '../../../kernel/bus.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { ReceivedMessage } from '../contract.ts'
import { type ReceivedSamples, SamplesReceived } from '../events.ts'

const samplesPerEvent = 500
/** Maximum size of an event, which is one row of the outbox. Small samples can become large, because metadata is added to them. */
const bytesPerEvent = 1024 * 1024

export const publishReceived = (bus: Pick<Bus, 'publishAll'>, sql: Sql, received: ReceivedMessage[]): Promise<void> =>
  bus.publishAll(sql, SamplesReceived, eventsOf(received))

interface Part {
  tenantId: string
  applicationName: string
  received: ReceivedSamples
  bytes: number
}

/** Splits the samples of a long message into parts. */
function partsOf({ message, samples, cause, bytes }: ReceivedMessage): Part[] {
  const { endpoint, receivedAt, correlationId } = message
  const { tenantId, applicationName, endpointId, versionName } = endpoint
  const bytesPerSample = bytes / samples.length
  const samplesPerPart = Math.max(1, Math.min(samplesPerEvent, Math.floor(bytesPerEvent / bytesPerSample)))
  const parts: Part[] = []
  for (let from = 0; from < samples.length; from += samplesPerPart) {
    const part = samples.slice(from, from + samplesPerPart)
    const received = {
      endpointId,
      versionName,
      receivedAt: receivedAt.toISOString(),
      correlationId,
      ...(cause !== undefined && { cause }),
      samples: part,
    }
    parts.push({ tenantId, applicationName, received, bytes: bytesPerSample * part.length })
  }
  return parts
}

function eventsOf(all: ReceivedMessage[]) {
  const events: { tenantId: string; applicationName: string; messages: ReceivedSamples[] }[] = []
  const open = new Map<string, { messages: ReceivedSamples[]; samples: number; bytes: number }>()
  for (const { tenantId, applicationName, received, bytes } of all.flatMap(partsOf)) {
    let event = open.get(applicationName)
    if (!event || event.samples + received.samples.length > samplesPerEvent || event.bytes + bytes > bytesPerEvent) {
      event = { messages: [], samples: 0, bytes: 0 }
      open.set(applicationName, event)
      events.push({ tenantId, applicationName, messages: event.messages })
    }
    event.messages.push(received)
    event.samples += received.samples.length
    event.bytes += bytes
  }
  return events
}
