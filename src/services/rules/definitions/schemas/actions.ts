import { contentPage } from '../../../../kernel/paging.ts'
import { Empty, ifMatchFails, Name, type OperationSchema, Text, type TSchema, Type } from '../../../../kernel/schema.ts'
import { type ActionTypeDefinition, attributeSchema } from '../action-types/action-type.ts'
import * as common from './common.ts'

const actionId = Type.Object({ actionId: Name({ description: 'Id of the action.' }) })

const valueType = (name: string) =>
  Type.Optional(
    Type.Enum(['SCRIPT', 'LITERAL'], { description: `Kind of \`${name}\`: SCRIPT or LITERAL (a constant).` }),
  )

/** Returns the shape of `valueTypes` with a field for each attribute. */
const valueTypesOf = ({ attributes, title }: ActionTypeDefinition, description: string) =>
  Type.Object(Object.fromEntries(Object.keys(attributes).map((name) => [name, valueType(name)])), {
    title: `${title}ValueTypes`,
    description,
  })

const attributesOf = ({ attributes }: ActionTypeDefinition) =>
  Object.fromEntries(Object.entries(attributes).map(([name, attribute]) => [name, attributeSchema(attribute)]))

function bodyOf(definition: ActionTypeDefinition) {
  const valueTypes = valueTypesOf(
    definition,
    'Kind of each attribute: SCRIPT or LITERAL (a constant). Default: SCRIPT if the text is a script with `return`, otherwise LITERAL.',
  )
  return Type.Object(
    {
      name: common.name('action'),
      description: common.description,
      ...attributesOf(definition),
      ...definition.fields,
      valueTypes: Type.Optional(valueTypes),
      uiMetadata: common.uiMetadata,
    } as Record<string, TSchema>,
    {
      title: `${definition.title}Fields`,
      description: `${definition.description} These are the fields that a caller sends.`,
      examples: [definition.example],
    },
  )
}

const answerOf = (definition: ActionTypeDefinition) =>
  Type.Object(
    {
      id: Type.String({ description: 'Id of the action.' }),
      name: Type.String({ description: 'Name of the action.' }),
      ...attributesOf(definition),
      ...definition.fields,
      valueTypes: valueTypesOf(definition, 'Kind of each attribute: SCRIPT or LITERAL (a constant).'),
      statistics: common.Statistics,
      ...common.answered,
    } as Record<string, TSchema>,
    { title: definition.title, description: definition.description },
  )

/** Returns the shapes of the operations for one action type. */
export function actionSchemas(definition: ActionTypeDefinition) {
  const { type, description, needs } = definition
  const noun = `${type} action`
  const article = /^[aeiou]/.test(type) ? 'an' : 'a'
  const name = `${type.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Actions`
  const answer = answerOf(definition)
  const body = bodyOf(definition)
  const forbidden = `The caller lacks a scope${needs.length > 0 ? `: writing such an action also needs ${needs.join(' and ')} on the tenant` : ''}.`
  return {
    create: {
      name: `${name}.create`,
      summary: `Create ${article} ${noun}`,
      description: `${description} Scripts run with the permissions that their writer has at the time of the run. The writer is the caller who created or last replaced the action.`,
      body,
      response: common.created,
      fails: {
        400: `${common.invalid} If a script has a syntax error, the message gives its line and column.`,
        403: forbidden,
      },
    },
    list: {
      name: `${name}.list`,
      summary: `List ${noun}s`,
      query: Type.Object({
        ...common.listQueryWithParts,
        ruleId: Type.Optional(
          Text({
            description: `Only actions attached to this rule${type === 'rule-execution' ? ', and actions that execute it' : ''}. Default: all.`,
          }),
        ),
      }),
      response: { 200: contentPage(answer) },
    },
    get: {
      name: `${name}.get`,
      summary: `Get ${article} ${noun}`,
      description: 'The ETag changes with the fields, not with the statistics.',
      params: actionId,
      response: { 200: answer, 304: Empty() },
      fails: { 404: common.missing('action') },
    },
    update: {
      name: `${name}.update`,
      summary: `Replace ${article} ${noun}`,
      description: 'Absent fields get their defaults. The caller becomes the writer of its scripts.',
      params: actionId,
      body,
      response: common.none,
      fails: { ...common.changeFails('action'), 403: forbidden },
    },
    delete: {
      name: `${name}.delete`,
      summary: `Delete ${article} ${noun}`,
      description: 'The deletion detaches the action from all rules.',
      params: actionId,
      response: common.none,
      fails: { 404: common.missing('action'), 409: common.ofAlertSetting, ...ifMatchFails },
    },
  } satisfies Record<string, OperationSchema>
}
