import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWork } from './work.ts'

const command = JSON.stringify([{ id: 7, type: 'blink', payload: { times: 2 } }])
const nextTurn = () => new Promise((done) => setImmediate(done))

function workThat(answer: (sent: number) => string) {
  const results: unknown[] = []
  const errors: unknown[] = []
  let runs = 0
  const work = createWork(
    { onCommand: () => ++runs },
    async ({ resource, payload }) => {
      if (resource === 'command') return command
      results.push(JSON.parse(payload))
      return answer(results.length)
    },
    () => assert.fail('nothing is downloaded'),
    (error) => void errors.push(error),
  )
  return { work, results, errors, runs: () => runs }
}

test('a command that arrives both as a push and in the response to a poll is processed and reported once', async () => {
  const { work, results, errors, runs } = workThat(() => '')
  work.push('cex', ['command'], command)
  await work.poll()
  work.push('cex', ['command', 'blink'], command)
  await nextTurn()
  assert.deepEqual(results, [[{ id: 7, statusCode: 200, payload: 1 }]])
  assert.deepEqual([runs(), errors], [1, []])
})

test('a result that could not be sent is sent when the command arrives again, and the command does not run again', async () => {
  const { work, results, errors, runs } = workThat((sent) => {
    if (sent === 1) throw new Error('connection lost')
    return ''
  })
  work.push('cex', ['command'], command)
  await nextTurn()
  assert.deepEqual(errors, [new Error('connection lost')])
  work.push('cex', ['command'], command)
  await nextTurn()
  assert.equal(results.length, 2)
  assert.deepEqual(results[1], results[0])
  assert.equal(runs(), 1)
})
