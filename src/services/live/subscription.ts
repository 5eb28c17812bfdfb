import type { GapReason, LiveEvent, TopicDefinition } from '../../kernel/live/live.ts'
import type { SubscriptionRequest } from './schemas.ts'

/** A subscription of a stream. */
export interface Subscription {
  request: SubscriptionRequest
  topic: TopicDefinition
  includes(event: LiveEvent): boolean
  gap(reason: GapReason): void
}
