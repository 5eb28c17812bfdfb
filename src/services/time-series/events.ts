import { defineEvent } from '../../kernel/bus.ts'
import type { Value } from './contract.ts'

export interface StoredPoint {
  endpointId: string
  versionName: string
  seriesName: string
  /** ISO 8601, as is the time at which the platform had it. */
  timestamp: string
  ingestionTimestamp: string
  values: Record<string, Value>
}

export const PointsStored = defineEvent<{ tenantId: string; applicationName: string; points: StoredPoint[] }>(
  'time-series.points.stored',
  {
    description:
      'Points of an application were stored (14/TSTP), by devices or by PUT, up to 500 in one event; put together only where ' +
      'somebody listens',
    key: ({ applicationName }) => applicationName,
    bulky: true,
  },
)

export const NumbersForgotten = defineEvent<{
  tenantId: string
  applicationName?: string
  endpointIds?: string[]
}>('time-series.numbers.forgotten', {
  description:
    'Endpoints, or series of an application or tenant, have no numbers any more: whoever remembers them forgets',
})

/** Some or all samples of one message. */
export interface ReceivedSamples {
  endpointId: string
  versionName: string
  /** ISO 8601. */
  receivedAt: string
  correlationId: string
  /** As they were stored: with metadata where the application asks for it. */
  samples: unknown[]
}

export const SamplesReceived = defineEvent<{ tenantId: string; applicationName: string; messages: ReceivedSamples[] }>(
  'time-series.samples.received',
  {
    description:
      'Samples of devices of an application came and were stored (13/DSTP), up to 500 in one event, before their devices got ' +
      'the acknowledgement; put together only where somebody listens',
    key: ({ applicationName }) => applicationName,
    bulky: true,
  },
)
