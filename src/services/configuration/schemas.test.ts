/** Tests schemas of configurations: required, violated and unusable schemas, and the validation of a candidate. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ecr, openConfiguration } from '../../../test/harness/configuration.ts'
import { ConfigurationChanged } from '../applications/events.ts'

const { waypost, admin, ok, anApplication, anEndpoint, testEndpoint } = await openConfiguration({
  // Logging is off, because unusable schemas are also logged as errors.
  environment: { WAYPOST_LOG_LEVEL: 'silent' },
})

const schema = { type: 'object', required: ['interval'], properties: { interval: { type: 'integer', minimum: 1 } } }

/** Sets the configuration of the service instance `ecr` for the application, or for one of its versions. */
async function setSchema(app: string, config: object, version?: string) {
  const inner = version === undefined ? config : { versions: { [version]: config } }
  const path = version === undefined ? '' : `/app-versions/${version}`
  const body = { ecr: { platform: { applications: { [app]: inner } } } }
  return await admin(`PUT /api/v1/app-configs/applications/${app}${path}`, body)
}

async function aFleet() {
  const { app, version } = await anApplication(['v1', 'v2'])
  const endpoint = testEndpoint({ app, version, ...(await anEndpoint(version)) })
  return { app, version, second: `${app}-v2`, endpoint }
}

suite('a schema', () => {
  test('the schema of a version takes precedence over the schema of the application, and every write is checked', async () => {
    const { app, version, second, endpoint } = await aFleet()
    const text = (value: object) => ({ endpointConfigurationSchema: JSON.stringify(value) })
    assert.equal((await admin(`GET ${endpoint.defaults}/schemas`)).status, 404)
    assert.equal((await setSchema(app, text(schema))).status, 204)
    assert.equal((await setSchema(app, text({ const: 'two' }), second)).status, 204)
    assert.deepEqual(await ok(`GET ${endpoint.defaults}/schemas`), schema)
    assert.deepEqual(await ok(`GET ${ecr}/app-versions/${second}/schemas`), { const: 'two' })
    const batch = (configPayload: unknown, endpoints: object) =>
      admin(`PUT ${ecr}/endpoints/batch`, { configPayload, endpoints })
    const bad = { interval: 0 }
    for (const answer of [
      await admin(`PUT ${endpoint.path}`, bad),
      await admin(`PUT ${endpoint.defaults}`, bad),
      await batch(bad, { [version]: [endpoint.endpointId] }),
      await batch(bad, { [version]: [] }),
    ]) {
      assert.equal(answer.status, 422, answer.text)
      assert.deepEqual(answer.body.errors, [{ path: '/interval', message: 'must be >= 1' }])
      assert.match(answer.body.message, /\/interval: must be >= 1/)
    }
    assert.equal((await admin(`GET ${endpoint.path}`)).status, 404)
    await ok(`PUT ${endpoint.path}`, { interval: 1 })
    await ok(`PUT ${ecr}/app-versions/${second}`, '"two"')
    // A batch over both versions needs a configuration that both schemas accept.
    const both = await batch({ interval: 2 }, { [version]: [endpoint.endpointId], [second]: [endpoint.endpointId] })
    assert.equal(both.status, 422, both.text)
    assert.equal((await ok(`GET ${endpoint.path}`)).config, '{"interval":1}')
  })

  test('a configuration whose required schema is missing gets 404, and a change of the schema does not change stored configurations', async () => {
    const { app, endpoint } = await aFleet()
    await ok(`PUT ${endpoint.path}`, 'true')
    assert.equal((await setSchema(app, { endpointConfigurationSchemaRequired: true })).status, 204)
    for (const path of [endpoint.path, endpoint.defaults]) {
      const answer = await admin(`PUT ${path}`, 1)
      assert.equal(answer.status, 404)
      assert.match(answer.body.message, /requires a configuration schema/)
    }
    const text = { endpointConfigurationSchema: JSON.stringify(schema), endpointConfigurationSchemaRequired: true }
    await setSchema(app, text)
    assert.equal((await ok(`GET ${endpoint.path}`)).config, 'true')
    await ok(`PUT ${endpoint.path}`, { interval: 5 })
  })

  test('an error about a schema lists at most 100 violations and counts further violations', async () => {
    const { app, endpoint } = await aFleet()
    await setSchema(app, { endpointConfigurationSchema: '{"items":{"type":"number"}}' })
    const { status, body } = await admin(`PUT ${endpoint.path}`, Array(123).fill('x'))
    assert.deepEqual([status, body.errors.length, body.moreErrors], [422, 100, 23])
  })

  const unusable = [
    '{',
    'true',
    '{"type":"nothing"}',
    '{"$ref":"https://example.org/schema"}',
    '{"pattern":"(?=a)"}',
    '{"$schema":"http://json-schema.org/draft-04/schema#"}',
  ]
  for (const text of unusable)
    test(`the schema ${text} is rejected with 400; if the schema is already stored, requests get 503`, async () => {
      const { app, endpoint } = await aFleet()
      const refused = await setSchema(app, { endpointConfigurationSchema: text })
      assert.equal(refused.status, 400, refused.text)
      assert.match(refused.body.message, /endpointConfigurationSchema: expected a JSON schema as text/)
      const { db, bus } = waypost.kit
      await db.tx(async (sql) => {
        await sql`
          insert into applications.configurations (tenant_id, application_name, version_name, instance, config)
          values ('default', ${app}, null, 'ecr', ${sql.json({ endpointConfigurationSchema: text })})`
        const changed = { tenantId: 'default', instance: 'ecr', level: 'application', applicationName: app } as const
        await bus.publish(sql, ConfigurationChanged, changed)
      })
      for (const path of [endpoint.path, endpoint.defaults]) {
        const answer = await admin(`PUT ${path}`, 1)
        assert.equal(answer.status, 503, answer.text)
        assert.match(answer.body.message, /cannot be used/)
      }
      assert.equal((await admin(`GET ${endpoint.defaults}/schemas`)).status, 503)
      assert.equal((await admin(`GET ${endpoint.path}`)).status, 404)
    })
})

suite('a candidate for a schema', () => {
  test('validating a candidate for a schema returns 204, or 422 with its problems, and stores nothing', async () => {
    const { endpoint } = await aFleet()
    const validate = (body: unknown) => admin(`PUT ${endpoint.defaults}/schemas/validate`, body)
    assert.equal((await validate(schema)).status, 204)
    assert.equal((await validate({ $schema: 'https://json-schema.org/draft/2020-12/schema' })).status, 204)
    for (const candidate of [
      'true',
      '[]',
      'null',
      '"x"',
      '{"type":5}',
      '{"$ref":"http://a.test/"}',
      '{"pattern":"(a)\\\\1"}',
    ]) {
      const { status, body } = await validate(candidate)
      assert.equal(status, 422, candidate)
      assert.ok(body.errors.length > 0 && typeof body.errors[0].path === 'string', candidate)
    }
    assert.equal((await validate({ type: 5 })).body.errors[0].path, '/type')
    const long = await validate({ description: 'x'.repeat(70_000) })
    assert.deepEqual([long.status, long.body.errors.length, long.body.errors[0].path], [422, 1, ''])
    for (const body of [undefined, '', '{']) assert.equal((await validate(body)).status, 400)
    assert.equal((await admin(`PUT ${ecr}/app-versions/none/schemas/validate`, schema)).status, 404)
    assert.equal((await admin(`GET ${endpoint.defaults}/schemas`)).status, 404)
  })
})
