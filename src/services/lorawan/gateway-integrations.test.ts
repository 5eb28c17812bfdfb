import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aConnection, aNetworkApi, openLorawan } from '../../../test/harness/lorawan.ts'
import { TenantDeleted } from '../tenants/events.ts'

const { waypost, admin, other, expectStatus, anApplication } = await openLorawan()
const root = '/api/v1/account-integrations'
const endpoints = '/epr/api/v1/endpoints'

const info = {
  netGatewayEui: 'B827EBFFFE00AB12',
  frequencyPlanId: 'EU_863_870_TTN',
  gatewayServerAddress: 'eu1.example.com',
}

async function anAccount(fields: object = {}, ask = admin) {
  const { body } = await expectStatus(201, `POST ${root}`, { ...aConnection(), ...fields }, ask)
  const { version } = await anApplication(['v1'], ask)
  const path = `${root}/${body.id}`
  const link = async (gateways: object[], more: object = {}) =>
    (await expectStatus(201, `POST ${path}/gateways`, { appVersionName: version, gateways, ...more }, ask)).body
  return { path, version, account: body, link }
}
const idsOf = (gateways: { netGatewayId: string }[]) => gateways.map(({ netGatewayId }) => netGatewayId)

suite('account integrations', () => {
  test('account integrations store the MQTT fields but do not use them, so the MQTT URL is optional', async () => {
    const { netMqttIntegrationEnabled: _, ...connection } = aConnection()
    const created = (await expectStatus(201, `POST ${root}`, connection)).body
    assert.deepEqual([created.netMqttIntegrationEnabled, created.netPlainMqttServerUrl], [true, undefined])
    await expectStatus(200, `GET ${root}/${created.id}`)
    await expectStatus(400, `POST ${root}`, { ...aConnection(), netPlainMqttServerUrl: 'ftp://x' })
  })

  test('account integrations can be created, read, changed, suspended and deleted, and other tenants cannot see them', async () => {
    const { path, account } = await anAccount({ description: 'd' })
    assert.deepEqual([account.status, account.description, 'netApiKeyId' in account], ['ACTIVE', 'd', false])
    const { etag } = (await expectStatus(200, `GET ${path}`)).headers
    assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': etag! })).status, 304)
    assert.equal((await admin(`PATCH ${path}`, { name: 'x' }, { 'if-match': '"old"' })).status, 412)
    assert.equal((await expectStatus(200, `PATCH ${path}`, { name: 'x', netApiKeyId: 'other' })).body.name, 'x')
    await expectStatus(204, `PUT ${path}/status`, { status: 'SUSPENDED' })
    const listed = async (query = '') => idsIn((await expectStatus(200, `GET ${root}${query}`)).body.content)
    const idsIn = (content: { id: number }[]) => content.map(({ id }) => id)
    assert.ok(!(await listed()).includes(account.id))
    assert.ok((await listed('?status=SUSPENDED')).includes(account.id))
    for (const operation of [`GET ${path}`, `DELETE ${path}`, `GET ${path}/gateways`])
      assert.equal((await other(operation)).status, 404, operation)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': '"old"' })).status, 412)
    await expectStatus(204, `DELETE ${path}`)
    await expectStatus(404, `GET ${path}`)
  })

  test('account integrations need the scope on the tenant, and a user name that is new for the tenant and the identity server', async () => {
    const caller = aCaller({ on: { 'tenant-system': ['tenant:net-account-integration:create'] } })
    await expectStatus(403, `POST ${root}`, aConnection(), waypost.as(aCaller()))
    const connection = aConnection()
    await expectStatus(201, `POST ${root}`, connection, waypost.as(caller))
    assert.match((await expectStatus(409, `POST ${root}`, connection)).body.message, /netUsername/)
    await expectStatus(201, `POST ${root}`, connection, other)
    assert.match(
      (await expectStatus(400, `POST ${root}`, { ...connection, netIdentityServerHost: 'a b' })).body.message,
      /netIdentityServerHost/,
    )
    assert.match(
      (await expectStatus(400, `POST ${root}`, { ...connection, netMqttIntegrationEnabled: true })).body.message,
      /netPlainMqttServerUrl/,
    )
  })
})

suite('gateway integrations', () => {
  test('gateway integrations register an endpoint, and store the given fields with defaults', async () => {
    const { path, version, link } = await anAccount()
    const gateway = { netGatewayId: 'roof-1', name: 'Roof', endpointMetadata: { floor: 5 }, netGatewayInfo: info }
    const { created, createdCount, failedCount } = await link([gateway], { poolIds: ['p'] })
    const defaults = { statusPublic: false, locationPublic: false, enforceDutyCycle: true, scheduleAnytimeDelay: 0.53 }
    const { id, endpointId } = created[0]
    const fixed = {
      appVersionName: version,
      poolIds: ['p'],
      status: 'ACTIVE',
      netGatewayInfo: { ...info, ...defaults },
    }
    assert.deepEqual([createdCount, failedCount, created], [1, 0, [{ ...gateway, ...fixed, id, endpointId }]])
    assert.equal((await expectStatus(200, `GET ${endpoints}/${endpointId}/metadata`)).body.floor, 5)
    const gatewayPath = `${path}/gateways/${id}`
    const { etag } = (await expectStatus(200, `GET ${gatewayPath}`)).headers
    assert.equal((await admin(`GET ${gatewayPath}`, undefined, { 'if-none-match': etag! })).status, 304)
    assert.equal((await admin(`PATCH ${gatewayPath}`, { name: 'x' }, { 'if-match': '"old"' })).status, 412)
    const changed = await admin(`PATCH ${gatewayPath}`, { name: 'New', netGatewayId: 'other' }, { 'if-match': etag! })
    assert.deepEqual([changed.status, changed.body.name, changed.body.netGatewayId], [200, 'New', 'roof-1'])
    assert.equal((await expectStatus(200, `GET ${gatewayPath}`)).headers.etag, changed.headers.etag)
    assert.equal((await other(`GET ${gatewayPath}`)).status, 404)
    await expectStatus(204, `PUT ${gatewayPath}/status`, { status: 'SUSPENDED' })
    assert.deepEqual((await expectStatus(200, `GET ${path}/gateways`)).body, { totalElements: 0, content: [] })
    assert.equal((await expectStatus(200, `GET ${path}/gateways?status=SUSPENDED&name=new`)).body.totalElements, 1)
    assert.match((await expectStatus(409, `DELETE ${path}`)).body.message, /gateway/)
    await expectStatus(204, `DELETE ${gatewayPath}?deleteEndpoint=true`)
    const waiting = await waypost.kit.db.sql`
      select from kernel.outbox where event = 'register.endpoint.unregistered' and payload->'endpointIds' ? ${endpointId}::text`
    assert.equal(waiting.length, 0, 'the other services must have deleted their data before the response')
    await expectStatus(404, `GET ${endpoints}/${endpointId}`)
  })

  test('gateway integrations are unique within tenant and identity server', async () => {
    const [a, b] = [await anAccount(), await anAccount()]
    await a.link([{ netGatewayId: 'g1', name: 'g' }])
    const { created, failed } = await b.link(['g1', 'g2', 'g2'].map((netGatewayId) => ({ netGatewayId, name: 'g' })))
    assert.deepEqual([idsOf(created), idsOf(failed)], [['g2'], ['g1', 'g2']])
    const otherAccount = await anAccount({ netIdentityServerHost: 'nam1.example.com' })
    await otherAccount.link([{ netGatewayId: 'g1', name: 'g' }])
    const theirs = await anAccount({}, other)
    await theirs.link([{ netGatewayId: 'g1', name: 'g' }])
  })

  const cases: [field: RegExp, gateway: object][] = [
    [/netGatewayId/, { netGatewayId: 'A' }],
    [/name/, { name: '' }],
    [/netGatewayEui/, { netGatewayInfo: { ...info, netGatewayEui: '123' } }],
    [/frequencyPlanId/, { netGatewayInfo: { ...info, frequencyPlanId: undefined } }],
    [/gatewayServerAddress/, { netGatewayInfo: { ...info, gatewayServerAddress: undefined } }],
    [/scheduleAnytimeDelay/, { netGatewayInfo: { ...info, scheduleAnytimeDelay: 'soon' } }],
    [/netGatewayInfo/, { netGatewayInfo: undefined }],
    [/endpointMetadata/, { endpointMetadata: { 'not a key': 1 } }],
    [/endpointRelations: .*exactly one/, { endpointRelations: [{ type: 'contains', from: 'x', to: 'y' }] }],
    [/no endpoint/, { endpointRelations: [{ type: 'contains', from: 'no-such-endpoint' }] }],
  ]
  for (const [field, gateway] of cases)
    test(`the gateway ${JSON.stringify(gateway).slice(0, 70)} is rejected before the network registers it`, async () => {
      const network = await aNetworkApi(() => ({}))
      const { path, version } = await anAccount({ netIdentityServerHost: network.host })
      const gateways = [{ netGatewayId: 'a', name: 'a', netGatewayInfo: info, ...gateway }]
      const body = { appVersionName: version, registerGatewaysOnNet: true, gateways }
      const status = field.source === 'no endpoint' ? 404 : 400
      assert.match((await expectStatus(status, `POST ${path}/gateways`, body)).body.message, field)
      assert.deepEqual(network.requests, [])
    })

  test('gateway integrations are registered in the network first; a gateway that the network rejects does not affect other gateways', async () => {
    const network = await aNetworkApi(({ body }) =>
      body.gateway.ids.gateway_id === 'taken' ? { status: 409, body: { message: 'gateway ID already taken' } } : {},
    )
    const { link, account } = await anAccount({ netIdentityServerHost: network.host })
    const gateways = ['g1', 'taken', 'g3'].map((netGatewayId) => ({ netGatewayId, name: 'Roof', netGatewayInfo: info }))
    const { created, failed } = await link(gateways, { registerGatewaysOnNet: true })
    assert.deepEqual([idsOf(created), idsOf(failed)], [['g1', 'g3'], ['taken']])
    assert.match(failed[0].reason, /409.*already taken/)
    const request = network.requests.find(({ body }) => body.gateway.ids.gateway_id === 'g1')!
    assert.equal(
      `${request.method} ${request.path}`,
      `POST /api/v3/users/${encodeURIComponent(account.netUsername)}/gateways`,
    )
    assert.equal(request.authorization, 'Bearer NNSXS.SECRET-KEY.ABCDEF')
    assert.deepEqual(request.body.gateway.ids, { gateway_id: 'g1', eui: info.netGatewayEui })
    assert.equal(request.body.gateway.schedule_anytime_delay, '0.53s')
  })

  test('gateway integrations of an unreachable network fail with the reason, without an attempt for each gateway', async () => {
    const { link } = await anAccount({ netIdentityServerHost: 'http://127.0.0.1:1' })
    const gateways = Array.from({ length: 50 }, (_, n) => ({ netGatewayId: `g${n}`, name: 'g', netGatewayInfo: info }))
    const { createdCount, failed } = await link(gateways, { registerGatewaysOnNet: true })
    assert.deepEqual([createdCount, failed.length], [0, 50])
    assert.match(failed[0].reason, /cannot be reached/)
    assert.match(failed[49].reason, /not attempted/)
  })

  test('an answer with an error shows that the network is reachable, so all gateways are attempted although some requests get no answer', async () => {
    const network = await aNetworkApi(({ body }) =>
      body.gateway.ids.gateway_id.endsWith('0') ? 'closed' : { status: 409 },
    )
    const { link } = await anAccount({ netIdentityServerHost: network.host })
    const gateways = Array.from({ length: 40 }, (_, n) => ({ netGatewayId: `g${n}`, name: 'g', netGatewayInfo: info }))
    const { failed } = await link(gateways, { registerGatewaysOnNet: true })
    assert.deepEqual(idsOf(failed), idsOf(gateways))
    for (const { netGatewayId, reason } of failed)
      assert.match(reason, netGatewayId.endsWith('0') ? /cannot be reached/ : /409/)
  })

  test('gateway integrations that are deleted stay registered in the network, unless the request asks to deregister them', async () => {
    let isRefusing = true
    const network = await aNetworkApi(({ method }) => (method === 'DELETE' && isRefusing ? { status: 500 } : {}))
    const { path, link } = await anAccount({ netIdentityServerHost: network.host })
    const { created } = await link([
      { netGatewayId: 'g1', name: 'g' },
      { netGatewayId: 'g2', name: 'g' },
    ])
    await expectStatus(204, `DELETE ${path}/gateways/${created[0].id}`)
    assert.equal(network.requests.length, 0)
    await expectStatus(502, `DELETE ${path}/gateways/${created[1].id}?deregisterOnNet=true`)
    isRefusing = false
    await expectStatus(204, `DELETE ${path}/gateways/${created[1].id}?deregisterOnNet=true`)
    assert.equal(network.requests.at(-1)!.path, '/api/v3/gateways/g2')
    assert.equal((await admin(`GET ${endpoints}/${created[1].endpointId}`)).status, 200)
  })

  test('gateway integrations cannot be created in a suspended account or with an unknown application version: the response is 400', async () => {
    const { path, version } = await anAccount()
    const gateways = [{ netGatewayId: 'a', name: 'a' }]
    assert.match(
      (await expectStatus(400, `POST ${path}/gateways`, { appVersionName: 'no', gateways })).body.message,
      /appVersionName/,
    )
    const theirs = await anApplication(['v1'], other)
    assert.match(
      (await expectStatus(400, `POST ${path}/gateways`, { appVersionName: theirs.version, gateways })).body.message,
      /appVersionName/,
    )
    await expectStatus(204, `PUT ${path}/status`, { status: 'SUSPENDED' })
    await expectStatus(400, `POST ${path}/gateways`, { appVersionName: version, gateways })
  })
})

test('integrations are deleted with their tenant', async () => {
  const { path, link } = await anAccount({}, other)
  await link([{ netGatewayId: 'last', name: 'g' }])
  const { db, bus } = waypost.kit
  await db.tx((sql) => bus.publish(sql, TenantDeleted, { tenantId: 'other' }))
  await eventually(async () => assert.equal((await other(`GET ${path}`)).status, 404), { withinMs: 15_000 })
  const [row] = await db.sql`select count(*)::int from lorawan.gateway_integrations where tenant_id = 'other'`
  assert.equal(row!.count, 0)
})
