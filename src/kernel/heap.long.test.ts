import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectGarbageOfStart } from './heap.ts'

test('the garbage of the start is collected when the process is idle, and not earlier', async () => {
  const everyMs = 40
  let garbage: unknown[] | undefined = Array.from({ length: 400_000 }, (_, index) => ({ index }))
  const before = process.memoryUsage().heapUsed
  const work = setInterval(() => {
    const until = performance.now() + everyMs / 2
    while (performance.now() < until);
  }, everyMs)
  let collected = false
  const collecting = collectGarbageOfStart(everyMs).then(() => {
    collected = true
  })
  const checks = new Promise<void>((resolve) => setTimeout(resolve, 6 * everyMs))
  await checks
  assert.equal(collected, false)
  assert.equal(garbage?.length, 400_000)
  garbage = undefined
  clearInterval(work)
  const keepAlive = setInterval(() => {}, everyMs)
  await collecting
  clearInterval(keepAlive)
  assert.ok(process.memoryUsage().heapUsed < before - 8_000_000)
})
