/** All trigger types. */
import type { TriggerType } from '../model.ts'
import { alertLifecycleEvent } from './trigger-types/alert-lifecycle-event.ts'
import { cron } from './trigger-types/cron.ts'
import { endpointCommandDispatched } from './trigger-types/endpoint-command-dispatched.ts'
import { endpointCommandResultReceived } from './trigger-types/endpoint-command-result-received.ts'
import { endpointDataSamplesReceived } from './trigger-types/endpoint-data-samples-received.ts'
import { endpointMetadataUpdated } from './trigger-types/endpoint-metadata-updated.ts'
import { endpointTimeSeriesUpdated } from './trigger-types/endpoint-time-series-updated.ts'
import type { TriggerTypeDefinition } from './trigger-types/trigger-type.ts'

export const triggerTypeDefinitions: Record<TriggerType, TriggerTypeDefinition> = {
  'endpoint-metadata-updated': endpointMetadataUpdated,
  'endpoint-data-samples-received': endpointDataSamplesReceived,
  'endpoint-time-series-updated': endpointTimeSeriesUpdated,
  'endpoint-command-dispatched': endpointCommandDispatched,
  'endpoint-command-result-received': endpointCommandResultReceived,
  'alert-lifecycle-event': alertLifecycleEvent,
  cron,
}

/** Returns the trigger type that a path segment names. The segment may be an alias. */
export const triggerTypeOf = (segment: string): TriggerType | undefined =>
  Object.values(triggerTypeDefinitions).find(({ type, alias }) => type === segment || alias === segment)?.type
