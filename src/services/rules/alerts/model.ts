/** Alerts. An entity has at most one open alert of each type (document 5, 5.15). */

/** The severities from the lowest rank to the highest. */
export const severitiesByRank = ['INFO', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const
export type Severity = (typeof severitiesByRank)[number]
export const severities: readonly Severity[] = severitiesByRank.toReversed()
export const rankOf = (severity: Severity) => severitiesByRank.indexOf(severity)

export const entityTypes = ['ENDPOINT', 'TENANT'] as const
export type EntityType = (typeof entityTypes)[number]

export const alertStates = ['OPEN', 'RESOLVED'] as const
export type AlertState = (typeof alertStates)[number]

export const acknowledgements = ['ACKNOWLEDGED', 'UNACKNOWLEDGED'] as const
export type Acknowledgement = (typeof acknowledgements)[number]

export const lifecycleEventTypes = ['ACTIVATED', 'UPDATED', 'ACKNOWLEDGED', 'RESOLVED'] as const
export type LifecycleEventType = (typeof lifecycleEventTypes)[number]

/** Identifies the one open alert that an entity can have of a type. */
export interface AlertKey {
  tenantId: string
  entityType: EntityType
  entityId: string
  alertType: string
}

/** An alert as the API and scripts return it. `message` and `activateReason` are the same text. */
export interface AlertView {
  id: string
  alertType: string
  severityLevel: Severity
  entityType: EntityType
  entityId: string
  tenantId: string
  state: AlertState
  acknowledgement: Acknowledgement
  message?: string
  activateReason?: string
  resolveReason?: string
  startedAt: Date
  lastActiveAt: Date
  resolvedAt?: Date
  alertSettingId?: string
  metadata: Record<string, unknown>
  entityMetadata?: Record<string, unknown>
}
