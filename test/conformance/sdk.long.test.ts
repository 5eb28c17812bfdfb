/** Calls every operation of the specification through the SDK, with the examples of the API reference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describe, operationNames } from '../../sdk/src/descriptions.ts'
import { createClient, WaypostError } from '../../sdk/src/index.ts'
import { startPlatform } from '../harness/platform.ts'
import { shapeOf, operations as specified } from './operations.ts'

const { baseUrl, bootstrap } = await startPlatform({
  environment: {
    WAYPOST_RATE_LIMIT_PER_ADDRESS: '0',
    WAYPOST_RATE_LIMIT_PER_CREDENTIAL: '0',
    WAYPOST_LOG_LEVEL: 'error',
  },
})
const { id, secret } = bootstrap.platform.backendClient
const client = createClient({
  url: baseUrl,
  auth: { tenant: 'platform', clientId: id, clientSecret: secret },
  attempts: 1,
})

const descriptions = operationNames().map((name) => describe(name)!)
const nameByShape = new Map(
  descriptions.map(({ name, method, path }) => [`${method} ${shapeOf(path.replace('{+', '{'))}`, name]),
)

/** Calls the function of an operation, as a program does: `client.endpoints.list(…)`. */
function callByName(name: string, args: Record<string, unknown>) {
  // biome-ignore lint/suspicious/noExplicitAny: the path of the function is known at run time only
  const found = name.split('.').reduce<any>((branch, word) => branch[word], client)
  assert.equal(typeof found, 'function', name)
  const result = found(args)
  return describe(name)!.paged ? result.page() : result
}

function exampleOf(name: string) {
  const { arguments: parameters, body } = describe(name)!
  const requiredArguments = parameters
    .filter(({ required }) => required)
    .map((one) => [one.name, one.example ?? 'example'])
  return { ...Object.fromEntries(requiredArguments), ...(body && { body: body.example ?? 'example' }) }
}

async function statusOf(name: string): Promise<number> {
  try {
    const answer = await callByName(name, exampleOf(name))
    if (answer.body instanceof ReadableStream) await answer.body.cancel()
    if (describe(name)!.answer.type === 'text/event-stream') await answer.body.return()
    return answer.status
  } catch (error) {
    if (!(error instanceof WaypostError) || error.status === undefined) throw error
    assert.equal(error.operation, name)
    assert.ok(error.message !== '' && error.correlationId !== undefined, name)
    return error.status
  }
}

for (const { service, method, path } of specified)
  test(`${service}: ${method} ${path} can be called with the SDK`, async () => {
    const name = nameByShape.get(`${method} ${shapeOf(path)}`)
    assert.ok(name, 'the SDK must have the operation')
    const status = await statusOf(name)
    assert.ok(describe(name)!.statuses.includes(status), `${name} answered with ${status}`)
    assert.ok(status < 500, `${name} answered with ${status}`)
  })

test('every operation has a summary, examples of its required parameters and body, and a shape of its response', () => {
  const faults = descriptions.flatMap(({ name, summary, arguments: parameters, body, statuses }) => [
    ...(summary.trim() === '' || summary.includes('\n') ? [`${name}: summary`] : []),
    ...parameters
      .filter((one) => one.required && one.in === 'path' && one.example === undefined)
      .map((one) => `${name}: ${one.name}`),
    ...(body && body.example === undefined && body.type !== 'application/octet-stream' ? [`${name}: body`] : []),
    ...(statuses.some((status) => status < 400) ? [] : [`${name}: answer`]),
  ])
  assert.deepEqual(faults, [])
})
