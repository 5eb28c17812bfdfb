import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createArrivalTimes, sweepFrom } from './arrival-times.ts'

suite('times of arrival', () => {
  test('the first sample of a millisecond has it, the next ones have the next milliseconds', () => {
    const { next } = createArrivalTimes()
    assert.deepEqual(
      [next(1, 1000), next(1, 1000), next(1, 1001), next(2, 1000), next(1, 2000)],
      [1000, 1001, 1002, 1000, 2000],
    )
  })

  test('whatever the endpoints send and whatever the clock does, times of an endpoint are distinct, increase and are the earliest', () => {
    const arrivals = createArrivalTimes()
    const last = new Map<number, number>()
    let now = 1_000_000
    for (let turn = 0; turn < 200_000; turn++) {
      if (Math.random() < 0.3) now += Math.floor(Math.random() * 4)
      const endpointNo = Math.floor(Math.random() ** 3 * 500)
      const time = arrivals.next(endpointNo, now)
      assert.equal(time, Math.max(now, (last.get(endpointNo) ?? 0) + 1))
      last.set(endpointNo, time)
    }
  })

  test('an endpoint whose clock went back goes on after its last time', () => {
    const { next } = createArrivalTimes()
    assert.deepEqual([next(1, 5000), next(1, 4000), next(1, 4001)], [5000, 5001, 5002])
  })

  test('times that were given elsewhere are not given again', () => {
    const { next, used } = createArrivalTimes()
    used(1, 1005)
    used(1, 1003)
    assert.deepEqual([next(1, 1000), next(1, 2000)], [1006, 2000])
  })

  test('endpoints whose millisecond is over take no memory', () => {
    const arrivals = createArrivalTimes()
    let most = 0
    for (let turn = 0; turn < 100_000; turn++) {
      arrivals.next(turn, 1000 + Math.floor(turn / 10))
      most = Math.max(most, arrivals.size)
    }
    assert.ok(most <= sweepFrom + 1, `${most} entries`)
    // One with a future of its own is kept.
    for (let more = 0; more < 50_000; more++) arrivals.next(0, 20_000)
    for (let turn = 0; turn < 2 * sweepFrom; turn++) arrivals.next(1 + turn, 20_001 + turn)
    assert.equal(arrivals.next(0, 20_001), 70_000)
  })
})
