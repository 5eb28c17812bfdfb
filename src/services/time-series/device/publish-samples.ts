/** Publishes received samples, if a service handles the event. */
import { currentCause } from '../../../kernel/cause.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceMessage } from '../../../kernel/device.ts'
import { createGroupCommit, type Group } from '../../../kernel/group-commit.ts'
import { type ReceivedSamples, SamplesReceived } from '../events.ts'

export interface PublishSamples {
  /** Resolves when the event is durable. `sent` is the samples before enrichment. */
  (message: DeviceMessage, samples: unknown[], sent: unknown[]): Promise<void>
  isHandled(endpoint: DeviceMessage['endpoint']): boolean
}

interface Pending extends Group {
  add(message: DeviceMessage, samples: unknown[], bytes: number): void
  events(): { tenantId: string; applicationName: string; messages: ReceivedSamples[] }[]
}

const samplesPerEvent = 500
const mebibyte = 1024 * 1024
/** Limit of an event, which is one row: metadata makes small samples large. */
const bytesPerEvent = mebibyte

export function createSamplePublisher({
  db,
  bus,
  log,
  metrics,
}: Pick<Kit, 'db' | 'bus' | 'log' | 'metrics'>): PublishSamples {
  const commit = createGroupCommit<Pending>({
    name: 'samples_told',
    create: createPending,
    write: (pending) => db.tx((sql) => bus.publishAll(sql, SamplesReceived, pending.events())),
    isTemporary: (error) => !/^(22|54)/.test((error as { code?: string } | null)?.code ?? ''),
    log,
    metrics,
    everyMs: 15,
    // One write runs at a time, so that event handlers get samples in the order in which they were stored.
    concurrentWrites: 1,
    pendingBytesMax: 128 * mebibyte,
  })
  const publish = (message: DeviceMessage, samples: unknown[], sent: unknown[]) => {
    const bytes = samples === sent ? message.payload.length : Buffer.byteLength(JSON.stringify(samples))
    commit.current().add(message, samples, bytes)
    return commit.committed()
  }
  return Object.assign(publish, {
    isHandled: (endpoint: DeviceMessage['endpoint']) => bus.isWanted(SamplesReceived, endpoint),
  })
}

function createPending(): Pending {
  const parts: { endpoint: DeviceMessage['endpoint']; received: ReceivedSamples; bytes: number }[] = []
  let [count, bytes] = [0, 0]
  return {
    get count() {
      return count
    },
    get bytes() {
      return bytes * 4
    },
    get isFull() {
      return bytes > 4 * mebibyte
    },
    add(message, samples, messageBytes) {
      const { endpoint, receivedAt, correlationId, cause = currentCause() } = message
      const { endpointId, versionName } = endpoint
      const bytesPerSample = messageBytes / samples.length
      const samplesPerPart = Math.max(1, Math.min(samplesPerEvent, Math.floor(bytesPerEvent / bytesPerSample)))
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
        parts.push({ endpoint, received, bytes: bytesPerSample * part.length })
      }
      count += samples.length
      bytes += messageBytes
    },
    events() {
      const events: ReturnType<Pending['events']> = []
      const open = new Map<string, { messages: ReceivedSamples[]; samples: number; bytes: number }>()
      for (const { endpoint, received, bytes: partBytes } of parts) {
        const { tenantId, applicationName } = endpoint
        let event = open.get(applicationName)
        if (
          !event ||
          event.samples + received.samples.length > samplesPerEvent ||
          event.bytes + partBytes > bytesPerEvent
        ) {
          event = { messages: [], samples: 0, bytes: 0 }
          open.set(applicationName, event)
          events.push({ tenantId, applicationName, messages: event.messages })
        }
        event.messages.push(received)
        event.samples += received.samples.length
        event.bytes += partBytes
      }
      return events
    },
  }
}
