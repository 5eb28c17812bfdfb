/** Measures the memory that many searches at the same time use: the heap of this process, in which the platform runs too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openIngest } from '../../../test/harness/ingest.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const megabytes = () => {
  collect()
  return process.memoryUsage().heapUsed / 1e6
}

test('of many searches with large documents, only a few hold their documents at the same time, and all searches are answered', async () => {
  const { aCollectingEndpoint, send, search } = await openIngest()
  const endpoint = await aCollectingEndpoint()
  const sample = Object.fromEntries(
    Array.from({ length: 2000 }, (_, n) => [`f${'n'.repeat(100)}${n}`, 'x'.repeat(250)]),
  )
  for (let n = 0; n < 12; n++) await send(endpoint, { ...sample, n })
  const request = { size: 100, _source: ['dataSample.n', ...Array.from({ length: 15 }, (_, n) => `*x${n}y*z`)] }
  assert.equal((await search(endpoint.index, request)).hits.hits.length, 12)
  const before = megabytes()
  let largest = 0
  let isOver = false
  const searches = Promise.all(Array.from({ length: 6 }, () => search(endpoint.index, request))).finally(() => {
    isOver = true
  })
  while (!isOver) {
    largest = Math.max(largest, megabytes() - before)
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  for (const { hits } of await searches) assert.equal(hits.hits.length, 12)
  // The documents of one search have 9 MB. Two searches of a tenant run at the same time.
  assert.ok(largest < 50, `${largest.toFixed(0)} MB`)
})
