import { defineEvent } from '../../kernel/bus.ts'
import type { Value } from './contract.ts'

export interface StoredPoint {
  endpointId: string
  versionName: string
  seriesName: string
  /** ISO 8601. `ingestionTimestamp` is the time at which the platform received the point. */
  timestamp: string
  ingestionTimestamp: string
  /** The run of a rule that created the point; absent for points of devices and callers. */
  cause?: string
  /** Id of the message or request; all its points have the same id. */
  messageId?: string
  values: Record<string, Value>
}

export const PointsStored = defineEvent<{ tenantId: string; applicationName: string; points: StoredPoint[] }>(
  'time-series.points.stored',
  {
    description:
      'Points of an application were stored (14/TSTP), by devices or by PUT; up to 500 in one event; published ' +
      'only if a service handles it',
    key: ({ applicationName }) => applicationName,
    bulky: true,
  },
)

export const NumbersRemoved = defineEvent<{
  tenantId: string
  applicationName?: string
  endpointIds?: string[]
}>('time-series.numbers.forgotten', {
  description:
    'Endpoints, or series of an application or tenant, lost their numbers; caches of these numbers are invalid',
})

/** Some or all samples of one message. */
export interface ReceivedSamples {
  endpointId: string
  versionName: string
  /** ISO 8601. */
  receivedAt: string
  correlationId: string
  /** The run of a rule that created the samples; absent for samples of devices. */
  cause?: string
  /** Samples as they were stored, with metadata if the application enables enrichment. */
  samples: unknown[]
}

export const SamplesReceived = defineEvent<{ tenantId: string; applicationName: string; messages: ReceivedSamples[] }>(
  'time-series.samples.received',
  {
    description:
      'Samples of devices of an application were received and stored (13/DSTP), before the devices got their ' +
      'acknowledgement; up to 500 in one event; published only if a service handles it',
    key: ({ applicationName }) => applicationName,
    bulky: true,
  },
)
