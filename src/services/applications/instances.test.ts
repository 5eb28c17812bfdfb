import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { catalogue } from '../../assembly/catalogue.ts'
import { instancesOf } from '../../assembly/declared.ts'
import { gatewayInstance } from '../../gateway/configuration.ts'
import identity from '../../identity/index.ts'
import type { Level } from '../../kernel/configuration.ts'
import applications from './index.ts'
import { runSlowCheck, validateConfiguration } from './instances/validate.ts'

const path = '/api/v1/service-instances'
const instances = instancesOf(catalogue)

test('every authenticated caller can list service instances, with schemas only if requested', async () => {
  const waypost = await openTestPlatform({ services: [applications, identity] })
  const caller = waypost.as(aCaller())
  const { status, body } = await caller(`GET ${path}`)
  assert.equal(status, 200)
  assert.equal(body.length, 25)
  const epts = {
    name: 'epts',
    serviceName: 'EPTS',
    serviceGroup: 'Data collection',
    description: 'Time series',
    urlPrefix: '/epts',
    appConfigurationSchemaPresent: true,
    appVersionConfigurationSchemaPresent: true,
  }
  assert.deepEqual((await caller(`GET ${path}/epts`)).body, epts)
  assert.deepEqual(
    body.find((one: { name: string }) => one.name === 'epts'),
    epts,
  )
  assert.equal((await caller(`GET ${path}/tsx`)).body.appConfigurationSchemaPresent, false)

  const both = ['appConfigurationSchema', 'appVersionConfigurationSchema']
  for (const query of [both.join(','), both.join(',%20'), both.join('&include=')]) {
    const instance = (await caller(`GET ${path}/epts?include=${query}`)).body
    for (const name of both) assert.equal(instance[name].properties['time-series'].type, 'object')
  }
  const app = (await caller(`GET ${path}/epts?include=appConfigurationSchema`)).body
  assert.deepEqual(
    both.map((name) => name in app),
    [true, false],
  )
  assert.ok(!('appConfigurationSchema' in (await caller(`GET ${path}/tsx?include=${both[0]}`)).body))
  const listed = (await caller(`GET ${path}?include=${both[1]}`)).body
  assert.ok(listed.some((one: object) => 'appVersionConfigurationSchema' in one))

  assert.equal((await caller(`GET ${path}?include=nonsense`)).status, 400)
  for (const name of ['nope', '__proto__', 'EPTS']) assert.equal((await caller(`GET ${path}/${name}`)).status, 404)
  assert.equal((await waypost.as(undefined)(`GET ${path}`)).status, 401)
})

suite('a configuration', () => {
  const check = async (instance: string, config: unknown, level: Level = 'application') => {
    await runSlowCheck(instances, { tenantId: 'default', instance, path: 'at' }, config)
    validateConfiguration(instances, { instance, level, path: 'at' }, config)
  }
  const schemaText = (schema: unknown) => ({ endpointConfigurationSchema: JSON.stringify(schema) })
  const series = (...values: object[]) => ({ 'time-series': { names: { s: { values } } } })

  const good: [instance: string, config: unknown, level?: Level][] = [
    ['epts', {}],
    [
      'epts',
      {
        'time-series': {
          'auto-extract': true,
          names: { fuel: { values: [{ path: 'fuelLevel', name: 'level', type: 'number' }, { path: '$.a.b' }] } },
          timestamp: { path: 'ts', format: 'millis-unix-epoch', 'fallback-strategy': 'server-timestamp' },
        },
      },
      'version',
    ],
    ['kpc', { 'allowed-extension-instances': ['dcx', 'cmx_ota'], 'idle-disconnect': 5 }, 'version'],
    ['kpc', { transports: { mqtt: { ws: { 'basic-auth': { required: false } } } } }, 'tenant'],
    ['kpc', { transports: { http: { 'basic-auth': { required: true } }, coap: 1 } }, 'tenant'],
    ['epmx', { 'metadata-keys': { city_1: { 'write-enabled': true }, other: {} } }],
    ['epl', { connectivity: { 'metadata-keys': { state: 'up', 'state-ts': 'up_ts' }, 'time-series': { name: 'up' } } }],
    ['ecr', { ...schemaText({ type: 'object' }), endpointConfigurationSchemaRequired: true }],
    ['ecr', schemaText({ $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{}] })],
    [
      'ecr',
      schemaText({ $schema: 'http://json-schema.org/draft-07/schema#', format: 'anything', $id: 'urn:test:same' }),
    ],
    ['ecr', schemaText({ $id: 'urn:test:same', definitions: { a: {} }, $ref: '#/definitions/a' })],
    [
      'ecr',
      schemaText({ $defs: { a: { $anchor: 'x' } }, items: [{ $ref: '#x' }, { $ref: '#' }, { $ref: '#/$defs/a' }] }),
    ],
    ['ecr', schemaText({ const: { $ref: '#/nowhere', pattern: '(' }, properties: { $ref: { type: 'string' } } })],
    ['dcx', { 'metadata-enrichment': { enabled: true, path: 'meta' }, 'relaxed-resource-path': false }],
    ['adx', { anything: [{ at: 'all' }] }],
    ['epr', { anything: 1 }],
    ['epts', { anything: 1 }, 'tenant'],
  ]
  const bad: [instance: string, config: unknown, where: string, level?: Level][] = [
    ['nope', {}, 'nope'],
    ['epr', [], 'at'],
    ['epr', null, 'at'],
    ['epts', { 'time-series': [] }, 'at.time-series'],
    ['epts', { 'time-series': { names: { 'a b': { values: [{ path: 'p' }] } } } }, 'at.time-series.names.a b'],
    ['epts', { 'time-series': { names: { s: {} } } }, 'at.time-series.names.s.values'],
    ['epts', series({}), 'at.time-series.names.s.values.0.path'],
    ['epts', series({ path: 'a' }, { path: 'b' }), 'at.time-series.names.s.values.1.name'],
    ['epts', series({ path: 'a' }, { path: 'b', name: 'value' }), 'at.time-series.names.s.values.1.name'],
    ['epts', series({ path: 'a', name: 'time' }), 'at.time-series.names.s.values.0.name'],
    ['epts', series({ path: 'a', name: 'a=b' }), 'at.time-series.names.s.values.0.name', 'version'],
    ['epts', series({ path: 'a', type: 'object' }), 'at.time-series.names.s.values.0.type'],
    ['epts', { 'time-series': { timestamp: { format: 'roman' } } }, 'at.time-series.timestamp.format'],
    ['kpc', { transports: { http: true } }, 'at.transports.http', 'tenant'],
    [
      'kpc',
      { transports: { http: { 'basic-auth': { required: 'true' } } } },
      'at.transports.http.basic-auth.required',
      'tenant',
    ],
    [
      'kpc',
      { transports: { mqtt: { tcp: { 'x509-auth': { required: 1 } } } } },
      'at.transports.mqtt.tcp.x509-auth.required',
      'tenant',
    ],
    ['epts', series({ path: 'a', name: 'a\nb' }), 'at.time-series.names.s.values.0.name'],
    ['kpc', { 'allowed-extension-instances': ['ftp'] }, 'at.allowed-extension-instances.0', 'version'],
    ['kpc', { 'allowed-extension-instances': ['dcx', 'dcx'] }, 'at.allowed-extension-instances', 'version'],
    ['epmx', { 'metadata-keys': { 'a-b': {} } }, 'at.metadata-keys.a-b'],
    ['epmx', { 'metadata-keys': ['a'] }, 'at.metadata-keys'],
    ['epl', { connectivity: { 'time-series': {} } }, 'at.connectivity.time-series.name'],
    ['dcx', { 'metadata-enrichment': true }, 'at.metadata-enrichment'],
    ['ecr', { endpointConfigurationSchema: { type: 'object' } }, 'at.endpointConfigurationSchema'],
    ['ecr', { endpointConfigurationSchema: '{' }, 'at.endpointConfigurationSchema'],
    ['ecr', schemaText([]), 'at.endpointConfigurationSchema'],
    // The schema has thousands of ids and references. A check that compares each reference with each id would take seconds.
    [
      'ecr',
      schemaText({ allOf: [...Array(2400).fill({ $id: 'a' }), ...Array(2000).fill({ $ref: '#/a' })] }),
      'at.endpointConfigurationSchema',
    ],
    [
      'ecr',
      schemaText({ allOf: Array.from({ length: 600 }, (_, n) => ({ $ref: `#/${n}` })) }),
      'at.endpointConfigurationSchema',
    ],
    ['ecr', schemaText(true), 'at.endpointConfigurationSchema'],
    ['ecr', schemaText({ type: 'objekt' }), 'at.endpointConfigurationSchema'],
    ['ecr', schemaText({ pattern: '(' }), 'at.endpointConfigurationSchema'],
    ['ecr', schemaText({ patternProperties: { '[': {} } }), 'at.endpointConfigurationSchema'],
    ['ecr', schemaText({ items: { $ref: '#/definitions/lost' } }), 'at.endpointConfigurationSchema'],
    [
      'ecr',
      { endpointConfigurationSchema: `${'{"not":'.repeat(70)}{}${'}'.repeat(70)}` },
      'at.endpointConfigurationSchema',
    ],
    ['ecr', { endpointConfigurationSchema: '{"not":'.repeat(8000) }, 'at.endpointConfigurationSchema'],
    ['ecr', { endpointConfigurationSchema: ' '.repeat(65_537) }, 'at.endpointConfigurationSchema'],
    ['ecr', schemaText({ $ref: 'http://elsewhere.test/schema' }), 'at.endpointConfigurationSchema'],
    ['ecr', schemaText({ $schema: 'http://json-schema.org/draft-04/schema#' }), 'at.endpointConfigurationSchema'],
    ['ecr', { endpointConfigurationSchemaRequired: 'yes' }, 'at.endpointConfigurationSchemaRequired'],
  ]

  test('a configuration that fits the schema is accepted', async () => {
    for (const [instance, config, level] of good) await check(instance, config, level)
  })

  test('a configuration that violates the schema is rejected with the path of the mistake', async () => {
    for (const [instance, config, where, level] of bad)
      await assert.rejects(
        check(instance, config, level),
        (error: Error & { status?: number }) => error.status === 400 && error.message.startsWith(`${where}: `),
        `${instance} ${JSON.stringify(config)}`,
      )
  })

  test('a configuration of the gateway allows only extensions that are service instances', () => {
    const schema = gatewayInstance.schemas.version as unknown as {
      properties: { 'allowed-extension-instances': { items: { enum: string[] } } }
    }
    for (const name of schema.properties['allowed-extension-instances'].items.enum) assert.ok(instances.has(name), name)
  })
})
