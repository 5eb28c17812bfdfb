import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { noConfigurations } from '../../kernel/device-configuration.ts'
import { softwareExtension } from './device.ts'

const gateway = { observe: async () => {} }

test('a device without newer software gets the response {}', async () => {
  const extension = softwareExtension(noConfigurations, gateway)
  assert.equal(extension.name, 'cmx_ota')
  const send = sendTo(extension)
  const nothing = { payload: {}, always: true }
  assert.deepEqual(await send('/config/json'), nothing)
  assert.deepEqual(await send('/config/json', { configId: '1.0.0' }), nothing)
  await rejectsWith(send('/applied/json', { configId: '1.0.0' }, { requestId: 1 }), 404)
})

test('a device gets a newer version with its specification', async () => {
  const newer = { configId: '1.1.0', config: { link: 'https://…' } }
  const send = sendTo(softwareExtension({ ...noConfigurations, current: async () => newer }, gateway))
  const full = { ...newer, statusCode: 200, reasonPhrase: 'ok' }
  assert.deepEqual((await send('/config/json', { configId: '1.0.0' }))?.payload, full)
  assert.deepEqual((await send('/config/json', { configId: '1.1.0' }))?.payload, {})
})
