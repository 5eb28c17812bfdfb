import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { admit, count, createGuesses, newTraffic, trafficRate } from './limits.ts'
import { createPatience } from './patience.ts'
import type { Device } from './peers.ts'

const rate = trafficRate(10, 1000)

test('messages and bytes of a connection count, and what was sent beyond the rate says how long to wait', () => {
  const traffic = newTraffic(rate)
  const { at } = traffic.bytes
  const wait = (bytes: number, later = 0) => Math.round(count(traffic, rate, at + later, bytes))
  assert.equal(wait(1000), 0)
  assert.equal(wait(500), 500)
  assert.equal(wait(0), 500, 'the bytes are still owed')
  for (let i = 0; i < 7; i++) assert.equal(wait(0), 500)
  assert.equal(wait(0, 500), 0)
  for (let i = 0; i < 5; i++) wait(0, 500)
  assert.equal(wait(0, 500), 200, 'two messages too many')
})

test('a message that is refused counts neither as a message nor by its bytes', () => {
  const traffic = newTraffic(rate)
  const { at } = traffic.bytes
  const wait = (bytes: number, later = 0) => Math.round(admit(traffic, rate, at + later, bytes))
  assert.equal(wait(3000), 0, 'a message may be larger than a second of bytes')
  for (let i = 0; i < 20; i++) assert.equal(wait(3000), 2000)
  assert.equal(wait(3000, 1999), 1)
  assert.equal(wait(100, 2000), 0)
  for (let i = 0; i < 8; i++) assert.equal(wait(1, 3000), 0)
})

test('no limit is no limit', () => {
  const none = trafficRate(0, 0)
  const traffic = newTraffic(none)
  for (let i = 0; i < 1000; i++) assert.equal(count(traffic, none, traffic.bytes.at, 1e6), 0)
  assert.equal(admit(traffic, none, traffic.bytes.at, 1e6), 0)
})

test('wrong guesses lock an address, the same one again does not, and what was right from there is served', () => {
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

test('all addresses of an IPv6 /64 are one: they share guesses, locks and what was right', () => {
  const guesses = createGuesses({ limit: 3, windowSeconds: 300, lockSeconds: 60 })
  guesses.right('2001:db8:1:2::1', 'right')
  for (let i = 0; i < 3; i++) guesses.wrong(`2001:db8:1:2:${i}::${i}`, `wrong ${i}`)
  assert.ok(guesses.lockedFor('2001:db8:1:2:ffff::', 'new') > 50)
  assert.equal(guesses.lockedFor('2001:db8:1:2:ffff::', 'right'), 0)
  assert.equal(guesses.lockedFor('2001:db8:1:3::1', 'new'), 0)
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
