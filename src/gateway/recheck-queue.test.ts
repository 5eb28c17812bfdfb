import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { createRecheckQueue } from './recheck-queue.ts'

const times = { atOnce: 4, retryMs: 5, retryMsMax: 40 }

function aQueue() {
  const failures: { message: string; remaining: number; retryInMs: number }[] = []
  const stop = new AbortController()
  const queue = createRecheckQueue({
    logFailure: (error, remaining, retryInMs) =>
      void failures.push({ message: (error as Error).message, remaining, retryInMs }),
    stopping: stop.signal,
    times,
  })
  return { ...queue, failures, stop: () => stop.abort() }
}

test('a check that fails is retried with growing pauses until it succeeds, and no check is lost', async () => {
  const { add, failures } = aQueue()
  let isReachable = false
  const done = new Map<number, number>()
  let attempts = 0
  for (let n = 0; n < 100; n++)
    add(n, async () => {
      attempts++
      await new Promise(setImmediate)
      if (!isReachable) throw new Error('unreachable')
      done.set(n, (done.get(n) ?? 0) + 1)
    })
  await eventually(() => assert.ok(failures.length >= 4))
  assert.deepEqual(
    failures.slice(0, 4).map(({ retryInMs }) => retryInMs),
    [5, 10, 40, 40],
    'the failures 1, 2, 4 and 8 must be reported, and the pauses must grow to 40 ms',
  )
  assert.ok(failures.every(({ remaining, message }) => remaining === 100 && message === 'unreachable'))
  assert.ok(attempts <= 4 * 2 ** failures.length, `${attempts} attempts`)
  isReachable = true
  await eventually(() => assert.equal(done.size, 100))
  assert.ok([...done.values()].every((count) => count === 1))
})

test('a check that always fails does not delay other checks', async () => {
  const { add, failures, stop } = aQueue()
  const done = new Set<string>()
  for (const name of ['bad', 'worse'])
    add(name, async () => {
      throw new Error(name)
    })
  for (let n = 0; n < 20; n++) add(`${n}`, async () => void done.add(`${n}`))
  await eventually(() => assert.equal(done.size, 20))
  await eventually(() => assert.equal(failures.at(-1)?.remaining, 2))
  stop()
})

test('a new check replaces a waiting check of the same subject; if a check of the subject runs, the new check starts after its end', async () => {
  const { add, failures } = aQueue()
  const ran: string[] = []
  add('a', async () => void ran.push('replaced'))
  add('a', async () => {
    ran.push('first')
    if (ran.length === 1) add('a', async () => void ran.push('second'))
    throw new Error('too early')
  })
  await eventually(() => assert.deepEqual(ran, ['first', 'second']))
  assert.equal(failures.length, 1)
})

test('a check does not start while another check of the same subject runs', async () => {
  const { add } = aQueue()
  const ran: string[] = []
  const started = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  add('a', async () => {
    started.resolve()
    await mayEnd.promise
    ran.push('first')
    throw new Error('too late')
  })
  await started.promise
  add('a', async () => void ran.push('second'))
  add('b', async () => void ran.push('other'))
  await new Promise((resolve) => setTimeout(resolve, 20))
  mayEnd.resolve()
  await eventually(() => assert.equal(ran.filter((name) => name === 'second').length, 1))
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(
    ran.filter((name) => name !== 'other'),
    ['first', 'second'],
  )
})

test('no check is retried when the process stops', async () => {
  const { add, failures, stop } = aQueue()
  let attempts = 0
  add('a', async () => {
    attempts++
    throw new Error('unreachable')
  })
  await eventually(() => assert.ok(failures.length > 0))
  stop()
  const before = attempts
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.ok(attempts <= before + 1)
})
