import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeOf } from './times.ts'

const now = new Date('2026-03-04T05:06:07Z')

test('the + of a time zone may arrive as a space, because scripts do not encode it in queries', () => {
  for (const [text, time] of [
    ['2026-06-01T10:00:00 02:00', '2026-06-01T08:00:00Z'],
    ['2026-06-01T10:00:00.123456 00:00', '2026-06-01T10:00:00.123Z'],
    ['2026-06-01T10:00 0530', '2026-06-01T04:30:00Z'],
    ['2026-06-01 10:00:00 02:00', '2026-06-01T08:00:00Z'],
    ['2026-06-01 10:00', '2026-06-01T10:00:00Z'],
    ['2026-06-01 10:00:00', '2026-06-01T10:00:00Z'],
    ['2026-06-01T10:00:00+02:00', '2026-06-01T08:00:00Z'],
  ] as const)
    assert.equal(timeOf(text, now), Date.parse(time), text)
  for (const text of [
    '2026-06-01 02:00 ',
    '2026-06-01T10:00:00  02:00',
    '2026-06-01T10:00:00 02',
    '2026-06-01T10 02:00',
  ])
    assert.equal(timeOf(text, now), undefined, text)
})
