/** Tests that relative times, which the console formats without `Intl` because it is slow, have the same texts as with `Intl`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { englishRelative, relativeTo } from '../../console/src/parts/relative-time.ts'

const units = ['second', 'minute', 'hour', 'day', 'month', 'year'] as const

test('relative times in the past and future equal the English texts of Intl', () => {
  const format = new Intl.RelativeTimeFormat('en-GB', { numeric: 'auto' })
  for (const unit of units)
    for (const value of [-12_345, -60, -30, -2, -1, 0, 1, 2, 29, 59, 1000])
      assert.equal(englishRelative(value, unit), format.format(value, unit))
})

test('a time is shown in the largest unit that fits', () => {
  const now = Date.UTC(2026, 0, 1)
  const before = (seconds: number) => englishRelative(...relativeTo(now - seconds * 1000, now))
  assert.deepEqual([0, 59, 80, 3 * 3600, 86_400, 40 * 86_400, 800 * 86_400, -7200].map(before), [
    'now',
    '59 seconds ago',
    '1 minute ago',
    '3 hours ago',
    'yesterday',
    'last month',
    '2 years ago',
    'in 2 hours',
  ])
})
