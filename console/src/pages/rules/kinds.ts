/** Kinds of triggers and actions: their names, and the initial fields of a new trigger or action. */

export const triggerTypes = [
  'endpoint-data-samples-received',
  'endpoint-metadata-updated',
  'endpoint-time-series-updated',
  'endpoint-command-dispatched',
  'endpoint-command-result-received',
  'alert-lifecycle-event',
  'cron',
] as const
export type TriggerType = (typeof triggerTypes)[number]

export const actionTypes = [
  'alert-activation',
  'alert-resolution',
  'send-email',
  'webhook',
  'command-invocation',
  'metadata-update',
  'data-sample',
  'time-series',
  'rule-execution',
] as const
export type ActionType = (typeof actionTypes)[number]

/** Converts a type as lists return it to a segment of a path: `ENDPOINT_METADATA_UPDATED` becomes `endpoint-metadata-updated`. */
export const segmentOf = (word: string) =>
  word
    .toLowerCase()
    .replace(/_action$/, '')
    .replaceAll('_', '-')

const camel = (segment: string) => segment.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Returns the first part of the names of the operations of a type: `cronTriggers` for `cron`, as in `cronTriggers.create`. */
export const nounOf = (kind: 'trigger' | 'action', type: string) =>
  `${camel(type)}${kind === 'trigger' ? 'Triggers' : 'Actions'}`

/** The event with which a test run begins, for each type of trigger. The script gets the event as `ctx.trigger`. */
export const sampleOf: Record<TriggerType, Record<string, unknown>> = {
  'endpoint-data-samples-received': { endpointDataSamplesReceived: { dataSamples: [{ temperature: 33 }] } },
  'endpoint-metadata-updated': {
    endpointMetadataUpdated: { added: {}, updated: { room: { newValue: 'north', oldValue: 'south' } }, removed: {} },
  },
  'endpoint-time-series-updated': {
    endpointTimeSeriesUpdated: {
      'auto~temperature': [{ timestamp: '2026-01-01T10:00:00Z', values: { value: 33 } }],
    },
  },
  'endpoint-command-dispatched': { endpointCommandDispatched: { commandId: 1, commandType: 'reboot' } },
  'endpoint-command-result-received': {
    endpointCommandResultReceived: { commandId: 1, commandType: 'reboot', statusCode: 200 },
  },
  'alert-lifecycle-event': {
    alertLifecycleEvent: { eventType: 'ACTIVATED', alert: { alertType: 'HIGH_TEMPERATURE', severityLevel: 'HIGH' } },
  },
  cron: { cron: { firedAt: '2026-01-01T10:00:00Z' } },
}

/** The initial fields of a new trigger or action, besides its name. */
export const startOf: Record<TriggerType | ActionType, Record<string, unknown>> = {
  'endpoint-data-samples-received': {},
  'endpoint-metadata-updated': { metadataKeys: ['room'] },
  'endpoint-time-series-updated': { timeSeriesNames: ['auto~temperature'] },
  'endpoint-command-dispatched': { commandType: 'reboot' },
  'endpoint-command-result-received': { commandType: 'reboot' },
  'alert-lifecycle-event': { eventTypes: ['ACTIVATED'] },
  cron: { cronExpression: '0 6 * * *', timezone: 'UTC' },
  'alert-activation': { alertType: 'HIGH_TEMPERATURE', severityLevel: 'HIGH', message: 'It is too hot' },
  'alert-resolution': { alertType: 'HIGH_TEMPERATURE', message: 'It is cool again' },
  'send-email': {
    recipientsExpression: 'caretaker@example.org',
    subjectExpression: "return 'Too hot: ' + ctx.endpoint.endpointId",
    textExpression: 'Please open a window.',
  },
  webhook: { webhookUrl: 'https://example.org/hook', webhookPayloadExpression: 'return ctx.trigger' },
  'command-invocation': { commandType: 'fan', commandPayloadExpression: '{"speed": 2}', commandTtl: 60_000 },
  'metadata-update': { metadataExpression: 'return { hot: true }' },
  'data-sample': { dataSampleExpression: 'return { hot: true }' },
  'time-series': { timeSeriesName: 'auto~hot', valuesExpression: 'return { value: 1 }' },
  'rule-execution': {},
}
