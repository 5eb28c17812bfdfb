import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { aRecord } from '../../../test/harness/traffic-log.ts'
import { startUndisturbedTime } from '../../../test/harness/undisturbed-time.ts'
import { sleep } from '../../kernel/clock.ts'
import { createLog } from '../../kernel/log.ts'
import { createMetrics } from '../../kernel/metrics.ts'
import { createWriter, type WriterOptions } from './writer.ts'

const log = await createLog({ level: 'silent', format: 'json' })

const aWriter = (options: Partial<WriterOptions> & Pick<WriterOptions, 'write'>) =>
  createWriter({
    isTemporary: () => true,
    payloadBytesMax: 1024,
    writerId: 'writer',
    now: () => new Date(),
    log,
    metrics: createMetrics(),
    ...options,
  })

suite('group commit', () => {
  test('an idle log writes immediately, and records that are added during a write share the next write', async () => {
    const sizes: number[] = []
    const writer = aWriter({
      async write(rows) {
        sizes.push(rows.count)
      },
    })
    const first = writer.add(aRecord())
    await eventually(() => assert.equal(sizes.length, 1), { everyMs: 1 })
    const others = Array.from({ length: 100 }, () => writer.add(aRecord()))
    assert.equal(new Set(others).size, 1)
    await Promise.all([first, ...others])
    assert.deepEqual(sizes, [1, 100])
  })

  test('at most two writes run at a time, each with a limited number of rows', async () => {
    let [now, most] = [0, 0]
    const sizes: number[] = []
    const writer = aWriter({
      async write(rows) {
        most = Math.max(most, ++now)
        sizes.push(rows.count)
        await sleep(10)
        now--
      },
    })
    await Promise.all(Array.from({ length: 23_000 }, () => writer.add(aRecord())))
    assert.equal(most, 2)
    assert.deepEqual(sizes, [5000, 5000, 5000, 5000, 3000])
  })

  test('no promise resolves before the commit', async () => {
    const commit = Promise.withResolvers<void>()
    const writer = aWriter({ write: () => commit.promise })
    let isReported = false
    const recorded = writer.add(aRecord()).then(() => {
      isReported = true
    })
    await sleep(30)
    assert.equal(isReported, false)
    commit.resolve()
    await recorded
  })

  test('a write is retried while the database is unreachable, and is marked as a retry', async () => {
    const attempts: [isRetry: boolean, batchId: string][] = []
    const writer = aWriter({
      async write(batches, isRetry) {
        attempts.push([isRetry, batches.finish()[0]!.batchId])
        if (attempts.length < 3) throw Object.assign(new Error('unreachable'), { code: 'ECONNREFUSED' })
      },
    })
    await writer.add(aRecord({ correlationId: 'c-1' }))
    assert.deepEqual(attempts, [
      [false, 'writer-1'],
      [true, 'writer-1'],
      [true, 'writer-1'],
    ])
  })

  test('after the time-out a record is rejected with 503 and not retried', async () => {
    let attempts = 0
    const writer = aWriter({
      timeoutMs: 200,
      async write() {
        attempts++
        throw new Error('unreachable')
      },
    })
    await assert.rejects(writer.add(aRecord()), { status: 503 })
    await writer.drained()
    const attemptsBefore = attempts
    await sleep(300)
    assert.equal(attempts, attemptsBefore)
  })

  test('the time-out also applies if the database does not respond at all', async () => {
    const writer = aWriter({ timeoutMs: 50, write: () => new Promise(() => {}) })
    await assert.rejects(writer.add(aRecord()), { status: 503 })
  })

  test('a record that can never be written is rejected immediately, and the next record is written', async () => {
    let bad = true
    const writer = aWriter({
      isTemporary: () => false,
      async write() {
        if (bad) throw new Error('never')
      },
    })
    await assert.rejects(writer.add(aRecord()), /never/)
    bad = false
    await writer.add(aRecord())
  })

  test('records beyond the memory limit are rejected', async () => {
    const writeGate = Promise.withResolvers<void>()
    const writer = aWriter({ payloadBytesMax: 1_000_000, write: () => writeGate.promise, timeoutMs: 60_000 })
    const payload = Buffer.alloc(1_000_000, 'x')
    const outcomes = Array.from({ length: 140 }, () => writer.add(aRecord({ payload })))
    const undisturbedMs = startUndisturbedTime()
    await assert.rejects(outcomes.at(-1)!, { status: 503 })
    assert.ok(undisturbedMs() < 1000, `${undisturbedMs()} ms`)
    writeGate.resolve()
    await Promise.allSettled(outcomes)
  })

  test('drained resolves when all pending records are written', async () => {
    let written = 0
    const writer = aWriter({
      async write(rows) {
        await sleep(10)
        written += rows.count
      },
    })
    for (let n = 0; n < 12_000; n++) void writer.add(aRecord())
    await writer.drained()
    assert.equal(written, 12_000)
    await eventually(() => assert.equal(written, 12_000))
  })
})
