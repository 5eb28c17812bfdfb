import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfEach } from '../../../test/harness/memory.ts'
import { releaseWhileWaiting } from './waiting-requests.ts'

test('waiting requests with the same token share one copy of it and keep no body, and their headers stay the same', async () => {
  const bytes = Buffer.from(`Bearer ${'x'.repeat(10_000)}`)
  const aRequest = () => {
    const authorization = bytes.toString()
    const raw = { headers: { authorization }, rawHeaders: ['Host', 'x', 'Authorization', authorization] }
    return { raw, body: Buffer.alloc(10_000) as Buffer | undefined }
  }
  releaseWhileWaiting({ raw: aRequest() as never })
  let requests: { raw: unknown; body: unknown }[] = []
  let last: (typeof requests)[number] | undefined
  const fill = () => {
    requests = Array.from({ length: 1000 }, () => {
      const request = aRequest()
      releaseWhileWaiting({ raw: request as never })
      return request
    })
  }
  const clear = () => {
    last = requests.at(-1)
    requests = []
  }
  const each = await bytesOfEach(1000, 2000, fill, clear)
  assert.ok(each < 2000, `${each} bytes`)
  const { raw, body } = last!
  const expected = bytes.toString()
  assert.deepEqual(raw, { headers: { authorization: expected }, rawHeaders: ['Host', 'x', 'Authorization', expected] })
  assert.equal(body, undefined)
  releaseWhileWaiting({ raw: { raw: { headers: {}, rawHeaders: [] }, body: undefined } as never })
})
