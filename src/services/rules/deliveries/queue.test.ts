import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../../../kernel/clock.ts'
import { createDeliveryQueue, type Queued } from './queue.ts'

interface Item extends Queued {
  n: number
}

/** Creates a queue. The test decides when each item ends. */
function aQueue(limits: { perHost: number; perTenant?: number; total?: number }) {
  const started: Item[] = []
  const ends = new Map<Item, () => void>()
  const queue = createDeliveryQueue<Item>(
    { perTenant: 100, total: 100, ...limits, perHost: () => limits.perHost },
    (item) => {
      started.push(item)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.set(item, resolve)
      return promise
    },
  )
  return {
    queue,
    started,
    push: (tenantId: string, host: string, n: number) => queue.push({ tenantId, host, n }),
    async end(item: Item) {
      ends.get(item)!()
      await sleep(0)
    },
    names: () => started.map(({ tenantId, host, n }) => `${tenantId}${host}${n}`),
  }
}

test('items to one host start in order, up to the limit; other hosts do not wait', async () => {
  const { push, names, end, started, queue } = aQueue({ perHost: 2 })
  for (let n = 0; n < 4; n++) push('a', 'x', n)
  push('a', 'y', 0)
  push('b', 'x', 0)
  assert.deepEqual(names(), ['ax0', 'ax1', 'ay0', 'bx0'])
  assert.deepEqual([queue.underWay, queue.waiting], [4, 2])
  await end(started[1]!)
  assert.equal(names().at(-1), 'ax2')
  await end(started[0]!)
  assert.equal(names().at(-1), 'ax3')
})

test('a tenant at its limit does not delay other tenants, and its hosts take turns', async () => {
  const { push, names, end, started } = aQueue({ perHost: 5, perTenant: 2 })
  for (let n = 0; n < 3; n++) for (const host of ['x', 'y', 'z']) push('a', host, n)
  push('b', 'x', 0)
  assert.deepEqual(names(), ['ax0', 'ay0', 'bx0'])
  while (names().filter((name) => name.startsWith('a')).length < 9)
    await end(started.findLast(({ tenantId }) => tenantId === 'a')!)
  assert.deepEqual(new Set(names()).size, 10)
})

test('every item starts at some time, whichever limits delay it', async () => {
  const { push, end, started, queue } = aQueue({ perHost: 2, perTenant: 3, total: 4 })
  let n = 0
  for (const tenantId of ['a', 'b', 'c', 'd'])
    for (const host of ['x', 'y', 'z']) for (let i = 0; i < 5; i++) push(tenantId, host, n++)
  assert.equal(started.length, 4)
  for (let index = 0; index < started.length; index++) {
    assert.ok(queue.underWay <= 4)
    await end(started[index]!)
  }
  assert.deepEqual([started.length, queue.underWay, queue.waiting], [60, 0, 0])
})

test('removed items do not start, and a stopped queue starts no items', async () => {
  const { push, queue, names, end, started } = aQueue({ perHost: 1 })
  for (let n = 0; n < 3; n++) push('a', 'x', n)
  assert.deepEqual(
    queue.remove(({ n }) => n === 1).map(({ n }) => n),
    [1],
  )
  await end(started[0]!)
  assert.deepEqual(names(), ['ax0', 'ax2'])
  queue.stop()
  push('a', 'y', 0)
  await end(started[1]!)
  assert.deepEqual([names().length, queue.waiting], [2, 1])
})
