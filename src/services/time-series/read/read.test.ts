import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { between, merge, type Points, type Value, valueAt } from '../points.ts'
import { putPoints, rowsOf } from './point-json.ts'
import { createTextBuffer, takeText } from './text-buffer.ts'
import { isAscending, orderOf, reorder } from './time-order.ts'

const pointsOf = (list: [number, Value][]): Points => ({
  count: list.length,
  times: Float64Array.from(list, ([time]) => time),
  numbers: Float64Array.from(list, ([, value]) => (typeof value === 'number' ? value : Number.NaN)),
  others: new Map(list.flatMap(([, value], index) => (typeof value === 'number' ? [] : [[index, value] as const]))),
})
const listOf = (points: Points): [number, Value][] =>
  Array.from({ length: points.count }, (_, index) => [points.times[index]!, valueAt(points, index)])

const value = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.integer({ min: -2_000_000, max: 2_000_000 }).map((whole) => whole / 100),
  fc.integer({ min: -2_000_000, max: 2_000_000 }).map((whole) => whole / 1000),
  fc.string(),
  fc.boolean(),
  fc.constant(null),
)
const list = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 60 }), value), { maxLength: 40, selector: ([at]) => at })
  .map((points) => points.sort(([a], [b]) => a - b) as [number, Value][])

test('if two sources have the same time, merge keeps the point of the later source, for any overlap', () => {
  const property = fc.property(fc.array(list, { maxLength: 5 }), (lists) => {
    const expected = new Map(lists.flat())
    const sorted = [...expected].sort(([a], [b]) => a - b)
    assert.deepEqual(listOf(merge(lists.map(pointsOf))), sorted)
  })
  fc.assert(property, { numRuns: 300, seed: 7 })
})

test('orderOf sorts late times, and returns undefined if a time occurs twice', () => {
  const times = fc.oneof(
    fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 20 }),
    fc.uniqueArray(fc.integer(), { maxLength: 50 }),
    // These times are nearly in order.
    fc.uniqueArray(fc.integer({ min: 0, max: 1000 }), { maxLength: 60 }).chain((all) =>
      fc.array(fc.nat({ max: Math.max(0, all.length - 1) }), { maxLength: 3 }).map((moved) => {
        const sorted = all.toSorted((a, b) => a - b)
        for (const from of moved) sorted.push(...sorted.splice(from, 1))
        return sorted
      }),
    ),
  )
  const property = fc.property(times, (all) => {
    const order = orderOf(all)
    if (new Set(all).size < all.length) return assert.equal(order, undefined)
    const sorted = all.toSorted((a, b) => a - b)
    assert.equal(isAscending(all), JSON.stringify(all) === JSON.stringify(sorted))
    assert.deepEqual([...reorder(Float64Array.from(all), order!)], sorted)
    assert.deepEqual(
      [...order!].toSorted((a, b) => a - b),
      [...all.keys()],
    )
  })
  fc.assert(property, { numRuns: 500, seed: 9 })
})

test('between includes both times', () => {
  const property = fc.property(
    list,
    fc.integer({ min: -5, max: 65 }),
    fc.integer({ min: -5, max: 65 }),
    (all, from, to) => {
      const expected = all.filter(([time]) => time >= from && time <= to)
      assert.deepEqual(listOf(between(pointsOf(all), from, to)), expected)
    },
  )
  fc.assert(property, { numRuns: 300, seed: 8 })
})

test('putPoints writes the same text as JSON.stringify, for any buffer size', () => {
  const names = ['value', 'a "b"', 'ü']
  const property = fc.property(
    fc.array(list, { minLength: 1, maxLength: 3 }),
    fc.boolean(),
    fc.integer({ min: 1, max: 300 }),
    (lists, descending, bytesMax) => {
      const columns = lists.map((own, index) => ({ name: names[index]!, points: pointsOf(own) }))
      const rows = rowsOf(columns, descending)
      const text = createTextBuffer(16)
      const written: unknown[] = []
      for (let at = 0; at < rows.count; ) {
        at = putPoints(text, rows, at, bytesMax)
        written.push(...JSON.parse(`[${takeText(text)}]`))
      }
      const byTime = new Map<number, Record<string, Value>>()
      for (const [index, own] of lists.entries())
        for (const [time, value] of own) byTime.set(time, { ...byTime.get(time), [names[index]!]: value })
      const sorted = [...byTime].sort(([a], [b]) => (descending ? b - a : a - b))
      const expected = sorted.map(([time, values]) => ({ timestamp: new Date(time).toISOString(), values }))
      assert.deepEqual(written, JSON.parse(JSON.stringify(expected)))
    },
  )
  fc.assert(property, { numRuns: 300, seed: 9 })
})

test('times are written like Date.toISOString, even before 1970', () => {
  const times = [
    -1,
    -86_400_001,
    0,
    1,
    999,
    86_399_999,
    Date.parse('0001-01-01T00:00:00Z'),
    Date.UTC(9999, 11, 31, 23, 59, 59, 999),
  ]
  const rows = rowsOf([{ name: 'value', points: pointsOf(times.toSorted((a, b) => a - b).map((time) => [time, 1])) }])
  const text = createTextBuffer()
  putPoints(text, rows, 0, 1e6)
  const points = JSON.parse(`[${takeText(text)}]`).map(({ timestamp }: { timestamp: string }) => timestamp)
  assert.deepEqual(
    points,
    times.toSorted((a, b) => a - b).map((time) => new Date(time).toISOString()),
  )
})

test('the memory for aligning many values with distinct times depends only on the number of points', () => {
  const columns = Array.from({ length: 2000 }, (_, column) => ({
    name: `v${column}`,
    points: pointsOf(Array.from({ length: 10 }, (_, index) => [index * 2000 + column, column])),
  }))
  const before = process.memoryUsage().arrayBuffers
  const rows = rowsOf(columns, true)
  assert.ok(process.memoryUsage().arrayBuffers - before < 4_000_000)
  const text = createTextBuffer()
  putPoints(text, rows, 0, 1e7)
  const points = JSON.parse(`[${takeText(text)}]`)
  assert.equal(points.length, 20_000)
  assert.deepEqual(points[0], { timestamp: '1970-01-01T00:00:19.999Z', values: { v1999: 1999 } })
})
