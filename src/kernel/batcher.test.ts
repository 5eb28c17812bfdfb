import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBatcher } from './batcher.ts'

test('calls that arrive while a batch runs form the next batch, and the error of a batch rejects only the calls of this batch', async () => {
  const batches: number[][] = []
  const request = createBatcher<number, string>(async (numbers) => {
    batches.push(numbers)
    await new Promise((resolve) => setImmediate(resolve))
    if (numbers.includes(13)) throw new Error('unlucky')
    return numbers.map((number) => (number > 100 ? undefined : `result ${number}`))
  }, 3)
  const results = await Promise.allSettled([1, 13, 2, 3, 4, 101].map(request))
  assert.deepEqual(batches, [[1], [13, 2, 3], [4, 101]])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
    ['result 1', 'unlucky', 'unlucky', 'unlucky', 'result 4', undefined],
  )
  assert.equal(await request(5), 'result 5')
})

test('the next batch starts after the interval, or immediately if it is full', async () => {
  const batches: number[][] = []
  const request = createBatcher<number, number>(
    async (numbers) => {
      batches.push(numbers)
      return numbers
    },
    3,
    20,
  )
  const first = [request(1), request(2)]
  await first[0]
  await Promise.all([...first, request(3)])
  assert.deepEqual(batches, [[1], [2, 3]])
  const many = [4, 5, 6, 7, 8].map(request)
  await many[0]
  assert.deepEqual(batches.slice(2), [[4], [5, 6, 7]])
  assert.deepEqual(await Promise.all(many), [4, 5, 6, 7, 8])
})
