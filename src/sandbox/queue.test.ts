import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairQueue } from './queue.ts'

const limits = { perTenant: 3, bytesPerTenant: 100, bytesTotal: 250 }
const entry = (tenantId: string, id: number, bytes = 1) => ({ tenantId, id, bytes })
const always = () => true

function takeInTurn(queue: ReturnType<typeof createFairQueue<ReturnType<typeof entry>>>) {
  const order: string[] = []
  for (let tenant = queue.nextTenant(always); tenant !== undefined; tenant = queue.nextTenant(always)) {
    const { tenantId, id } = queue.take(tenant)!
    order.push(`${tenantId}${id}`)
  }
  return order.join(' ')
}

test('tenants take turns, and the entries of a tenant keep their order', () => {
  const queue = createFairQueue<ReturnType<typeof entry>>(limits)
  for (const id of [1, 2, 3]) queue.add(entry('a', id))
  queue.add(entry('b', 1))
  queue.add(entry('c', 1))
  queue.add(entry('c', 2))
  assert.equal(takeInTurn(queue), 'a1 b1 c1 a2 c2 a3')
  assert.equal(queue.size, 0)
})

test('the queue skips a tenant that may not run, and the tenant keeps its position', () => {
  const queue = createFairQueue<ReturnType<typeof entry>>(limits)
  queue.add(entry('a', 1))
  queue.add(entry('b', 1))
  assert.equal(
    queue.nextTenant((tenantId) => tenantId !== 'a'),
    'b',
  )
  assert.equal(queue.nextTenant(always), 'a')
})

test('the number and the bytes of the entries are limited for each tenant, and the bytes in total', () => {
  const queue = createFairQueue<ReturnType<typeof entry>>(limits)
  for (const id of [1, 2, 3]) assert.equal(queue.add(entry('a', id)), true)
  assert.equal(queue.add(entry('a', 4)), false)
  assert.equal(queue.add(entry('b', 1, 100)), true)
  assert.equal(queue.add(entry('b', 2, 1)), false)
  assert.equal(queue.add(entry('c', 1, 100)), true)
  assert.equal(queue.add(entry('d', 1, 100)), false, 'the total bytes of all tenants must be limited')
  queue.take('a')
  assert.equal(queue.add(entry('a', 4)), true)
})

test('an entry that is put back is the next entry of its tenant', () => {
  const queue = createFairQueue<ReturnType<typeof entry>>(limits)
  for (const id of [1, 2, 3]) queue.add(entry('a', id))
  const first = queue.take('a')!
  queue.putBack(first)
  assert.equal(takeInTurn(queue), 'a1 a2 a3')
})
