import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { uploadTokens } from './device.ts'

suite('bcx', () => {
  const send = sendTo(uploadTokens({ issueUploadToken: async ({ endpointId }) => `token of ${endpointId}` }))

  test('bcx returns a token for any payload, whether or not the message has a request id', async () => {
    for (const payload of ['', '{}', 'anything'])
      assert.deepEqual(await send('/token', payload), {
        payload: { token: 'token of ep-1' },
        recordedPayload: { token: '***' },
        always: true,
      })
    assert.deepEqual((await send('/token', '', { requestId: 0 }))?.payload, { token: 'token of ep-1' })
  })

  test('bcx rejects unknown resources', async () => {
    for (const path of ['', '/token/', '/tokens', '/token/a']) await rejectsWith(send(path), 404)
  })
})
