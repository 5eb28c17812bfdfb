/** The layout of dashboards, as pure functions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compacted, freePlace, placed } from '../../console/src/pages/dashboards/layout.ts'

test('layout: overlapped widgets move down, no widget leaves the grid, and gaps are closed', () => {
  const at = (id: string, x: number, y: number, width: number, height: number) => ({ id, x, y, width, height })
  const two = [at('a', 0, 0, 12, 4), at('b', 12, 0, 12, 4), at('c', 0, 4, 24, 4)]
  assert.deepEqual(placed(two, 'b', { x: 6, y: 0, width: 12, height: 4 }), [
    at('a', 0, 4, 12, 4),
    at('b', 6, 0, 12, 4),
    at('c', 0, 8, 24, 4),
  ])
  assert.deepEqual(placed([at('a', 0, 0, 4, 4)], 'a', { x: 99, y: -5, width: 99, height: 0 }), [at('a', 0, 0, 24, 1)])
  assert.deepEqual(placed([at('a', 0, 0, 4, 4), at('b', 0, 4, 4, 4)], 'b', { x: 0, y: 3, width: 4, height: 4 }), [
    at('a', 0, 7, 4, 4),
    at('b', 0, 3, 4, 4),
  ])
  assert.deepEqual(freePlace(two, { width: 6, height: 2 }), { x: 0, y: 8, width: 6, height: 2 })
  assert.deepEqual(freePlace([at('a', 0, 0, 12, 4)], { width: 12, height: 4 }), { x: 12, y: 0, width: 12, height: 4 })
  assert.deepEqual(compacted([at('a', 0, 9, 12, 4), at('b', 0, 30, 12, 4)]), [
    at('a', 0, 0, 12, 4),
    at('b', 0, 4, 12, 4),
  ])
  const last = [at('a', 0, 2000, 4, 200), at('b', 8, 2000, 4, 4)]
  assert.deepEqual(placed(last, 'b', { x: 0, y: 2000, width: 4, height: 4 }), last)
})
