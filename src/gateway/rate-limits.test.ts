import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { createAddressLockout } from './address-lockout.ts'
import { createAnonymousTimeout } from './anonymous-timeout.ts'
import type { DeviceConnection } from './connection-state.ts'
import { admit, count, newTraffic, trafficRate } from './rate-limits.ts'

const rate = trafficRate(10, 1000)

test('messages and bytes count, and above the rate the time to wait is returned', () => {
  const traffic = newTraffic(rate)
  const { updatedAt: at } = traffic.bytes
  const wait = (bytes: number, later = 0) => Math.round(count(traffic, rate, at + later, bytes))
  assert.equal(wait(1000), 0)
  assert.equal(wait(500), 500)
  assert.equal(wait(0), 500, 'the bytes still exceed the rate')
  for (let i = 0; i < 7; i++) assert.equal(wait(0), 500)
  assert.equal(wait(0, 500), 0)
  for (let i = 0; i < 5; i++) wait(0, 500)
  assert.equal(wait(0, 500), 200, 'two messages too many')
})

test('a rejected message counts neither as a message nor by its bytes', () => {
  const traffic = newTraffic(rate)
  const { updatedAt: at } = traffic.bytes
  const wait = (bytes: number, later = 0) => Math.round(admit(traffic, rate, at + later, bytes))
  assert.equal(wait(3000), 0, 'a message may be larger than a second of bytes')
  for (let i = 0; i < 20; i++) assert.equal(wait(3000), 2000)
  assert.equal(wait(3000, 1999), 1)
  assert.equal(wait(100, 2000), 0)
  for (let i = 0; i < 8; i++) assert.equal(wait(1, 3000), 0)
})

test('a rate of 0 means no limit', () => {
  const none = trafficRate(0, 0)
  const traffic = newTraffic(none)
  for (let i = 0; i < 1000; i++) assert.equal(count(traffic, none, traffic.bytes.updatedAt, 1e6), 0)
  assert.equal(admit(traffic, none, traffic.bytes.updatedAt, 1e6), 0)
})

test('wrong secrets lock an address, repeated ones do not count, and secrets that were correct before are accepted', () => {
  const lockout = createAddressLockout({ limit: 3, windowSeconds: 300, lockSeconds: 60 })
  const wrong = (from: number, to: number) => {
    for (let i = from; i <= to; i++) lockout.failed('a', `wrong ${i}`)
  }
  lockout.succeeded('a', 'right')
  lockout.succeeded('b', 'of another')
  wrong(1, 2)
  for (let i = 0; i < 10; i++) lockout.failed('a', 'wrong 1')
  assert.equal(lockout.lockedFor('a', 'new'), 0)
  wrong(3, 3)
  assert.ok(lockout.lockedFor('a', 'new') > 50)
  assert.ok(lockout.lockedFor('a', 'of another') > 50)
  assert.equal(lockout.lockedFor('a', 'right'), 0)
  assert.equal(lockout.lockedFor('b', 'new'), 0)
  wrong(4, 6)
  assert.ok(lockout.lockedFor('a', 'new') > 110)
})

test('all addresses of an IPv6 /64 share failures, locks and correct secrets', () => {
  const lockout = createAddressLockout({ limit: 3, windowSeconds: 300, lockSeconds: 60 })
  lockout.succeeded('2001:db8:1:2::1', 'right')
  for (let i = 0; i < 3; i++) lockout.failed(`2001:db8:1:2:${i}::${i}`, `wrong ${i}`)
  assert.ok(lockout.lockedFor('2001:db8:1:2:ffff::', 'new') > 50)
  assert.equal(lockout.lockedFor('2001:db8:1:2:ffff::', 'right'), 0)
  assert.equal(lockout.lockedFor('2001:db8:1:3::1', 'new'), 0)
})

const anonymousConnection = (state: object) =>
  ({ state: { waiting: undefined, lookups: 0, ...state } }) as DeviceConnection

test('anonymous connections are closed after the time-out; those with a pending lookup a little later', async () => {
  const ended: DeviceConnection[] = []
  const anonymousTimeout = createAnonymousTimeout(0.02, (connection) => void ended.push(connection), 10)
  const [silent, known, busy] = [anonymousConnection({}), anonymousConnection({}), anonymousConnection({ lookups: 1 })]
  for (const connection of [silent, known, busy]) anonymousTimeout.start(connection)
  anonymousTimeout.cancel(known)
  await eventually(() => assert.deepEqual(ended, [silent]), { everyMs: 2 })
  await eventually(() => assert.deepEqual(ended, [silent, busy]))
  const endless = createAnonymousTimeout(0, () => assert.fail('no time-out is set'))
  endless.start(silent)
})
