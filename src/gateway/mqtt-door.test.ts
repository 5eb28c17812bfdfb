import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway } from '../../test/harness/gateway.ts'

const { device, aPlace, test: extension } = await openGateway()

test('a first message reaches its extension and is answered', async () => {
  const { prefix, endpointId, version, app } = await aPlace()
  const sensor = await device()
  await sensor.publish(`${prefix}/json/42`, { temperature: 21 })
  const answer = await sensor.hears(`${prefix}/json/42/status`)
  assert.equal(answer.text, '')
  assert.deepEqual(extension.notes.at(-1), {
    endpoint: { tenantId: 'default', applicationName: app, versionName: version, endpointId },
    resourcePath: '/json',
    requestId: 42,
    text: '{"temperature":21}',
  })
})
