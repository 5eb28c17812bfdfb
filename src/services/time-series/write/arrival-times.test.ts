import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createArrivalTimes, sweepFrom } from './arrival-times.ts'

suite('times of arrival', () => {
  test('samples of the same millisecond get consecutive milliseconds', () => {
    const { next } = createArrivalTimes()
    assert.deepEqual(
      [next(1, 1000), next(1, 1000), next(1, 1001), next(2, 1000), next(1, 2000)],
      [1000, 1001, 1002, 1000, 2000],
    )
  })

  test('each sample gets the current time, or the millisecond after the last time of its endpoint if that is later', () => {
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

  test('times continue after the last time if the clock goes back', () => {
    const { next } = createArrivalTimes()
    assert.deepEqual([next(1, 5000), next(1, 4000), next(1, 4001)], [5000, 5001, 5002])
  })

  test('times that another node has used are not used again', () => {
    const { next, used } = createArrivalTimes()
    used(1, 1005)
    used(1, 1003)
    assert.deepEqual([next(1, 1000), next(1, 2000)], [1006, 2000])
  })

  test('the entry of an endpoint is removed when its millisecond has passed', () => {
    const arrivals = createArrivalTimes()
    let most = 0
    for (let turn = 0; turn < 100_000; turn++) {
      arrivals.next(turn, 1000 + Math.floor(turn / 10))
      most = Math.max(most, arrivals.size)
    }
    assert.ok(most <= sweepFrom + 1, `${most} entries`)
    // An entry with a time in the future is kept.
    for (let more = 0; more < 50_000; more++) arrivals.next(0, 20_000)
    for (let turn = 0; turn < 2 * sweepFrom; turn++) arrivals.next(1 + turn, 20_001 + turn)
    assert.equal(arrivals.next(0, 20_001), 70_000)
  })
})
