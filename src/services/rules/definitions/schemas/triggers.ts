import { contentPage } from '../../../../kernel/paging.ts'
import {
  Empty,
  ifMatchFails,
  JsonObject,
  Name,
  type OperationSchema,
  type TSchema,
  Type,
} from '../../../../kernel/schema.ts'
import type { TriggerTypeDefinition } from '../trigger-types/trigger-type.ts'
import * as common from './common.ts'

const triggerId = Type.Object({ triggerId: Name({ description: 'Id of the trigger.' }) })

/** The fields that select the endpoints of a trigger or alert setting. */
export const selection = {
  appName: Type.Optional(
    Name({
      description: 'Name of an application. The trigger or alert setting applies to all endpoints of the application.',
    }),
  ),
  appVersionName: Type.Optional(
    Name({
      description:
        'Name of an application version. The trigger or alert setting applies to all endpoints of the version.',
    }),
  ),
  endpointIds: Type.Optional(
    Type.Array(Name({ description: 'Id of an endpoint.' }), {
      minItems: 1,
      maxItems: 1000,
      description: 'Ids of 1 to 1,000 endpoints. The trigger or alert setting applies only to these endpoints.',
    }),
  ),
}

const metadata = Type.Optional(
  JsonObject({ description: 'Free object that scripts see as `ctx.trigger.metadata`. Default: none.' }),
)

function bodyOf(definition: TriggerTypeDefinition, typeText: string) {
  return Type.Object(
    {
      name: common.name('trigger'),
      description: common.description,
      ...selection,
      ...definition.fields,
      metadata,
      uiMetadata: common.uiMetadata,
    } as Record<string, TSchema>,
    {
      title: `${definition.title}Fields`,
      description: `The fields of a trigger that a caller sends, with ${typeText} one of \`appName\`, \`appVersionName\` and \`endpointIds\`.`,
      examples: [definition.example],
    },
  )
}

/** Returns the shapes of the operations for one trigger type or its alias. */
export function triggerSchemas(definition: TriggerTypeDefinition, segment: string) {
  const { title, description, isStandalone } = definition
  const noun = `${segment} trigger`
  const article = /^[aeiou]/.test(segment) ? 'an' : 'a'
  const nameOf = (text: string) => `${text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Triggers`
  const named = (verb: string) => ({
    name: `${nameOf(segment)}.${verb}`,
    ...(segment !== definition.type && { aliasOf: `${nameOf(definition.type)}.${verb}` }),
  })
  const byOlderPath = segment === definition.type ? '' : ', by the older path'
  const answer = Type.Object(
    {
      id: Type.String({ description: 'Id of the trigger.' }),
      name: Type.String({ description: 'Name of the trigger.' }),
      ...selection,
      ...definition.fields,
      metadata,
      ...common.answered,
    } as Record<string, TSchema>,
    { title, description },
  )
  const body = bodyOf(definition, isStandalone ? 'at most' : 'exactly')
  return {
    create: {
      ...named('create'),
      summary: `Create ${article} ${noun}${byOlderPath}`,
      description: `${description} A trigger does nothing until it is attached to a rule.`,
      body,
      response: common.created,
      fails: {
        400: `${common.invalid} Applications, versions and endpoints must exist and must be readable for the caller.`,
      },
    },
    list: {
      ...named('list'),
      summary: `List ${noun}s${byOlderPath}`,
      query: Type.Object(common.listQueryWithParts),
      response: { 200: contentPage(answer) },
    },
    get: {
      ...named('get'),
      summary: `Get ${article} ${noun}${byOlderPath}`,
      params: triggerId,
      response: { 200: answer, 304: Empty() },
      fails: { 404: common.missing('trigger') },
    },
    update: {
      ...named('update'),
      summary: `Replace ${article} ${noun}${byOlderPath}`,
      description: 'Absent fields get their defaults.',
      params: triggerId,
      body,
      response: common.none,
      fails: common.changeFails('trigger'),
    },
    delete: {
      ...named('delete'),
      summary: `Delete ${article} ${noun}${byOlderPath}`,
      description: 'The deletion detaches the trigger from all rules.',
      params: triggerId,
      response: common.none,
      fails: { 404: common.missing('trigger'), 409: common.ofAlertSetting, ...ifMatchFails },
    },
  } satisfies Record<string, OperationSchema>
}
