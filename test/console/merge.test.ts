/** Tests that the changes that two people make to the same object are merged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareJson, compareKeys, mergeJson, mergeKeys } from '../../console/src/parts/merge.ts'

const base = { name: 'a', site: 'north', tags: ['x'], old: 1 }

test('a key that the user has not changed gets the value of the other caller; the other keys keep the input', () => {
  const theirs = { name: 'theirs', site: 'north', tags: ['x', 'y'], floor: 3 }
  const yours = { name: 'a', site: 'south', tags: ['x'], old: 1, colour: 'red' }
  assert.deepEqual(mergeKeys(base, theirs, yours), {
    ...{ name: 'theirs', site: 'south', tags: ['x', 'y'], floor: 3, colour: 'red' },
  })
  const isYours = Object.fromEntries(compareKeys(base, theirs, yours).map((field) => [field.name, field.isYours]))
  assert.deepEqual(isYours, { name: false, site: true, tags: false, floor: false, old: false, colour: true })
})

test('if the user and the other caller changed or deleted a key, the input of the user is saved; hostile keys are plain keys', () => {
  assert.deepEqual(mergeKeys(base, { name: 'theirs' }, { site: 'north' }), {})
  assert.deepEqual(mergeKeys(base, { ...base, name: 'theirs' }, { ...base, name: 'mine' }), { ...base, name: 'mine' })
  const hostile = JSON.parse('{"__proto__": 1, "constructor": 2}')
  const merged = mergeKeys({}, hostile, {})
  assert.deepEqual(Object.entries(merged), Object.entries(hostile))
  assert.equal(Object.getPrototypeOf(merged), Object.prototype)
})

test('keys that have a meaning only together are merged together', () => {
  const threshold = { halts: true, percent: 10 }
  const [theirs, yours] = [
    { halts: false, percent: 10 },
    { halts: true, percent: 25 },
  ]
  assert.deepEqual(mergeKeys(threshold, theirs, yours, [['halts', 'percent']]), yours)
  assert.deepEqual(mergeKeys(threshold, theirs, threshold, [['halts', 'percent']]), theirs)
})

test('documents that are not objects are compared as a whole', () => {
  assert.deepEqual(mergeJson([1], [2], [3]), [3])
  assert.deepEqual(compareJson('config', [1], [2], [3]), [{ name: 'config', theirs: [2], yours: [3] }])
})
