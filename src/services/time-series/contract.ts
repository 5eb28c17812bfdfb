import { contract } from '../../kernel/contract.ts'
import type { DeviceMessage } from '../../kernel/device.ts'
import type { RetentionConfiguration } from './configuration.ts'
import type { Value } from './points.ts'

export type { Value }

export interface NewPoint {
  endpointId: string
  seriesName: string
  /** Milliseconds since 1970. */
  timestamp: number
  values: Record<string, Value>
  /** Where it stood in what the caller sent: a refusal names it. */
  place?: string
}

export interface LatestValue {
  seriesId: number
  timestamp: number
  value: Value
}

/** What a retention would delete. */
export interface WouldGo {
  points: number
  bytes: number
  series: {
    name: string
    valueName: string
    days: number
    /** Points before it. */
    before: Date
    /** All of them; one that was written again before it was packed counts each time. */
    points: number
    /** Of them, those that go when they would be packed. */
    unpacked: number
    /** Of what is packed. */
    bytes: number
  }[]
  /** What of the retention could not be understood; such parts delete nothing. */
  problems: { place: string; problem: string }[]
}

export interface TimeSeries {
  /** The samples of one message, stored when it resolves; one that cannot be stored refuses the message with its reason. */
  collect(message: DeviceMessage, samples: unknown[]): Promise<void>
  /** All or none of them, durable when it resolves. The endpoints are of this version: that is for the caller to know. */
  putPoints(
    version: { tenantId: string; applicationName: string; versionName: string },
    points: NewPoint[],
  ): Promise<void>
  /** By the number of the endpoint; what this process has stored is always there. */
  latestOf(endpointNos: number[]): Promise<Map<number, LatestValue[]>>
  /** With the retention that is configured, or a proposed one in the same form. */
  retentionWouldDelete(
    application: { tenantId: string; applicationName: string },
    proposed?: RetentionConfiguration,
  ): Promise<WouldGo>
}
export const TimeSeries = contract<TimeSeries>('time-series')
