import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTimeZone, parseDate, resolveDate } from './dates.ts'

const now = Date.parse('2026-03-15T10:20:30.400Z')
const resolved = (text: string, up = false, timeZone?: string) => {
  const ms = resolveDate(text, { now, up, timeZone })
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

const cases: [text: string, down: string | undefined, up?: string][] = [
  ['2026', '2026-01-01T00:00:00.000Z', '2026-12-31T23:59:59.999Z'],
  ['2026-02', '2026-02-01T00:00:00.000Z', '2026-02-28T23:59:59.999Z'],
  ['2026-02-03', '2026-02-03T00:00:00.000Z', '2026-02-03T23:59:59.999Z'],
  ['2026-02-03T04:05', '2026-02-03T04:05:00.000Z', '2026-02-03T04:05:59.999Z'],
  ['2026-02-03T04:05:06.789Z', '2026-02-03T04:05:06.789Z'],
  ['2026-02-03T04:05:06.789123+02:00', '2026-02-03T02:05:06.789Z'],
  ['1767225600000', '2026-01-01T00:00:00.000Z'],
  ['now', '2026-03-15T10:20:30.400Z'],
  ['now-1d', '2026-03-14T10:20:30.400Z'],
  ['now-1M/d', '2026-02-15T00:00:00.000Z', '2026-02-15T23:59:59.999Z'],
  ['now/w', '2026-03-09T00:00:00.000Z', '2026-03-15T23:59:59.999Z'],
  ['2026-01-31||+1M', '2026-02-28T00:00:00.000Z'],
  ['2026-01-01||+1y-1s', '2026-12-31T23:59:59.000Z'],
  ['2026-02-30', undefined],
  ['2026-13', undefined],
  ['now-', undefined],
  ['now+1x', undefined],
  ['tomorrow', undefined],
  ['', undefined],
  ['12', undefined],
  ['99999999999999999999', undefined],
]
for (const [text, down, up = down] of cases)
  test(`the text ${JSON.stringify(text)} is ${down === undefined ? 'not a date' : `the date ${down}`}`, () => {
    assert.equal(resolved(text), down)
    assert.equal(resolved(text, true), up)
  })

test('the option time_zone applies to dates without a time zone, and to rounding', () => {
  assert.equal(resolved('2026-07-01', false, 'Europe/Berlin'), '2026-06-30T22:00:00.000Z')
  assert.equal(resolved('2026-07-01T00:00:00Z', false, 'Europe/Berlin'), '2026-07-01T00:00:00.000Z')
  assert.equal(resolved('now/d', false, '-11:00'), '2026-03-14T11:00:00.000Z')
  assert.ok(isTimeZone('+05:30') && isTimeZone('UTC') && !isTimeZone('Mars/Base'))
})

test('a text that is not a date is rejected', () => {
  assert.equal(parseDate('2026-01-01T00:00:00Z'), Date.UTC(2026, 0, 1))
  assert.equal(parseDate('hello'), undefined)
  assert.equal(parseDate('0000-01-01'), undefined)
})
