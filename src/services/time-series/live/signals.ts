/** What nodes tell each other about live streams. */
import { defineRequest, defineSignal } from '../../../kernel/signals.ts'
import type { LivePoint } from './live-point.ts'

/** Points of an application that are watched on a node. */
export interface Interest {
  tenantId: string
  applicationName: string
  /** None: nobody watches any more; absent: all endpoints. */
  endpointIds?: string[]
}

/** Replaces the node's interest in the application. The answer says: what is stored from now on is sent there. */
export const SetInterest = defineRequest<Interest, true>('time-series.live-interest')

/** Everything that is watched on the node that answers. */
export const ReadInterests = defineRequest<Record<never, never>, Interest[]>('time-series.live-interests')

export interface StoredPoints {
  tenantId: string
  applicationName: string
  points: LivePoint[]
  /** Points before these were lost. */
  lost?: boolean
}

/** Points that were stored on one node and are watched on the node that gets them. */
export const LivePointsStored = defineSignal<StoredPoints[]>('time-series.live-points')
