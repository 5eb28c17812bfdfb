/** Rules, actions and triggers, in the form that all parts of this service use. */

export const actionTypes = [
  'webhook',
  'rule-execution',
  'send-email',
  'command-invocation',
  'metadata-update',
  'data-sample',
  'time-series',
  'alert-activation',
  'alert-resolution',
] as const
/** The name of an action type, as it appears in paths. */
export type ActionType = (typeof actionTypes)[number]

export const triggerTypes = [
  'endpoint-metadata-updated',
  'endpoint-data-samples-received',
  'endpoint-time-series-updated',
  'endpoint-command-dispatched',
  'endpoint-command-result-received',
  'alert-lifecycle-event',
  'cron',
] as const
/** The name of a trigger type, as it appears in paths. */
export type TriggerType = (typeof triggerTypes)[number]

/** Returns the type as lists and events name it: `endpoint-metadata-updated` becomes ENDPOINT_METADATA_UPDATED. */
export const typeConstant = (segment: string) => segment.toUpperCase().replaceAll('-', '_')

/** Returns the entity type in the traces of an action: `webhook` becomes WEBHOOK_ACTION. */
export const traceEntityType = (type: ActionType) => `${typeConstant(type)}_ACTION`

/**
 * The caller that last wrote a script. The script's calls to the platform have the current permissions of this caller (document 5, 5.14).
 */
export interface Writer {
  type: string
  id: string
}

export interface RuleDefinition {
  id: string
  tenantId: string
  name: string
  expression: string
  state: 'ENABLED' | 'DISABLED'
  version: number
  alertSettingId?: string
  writer: Writer
}

export type ValueType = 'SCRIPT' | 'LITERAL'

export interface ActionDefinition {
  id: string
  tenantId: string
  type: ActionType
  name: string
  /** The fields of the type, with their names in the specification. Literal objects and arrays are JSON texts. */
  fields: Record<string, unknown>
  /** The kind of each attribute that can be either a constant or an expression. */
  valueTypes: Record<string, ValueType>
  alertSettingId?: string
  writer: Writer
}

export interface TriggerDefinition {
  id: string
  tenantId: string
  type: TriggerType
  name: string
  metadata?: Record<string, unknown>
  appName?: string
  appVersionName?: string
  endpointIds?: string[]
  /**
   * The fields of the type: metadataKeys, timeSeriesNames, commandType, alertTypes, eventTypes, severityLevels, cronExpression, timezone.
   */
  fields: Record<string, unknown>
}

export type Stage = 'EXPRESSION_EVALUATION' | 'ACTION_EXECUTION' | 'RULE_DISABLED' | 'TIMEOUT' | 'DEPTH_LIMIT'
