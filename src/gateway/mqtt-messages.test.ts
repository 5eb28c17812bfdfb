import assert from 'node:assert/strict'
import { connect as connectSocket } from 'node:net'
import { test } from 'node:test'
import { aPlatformAdmin } from '../../test/harness/builders.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, recordingExtension } from '../../test/harness/gateway.ts'
import { storedTraffic } from '../../test/harness/stored-traffic.ts'
import type { Extension } from '../kernel/device.ts'
import { InvalidRequest } from '../kernel/errors.ts'

const second = recordingExtension('second')
const replying = recordingExtension('replying')
replying.receive = async ({ resourcePath, payload }) => {
  if (resourcePath === '/fails') throw InvalidRequest({ problem: 'not like this' })
  if (resourcePath === '/breaks') throw new Error('a secret detail')
  if (resourcePath === '/slow') await new Promise((resolve) => setTimeout(resolve, 50))
  return { payload: { echo: payload.toString() }, always: resourcePath === '/get' }
}
const atOnce = (name: string, unrecorded: boolean): Extension => ({
  name,
  unrecorded,
  receive({ resourcePath, payload }) {
    if (resourcePath === '/fails') throw InvalidRequest({ problem: 'not like this' })
    return { payload: { echo: payload.toString() } }
  },
})
const fixture = await openGateway({
  listeners: [
    second,
    recordingExtension('dcx'),
    replying,
    atOnce('at-once', false),
    atOnce('at-once-unrecorded', true),
  ],
})
const { waypost, device, admin, other, aProvisionedEndpoint, anApplication, anEndpoint, test: extension } = fixture

test('the first message of a device is passed to its extension, and the response is sent', async () => {
  const { prefix, endpointId, version, app } = await aProvisionedEndpoint()
  const sensor = await device()
  await sensor.publish(`${prefix}/json/42`, { temperature: 21 })
  const answer = await sensor.receives(`${prefix}/json/42/status`)
  assert.equal(answer.text, '')
  assert.deepEqual(extension.messages.at(-1), {
    endpoint: { tenantId: 'default', applicationName: app, versionName: version, endpointId },
    resourcePath: '/json',
    requestId: 42,
    text: '{"temperature":21}',
  })
})

test('a request with an id gets a response, even with the id 0; a request without an id gets errors, and responses of some resources only', async () => {
  const { version, token, prefix } = await aProvisionedEndpoint()
  const sensor = await device()
  await sensor.publish(`${prefix}/json/0`, '1')
  await sensor.receives(`${prefix}/json/0/status`)
  await sensor.publish(`${prefix}/json`, '1')
  const replying = `kp1/${version}/replying/${token}`
  await sensor.publish(`${replying}/other`, 'x')
  await sensor.receivesNothing()
  await sensor.publish(`${replying}/get`, 'x')
  assert.deepEqual((await sensor.receives(`${replying}/get/status`)).json, { echo: 'x' })
  await sensor.publish(`${replying}/fails`, 'x')
  assert.deepEqual((await sensor.receives(`${replying}/fails/error`)).json, {
    statusCode: 400,
    reasonPhrase: 'not like this',
  })
  await sensor.publish(`${replying}/fails/7`, 'x')
  assert.equal((await sensor.receives(`${replying}/fails/7/error`)).json.statusCode, 400)
  await sensor.publish(`${replying}/breaks`, 'x')
  const { text } = await sensor.receives(`${replying}/breaks/error`)
  assert.match(text, /"statusCode":500/)
  assert.doesNotMatch(text, /secret/)
})

test('responses and errors of an extension that answers synchronously are sent', async () => {
  const { version, token, endpointId } = await aProvisionedEndpoint()
  const sensor = await device({ protocolVersion: 5 })
  for (const name of ['at-once', 'at-once-unrecorded']) {
    const replying = `kp1/${version}/${name}/${token}`
    await sensor.publish(`${replying}/get/1`, 'x')
    assert.deepEqual((await sensor.receives(`${replying}/get/1/status`)).json, { echo: 'x' })
    await assert.rejects(sensor.publish(`${replying}/fails/2`, 'x'), { code: 0x99 })
    assert.equal((await sensor.receives(`${replying}/fails/2/error`)).json.statusCode, 400)
  }
  await eventually(async () => {
    const rows = await storedTraffic(waypost.kit.db.sql, { tenantId: 'default', endpointId })
    const recorded = rows.map(({ extension, outbound, resourcePath }) => `${extension} ${outbound} ${resourcePath}`)
    assert.deepEqual(
      recorded.sort(),
      ['/fails', '/get'].flatMap((path) => [`at-once false ${path}`, `at-once true ${path}`]).sort(),
    )
  })
})

for (const qos of [0, 1, 2] as const)
  test(`an answer has the QoS of its request: ${qos}`, async () => {
    const { prefix, endpointId } = await aProvisionedEndpoint()
    const sensor = await device()
    await sensor.publish(`${prefix}/json/1`, '1', { qos })
    assert.equal((await sensor.receives(`${prefix}/json/1/status`)).qos, qos)
    assert.equal(extension.messages.filter(({ endpoint }) => endpoint.endpointId === endpointId).length, 1)
  })

test('messages are handled in order, even if they arrive before the endpoint is identified', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const sensor = await device({ clientId: 'counter' })
  const before = extension.messages.length
  await Promise.all(Array.from({ length: 200 }, (_, index) => sensor.publish(`${prefix}/json/${index}`, String(index))))
  assert.deepEqual(
    extension.messages.slice(before).map(({ text }) => Number(text)),
    Array.from({ length: 200 }, (_, index) => index),
  )
})

test('an unknown version or extension gets 404, an unknown token gets 401, and a malformed topic gets 400', async () => {
  const { prefix, version, token } = await aProvisionedEndpoint()
  const sensor = await device()
  const cases: [string, number][] = [
    [`kp1/nowhere-v1/test/${token}/json/1`, 404],
    [`kp1/${version}/test/wrong/json/1`, 401],
    [`kp1/${version}/nothing/${token}/json`, 404],
    [`kp1/${version}/nothing/wrong/json`, 401],
    [`kp1/${version}/test`, 400],
    [`kp1/${version}/test//json`, 400],
    [`${prefix}${'/a'.repeat(40)}`, 400],
    [`${prefix}/json/99999999999999999999`, 400],
  ]
  for (const [topic, statusCode] of cases) {
    await sensor.publish(topic, '{}')
    const { json } = await sensor.receives(`${topic}/error`)
    assert.equal(json.statusCode, statusCode, topic)
    assert.equal(typeof json.reasonPhrase, 'string')
  }
  await sensor.publish(`${prefix}/json/1`, '1')
  await sensor.receives(`${prefix}/json/1/status`)
})

test('messages on other topics are dropped; MQTT 5 clients get a reason code, and administrators see a refusal', async () => {
  const listener = await device({ protocolVersion: 5 })
  const [granted] = await listener.client.subscribeAsync('#', { qos: 2 })
  assert.equal(granted!.qos, 1)
  const publisher = await device({ protocolVersion: 5 })
  const codes: unknown[] = []
  publisher.client.on('packetreceive', (packet) => codes.push(packet.cmd === 'puback' && packet.reasonCode))
  const mistyped = ['home/kitchen', 'kpl/app-v1/dcx/token/json', '/kp1/app-v1/dcx/token/json']
  for (const topic of mistyped)
    await assert.rejects(publisher.publish(topic, 'hello'), (error: { code?: number }) => error.code === 0x90, topic)
  assert.deepEqual(codes, [0x90, 0x90, 0x90])
  const old = await device({ protocolVersion: 4 })
  await old.publish('kpl/app-v1/dcx/token/json', 'acknowledged, because MQTT 3.1.1 has no other response')
  await eventually(async () => {
    const { body } = await waypost.as(aPlatformAdmin())('GET /api/v1/al/refusals?reason=topic_foreign')
    const count = body.content.reduce((sum: number, refusal: { count: number }) => sum + refusal.count, 0)
    assert.ok(count >= 4, JSON.stringify(body))
    assert.match(body.content[0].detail, /begin with kp1/)
  })
  const { prefix } = await aProvisionedEndpoint()
  await publisher.publish(`${prefix}/json/1`, '1')
  await publisher.receives(`${prefix}/json/1/status`)
  await publisher.receivesNothing()
  await listener.receivesNothing(0)
})

test('a subscription gets no messages of other devices, and no message twice', async () => {
  const { prefix, version } = await aProvisionedEndpoint()
  const sensor = await device()
  for (const filter of ['#', 'kp1/#', `${prefix}/#`, `kp1/${version}/+/+/json/+/status`])
    await sensor.client.subscribeAsync(filter, { qos: 1 })
  const spy = await device()
  await spy.client.subscribeAsync({ '#': { qos: 1 }, [`kp1/${version}/+/+/#`]: { qos: 1 } })
  await sensor.publish(`${prefix}/json/1`, '1')
  await sensor.receives(`${prefix}/json/1/status`)
  await sensor.receivesNothing()
  await spy.receivesNothing(0)
})

test('MQTT 5: a response has the correlation data of its request, and is sent only to a response topic of the same endpoint', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const foreign = await aProvisionedEndpoint()
  const sensor = await device({ protocolVersion: 5 })
  const correlationData = Buffer.from('c-1')
  const request = (responseTopic: string, topic = `${prefix}/json/1`) =>
    sensor.publish(topic, '1', { qos: 1, properties: { responseTopic, correlationData } })
  await request(`${prefix}/replies`)
  assert.deepEqual((await sensor.receives(`${prefix}/replies`)).packet.properties?.correlationData, correlationData)
  await request(`${prefix}/replies`, `${prefix}/json`)
  await sensor.receives(`${prefix}/replies`)
  await request(`${foreign.prefix}/replies`)
  assert.deepEqual(
    (await sensor.receives(`${prefix}/json/1/status`)).packet.properties?.correlationData,
    correlationData,
  )
  await assert.rejects(sensor.publish(`kp1/nowhere/test/x/json`, '1'), { code: 0x90 })
})

test('a response has the granted QoS of the matching subscription, and in MQTT 5 its subscription identifiers', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const sensor = await device({ protocolVersion: 5 })
  const answer = async (requestId: number) => {
    await sensor.publish(`${prefix}/json/${requestId}`, '1', { qos: 1 })
    const { packet } = await sensor.receives(`${prefix}/json/${requestId}/status`)
    return { qos: packet.qos, identifiers: packet.properties?.subscriptionIdentifier }
  }
  assert.deepEqual(
    await answer(1),
    { qos: 1, identifiers: undefined },
    'a response without a subscription must have QoS 1',
  )
  const subscribe = (filter: string, qos: 0 | 1, subscriptionIdentifier: number) =>
    sensor.client.subscribeAsync(filter, { qos, properties: { subscriptionIdentifier } })
  await subscribe(`${prefix}/json/2/#`, 0, 7)
  assert.deepEqual(await answer(2), { qos: 0, identifiers: 7 })
  assert.deepEqual(
    await answer(3),
    { qos: 1, identifiers: undefined },
    'a subscription that does not match must have no effect',
  )
  await subscribe(`${prefix}/json/+/status`, 1, 9)
  const both = await answer(2)
  assert.deepEqual([both.qos, [both.identifiers].flat().sort()], [1, [7, 9]])
})

test('versions of an application can use only the extensions that the application allows', async () => {
  const { app, version } = await anApplication(['v1', 'v2'])
  const { token } = await anEndpoint(version)
  const sensor = await device()
  const statusOf = async (extensionName: string, versionName = version) => {
    const topic = `kp1/${versionName}/${extensionName}/${token}/json/5`
    await sensor.publish(topic, '1')
    return Promise.race([
      sensor.receives(`${topic}/status`).then(() => 200),
      sensor.receives(`${topic}/error`).then(({ json }) => json.statusCode as number),
    ])
  }
  assert.equal(await statusOf('second'), 200)
  const put = await admin(`PUT /api/v1/app-configs/applications/${app}`, {
    kpc: { platform: { applications: { [app]: { 'allowed-extension-instances': ['dcx'] } } } },
  })
  assert.equal(put.status, 204, put.text)
  assert.equal(await statusOf('second'), 404)
  assert.equal(await statusOf('dcx'), 200)
})

test('the version of an endpoint changes to the version in the topic of the latest message of its device', async () => {
  const { app } = await anApplication(['v1', 'v2'])
  const { endpointId, token } = await anEndpoint(`${app}-v1`)
  const sensor = await device()
  const versionOf = async () => (await admin(`GET /epr/api/v1/endpoints/${endpointId}/app-version`)).body.name
  for (const versionName of [`${app}-v1`, `${app}-v2`, `${app}-v2`, `${app}-v1`]) {
    await sensor.publish(`kp1/${versionName}/test/${token}/json/1`, '1')
    await sensor.receives(`kp1/${versionName}/test/${token}/json/1/status`)
    assert.equal(await versionOf(), versionName)
    assert.equal(extension.messages.at(-1)!.endpoint.versionName, versionName)
  }
  await admin(`PUT /epr/api/v1/endpoints/${endpointId}/app-version`, { name: `${app}-v2` })
  assert.equal(await versionOf(), `${app}-v2`)
  await sensor.publish(`kp1/${app}-v1/test/${token}/json/1`, '1')
  assert.equal(await versionOf(), `${app}-v1`)
})

test('one connection represents fifty endpoints', async () => {
  const { version } = await anApplication()
  const endpoints = await Promise.all(Array.from({ length: 50 }, () => anEndpoint(version)))
  const hub = await device()
  await Promise.all(endpoints.map(({ token }) => hub.publish(`kp1/${version}/test/${token}/json/1`, token)))
  for (const { token, endpointId } of endpoints) {
    await hub.receives(`kp1/${version}/test/${token}/json/1/status`)
    assert.equal(extension.messages.find(({ text }) => text === token)?.endpoint.endpointId, endpointId)
    assert.ok(fixture.gateway.isConnected(endpointId))
  }
  await hub.end()
  await eventually(() => assert.ok(endpoints.every(({ endpointId }) => !fixture.gateway.isConnected(endpointId))))
})

test('clients with the same id and different owners have separate sessions', async () => {
  const mine = await fixture.aBasicCredential()
  const theirs = await fixture.aBasicCredential(other)
  const as = ({ username, password }: typeof mine, tenantId: string) =>
    device({ clientId: 'counter-2', username: `${username}@${tenantId}`, password })
  const first = await as(mine, 'default')
  const otherClient = await device({ clientId: 'counter-2' })
  const clientOfOtherTenant = await as(theirs, 'other')
  await first.receivesNothing(50)
  assert.ok(first.client.connected && otherClient.client.connected && clientOfOtherTenant.client.connected)
  const again = await as(mine, 'default')
  await first.closed()
  assert.ok(otherClient.client.connected && clientOfOtherTenant.client.connected && again.client.connected)
})

test('a client of one tenant cannot represent endpoints of another', async () => {
  const theirs = await fixture.aBasicCredential(other)
  const { prefix } = await aProvisionedEndpoint()
  const client = await device({ username: `${theirs.username}@other`, password: theirs.password })
  await client.publish(`${prefix}/json/1`, '1')
  assert.equal((await client.receives(`${prefix}/json/1/error`)).json.statusCode, 401)
  assert.ok(client.client.connected)
})

test('a client with wrong credentials is refused', async () => {
  const { username, password } = await fixture.aBasicCredential()
  for (const [name, secret] of [
    [`${username}@default`, 'wrong'],
    [`${username}@other`, password],
    [`${username}@nowhere`, password],
    [username, password],
    [`${username}@default`, undefined],
  ] as const)
    await assert.rejects(device({ username: name, ...(secret && { password: secret }) }), { code: 4 })
})

test('a message is handled although its client disconnects before the endpoint is identified', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const sensor = await device()
  await Promise.all([sensor.publish(`${prefix}/json`, 'farewell', { qos: 0 }), sensor.client.endAsync()])
  await eventually(() => assert.ok(extension.messages.some(({ text }) => text === 'farewell')))
  await eventually(() => assert.ok(!fixture.gateway.isConnected(endpointId)))
})

test('bytes that are not MQTT end only the connection that sent them', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const sensor = await device()
  for (const bytes of [
    Buffer.alloc(300, 0xff),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff]),
  ])
    await new Promise<void>((resolve) => {
      const socket = connectSocket(Number(new URL(fixture.mqttUrl).port), '127.0.0.1', () => socket.write(bytes))
      socket.on('error', () => {})
      socket.on('close', () => resolve())
    })
  await sensor.publish(`${prefix}/json/1`, '1')
  await sensor.receives(`${prefix}/json/1/status`)
})

test('the server reads more slowly from a connection that exceeds its byte rate, and from no other connection', async () => {
  const slow = await openGateway({ environment: { WAYPOST_DEVICE_BYTES_PER_CONNECTION: '200000' } })
  const { prefix } = await slow.aProvisionedEndpoint()
  const [sender, other] = [await slow.device(), await slow.device()]
  const began = performance.now()
  const sent = Array.from({ length: 5 }, () => sender.publish(`${prefix}/json`, Buffer.alloc(100_000, 'x')))
  await Promise.all(sent.slice(0, 2))
  await other.publish(`${prefix}/json`, 'x')
  assert.equal(await Promise.race([Promise.all(sent), 'slower']), 'slower')
  await Promise.all(sent)
  const seconds = (performance.now() - began) / 1000
  assert.ok(seconds > 0.95, `500,000 bytes must take more than 0.95 s, and they took ${seconds} s`)
  assert.equal(slow.test.messages.length, 6)
})

test('messages above the rate are read later, and no message is lost', async () => {
  const slow = await openGateway({ environment: { WAYPOST_DEVICE_MESSAGES_PER_CONNECTION: '200' } })
  const { prefix } = await slow.aProvisionedEndpoint()
  const sensor = await slow.device()
  const started = performance.now()
  await Promise.all(Array.from({ length: 500 }, (_, index) => sensor.publish(`${prefix}/json`, String(index))))
  assert.ok(performance.now() - started > 1200, `${performance.now() - started} ms`)
  assert.equal(slow.test.messages.length, 500)
})

test('a connection that presents neither credentials nor a valid token is closed after the time-out', async () => {
  const strict = await openGateway({ environment: { WAYPOST_MQTT_STRANGER_SECONDS: '1' } })
  const { prefix } = await strict.aProvisionedEndpoint()
  const { username, password } = await strict.aBasicCredential()
  const known = await strict.device({ username: `${username}@default`, password })
  const identified = await strict.device()
  await identified.publish(`${prefix}/json`, '1')
  const listener = await strict.device()
  // Another connection represents the endpoint, but this connection has also presented the token.
  await listener.client.subscribeAsync(`${prefix}/#`)
  const silent = await strict.device({ clientId: 'silent', protocolVersion: 5 })
  const codes: (number | undefined)[] = []
  silent.client.on('disconnect', ({ reasonCode }) => codes.push(reasonCode))
  const guessing = await strict.device({ clientId: 'guessing' })
  await guessing.publish(`${prefix}-wrong/json`, '1')
  await guessing.client.subscribeAsync(['#', 'kp1/+/test/+/x'])
  await silent.closed(5000)
  await guessing.closed(5000)
  assert.deepEqual(codes, [0x87])
  for (const { client } of [known, identified, listener]) assert.ok(client.connected)
  await eventually(async () => {
    // Refusals of one address within a second are combined into one row.
    const refusals = await strict.waypost.kit.db.sql`
      select count, detail from traffic_log.refusals where reason = 'stranger_timeout'`
    assert.equal(
      refusals.reduce((sum, { count }) => sum + Number(count), 0),
      2,
    )
    assert.match(refusals[0]?.detail, /neither credentials nor a valid token within 1 s/)
  })
  // The endpoint of this client has moved to another connection. The connection of the client stays open, because it was identified before.
  const moved = await strict.device()
  await moved.publish(`${prefix}/json`, '1')
  await identified.publish(`${prefix}/json/1`, '1')
  await identified.receives(`${prefix}/json/1/status`)
})

test('messages and refusals are recorded in the traffic log', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const sensor = await device({ clientId: 'written-down' })
  await sensor.publish(`${prefix}/json/3`, 'payload')
  await sensor.receives(`${prefix}/json/3/status`)
  await sensor.publish(`${prefix}x/json/3`, 'payload')
  await eventually(async () => {
    const records = await storedTraffic(waypost.kit.db.sql, { tenantId: 'default', endpointId })
    assert.deepEqual(
      records.map(({ outbound, requestId, resourcePath, payload, extension }) => ({
        outbound,
        requestId,
        resourcePath,
        payload: payload.toString(),
        extension,
      })),
      [
        { outbound: false, requestId: 3, resourcePath: '/json', payload: 'payload', extension: 'test' },
        { outbound: true, requestId: 3, resourcePath: '/json', payload: '', extension: 'test' },
      ],
    )
    const [refusal] = await waypost.kit.db.sql`select * from traffic_log.refusals where client_id = 'written-down'`
    assert.equal(refusal?.reason, 'token_unknown')
    assert.equal(refusal?.tenantId, 'default')
  })
})
