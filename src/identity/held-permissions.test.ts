import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeldPermissions } from './held-permissions.ts'

test('if the caches hold too many permissions, the entries that were loaded first are dropped', () => {
  const held = createHeldPermissions(1000)
  const dropped: string[] = []
  const entries = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { name }]))
  const hold = (name: string, permissions: number) =>
    held.hold(entries[name]!, permissions, () => void dropped.push(name))
  hold('a', 400)
  hold('b', 400)
  hold('a', 500)
  assert.deepEqual([held.total, dropped], [900, []])
  hold('c', 99)
  assert.equal(held.total, 900)
  hold('d', 300)
  assert.deepEqual([held.total, dropped], [800, ['b']])
  hold('b', 5000)
  assert.deepEqual([held.total, dropped], [5000, ['b', 'a', 'd']])
})
