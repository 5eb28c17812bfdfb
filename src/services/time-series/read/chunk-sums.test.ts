import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { firstTimeOf, pack, unpack } from '../pack/chunk-codec.ts'
import { between, type Points } from '../points.ts'
import { sumsOfPacked } from './chunk-sums.ts'
import { sumsOf } from './interval-sums.ts'
import { intervalOf } from './intervals.ts'

const begin = Date.UTC(2026, 0, 1)

function pointsOf(times: number[], values: number[]): Points {
  return { count: times.length, times: Float64Array.from(times), numbers: Float64Array.from(values) }
}

const steps = fc.oneof(
  fc.integer({ min: 1, max: 900_000 }).map((step) => (index: number) => index * step),
  fc
    .array(fc.integer({ min: 1, max: 900_000 }), { minLength: 1, maxLength: 7 })
    .map((some) => (index: number) => index * 1_000_000 + (some[index % some.length] ?? 0)),
)
const decimals = fc
  .tuple(
    fc.array(fc.integer({ min: -100_000_000, max: 100_000_000 }), { minLength: 1, maxLength: 300 }),
    fc.constantFrom(1, 10, 100, 1e6),
  )
  .map(([wholes, power]) => wholes.map((whole) => whole / power))
const spread = fc.integer({ min: -5_000_000, max: 400_000_000 })

suite('sums of packed points', () => {
  test('sums of packed points equal the sums of the same points before packing', () => {
    fc.assert(
      fc.property(
        steps,
        decimals,
        fc.constantFrom('1m', '15m', '1h', '1d', '1M'),
        spread,
        spread,
        (at, values, text, one, other) => {
          const points = pointsOf(
            values.map((_, index) => begin + at(index)),
            values,
          )
          const data = pack(points)
          assert.equal(firstTimeOf(data), points.times[0])
          const span = { from: begin + Math.min(one, other), to: begin + Math.max(one, other) }
          const interval = intervalOf(text)!
          const found = sumsOfPacked(data, interval, span)!
          const expected = sumsOf(between(unpack(data), span.from, span.to), interval)
          assert.equal(found.length, expected.length)
          for (const [index, { sum, ...own }] of found.entries()) {
            const { first, last, sum: theirs, ...others } = expected[index]!
            assert.deepEqual(own, others)
            // The sum of packed points is more precise than a sum of doubles, because integers are added before the division.
            assert.ok(Math.abs(sum - theirs) <= 1e-9 * Math.max(1, own.count * Math.max(...values.map(Math.abs))))
          }
        },
      ),
    )
  })

  test('sums of packed points are undefined for texts, for numbers with many digits, and for chunks that overlap samples', () => {
    const [hour, always] = [intervalOf('1h')!, { from: 0, to: 1e15 }]
    const numbers = pointsOf([begin, begin + 1000, begin + 2000], [1, 2, 3])
    const beside = (time: number) => sumsOfPacked(pack(numbers), hour, always, pointsOf([time], [9]))
    assert.equal(beside(begin + 1500), undefined)
    assert.equal(beside(begin + 2000), undefined)
    assert.equal(beside(begin + 2001)?.length, 1)
    assert.equal(beside(begin - 1)?.[0]?.sum, 6)
    assert.equal(sumsOfPacked(pack(pointsOf([begin], [Math.PI])), hour, always), undefined)
    const mixed = { ...pointsOf([begin, begin + 1], [1, Number.NaN]), others: new Map([[1, 'open']]) }
    assert.equal(sumsOfPacked(pack(mixed), hour, always), undefined)
  })
})
