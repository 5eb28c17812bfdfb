/** Device extensions over real MQTT, without a subscription, and over HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uploadTokens } from '../../src/services/binary-data/device.ts'
import binaryData from '../../src/services/binary-data/index.ts'
import commandService from '../../src/services/commands/index.ts'
import configuration from '../../src/services/configuration/index.ts'
import software from '../../src/services/software/index.ts'
import tenants from '../../src/services/tenants/index.ts'
import { dataCollection } from '../../src/services/time-series/device.ts'
import timeSync from '../../src/services/time-sync/index.ts'
import { eventually } from '../harness/eventually.ts'
import { openGateway, services } from '../harness/gateway.ts'
import { invocations } from '../harness/invocations.ts'

const samples: unknown[] = []
const { device, aProvisionedEndpoint, admin, httpUrl, metadataOf } = await openGateway({
  services: [...services, commandService, configuration, tenants, binaryData, software, timeSync],
  listeners: [
    dataCollection({
      timeSeries: { collect: async (_message, given) => void samples.push(...given) },
      enriched: (_endpoint, given) => given,
      bus: { isWanted: () => false },
      connectivityChanged: async () => {},
    }),
    uploadTokens({ issueUploadToken: async ({ endpointId }) => `up-${endpointId}` }),
  ],
})

const commands = invocations(admin)

/** Creates an endpoint with its topics and a function that sends its messages over HTTP. */
async function aTestEndpoint() {
  const endpoint = await aProvisionedEndpoint()
  const topic = (extension: string, rest = '') => `kp1/${endpoint.version}/${extension}/${endpoint.token}${rest}`
  const post = async (extension: string, rest: string, payload: unknown = '') => {
    const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
    const answer = await fetch(`${httpUrl}/${topic(extension, rest)}`, { method: 'POST', body })
    const text = await answer.text()
    return [answer.status, text === '' ? '' : JSON.parse(text)]
  }
  /** Writes the configuration of the endpoint. Returns the payload that the platform sends to the device. */
  const configure = async (config: unknown) => {
    const { status, body, text } = await admin(
      `PUT /ecr/api/v1/endpoints/${endpoint.endpointId}/app-versions/${endpoint.version}`,
      config,
    )
    assert.equal(status, 200, text)
    return { configId: body.configId, config, statusCode: 200, reasonPhrase: 'ok' }
  }
  return { ...endpoint, topic, post, configure }
}

test('over HTTP, the response to a message contains the answer of the extension', async () => {
  const { post, app, endpointId, configure } = await aTestEndpoint()
  const full = await configure({ interval: 5 })
  const [status, time] = await post('tsx', '', { timezone: 'Pacific/Easter' })
  assert.equal(status, 200)
  assert.match(time.time, /^20\d\d-.*-0[56]:00$/)
  assert.equal((await post('tsx', ''))[1].timezone, 'UTC')
  assert.deepEqual(await post('epmx', '/update/keys', { city: 'Kyiv' }), [200, ''])
  assert.deepEqual(await post('epmx', '/get/5'), [200, { city: 'Kyiv' }])
  assert.deepEqual(await post('cmx', '/config/json'), [200, full])
  assert.deepEqual(await post('cmx', '/config/json', { configId: full.configId }), [200, {}])
  assert.deepEqual(await post('cmx_ota', '/config/json'), [200, {}])
  assert.deepEqual(await post('cex', '/command/reboot'), [200, []])
  assert.deepEqual(await post('cex', '/result/reboot', [{ id: 9, statusCode: 200 }]), [200, ''])
  assert.deepEqual(await post('bcx', '/token'), [200, { token: `up-${endpointId}` }])
  assert.deepEqual(await post('dcx', '/json', [{ http: 1 }]), [200, ''])
  assert.deepEqual(samples.at(-1), { http: 1 })
  assert.deepEqual(await post('dcx', '/plain/altitude', '2061m'), [200, ''])
  assert.deepEqual(samples.at(-1), { 'altitude-value': 2061, 'altitude-unit': 'm' })
  const adx = { adx: { platform: { applications: { [app]: { limits: { high: null } } } } } }
  assert.equal((await admin(`PUT /api/v1/app-configs/applications/${app}`, adx)).status, 204)
  assert.deepEqual(await post('adx', '/json', { q: 'limits' }), [200, { high: null }])
  assert.deepEqual(await post('adx', '/json', { q: 'limits.high' }), [200, null])
  assert.deepEqual((await post('adx', '/json', { q: 'nothing' }))[0], 404)
  const [refusedWith, error] = await post('dcx', '/json', '{')
  assert.deepEqual([refusedWith, error.statusCode], [400, 400])
  assert.match(error.reasonPhrase, /payload: malformed JSON/)
  assert.deepEqual((await post('epmx', '/update/keys', { connected: true }))[0], 403)
})

test('over MQTT, a request without a request id gets a response only if it reads configuration, token, metadata or time', async () => {
  const { topic, endpointId } = await aTestEndpoint()
  const sensor = await device()
  await sensor.publish(topic('cmx', '/config/json'))
  const none = { configId: '', config: null, statusCode: 200, reasonPhrase: 'ok' }
  assert.deepEqual((await sensor.receives(topic('cmx', '/config/json/status'))).json, none)
  await sensor.publish(topic('bcx', '/token'))
  assert.deepEqual((await sensor.receives(topic('bcx', '/token/status'))).json, { token: `up-${endpointId}` })
  await eventually(async () => {
    const { body } = await admin(`GET /api/v1/al/endpoint-traffic?endpointIds=${endpointId}&extension=bcx`)
    const payloads = body.content.map(({ payload }: { payload?: string }) => payload)
    assert.ok(payloads.includes('{"token":"***"}'), 'the traffic log must hide the token')
    assert.ok(!JSON.stringify(body).includes(`up-${endpointId}`))
  })
  // The gateway writes connectivity metadata in batches, so the test waits.
  await eventually(async () => assert.equal((await metadataOf(endpointId)).connected, true))
  await sensor.publish(topic('epmx', '/get'))
  assert.equal((await sensor.receives(topic('epmx', '/get/status'))).json.connected, true)
  await sensor.publish(topic('tsx'))
  assert.equal((await sensor.receives(topic('tsx', '/status'))).json.timezone, 'UTC')
  for (const [extension, path, payload] of [
    ['dcx', '/json', '[1]'],
    ['epmx', '/update/keys', '{"city": "Kyiv"}'],
    ['cex', '/command/reboot', ''],
    ['cex', '/result/reboot', '[{"id": 9, "statusCode": 200}]'],
    ['cmx_ota', '/applied/json', '{"configId": "c1"}'],
  ] as const)
    await sensor.publish(topic(extension, path), payload)
  await sensor.receivesNothing()
  assert.equal((await metadataOf(endpointId)).city, 'Kyiv')
  await sensor.publish(topic('cex', '/command/reboot/0'))
  assert.deepEqual((await sensor.receives(topic('cex', '/command/reboot/0/status'))).json, [])
  await sensor.publish(topic('cex', '/result/reboot/1'), [{ id: 9, statusCode: 200 }])
  assert.equal((await sensor.receives(topic('cex', '/result/reboot/1/error'))).json.statusCode, 400)
  await sensor.publish(topic('cmx_ota', '/applied/json/2'), { configId: 'c1' })
  assert.equal((await sensor.receives(topic('cmx_ota', '/applied/json/2/error'))).json.statusCode, 404)
  await sensor.publish(topic('dcx', '/json'), '[')
  assert.equal((await sensor.receives(topic('dcx', '/json/error'))).json.statusCode, 400)
})

test('pending pushes arrive on connect, new pushes arrive immediately, and pushes that the device has turned off never arrive', async () => {
  const { topic, endpointId, configure } = await aTestEndpoint()
  const full = await configure({ interval: 5 })
  const first = await commands.invoke(endpointId, 'reboot')
  const sensor = await device()
  await sensor.publish(topic('dcx', '/json'), '1')
  assert.deepEqual((await sensor.receives(topic('cmx', '/config/json/status'))).json, full)
  assert.deepEqual((await sensor.receives(topic('cex', '/command/reboot/status'))).json, [{ id: first }])
  await sensor.publish(topic('cmx', '/applied/json/1'), { configId: full.configId })
  assert.equal((await sensor.receives(topic('cmx', '/applied/json/1/status'))).text, '')
  await sensor.publish(topic('cex', '/result/reboot'), [{ id: first, statusCode: 200, payload: 'done' }])
  const { statusCode, responsePayload } = await commands.get(endpointId, 'reboot', first)
  assert.deepEqual([statusCode, responsePayload], [200, 'done'])

  const second = await commands.invoke(endpointId, 'light', { on: true })
  assert.deepEqual((await sensor.receives(topic('cex', '/command/light/status'))).json, [
    { id: second, payload: { on: true } },
  ])
  const next = await configure({ interval: 6 })
  assert.deepEqual((await sensor.receives(topic('cmx', '/config/json/status'))).json, next)

  await sensor.publish(topic('cmx', '/config/json/3'), { observe: false, configId: next.configId })
  assert.deepEqual((await sensor.receives(topic('cmx', '/config/json/3/status'))).json, {})
  await configure({ interval: 7 })
  await sensor.receivesNothing()
})
