/** Events that rules run for, as the engine stores them. */
import type { TriggerType } from '../../model.ts'

export interface EventEndpoint {
  endpointId: string
  applicationName: string
  /** Absent for events of commands; the version is read when the event runs. */
  versionName?: string
}

/** One message of one endpoint, one tick of a schedule, or one event of an alert. An event runs once for each rule. */
export interface RuleEvent {
  type: TriggerType
  /** Id of the event. It stays the same if the event is stored again, so that its traces have the same ids. */
  eventId: string
  /** Time of the event, in milliseconds since 1970. */
  at: number
  endpoint?: EventEndpoint
  /** The payload in `ctx.trigger`, under the key of the trigger type. */
  payload: unknown
  /** The run of a rule that caused the event; see chain.ts. */
  cause?: string
  /** If set, the event runs only for this trigger. Schedules use it. */
  triggerId?: string
  /** If set, the event runs only for this rule. Dead letters that are retried use it. */
  ruleId?: string
}

/** The key of each type in `ctx.trigger` (document 3, 2.9). */
export const payloadKeys: Record<TriggerType, string> = {
  'endpoint-metadata-updated': 'endpointMetadataUpdated',
  'endpoint-data-samples-received': 'endpointDataSamplesReceived',
  'endpoint-time-series-updated': 'endpointTimeSeriesUpdated',
  'endpoint-command-dispatched': 'endpointCommandDispatched',
  'endpoint-command-result-received': 'endpointCommandResultReceived',
  'alert-lifecycle-event': 'alertLifecycleEvent',
  cron: 'cron',
}

export interface MetadataPayload {
  added: Record<string, string>
  updated: Record<string, { newValue: string; oldValue: string }>
  removed: Record<string, string>
}
export interface PointPayload {
  timestamp: string
  values: Record<string, unknown>
}
export type SeriesPayload = Record<string, PointPayload[]>
export interface CommandPayload {
  commandId: number
  commandType: string
  requestPayload?: unknown
  statusCode?: number
  reasonPhrase?: string
  responsePayload?: unknown
}
export interface AlertPayload {
  eventType: string
  alert: { alertType: string; severityLevel: string } & Record<string, unknown>
}

/** Returns a hash of an endpoint's id (FNV-1a). Nodes use it to find earlier events of the same endpoint. */
export function bucketOf(endpointId: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < endpointId.length; index++)
    hash = Math.imul(hash ^ endpointId.charCodeAt(index), 0x01000193)
  return hash | 0
}
