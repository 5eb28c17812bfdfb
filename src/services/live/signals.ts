import { defineRequest } from '../../kernel/signals.ts'
import type { SubscriptionRequest } from './schemas.ts'

/** Replaces the subscriptions of a stream that another node serves. The reply is false if the caller has no such stream on that node. */
export const ChangeStream = defineRequest<
  { streamId: string; tenantId: string; subject: string; subscriptions: SubscriptionRequest[] },
  boolean
>('live.change-stream')
