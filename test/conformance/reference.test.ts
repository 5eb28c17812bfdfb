/** The API reference is a valid document, its names are unique and its examples are valid. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { offlineApiDocument } from '../../src/assembly/offline.ts'
import { specifiedServices } from './operations.ts'

interface Shape {
  $ref?: string
  type?: string
  title?: string
  items?: Shape
  examples?: unknown[]
}

interface Described {
  tags: [string]
  operationId: string
  summary: string
  'x-alias-of'?: string
  parameters: {
    name: string
    required: boolean
    description?: string
    schema: { default?: unknown }
    example?: unknown
  }[]
  requestBody?: { content: Record<string, { schema: Shape; example?: unknown }> }
  responses: Record<string, { content?: Record<string, { schema: Shape }> }>
}

const document = await offlineApiDocument('http://waypost.test')
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...(operation as Described),
  })),
)
const shapes = document.components.schemas as Record<string, Shape>
/** The schemas of parameters and bodies. */
const schemas = [
  ...new Set(
    operations.flatMap(({ parameters, requestBody }) =>
      [...parameters, ...Object.values(requestBody?.content ?? {})].map(({ schema }) => schema),
    ),
  ),
]
const ajv = new Ajv({ strict: false })
formats.default(ajv)
// All schemas are in one document, because Ajv reads the whole document of a schema before it compiles the schema.
ajv.addSchema({ $id: 'reference', components: { schemas: shapes }, schemas })

/** Returns a text that describes why the example is not valid, or undefined. */
function problemOf(schema: object, example: unknown): string | undefined {
  const validate = ajv.getSchema(`reference#/schemas/${schemas.indexOf(schema)}`)
  assert.ok(validate)
  return validate(example) ? undefined : `${JSON.stringify(example)} ${ajv.errorsText(validate.errors)}`
}

const nameOf = ({ $ref }: Shape) => $ref?.replace('#/components/schemas/', '')
const resolve = (shape: Shape): Shape => (shape.$ref === undefined ? shape : shapes[nameOf(shape)!]!)

test('the API reference is a valid OpenAPI 3.1 document', async () => {
  const result = await new Validator().validate(JSON.parse(JSON.stringify(document)))
  assert.ok(result.valid, JSON.stringify(result.errors, null, 2))
})

test('every $ref resolves to a shape, and every shape is used', () => {
  const used = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('$ref' in value && typeof value.$ref === 'string') used.add(nameOf(value as Shape)!)
    for (const inner of Object.values(value)) visit(inner)
  }
  visit(document)
  assert.deepEqual([...used].sort(), Object.keys(shapes).sort())
})

test('every shape, parameter and body is a valid JSON schema', () => {
  const wrong = [...Object.values(shapes), ...schemas].flatMap((schema) =>
    ajv.validateSchema(schema) ? [] : [`${JSON.stringify(schema)}: ${ajv.errorsText()}`],
  )
  assert.deepEqual(wrong, [])
})

test('every operation has a unique name of the form noun.verb', () => {
  const names = operations.map(({ operationId }) => operationId)
  assert.deepEqual(
    names.filter((name) => !/^[a-z][a-zA-Z0-9]*(\.[a-z][a-zA-Z0-9]*)+$/.test(name)),
    [],
  )
  assert.equal(new Set(names).size, names.length)
  for (const { 'x-alias-of': original } of operations) assert.ok(original === undefined || names.includes(original))
})

test('no two operations of a service have the same summary', () => {
  const seen = new Map<string, string>()
  for (const { name, tags, summary } of operations) {
    const key = `${tags[0]}: ${summary}`
    assert.equal(seen.get(key), undefined, `${name} has the same summary as another operation (${key})`)
    seen.set(key, name)
  }
})

/**
 * Returns whether the shape is an object without a name, or an array of such objects. Generators of clients give such shapes names with
 * numbers.
 */
const isUnnamed = (shape: Shape): boolean =>
  shape.type === 'object' || (shape.type === 'array' && shape.items !== undefined && isUnnamed(shape.items))

test('objects in bodies and responses have names', () => {
  const unnamed = operations.flatMap(({ name, requestBody, responses }) => {
    const contents = [requestBody, ...Object.values(responses)].flatMap((one) => Object.values(one?.content ?? {}))
    return contents.some(({ schema }) => isUnnamed(schema)) ? [name] : []
  })
  assert.deepEqual(unnamed, [])
})

test('an object shape that occurs twice has a name', () => {
  const seen = new Map<string, string>()
  const repeated: string[] = []
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { properties, description: _, title, examples: __, ...rest } = value as Record<string, unknown>
    if (rest.type === 'object' && typeof properties === 'object') {
      const text = JSON.stringify({ properties, ...rest })
      if (title === undefined && seen.has(text)) repeated.push(`${path} is equal to ${seen.get(text)}`)
      seen.set(text, path)
    }
    for (const [key, inner] of Object.entries(value)) visit(inner, `${path}/${key}`)
  }
  visit(shapes, 'shapes')
  visit(document.paths, 'paths')
  assert.deepEqual(repeated, [])
})

test('a parameter with a default is not required', () => {
  const required = operations.flatMap(({ name, parameters }) =>
    parameters.filter((one) => one.required && one.schema.default !== undefined).map((one) => `${name}: ${one.name}`),
  )
  assert.deepEqual(required, [])
})

test('every service of the specification is served', () => {
  const tags = document.tags.map(({ name }) => name)
  assert.deepEqual([...new Set(operations.map(({ tags: [tag] }) => tag))].toSorted(), tags.toSorted())
  assert.deepEqual(
    specifiedServices.filter((name) => !tags.includes(name)),
    [],
  )
})

test('the examples of parameters and bodies are valid', () => {
  const wrong: string[] = []
  const check = (path: string, schema: object, example: unknown) => {
    const problem = example === undefined ? undefined : problemOf(schema, example)
    if (problem) wrong.push(`${path}: ${problem}`)
  }
  for (const { operationId, parameters, requestBody } of operations) {
    for (const { name, schema, example } of parameters) check(`${operationId} ${name}`, schema, example)
    for (const { schema, example } of Object.values(requestBody?.content ?? {}))
      check(`${operationId} body`, schema, example)
  }
  assert.deepEqual(wrong, [])
})

/** The services that people call first when they write a script for a device. */
const servicesWithExamples = ['application', 'token', 'register', 'credentials', 'certificates', 'timeseries']

for (const { name, tags, requestBody } of operations.filter(({ tags }) => servicesWithExamples.includes(tags[0])))
  test(`${tags[0]}: ${name} has a valid example of its body`, () => {
    for (const { schema } of Object.values(requestBody?.content ?? {})) {
      const { examples = [] } = resolve(schema)
      if (!name.includes('-configs')) assert.ok(examples.length, 'the operation must have an example')
      for (const example of examples) assert.equal(problemOf(schema, example), undefined)
    }
  })
