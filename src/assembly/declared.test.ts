import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { builtInRoles } from '../identity/contract.ts'
import { noProxy } from '../kernel/client-address.ts'
import { defineInstance } from '../kernel/configuration.ts'
import { contract } from '../kernel/contract.ts'
import { defineService } from '../kernel/define-service.ts'
import { createFileDescriptors } from '../kernel/file-descriptors.ts'
import { createHttpServer } from '../kernel/http/server.ts'
import { createLog } from '../kernel/log.ts'
import { createMetrics } from '../kernel/metrics.ts'
import { Empty } from '../kernel/schema.ts'
import { catalogue } from './catalogue.ts'
import { instancesOf, scopesOf } from './declared.ts'

const build = () => ({ api: {} })
const service = (name: string, declared: object) =>
  defineService({ name, provides: contract<object>(name), build, ...declared })

test('two services cannot declare the same service instance or the same scope', () => {
  const instances = [defineInstance({ name: 'x', group: 'g', description: 'd' })]
  assert.throws(
    () => instancesOf([service('a', { instances }), service('b', { instances })]),
    /instance x is declared twice/,
  )
  const scopes = { 'x:read': [] }
  assert.throws(() => scopesOf([service('a', { scopes }), service('b', { scopes })]), /scope x:read is declared twice/)
})

test('the schemas of configurations are valid JSON schemas', () => {
  const ajv = new Ajv({ strict: false })
  for (const { name, schemas } of instancesOf(catalogue).values())
    for (const [level, schema] of Object.entries(schemas))
      assert.ok(ajv.validateSchema(schema), `${name}, ${level}: ${ajv.errorsText()}`)
})

test('every role to which a service gives scopes exists', () => {
  for (const [scope, holders] of scopesOf(catalogue))
    for (const role of holders) assert.ok(role in builtInRoles, `${scope}: ${role}`)
})

test('a server does not start if an operation requires an undeclared scope', async () => {
  const log = await createLog({ level: 'silent', format: 'json' })
  const metrics = createMetrics()
  const http = createHttpServer({
    baseUrl: () => '',
    log,
    metrics,
    authenticate: async () => undefined,
    callerWithoutAuthentication: () => undefined,
    rateLimit: { perCredential: 0, perAddress: 0 },
    trustProxy: noProxy,
    connections: {
      share: createFileDescriptors({ limit: 1024, log, metrics }).http,
      perAddress: 1,
      acceptFailed: () => {},
    },
    scopes: new Map([['thing:read', []]]),
  })
  const get = (path: string, name: string, access: { scope: string; or?: { scope: string; on: 'tenant' } }) =>
    http.mount({
      name: 'test',
      title: 'Test',
      roots: ['/api'],
      routes: (routes) =>
        routes.get(
          path,
          { schema: { name, summary: 'Get it', response: { 200: Empty() } }, config: access },
          () => null,
        ),
    })
  get('/a', 'a.get', { scope: 'thing:read' })
  get('/b', 'b.get', { scope: 'thing:read', or: { scope: 'thing:raed', on: 'tenant' } })
  await assert.rejects(
    async () => http.app.ready(),
    /GET \/api\/b requires the scope thing:raed, which no service declares/,
  )
})
