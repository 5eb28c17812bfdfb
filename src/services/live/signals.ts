import { defineRequest } from '../../kernel/signals.ts'
import type { SubscriptionRequest } from './schemas.ts'

/** Replaces the subscriptions of a stream that another node serves. The reply is false if there is no such stream of this caller. */
export const ChangeStream = defineRequest<
  { streamId: string; tenantId: string; subject: string; subscriptions: SubscriptionRequest[] },
  boolean
>('live.change-stream')
