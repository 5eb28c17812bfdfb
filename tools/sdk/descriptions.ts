/** Describes an operation for programs that offer all operations, such as the command line. */
import type { DescribedArgument, DescribedField, Description } from '../../sdk/src/descriptions.ts'
import type { OperationShape, Parameter, Shape } from './document.ts'

const isArray = (shape: Shape) => shape.type === 'array'

/** Returns the kind of a value: a type of JSON Schema, `list` for texts that can be repeated, or `json`. */
export function kindOf(shape: Shape): DescribedArgument['kind'] {
  if (shape.anyOf)
    return shape.anyOf.some(isArray) && shape.anyOf.some((one) => one.type === 'string') ? 'list' : 'json'
  if (shape.enum || typeof shape.const === 'string') return 'string'
  switch (shape.type) {
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
      return shape.type
    default:
      return 'json'
  }
}

const valueKindOf = (shape: Shape) => ({
  kind: kindOf(shape),
  ...(shape.enum && { choices: shape.enum }),
  ...(shape.default !== undefined && { default: shape.default }),
})

const argumentOf = (one: Parameter): DescribedArgument => ({
  name: one.name,
  in: one.in,
  required: one.required,
  ...valueKindOf(one.schema),
  description: one.description ?? '',
  ...(one.example !== undefined && { example: one.example }),
})

export function describedOperation(operation: OperationShape): Description {
  const { name, method, path, tag, summary, description, parameters, body, answers, statuses, paging, scopes } =
    operation
  const { open, reads, conditions, aliasOf, resolve } = operation
  const answer = Object.values(answers).find((one) => one !== undefined)
  return {
    name,
    method,
    path,
    tag,
    summary,
    ...(description !== undefined && { description }),
    ...(aliasOf !== undefined && { aliasOf }),
    arguments: parameters.map(argumentOf),
    ...(body && {
      body: {
        type: body.type,
        required: body.required,
        ...(body.example !== undefined && { example: body.example }),
        ...fieldsOf(resolve(body.schema), resolve),
      },
    }),
    answer: { ...(answer && { type: answer.type }), ...(answer && columnsOf(operation)) },
    statuses,
    ...(paging && { paged: true }),
    reads: reads || method === 'GET',
    scopes,
    open,
    conditions,
  }
}

function fieldsOf(shape: Shape, resolve: (shape: Shape) => Shape): { fields?: DescribedField[] } {
  if (!shape.properties) return {}
  const fields = Object.entries(shape.properties).map(([name, field]) => {
    const resolved = resolve(field)
    return {
      name,
      required: shape.required?.includes(name) === true,
      ...valueKindOf(resolved),
      description: field.description ?? resolved.description ?? '',
    }
  })
  return { fields }
}

/** Returns the fields of an item or of the response, as columns of tables. */
function columnsOf({ answers, paging, resolve }: OperationShape): { columns?: string[] } {
  const answer = Object.values(answers).find((one) => one !== undefined)!
  let shape = resolve(answer.schema)
  if (paging) shape = resolve((paging.items === '' ? shape : shape.properties![paging.items]!).items ?? {})
  return shape.properties ? { columns: Object.keys(shape.properties) } : {}
}
