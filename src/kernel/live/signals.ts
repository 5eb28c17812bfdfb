/** Signals and requests between nodes about live streams. */
import { defineRequest, defineSignal } from '../signals.ts'
import type { LiveEvent } from './types.ts'

export interface InterestChange {
  /** Increases with each change of the sender, so that a change that arrives late is ignored. */
  number: number
  /** True if `add` contains all interests of the sender. */
  isComplete: boolean
  /** Keys of interests (routing.ts). */
  add: string[]
  remove: string[]
}

/** Changes the interests of the sender. After the acknowledgement, events are forwarded to the sender. */
export const ChangeInterests = defineRequest<InterestChange, true>('kernel.live-interests-changed')

/** Reads all interests of a node. */
export const ReadInterests = defineRequest<Record<never, never>, { number: number; keys: string[] }>(
  'kernel.live-interests',
)

export interface ForwardedEvents {
  topic: string
  events: LiveEvent[]
  /** True if earlier events of the topic were lost. */
  lost?: boolean
}

export const LiveEventsForwarded = defineSignal<ForwardedEvents[]>('kernel.live-events')

/** A node that stops sends this signal after its last events. The signal shows the other nodes that no events are missing. */
export const LiveNodeLeaving = defineSignal<Record<never, never>>('kernel.live-leaving')
