import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aConnection, aNetworkApi, openLorawan } from '../../../test/harness/lorawan.ts'
import { AppIntegrationChanged } from './events.ts'

const { waypost, admin, other, expectStatus, anApplication, anIntegration, setTenantStatus } = await openLorawan()
const root = '/api/v1/integrations'

suite('creating an application integration', () => {
  test('an integer that cannot be an id gets 404 like an unknown id, and any other text gets 400', async () => {
    for (const id of ['0', '-1', '2147483647', '99999999999', '99999999999999999999'])
      for (const path of [
        `integrations/${id}`,
        `integrations/1/devices/${id}`,
        `account-integrations/${id}/gateways`,
      ]) {
        assert.equal((await admin(`GET /api/v1/${path}`)).status, 404, path)
        assert.equal((await admin(`PATCH /api/v1/${path.replace(/\/gateways$/, '')}`, { name: 'x' })).status, 404, path)
      }
    assert.equal((await admin('GET /api/v1/integrations/seven')).status, 400)
  })

  test('creating an application integration returns 201 with its address and its fields, but without the key', async () => {
    const { app } = await anApplication()
    const fields = {
      ...aConnection('plant@ttn'),
      appName: app,
      netJoinServerHost: 'https://join.example.com:8443',
      netPlainMqttServerUrl: 'tcp://MQTT.example.com:1884',
      description: 'the plant',
      poolIds: ['p1', 'p2'],
    }
    const { body, headers, text } = await expectStatus(201, `POST ${root}`, {
      ...fields,
      id: 99,
      status: 'SUSPENDED',
      nonsense: 1,
    })
    const { netApiKeyId, ...shown } = fields
    const states = { netConnectionState: 'DISCONNECTED', platformConnectionState: 'CONNECTED', status: 'ACTIVE' }
    assert.deepEqual(body, { ...shown, ...states, id: body.id })
    assert.ok(!text.includes(netApiKeyId))
    assert.match(headers.location!, new RegExp(`/api/v1/integrations/${body.id}$`))
    const [row] = await waypost.kit.db.sql`select net_api_key from lorawan.app_integrations where id = ${body.id}`
    assert.ok(!JSON.stringify(row).includes(netApiKeyId), 'the stored key must be sealed')
    for (const alias of ['/netc/api/v1', '/ttnc/api/v1'])
      assert.equal((await expectStatus(200, `GET ${alias}/integrations/${body.id}`)).body.id, body.id)
  })

  const cases: [field: string, fields: object][] = [
    ['appName', { appName: 'no-such-application' }],
    ['appName', { appName: undefined }],
    ['netUsername', { netUsername: 'a/b' }],
    ['netUsername', { netUsername: 'a+b' }],
    ['netUsername', { netUsername: '' }],
    ['netApiKeyId', { netApiKeyId: undefined }],
    ['netApiKeyId', { netApiKeyId: 'a\r\nx-evil: 1' }],
    ['netIdentityServerHost', { netIdentityServerHost: undefined }],
    ['netIdentityServerHost', { netIdentityServerHost: 'host/path' }],
    ['netIdentityServerHost', { netIdentityServerHost: 'ftp://host' }],
    ['netIdentityServerHost', { netIdentityServerHost: 'user:pass@host' }],
    ['netIdentityServerHost', { netIdentityServerHost: 'https://host/?a=1' }],
    ['netJoinServerHost', { netJoinServerHost: 'two hosts' }],
    ['netPlainMqttServerUrl', { netMqttIntegrationEnabled: true }],
    ['netPlainMqttServerUrl', { netPlainMqttServerUrl: 'http://host' }],
    ['netPlainMqttServerUrl', { netPlainMqttServerUrl: 'host' }],
    ['netPlainMqttServerUrl', { netPlainMqttServerUrl: 'mqtt://host/topic' }],
    ['netPlainMqttServerUrl', { netPlainMqttServerUrl: 'mqtt://host:99999' }],
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(256) }],
    ['description', { description: 'x'.repeat(4001) }],
    ['poolIds', { poolIds: 'p' }],
  ]
  for (const [field, fields] of cases)
    test(`creating an application integration with ${JSON.stringify(fields).slice(0, 60)} gets 400 with the field ${field}`, async () => {
      const { app } = await anApplication()
      const { body } = await expectStatus(400, `POST ${root}`, { ...aConnection(), appName: app, ...fields })
      assert.match(body.message, new RegExp(`\\b${field}\\b`))
    })

  test('creating an application integration answers 409 if the tenant already uses the application, or the user name on the same identity server', async () => {
    const first = await anIntegration({ netIdentityServerHost: 'https://EU1.example.com' })
    const again = await expectStatus(409, `POST ${root}`, { ...aConnection(), appName: first.app })
    assert.match(again.body.message, /appName/)
    const { app } = await anApplication()
    const taken = { ...aConnection(first.netUsername), appName: app }
    assert.match((await expectStatus(409, `POST ${root}`, taken)).body.message, /netUsername/)
    await expectStatus(201, `POST ${root}`, { ...taken, netIdentityServerHost: 'eu2.example.com' })
    const theirs = await anApplication(['v1'], other)
    await expectStatus(201, `POST ${root}`, { ...taken, appName: theirs.app }, other)
  })

  test('creating an application integration needs the scope on the application; an application that the caller may not read gets the error for an unknown application', async () => {
    const { app } = await anApplication()
    const create = { ...aConnection(), appName: app }
    await expectStatus(403, `POST ${root}`, create, waypost.as(aCaller()))
    const onOtherResource = aCaller({ on: { 'application-other': ['application:net-app-integration:create'] } })
    await expectStatus(400, `POST ${root}`, create, waypost.as(onOtherResource))
    const creator = aCaller({ on: { [`application-${app}`]: ['application:net-app-integration:create'] } })
    await expectStatus(201, `POST ${root}`, create, waypost.as(creator))
  })
})

suite('without permission to call private addresses', async () => {
  const guarded = await openLorawan({ environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'off' } })
  const cases: [field: string, value: string][] = [
    ['netIdentityServerHost', '127.0.0.1'],
    ['netIdentityServerHost', 'localhost:8443'],
    ['netIdentityServerHost', 'http://example.com'],
    ['netJoinServerHost', '169.254.169.254'],
    ['netPlainMqttServerUrl', 'mqtt://10.0.0.1'],
    ['netPlainMqttServerUrl', 'mqtts://[::1]:8883'],
    ['netPlainMqttServerUrl', '192.168.1.1:1883'],
  ]
  for (const [field, value] of cases)
    test(`an integration with the ${field} ${value} is rejected`, async () => {
      const { app } = await guarded.anApplication()
      const { body } = await guarded.expectStatus(400, `POST ${root}`, {
        ...aConnection(),
        appName: app,
        [field]: value,
      })
      assert.match(body.message, new RegExp(field))
    })
})

suite('reading and changing', () => {
  test('a list shows active integrations that the caller may read, and filters by application and status', async () => {
    const [a, b] = [await anIntegration(), await anIntegration()]
    await expectStatus(204, `PUT ${b.path}/status`, { status: 'SUSPENDED' })
    const idsOf = async (query: string, ask = admin) =>
      (await expectStatus(200, `GET ${root}${query}`, undefined, ask)).body.content.map(({ id }: { id: number }) => id)
    assert.ok((await idsOf('')).includes(a.id))
    assert.ok(!(await idsOf('')).includes(b.id))
    assert.deepEqual(await idsOf(`?appName=${b.app}&status=SUSPENDED`), [b.id])
    assert.deepEqual(await idsOf(`?appName=${b.app}`), [])
    await expectStatus(400, `GET ${root}?status=BROKEN`)
    const reader = waypost.as(aCaller({ on: { [`application-${a.app}`]: ['net-app-integration:read'] } }))
    assert.deepEqual(await idsOf('', reader), [a.id])
    const ofOne = waypost.as(aCaller({ on: { [`net-app-integration-${a.id}`]: ['net-app-integration:read'] } }))
    assert.deepEqual(await idsOf('', ofOne), [a.id])
    assert.deepEqual(await idsOf('', waypost.as(aCaller())), [])
    assert.deepEqual(
      (await idsOf('', other)).filter((id: number) => id === a.id),
      [],
    )
  })

  test('a caller of another tenant gets 404, and a caller who may only read gets 403 for changes', async () => {
    const { path, app } = await anIntegration()
    for (const operation of [`GET ${path}`, `DELETE ${path}`, `GET ${path}/net-devices`, `GET ${path}/devices`])
      assert.equal((await other(operation)).status, 404, operation)
    assert.equal((await other(`PATCH ${path}`, { name: 'x' })).status, 404)
    assert.equal((await other(`PUT ${path}/status`, { status: 'ACTIVE' })).status, 404)
    assert.equal((await admin(`GET ${root}/2000000000`)).status, 404)
    const reader = waypost.as(aCaller({ on: { [`application-${app}`]: ['net-app-integration:read'] } }))
    assert.equal((await reader(`GET ${path}`)).status, 200)
    assert.equal((await reader(`DELETE ${path}`)).status, 403)
    assert.equal((await reader(`PATCH ${path}`, { name: 'x' })).status, 403)
  })

  test('a read with the ETag of an integration gets 304, and a change with an old ETag gets 412', async () => {
    const { path } = await anIntegration()
    const { etag } = (await expectStatus(200, `GET ${path}`)).headers
    assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': etag! })).status, 304)
    assert.equal((await admin(`PATCH ${path}`, { name: 'x' }, { 'if-match': '"old"' })).status, 412)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': '"old"' })).status, 412)
    const changed = await admin(`PATCH ${path}`, { name: 'new', description: 'd' }, { 'if-match': etag! })
    assert.deepEqual([changed.status, changed.body.name, changed.body.description], [200, 'new', 'd'])
    const now = await expectStatus(200, `GET ${path}`)
    assert.equal(now.headers.etag, changed.headers.etag)
    assert.notEqual(now.headers.etag, etag)
    assert.equal((await admin(`PATCH ${path}`, { name: 'y' }, { 'if-match': '' })).status, 200)
    await expectStatus(400, `PATCH ${path}`, { name: 5 })
    const ignored = await expectStatus(200, `PATCH ${path}`, { netUsername: 'other@ttn', status: 'SUSPENDED' })
    assert.equal(ignored.body.status, 'ACTIVE')
    assert.equal(ignored.body.netUsername, now.body.netUsername)
  })

  test('the same status can be set again; an unknown status gets 400', async () => {
    const { path } = await anIntegration()
    for (const status of ['SUSPENDED', 'SUSPENDED', 'ACTIVE']) await expectStatus(204, `PUT ${path}/status`, { status })
    for (const body of [{ status: 'OFF' }, {}, { status: null }]) await expectStatus(400, `PUT ${path}/status`, body)
  })

  test('the connection state of the platform is DISCONNECTED while the tenant is not available', async () => {
    const { path } = await anIntegration()
    await setTenantStatus('default', 'SUSPENDED')
    const { body } = await expectStatus(200, `GET ${path}`)
    await setTenantStatus('default', 'AVAILABLE')
    assert.equal(body.platformConnectionState, 'DISCONNECTED')
    assert.match(body.platformConnectionError, /SUSPENDED/)
    assert.equal((await expectStatus(200, `GET ${path}`)).body.platformConnectionState, 'CONNECTED')
  })

  test('the error of a stored address that is not valid is written once, not again with each check of the session', async () => {
    const { bus, db } = waypost.kit
    const [faulty, next] = [await anIntegration(), await anIntegration()]
    const writesOf = async (id: number) =>
      (await db.sql`select error, xmin::text as write from lorawan.sessions where app_integration_id = ${id}`)[0]!
    /** Stores an address past the checks of the API, and waits until the session has reported it. */
    const untilReported = async ({ id }: { id: number }, checked: number[]) => {
      await db.sql`
        update lorawan.app_integrations set net_mqtt_integration_enabled = true, net_plain_mqtt_server_url = 'none'
        where id = ${id}`
      for (const appIntegrationId of [...checked, id])
        await db.tx((sql) => bus.publish(sql, AppIntegrationChanged, { tenantId: 'default', appIntegrationId }))
      await eventually(async () => assert.match((await writesOf(id)).error ?? '', /^netPlainMqttServerUrl: expected/))
    }
    await untilReported(faulty, [])
    const written = await writesOf(faulty.id)
    await untilReported(next, [faulty.id])
    assert.deepEqual(await writesOf(faulty.id), written)
    await setTenantStatus('default', 'SUSPENDED')
    await eventually(async () => assert.equal((await writesOf(faulty.id)).error, null))
    await setTenantStatus('default', 'AVAILABLE')
    await eventually(async () => assert.equal((await writesOf(faulty.id)).error, written.error))
  })

  test('an integration with devices cannot be deleted; an integration is deleted together with its application', async () => {
    const used = await anIntegration()
    await used.map([{ netDeviceId: 'a' }])
    assert.match((await expectStatus(409, `DELETE ${used.path}`)).body.message, /device integrations/)
    const { path, app } = await anIntegration()
    await expectStatus(204, `DELETE /api/v1/applications/${app}`)
    await eventually(async () => assert.equal((await admin(`GET ${path}`)).status, 404))
    const third = await anIntegration()
    await expectStatus(204, `DELETE ${third.path}`)
    await expectStatus(404, `DELETE ${third.path}`)
  })
})

suite('devices of the network', () => {
  const devices = [
    { ids: { device_id: 'dev-1', dev_eui: '70B3D57ED0000001', application_ids: { application_id: 'x' } }, name: 'One' },
    { ids: { device_id: 'dev-2' } },
    { ids: {} },
  ]

  test('devices of the network without a device integration are listed', async () => {
    const network = await aNetworkApi(() => ({ body: { end_devices: devices } }))
    const { path, map } = await anIntegration({ netIdentityServerHost: network.host, netUsername: 'farm@tenant' })
    const { body } = await expectStatus(200, `GET ${path}/net-devices`)
    const listed = [{ netDeviceId: 'dev-1', name: 'One', devEui: '70B3D57ED0000001' }, { netDeviceId: 'dev-2' }]
    assert.deepEqual(body, { totalElements: 2, content: listed })
    await map([{ netDeviceId: 'dev-1' }])
    assert.deepEqual((await expectStatus(200, `GET ${path}/net-devices`)).body.content, [{ netDeviceId: 'dev-2' }])
    const [request] = network.requests
    assert.equal(request!.authorization, 'Bearer NNSXS.SECRET-KEY.ABCDEF')
    assert.match(request!.path, /^\/api\/v3\/applications\/farm\/devices(\?|$)/)
  })

  test('the platform reads a long list of devices of the network page by page', async () => {
    const network = await aNetworkApi(({ path }) => {
      const page = Number(new URL(path, 'http://x').searchParams.get('page') ?? 1)
      const length = page < 3 ? 1000 : 5
      return { body: { end_devices: Array.from({ length }, (_, n) => ({ ids: { device_id: `d${page}-${n}` } })) } }
    })
    const { path } = await anIntegration({ netIdentityServerHost: network.host })
    assert.equal((await expectStatus(200, `GET ${path}/net-devices`)).body.totalElements, 2005)
  })

  test('a network that rejects query parameters gets requests without them', async () => {
    const network = await aNetworkApi(({ path }) =>
      path.includes('?') ? { status: 400 } : { body: { end_devices: devices } },
    )
    const { path } = await anIntegration({ netIdentityServerHost: network.host })
    assert.equal((await expectStatus(200, `GET ${path}/net-devices`)).body.totalElements, 2)
  })

  const key = 'NNSXS.SECRET-KEY.ABCDEF'
  const failures: [what: string, answer: Parameters<typeof aNetworkApi>[0], message: RegExp][] = [
    ['refuses the key', () => ({ status: 401, body: { message: `no ${key}` } }), /refuses the API key/],
    ['fails', () => ({ status: 500 }), /500/],
    ['redirects', () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } }), /redirects/],
    ['sends no JSON', () => ({ text: 'hello' }), /JSON/],
    ['sends another shape', () => ({ body: { end_devices: 5 } }), /end_devices/],
  ]
  for (const [what, answer, message] of failures)
    test(`if the network ${what}, the request gets 502`, async () => {
      const { path } = await anIntegration({ netIdentityServerHost: (await aNetworkApi(answer)).host })
      const { body, text } = await expectStatus(502, `GET ${path}/net-devices`)
      assert.match(body.message, message)
      assert.ok(!text.includes(key))
    })

  test('a request gets 502 after 10 seconds if the network does not respond, and immediately if the network is unreachable', async () => {
    const silent = await aNetworkApi(() => 'never')
    const unreachable = await anIntegration({ netIdentityServerHost: 'http://127.0.0.1:1' })
    assert.match((await expectStatus(502, `GET ${unreachable.path}/net-devices`)).body.message, /cannot be reached/)
    const { path } = await anIntegration({ netIdentityServerHost: silent.host })
    assert.match((await expectStatus(502, `GET ${path}/net-devices`)).body.message, /within 10 s/)
  })
})
