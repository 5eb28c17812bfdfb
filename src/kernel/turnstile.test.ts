import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurnstile } from './turnstile.ts'

test('lets in so many at a time, the others in their order, whatever becomes of those before', async () => {
  const pass = createTurnstile(2)
  const entered: number[] = []
  const leave: (() => void)[] = []
  const visits = Array.from({ length: 5 }, (_, n) =>
    pass(async () => {
      entered.push(n)
      await new Promise<void>((resolve) => leave.push(resolve))
      if (n === 1) throw new Error('it went wrong')
      return n
    }),
  )
  const settled = Promise.allSettled(visits)
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await turn()
  assert.deepEqual(entered, [0, 1])
  leave[1]!()
  await turn()
  assert.deepEqual(entered, [0, 1, 2])
  leave[0]!()
  leave[2]!()
  await turn()
  assert.deepEqual(entered, [0, 1, 2, 3, 4])
  leave[3]!()
  leave[4]!()
  const outcomes = await settled
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
    [0, 'it went wrong', 2, 3, 4],
  )
  // All places are free again.
  const again = [pass(async () => 'a'), pass(async () => 'b')]
  assert.deepEqual(await Promise.all(again), ['a', 'b'])
})
