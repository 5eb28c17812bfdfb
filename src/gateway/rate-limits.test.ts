import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { createAddressLockout } from './address-lockout.ts'
import { createAnonymousTimeout } from './anonymous-timeout.ts'
import type { DeviceConnection } from './connection-state.ts'
import { admitMessage, countTraffic, newTraffic, trafficRate } from './rate-limits.ts'

const rate = trafficRate(10, 1000)

test('messages and bytes are counted, and above the rate limit the time to wait is returned', () => {
  const traffic = newTraffic(rate)
  const { updatedAt: at } = traffic.bytes
  const wait = (bytes: number, later = 0) => Math.round(countTraffic(traffic, rate, at + later, bytes))
  assert.equal(wait(1000), 0)
  assert.equal(wait(500), 500)
  assert.equal(wait(0), 500, 'the bytes of the earlier message must still exceed the rate')
  for (let i = 0; i < 7; i++) assert.equal(wait(0), 500)
  assert.equal(wait(0, 500), 0)
  for (let i = 0; i < 5; i++) wait(0, 500)
  assert.equal(wait(0, 500), 200, 'two messages must exceed the rate')
})

test('a rejected message counts neither as a message nor by its bytes', () => {
  const traffic = newTraffic(rate)
  const { updatedAt: at } = traffic.bytes
  const wait = (bytes: number, later = 0) => Math.round(admitMessage(traffic, rate, at + later, bytes))
  assert.equal(wait(3000), 0, 'a message that is larger than the bytes of a second must be accepted')
  for (let i = 0; i < 20; i++) assert.equal(wait(3000), 2000)
  assert.equal(wait(3000, 1999), 1)
  assert.equal(wait(100, 2000), 0)
  for (let i = 0; i < 8; i++) assert.equal(wait(1, 3000), 0)
})

test('a rate of 0 means no limit', () => {
  const none = trafficRate(0, 0)
  const traffic = newTraffic(none)
  for (let i = 0; i < 1000; i++) assert.equal(countTraffic(traffic, none, traffic.bytes.updatedAt, 1e6), 0)
  assert.equal(admitMessage(traffic, none, traffic.bytes.updatedAt, 1e6), 0)
})

test('different wrong secrets lock an address; a repeated secret counts once, and secrets that were correct before are accepted', () => {
  const lockout = createAddressLockout({ limit: 3, windowSeconds: 300, lockSeconds: 60 })
  const wrong = (from: number, to: number) => {
    for (let i = from; i <= to; i++) lockout.recordFailure('a', `wrong ${i}`)
  }
  lockout.recordSuccess('a', 'right')
  lockout.recordSuccess('b', 'of another')
  wrong(1, 2)
  for (let i = 0; i < 10; i++) lockout.recordFailure('a', 'wrong 1')
  assert.equal(lockout.lockedSeconds('a', 'new'), 0)
  wrong(3, 3)
  assert.ok(lockout.lockedSeconds('a', 'new') > 50)
  assert.ok(lockout.lockedSeconds('a', 'of another') > 50)
  assert.equal(lockout.lockedSeconds('a', 'right'), 0)
  assert.equal(lockout.lockedSeconds('b', 'new'), 0)
  wrong(4, 6)
  assert.ok(lockout.lockedSeconds('a', 'new') > 110)
})

test('all addresses of an IPv6 /64 share failures, locks and correct secrets', () => {
  const lockout = createAddressLockout({ limit: 3, windowSeconds: 300, lockSeconds: 60 })
  lockout.recordSuccess('2001:db8:1:2::1', 'right')
  for (let i = 0; i < 3; i++) lockout.recordFailure(`2001:db8:1:2:${i}::${i}`, `wrong ${i}`)
  assert.ok(lockout.lockedSeconds('2001:db8:1:2:ffff::', 'new') > 50)
  assert.equal(lockout.lockedSeconds('2001:db8:1:2:ffff::', 'right'), 0)
  assert.equal(lockout.lockedSeconds('2001:db8:1:3::1', 'new'), 0)
})

const anonymousConnection = (state: object) =>
  ({ state: { identifying: undefined, pendingLookups: 0, ...state } }) as DeviceConnection

test('an anonymous connection is closed after the time-out, or a little later if a lookup of its token is pending', async () => {
  const ended: DeviceConnection[] = []
  const anonymousTimeout = createAnonymousTimeout(0.02, (connection) => void ended.push(connection), 10)
  const [silent, known, busy] = [
    anonymousConnection({}),
    anonymousConnection({}),
    anonymousConnection({ pendingLookups: 1 }),
  ]
  for (const connection of [silent, known, busy]) anonymousTimeout.start(connection)
  anonymousTimeout.cancel(known)
  await eventually(() => assert.deepEqual(ended, [silent]), { everyMs: 2 })
  await eventually(() => assert.deepEqual(ended, [silent, busy]))
  const endless = createAnonymousTimeout(0, () => assert.fail('no time-out is set'))
  endless.start(silent)
})
