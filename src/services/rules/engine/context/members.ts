/** Describes every member of `ctx`. docs/reference/rules-context.md is generated from it, and a test compares it with a real context. */
import { pointsMax } from './limits.ts'

export interface Member {
  /** The name as scripts write it. */
  name: string
  meaning: string
}

export const contextMembers: Member[] = [
  { name: 'ctx.tenantId', meaning: 'The tenant of the rule, a text.' },
  {
    name: 'ctx.data',
    meaning:
      'A free object. The actions of a rule, and the rules that these actions execute, can read what the rule has written into the object.',
  },
  {
    name: 'ctx.body',
    meaning:
      'The body of an execution on demand. Its fields are members of `ctx` too, except for the names in this table.',
  },
  { name: 'ctx.endpoint', meaning: 'The endpoint of the run. Absent in a run without endpoint.' },
  { name: 'ctx.endpoint.endpointId', meaning: 'Id of the endpoint.' },
  { name: 'ctx.endpoint.appName', meaning: 'The name of the application of the endpoint.' },
  { name: 'ctx.endpoint.appVersionName', meaning: 'The name of the application version of the endpoint.' },
  {
    name: 'ctx.endpoint.getMetadata(key?)',
    meaning:
      'Metadata of the endpoint as an object, or the value of one key. In an evaluation: `endpointMetadata` of the request.',
  },
  {
    name: 'ctx.endpoint.getTimeSeries(name).last(n?)',
    meaning: `The newest point \`{timestamp, values}\`, or null. With \`n\` (1 to ${pointsMax}) an array, newest first.`,
  },
  {
    name: 'ctx.endpoint.getTimeSeries(name).range(from, to)',
    meaning:
      'The points between two times, both included, oldest first. Times are ISO 8601 texts, milliseconds, dates, or relative (`now-15m`).',
  },
  {
    name: 'ctx.endpoint.getChildren()',
    meaning: 'The endpoints that the endpoint contains, as an array. Each has the functions of `ctx.endpoint`.',
  },
  { name: 'ctx.endpoint.getParents()', meaning: 'The endpoints that contain the endpoint.' },
  {
    name: 'ctx.endpoint.getConfiguration(name?)',
    meaning: 'Effective configuration of the endpoint with this name, by default `default`, or null.',
  },
  { name: 'ctx.endpoint.getFilters()', meaning: 'The ids of the active filters that the endpoint matches.' },
  { name: 'ctx.trigger', meaning: 'The trigger that started the run. Absent in a run on demand.' },
  { name: 'ctx.trigger.id', meaning: 'Id of the trigger.' },
  { name: 'ctx.trigger.name', meaning: 'Name of the trigger.' },
  { name: 'ctx.trigger.type', meaning: 'Type of the trigger, such as `ENDPOINT_DATA_SAMPLES_RECEIVED`.' },
  {
    name: 'ctx.trigger.metadata',
    meaning: 'The free object (`metadata`) of the trigger; empty if the trigger has no such object.',
  },
  { name: 'ctx.trigger.appVersionName', meaning: 'The application version of the endpoint.' },
  {
    name: 'ctx.trigger.endpointDataSamplesReceived',
    meaning: '`{dataSamples}`: the samples of the message, as they were sent.',
  },
  {
    name: 'ctx.trigger.endpointTimeSeriesUpdated',
    meaning: 'An object with the new points of each series of the trigger, oldest first.',
  },
  {
    name: 'ctx.trigger.endpointMetadataUpdated',
    meaning:
      '`{added, updated, removed}` by key. Texts, numbers and booleans are plain text, other values JSON text; `updated` has `{newValue, oldValue}`.',
  },
  {
    name: 'ctx.trigger.endpointCommandDispatched',
    meaning: '`{commandId, commandType, requestPayload?}`.',
  },
  {
    name: 'ctx.trigger.endpointCommandResultReceived',
    meaning: 'The same with `statusCode`, `reasonPhrase?` and `responsePayload?`.',
  },
  {
    name: 'ctx.trigger.alertLifecycleEvent',
    meaning: '`{eventType, alert}`: ACTIVATED, UPDATED, ACKNOWLEDGED or RESOLVED, and the alert after the change.',
  },
  { name: 'ctx.trigger.cron', meaning: '`{triggerId, firedAt}`: `firedAt` is the time for which the run was planned.' },
  ...['get', 'post', 'put', 'patch', 'delete'].map((method) => ({
    name: `ctx.toolbox.httpClient.${method}(url, {platform?, params?, headers?, body?})`,
    meaning:
      method === 'get'
        ? 'Sends a request and returns `{statusCode, headers, body}` with parsed JSON, or `{error}`; it never throws for a failed request. ' +
          'With `platform: true` the address is a path of this platform, and the call has the current permissions of the caller who last wrote the script, within the tenant of the rule.'
        : 'The same with another method.',
  })),
  { name: 'ctx.toolbox.base64.encode(text)', meaning: 'The text in UTF-8 as base64.' },
  { name: 'ctx.toolbox.base64.decode(text)', meaning: 'The text that was encoded.' },
  {
    name: 'ctx.toolbox.secrets.get(name)',
    meaning:
      'The value of a secret that the writer of the script may read, or undefined. Values are masked in traces. Not available in evaluations and test runs.',
  },
  { name: 'ctx.endpointMetadata', meaning: 'Only in evaluations: `endpointMetadata` of the request.' },
  { name: 'ctx.childrenEndpoints', meaning: 'Only in evaluations: `childrenEndpoints` of the request.' },
  { name: 'console.log(...values)', meaning: 'Adds a line to `metadata.log` of the trace.' },
]
