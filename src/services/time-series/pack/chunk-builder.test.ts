import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Value, valueAt } from '../points.ts'
import { type Chunk, createBuilder, dayMs, packChunk } from './chunk-builder.ts'

function build(list: [series: number, time: number, value: Value][]) {
  const chunks: Chunk[] = []
  const builder = createBuilder(7, (chunk) => void chunks.push(chunk))
  for (const [series, time, value] of list) builder.add(series, time, value)
  builder.finish()
  return chunks.map(({ seriesId, day, part, points }) => ({
    seriesId,
    day,
    part,
    points: Array.from({ length: points.count }, (_, index) => [points.times[index], valueAt(points, index)]),
  }))
}

test('a chunk has points of one series and one day; if two points have the same time, the later value is kept', () => {
  const list: [number, number, Value][] = [
    [1, 5, 1],
    [2, 5, 'a'],
    [1, 5, 'x'],
    [2, 5, 2],
    [1, 6, null],
    [1, dayMs, 3],
  ]
  assert.deepEqual(build(list), [
    {
      seriesId: 1,
      day: 0,
      part: 0,
      points: [
        [5, 'x'],
        [6, null],
      ],
    },
    { seriesId: 1, day: 1, part: 0, points: [[dayMs, 3]] },
    { seriesId: 2, day: 0, part: 0, points: [[5, 2]] },
  ])
})

test('a day with many points has several chunks, even before 1970', () => {
  const busy = Array.from({ length: 20_000 }, (_, index): [number, number, Value] => [1, index * 1000 - dayMs, index])
  const chunks = build(busy)
  assert.deepEqual(
    chunks.map(({ day, part, points }) => [day, part, points.length]),
    [
      [-1, 0, 8640],
      [-1, 1, 8640],
      [-1, 2, 2720],
    ],
  )
})

test('a chunk with long texts has few points, and points after a flush are in a further chunk of the day', () => {
  const chunks: Chunk[] = []
  const builder = createBuilder(7, (chunk) => void chunks.push(chunk))
  for (let index = 0; index < 40; index++) builder.add(1, index, 'x'.repeat(65_536))
  builder.add(2, 3, 1)
  assert.ok(builder.pointsInMemory > 100_000 / 8)
  builder.flush()
  assert.equal(builder.pointsInMemory, 0)
  builder.add(2, 4, 2)
  builder.add(2, dayMs, 3)
  builder.finish()
  assert.deepEqual(
    chunks.map(({ seriesId, day, part, points, isContinued }) => [seriesId, day, part, points.count, isContinued]),
    [
      [1, 0, 0, 16, true],
      [1, 0, 1, 16, true],
      [1, 0, 2, 8, true],
      [2, 0, 0, 1, true],
      [2, 0, 1, 1, false],
      [2, 1, 0, 1, false],
    ],
  )
})

test('a packed chunk has the minimum, the maximum and the sum of its numbers', () => {
  const chunks: Chunk[] = []
  const builder = createBuilder(7, (chunk) => void chunks.push(chunk))
  for (const [time, value] of [
    [1, 3],
    [2, null],
    [4, -1.5],
  ] as const)
    builder.add(9, time, value)
  builder.finish()
  const { data, ...known } = packChunk(chunks[0]!, 3)
  assert.deepEqual(known, {
    endpointNo: 7,
    seriesId: 9,
    day: 0,
    slot: 3,
    part: 0,
    n: 3,
    tMin: 1,
    tMax: 4,
    vMin: -1.5,
    vMax: 3,
    vSum: 1.5,
  })
  assert.ok(data.length > 0)
})
