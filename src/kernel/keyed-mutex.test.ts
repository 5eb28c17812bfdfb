import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { TooManyRequests } from './errors.ts'
import { createKeyedMutex } from './keyed-mutex.ts'

suite('a keyed mutex', () => {
  test('a keyed mutex runs the tasks of a key one at a time and in order, even after a failure', async () => {
    const mutex = createKeyedMutex()
    const first = Promise.withResolvers<void>()
    const done: string[] = []
    const failing = mutex.run('a', async () => {
      await first.promise
      done.push('first')
      throw new Error('failed')
    })
    const second = mutex.run('a', async () => void done.push('second'))
    assert.deepEqual([mutex.isBusy('a'), mutex.isBusy('b')], [true, false])
    await mutex.run('b', async () => void done.push('of another key'))
    assert.deepEqual(done, ['of another key'])
    first.resolve()
    await assert.rejects(failing, /failed/)
    await second
    assert.deepEqual(done, ['of another key', 'first', 'second'])
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(mutex.isBusy('a'), false)
  })

  test('a keyed mutex starts immediately if nothing runs, and turns a throw into a rejection', async () => {
    const mutex = createKeyedMutex()
    let started = false
    const running = mutex.run('a', async () => {
      started = true
    })
    assert.ok(started)
    await running
    await assert.rejects(
      mutex.run('b', () => {
        throw new Error('thrown')
      }),
      /thrown/,
    )
    assert.equal(await mutex.run('b', async () => 1), 1)
  })

  test('if a running task enqueues a task with the same key, even before its first await, the new task runs after the running task', async () => {
    const mutex = createKeyedMutex()
    const steps: string[] = []
    let inner: Promise<void> | undefined
    await mutex.run('a', async () => {
      inner = mutex.run('a', async () => void steps.push('inner'))
      await new Promise((resolve) => setImmediate(resolve))
      steps.push('outer')
    })
    await inner
    assert.deepEqual([steps, mutex.isBusy('a')], [['outer', 'inner'], false])
  })

  test('a keyed mutex rejects tasks above the limit of waiting tasks', async () => {
    const mutex = createKeyedMutex({ waitingMax: 2 })
    const first = Promise.withResolvers<void>()
    const waiting = Array.from({ length: 3 }, () => mutex.run('a', () => first.promise))
    await assert.rejects(
      mutex.run('a', async () => {}),
      TooManyRequests.is,
    )
    first.resolve()
    await Promise.all(waiting)
    await mutex.run('a', async () => {})
  })
})
