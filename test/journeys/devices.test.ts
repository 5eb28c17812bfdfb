/** Tests devices with the real program: all transports, revocation over the HTTP API, restarts and crashes. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { client } from '../harness/client.ts'
import { aDevice } from '../harness/device.ts'
import { eventually } from '../harness/eventually.ts'
import { createFixtures } from '../harness/gateway.ts'
import { initializedDirectory, type RunningPlatform, startPlatform } from '../harness/platform.ts'

const directory = await initializedDirectory()
const environment = { WAYPOST_LOG_FORMAT: 'json' }
let platform = await startPlatform({ directory, environment })
const asAdmin = (running: RunningPlatform) => running.asService(running.bootstrap.default)
let admin = await asAdmin(platform)
const { aProvisionedEndpoint, anEndpoint, metadataOf, setTokenStatus, aBasicCredential } = createFixtures((...call) =>
  admin(...call),
)

/** Creates an endpoint and returns its topic for metadata, `kp1/<version>/epmx/<token>`. Metadata needs no service except the register. */
const aMetadataTopic = async () => {
  const endpoint = await aProvisionedEndpoint()
  return { ...endpoint, prefix: `kp1/${endpoint.version}/epmx/${endpoint.token}` }
}

test('a device sends messages over every transport, and the platform stores them', async () => {
  const { prefix, endpointId } = await aMetadataTopic()
  const root = await client(platform.baseUrl)('GET /kpc/api/v1/certificates/root')
  const webSocket = platform.baseUrl.replace('http', 'ws')
  for (const [url, options] of [
    [platform.mqttUrl, {}],
    [platform.mqttUrl, { protocolVersion: 5 }],
    [platform.mqttsUrl, { ca: root.text }],
    [`${webSocket}/mqtt`, {}],
    [`${webSocket}/ws`, {}],
  ] as const) {
    const device = await aDevice(url, options)
    await device.publish(`${prefix}/update/keys/0`, { via: url })
    await device.receives(`${prefix}/update/keys/0/status`)
    await device.publish(`${prefix}/get/1`)
    const { json } = await device.receives(`${prefix}/get/1/status`)
    assert.equal(json.via, url)
    await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, true))
    await device.end()
    await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, false))
  }
  const overHttp = await client(platform.baseUrl)(`POST /${prefix}/get`)
  assert.equal(overHttp.status, 200)
  assert.equal(overHttp.body.via, `${webSocket}/ws`)
})

test('a registered client certificate is accepted over TLS, with and without session resumption', async () => {
  const issued = (await admin('POST /api/v1/x509-credentials', { commonName: 'meter', ttl: 3600 })).body
  const root = (await client(platform.baseUrl)('GET /kpc/api/v1/certificates/root')).text
  const { hostname, port } = new URL(platform.mqttsUrl)
  const identity = { ca: root, cert: issued.certificateChain, key: issued.privateKey }
  const device = await aDevice(platform.mqttsUrl, identity)
  const { prefix } = await aMetadataTopic()
  await device.publish(`${prefix}/update/keys/1`, { a: 1 })
  await device.receives(`${prefix}/update/keys/1/status`)

  const handshake = (session?: Buffer) =>
    new Promise<{ session: Buffer; resumed: boolean; answer: Buffer }>((resolve, reject) => {
      let ticket: Buffer | undefined
      const socket = connectTls({ host: hostname, port: Number(port), ...identity, ...(session && { session }) }, () =>
        // The bytes are a CONNECT packet of MQTT 3.1.1 with the client id `m` and a clean session.
        socket.write(Buffer.from([0x10, 13, 0, 4, 77, 81, 84, 84, 4, 2, 0, 60, 0, 1, 109])),
      )
      socket.on('session', (given) => {
        ticket = given
      })
      socket.on('error', reject)
      socket.once('data', (answer) => {
        resolve({ session: ticket!, resumed: socket.isSessionReused(), answer })
        socket.destroy()
      })
    })
  const first = await handshake()
  assert.deepEqual([...first.answer], [0x20, 2, 0, 0])
  const second = await handshake(first.session)
  assert.ok(second.resumed)
  assert.deepEqual([...second.answer], [0x20, 2, 0, 0])
  await admin(`PATCH /api/v1/x509-credentials/${issued.id}/state`, { state: 'Revoked' })
  await device.closed(1000)
  const third = await handshake(first.session)
  assert.equal(third.answer[3], 4, 'a revoked certificate must be rejected in a resumed handshake')
})

test('a revocation takes effect within a second, even for open connections', async () => {
  const { version, token, endpointId, prefix } = await aMetadataTopic()
  const otherEndpoint = await anEndpoint(version)
  const hub = await aDevice(platform.mqttUrl)
  const topicOf = (text: string) => `kp1/${version}/epmx/${text}/get/keys/1`
  for (const text of [token, otherEndpoint.token]) {
    await hub.publish(topicOf(text))
    await hub.receives(`${topicOf(text)}/status`)
  }
  await setTokenStatus(endpointId, 'Suspended')
  await hub.publish(topicOf(token))
  assert.equal((await hub.receives(`${topicOf(token)}/error`, 1000)).json.statusCode, 401)
  await hub.publish(topicOf(otherEndpoint.token))
  await hub.receives(`${topicOf(otherEndpoint.token)}/status`)
  await setTokenStatus(otherEndpoint.endpointId, 'Revoked')
  await hub.closed(1000)

  const { id, username, password } = await aBasicCredential()
  const authenticated = await aDevice(platform.mqttUrl, { username: `${username}@default`, password })
  await admin(`PATCH /api/v1/basic-credentials/${id}/state`, { state: 'Revoked' })
  await authenticated.closed(1000)
  assert.equal((await client(platform.baseUrl)(`POST /${prefix}/get`)).status, 401)
})

test('devices of a suspended tenant are disconnected immediately', async () => {
  const asPlatform = await platform.asService(platform.bootstrap.platform)
  const person = { email: 'ada@example.org', username: 'ada', first_name: 'Ada', last_name: 'L' }
  const created = await asPlatform('POST /tenant-manager/api/v2/tenants', {
    name: 'Acme',
    tenant_id: 'acme',
    admin: person,
  })
  assert.equal(created.status, 202, created.text)
  const tenantPath = `/tenant-manager/api/v2/tenants/${created.body.id}`
  await eventually(async () => assert.equal((await asPlatform(`GET ${tenantPath}`)).body.status, 'AVAILABLE'), {
    withinMs: 30_000,
  })
  const { body } = await asPlatform(`GET ${tenantPath}/credentials`)
  const tenant = { tenantId: 'acme', backendClient: { id: body.client_backend_id, secret: body.client_backend_secret } }
  const asAcme = await platform.asService(tenant as never)
  const { version, token } = await createFixtures(asAcme).aProvisionedEndpoint()
  const device = await aDevice(platform.mqttUrl)
  await device.publish(`kp1/${version}/epmx/${token}/get/1`)
  await device.receives(`kp1/${version}/epmx/${token}/get/1/status`)
  const suspended = await asPlatform(`PUT ${tenantPath}`, { status: 'SUSPENDED' })
  assert.equal(suspended.status, 200, suspended.text)
  await device.closed(1000)
})

test('after a crash of all processes, the MQTT session of a device exists, and its endpoint is shown as disconnected', async () => {
  const { version, token, endpointId, prefix } = await aMetadataTopic()
  const session = { clientId: 'survivor', clean: false }
  const device = await aDevice(platform.mqttUrl, session)
  await device.client.subscribeAsync(`kp1/${version}/+/${token}/#`, { qos: 1 })
  await device.publish(`${prefix}/update/keys/1`, { kept: 'yes' })
  await device.receives(`${prefix}/update/keys/1/status`)
  await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, true))
  await platform.kill('SIGKILL')
  platform = await startPlatform({ directory, environment })
  admin = await asAdmin(platform)
  await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, false), { withinMs: 20_000 })
  assert.equal((await metadataOf(endpointId)).kept, 'yes')
  const reconnected = await aDevice(platform.mqttUrl, session)
  assert.ok(reconnected.sessionPresent)
  // An anonymous client represents an endpoint again after it has presented the token of the endpoint.
  await reconnected.client.subscribeAsync(`kp1/${version}/+/${token}/#`, { qos: 1 })
  await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, true))
})

test('when the platform stops, it disconnects devices and publishes their endpoints as disconnected', async () => {
  const { prefix, endpointId } = await aMetadataTopic()
  const device = await aDevice(platform.mqttUrl)
  await device.publish(`${prefix}/get/1`)
  await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, true))
  // Connections whose client sends no TLS handshake or no CONNECT must not delay the stop.
  for (const url of [platform.mqttsUrl, platform.mqttUrl])
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => resolve())
      socket.on('error', () => {})
    })
  const started = Date.now()
  assert.equal(await platform.kill('SIGTERM'), 0)
  assert.ok(Date.now() - started < 9500, `stopping took ${Date.now() - started} ms`)
  await device.closed()
  platform = await startPlatform({ directory, environment })
  admin = await asAdmin(platform)
  assert.equal((await metadataOf(endpointId)).connected, false)
})
