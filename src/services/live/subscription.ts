import type { GapReason, LiveEvent, TopicDefinition } from '../../kernel/live/live.ts'
import type { SubscriptionRequest } from './schemas.ts'

/** A subscription of a stream. */
export interface Subscription {
  request: SubscriptionRequest
  topic: TopicDefinition
  includes(event: LiveEvent): boolean
  /**
   * An object that is replaced when the permissions of the caller change. Events that were checked before it was replaced are checked again
   * before they are sent.
   */
  readonly admission: object | undefined
  gap(reason: GapReason): void
}
