import { defineEvent } from '../../kernel/bus.ts'
import type { AlertView, LifecycleEventType } from './alerts/model.ts'

export const DefinitionsChanged = defineEvent<{ tenantId: string; revision: number }>('rules.definitions.changed', {
  description: 'Rules, actions, triggers or secrets of a tenant were changed; nodes read them again',
})

export const AlertChanged = defineEvent<{
  tenantId: string
  /** The alert's endpoint and its application; absent for an alert of the tenant. */
  applicationName?: string
  endpointId?: string
  eventId: string
  eventType: LifecycleEventType
  /** The alert after the change. In the outbox, times are ISO 8601 texts. */
  alert: AlertView
  /** The chain of the rule that made the change (see chain.ts); absent if no rule made the change. */
  cause?: string
}>('rules.alert.changed', {
  description: 'An alert was activated, updated, acknowledged or resolved (25/ALE)',
  key: ({ alert }) => `${alert.entityType} ${alert.entityId}`,
})
