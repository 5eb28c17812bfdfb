import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway } from '../../test/harness/gateway.ts'
import { createListAddresses } from './addresses.ts'

const tenants = { get: async () => undefined }
const listeners = () => ({ mqttUrl: 'mqtt://localhost:1884', mqttsUrl: 'mqtts://localhost:8884' })

test('the list of addresses has the public host, the ports of the listeners, and the credentials that the tenant requires', async () => {
  const { admin, other, mqttUrl, mqttsUrl } = await openGateway()
  const tenants = { default: { config: { transports: { mqtt: { tls: { 'x509-auth': { required: true } } } } } } }
  await admin('PUT /api/v1/tenant-configs', { kpc: { platform: { tenants } } })
  const { status, body } = await admin('GET /kpc/api/v1/addresses')
  assert.equal(status, 200)
  const found = Object.fromEntries(
    body.content.map(({ transport, ...rest }: { transport: string }) => [transport, rest]),
  )
  assert.equal(new URL(found.mqtt.url).port, new URL(mqttUrl).port)
  assert.deepEqual(found.mqtt.required, [])
  assert.equal(new URL(found.mqtts.url).port, new URL(mqttsUrl).port)
  assert.deepEqual(found.mqtts.required, ['x509'])
  assert.match(found.websocket.url, /^ws:.*\/mqtt$/)
  assert.match(found.http.url, /^http:/)
  const theirs = (await other('GET /kpc/api/v1/addresses')).body.content
  assert.ok(
    theirs.every(({ required }: { required: string[] }) => required.length === 0),
    'the list of another tenant must have the requirements of that tenant',
  )
})

test('settings replace addresses, and a setting with a wrong scheme is rejected', async () => {
  const baseUrl = () => 'https://example.com/waypost'
  const settings = { mqttUrl: 'mqtt://devices.example.com', mqttsUrl: undefined }
  const list = createListAddresses({ baseUrl, settings, tenants, listeners })
  assert.deepEqual(
    (await list('default')).map(({ url }) => url),
    [
      'mqtt://devices.example.com',
      'mqtts://example.com:8884',
      'wss://example.com/waypost/mqtt',
      'https://example.com/waypost',
    ],
  )
  for (const wrong of ['https://devices.example.com', 'mqtts://devices.example.com'])
    assert.throws(
      () => createListAddresses({ baseUrl, settings: { ...settings, mqttUrl: wrong }, tenants, listeners }),
      /WAYPOST_MQTT_URL/,
    )
})
