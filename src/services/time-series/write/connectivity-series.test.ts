import assert from 'node:assert/strict'
import { connect as connectSocket } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../../test/harness/gateway.ts'
import { readPoints } from '../../../../test/harness/series-reader.ts'
import { EndpointsConnected, EndpointsDisconnected } from '../../../gateway/events.ts'
import { Applications } from '../../applications/contract.ts'
import { Register } from '../../register/contract.ts'
import { TimeSeries } from '../contract.ts'
import timeSeries from '../index.ts'
import { createConnectivitySeries } from './connectivity-series.ts'

const fixture = await openGateway({
  services: [...services, timeSeries],
  environment: { WAYPOST_SERIES_PER_APPLICATION: '2' },
})
const { admin, device, anApplication, anEndpoint, metadataOf, mqttUrl, waypost } = fixture
const { sql } = waypost.kit.db

const publishedStates: [string, string][] = []
waypost.kit.bus.subscribe(EndpointsConnected, ({ endpointIds }) =>
  publishedStates.push(...endpointIds.map((id) => [id, 'on'] as [string, string])),
)
waypost.kit.bus.subscribe(EndpointsDisconnected, ({ endpointIds }) =>
  publishedStates.push(...endpointIds.map((id) => [id, 'off'] as [string, string])),
)
const statesOf = (endpointId: string) => publishedStates.filter(([id]) => id === endpointId).map(([, what]) => what)

async function configure(app: string, connectivity: object, version?: string) {
  const config = version ? { versions: { [version]: { connectivity } } } : { connectivity }
  const path = `PUT /api/v1/app-configs/applications/${app}${version ? `/app-versions/${version}` : ''}`
  const answer = await admin(path, { epl: { platform: { applications: { [app]: config } } } })
  assert.equal(answer.status, 204, answer.text)
}

/** Returns the values of the series in time order. */
const valuesOf = async (endpointId: string, name = 'presence') =>
  ((await readPoints(sql, endpointId))[`${name}/value`] ?? []).toSorted(([a], [b]) => a - b).map(([, value]) => value)

test('connects and disconnects are stored as 1 and 0 if the version configures a series', async () => {
  const { app, version } = await anApplication(['v1', 'v2'])
  await configure(app, { 'time-series': { name: 'presence' }, 'metadata-keys': { state: 'online' } }, version)
  const configuredEndpoint = await anEndpoint(version)
  const otherEndpoint = await anEndpoint(`${app}-v2`)
  const both = await device()
  await both.publish(`kp1/${version}/test/${configuredEndpoint.token}/json`, '1')
  await both.publish(`kp1/${app}-v2/test/${otherEndpoint.token}/json`, '1')
  await eventually(async () => assert.deepEqual(await valuesOf(configuredEndpoint.endpointId), [1]))
  const { connectivity_ts, ...own } = await metadataOf(configuredEndpoint.endpointId)
  assert.deepEqual(own, { online: true })
  assert.deepEqual((await readPoints(sql, configuredEndpoint.endpointId))['presence/value'], [
    [Date.parse(connectivity_ts), 1],
  ])
  await both.end()
  await eventually(async () => assert.deepEqual(await valuesOf(configuredEndpoint.endpointId), [1, 0]))
  await eventually(async () => assert.equal((await metadataOf(otherEndpoint.endpointId)).connected, false))
  assert.deepEqual(await readPoints(sql, otherEndpoint.endpointId), {})
  const asking = 'timeSeriesName=presence&fromDate=2020-01-01&toDate=2100-01-01'
  const read = await admin(`GET /epts/api/v1/applications/${app}/time-series/data?${asking}`)
  assert.equal(read.status, 200, read.text)
  assert.deepEqual(
    read.body[0][configuredEndpoint.endpointId].presence.map(({ values }: { values: object }) => values),
    [{ value: 1 }, { value: 0 }],
  )
})

test('for a client that connects, publishes and disconnects in one TCP segment, the series has a connect and then a disconnect', async () => {
  const { app, version } = await anApplication()
  await configure(app, { 'time-series': { name: 'presence' } })
  const { endpointId, token } = await anEndpoint(version)
  // CONNECT, PUBLISH (QoS 0) and DISCONNECT are sent in one TCP segment.
  const text = (value: string) => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)])
  const packet = (header: number, ...parts: Buffer[]) => {
    const body = Buffer.concat(parts)
    return Buffer.concat([Buffer.from([header, body.length]), body])
  }
  const connect = packet(0x10, text('MQTT'), Buffer.from([4, 2, 0, 0]), text('one-segment'))
  const publish = packet(0x30, text(`kp1/${version}/test/${token}/json`), Buffer.from('1'))
  const { hostname, port } = new URL(mqttUrl)
  const socket = connectSocket(Number(port), hostname)
  socket.on('error', () => {})
  socket.end(Buffer.concat([connect, publish, publish, packet(0xe0)]))
  await eventually(() => assert.deepEqual(statesOf(endpointId), ['on', 'off']))
  await eventually(async () => assert.deepEqual(await valuesOf(endpointId), [1, 0]))
  assert.equal((await metadataOf(endpointId)).connected, false)
  await eventually(async () =>
    assert.equal((await sql`select from gateway.bindings where endpoint_id = ${endpointId}`).length, 0),
  )
})

test('repeated connects and disconnects within a batch are stored in order', async () => {
  const { app, version } = await anApplication()
  await configure(app, { 'time-series': { name: 'presence' } })
  const { endpointId, token } = await anEndpoint(version)
  const [first, second] = [await device(), await device()]
  for (const by of [first, second, first]) await by.publish(`kp1/${version}/test/${token}/json`, '1')
  await first.end()
  await eventually(async () => {
    const values = await valuesOf(endpointId)
    assert.deepEqual(values, [1, 0, 1, 0, 1, 0].slice(0, values.length))
    assert.deepEqual(statesOf(endpointId), ['on', 'off', 'on', 'off', 'on', 'off'])
    assert.equal(values.length, 6)
  })
  await second.end()
})

test('messages are queued in a persistent session even if the last connection was very short', async () => {
  const { version } = await anApplication()
  const { endpointId, token } = await anEndpoint(version)
  const prefix = `kp1/${version}/test/${token}`
  const visitor = await device({ clientId: 'short-visit', clean: false })
  await visitor.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  await visitor.end()
  const push = { extension: 'test', resourcePath: '/command/reboot', payload: 1 }
  await eventually(async () => assert.equal(await fixture.gateway.send(endpointId, push), 'queued'))
  const reconnected = await device({ clientId: 'short-visit', clean: false })
  await reconnected.client.subscribeAsync(`${prefix}/#`, { qos: 1 })
  await reconnected.receives(`${prefix}/command/reboot/status`)
  await reconnected.end()
})

test('if the application is at its limit of series, no series is stored, but the connectivity is reported', async () => {
  const { app, version } = await anApplication()
  const { endpointId, token } = await anEndpoint(version)
  const sensor = await device()
  await sensor.publish(`kp1/${version}/dcx/${token}/json/1`, { a: 1, b: 2 })
  await sensor.receives(`kp1/${version}/dcx/${token}/json/1/status`)
  await eventually(() => assert.deepEqual(statesOf(endpointId), ['on']))
  await configure(app, { 'time-series': { name: 'presence' } })
  await sensor.end()
  await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, false))
  await eventually(async () =>
    assert.equal((await sql`select from gateway.bindings where endpoint_id = ${endpointId}`).length, 0),
  )
  assert.deepEqual(statesOf(endpointId), ['on', 'off'])
  assert.deepEqual(await valuesOf(endpointId), [])
})

test('an unregistered endpoint gets no points', async () => {
  const { app: applicationName, version: versionName } = await anApplication()
  await configure(applicationName, { 'time-series': { name: 'presence' } })
  const { endpointId } = await anEndpoint(versionName)
  const series = createConnectivitySeries({
    log: waypost.kit.log,
    applications: waypost.ask(Applications),
    register: waypost.ask(Register),
    putPoints: waypost.ask(TimeSeries).putPoints,
  })
  const change = { connected: true, at: new Date() }
  const endpoint = { tenantId: 'default', applicationName, versionName, endpointId }
  await series.changed([
    { ...change, endpoint: { ...endpoint, endpointId: 'nobody' } },
    { ...change, endpoint },
  ])
  assert.deepEqual(await valuesOf(endpointId), [1])
  assert.equal((await sql`select from time_series.endpoints where endpoint_id = 'nobody'`).length, 0)
})
