import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Points, type Value, valueAt } from '../points.ts'
import { pack, unpack } from './chunk-codec.ts'

const pointsOf = (list: [number, Value][]): Points => {
  const times = Float64Array.from(list, ([time]) => time)
  const numbers = Float64Array.from(list, ([, value]) => (typeof value === 'number' ? value : Number.NaN))
  const others = new Map(
    list.flatMap(([, value], index) => (typeof value === 'number' ? [] : [[index, value] as const])),
  )
  return { count: list.length, times, numbers, ...(others.size > 0 && { others }) }
}

const listOf = (points: Points): [number, Value][] =>
  Array.from({ length: points.count }, (_, index) => [points.times[index]!, valueAt(points, index)])

const roundTrip = (list: [number, Value][]) => assert.deepEqual(listOf(unpack(pack(pointsOf(list)))), list)

/** Maximum time of the random points. It is later than the year 9999. */
const timeMax = 2 ** 48
const start = Date.UTC(2026, 0, 1)

test('unpack returns exactly the points that were packed', () => {
  const value = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.integer({ min: -100_000, max: 100_000 }).map((whole) => whole / 100),
    fc.maxSafeInteger(),
    fc.string(),
    fc.boolean(),
    fc.constant(null),
  )
  const time = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: -timeMax, max: timeMax }))
  const list = fc
    .uniqueArray(fc.tuple(time, value), { minLength: 1, maxLength: 400, selector: ([at]) => at })
    .map((points) => points.sort(([a], [b]) => a - b) as [number, Value][])
  fc.assert(fc.property(list, roundTrip), { numRuns: 300, seed: 5 })
})

test('whole numbers of every width are restored', () => {
  for (let width = 0; width <= 53; width++) {
    const most = 2 ** width - 1
    roundTrip(Array.from({ length: 300 }, (_, index) => [start + index * 1000, index % 3 === 0 ? most : index % 2]))
    roundTrip(Array.from({ length: 300 }, (_, index) => [start + index * 1000, index % 3 === 0 ? -most : index % 2]))
  }
})

test('the packed day of a regular series with two decimals takes less than 2 bytes for each value', () => {
  let value = 2000
  const list = Array.from({ length: 1440 }, (_, index): [number, Value] => {
    value += ((index * 7919) % 61) - 30
    return [start + index * 60_000, value / 100]
  })
  const packed = pack(pointsOf(list))
  assert.ok(packed.length / list.length < 2, `the chunk has ${packed.length / list.length} bytes for each value`)
  roundTrip(list)
})

test('each number with many decimals takes eight bytes, and regular times take almost no bytes', () => {
  const list = Array.from({ length: 1000 }, (_, index): [number, Value] => [start + index * 1000, Math.sqrt(index + 2)])
  assert.ok(pack(pointsOf(list)).length < 8100)
  roundTrip(list)
})

test('negative zero is preserved', () => {
  assert.ok(Object.is(unpack(pack(pointsOf([[start, -0]]))).numbers[0], -0))
})

test('a packed chunk that is cut off anywhere causes an error when it is unpacked', () => {
  const packed = pack(pointsOf(Array.from({ length: 200 }, (_, index) => [start + index, index / 10])))
  for (let length = 0; length < packed.length; length += 3)
    assert.throws(() => unpack(packed.subarray(0, length)), /chunk/)
})
