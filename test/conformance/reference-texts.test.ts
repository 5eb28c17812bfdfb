/** Every operation, parameter, field and error response of the API reference has a text that explains it. */
import assert from 'node:assert/strict'
import { STATUS_CODES } from 'node:http'
import { test } from 'node:test'
import { offlineApiDocument } from '../../src/assembly/offline.ts'

interface Shape {
  $ref?: string
  description?: string
  properties?: Record<string, Shape>
  [keyword: string]: unknown
}

interface Described {
  operationId: string
  summary: string
  description?: string
  parameters: { name: string; in: string; description?: string; schema: Shape }[]
  requestBody?: { content: Record<string, { schema: Shape }> }
  responses: Record<string, { description?: string; content?: Record<string, { schema: Shape }> }>
}

const document = await offlineApiDocument('http://waypost.test')
const operations = Object.values(document.paths).flatMap((item) => Object.values(item) as Described[])
const shapes = document.components.schemas as Record<string, Shape>

/** Verbs that a summary may start with. Add your verb if no verb of this list fits. */
const verbs = new Set(
  (
    'Acknowledge Activate Cancel Change Create Delete Discover Download End Evaluate Execute Export Get Grant Introspect Invoke Issue Link List Load Move ' +
    'Pause Preview Register Remove Replace Replay Resolve Restore Resume Retry Revoke Search Send Set Sign Simulate Start Store Suspend Try Unlink Unregister ' +
    'Update Upload Validate Watch'
  ).split(' '),
)

const wordsOf = (text: string) => text.split(/\s+/).filter((word) => /[a-z0-9]/i.test(word))

test('every summary is one line that starts with a verb in the imperative', () => {
  const wrong = operations.filter(
    ({ summary }) => !verbs.has(summary.split(/[ ,]/)[0]!) || summary.includes('\n') || wordsOf(summary).length < 2,
  )
  assert.deepEqual(
    wrong.map(({ operationId, summary }) => `${operationId}: ${summary}`),
    [],
  )
})

test('a description of an operation says more than its summary', () => {
  const wrong = operations.filter(({ summary, description }) => description?.replace(/\.$/, '') === summary)
  assert.deepEqual(
    wrong.map(({ operationId }) => operationId),
    [],
  )
})

/**
 * A description begins with a capital letter and ends with a full stop. A description that lists values begins with the first value: `asc:
 * oldest first.` It is a noun phrase, not a question: `Time of the last message`, not `When the last message arrived`.
 */
const isDescription = (text: string | undefined) =>
  text !== undefined &&
  /^([A-Z`]|[a-z_-]+: )/.test(text) &&
  !/^(What|Whether|When|Which|Why|How)\b/.test(text) &&
  text.endsWith('.')

const declaredOf = ({ $ref }: Shape) =>
  $ref === undefined ? undefined : shapes[$ref.replace('#/components/schemas/', '')]
const isExplained = (shape: Shape) => isDescription(shape.description ?? declaredOf(shape)?.description)

test('every parameter has a description', () => {
  const wrong = operations.flatMap(({ operationId, parameters }) =>
    parameters.filter((one) => !isDescription(one.description)).map((one) => `${operationId}: ${one.in} ${one.name}`),
  )
  assert.deepEqual(wrong, [])
})

/** Returns the shapes directly inside a shape, with the path of each. */
function innerShapesOf(shape: Shape): [path: string, inner: Shape][] {
  const named = (keyword: string) => Object.entries((shape[keyword] ?? {}) as Record<string, Shape>)
  const listed = (keyword: string) => ((shape[keyword] ?? []) as Shape[]).map((one) => ['', one] as [string, Shape])
  const single = (keyword: string): [string, Shape][] =>
    typeof shape[keyword] === 'object' ? [['[]', shape[keyword] as Shape]] : []
  return [
    ...named('properties').map(([name, inner]): [string, Shape] => [`.${name}`, inner]),
    ...named('patternProperties').map(([, inner]): [string, Shape] => ['.*', inner]),
    ...['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap(listed),
    ...['items', 'additionalProperties'].flatMap(single),
  ]
}

/** Returns the fields without a description in a shape and in all shapes inside it. */
const fieldsWithoutDescription = (shape: Shape, path: string): string[] => [
  ...Object.entries(shape.properties ?? {}).flatMap(([name, field]) => (isExplained(field) ? [] : [`${path}.${name}`])),
  ...innerShapesOf(shape).flatMap(([step, inner]) => fieldsWithoutDescription(inner, path + step)),
]

test('every named shape and each of its fields has a description', () => {
  const wrong = Object.entries(shapes).flatMap(([name, shape]) => [
    ...(isDescription(shape.description) ? [] : [name]),
    ...fieldsWithoutDescription(shape, name),
  ])
  assert.deepEqual(wrong, [])
})

test('every field of a body or response without a name has a description', () => {
  const wrong = operations.flatMap(({ operationId, requestBody, responses }) =>
    [requestBody, ...Object.values(responses)].flatMap((part) =>
      Object.values(part?.content ?? {}).flatMap(({ schema }) => fieldsWithoutDescription(schema, operationId)),
    ),
  )
  assert.deepEqual(wrong, [])
})

test('the description of a parameter or field with a default names the default', () => {
  const named = (text: string | undefined, value: unknown) => text?.includes(`Default: ${value}`)
  const parameters = operations.flatMap(({ operationId, parameters }) =>
    parameters
      .filter(({ schema, description }) => schema.default !== undefined && !named(description, schema.default))
      .map(({ name }) => `${operationId}: ${name}`),
  )
  const fields = Object.entries(shapes).flatMap(([title, { properties = {} }]) =>
    Object.entries(properties)
      .filter(([, { default: value, description }]) => value !== undefined && !named(description, value))
      .map(([name]) => `${title}.${name}`),
  )
  assert.deepEqual([...parameters, ...fields], [])
})

test('every error response describes its cause, and does not only repeat the phrase of its status', () => {
  const explainsCause = (status: string, text = '') =>
    isDescription(text) && text.replace(/\.$/, '') !== STATUS_CODES[status] && wordsOf(text).length >= 5
  const wrong = operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses)
      .filter(([status, { description }]) => Number(status) >= 400 && !explainsCause(status, description))
      .map(([status, { description }]) => `${operationId} ${status}: ${description}`),
  )
  assert.deepEqual(wrong, [])
})
