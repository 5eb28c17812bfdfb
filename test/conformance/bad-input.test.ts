/** Sends bad input to every operation: the response is 400, 413 or 415, names the field in the error format of the service, never 500. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type Ask, bearer, client, tokenOf } from '../harness/client.ts'
import { startPlatform } from '../harness/platform.ts'
import { badBodies, badTexts, type Shape, sampleOf } from './bad-input.ts'
import { inlinedDocument } from './document.ts'

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  schema: Shape
}
interface Operation {
  tags: string[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: Shape }> }
  security: unknown[]
}

let ask: Ask
before(async () => {
  const { baseUrl, bootstrap } = await startPlatform({
    environment: {
      WAYPOST_RATE_LIMIT_PER_ADDRESS: '0',
      WAYPOST_RATE_LIMIT_PER_CREDENTIAL: '0',
      WAYPOST_LOG_LEVEL: 'error',
    },
  })
  const { id, secret } = bootstrap.platform.backendClient
  const token = await tokenOf(baseUrl, 'platform', {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  })
  ask = client(baseUrl, bearer(token))
})

/** Returns the message of an error response, in any error format. */
function errorTextOf(tag: string, body: Record<string, unknown>): string {
  const text = tag === 'tenant-v2' ? body.error : body.message
  assert.equal(typeof text, 'string', `${tag} has no error text: ${JSON.stringify(body)}`)
  if (tag === 'tenant-v1') assert.equal(body.detail, text)
  return text as string
}

function assertNamesField(tag: string, body: Record<string, unknown>, field: string) {
  const text = errorTextOf(tag, body)
  const name = field.split('.').at(-1)!
  assert.ok(text.includes(name), `"${text}" does not name ${field}`)
  if (tag === 'tenant-v1' && field !== 'body' && !field.includes('.'))
    assert.ok(Array.isArray(body[field]), `no messages for ${field}`)
}

const document = await inlinedDocument('http://waypost.test')
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    operation: operation as Operation,
  })),
)

for (const { path, method, operation } of operations.filter(({ operation }) => operation.security.length > 0)) {
  const tag = operation.tags[0]!
  const pathParameters = operation.parameters.filter((parameter) => parameter.in === 'path')
  const validUrl = pathParameters.reduce(
    (url, { name, schema }) => url.replace(`{${name}}`, encodeURIComponent(String(sampleOf(schema)))),
    path,
  )

  describe(`${tag}: ${method} ${path}`, () => {
    const body = operation.requestBody?.content['application/json']?.schema
    for (const { name, schema } of pathParameters) {
      const invalidValues: [string, string][] = [['with NUL', '%00']]
      if (schema.maxLength !== undefined && schema.maxLength < 2000)
        invalidValues.push(['too long', 'x'.repeat(schema.maxLength + 1)])
      if (schema.type === 'integer') invalidValues.push(['not a number', 'seven'], ['too large', '99999999999'])
      for (const [problem, value] of invalidValues)
        test(`${name} ${problem}`, async () => {
          const url = pathParameters.reduce(
            (text, part) => text.replace(`{${part.name}}`, part.name === name ? value : String(sampleOf(part.schema))),
            path,
          )
          const answer = await ask(`${method} ${url}`, body && sampleOf(body))
          assert.equal(answer.status, 400, answer.text)
          assertNamesField(tag, answer.body, name)
        })
    }

    for (const { name, schema } of operation.parameters.filter((parameter) => parameter.in === 'query')) {
      const invalidValues: string[] = []
      if (schema.type === 'integer') invalidValues.push('x', '1.5', '-99', '99999999999999999999')
      if (schema.type === 'boolean') invalidValues.push('maybe')
      if (schema.enum) invalidValues.push('no-such-word')
      if (schema.maxLength !== undefined && schema.maxLength < 9000)
        invalidValues.push('x'.repeat(schema.maxLength + 1))
      for (const value of invalidValues)
        test(`query ${name}=${value.slice(0, 20)}`, async () => {
          const answer = await ask(`${method} ${validUrl}?${name}=${value}`, body && sampleOf(body))
          assert.equal(answer.status, 400, answer.text)
          assertNamesField(tag, answer.body, name)
        })
    }

    if (!body) return
    for (const { why, field, body: bad } of badBodies(body))
      test(`${field}: ${why}`, async () => {
        const answer = await ask(`${method} ${validUrl}`, bad)
        assert.equal(answer.status, 400, answer.text)
        assertNamesField(tag, answer.body, field)
      })
    if ([body.type].flat()[0] !== 'object') return
    // __proto__ is allowed where the body is arbitrary JSON of the caller.
    const optional = operation.requestBody?.required === false
    // A batch holds the ids of many endpoints beside a megabyte of configuration.
    const bytesTooMany = path.endsWith('/ecr/api/v1/endpoints/batch') ? 4_300_000 : undefined
    const texts = badTexts(JSON.stringify(sampleOf(body)), bytesTooMany).filter(
      ({ why }) => (why !== '__proto__' || body.properties) && (why !== 'nothing' || !optional),
    )
    for (const { why, payload, type, statuses } of texts)
      test(why, async () => {
        const answer = await ask(`${method} ${validUrl}`, payload, { 'content-type': type })
        assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`)
        errorTextOf(tag, answer.body)
      })
  })
}
