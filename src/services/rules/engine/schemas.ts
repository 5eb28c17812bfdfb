import { contentPage, pageQuery } from '../../../kernel/paging.ts'
import { AnyJson, DateTime, Empty, JsonObject, Name, Text, Type } from '../../../kernel/schema.ts'
import { actionTypes, traceEntityType } from '../model.ts'

const ofRule = Type.Object({ ruleId: Name({ description: 'Id of the rule.' }) })
const missingRule = 'The rule does not exist, or the caller may not read it.'
const invalid = 'A field is missing or wrong; the message names it.'

const entityTypes = ['RULE', ...actionTypes.map(traceEntityType)]
const text = (description: string) => Type.String({ description })

const Trace = Type.Object(
  {
    id: text('Id of the trace.'),
    traceId: text('The same for all runs of a chain.'),
    entityType: text('RULE, or the type of the action, such as WEBHOOK_ACTION.'),
    entityId: text('Id of the rule or action.'),
    raisedOnEntityType: text('ENDPOINT for runs that a trigger started for an endpoint, otherwise ON_DEMAND.'),
    raisedOnEntityId: text('The endpoint; without one the trigger, or the rule that was executed.'),
    outcome: text('SUCCESS or FAILURE.'),
    stage: Type.Optional(
      text('Where it failed: EXPRESSION_EVALUATION, ACTION_EXECUTION, RULE_DISABLED, TIMEOUT or DEPTH_LIMIT.'),
    ),
    reason: Type.Optional(text('Why it failed; failures of scripts have line and column.')),
    metadata: JsonObject({
      description:
        'Details: ruleVersion, returnedValue, triggerId, triggerType, eventId, durationMs, log; attempts of webhooks.',
    }),
    createdAt: DateTime({ description: 'When it ended, in UTC.' }),
  },
  { title: 'Trace', description: 'What a rule or action did once.' },
)

export const executeRule = {
  name: 'rules.execute',
  summary: 'Execute a rule',
  description:
    'Runs the rule and its actions, and answers when all have ended, at most 5 seconds after the rule did. Later traces appear in ' +
    '`/traces`. Failures of scripts are traces with outcome FAILURE.',
  params: ofRule,
  body: AnyJson({
    description:
      'Any JSON. Fields of an object become members of `ctx`; `endpointId` gives `ctx.endpoint`. Default: {}.',
    examples: [{ endpointId: 'ab6cf6c0-6b32-4b15-a4b4-bea4c2ac3a62', limit: 5 }],
  }),
  response: {
    200: Type.Object(
      {
        returnedValue: text('What the rule returned: texts as they are, others as JSON; empty if it failed.'),
        traces: Type.Array(Trace, { description: 'Traces of what has ended, in order.' }),
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
    'Runs a script with the permissions of the caller, without a rule, secrets and traces. The response is what it returns.',
  body: Type.Object(
    {
      expression: Type.String({ minLength: 1, maxLength: 65_536, description: 'Body of a JavaScript function.' }),
      endpointMetadata: Type.Optional(
        AnyJson({
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
      description: 'An expression and what it sees.',
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
  description: 'Newest first. Numbers above 100,000 are exact only without filters or for one rule or action.',
  query: Type.Object({
    ...pageQuery(100),
    traceId: filterText('Only this chain.'),
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
    include: Type.Optional(Text({ description: 'Accepted for existing clients; changes nothing. Default: none.' })),
  }),
  response: { 200: contentPage(Trace) },
  fails: { 400: invalid },
}

export const deleteTraces = {
  name: 'rules.traces.delete',
  summary: 'Delete traces',
  description: 'Statistics of rules and actions stay.',
  query: Type.Object({ beforeDate: date('Deletes only traces before this time.') }),
  response: { 204: Empty('Done.') },
  fails: { 400: invalid },
}

export { invalid, missingRule, ofRule, Trace, text }
