import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { nativeThreadId, processorMsOf } from './thread-time.ts'

test('the measured time includes the processor time of a busy thread, and excludes the time in which it waits', {
  skip: nativeThreadId() === 0,
}, async () => {
  const cells = new Int32Array(new SharedArrayBuffer(12))
  // The thread waits for the first signal, then uses 200 ms of processor time in one piece and waits again.
  const worker = new Worker(
    `const { workerData: cells } = require('node:worker_threads')
     Atomics.store(cells, 0, Number(require('node:fs').readlinkSync('/proc/thread-self').split('/').at(-1)))
     Atomics.notify(cells, 0)
     Atomics.wait(cells, 1, 0)
     const usedMs = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000 }
     for (const before = usedMs(); usedMs() < before + 200; );
     Atomics.store(cells, 2, 1)
     Atomics.notify(cells, 2)
     Atomics.wait(cells, 1, 1)`,
    { eval: true, workerData: cells },
  )
  await Atomics.waitAsync(cells, 0, 0).value
  const id = cells[0]!
  const before = processorMsOf(id)!
  await new Promise((done) => setTimeout(done, 100))
  const waited = processorMsOf(id)! - before
  assert.ok(waited < 50, `${waited} ms`)
  Atomics.store(cells, 1, 1)
  Atomics.notify(cells, 1)
  await Atomics.waitAsync(cells, 2, 0).value
  const used = processorMsOf(id)! - before
  assert.ok(used >= 190 && used < 1000, `${used} ms`)
  await worker.terminate()
  assert.equal(processorMsOf(0), undefined)
})
