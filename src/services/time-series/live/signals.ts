/** Signals and requests between nodes about live streams. */
import { defineRequest, defineSignal } from '../../../kernel/signals.ts'
import type { LivePoint } from './live-point.ts'

/** Points of one application that a node watches. */
export interface Interest {
  tenantId: string
  applicationName: string
  /** The endpoints that the node watches. If omitted, it watches all endpoints; if empty, it no longer watches the application. */
  endpointIds?: string[]
}

/** Replaces the sender's interest in the application. After the acknowledgement, points are forwarded to the sender. */
export const SetInterest = defineRequest<Interest, true>('time-series.live-interest')

/** Reads all interests of a node. */
export const ReadInterests = defineRequest<Record<never, never>, Interest[]>('time-series.live-interests')

export interface StoredPoints {
  tenantId: string
  applicationName: string
  points: LivePoint[]
  /** True if points before these points could not be sent. */
  lost?: boolean
}

/** Forwards points that one node stored to a node that watches them. */
export const LivePointsStored = defineSignal<StoredPoints[]>('time-series.live-points')
