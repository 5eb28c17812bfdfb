/** What the devices' door counts. Label values come from us, never from a peer. */
import type { Counter } from 'prom-client'
import type { Metrics } from '../kernel/metrics.ts'
import type { Transport } from './tenants.ts'

export interface GatewayMetrics {
  connected(transport: Transport, by: 1 | -1): void
  handled(seconds: number, extension: string, transport: Transport, status: number): void
  sent(extension: string, how: 'answer' | 'push'): void
  refused(reason: string): void
}

export function createGatewayMetrics(metrics: Metrics): GatewayMetrics {
  const connections = metrics.gauge('waypost_device_connections', 'Open connections of devices', ['transport'])
  const duration = metrics.quickHistogram(
    'waypost_device_message_duration_seconds',
    'Messages of devices, until what they ask to keep is stored',
    ['extension', 'transport', 'status'],
    [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  )
  const sent = metrics.counter('waypost_device_messages_sent_total', 'Messages to devices', ['extension', 'kind'])
  const refused = metrics.counter('waypost_device_refusals_total', 'Connections and messages that were turned away', [
    'reason',
  ])
  // The library looks its labels up by an object each time; with every answer that can be measured.
  const sentOf = new Map<string, Counter.Internal>()
  return {
    connected: (transport, by) => connections.inc({ transport }, by),
    handled: (seconds, extension, transport, status) => duration.observe(seconds, extension, transport, status),
    sent(extension, kind) {
      const key = kind + extension
      let counter = sentOf.get(key)
      if (!counter) {
        counter = sent.labels(extension, kind)
        sentOf.set(key, counter)
      }
      counter.inc()
    },
    refused: (reason) => refused.inc({ reason }),
  }
}
