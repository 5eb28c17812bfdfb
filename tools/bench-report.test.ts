import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summaryOf } from '../bench/report.ts'

test('the summary lists the goals, and missed goals come first', () => {
  const figures = [
    { name: 'rate', value: 120, unit: '/s', limit: { min: 100 } },
    { name: 'for information', value: 1, unit: 'ms' },
    { name: 'time', value: 3, unit: 's', limit: { max: 2 } },
  ]
  assert.equal(
    summaryOf([{ title: 'Devices', figures }]),
    [
      '1 of 2 goals are reached.',
      '',
      '| Goal | Limit | Figure | Reached |',
      '|---|---|---|---|',
      '| Devices: time | at most 2 s | 3.00 s | **no** |',
      '| Devices: rate | at least 100 /s | 120 /s | yes |',
      '',
    ].join('\n'),
  )
  assert.equal(summaryOf([{ title: 'Devices', figures: [figures[1]!] }]), '')
})
