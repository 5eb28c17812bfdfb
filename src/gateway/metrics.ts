/** Metrics of the gateway. Label values never come from clients. */
import type { Metrics } from '../kernel/metrics.ts'
import type { Transport } from './tenants.ts'

/** Counters of one extension and transport. Each route looks them up once. */
export interface MessageCounts {
  recordHandled(seconds: number, status: number): void
  recordAnswer(): void
}

export interface GatewayMetrics {
  countConnection(transport: Transport, change: 1 | -1): void
  /** Returns the counters of an extension and a transport. `extension` is undefined if the topic names an unknown extension. */
  messageCounts(extension: string | undefined, transport: Transport): MessageCounts
  countPush(extension: string): void
  countUnsentPush(extension: string, reason: string): void
  countRefusal(reason: string): void
}

export function createGatewayMetrics(metrics: Metrics): GatewayMetrics {
  const open = new Map<Transport, number>()
  const unreported = new Map<string, { extension: string; kind: string; count: number }>()
  const countsByKey = new Map<string, MessageCounts>()
  // This gauge is declared first and therefore collected first: collecting it adds the counts since the last scrape to the counter below.
  metrics.gauge(
    'waypost_device_connections',
    'Number of open MQTT connections of devices, by transport.',
    ['transport'],
    (gauge) => {
      for (const [transport, count] of open) gauge.set({ transport }, count)
      for (const entry of unreported.values()) {
        sent.inc({ extension: entry.extension, kind: entry.kind }, entry.count)
        entry.count = 0
      }
    },
  )
  const sent = metrics.counter(
    'waypost_device_messages_sent_total',
    'Number of messages sent to devices, by extension and kind (answer or push).',
    ['extension', 'kind'],
  )
  const notSent = metrics.counter(
    'waypost_device_pushes_not_sent_total',
    'Number of pushes that no device got, by extension and reason.',
    ['extension', 'reason'],
  )
  const refusals = metrics.counter(
    'waypost_device_refusals_total',
    'Number of refused connections and messages of devices, by reason.',
    ['reason'],
  )
  const duration = metrics.quickHistogram(
    'waypost_device_message_duration_seconds',
    'Seconds from the arrival of a message of a device until it is stored and answered.',
    ['extension', 'transport', 'status'],
    [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  )

  function unreportedOf(extension: string, kind: 'answer' | 'push') {
    const key = `${extension} ${kind}`
    const count = unreported.get(key) ?? { extension, kind, count: 0 }
    unreported.set(key, count)
    return count
  }

  function newCounts(extension: string, transport: Transport): MessageCounts {
    const succeeded = duration.withLabels(extension, transport, 200)
    const answers = unreportedOf(extension, 'answer')
    return {
      recordHandled(seconds, status) {
        if (status === 200) succeeded(seconds)
        else duration.observe(seconds, extension, transport, status)
      },
      recordAnswer() {
        answers.count++
      },
    }
  }

  return {
    countConnection: (transport, by) => void open.set(transport, (open.get(transport) ?? 0) + by),
    messageCounts(extension = 'unknown', transport) {
      const key = `${extension} ${transport}`
      const counts = countsByKey.get(key) ?? newCounts(extension, transport)
      countsByKey.set(key, counts)
      return counts
    },
    countPush: (extension) => void unreportedOf(extension, 'push').count++,
    countUnsentPush: (extension, reason) => notSent.inc({ extension, reason }),
    countRefusal: (reason) => refusals.inc({ reason }),
  }
}
