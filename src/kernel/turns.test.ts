import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyJsonPatch, applyJsonPatchInTurns } from './json-patch.ts'
import { createTurns } from './turns.ts'

/** Counts the turns of the event loop during work. */
async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0
  let isRunning = true
  const count = () => {
    turns++
    if (isRunning) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isRunning = false
  return turns
}

test('a large JSON patch yields to the event loop, and has the same result as a patch without pauses', async () => {
  const insertions = Array.from({ length: 18_000 }, (_, n) => ({ op: 'add', path: '/a/0', value: n }))
  let result: unknown
  const turns = await turnsDuring(async () => {
    result = await applyJsonPatchInTurns({ a: [] }, insertions)
  })
  assert.ok(turns >= 5, `${turns} turns`)
  assert.deepEqual(result, applyJsonPatch({ a: [] }, insertions))
  assert.ok((await turnsDuring(() => applyJsonPatch({ a: [] }, insertions))) <= 1)
})

test('short work does not yield to the event loop', async () => {
  const takeTurns = createTurns()
  assert.equal(takeTurns(), undefined)
})
