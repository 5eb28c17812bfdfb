import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOfPage, rowsOfIds, rowsOfPage } from './page-parts.ts'

/** Returns a function that reads the numbers from 0 to `total - 1`, and the list of its calls. */
function numbers(total: number) {
  const calls: string[] = []
  const all = Array.from({ length: total }, (_, n) => n)
  const windowOf = ({ offset, limit }: { offset: number; limit: number | null }) =>
    all.slice(offset, limit === null ? undefined : offset + limit)
  return {
    calls,
    reader: {
      rows: async (window: { offset: number; limit: number | null }) => {
        calls.push('rows')
        return windowOf(window)
      },
      ids: async (window: { offset: number; limit: number | null }) => {
        calls.push('ids')
        return windowOf(window).map(String)
      },
      byIds: async (ids: string[]) => {
        calls.push(`byIds ${ids.length}`)
        return ids.map(Number)
      },
    },
  }
}

test('a short page is read in one part', async () => {
  const { reader, calls } = numbers(50)
  assert.deepEqual(await Array.fromAsync(rowsOfPage({ offset: 45, limit: 100 }, reader)), [45, 46, 47, 48, 49])
  assert.deepEqual(calls, ['rows'])
})

test('a long page is read in parts, and each part only when it is needed', async () => {
  const { reader, calls } = numbers(250)
  const parts = partsOfPage({ offset: 1, limit: null }, reader)
  assert.equal((await parts.next()).value!.length, 100)
  assert.deepEqual(calls, ['ids', 'byIds 100'])
  const rest = await Array.fromAsync(parts)
  assert.deepEqual(
    rest.flat(),
    Array.from({ length: 149 }, (_, n) => n + 101),
  )
  assert.deepEqual(calls, ['ids', 'byIds 100', 'byIds 100', 'byIds 49'])
})

test('rows that are read by their ids are returned in the order of the ids', async () => {
  const { reader } = numbers(0)
  const ids = Array.from({ length: 120 }, (_, n) => String(119 - n))
  assert.deepEqual(await Array.fromAsync(rowsOfIds(ids, reader.byIds)), ids.map(Number))
})
