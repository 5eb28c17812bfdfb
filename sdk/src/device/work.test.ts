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

function workWith(onCommand: () => unknown, answer: (sent: number) => string = () => '') {
  const results: unknown[] = []
  const work = createWork(
    { onCommand, onReported: () => assert.fail('onReported throws') },
    async ({ payload }) => {
      results.push(...JSON.parse(payload))
      return answer(results.length)
    },
    () => assert.fail('nothing is downloaded'),
    () => {},
  )
  work.push('cex', ['command'], command)
  return results
}

test('a result that JSON cannot represent, and anything that a function throws, is reported as a failure', async () => {
  const circular: { self?: unknown } = {}
  circular.self = circular
  const throwing = (value: unknown) => () => {
    throw value
  }
  const functions: [() => unknown, RegExp][] = [
    [() => 1n, /^The result of the command cannot be sent as JSON: .*BigInt/],
    [() => circular, /^The result of the command cannot be sent as JSON: .*circular/],
    [throwing(undefined), /^undefined$/],
    [throwing(new Error('')), /^Error$/],
    [throwing(Object.create(null)), /^The function has thrown a value that is no text$/],
    [throwing(new Error('a\0b\ud800')), /^a\ufffdb\ufffd$/],
  ]
  for (const [run, reason] of functions) {
    const results = workWith(run)
    await nextTurn()
    const [{ statusCode, reasonPhrase }] = results as [{ statusCode: number; reasonPhrase: string }]
    assert.equal(statusCode, 500)
    assert.match(reasonPhrase, reason)
  }
})

test('a function that returns nothing, or another function, succeeds without a payload', async () => {
  for (const value of [undefined, () => 1]) {
    const results = workWith(() => value)
    await nextTurn()
    assert.deepEqual(results, [{ id: 7, statusCode: 200 }])
  }
})

test('a result that the platform rejects is reported as a failure; an error of onReported causes no further report', async () => {
  const results = workWith(
    () => 'x',
    (sent) => {
      if (sent === 1) throw Object.assign(new Error('too large'), { status: 413 })
      return ''
    },
  )
  await nextTurn()
  const reasonPhrase = 'The platform rejected the result: too large'
  assert.deepEqual(results, [
    { id: 7, statusCode: 200, payload: 'x' },
    { id: 7, statusCode: 500, reasonPhrase },
  ])
})
