import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { noConfigurations } from '../../kernel/device-configuration.ts'
import { endpointConfigurations } from './device.ts'

const extension = endpointConfigurations(noConfigurations, { observe: async () => {} })
const send = sendTo(extension)

test('a device without a configuration gets an empty configId and config null', async () => {
  assert.equal(extension.name, 'cmx')
  const none = { configId: '', config: null, statusCode: 200, reasonPhrase: 'ok' }
  assert.deepEqual(await send('/config/json', { configId: 'c1' }), { payload: none, always: true })
  await rejectsWith(send('/applied/json', { configId: 'c1' }, { requestId: 1 }), 404)
})
