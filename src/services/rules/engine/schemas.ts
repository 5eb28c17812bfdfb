import { contentPage, pageQuery } from '../../../kernel/paging.ts'
import { AnyJson, BodyTime, DateTime, Empty, JsonObject, Name, Text, TextList, Type } from '../../../kernel/schema.ts'
import { actionTypes, traceEntityType } from '../model.ts'

const ofRule = Type.Object({ ruleId: Name({ description: 'Id of the rule.' }) })
const missingRule = 'The rule does not exist, or the caller may not read it.'
const invalid = 'A field is missing or wrong; the message names it.'

const entityTypes = ['RULE', ...actionTypes.map(traceEntityType)]
const text = (description: string) => Type.String({ description })

const Trace = Type.Object(
  {
    id: text('Id of the trace.'),
    traceId: text(
      'Id of the chain: all runs that follow from one event, because the effects of a rule can start further rules.',
    ),
    entityType: text('RULE, or the type of the action, such as WEBHOOK_ACTION.'),
    entityId: text('Id of the rule or action.'),
    raisedOnEntityType: text('ENDPOINT for runs that a trigger started for an endpoint, otherwise ON_DEMAND.'),
    raisedOnEntityId: text('The endpoint. For a run without an endpoint: the trigger, or the executed rule.'),
    outcome: text('SUCCESS or FAILURE.'),
    stage: Type.Optional(
      text(
        'Stage in which the execution failed: EXPRESSION_EVALUATION, ACTION_EXECUTION, RULE_DISABLED, TIMEOUT or DEPTH_LIMIT.',
      ),
    ),
    reason: Type.Optional(text('Reason why the execution failed; failures of scripts have line and column.')),
    metadata: JsonObject({
      description:
        'Details: ruleVersion, returnedValue, triggerId, triggerType, eventId, durationMs, log; attempts of webhooks.',
    }),
    createdAt: DateTime({ description: 'Time at which the execution ended, in UTC.' }),
  },
  { title: 'Trace', description: 'One run of a rule or action.' },
)

export const executeRule = {
  name: 'rules.execute',
  summary: 'Execute a rule',
  description:
    'Runs the rule and its actions, and answers when all actions have ended, at most 5 seconds after the end of the rule. Later traces appear in ' +
    '`/traces`. Failures of scripts are traces with outcome FAILURE.',
  params: ofRule,
  body: AnyJson({
    description:
      'Any JSON. Fields of an object become members of `ctx`; `endpointId` determines `ctx.endpoint`. Default: {}.',
    examples: [{ endpointId: 'ab6cf6c0-6b32-4b15-a4b4-bea4c2ac3a62', limit: 5 }],
  }),
  response: {
    200: Type.Object(
      {
        returnedValue: text(
          'The value that the rule returned. A text is unchanged, and another value is JSON. Empty if the rule failed.',
        ),
        traces: Type.Array(Trace, { description: 'Traces of the rules and actions that have ended, in order.' }),
      },
      { title: 'Execution', description: 'The result of an execution.' },
    ),
  },
  fails: { 400: invalid, 404: missingRule },
}

export const evaluateExpression = {
  name: 'rules.expressions.evaluate',
  summary: 'Evaluate an expression',
  description:
    'Runs a script with the permissions of the caller, without a rule, secrets and traces. The response is the value that the script returns.',
  body: Type.Object(
    {
      expression: Type.String({ minLength: 1, maxLength: 65_536, description: 'Body of a JavaScript function.' }),
      endpointMetadata: Type.Optional(
        JsonObject({
          description: '`ctx.endpointMetadata`, and the answer of `ctx.endpoint.getMetadata()`. Default: none.',
        }),
      ),
      childrenEndpoints: Type.Optional(
        Type.Array(Text({ description: 'Id of an endpoint.' }), {
          maxItems: 1000,
          description: '`ctx.childrenEndpoints`, and the endpoints of `ctx.endpoint.getChildren()`. Default: none.',
        }),
      ),
    },
    {
      title: 'Evaluation',
      description: 'An expression, and the data that it can read.',
      examples: [{ expression: 'return ctx.endpointMetadata.level < 15', endpointMetadata: { level: 10 } }],
    },
  ),
  response: { 200: AnyJson({ description: 'The returned value; null if the script returns nothing.' }) },
  fails: { 400: 'The script fails or does not parse; the message has line and column.' },
}

const filterText = (description: string) => Type.Optional(Text({ description: `${description} Default: all.` }))
const date = (description: string) =>
  Type.Optional(
    Text({ description: `${description} ISO 8601, relative such as now-15m, or milliseconds. Default: all.` }),
  )

export const listTraces = {
  name: 'rules.traces.list',
  summary: 'List traces',
  description:
    'The newest trace comes first. A total above 100,000 is exact only without filters, or for a single rule or action.',
  query: Type.Object({
    ...pageQuery(100),
    traceId: filterText('Only traces of the chain with this id.'),
    entityType: Type.Optional(
      Type.Enum([...entityTypes, 'RULE_ACTION'], { description: 'Only traces of this type. Default: all.' }),
    ),
    entityId: filterText('Only traces of this rule or action.'),
    raisedOnEntityType: Type.Optional(
      Type.Enum(['ENDPOINT', 'ON_DEMAND'], { description: 'Only runs of this kind. Default: all.' }),
    ),
    raisedOnEntityId: filterText('Only runs for this endpoint, trigger or rule.'),
    outcome: Type.Optional(Type.Enum(['SUCCESS', 'FAILURE'], { description: 'Only this outcome. Default: all.' })),
    fromCreatedAt: date('Only traces since this time.'),
    toCreatedAt: date('Only traces up to this time.'),
    include: Type.Optional(TextList({ description: 'Accepted for existing clients; changes nothing. Default: none.' })),
  }),
  response: { 200: contentPage(Trace) },
  fails: { 400: invalid },
}

export const deleteTraces = {
  name: 'rules.traces.delete',
  summary: 'Delete traces',
  description: 'The statistics of rules and actions do not change.',
  query: Type.Object({ beforeDate: date('Deletes only traces before this time.') }),
  response: { 204: Empty('Done.') },
  fails: { 400: invalid },
}

export { invalid, missingRule, ofRule, Trace, text }

const Effect = Type.Object(
  {
    actionId: text('Id of the action.'),
    type: text('Type of the action, as in paths.'),
    wouldDo: AnyJson({
      description: 'Effect that the action would have had, such as the request of a webhook.',
    }),
  },
  { title: 'Effect', description: 'The effect that an action would have had.' },
)

export const tryRule = {
  name: 'rules.try',
  summary: 'Try a rule without effects',
  description:
    'Runs the rule, or another expression, on a recorded or given event. Nothing is sent or changed: `httpClient` returns an error ' +
    'unless the request is a GET with `platform: true`, and secrets are not available.',
  params: ofRule,
  body: Type.Object(
    {
      traceId: Type.Optional(
        Text({
          description: 'Id of a chain in which the rule ran; the rule runs on the event of this chain. Default: none.',
        }),
      ),
      trigger: Type.Optional(JsonObject({ description: '`ctx.trigger` of the run. Default: none.' })),
      endpointId: Type.Optional(Text({ description: 'Endpoint of the run. Default: the endpoint of the event.' })),
      expression: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          description: 'Expression to run. Default: the expression of the rule.',
        }),
      ),
    },
    {
      title: 'Try',
      description: 'An event, and perhaps another expression.',
      examples: [{ trigger: { endpointDataSamplesReceived: { dataSamples: [{ temperature: 35 }] } } }],
    },
  ),
  response: {
    200: Type.Object(
      {
        returnedValue: text('The value that the rule returned. Empty if the rule failed.'),
        traces: Type.Array(Trace, {
          description: 'Traces of the rule and its actions, in order. The platform does not store these traces.',
        }),
        effects: Type.Array(Effect, { description: 'The effects that the actions would have had.' }),
      },
      { title: 'TryResult', description: 'The result of a run without effects.' },
    ),
  },
  fails: { 400: invalid, 404: missingRule },
}

export const createReplay = {
  name: 'rules.replays.create',
  summary: 'Replay a rule over recorded messages',
  description:
    'Runs the rule, or another expression, without effects for the recorded samples of a period, in the background. The result compares the value that it returns now with the outcome that was recorded then. Messages of endpoints that the caller may not read are left out.',
  params: ofRule,
  body: Type.Object(
    {
      from: BodyTime({ description: 'Start of the period.' }),
      to: BodyTime({ description: 'End of the period.' }),
      endpointIds: Type.Optional(
        Type.Array(Text({ description: 'Id of an endpoint.' }), {
          minItems: 1,
          maxItems: 1000,
          description: 'Only messages of these endpoints. Default: the endpoints of the triggers of the rule.',
        }),
      ),
      expression: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 65_536,
          description: 'Expression to run. Default: the expression of the rule.',
        }),
      ),
    },
    { title: 'ReplayRequest', description: 'The messages to replay.', examples: [{ from: 'now-1d', to: 'now' }] },
  ),
  response: {
    202: Type.Object(
      { replayId: text('Id of the replay.') },
      { title: 'ReplayStarted', description: 'The replay runs. `Location` has its address.' },
    ),
  },
  fails: { 400: invalid, 404: missingRule },
}

const Difference = Type.Object(
  {
    eventId: text('Id of the message in the traffic log.'),
    endpointId: text('Endpoint that sent the message.'),
    at: text('Time at which the message arrived, in UTC.'),
    before: Type.Union([Type.String(), Type.Null()], {
      description: 'The value that the rule returned when the message arrived. Null if the rule did not run.',
    }),
    now: text('The value that the rule returns now.'),
  },
  { title: 'ReplayDifference', description: 'A message for which the rule now returns another value.' },
)

const ofReplay = Type.Object({
  ruleId: Name({ description: 'Id of the rule.' }),
  replayId: Name({ description: 'Id of the replay.' }),
})
const missingReplay = 'The rule or the replay does not exist, or the caller may not read the rule.'
const replaySummary = {
  replayId: text('Id of the replay.'),
  from: DateTime({ description: 'Start of the period, in UTC.' }),
  to: DateTime({ description: 'End of the period, in UTC.' }),
  createdAt: DateTime({ description: 'Time at which the replay was started, in UTC.' }),
  status: text('RUNNING, COMPLETED, FAILED or CANCELED.'),
  reason: Type.Optional(text('Reason why the replay failed.')),
  progress: Type.Unsafe<number>({
    type: 'number',
    description: 'Part of the period that has been processed, from 0 to 1.',
  }),
  eventsCount: Type.Integer({ description: 'Number of messages for which the rule ran.' }),
  skippedCount: Type.Integer({ description: 'Number of messages without a complete payload.' }),
}
const Replay = Type.Object(
  { ...replaySummary, differences: Type.Array(Difference, { description: 'The first 1,000 differences.' }) },
  { title: 'Replay', description: 'A replay and its differences.' },
)
const ListedReplay = Type.Object(
  {
    ...replaySummary,
    differencesCount: Type.Integer({ description: 'Number of differences that are kept, at most 1,000.' }),
  },
  { title: 'ListedReplay', description: 'A replay without its differences.' },
)

export const getReplay = {
  name: 'rules.replays.get',
  summary: 'Get a replay',
  description: 'Replays are kept for 7 days.',
  params: ofReplay,
  response: { 200: Replay },
  fails: { 404: missingReplay },
}

export const listReplays = {
  name: 'rules.replays.list',
  summary: 'List the replays of a rule',
  description: 'The newest replay comes first. Replays are kept for 7 days.',
  params: ofRule,
  query: Type.Object(pageQuery(100)),
  response: { 200: contentPage(ListedReplay) },
  fails: { 400: invalid, 404: missingRule },
}

export const cancelReplay = {
  name: 'rules.replays.cancel',
  summary: 'Cancel a replay',
  description: 'A running replay stops after at most 200 further messages, and keeps the differences that it found.',
  params: ofReplay,
  response: { 200: Replay },
  fails: { 404: missingReplay, 409: 'The replay has ended, so it cannot be canceled.' },
}

const DeadLetter = Type.Object(
  {
    id: text('Id of the dead letter.'),
    ruleId: text('Rule that was to run.'),
    triggerId: text('Trigger that was to start the rule.'),
    endpointId: Type.Optional(text('Endpoint of the event.')),
    eventId: text('Id of the event.'),
    reason: text('Reason why the platform could not run the rule.'),
    createdAt: DateTime({ description: 'Time at which the last attempt ended, in UTC.' }),
  },
  {
    title: 'DeadLetter',
    description: 'An event for which the platform itself could not run a rule, after five attempts.',
  },
)
const ofDeadLetter = Type.Object({ deadLetterId: Name({ description: 'Id of the dead letter.' }) })
const missingDeadLetter = 'The dead letter does not exist, or the caller may not read its rule.'

export const listDeadLetters = {
  name: 'rules.deadLetters.list',
  summary: 'List dead letters',
  description: 'The newest dead letter comes first.',
  query: Type.Object(pageQuery(100)),
  response: { 200: contentPage(DeadLetter) },
  fails: { 400: invalid },
}
export const retryDeadLetter = {
  name: 'rules.deadLetters.retry',
  summary: 'Retry a dead letter',
  description: 'Runs the rule on the event again. If the rule fails again, a new dead letter is created.',
  params: ofDeadLetter,
  response: { 204: Empty('Done.') },
  fails: { 404: missingDeadLetter },
}
export const deleteDeadLetter = {
  name: 'rules.deadLetters.delete',
  summary: 'Delete a dead letter',
  params: ofDeadLetter,
  response: { 204: Empty('Done.') },
  fails: { 404: missingDeadLetter },
}
