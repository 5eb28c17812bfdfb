import { Name, Type } from '../../../../kernel/schema.ts'
import * as common from './common.ts'

const ruleId = Name({ description: 'Id of the rule.' })
const ofRule = Type.Object({ ruleId })

const Linked = (noun: string, title: string) =>
  Type.Object(
    {
      id: Type.String({ description: `Id of the ${noun}.` }),
      type: Type.String({
        description: `Type of the ${noun}: the segment of its path in capitals, with underscores for hyphens.`,
      }),
      name: Type.String({ description: `Name of the ${noun}.` }),
    },
    { title, description: `${noun === 'action' ? 'An action' : 'A trigger'} of a rule.` },
  )

const idsMax = 1000
const ids = (noun: string) => {
  const id = Name({ description: `Id of ${noun}.` })
  const title = noun === 'a trigger' ? 'TriggerReference' : 'ActionReference'
  const object = Type.Object({ id }, { title, description: `An object with the id of ${noun}.` })
  return Type.Array(Type.Union([id, object], { description: `Id of ${noun}, or an object with this id.` }), {
    maxItems: idsMax,
    description: `Ids, each as a text or in an object. A repeated id counts once.`,
  })
}
const triggerIds = Type.Union(
  [ids('a trigger'), Type.Object({ triggerIds: ids('a trigger') }, { description: 'The ids in an object.' })],
  {
    title: 'TriggersOfRule',
    description: 'The triggers, as an array of ids or of objects with an `id`, or as `{triggerIds}`.',
    examples: [['5a0a1f52-4a51-4f3c-a6b5-3d3c1f6d0c11']],
  },
)

export const listTriggers = {
  name: 'rules.triggers.list',
  summary: 'List the triggers of a rule',
  description: 'The triggers are listed in the order in which they were attached.',
  params: ofRule,
  response: {
    200: Type.Array(Linked('trigger', 'TriggerOfRule'), { description: 'The triggers of the rule.' }),
  },
  fails: { 404: common.missing('rule') },
}
export const listActions = {
  name: 'rules.actions.list',
  summary: 'List the actions of a rule',
  description: 'The actions are listed in the order in which they were attached. The actions run in the same order.',
  params: ofRule,
  response: {
    200: Type.Object(
      {
        positiveActions: Type.Array(Linked('action', 'ActionOfRule'), {
          description: 'Actions that run unless the rule returns false, null or undefined.',
        }),
        negativeActions: Type.Array(Linked('action', 'ActionOfRule'), {
          description: 'Actions that run if the rule returns false.',
        }),
      },
      { title: 'ActionsOfRule', description: 'The actions of a rule.' },
    ),
  },
  fails: { 404: common.missing('rule') },
}

const linkFails = (noun: string) => ({
  400: `${common.invalid} Every id must be the id of ${noun === 'action' ? 'an action' : 'a trigger'} of this type that the caller may read.`,
  404: `${common.missing('rule')} Or there is no such type.`,
  409: `The rule or ${noun === 'action' ? 'an action' : 'a trigger'} belongs to an alert setting and changes only with that setting.`,
})

export const putTriggers = {
  name: 'rules.triggers.update',
  summary: 'Replace the triggers of one type of a rule',
  description: 'Triggers that stay keep their position, new triggers are appended. A rule has at most 100 triggers.',
  params: Type.Object({ ruleId, triggerType: Name({ description: 'Segment of the trigger type.' }) }),
  body: triggerIds,
  response: common.none,
  fails: linkFails('trigger'),
}
export const addSchedules = {
  name: 'rules.triggers.patch',
  summary: 'Link schedules to a rule',
  description: 'Triggers of type cron that the rule has already keep their position. A rule has at most 100 triggers.',
  params: ofRule,
  body: triggerIds,
  response: common.none,
  fails: linkFails('trigger'),
}
export const putActions = {
  name: 'rules.actions.update',
  summary: 'Replace the actions of one type of a rule',
  description:
    'Actions that stay keep their position, new actions are appended. An absent list is empty. A rule has at most 100 actions; an action may be both positive and negative.',
  params: Type.Object({ ruleId, actionType: Name({ description: 'Segment of the action type.' }) }),
  body: Type.Object(
    {
      positiveActionIds: Type.Optional(ids('an action')),
      negativeActionIds: Type.Optional(ids('an action')),
      positiveActions: Type.Optional(ids('an action')),
      negativeActions: Type.Optional(ids('an action')),
    },
    {
      title: 'ActionIdsOfRule',
      description: 'The actions of one type. `positiveActions` and `negativeActions` are other names of the two lists.',
      examples: [{ positiveActionIds: ['5a0a1f52-4a51-4f3c-a6b5-3d3c1f6d0c11'], negativeActionIds: [] }],
    },
  ),
  response: common.none,
  fails: linkFails('action'),
}
