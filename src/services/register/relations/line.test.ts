import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { TooManyRequests } from '../../../kernel/errors.ts'
import { createLine } from './line.ts'

suite('a line', () => {
  test('lets in one of a tenant at a time, in order, whatever becomes of the one before', async () => {
    const line = createLine(10)
    const first = Promise.withResolvers<void>()
    const done: string[] = []
    const failing = line.pass('a', async () => {
      await first.promise
      done.push('first')
      throw new Error('failed')
    })
    const second = line.pass('a', async () => void done.push('second'))
    await line.pass('b', async () => void done.push('of another tenant'))
    assert.deepEqual(done, ['of another tenant'])
    first.resolve()
    await assert.rejects(failing, /failed/)
    await second
    assert.deepEqual(done, ['of another tenant', 'first', 'second'])
  })

  test('is not endless', async () => {
    const line = createLine(2)
    const first = Promise.withResolvers<void>()
    const waiting = Array.from({ length: 3 }, () => line.pass('a', () => first.promise))
    await assert.rejects(
      line.pass('a', async () => {}),
      TooManyRequests.is,
    )
    first.resolve()
    await Promise.all(waiting)
    await line.pass('a', async () => {})
  })
})
