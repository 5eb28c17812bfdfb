/** What the devices' door counts. Label values come from us, never from a peer. Cheap: it is done with every message. */
import type { Metrics } from '../kernel/metrics.ts'
import type { Transport } from './tenants.ts'

export interface GatewayMetrics {
  connected(transport: Transport, by: 1 | -1): void
  handled(seconds: number, extension: string, transport: Transport, status: number): void
  sent(extension: string, kind: 'answer' | 'push'): void
  refused(reason: string): void
}

export function createGatewayMetrics(metrics: Metrics): GatewayMetrics {
  const open = new Map<Transport, number>()
  const unsaid = new Map<string, { extension: string; kind: string; count: number }>()
  // Declared first, so that it is asked first: what the counter below has to show is handed over then.
  metrics.gauge('waypost_device_connections', 'Open connections of devices', ['transport'], (gauge) => {
    for (const [transport, count] of open) gauge.set({ transport }, count)
    for (const { extension, kind, count } of unsaid.values()) sent.inc({ extension, kind }, count)
    unsaid.clear()
  })
  const sent = metrics.counter('waypost_device_messages_sent_total', 'Messages to devices', ['extension', 'kind'])
  const refused = metrics.counter('waypost_device_refusals_total', 'Connections and messages that were turned away', [
    'reason',
  ])
  const duration = metrics.quickHistogram(
    'waypost_device_message_duration_seconds',
    'Messages of devices, until what they ask to keep is stored',
    ['extension', 'transport', 'status'],
    [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  )
  const succeeded = new Map<string, (seconds: number) => void>()
  return {
    connected: (transport, by) => void open.set(transport, (open.get(transport) ?? 0) + by),
    handled(seconds, extension, transport, status) {
      if (status !== 200) return duration.observe(seconds, extension, transport, status)
      const key = extension + transport
      let observe = succeeded.get(key)
      if (!observe) {
        observe = duration.of(extension, transport, 200)
        succeeded.set(key, observe)
      }
      observe(seconds)
    },
    sent(extension, kind) {
      const key = extension + kind
      const known = unsaid.get(key)
      if (known) known.count++
      else unsaid.set(key, { extension, kind, count: 1 })
    },
    refused: (reason) => refused.inc({ reason }),
  }
}
