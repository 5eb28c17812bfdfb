import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createCache } from './cache.ts'

const aCache = (bytesMax = 10_000) => createCache<string>({ bytesMax, sizeOf: (value) => value.length })

suite('a cache', () => {
  test('loads once for all who ask at the same time, and again after a drop', async () => {
    const cache = aCache()
    let loads = 0
    const load = async () => `value ${++loads}`
    assert.deepEqual(await Promise.all([cache.read('a', load), cache.read('a', load)]), ['value 1', 'value 1'])
    assert.equal(await cache.read('a', load), 'value 1')
    cache.drop('a')
    assert.equal(await cache.read('a', load), 'value 2')
    cache.clear()
    assert.equal(await cache.read('a', load), 'value 3')
  })

  test('does not keep what was read before a drop and arrives after it', async () => {
    for (const forget of ['drop', 'clear'] as const) {
      const cache = aCache()
      const slow = Promise.withResolvers<string>()
      const early = cache.read('a', () => slow.promise)
      cache[forget]('a')
      const late = Promise.withResolvers<string>()
      const second = cache.read('a', () => late.promise)
      slow.resolve('old')
      assert.equal(await early, 'old')
      const joined = cache.read('a', async () => assert.fail('a read is under way already'))
      late.resolve('new')
      assert.deepEqual([await second, await joined], ['new', 'new'])
      assert.equal(await cache.read('a', async () => assert.fail('it is known')), 'new')
    }
  })

  test('does not keep failures nor what is not there', async () => {
    const cache = aCache()
    await assert.rejects(
      cache.read('a', async () => {
        throw new Error('away')
      }),
    )
    assert.equal(await cache.read('a', async () => undefined), undefined)
    assert.equal(await cache.read('a', async () => 'there'), 'there')
  })

  test('forgets the least recently used when it is full, and never keeps what is too large', async () => {
    const cache = aCache(4000)
    const put = (key: string) => cache.read(key, async () => 'x'.repeat(200))
    const isKept = async (key: string) => (await cache.read(key, async () => undefined)) !== undefined
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) await put(key)
    await put('a')
    await put('j')
    assert.deepEqual([await isKept('a'), await isKept('b'), await isKept('j')], [true, false, true])
    await cache.read('large', async () => 'x'.repeat(3000))
    assert.deepEqual([await isKept('large'), await isKept('a')], [false, true])
  })
})
