import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createRateLimit, drawTokens, newBucket, returnTokens } from './rate-limit.ts'

suite('a rate limit per key', () => {
  test('a rate limit per key allows a burst, then returns the time to wait, without affecting other keys', () => {
    const limit = createRateLimit({ perSecond: 1, burst: 3 })
    for (let n = 0; n < 3; n++) assert.equal(limit.take('a'), 0)
    assert.equal(limit.take('a'), 1)
    assert.equal(limit.take('a'), 1, 'a rejected request must not take a token')
    assert.equal(limit.take('b'), 0)
  })

  test('a rate limit per key rounds the time to wait up to whole seconds', () => {
    const limit = createRateLimit({ perSecond: 0.1, burst: 1 })
    assert.equal(limit.take('a'), 0)
    assert.equal(limit.take('a'), 10)
  })

  test('a rate limit per key of zero requests a second means no limit', () => {
    const limit = createRateLimit({ perSecond: 0, burst: 0 })
    for (let n = 0; n < 1000; n++) assert.equal(limit.take('a'), 0)
  })

  test('a rate limit per key remembers a limited number of keys, and evicts the oldest key first', () => {
    const limit = createRateLimit({ perSecond: 1, burst: 1 }, { keysMax: 2 })
    limit.take('a')
    limit.take('b')
    assert.equal(limit.take('b'), 1)
    limit.take('c')
    assert.equal(limit.take('a'), 0)
  })
})

suite('a bucket', () => {
  test('a bucket holds a burst, can be overdrawn, and returns the time until its level is 0 again', () => {
    const rate = { perSecond: 10, burst: 10 }
    const bucket = newBucket(rate)
    const { updatedAt: at } = bucket
    const wait = (later = 0) => Math.round(drawTokens(bucket, rate, at + later))
    for (let i = 0; i < 10; i++) assert.equal(wait(), 0)
    assert.equal(wait(), 100)
    assert.equal(wait(), 200)
    assert.equal(wait(200), 100)
    returnTokens(bucket)
    assert.equal(wait(300), 0)
    assert.equal(wait(100_000), 0)
    assert.equal(bucket.level, 9)
  })

  test('a bucket can be overdrawn by more than its burst', () => {
    const rate = { perSecond: 1000, burst: 1000 }
    const bucket = newBucket(rate)
    const { updatedAt: at } = bucket
    assert.equal(drawTokens(bucket, rate, at, 1000), 0)
    assert.equal(drawTokens(bucket, rate, at, 5000), 5000)
    returnTokens(bucket, 5000)
    assert.equal(drawTokens(bucket, rate, at + 100, 100), 0)
  })

  test('a bucket without a rate limit never delays', () => {
    const rate = { perSecond: 0, burst: 0 }
    const bucket = newBucket(rate)
    for (let i = 0; i < 1000; i++) assert.equal(drawTokens(bucket, rate, bucket.updatedAt, 1000), 0)
  })
})
