/**
 * Sends bad input to every operation. The response must be 400, 413 or 415, never 500, and must name the field in the error format of the
 * service.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Ask, bearer, client, tokenOf } from '../harness/client.ts'
import { startPlatform } from '../harness/platform.ts'
import { badBodies, badTexts, type Shape, sampleOf } from './bad-input.ts'
import { inlinedDocument } from './document.ts'
import { testMemberNames } from './member-names.ts'

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

interface BadRequest {
  why: string
  send(): Promise<void>
}

/** Returns the bad requests of an operation, each with its assertions. */
function badRequestsOf({ path, method, operation }: (typeof operations)[0]): BadRequest[] {
  const tag = operation.tags[0]!
  const requests: BadRequest[] = []
  const body = operation.requestBody?.content['application/json']?.schema
  const expectInvalid = (why: string, field: string, url: string, sent: unknown) =>
    requests.push({
      why: `${field}: ${why}`,
      async send() {
        const answer = await ask(`${method} ${url}`, sent)
        assert.equal(answer.status, 400, answer.text)
        assertNamesField(tag, answer.body, field)
      },
    })
  const pathParameters = operation.parameters.filter((parameter) => parameter.in === 'path')
  const urlWith = (name?: string, value?: string) =>
    pathParameters.reduce(
      (url, part) =>
        url.replace(`{${part.name}}`, part.name === name ? value! : encodeURIComponent(String(sampleOf(part.schema)))),
      path,
    )
  for (const { name, schema } of pathParameters)
    for (const [problem, value] of badPathValues(schema))
      expectInvalid(problem, name, urlWith(name, value), body && sampleOf(body))
  for (const { name, schema } of operation.parameters.filter((parameter) => parameter.in === 'query'))
    for (const value of badQueryValues(schema))
      expectInvalid(`query ${value.slice(0, 20)}`, name, `${urlWith()}?${name}=${value}`, body && sampleOf(body))
  if (!body) return requests
  for (const { why, field, body: bad } of badBodies(body)) expectInvalid(why, field, urlWith(), bad)
  if ([body.type].flat()[0] !== 'object') return requests
  // An optional body may be missing, and a body of arbitrary JSON may contain `__proto__`. These valid inputs are left out
  // below.
  const optional = operation.requestBody?.required === false
  // The size limit of this operation is larger: its body contains the ids of many endpoints and a megabyte of configuration.
  const bytesTooMany = path.endsWith('/ecr/api/v1/endpoints/batch') ? 4_300_000 : undefined
  const texts = badTexts(JSON.stringify(sampleOf(body)), bytesTooMany).filter(
    ({ why }) => (why !== '__proto__' || body.properties) && (why !== 'nothing' || !optional),
  )
  for (const { why, payload, type, statuses } of texts)
    requests.push({
      why,
      async send() {
        const answer = await ask(`${method} ${urlWith()}`, payload, { 'content-type': type })
        assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`)
        errorTextOf(tag, answer.body)
      },
    })
  return requests
}

function badPathValues(schema: Shape): [why: string, value: string][] {
  const values: [string, string][] = [['with NUL', '%00']]
  if (schema.maxLength !== undefined && schema.maxLength < 2000)
    values.push(['too long', 'x'.repeat(schema.maxLength + 1)])
  if (schema.type === 'integer') values.push(['not a number', 'seven'])
  if (schema.maximum !== undefined) values.push(['too large', '99999999999'])
  return values
}

function badQueryValues(schema: Shape): string[] {
  const values: string[] = []
  if (schema.type === 'integer') values.push('x', '1.5', '-99', '99999999999999999999')
  if (schema.type === 'boolean') values.push('maybe')
  if (schema.enum) values.push('no-such-word')
  if (schema.maxLength !== undefined && schema.maxLength < 9000) values.push('x'.repeat(schema.maxLength + 1))
  return values
}

/** Number of requests of one operation that the test sends at the same time. */
const parallel = 8

// Each operation has one test, because a test for each request would cost more than the request.
for (const operation of operations.filter(({ operation }) => operation.security.length > 0)) {
  const requests = badRequestsOf(operation)
  if (requests.length === 0) continue
  test(`${operation.operation.tags[0]}: ${operation.method} ${operation.path} rejects ${requests.length} bad requests`, async () => {
    const problems: string[] = []
    const queue = requests.values()
    const sender = async () => {
      for (const { why, send } of queue) await send().catch((error) => problems.push(`${why}: ${error.message}`))
    }
    await Promise.all(Array.from({ length: parallel }, sender))
    assert.deepEqual(problems, [])
  })
}

testMemberNames(document.paths, (...request) => ask(...request))
