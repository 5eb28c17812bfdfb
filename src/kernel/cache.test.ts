import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { EventType } from './bus.ts'
import { createCache } from './cache.ts'
import { createSingleFlight } from './single-flight.ts'

const aCache = (max = 10_000) => createCache<string>({ max, sizeOf: (value) => value.length })

suite('a cache', () => {
  test('a cache shares one load among concurrent readers, and loads again after a drop', async () => {
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

  test('a cache repeats a load during which the entry was dropped, for all waiting readers', async () => {
    for (const forget of ['drop', 'clear'] as const) {
      const cache = aCache()
      const slow = Promise.withResolvers<string>()
      let loads = 0
      const early = cache.read('a', () =>
        ++loads === 1 ? slow.promise : assert.fail('this read must share the load of the second read'),
      )
      cache[forget]('a')
      const late = Promise.withResolvers<string>()
      const second = cache.read('a', () => late.promise)
      slow.resolve('old')
      const joined = cache.read('a', async () => assert.fail('this read must share the load that is in progress'))
      late.resolve('new')
      assert.deepEqual([await early, await second, await joined], ['new', 'new', 'new'])
      assert.equal(await cache.read('a', async () => assert.fail('the value must be cached')), 'new')
    }
  })

  test('a cache caches neither failures nor undefined', async () => {
    const cache = aCache()
    await assert.rejects(
      cache.read('a', async () => {
        throw new Error('unreachable')
      }),
    )
    assert.equal(await cache.read('a', async () => undefined), undefined)
    assert.equal(await cache.read('a', async () => 'there'), 'there')
  })

  test('a cache evicts the least recently used entry when it is full, and never caches a value that is too large', async () => {
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

  test('a cache repeats an outdated load even without another reader', async () => {
    const cache = aCache()
    const slow = Promise.withResolvers<string>()
    let loads = 0
    const read = cache.read('a', () => (++loads === 1 ? slow.promise : Promise.resolve(`load ${loads}`)))
    cache.drop('a')
    slow.resolve('old')
    assert.equal(await read, 'load 2')
    assert.equal(cache.get('a'), 'load 2')
  })

  test('a cache without a function for sizes counts entries, and a cache reports every value that it removes', () => {
    const left: string[] = []
    const cache = createCache<string>({ max: 2, onDrop: (value) => left.push(value) })
    for (const key of ['a', 'b', 'c']) cache.set(key, key)
    assert.deepEqual([left, cache.size], [['a'], 2])
    cache.set('b', 'b again')
    cache.drop('c')
    cache.drop('nothing')
    cache.clear()
    assert.deepEqual(left, ['a', 'b', 'c', 'b again'])
  })

  test('a cache drops all entries of a group, or the matching entries of a group, and keeps all other entries', async () => {
    const cache = createCache<{ tenantId: string; name: string }>({ max: 10, groupOf: ({ tenantId }) => tenantId })
    const put = (tenantId: string, name: string) => cache.set(tenantId + name, { tenantId, name })
    for (const [tenantId, name] of ['ta', 'tb', 'ua'].map((text) => text.split('') as [string, string]))
      put(tenantId, name)
    cache.dropGroup('t', ({ name }) => name === 'a')
    assert.deepEqual([cache.get('ta'), cache.get('tb')?.name, cache.get('ua')?.name], [undefined, 'b', 'a'])
    put('t', 'b')
    const namesOf = (group: string) => cache.ofGroup(group).map(({ name }) => name)
    assert.deepEqual(namesOf('t'), ['b'])
    const slow = Promise.withResolvers<{ tenantId: string; name: string }>()
    let loads = 0
    const read = cache.read('tc', () =>
      ++loads === 1 ? slow.promise : Promise.resolve({ tenantId: 't', name: 'new' }),
    )
    cache.dropGroup('t')
    slow.resolve({ tenantId: 't', name: 'old' })
    assert.equal((await read)?.name, 'new', 'a load in progress must be repeated, because it may belong to the group')
    assert.deepEqual([namesOf('t'), cache.size], [['new'], 2])
  })

  test('when a group is dropped, a cache does not repeat the loads of other groups', async () => {
    const cache = createCache<{ tenantId: string; id: number }>({ max: 10, groupOf: ({ tenantId }) => tenantId })
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const loads: Record<string, number> = {}
    const load = (tenantId: string, until: Promise<void>) =>
      cache.read(tenantId, async () => {
        const id = (loads[tenantId] ?? 0) + 1
        loads[tenantId] = id
        await until
        return { tenantId, id }
      })
    const reads = [load('t', first.promise), load('u', second.promise)]
    cache.dropGroup('u')
    cache.dropGroup('t', ({ id }) => id === 7)
    first.resolve()
    second.resolve()
    await Promise.all(reads)
    assert.deepEqual(loads, { t: 1, u: 2 })
    assert.throws(() => createCache<string>({ max: 1 }).dropGroup('t'), /has no groups/)
  })

  test('when a value has expired, a cache loads it again once for all readers', async () => {
    let now = 0
    let loads = 0
    const cache = createCache<{ until: number }>({ max: 10, isExpired: ({ until }) => until <= now })
    const read = () =>
      cache.read('a', async () => {
        loads++
        return { until: now + 10 }
      })
    await Promise.all([read(), read(), read()])
    assert.equal(loads, 1)
    now = 10
    assert.equal(cache.get('a'), undefined)
    await Promise.all([read(), read(), read()])
    assert.deepEqual([loads, cache.get('a')], [2, { until: 20 }])
  })

  test('a cache drops entries on events, and all entries after a reset', () => {
    const listeners = new Map<string, (payload: never) => void>()
    let reset = () => {}
    const bus = {
      subscribe: (event: { name: string }, listener: (payload: never) => void) =>
        void listeners.set(event.name, listener),
      onReset: (listener: () => void) => {
        reset = listener
      },
    }
    const cache = createCache<string>({ max: 10, bus })
    cache.dropOn(Changed, ({ key }) => key)
    cache.dropOn(Removed, ({ keys }) => keys)
    for (const key of ['a', 'b', 'c', 'd']) cache.set(key, key)
    listeners.get(Changed.name)!({ key: 'a' } as never)
    assert.deepEqual([cache.get('a'), cache.get('b')], [undefined, 'b'])
    listeners.get(Removed.name)!({ keys: ['b', 'c'] } as never)
    assert.deepEqual([cache.get('b'), cache.get('c'), cache.get('d')], [undefined, undefined, 'd'])
    reset()
    assert.equal(cache.size, 0)
    assert.throws(() => createCache<string>({ max: 1 }).dropOn(Changed, ({ key }) => key), /without a bus/)
  })
})

const Changed = { name: 'test.changed' } as EventType<{ key: string }>
const Removed = { name: 'test.removed' } as EventType<{ keys: string[] }>

test('concurrent callers share one run of the work, and later callers start a new run', async () => {
  const once = createSingleFlight<number>()
  let runs = 0
  const first = Promise.withResolvers<void>()
  const work = async () => {
    const run = ++runs
    await first.promise
    if (run === 2) throw new Error('failed')
    return run
  }
  const both = [once('a', work), once('a', work)]
  first.resolve()
  assert.deepEqual(await Promise.all(both), [1, 1])
  await assert.rejects(once('a', work), /failed/)
  assert.equal(await once('a', work), 3)
})
