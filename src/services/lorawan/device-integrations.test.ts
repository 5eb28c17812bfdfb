import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openLorawan } from '../../../test/harness/lorawan.ts'

const { waypost, admin, other, expectStatus, anApplication, anEndpoint, anIntegration } = await openLorawan()
const endpoints = '/epr/api/v1/endpoints'
const codec = 'function decodeUplink(input) { return { data: { t: input.bytes[0] } } }'

suite('creating device integrations', () => {
  test('creating device integrations registers an endpoint for each device, with metadata, relations and pools', async () => {
    const { path, version } = await anIntegration()
    const { endpointId: parent } = await anEndpoint(version)
    const device = {
      netDeviceId: 'dev-1',
      name: 'Cellar',
      description: 'behind the door',
      endpointMetadata: { floor: -1, __proto__: undefined },
      endpointRelations: [{ type: 'contains', from: parent }],
      formatter: codec,
      downlinkFPort: 7,
      downlinkConfirmed: true,
    }
    const answer = await expectStatus(201, `POST ${path}/devices`, {
      appVersionName: version,
      devices: [device],
      poolIds: ['p'],
    })
    const [created] = answer.body.created
    assert.deepEqual([answer.body.createdCount, answer.body.failedCount, answer.body.failed], [1, 0, []])
    const statistics = { received: 0, stored: 0, duplicates: 0, dropped: 0 }
    const fixed = { appVersionName: version, poolIds: ['p'], status: 'ACTIVE', statistics }
    const { id, endpointId } = created
    assert.deepEqual(created, { ...device, endpointMetadata: { floor: -1 }, ...fixed, id, endpointId })
    const endpoint = (await expectStatus(200, `GET ${endpoints}/${endpointId}?include=metadata`)).body
    assert.deepEqual([endpoint.poolIds, endpoint.appVersion.name], [['p'], version])
    assert.equal((await expectStatus(200, `GET ${endpoints}/${endpointId}/metadata`)).body.floor, -1)
    const { body } = await expectStatus(200, `GET ${endpoints}/${parent}/relations?relation=contains`)
    assert.equal(body.content[0].to, endpointId)
    const single = (await expectStatus(200, path.replace(/^/, 'GET '))).body
    const shown = { appVersionName: version, netDeviceId: 'dev-1', name: 'Cellar', description: 'behind the door' }
    assert.deepEqual(single.devices, [{ id, endpointId, ...shown, status: 'ACTIVE' }])
  })

  test('a device that already has an integration, or occurs twice in the request, fails, and the other devices are created', async () => {
    const { path, version, map } = await anIntegration()
    await map([{ netDeviceId: 'a' }])
    const devices = ['a', 'b', 'c', 'b'].map((netDeviceId) => ({ netDeviceId, name: netDeviceId }))
    const { body } = await expectStatus(201, `POST ${path}/devices`, { appVersionName: version, devices })
    assert.deepEqual(
      body.created.map((device: { netDeviceId: string }) => device.netDeviceId),
      ['b', 'c'],
    )
    assert.deepEqual(
      body.failed.map((device: { netDeviceId: string }) => device.netDeviceId),
      ['a', 'b'],
    )
    assert.match(body.failed[0].reason, /already/)
    assert.deepEqual([body.createdCount, body.failedCount], [2, 2])
    const otherIntegration = await anIntegration()
    await otherIntegration.map([{ netDeviceId: 'a' }])
  })

  test('a request can create a thousand devices; a request with more devices gets 400', async () => {
    const { path, version } = await anIntegration()
    const devices = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ netDeviceId: `d${n}`, name: 'd', formatter: codec }))
    assert.match(
      (await expectStatus(400, `POST ${path}/devices`, { appVersionName: version, devices: devices(1001) })).body
        .message,
      /devices/,
    )
    assert.equal(
      (await expectStatus(201, `POST ${path}/devices`, { appVersionName: version, devices: devices(1000) })).body
        .createdCount,
      1000,
    )
  })

  const cases: [field: RegExp, device: object][] = [
    [/netDeviceId/, { netDeviceId: 'UPPER' }],
    [/netDeviceId/, { netDeviceId: '-a' }],
    [/netDeviceId/, { netDeviceId: 'x'.repeat(65) }],
    [/name/, { name: undefined }],
    [/endpointMetadata/, { endpointMetadata: { 'not a key': 1 } }],
    [/endpointMetadata/, { endpointMetadata: [1] }],
    [/endpointRelations/, { endpointRelations: [{ type: 'owns', from: 'x' }] }],
    [/endpointRelations: .*exactly one/, { endpointRelations: [{ type: 'contains', from: 'x', to: 'y' }] }],
    [/formatter: line 1/, { formatter: 'function decodeUplink(input) {' }],
    [/formatter: .*decodeUplink or encodeDownlink/, { formatter: 'var x = 1' }],
    [/formatter: .*return/, { formatter: `${codec}; return 5` }],
    [/formatter/, { formatter: 'throw new Error("no")' }],
    [/formatter/, { formatter: 'for (;;) {}' }],
    [/formatter/, { formatter: 'x'.repeat(65_001) }],
    [/downlinkFPort/, { downlinkFPort: 0 }],
    [/downlinkFPort/, { downlinkFPort: 224 }],
    [/downlinkConfirmed/, { downlinkConfirmed: 'yes' }],
  ]
  for (const [field, device] of cases)
    test(`a request with the device ${JSON.stringify(device).slice(0, 70)} gets 400 and creates nothing`, async () => {
      const { path, version } = await anIntegration()
      const devices = [
        { netDeviceId: 'fine', name: 'fine' },
        { netDeviceId: 'a', name: 'a', ...device },
      ]
      assert.match(
        (await expectStatus(400, `POST ${path}/devices`, { appVersionName: version, devices })).body.message,
        field,
      )
      assert.deepEqual((await expectStatus(200, `GET ${path}/devices`)).body, { totalElements: 0, content: [] })
    })

  test('a version of another application gets 400, and an unknown endpoint in a relation gets 404; no endpoint is registered', async () => {
    const { path, version, app } = await anIntegration()
    const { version: foreign } = await anApplication()
    const devices = [{ netDeviceId: 'a', name: 'a' }]
    for (const appVersionName of [foreign, 'no-such-version', ''])
      assert.match(
        (await expectStatus(400, `POST ${path}/devices`, { appVersionName, devices })).body.message,
        /appVersionName/,
      )
    const related = [{ ...devices[0], endpointRelations: [{ type: 'contains', to: crypto.randomUUID() }] }]
    await expectStatus(404, `POST ${path}/devices`, { appVersionName: version, devices: related })
    const twoEnds = [
      devices[0],
      { netDeviceId: 'b', name: 'b', endpointRelations: [{ type: 'contains', from: 'x', to: 'y' }] },
    ]
    const refused = await expectStatus(400, `POST ${path}/devices`, { appVersionName: version, devices: twoEnds })
    assert.match(refused.body.message, /^devices\.1\.endpointRelations: expected exactly one of/)
    await expectStatus(400, `POST ${path}/devices`, { appVersionName: version, devices: [] })
    assert.equal((await expectStatus(200, `GET ${endpoints}?applicationName=${app}`)).body.totalElements, 0)
  })

  test('a caller needs only the scope on the integration, and may then read the created devices and endpoints', async () => {
    const { path, version, app } = await anIntegration()
    const body = { appVersionName: version, devices: [{ netDeviceId: 'a', name: 'a' }] }
    assert.equal((await other(`POST ${path}/devices`, body)).status, 404)
    const scopes = ['net-app-integration:read']
    const reader = aCaller({ on: { [`application-${app}`]: scopes } })
    assert.equal((await waypost.as(reader)(`POST ${path}/devices`, body)).status, 403)
    const creator = aCaller({
      on: { [`application-${app}`]: [...scopes, 'net-app-integration:net-device-integration:create'] },
    })
    assert.equal((await waypost.as(creator)(`POST ${path}/devices`, body)).status, 201)
  })
})

suite('reading, changing and deleting', () => {
  test('a list filters by status, version, id and part of the name', async () => {
    const { path, version, map } = await anIntegration()
    const [a] = await map([
      { netDeviceId: 'a', name: '100% Roof_A' },
      { netDeviceId: 'b', name: 'Cellar' },
    ])
    await expectStatus(204, `PUT ${path}/devices/${a.id}/status`, { status: 'SUSPENDED' })
    const idsOf = async (query: string) => {
      const { body } = await expectStatus(200, `GET ${path}/devices${query}`)
      return body.content.map((device: { netDeviceId: string }) => device.netDeviceId)
    }
    assert.deepEqual(await idsOf(''), ['b'])
    assert.deepEqual(await idsOf('?status=SUSPENDED'), ['a'])
    await expectStatus(204, `PUT ${path}/devices/${a.id}/status`, { status: 'ACTIVE' })
    assert.deepEqual(await idsOf('?name=roof_'), ['a'])
    assert.deepEqual(await idsOf('?name=%25'), ['a'])
    assert.deepEqual(await idsOf('?netDeviceId=b'), ['b'])
    assert.deepEqual(await idsOf(`?appVersionName=${version}&offset=1`), ['b'])
    assert.deepEqual(await idsOf('?appVersionName=other'), [])
    assert.deepEqual(await idsOf('?limit=1'), ['a'])
    await expectStatus(400, `GET ${path}/devices?limit=-1`)
    await expectStatus(400, `GET ${path}/devices?status=x`)
  })

  test('a change of a device with an old ETag gets 412; PATCH checks the formatter, and an empty text removes the formatter', async () => {
    const { path, map } = await anIntegration()
    const [device] = await map([{ netDeviceId: 'a', formatter: codec }])
    const devicePath = `${path}/devices/${device.id}`
    const { etag } = (await expectStatus(200, `GET ${devicePath}`)).headers
    assert.equal((await admin(`GET ${devicePath}`, undefined, { 'if-none-match': etag! })).status, 304)
    assert.equal((await admin(`PATCH ${devicePath}`, { name: 'x' }, { 'if-match': '"old"' })).status, 412)
    assert.equal((await admin(`DELETE ${devicePath}`, undefined, { 'if-match': '"old"' })).status, 412)
    assert.match(
      (await expectStatus(400, `PATCH ${devicePath}`, { formatter: 'function (' })).body.message,
      /formatter: line 1/,
    )
    const changed = await admin(
      `PATCH ${devicePath}`,
      { formatter: '', downlinkFPort: 9, netDeviceId: 'b' },
      { 'if-match': etag! },
    )
    assert.deepEqual([changed.status, changed.body.formatter, changed.body.downlinkFPort], [200, undefined, 9])
    assert.equal(changed.body.netDeviceId, 'a')
    assert.notEqual((await expectStatus(200, `GET ${devicePath}`)).headers.etag, etag)
    assert.equal((await other(`GET ${devicePath}`)).status, 404)
    assert.equal((await other(`PATCH ${devicePath}`, { name: 'x' })).status, 404)
    const otherIntegration = await anIntegration()
    assert.equal((await admin(`GET ${otherIntegration.path}/devices/${device.id}`)).status, 404)
  })

  test('the ETag of an application integration changes when a device integration is created in it', async () => {
    const { path, map } = await anIntegration()
    const before = (await expectStatus(200, `GET ${path}`)).headers.etag
    await map([{ netDeviceId: 'a' }])
    assert.notEqual((await expectStatus(200, `GET ${path}`)).headers.etag, before)
  })

  test('when a device integration is deleted, its endpoint is kept, except if the request also asks to delete the endpoint', async () => {
    const { path, map } = await anIntegration()
    const [a, b] = await map([{ netDeviceId: 'a' }, { netDeviceId: 'b' }])
    await expectStatus(204, `DELETE ${path}/devices/${a.id}`)
    await expectStatus(404, `DELETE ${path}/devices/${a.id}`)
    assert.equal((await admin(`GET ${endpoints}/${a.endpointId}`)).status, 200)
    await expectStatus(204, `DELETE ${path}/devices/${b.id}?deleteEndpoint=true`)
    const waiting = await waypost.kit.db.sql`
      select from kernel.outbox where event = 'register.endpoint.unregistered' and payload->'endpointIds' ? ${b.endpointId}::text`
    assert.equal(waiting.length, 0, 'the other services must have deleted their data before the response')
    assert.equal((await admin(`GET ${endpoints}/${b.endpointId}`)).status, 404)
    await expectStatus(204, `DELETE ${path}`)
  })

  test('a device integration is deleted with its endpoint, and has the new version when its endpoint moves to another version', async () => {
    const { path, app, map } = await anIntegration()
    const [a, b] = await map([{ netDeviceId: 'a' }, { netDeviceId: 'b' }])
    // The creation time is in the future, as if the clock of the node that created the device integration were ahead.
    await waypost.kit.db.sql`
      update lorawan.device_integrations set created_at = created_at + interval '1 hour' where endpoint_id = ${a.endpointId}`
    await expectStatus(204, `DELETE ${endpoints}/${a.endpointId}`)
    await eventually(async () => assert.equal((await admin(`GET ${path}/devices/${a.id}`)).status, 404))
    await expectStatus(201, `POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v2' })
    await expectStatus(204, `PUT ${endpoints}/${b.endpointId}/app-version`, { name: `${app}-v2` })
    await eventually(async () =>
      assert.equal((await expectStatus(200, `GET ${path}/devices/${b.id}`)).body.appVersionName, `${app}-v2`),
    )
  })
})
