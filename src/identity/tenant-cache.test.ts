import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTenantCache } from './tenant-cache.ts'

const entry = (tenantId: string, name: string) => ({ tenantId, name })

test('the oldest entry makes room and is told', () => {
  const dropped: string[] = []
  const cache = createTenantCache<{ tenantId: string; name: string }>(2, ({ name }) => dropped.push(name))
  for (const name of ['a', 'b', 'c']) cache.set(name, entry('t', name))
  assert.deepEqual(dropped, ['a'])
  assert.equal(cache.get('a'), undefined)
  assert.deepEqual(
    cache.ofTenant('t').map(({ name }) => name),
    ['b', 'c'],
  )
  cache.set('b', entry('t', 'b again'))
  assert.equal(cache.size, 2)
  cache.clear()
  assert.deepEqual(dropped, ['a', 'b', 'c', 'b again'])
})

test('what is dropped of one tenant leaves the others', () => {
  const cache = createTenantCache<{ tenantId: string; name: string }>(10)
  for (const [tenantId, name] of ['ta', 'tb', 'ua'].map((text) => text.split('') as [string, string]))
    cache.set(tenantId + name, entry(tenantId, name))
  cache.deleteWhere('t', ({ name }) => name === 'a')
  assert.equal(cache.get('ta'), undefined)
  assert.equal(cache.get('tb')?.name, 'b')
  assert.equal(cache.get('ua')?.name, 'a')
  cache.deleteWhere('t', () => true)
  assert.deepEqual(cache.ofTenant('t'), [])
  assert.equal(cache.size, 1)
})
