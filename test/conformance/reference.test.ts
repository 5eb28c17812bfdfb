/** The API reference says something of everything, and its examples are true. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { offlineApiDocument } from '../../src/assembly/offline.ts'

interface Described {
  tags: [string]
  summary?: string
  parameters: { name: string; description?: string }[]
  requestBody?: { content: Record<string, { schema: { examples?: unknown[] } }> }
}

const document = await offlineApiDocument('http://waypost.test')
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...(operation as Described),
  })),
)
const ajv = new Ajv({ strict: false })
formats.default(ajv)

test('every operation has a summary of its own', () => {
  assert.deepEqual(
    operations.filter(({ summary }) => !summary).map(({ name }) => name),
    [],
  )
})

test('no two operations of a service have the same summary', () => {
  const seen = new Map<string, string>()
  for (const { name, tags, summary } of operations) {
    if (/keycloak/.test(name)) continue // another word for idp-servers
    const key = `${tags[0]}: ${summary}`
    assert.equal(seen.get(key), undefined, `${key} is of ${name} too`)
    seen.set(key, name)
  }
})

/** Whoever writes scripts for devices reads these first. */
const first = ['application', 'token', 'register', 'credentials', 'certificates', 'timeseries']

for (const { name, tags, parameters, requestBody } of operations.filter(({ tags }) => first.includes(tags[0])))
  test(`${tags[0]}: ${name} says what its parameters mean and has an example that is valid`, () => {
    assert.deepEqual(
      parameters.filter(({ description }) => !description).map((one) => one.name),
      [],
    )
    for (const { schema } of Object.values(requestBody?.content ?? {})) {
      if (!name.includes('-configs')) assert.ok(schema.examples?.length, 'no example')
      for (const example of schema.examples ?? [])
        assert.ok(ajv.validate(schema, example), `${JSON.stringify(example)}: ${ajv.errorsText()}`)
    }
  })
