/** Publishes received samples for services that react to them (rules, pipelines); does nothing where no service does. */
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceMessage } from '../../../kernel/device.ts'
import { createGroupCommit, type Group } from '../../../kernel/group-commit.ts'
import { type ReceivedSamples, SamplesReceived } from '../events.ts'

export interface PublishSamples {
  /** Durable when it resolves. `sent`: as they came, before anything was added. */
  (message: DeviceMessage, samples: unknown[], sent: unknown[]): Promise<void>
  isHeard(): boolean
}

interface Pending extends Group {
  add(message: DeviceMessage, samples: unknown[], bytes: number): void
  events(): { tenantId: string; applicationName: string; messages: ReceivedSamples[] }[]
}

const samplesAtOnce = 500
const mebibyte = 1024 * 1024
/** An event is one row: metadata in every sample can make much of little. */
const bytesAtOnce = mebibyte

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
    // One at a time, so that reactions get the samples in the order in which they were stored.
    concurrentWrites: 1,
    pendingBytesMax: 128 * mebibyte,
  })
  const publish = (message: DeviceMessage, samples: unknown[], sent: unknown[]) => {
    const bytes = samples === sent ? message.payload.length : Buffer.byteLength(JSON.stringify(samples))
    commit.current().add(message, samples, bytes)
    return commit.committed()
  }
  return Object.assign(publish, { isHeard: () => bus.isHeard(SamplesReceived) })
}

function createPending(): Pending {
  const parts: { of: DeviceMessage['endpoint']; told: ReceivedSamples; bytes: number }[] = []
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
    add(message, samples, own) {
      const { endpoint, receivedAt, correlationId } = message
      const { endpointId, versionName } = endpoint
      const each = own / samples.length
      const atOnce = Math.max(1, Math.min(samplesAtOnce, Math.floor(bytesAtOnce / each)))
      for (let from = 0; from < samples.length; from += atOnce) {
        const some = samples.slice(from, from + atOnce)
        const told = { endpointId, versionName, receivedAt: receivedAt.toISOString(), correlationId, samples: some }
        parts.push({ of: endpoint, told, bytes: each * some.length })
      }
      count += samples.length
      bytes += own
    },
    events() {
      const events: ReturnType<Pending['events']> = []
      const open = new Map<string, { messages: ReceivedSamples[]; samples: number; bytes: number }>()
      for (const { of, told, bytes: more } of parts) {
        const { tenantId, applicationName } = of
        let event = open.get(applicationName)
        if (!event || event.samples + told.samples.length > samplesAtOnce || event.bytes + more > bytesAtOnce) {
          event = { messages: [], samples: 0, bytes: 0 }
          open.set(applicationName, event)
          events.push({ tenantId, applicationName, messages: event.messages })
        }
        event.messages.push(told)
        event.samples += told.samples.length
        event.bytes += more
      }
      return events
    },
  }
}
