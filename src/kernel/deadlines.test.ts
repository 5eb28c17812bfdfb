import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { eventually } from '../../test/harness/eventually.ts'
import { monotonicMs } from './clock.ts'
import { createDeadlines, type Due } from './deadlines.ts'

interface Item extends Due {
  name: number
}

const itemAt = (name: number, dueAt: number): Item => ({ name, dueAt, place: -1 })

suite('deadlines of many items', () => {
  test('each item is due once, in the order of the deadlines and not before its deadline, and removed items are never due', async () => {
    const anItem = fc.record({ ms: fc.integer({ min: 0, max: 30 }), isRemoved: fc.boolean() })
    const property = fc.asyncProperty(fc.array(anItem, { minLength: 1, maxLength: 60 }), async (given) => {
      const found: Item[] = []
      const deadlines = createDeadlines<Item>((item) => {
        assert.ok(monotonicMs() >= item.dueAt)
        found.push(item)
      })
      const began = monotonicMs()
      const items = given.map(({ ms }, name) => itemAt(name, began + ms))
      for (const item of items) deadlines.add(item)
      const removed = items.filter((_, index) => given[index]!.isRemoved)
      for (const item of removed) deadlines.remove(item)
      const rest = items.filter((item) => !removed.includes(item))
      assert.equal(deadlines.size, rest.length)
      await eventually(() => assert.equal(deadlines.size, 0))
      assert.deepEqual(
        found.map(({ dueAt }) => dueAt),
        rest.map(({ dueAt }) => dueAt).sort((a, b) => a - b),
      )
      assert.deepEqual(new Set(found), new Set(rest))
    })
    await fc.assert(property, { numRuns: 15 })
  })

  test('an item that is added later with an earlier deadline is due first', async () => {
    const found: number[] = []
    const deadlines = createDeadlines<Item>(({ name }) => void found.push(name))
    const far = itemAt(1, monotonicMs() + 60_000)
    deadlines.add(far)
    deadlines.add(itemAt(2, monotonicMs() + 5))
    await eventually(() => assert.deepEqual(found, [2]))
    deadlines.remove(far)
    deadlines.remove(far)
    assert.equal(deadlines.size, 0)
  })
})
