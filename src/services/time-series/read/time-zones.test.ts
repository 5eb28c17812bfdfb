import assert from 'node:assert/strict'
import { test } from 'node:test'
import { intervalInZone, intervalOf } from './intervals.ts'
import { timeZoneOf } from './time-zones.ts'

const at = (text: string) => Date.parse(text)
const text = (time: number) => new Date(time).toISOString().replace(':00.000Z', 'Z')

/** Returns the starts of the intervals from one time to another. */
function startsOf(interval: string, zone: string, from: string, to: string) {
  const { startOf, nextOf } = intervalInZone(interval, timeZoneOf(zone)!)!
  const starts: string[] = []
  for (let start = startOf(at(from)); start < at(to); start = nextOf(start)) starts.push(text(start))
  return starts
}

test('days, weeks and months begin at midnight of the zone, even when the clock changes', () => {
  assert.deepEqual(startsOf('1d', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-31T00:00Z'), [
    '2026-03-27T23:00Z',
    '2026-03-28T23:00Z',
    '2026-03-29T22:00Z',
    '2026-03-30T22:00Z',
  ])
  assert.deepEqual(startsOf('1d', 'Europe/Berlin', '2026-10-24T12:00Z', '2026-10-27T00:00Z'), [
    '2026-10-23T22:00Z',
    '2026-10-24T22:00Z',
    '2026-10-25T23:00Z',
    '2026-10-26T23:00Z',
  ])
  assert.deepEqual(startsOf('1w', 'America/New_York', '2026-03-05T12:00Z', '2026-03-17T00:00Z'), [
    '2026-03-02T05:00Z',
    '2026-03-09T04:00Z',
    '2026-03-16T04:00Z',
  ])
  assert.deepEqual(startsOf('1M', 'Asia/Kolkata', '2026-01-31T18:29Z', '2026-03-01T00:00Z'), [
    '2025-12-31T18:30Z',
    '2026-01-31T18:30Z',
    '2026-02-28T18:30Z',
  ])
  assert.deepEqual(startsOf('1y', 'Pacific/Auckland', '2026-06-01T00:00Z', '2027-01-01T00:00Z'), [
    '2025-12-31T11:00Z',
    '2026-12-31T11:00Z',
  ])
})

test('a midnight that the clock skips or repeats belongs to one day', () => {
  // In São Paulo, the clock skipped midnight of 2018-11-04, so this day began at 01:00.
  assert.deepEqual(startsOf('1d', 'America/Sao_Paulo', '2018-11-03T12:00Z', '2018-11-06T00:00Z'), [
    '2018-11-03T03:00Z',
    '2018-11-04T03:00Z',
    '2018-11-05T02:00Z',
  ])
  // In Havana, midnight of 2026-11-01 occurs twice.
  assert.deepEqual(startsOf('1d', 'America/Havana', '2026-10-31T12:00Z', '2026-11-03T00:00Z'), [
    '2026-10-31T04:00Z',
    '2026-11-01T04:00Z',
    '2026-11-02T05:00Z',
  ])
})

test('hours follow the wall clock: a repeated hour is two intervals of 1h, and makes an interval of 6h seven hours long', () => {
  assert.deepEqual(startsOf('1h', 'Europe/Berlin', '2026-10-24T23:30Z', '2026-10-25T03:00Z'), [
    '2026-10-24T23:00Z',
    '2026-10-25T00:00Z',
    '2026-10-25T01:00Z',
    '2026-10-25T02:00Z',
  ])
  assert.deepEqual(startsOf('6h', 'Europe/Berlin', '2026-10-24T22:30Z', '2026-10-25T12:00Z'), [
    '2026-10-24T22:00Z',
    '2026-10-25T05:00Z',
    '2026-10-25T11:00Z',
  ])
  assert.deepEqual(startsOf('6h', 'Europe/Berlin', '2026-03-29T00:00Z', '2026-03-29T12:00Z'), [
    '2026-03-28T23:00Z',
    '2026-03-29T04:00Z',
    '2026-03-29T10:00Z',
  ])
  assert.deepEqual(startsOf('1h', 'Asia/Kolkata', '2026-01-01T00:00Z', '2026-01-01T02:00Z'), [
    '2025-12-31T23:30Z',
    '2026-01-01T00:30Z',
    '2026-01-01T01:30Z',
  ])
})

test('intervals follow each other without gaps, and startOf returns the same start for all times of an interval', () => {
  const zones = ['Europe/Berlin', 'America/Havana', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Asia/Kathmandu', 'UTC']
  // Each date below is the day before a change of the clock in one of the zones.
  for (const name of zones)
    for (const [interval, days] of [
      ['15m', 3],
      ['1h', 3],
      ['5h', 30],
      ['1d', 400],
      ['3d', 400],
      ['1w', 400],
      ['1M', 800],
    ] as const)
      for (const from of [
        '2026-02-14',
        '2026-03-21',
        '2026-03-28',
        '2026-04-04',
        '2026-10-03',
        '2026-10-24',
        '2026-10-31',
      ]) {
        const { startOf, nextOf } = intervalInZone(interval, timeZoneOf(name)!)!
        const end = at(from) + days * 86_400_000
        for (let start = startOf(at(from)); start < end; ) {
          const next = nextOf(start)
          const isCovered =
            next > start &&
            startOf(next) === next &&
            [start, start + 1, Math.floor((start + next) / 2), next - 1].every((time) => startOf(time) === start)
          if (!isCovered) assert.fail(`not covered: ${name} ${interval} ${text(start)} to ${text(next)}`)
          start = next
        }
      }
})

test('in the zone UTC, intervals are equal to intervals without a zone', () => {
  const zone = timeZoneOf('UTC')!
  for (const interval of ['7s', '15m', '1h', '1d', '2w', '5M', '1y'])
    for (const time of ['0100-05-05T01:00Z', '1969-12-31T23:59Z', '2026-02-28T12:34Z', '9999-12-31T23:59Z'].map(at)) {
      const [plain, zoned] = [intervalOf(interval)!, intervalInZone(interval, zone)!]
      assert.equal(zoned.startOf(time), plain.startOf(time))
      assert.equal(zoned.nextOf(zoned.startOf(time)), plain.nextOf(plain.startOf(time)))
    }
})

test('no interval begins before the year 0, whose text has another form', () => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'UTC'])
    for (const interval of ['99999y', '99999w', '7M']) {
      const { startOf, nextOf } = intervalInZone(interval, timeZoneOf(zone)!)!
      const start = startOf(at('0001-01-01T00:00Z'))
      assert.match(new Date(start).toISOString(), /^0000-/, `${zone} ${interval}`)
      assert.equal(startOf(start), start)
      assert.ok(nextOf(start) > at('0001-01-01T00:00Z'))
    }
})

test('unknown zones are not accepted', () => {
  for (const name of ['', 'Mars/Olympus', 'Europe/Berlin; drop', '__proto__', '+99:00'])
    assert.equal(timeZoneOf(name), undefined, name)
  assert.equal(timeZoneOf('+05:30')!.offsetAt(0), 19_800_000)
})
