/** Signals and requests between nodes about live streams. */
import { defineRequest, defineSignal } from '../signals.ts'
import type { LiveEvent } from './types.ts'

export interface InterestChange {
  /** Increases with each change of the sender. A change that arrives late is ignored. */
  number: number
  /** True if `add` contains all interests of the sender. */
  isComplete: boolean
  /** Keys of interests (routing.ts). */
  add: string[]
  remove: string[]
}

/** Changes the interests of the sender. Once the request is acknowledged, later events are forwarded to the sender. */
export const ChangeInterests = defineRequest<InterestChange, true>('kernel.live-interests-changed')

/** Reads all interests of a node. */
export const ReadInterests = defineRequest<Record<never, never>, { number: number; keys: string[] }>(
  'kernel.live-interests',
)

export interface ForwardedEvents {
  topic: string
  events: LiveEvent[]
  /** True if events of the topic before these were lost. */
  lost?: boolean
}

export const LiveEventsForwarded = defineSignal<ForwardedEvents[]>('kernel.live-events')

/** A node that stops sends this signal after its last events, so that other nodes know that they miss none. */
export const LiveNodeLeaving = defineSignal<Record<never, never>>('kernel.live-leaving')
