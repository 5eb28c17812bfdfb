import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { freshDatabase, independentPool } from '../../test/harness/database.ts'
import { createLockout, type LockoutRule } from './lockout.ts'
import { createLockoutRows } from './lockout-rows.ts'

const rule: LockoutRule = { limit: 3, windowSeconds: 300, lockSeconds: 60 }
const daySeconds = 86_400

/** A common interface, so that the same tests run against both implementations. */
interface Subject {
  fail(times: number): Promise<void>
  lockedFor(): Promise<number>
  forget(): Promise<void>
  later(seconds: number): void
}

const sql = independentPool(await freshDatabase())
await sql.unsafe(`create table lockouts (key bytea primary key, failures integer not null, pending integer not null default 0,
  pending_at timestamptz, window_started_at timestamptz not null, locked_until timestamptz, locks integer not null default 0,
  updated_at timestamptz not null)`)
const rows = createLockoutRows((sql) => sql`lockouts`)

function inMemory(): Subject {
  let at = 0
  const lockout = createLockout(rule, { nowMs: () => at })
  return {
    async fail(times) {
      for (let i = 0; i < times; i++) lockout.recordFailure('key')
    },
    lockedFor: async () => lockout.lockedSeconds('key'),
    forget: async () => lockout.reset('key'),
    later(seconds) {
      at += seconds * 1000
    },
  }
}

function inRows(): Subject {
  let at = Date.UTC(2026, 0, 1)
  const now = () => new Date(at)
  const key = randomBytes(8)
  return {
    async fail(times) {
      for (let i = 0; i < times; i++) {
        assert.ok(await rows.reserve(sql, key, now(), rule))
        await rows.recordFailure(sql, key, now(), rule)
      }
    },
    async lockedFor() {
      const { until } = await rows.find(sql, [key], now())
      return until ? (until.getTime() - at) / 1000 : 0
    },
    forget: () => rows.remove(sql, key),
    later(seconds) {
      at += seconds * 1000
    },
  }
}

for (const [where, open] of [
  ['memory', inMemory],
  ['rows', inRows],
] as const)
  describe(`a lockout in ${where}`, () => {
    test(`a lockout in ${where} begins at the limit of failures, not earlier, and ends exactly when its time has passed`, async () => {
      const { fail, lockedFor, later } = open()
      assert.equal(await lockedFor(), 0)
      await fail(2)
      assert.equal(await lockedFor(), 0)
      await fail(1)
      assert.equal(await lockedFor(), 60)
      later(59)
      assert.equal(await lockedFor(), 1)
      later(1)
      assert.equal(await lockedFor(), 0)
    })

    test(`a lockout in ${where} counts from zero again when the window has ended, but not a second earlier`, async () => {
      const early = open()
      await early.fail(2)
      early.later(299)
      await early.fail(1)
      assert.equal(await early.lockedFor(), 60)
      const late = open()
      await late.fail(2)
      late.later(300)
      await late.fail(2)
      assert.equal(await late.lockedFor(), 0)
    })

    test(`a lockout in ${where} counts from zero again after a lock, even within the same window`, async () => {
      const { fail, lockedFor, later } = open()
      await fail(3)
      later(60)
      await fail(2)
      assert.equal(await lockedFor(), 0)
      later(290)
      await fail(1)
      assert.equal(await lockedFor(), 120, 'a new window must begin after the lock')
    })

    test(`a lockout in ${where} doubles the lock each time, up to 1,024 times the first lock, and starts over after a day without attempts`, async () => {
      const { fail, lockedFor, later } = open()
      for (const expected of [...Array.from({ length: 11 }, (_, n) => 60 * 2 ** n), 60 * 1024]) {
        await fail(3)
        assert.equal(await lockedFor(), expected)
        later(expected)
      }
      later(daySeconds + 1)
      await fail(3)
      assert.equal(await lockedFor(), 60)
    })

    test(`a lockout in ${where} forgets the attempts of a key on request`, async () => {
      const { fail, forget, lockedFor } = open()
      await fail(3)
      await forget()
      assert.equal(await lockedFor(), 0)
      await fail(2)
      assert.equal(await lockedFor(), 0)
    })
  })

describe('a lockout in memory', () => {
  test('a wrong attempt during a lock that lasts longer than the window does not end the lock', () => {
    let at = 0
    const lockout = createLockout({ ...rule, lockSeconds: 1000 }, { nowMs: () => at })
    for (let i = 0; i < 3; i++) lockout.recordFailure('key')
    at = 400_000
    lockout.recordFailure('key')
    assert.equal(lockout.lockedSeconds('key'), 600)
  })

  test('a wrong value that is repeated within the window counts once; the lockout stores only a few short values', () => {
    let at = 0
    const lockout = createLockout({ ...rule, limit: 20 }, { nowMs: () => at })
    const failed = (what: string, times = 1) => {
      for (let i = 0; i < times; i++) lockout.recordFailure('key', what)
    }
    failed('old', 100)
    at = 300_000
    failed('old', 100)
    assert.equal(lockout.lockedSeconds('key'), 0)
    for (let i = 0; i < 15; i++) failed(`w${i}`)
    failed('w3', 100)
    assert.equal(lockout.lockedSeconds('key'), 0)
    failed('seventeenth', 3)
    assert.equal(lockout.lockedSeconds('key'), 0)
    failed('x'.repeat(201))
    assert.equal(lockout.lockedSeconds('key'), 60)
  })

  test('keys are independent, and the key whose last attempt is oldest is evicted first', () => {
    const lockout = createLockout({ ...rule, limit: 1 }, { keysMax: 2, nowMs: () => 0 })
    lockout.recordFailure('a')
    lockout.recordFailure('b')
    assert.deepEqual([lockout.lockedSeconds('a'), lockout.lockedSeconds('b'), lockout.lockedSeconds('c')], [60, 60, 0])
    lockout.recordFailure('a')
    lockout.recordFailure('c')
    assert.deepEqual(
      [lockout.lockedSeconds('a') > 0, lockout.lockedSeconds('b'), lockout.lockedSeconds('c')],
      [true, 0, 60],
    )
  })
})

describe('a lockout in rows', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const seconds = (after: number) => new Date(now.getTime() + after * 1000)

  test('the number of concurrent attempts is limited to the limit of failures; successful attempts do not count', async () => {
    const key = randomBytes(8)
    const reservations = await Promise.all(Array.from({ length: 20 }, () => rows.reserve(sql, key, now, rule)))
    assert.equal(reservations.filter(Boolean).length, 3)
    await rows.release(sql, key)
    assert.ok(await rows.reserve(sql, key, now, rule))
    await rows.recordFailure(sql, key, now, rule)
    await rows.recordSuccess(sql, key)
    assert.deepEqual(await Promise.all([1, 2, 3].map(() => rows.reserve(sql, key, now, rule))), [true, true, false])
  })

  test('an attempt whose process died no longer counts after a minute', async () => {
    const key = randomBytes(8)
    for (let i = 0; i < 3; i++) assert.ok(await rows.reserve(sql, key, now, rule))
    assert.equal(await rows.reserve(sql, key, seconds(59), rule), false)
    assert.ok(await rows.reserve(sql, key, seconds(60), rule))
  })

  test('a limit of one locks with the first wrong attempt', async () => {
    const key = randomBytes(8)
    assert.equal(await rows.recordFailure(sql, key, now, { ...rule, limit: 1 }), 1)
    assert.deepEqual(await rows.find(sql, [key], now), { known: true, until: seconds(60) })
    assert.deepEqual(await rows.find(sql, [key], seconds(60)), { known: true })
  })

  test('pruning keeps locks and recent attempts, and at most the maximum number of rows', async () => {
    await sql`delete from lockouts`
    const [locked, recent, old] = [randomBytes(8), randomBytes(8), randomBytes(8)]
    await rows.recordFailure(sql, locked, now, { ...rule, limit: 1 })
    await rows.recordFailure(sql, old, now, rule)
    await rows.recordFailure(sql, recent, seconds(200), rule)
    const known = async () =>
      await Promise.all([locked, recent, old].map(async (key) => (await rows.find(sql, [key], now)).known))
    await rows.prune(sql, seconds(301), rule.windowSeconds)
    assert.deepEqual(await known(), [true, true, false])
    await rows.prune(sql, seconds(302), rule.windowSeconds, 1)
    assert.deepEqual(await known(), [false, true, false])
    await rows.prune(sql, seconds(2 * daySeconds), rule.windowSeconds)
    assert.deepEqual(await known(), [false, false, false])
  })
})
