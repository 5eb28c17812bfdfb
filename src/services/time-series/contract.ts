import type { DataCollection } from '../../gateway/contract.ts'
import { contract } from '../../kernel/contract.ts'
import type { Value } from './pack/chunk.ts'

export type { Value }

export interface NewPoint {
  endpointId: string
  seriesName: string
  /** Milliseconds since 1970. */
  timestamp: number
  values: Record<string, Value>
}

export interface LatestValue {
  seriesId: number
  timestamp: number
  value: Value
}

export interface TimeSeries extends DataCollection {
  /** All or none of them, durable when it resolves. The endpoints are of this version: that is for the caller to know. */
  putPoints(
    version: { tenantId: string; applicationName: string; versionName: string },
    points: NewPoint[],
  ): Promise<void>
}
export const TimeSeries = contract<TimeSeries>('time-series')
