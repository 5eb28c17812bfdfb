import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenItems } from './open-items.ts'

test('items can be removed in any order, and each item only once', () => {
  const open = createOpenItems<string>()
  const [removeA, removeB, removeC] = ['a', 'b', 'c'].map(open.add) as [() => void, () => void, () => void]
  removeA()
  removeA()
  assert.deepEqual([...open].sort(), ['b', 'c'])
  removeC()
  assert.deepEqual([...open], ['b'])
  const removeD = open.add('d')
  removeB()
  assert.deepEqual([...open], ['d'])
  removeD()
  assert.equal(open.size, 0)
})

test('an item that is added during a visit of all items is not visited', () => {
  const open = createOpenItems<number>()
  open.add(1)
  for (const item of open) open.add(item + 1)
  assert.equal(open.size, 2)
})
