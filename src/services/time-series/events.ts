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

// Between processes: what is stored in one and watched in another.

export const LiveWanted = defineEvent<{
  tenantId: string
  applicationName: string
  node: string
  /** None: nobody watches any more; absent: all. */
  endpointIds?: string[]
  /** Whoever hears it says so, with this number. */
  round?: number
}>('time-series.live.wanted', {
  description: 'Somebody watches points of these endpoints in a process: whoever stores them sends them there',
})

export const LiveAsked = defineEvent<{ tenantId: string; node: string }>('time-series.live.asked', {
  description: 'A process wants to know what is watched in the others',
})

export const LiveHeard = defineEvent<{
  tenantId: string
  node: string
  /** The process whose question or wish was heard. */
  to: string
  round: number
}>('time-series.live.heard', {
  description: 'A process knows what is watched in another, and sends what it stores from now on',
})

export const LiveLeft = defineEvent<{ tenantId: string; node: string }>('time-series.live.left', {
  description: 'A process ends: nobody waits for its answers',
})

export const LivePointsSent = defineEvent<{
  tenantId: string
  applicationName: string
  node: string
  batch: number
  part: number
  parts: number
  /** Of all parts together: a list of points, deflated, in base64. */
  data: string
  /** Some points before these did not get here. */
  lost?: boolean
}>('time-series.live.points-sent', {
  description: 'Points that were stored in one process, for those who watch them in another; in parts',
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
