import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Points, type Value, valueAt } from '../points.ts'
import { downsample } from './downsample.ts'
import { type Aggregate, aggregates, mergeSums, pointsOfSums, sumsOf } from './interval-sums.ts'
import { intervalOf } from './intervals.ts'

const timeOf = (text: string) => Date.parse(text)
const pointsOf = (list: [number, Value][]): Points => ({
  count: list.length,
  times: Float64Array.from(list, ([time]) => time),
  numbers: Float64Array.from(list, ([, value]) => (typeof value === 'number' ? value : Number.NaN)),
  others: new Map(list.flatMap(([, value], index) => (typeof value === 'number' ? [] : [[index, value] as const]))),
})
const listOf = (points: Points) =>
  Array.from({ length: points.count }, (_, index) => [
    new Date(points.times[index]!).toISOString(),
    valueAt(points, index),
  ])

const aggregate = (points: Points, interval: string, kind: Aggregate) =>
  pointsOfSums(sumsOf(points, intervalOf(interval)!), kind)

test('each interval with points has one value, and intervals without points are left out', () => {
  const points = pointsOf([
    [timeOf('2026-01-01T00:10:00Z'), 1],
    [timeOf('2026-01-01T00:59:59.999Z'), 4],
    [timeOf('2026-01-01T01:00:00Z'), null],
    [timeOf('2026-01-01T05:00:00Z'), 'on'],
    [timeOf('2026-01-01T05:30:00Z'), -2],
  ])
  const aggregated = Object.fromEntries(
    aggregates.map((name) => [name, listOf(aggregate(points, '1h', name)).map(([, value]) => value)]),
  )
  assert.deepEqual(aggregated, {
    avg: [2.5, null, -2],
    min: [1, null, -2],
    max: [4, null, -2],
    sum: [5, null, -2],
    count: [2, 0, 2],
    first: [1, null, 'on'],
    last: [4, null, -2],
  })
  assert.deepEqual(
    listOf(aggregate(points, '1h', 'count')).map(([time]) => time),
    ['2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z', '2026-01-01T05:00:00.000Z'],
  )
})

test('averages and sums stay right if the sum of some values exceeds the range of numbers', () => {
  const values = [1e308, 1e308, -1e308, null, 5]
  const valuesOf = (list: Value[], kind: Aggregate) =>
    listOf(
      aggregate(pointsOf(list.map((value, index) => [timeOf('2026-01-01T00:00:00Z') + index, value])), '1h', kind),
    ).map(([, value]) => value)
  assert.deepEqual(valuesOf(values, 'sum'), [1e308])
  assert.deepEqual(valuesOf(values, 'avg'), [2.5e307])
  assert.deepEqual(valuesOf([1.5e308, 1.5e308], 'avg'), [1.5e308])
  assert.deepEqual(valuesOf([1.5e308, 1.5e308], 'sum'), [null], 'JSON cannot represent the sum')

  const sumsFrom = (list: number[]) =>
    sumsOf(pointsOf(list.map((value, index) => [timeOf('2026-01-01T00:00:00Z') + index, value])), intervalOf('1h')!)
  const merged = mergeSums(sumsFrom([1e308, 1e308]), sumsFrom([1e308]), sumsFrom([-1e308, -1e308]))
  assert.deepEqual(
    listOf(pointsOfSums(merged, 'sum')).map(([, value]) => value),
    [1e308],
  )
  const ofFinite = mergeSums(sumsFrom([1e308]), sumsFrom([1e308]), sumsFrom([-1e308]))
  assert.deepEqual(
    listOf(pointsOfSums(ofFinite, 'sum')).map(([, value]) => value),
    [1e308],
  )
})

test('weeks begin on Monday, and months and years follow the calendar, even before 1970', () => {
  const start = (interval: string, time: string) => new Date(intervalOf(interval)!.startOf(timeOf(time))).toISOString()
  assert.equal(start('1w', '2026-11-15T12:00:00Z'), '2026-11-09T00:00:00.000Z')
  assert.equal(start('1M', '2026-11-15T12:00:00Z'), '2026-11-01T00:00:00.000Z')
  assert.equal(start('3M', '2026-11-15T12:00:00Z'), '2026-10-01T00:00:00.000Z')
  assert.equal(start('1y', '1969-11-15T12:00:00Z'), '1969-01-01T00:00:00.000Z')
  assert.equal(start('1M', '0005-02-15T12:00:00Z'), '0005-02-01T00:00:00.000Z')
  assert.equal(start('1h', '1969-12-31T23:59:59.999Z'), '1969-12-31T23:00:00.000Z')
  assert.equal(
    new Date(intervalOf('1M')!.nextOf(timeOf('2026-12-01T00:00:00Z'))).toISOString(),
    '2027-01-01T00:00:00.000Z',
  )
  // No interval begins before the year 0, because earlier years cannot be written with four digits.
  assert.equal(start('99999w', '0001-01-01T00:00:00Z'), '0000-01-01T00:00:00.000Z')
  const weeks = intervalOf('99999w')!
  assert.equal(
    weeks.nextOf(weeks.startOf(timeOf('0001-01-01T00:00:00Z'))),
    weeks.startOf(timeOf('0060-01-01T00:00:00Z')),
  )
  for (const wrong of ['', '0h', 'h', '1', '1x', '-1h', '1.5h', '100000s', '1 h'])
    assert.equal(intervalOf(wrong), undefined)
})

test('downsampling keeps the first point, the last point and the greatest peak', () => {
  const list = Array.from({ length: 10_000 }, (_, index): [number, Value] => [
    index * 1000,
    index === 7777 ? 500 : Math.sin(index / 100),
  ])
  const fewer = downsample(pointsOf(list), 100)
  assert.equal(fewer.count, 100)
  assert.equal(fewer.times[0], 0)
  assert.equal(fewer.times[99], 9_999_000)
  assert.ok(fewer.numbers.includes(500))
  assert.equal(downsample(pointsOf(list.slice(0, 50)), 100).count, 50)
  assert.equal(
    downsample(
      pointsOf([
        [1, null],
        [2, 5],
        [3, 'x'],
      ]),
      100,
    ).count,
    1,
  )
})
