import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { createGuesses, draw, giveBack, newBucket } from './limits.ts'
import { createPatience } from './patience.ts'
import type { Device } from './peers.ts'

test('a bucket holds a second of messages, can be overdrawn, and says when it is even again', () => {
  const bucket = newBucket(10)
  const { at } = bucket
  const wait = (later = 0) => Math.round(draw(bucket, 10, at + later))
  for (let i = 0; i < 10; i++) assert.equal(wait(), 0)
  assert.equal(wait(), 100)
  assert.equal(wait(), 200)
  assert.equal(wait(200), 100)
  giveBack(bucket)
  assert.equal(wait(300), 0)
  assert.equal(wait(100_000), 0)
  assert.equal(bucket.level, 9)
})

test('no limit is no limit', () => {
  const bucket = newBucket(0)
  for (let i = 0; i < 1000; i++) assert.equal(draw(bucket, 0, bucket.at), 0)
})

test('wrong guesses lock an address, the same one again does not, and what was right from there goes on', () => {
  const guesses = createGuesses({ limit: 3, windowSeconds: 300, lockSeconds: 60 })
  const wrong = (from: number, to: number) => {
    for (let i = from; i <= to; i++) guesses.wrong('a', `wrong ${i}`)
  }
  guesses.right('a', 'right')
  guesses.right('b', 'of another')
  wrong(1, 2)
  for (let i = 0; i < 10; i++) guesses.wrong('a', 'wrong 1')
  assert.equal(guesses.lockedFor('a', 'new'), 0)
  wrong(3, 3)
  assert.ok(guesses.lockedFor('a', 'new') > 50)
  assert.ok(guesses.lockedFor('a', 'of another') > 50)
  assert.equal(guesses.lockedFor('a', 'right'), 0)
  assert.equal(guesses.lockedFor('b', 'new'), 0)
  wrong(4, 6)
  assert.ok(guesses.lockedFor('a', 'new') > 110)
})

const aStranger = (state: object) => ({ state: { waiting: undefined, lookups: 0, ...state } }) as Device

test('patience ends with strangers who say nothing, and a while later with those who are always being looked up', async () => {
  const ended: Device[] = []
  const patience = createPatience(0.02, (stranger) => void ended.push(stranger), 10)
  const [silent, known, busy] = [aStranger({}), aStranger({}), aStranger({ lookups: 1 })]
  for (const stranger of [silent, known, busy]) patience.with(stranger)
  patience.done(known)
  await eventually(() => assert.deepEqual(ended, [silent]), { everyMs: 2 })
  await eventually(() => assert.deepEqual(ended, [silent, busy]))
  const endless = createPatience(0, () => assert.fail('nobody asked for an end'))
  endless.with(silent)
})
