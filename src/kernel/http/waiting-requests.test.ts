import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { releaseWhileWaiting } from './waiting-requests.ts'

test('waiting requests with the same token share one copy of it and keep no body, and their headers stay the same', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const bytes = Buffer.from(`Bearer ${'x'.repeat(10_000)}`)
  const aRequest = () => {
    const authorization = bytes.toString()
    const raw = { headers: { authorization }, rawHeaders: ['Host', 'x', 'Authorization', authorization] }
    return { raw, body: Buffer.alloc(10_000) as Buffer | undefined }
  }
  releaseWhileWaiting({ raw: aRequest() as never })
  collect()
  const used = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = used()
  const requests = Array.from({ length: 1000 }, () => {
    const request = aRequest()
    releaseWhileWaiting({ raw: request as never })
    return request
  })
  collect()
  const each = (used() - before) / requests.length
  assert.ok(each < 2000, `${each} bytes`)
  const { raw, body } = requests.at(-1)!
  const expected = bytes.toString()
  assert.deepEqual(raw, { headers: { authorization: expected }, rawHeaders: ['Host', 'x', 'Authorization', expected] })
  assert.equal(body, undefined)
  releaseWhileWaiting({ raw: { raw: { headers: {}, rawHeaders: [] }, body: undefined } as never })
})
