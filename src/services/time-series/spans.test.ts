import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeMax, timeMin } from '../../kernel/times.ts'
import { spanOf } from './spans.ts'

const now = new Date('2026-03-04T05:06:07Z')

test('a range whose ends are outside of the years 1 to 9999 includes the first and the last time of these years', () => {
  for (const [fromDate, toDate] of [
    [timeMin - 1, timeMax + 1],
    ['-999999999999999', '999999999999999'],
    ['0001-01-01T00:00:00+14:00', '9999-12-31T23:59:59-14:00'],
    ['now-999999999y', 253_402_300_800_000],
  ] as const) {
    const { from, to } = spanOf({ fromDate, toDate }, now)
    assert.ok(from <= timeMin && to >= timeMax, `${fromDate} to ${toDate}`)
  }
})

test('the ends of a range are excluded unless includeTime names them', () => {
  const dates = { fromDate: timeMin, toDate: timeMax }
  assert.deepEqual(spanOf(dates, now), { from: timeMin + 1, to: timeMax - 1 })
  assert.deepEqual(spanOf({ ...dates, includeTime: 'both' }, now), { from: timeMin, to: timeMax })
  assert.deepEqual(spanOf({ fromDate: '-999999999999999', toDate: '-999999999999998' }, now), {
    from: timeMin - 1,
    to: timeMin - 1,
  })
})
