import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { noConfigurations } from '../../kernel/device-configuration.ts'
import { endpointConfigurations } from './device.ts'

const extension = endpointConfigurations(noConfigurations, { observe: async () => {} })
const say = sendTo(extension)

test('a device without a configuration is told so', async () => {
  assert.equal(extension.name, 'cmx')
  const none = { configId: '', config: null, statusCode: 200, reasonPhrase: 'ok' }
  assert.deepEqual(await say('/config/json', { configId: 'c1' }), { payload: none, always: true })
  await rejectsWith(say('/applied/json', { configId: 'c1' }, { requestId: 1 }), 404)
})
