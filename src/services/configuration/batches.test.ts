/** Tests batches: one configuration is written for many endpoints, which a map or a filter selects. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { asPushed, ecr, openConfiguration } from '../../../test/harness/configuration.ts'
import { eventually } from '../../../test/harness/eventually.ts'

const { waypost, admin, other, ok, anApplication, anEndpoint, testEndpoint, device, statusesOf } =
  await openConfiguration()
const batch = `PUT ${ecr}/endpoints/batch`
const statuses = async (configId: string) =>
  (await statusesOf(`configId=${configId}&size=1000`)).map((one: { status: string }) => one.status).sort()

/** Creates an application with two versions and three endpoints: two in the first version, one in the second. */
async function aFleet() {
  const { app, version } = await anApplication(['v1', 'v2'])
  const second = `${app}-v2`
  const [a, b] = [await anEndpoint(version), await anEndpoint(version)]
  const c = await anEndpoint(second)
  const testEndpoints = [
    testEndpoint({ app, version, ...a }),
    testEndpoint({ app, version, ...b }),
    testEndpoint({ app, version: second, ...c }),
  ]
  const endpoints = { [version]: [a.endpointId, b.endpointId], [second]: [c.endpointId] }
  return { app, version, second, testEndpoints, endpoints, ids: [a.endpointId, b.endpointId, c.endpointId] }
}

async function aFilter(app: string, documentQuery: object = {}) {
  const path = `/epr/api/v1/applications/${app}/filters`
  const { body, status, text } = await admin(`POST ${path}`, { name: `f${Math.random()}`, documentQuery })
  assert.equal(status, 201, text)
  await eventually(async () => assert.equal((await admin(`GET ${path}/${body.id}`)).body.status, 'active'))
  return body.id as string
}

suite('a batch', () => {
  test('a batch writes one configuration for all endpoints, and the statuses of this configuration show the progress', async () => {
    const { testEndpoints, endpoints } = await aFleet()
    const sensor = await device()
    await testEndpoints[0]!.connect(sensor)
    const answer = await admin(batch, { configPayload: { n: 1 }, endpoints })
    assert.equal(answer.status, 200, answer.text)
    const { endpointsCount, ...config } = answer.body
    assert.equal(endpointsCount, 3)
    assert.equal(answer.headers.etag, `"${config.configId}"`)
    assert.deepEqual(Object.keys(config).sort(), ['config', 'configId', 'createdDate', 'name', 'updatedDate'])
    for (const { path } of testEndpoints) assert.equal((await ok(`GET ${path}`)).configId, config.configId)
    assert.deepEqual((await sensor.receives(testEndpoints[0]!.topic('/config/json/status'))).json, asPushed(config))
    await eventually(async () =>
      assert.deepEqual(await statuses(config.configId), ['DISPATCHED', 'PENDING', 'PENDING']),
    )
    await testEndpoints[1]!.post('/config/json')
    await testEndpoints[1]!.post('/applied/json', { configId: config.configId })
    assert.deepEqual(await statuses(config.configId), ['APPLIED', 'DISPATCHED', 'PENDING'])
  })

  test('a batch changes nothing if all endpoints already have the configuration; otherwise all endpoints get a new configId', async () => {
    const { testEndpoints, endpoints } = await aFleet()
    const first = await ok(batch, { configPayload: { a: 1, b: 2 }, endpoints })
    const again = await ok(batch, { configPayload: { b: 2, a: 1 }, endpoints })
    assert.deepEqual(again, first)
    await testEndpoints[1]!.put({ other: true })
    const second = await ok(batch, { configPayload: { a: 1, b: 2 }, endpoints })
    assert.notEqual(second.configId, first.configId)
    for (const { path } of testEndpoints) assert.equal((await ok(`GET ${path}`)).configId, second.configId)
  })

  test('a batch may have a configuration name and may be empty, and counts an endpoint that it contains twice only once', async () => {
    const { testEndpoints, version, ids } = await aFleet()
    const twice = { configPayload: 1, endpoints: { [version]: [ids[0], ids[0]] } }
    const { endpointsCount, name } = await ok(`${batch}?name=night`, twice)
    assert.deepEqual([endpointsCount, name], [1, 'night'])
    assert.equal((await admin(`GET ${testEndpoints[0]!.path}`)).status, 404)
    for (const endpoints of [{}, { [version]: [] }])
      assert.equal((await ok(batch, { configPayload: 1, endpoints })).endpointsCount, 0)
  })

  test('a batch for a version that the endpoint does not use at present is stored and not pushed', async () => {
    const { testEndpoints, second, ids } = await aFleet()
    const sensor = await device()
    await testEndpoints[0]!.connect(sensor)
    const { configId } = await ok(batch, { configPayload: 1, endpoints: { [second]: [ids[0]] } })
    await sensor.receivesNothing()
    assert.deepEqual(await statuses(configId), ['PENDING'])
  })

  test('a batch changes nothing if one endpoint does not exist, or belongs to another tenant or application', async () => {
    const { app, version, endpoints, testEndpoints, ids } = await aFleet()
    const theirs = await anApplication(['v1'], other)
    const foreign = await anEndpoint(theirs.version, other)
    const strange = await anApplication()
    const stray = await anEndpoint(strange.version)
    const nothing = async (caller: typeof admin, map: object, status: number) => {
      const answer = await caller(batch, { configPayload: { bad: true }, endpoints: map })
      assert.equal(answer.status, status, answer.text)
      for (const { path } of testEndpoints) assert.equal((await admin(`GET ${path}`)).status, 404)
      return answer.text
    }
    const missing = await nothing(admin, { ...endpoints, [version]: [...ids.slice(0, 2), 'none'] }, 404)
    const hidden = await nothing(admin, { ...endpoints, [version]: [foreign.endpointId, ids[0]] }, 404)
    assert.equal(hidden.replace(foreign.endpointId, 'none'), missing)
    const unknown = await nothing(admin, { ...endpoints, none: [ids[0]] }, 404)
    const alien = await nothing(admin, { ...endpoints, [theirs.version]: [ids[0]] }, 404)
    assert.equal(alien.replace(theirs.version, 'none'), unknown)
    await nothing(admin, { [theirs.version]: [] }, 404)
    await nothing(admin, { [version]: [stray.endpointId] }, 404)
    await nothing(admin, { [strange.version]: [ids[0]] }, 404)
    const reader = waypost.as(aCaller({ on: { [`application-${app}`]: ['endpoint:read'] } }))
    await nothing(reader, endpoints, 403)
    const partly = aCaller({ on: { [`endpoint-${ids[0]}`]: ['endpoint:update'], 'tenant-system': ['endpoint:read'] } })
    await nothing(waypost.as(partly), endpoints, 403)
    await nothing(waypost.as(aCaller()), endpoints, 404)
  })

  const bad: [body: unknown, status: number, problem: RegExp][] = [
    [{}, 400, /configPayload/],
    [{ configPayload: 1 }, 400, /endpoints/],
    [{ configPayload: 1, endpoints: [] }, 400, /endpoints/],
    [{ configPayload: 1, endpoints: { v: 'x' } }, 400, /endpoints/],
    [{ configPayload: 1, endpoints: { v: [5] } }, 400, /endpoints/],
    [{ configPayload: 1, endpoints: { v: [''] } }, 400, /endpoints/],
    [{ configPayload: 'x'.repeat(1_000_001), endpoints: {} }, 413, /1000000/],
    ['{"configPayload":1,"endpoints":{},"__proto__":{}}', 400, /__proto__/],
  ]
  for (const [body, status, problem] of bad)
    test(`a batch rejects ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const answer = await admin(batch, body)
      assert.equal(answer.status, status, answer.text)
      assert.match(answer.body.message, problem)
    })

  test('a batch for a thousand endpoints replaces their configurations; configurations that were already sent keep their statuses', async () => {
    const { version } = await anApplication()
    const created = await admin('POST /epr/api/v1/endpoints/batch', {
      appVersion: { name: version },
      endpoints: Array.from({ length: 1000 }, () => ({})),
    })
    assert.equal(created.status, 202, created.text)
    const all = async () => (await admin(`GET /epr/api/v1/endpoints?applicationVersionName=${version}&limit=0`)).body
    await eventually(async () => assert.equal((await all()).totalElements, 1000), { withinMs: 20_000 })
    const ids = (await all()).content.map((one: { endpointId: string }) => one.endpointId)
    const first = await ok(batch, { configPayload: 1, endpoints: { [version]: ids } })
    assert.equal(first.endpointsCount, 1000)
    const { sql } = waypost.kit.db
    await sql`update configuration.endpoint_configs set dispatched_date = now() where config_id = ${first.configId}
      and endpoint_id <= ${ids.toSorted()[499]}`
    const second = await ok(batch, { configPayload: 2, endpoints: { [version]: ids } })
    const count = async (configId: string) =>
      (await ok(`GET ${ecr}/statuses?configId=${configId}&size=1`)).totalElements
    assert.deepEqual([await count(first.configId), await count(second.configId)], [500, 1000])
  })
})

suite('a filter', () => {
  test('a batch by a filter writes the configuration for all endpoints that match at present', async () => {
    const { app, version, testEndpoints } = await aFleet()
    const filterId = await aFilter(app, { application_version: version })
    const sensor = await device()
    await testEndpoints[1]!.connect(sensor)
    const { endpointsCount, configId, ...rest } = await ok(`PUT ${ecr}/endpoints/filters/${filterId}?name=n`, { n: 1 })
    assert.deepEqual([endpointsCount, rest.name, rest.config], [2, 'n', '{"n":1}'])
    assert.equal((await sensor.receives(testEndpoints[1]!.topic('/config/json/n/status'))).json.configId, configId)
    assert.equal((await admin(`GET ${testEndpoints[2]!.path}?name=n`)).status, 404)
    const later = testEndpoint({ app, version, ...(await anEndpoint(version)) })
    await eventually(async () => {
      const { body } = await admin(`GET /epr/api/v1/applications/${app}/filters/${filterId}`)
      assert.equal(body.matchedEndpointsCount, 3)
    })
    assert.equal((await admin(`GET ${later.path}?name=n`)).status, 404)
  })

  test('a filter without endpoints changes 0 endpoints; an unknown filter and a filter that the caller may not read get 404, a pending filter gets 400', async () => {
    const { app } = await aFleet()
    const filterId = await aFilter(app, { 'metadata.city': 'nowhere' })
    const put = (caller: typeof admin, id: string, body: unknown = 1) =>
      caller(`PUT ${ecr}/endpoints/filters/${id}`, body)
    assert.equal((await put(admin, filterId)).body.endpointsCount, 0)
    const missing = await put(admin, 'none')
    assert.equal(missing.status, 404)
    for (const outsider of [other, waypost.as(aCaller())])
      assert.equal((await put(outsider, filterId)).text.replace(filterId, 'none'), missing.text)
    assert.equal((await admin(`PUT ${ecr}/endpoints/filters/${filterId}`)).status, 400)
    assert.equal((await put(admin, filterId, '{')).status, 400)
    await waypost.kit.db.sql`update register.filters set status = 'pending' where filter_id = ${filterId}`
    const pending = await put(admin, filterId)
    assert.equal(pending.status, 400, pending.text)
    assert.match(pending.body.message, /filterId/)
  })

  test('a batch by a filter writes the endpoints of all versions, changes nothing if a schema of one version rejects the configuration, and keeps statuses of sent configurations', async () => {
    const { app, second, testEndpoints } = await aFleet()
    const filterId = await aFilter(app)
    const put = (value: unknown) => admin(`PUT ${ecr}/endpoints/filters/${filterId}`, value)
    const versions = { [second]: { endpointConfigurationSchema: JSON.stringify({ type: 'integer' }) } }
    const body = { ecr: { platform: { applications: { [app]: { versions } } } } }
    assert.equal((await admin(`PUT /api/v1/app-configs/applications/${app}/app-versions/${second}`, body)).status, 204)

    const rejected = await put({ text: true })
    assert.equal(rejected.status, 422, rejected.text)
    for (const { path } of testEndpoints) assert.equal((await admin(`GET ${path}`)).status, 404)

    const first = (await put(1)).body
    assert.equal(first.endpointsCount, 3)
    await testEndpoints[2]!.post('/config/json')
    await eventually(async () => assert.deepEqual(await statuses(first.configId), ['DISPATCHED', 'PENDING', 'PENDING']))
    const same = (await put(1)).body
    assert.deepEqual(same, first)
    const next = (await put(2)).body
    assert.equal(next.endpointsCount, 3)
    for (const { path } of testEndpoints) assert.equal((await ok(`GET ${path}`)).configId, next.configId)
    assert.deepEqual(await statuses(first.configId), ['DISPATCHED'])
    assert.equal((await statuses(next.configId)).length, 3)
  })

  test('a batch by a filter requires endpoint:update on every endpoint of the filter', async () => {
    const { app, testEndpoints, ids } = await aFleet()
    const filterId = await aFilter(app)
    const partly = { [`endpoint-${ids[0]}`]: ['endpoint:update'], [`application-${app}`]: ['endpoint:read'] }
    const answer = await waypost.as(aCaller({ on: partly }))(`PUT ${ecr}/endpoints/filters/${filterId}`, 1)
    assert.equal(answer.status, 403, answer.text)
    for (const { path } of testEndpoints) assert.equal((await admin(`GET ${path}`)).status, 404)
  })
})
