/** Prints shapes and operations as TypeScript. A named shape is printed once. */
import type { ApiDocument, OperationShape, Parameter, Shape } from './document.ts'

const isIdentifier = (name: string) => /^[A-Za-z_$][\w$]*$/.test(name)
const keyOf = (name: string) => (isIdentifier(name) ? name : `'${name.replaceAll("'", "\\'")}'`)
const literal = (value: unknown) =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : JSON.stringify(value)

const comment = (text: string | undefined, indent: string) =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ')} */\n`

export function shapeTypes({ components }: ApiDocument): string {
  return Object.entries(components.schemas as Record<string, Shape>)
    .map(([name, shape]) => {
      const text = comment(shape.description, '')
      return shape.properties && !shape.anyOf && !shape.allOf
        ? `${text}export interface ${name} ${fieldsText(shape, '')}\n`
        : `${text}export type ${name} = ${typeText(shape, '')}\n`
    })
    .join('\n')
}

/** Returns the type that a value of this shape has. */
export function typeText(shape: Shape, indent: string): string {
  if (shape.$ref) return shape.$ref.split('/').pop()!
  if (shape.const !== undefined) return literal(shape.const)
  if (shape.enum) return shape.enum.map(literal).join(' | ')
  const union = shape.anyOf ?? shape.oneOf
  // If the shape has properties, its alternatives only list required fields and do not change the type.
  if (union && !shape.properties) return [...new Set(union.map((one) => typeText(one, indent)))].join(' | ')
  if (shape.allOf) return shape.allOf.map((one) => typeText(one, indent)).join(' & ')
  if (Array.isArray(shape.type)) return shape.type.map((type) => typeText({ ...shape, type }, indent)).join(' | ')
  switch (shape.type) {
    case 'string':
      return 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      return arrayText(shape, indent)
    case 'object':
      return shape.properties && Object.keys(shape.properties).length > 0
        ? fieldsText(shape, indent)
        : `Record<string, ${valueText(shape, indent)}>`
    default:
      return 'unknown'
  }
}

function arrayText({ items, prefixItems }: Shape, indent: string) {
  if (prefixItems) return `[${prefixItems.map((one) => typeText(one, indent)).join(', ')}]`
  const text = items ? typeText(items, indent) : 'unknown'
  return / [|&] /.test(text) ? `(${text})[]` : `${text}[]`
}

/** Returns the value type of an object with any keys. */
function valueText({ additionalProperties, patternProperties }: Shape, indent: string) {
  const [pattern] = Object.values(patternProperties ?? {})
  const value = typeof additionalProperties === 'object' ? additionalProperties : pattern
  return value ? typeText(value, indent) : 'unknown'
}

function fieldsText(shape: Shape, indent: string): string {
  const inner = `${indent}  `
  const fields = Object.entries(shape.properties ?? {}).map(
    ([name, field]) =>
      comment(field.description, inner) +
      `${inner}${keyOf(name)}${shape.required?.includes(name) ? '' : '?'}: ${typeText(field, inner)}\n`,
  )
  const open =
    shape.additionalProperties === true || typeof shape.additionalProperties === 'object'
      ? `${inner}[key: string]: unknown\n`
      : ''
  return `{\n${fields.join('')}${open}${indent}}`
}

interface Branch {
  [word: string]: Branch | OperationShape
}

const isOperation = (value: Branch | OperationShape): value is OperationShape => typeof value.method === 'string'

/** Returns the interface of all nouns, with a function for each operation. */
export function nounTypes(nouns: [noun: string, operations: OperationShape[]][]): string {
  const tree: Branch = {}
  for (const [, operations] of nouns)
    for (const operation of operations) {
      const words = operation.name.split('.')
      const verb = words.pop()!
      let branch = tree
      for (const word of words) {
        branch[word] ??= {}
        branch = branch[word] as Branch
      }
      branch[verb] = operation
    }
  return `/** All operations, by noun. */\nexport interface Nouns ${branchText(tree, '')}\n`
}

function branchText(branch: Branch, indent: string): string {
  const inner = `${indent}  `
  const members = Object.entries(branch).map(([word, value]) =>
    isOperation(value)
      ? comment(`${value.summary}. ${value.description ?? ''}`.trim(), inner) +
        `${inner}${keyOf(word)}: ${operationText(value, inner)}\n`
      : `${inner}${keyOf(word)}: ${branchText(value, inner)}\n`,
  )
  return `{\n${members.join('')}${indent}}`
}

function operationText(operation: OperationShape, indent: string): string {
  const { parameters, body, paging, answers } = operation
  const isBare = parameters.every((one) => !one.required) && !body?.required
  const args = argumentsText(operation, indent)
  const prefix = isBare ? 'Bare' : ''
  if (paging) return `${prefix}ListCall<${args}, ${itemText(operation, indent)}>`
  const results = Object.entries(answers).map(([status, one]) => `${status}: ${answerText(one, indent)}`)
  return `${prefix}Call<${args}, { ${results.join('; ')} }>`
}

function argumentsText({ parameters, body }: OperationShape, indent: string): string {
  const inner = `${indent}  `
  const fields = parameters.map(
    (one) =>
      comment(one.description, inner) +
      `${inner}${keyOf(one.name)}${one.required ? '' : '?'}: ${argumentText(one, inner)}${one.required ? '' : ' | undefined'}\n`,
  )
  if (body) {
    const type = body.type === 'application/octet-stream' ? 'Upload' : typeText(body.schema, inner)
    fields.push(`${inner}body${body.required ? '' : '?'}: ${type}${body.required ? '' : ' | undefined'}\n`)
  }
  return fields.length === 0 ? 'Record<never, never>' : `{\n${fields.join('')}${indent}}`
}

const argumentText = ({ schema }: Parameter, indent: string) =>
  typeText(schema, indent).replace(/\bstring\[\]/g, 'readonly string[]')

function itemText({ paging, answers, resolve }: OperationShape, indent: string): string {
  const shape = resolve(answers[200]!.schema)
  const items = paging!.items === '' ? shape : shape.properties![paging!.items]!
  return typeText(items.items ?? {}, indent)
}

function answerText(answer: { type: string; schema: Shape } | undefined, indent: string): string {
  if (answer === undefined) return 'undefined'
  if (answer.type === 'application/octet-stream') return 'Download'
  if (answer.type === 'text/event-stream') return 'AsyncIterable<ServerEvent>'
  return typeText(answer.schema, indent)
}
