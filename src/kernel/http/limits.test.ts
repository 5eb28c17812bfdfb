import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRateLimit } from './limits.ts'

test('a burst passes, the next is told how long to wait, others are not slowed', () => {
  const limit = createRateLimit({ perSecond: 1, burst: 3 })
  for (let n = 0; n < 3; n++) assert.equal(limit.take('a'), 0)
  assert.equal(limit.take('a'), 1)
  assert.equal(limit.take('b'), 0)
})

test('zero switches the limit off', () => {
  const limit = createRateLimit({ perSecond: 0, burst: 0 })
  for (let n = 0; n < 1000; n++) assert.equal(limit.take('a'), 0)
})

test('memory is bounded: the longest known address is forgotten first', () => {
  const limit = createRateLimit({ perSecond: 1, burst: 1, keysMax: 2 })
  limit.take('a')
  limit.take('b')
  assert.equal(limit.take('b'), 1)
  limit.take('c')
  assert.equal(limit.take('a'), 0)
})
