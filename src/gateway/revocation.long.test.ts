/** Tests that the revocation of tokens, endpoints, credentials and tenants takes effect within a second, even on open connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDevice } from '../../test/harness/device.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { resetAllNodes } from '../kernel/signals.ts'

const fixture = await openGateway()
const {
  waypost,
  device,
  admin,
  aProvisionedEndpoint,
  anApplication,
  anEndpoint,
  setTokenStatus,
  test: extension,
} = fixture
const closedWithinMs = 1000

/** Opens a connection that represents two endpoints. */
async function aHub() {
  const { version } = await anApplication()
  const [first, second] = [await anEndpoint(version), await anEndpoint(version)]
  const hub = await device()
  const sendMessage = async ({ token }: { token: string }) => {
    const topic = `kp1/${version}/test/${token}/json/1`
    await hub.publish(topic, '1')
    return Promise.race([
      hub.receives(`${topic}/status`).then(() => 200),
      hub.receives(`${topic}/error`).then(({ json }) => json.statusCode as number),
    ])
  }
  assert.deepEqual([await sendMessage(first), await sendMessage(second)], [200, 200])
  return { hub, first, second, sendMessage }
}

const push = { extension: 'test', resourcePath: '/wake', payload: 1 }

for (const status of ['Suspended', 'Revoked'])
  test(`a ${status} token gets 401 and no messages, and other endpoints of the connection continue`, async () => {
    const { hub, first, second, sendMessage } = await aHub()
    assert.equal(await fixture.gateway.send(first.endpointId, push), 'delivered')
    await setTokenStatus(first.endpointId, status)
    assert.equal(await fixture.gateway.send(first.endpointId, push), 'offline')
    assert.equal(await sendMessage(first), 401)
    assert.equal(await sendMessage(second), 200)
    assert.ok(hub.client.connected)
    if (status === 'Suspended') {
      await setTokenStatus(first.endpointId, 'Active')
      assert.equal(await sendMessage(first), 200)
    }
  })

test('a connection is closed when the token of its only endpoint is revoked or deleted, or the endpoint is unregistered', async () => {
  const endings: ((endpointId: string) => Promise<unknown>)[] = [
    (endpointId) => setTokenStatus(endpointId, 'Revoked'),
    async (endpointId) => {
      const id = await fixture.tokenIdOf(endpointId)
      assert.equal((await admin(`DELETE /api/v1/endpoints/${endpointId}/tokens/${id}`)).status, 204)
    },
    async (endpointId) => assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204),
  ]
  for (const end of endings) {
    const { prefix, endpointId } = await aProvisionedEndpoint()
    const sensor = await device()
    await sensor.publish(`${prefix}/json`, '1')
    const before = extension.messages.length
    await end(endpointId)
    await sensor.closed(closedWithinMs)
    const again = await device()
    await again.publish(`${prefix}/json`, '1')
    assert.equal((await again.receives(`${prefix}/json/error`)).json.statusCode, 401)
    assert.equal(extension.messages.length, before)
  }
})

test('a second token of an endpoint stays valid when the first is revoked', async () => {
  const { version, prefix, endpointId, app } = await aProvisionedEndpoint()
  const created = await admin(`POST /api/v1/endpoints/${endpointId}/tokens`, {
    applicationName: app,
    token: `t2-${app}`,
  })
  assert.equal(created.status, 201, created.text)
  const second = `kp1/${version}/test/t2-${app}`
  const first = await fixture.tokenIdOf(endpointId)
  const sensor = await device()
  for (const topic of [prefix, second]) {
    await sensor.publish(`${topic}/json/1`, '1')
    await sensor.receives(`${topic}/json/1/status`)
  }
  const tokens = (await admin(`GET /api/v1/endpoints/${endpointId}/tokens?order=ASC`)).body.content
  assert.notEqual(tokens[0].endpointTokenId, first)
  await admin(`PUT /api/v1/endpoints/${endpointId}/tokens/${tokens[0].endpointTokenId}/status`, { status: 'Revoked' })
  await sensor.publish(`${prefix}/json/1`, '1')
  assert.equal((await sensor.receives(`${prefix}/json/1/error`)).json.statusCode, 401)
  await sensor.publish(`${second}/json/1`, '1')
  await sensor.receives(`${second}/json/1/status`)
})

const aLogin = async () => {
  const { username, password } = await fixture.aBasicCredential()
  return { username: `${username}@default`, password }
}

/** Creates a disconnected client with two endpoints and a queued message for each. */
async function aDisconnectedClient(
  clientId: string,
  login: { username?: string; password?: string } = {},
  ask = admin,
) {
  const { version, app } = await anApplication(['v1'], ask)
  const [first, second] = [await anEndpoint(version, ask), await anEndpoint(version, ask)]
  const session = { clientId, clean: false, ...login }
  const hub = await device(session)
  const topicOf = ({ token }: { token: string }) => `kp1/${version}/test/${token}/wake/status`
  for (const endpoint of [first, second]) await hub.client.subscribeAsync(topicOf(endpoint), { qos: 1 })
  for (const { endpointId } of [first, second])
    await eventually(async () => assert.equal((await fixture.metadataOf(endpointId, ask)).connected, true))
  await hub.end()
  for (const { endpointId } of [first, second]) {
    await eventually(async () => {
      const [row] = await waypost.kit.db.sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
      assert.equal(row?.nodeId, null)
    })
    assert.equal(await fixture.gateway.send(endpointId, push), 'queued')
  }
  return { first, second, app, version, topicOf, wake: () => device(session) }
}

const deleteToken = async (endpointId: string) => {
  const id = await fixture.tokenIdOf(endpointId)
  assert.equal((await admin(`DELETE /api/v1/endpoints/${endpointId}/tokens/${id}`)).status, 204)
}
const unregister = async (endpointId: string) =>
  assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
type Ended = { endpointId: string; token: string; version: string }
const endings: [name: string, (ended: Ended) => Promise<unknown>][] = [
  ['its token was suspended', ({ endpointId }) => setTokenStatus(endpointId, 'Suspended')],
  ['its token was revoked', ({ endpointId }) => setTokenStatus(endpointId, 'Revoked')],
  ['its token was deleted', ({ endpointId }) => deleteToken(endpointId)],
  ['its endpoint was unregistered', ({ endpointId }) => unregister(endpointId)],
  [
    'its endpoint was unregistered, even if a new endpoint with the same id and token was registered',
    async ({ endpointId, token, version }) => {
      await unregister(endpointId)
      const again = { appVersion: { name: version }, endpointId, endpointToken: token }
      const { status, text } = await admin('POST /epr/api/v1/endpoints', again)
      assert.equal(status, 201, text)
    },
  ],
]
for (const [index, [name, end]] of endings.entries())
  test(`queued messages of an endpoint are not delivered after ${name}`, async () => {
    const { first, second, version, topicOf, wake } = await aDisconnectedClient(`sleeper-${index}`, await aLogin())
    await end({ ...first, version })
    const hub = await wake()
    await hub.receives(topicOf(second))
    await hub.receivesNothing()
  })

test('queued messages of a suspended tenant are not delivered', async () => {
  const { topicOf, first, second, wake } = await aDisconnectedClient('sleeper-of-other', {}, fixture.other)
  await fixture.setTenantStatus('other', 'SUSPENDED')
  const hub = await wake()
  for (const endpoint of [first, second]) await hub.client.subscribeAsync(topicOf(endpoint), { qos: 1 })
  await hub.receivesNothing()
  await fixture.setTenantStatus('other', 'AVAILABLE')
  await hub.end()
  for (const { endpointId } of [first, second])
    await eventually(async () => assert.notEqual(await fixture.gateway.send(endpointId, push), 'offline'))
  const later = await wake()
  for (const endpoint of [first, second]) await later.client.subscribeAsync(topicOf(endpoint), { qos: 1 })
  for (const endpoint of [first, second, first, second]) await later.receives(topicOf(endpoint))
  await later.receivesNothing()
})

test('when credentials are suspended, revoked or deleted, only the connections with these credentials are closed', async () => {
  for (const end of [
    (id: string) => admin(`PATCH /api/v1/basic-credentials/${id}/state`, { state: 'Suspended' }),
    (id: string) => admin(`PATCH /api/v1/basic-credentials/${id}/state`, { state: 'Revoked' }),
    (id: string) => admin(`DELETE /api/v1/basic-credentials/${id}`),
  ]) {
    const [ending, staying] = [await fixture.aBasicCredential(), await fixture.aBasicCredential()]
    const as = ({ username, password }: typeof ending) => device({ username: `${username}@default`, password })
    const [one, two] = [await as(ending), await as(staying)]
    assert.equal((await end(ending.id)).status, 204)
    await one.closed(closedWithinMs)
    assert.ok(two.client.connected)
    await assert.rejects(as(ending), { code: 4 })
  }
})

test('X.509: the connection of a client is closed when its certificate expires', async () => {
  const ca = (await admin('GET /kpc/api/v1/certificates/root')).text
  const connect = async (ttl: number) => {
    const { certificateChain: cert, privateKey: key } = (await admin('POST /api/v1/x509-credentials', { ttl })).body
    return await aDevice(fixture.mqttsUrl, { protocolVersion: 5, ca, cert, key })
  }
  const [shortLived, longLived] = [await connect(3), await connect(3600)]
  await eventually(() => assert.ok(!shortLived.client.connected), { withinMs: 6000 })
  assert.ok(longLived.client.connected)
})

test('X.509: a client with a certificate of the platform may connect over TLS until the certificate is suspended', async () => {
  const issued = (await admin('POST /api/v1/x509-credentials', { commonName: 'sensor', ttl: 3600 })).body
  const root = (await admin('GET /kpc/api/v1/certificates/root')).text
  const { prefix } = await aProvisionedEndpoint()
  const tls = { ca: root, rejectUnauthorized: true, servername: 'localhost' }
  const open = () => aDevice(fixture.mqttsUrl, { ...tls, cert: issued.certificateChain, key: issued.privateKey })
  const sensor = await open()
  await sensor.publish(`${prefix}/json/1`, '1')
  await sensor.receives(`${prefix}/json/1/status`)
  assert.equal((await admin(`GET /api/v1/x509-credentials/${issued.id}`)).body.state, 'Active')
  // The certificate is also accepted without its chain.
  const alone = await aDevice(fixture.mqttsUrl, { ...tls, cert: issued.certificate, key: issued.privateKey })
  assert.ok(alone.client.connected)

  await admin(`PATCH /api/v1/x509-credentials/${issued.id}/state`, { state: 'Suspended' })
  await sensor.closed(closedWithinMs)
  await alone.closed(closedWithinMs)
  // The refusal is recorded for the tenant that issued the certificate. The attempt is repeated, because refusals within one second share a
  // row.
  await eventually(async () => {
    await assert.rejects(open(), { code: 4 })
    const [row] = await waypost.kit.db.sql`
      select tenant_id, detail from traffic_log.refusals where transport = 'mqtts' and reason = 'bad_credentials' limit 1`
    const detail = 'the certificate was suspended or revoked, or has expired'
    assert.deepEqual({ ...row }, { tenantId: 'default', detail })
  })
  await admin(`PATCH /api/v1/x509-credentials/${issued.id}/state`, { state: 'Active' })
  assert.ok((await open()).client.connected)
  // A client without a certificate is anonymous.
  assert.ok((await aDevice(fixture.mqttsUrl, tls)).client.connected)
})

test('when a tenant is suspended, its connections are closed, new connections are refused and messages are rejected', async () => {
  const { username, password } = await fixture.aBasicCredential(fixture.other)
  const { prefix, endpointId } = await fixture.aProvisionedEndpoint(fixture.other)
  const ours = await aProvisionedEndpoint()
  const known = await device({ username: `${username}@other`, password })
  const anonymous = await device()
  await anonymous.publish(`${prefix}/json`, '1')
  const otherDevice = await device()
  await otherDevice.publish(`${ours.prefix}/json`, '1')
  await fixture.setTenantStatus('other', 'SUSPENDED')
  await Promise.all([known.closed(closedWithinMs), anonymous.closed(closedWithinMs)])
  assert.equal(await fixture.gateway.send(endpointId, push), 'offline')
  await assert.rejects(device({ username: `${username}@other`, password }), { code: 4 })
  const again = await device()
  await again.publish(`${prefix}/json`, '1')
  assert.equal((await again.receives(`${prefix}/json/error`)).json.statusCode, 401)
  const overHttp = await fetch(`${fixture.httpUrl}/${prefix}/json`, { method: 'POST' })
  assert.equal(overHttp.status, 401)
  assert.ok(otherDevice.client.connected)
  await fixture.setTenantStatus('other', 'AVAILABLE')
  await again.publish(`${prefix}/json/1`, '1')
  await again.receives(`${prefix}/json/1/status`)
})

test('a tenant may require authentication for some transports and not for others', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const { username, password } = await fixture.aBasicCredential()
  const login = { username: `${username}@default`, password }
  const [anonymous, known] = [await device(), await device(login)]
  await known.publish(`${prefix}/json`, '1')
  await anonymous.publish(`${prefix}/json`, '1')
  const require = async (transports: object) => {
    const tenants = { default: { config: { transports } } }
    const answer = await admin('PUT /api/v1/tenant-configs', { kpc: { platform: { tenants } } })
    assert.equal(answer.status, 204, answer.text)
  }
  await require({ mqtt: { tcp: { 'basic-auth': { required: true } } } })
  await anonymous.closed(closedWithinMs)
  assert.ok(known.client.connected)

  const withoutCredentials = await device()
  await withoutCredentials.publish(`${prefix}/json`, '1', { qos: 0 })
  await withoutCredentials.closed(closedWithinMs)
  const subscriber = await device()
  subscriber.client.subscribe(`${prefix}/#`)
  await subscriber.closed(closedWithinMs)
  await known.publish(`${prefix}/json/1`, '1')
  await known.receives(`${prefix}/json/1/status`)
  const overWebSocket = await aDevice(`${fixture.wsUrl}/mqtt`)
  await overWebSocket.publish(`${prefix}/json/1`, '1')
  await overWebSocket.receives(`${prefix}/json/1/status`)
  const post = async () => (await fetch(`${fixture.httpUrl}/${prefix}/json`, { method: 'POST' })).status
  assert.equal(await post(), 200)

  await require({ http: { 'basic-auth': { required: true } }, mqtt: { ws: { 'basic-auth': { required: true } } } })
  await overWebSocket.closed(closedWithinMs)
  assert.equal(await post(), 401)
  await require({})
  assert.equal(await post(), 200)
  await eventually(async () => {
    const [row] = await waypost.kit.db.sql`
      select tenant_id, detail from traffic_log.refusals where reason = 'authentication_required' limit 1`
    assert.deepEqual({ ...row }, { tenantId: 'default', detail: 'default requires basic authentication over mqtt' })
  })
})

test('a configuration with an unknown requirement is rejected, instead of leaving the transport open', async () => {
  for (const [transports, where] of [
    [{ http: { 'basic-auth': { required: 'true' } } }, 'transports.http.basic-auth.required'],
    [{ http: { 'x509-auth': true } }, 'transports.http.x509-auth'],
    [{ mqtt: { tcp: { 'x509-auth': { required: 1 } } } }, 'transports.mqtt.tcp.x509-auth.required'],
  ] as const) {
    const tenants = { default: { config: { transports } } }
    const { status, text } = await admin('PUT /api/v1/tenant-configs', { kpc: { platform: { tenants } } })
    assert.equal(status, 400, text)
    assert.ok(text.includes(where), text)
  }
})

test('after a reset, all permissions of open connections are checked again', async () => {
  const { db } = waypost.kit
  const lost = await aProvisionedEndpoint()
  const kept = await aProvisionedEndpoint()
  const { id, username, password } = await fixture.aBasicCredential()
  const [one, two] = [await device(), await device()]
  const three = await device({ username: `${username}@default`, password })
  await one.publish(`${lost.prefix}/json`, '1')
  await two.publish(`${kept.prefix}/json`, '1')
  // The test changes the rows without an event, as a restore does.
  await db.sql`update tokens.tokens set status = 'Revoked' where endpoint_id = ${lost.endpointId}`
  await db.sql`update credentials.basic set state = 'Revoked' where id = ${id}`
  await resetAllNodes(db.sql)
  await Promise.all([one.closed(closedWithinMs), three.closed(closedWithinMs)])
  await two.publish(`${kept.prefix}/json/1`, '1')
  await two.receives(`${kept.prefix}/json/1/status`)
})

test('a check of open connections that fails is retried until it succeeds', async () => {
  const { db } = waypost.kit
  const lost = await aProvisionedEndpoint()
  const { id, username, password } = await fixture.aBasicCredential()
  const [anonymous, authenticated] = [await device(), await device({ username: `${username}@default`, password })]
  await anonymous.publish(`${lost.prefix}/json`, '1')
  await db.sql`update tokens.tokens set status = 'Revoked' where endpoint_id = ${lost.endpointId}`
  await db.sql`update credentials.basic set state = 'Revoked' where id = ${id}`
  // Permissions cannot be read until the tables have their original names again.
  await db.sql.unsafe('alter table tokens.tokens rename to hidden; alter table credentials.basic rename to hidden')
  await resetAllNodes(db.sql)
  const open = () => [anonymous.client.connected, authenticated.client.connected]
  await new Promise((resolve) => setTimeout(resolve, 700))
  assert.deepEqual(open(), [true, true])
  await db.sql.unsafe('alter table tokens.hidden rename to tokens; alter table credentials.hidden rename to basic')
  await eventually(() => assert.deepEqual(open(), [false, false]), { withinMs: 5000 })
})
