import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readSeries } from '../../../../test/harness/read-series.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import type { Value } from '../points.ts'
import type { ReaderLimits } from './reader.ts'

const { collect, unregisteredEndpoint, waypost, pack, points, registerEndpoint } = await openTimeSeries()
const { db } = waypost.kit
const today = Math.floor(Date.now() / dayMs) * dayMs

/** Compares the reader with the reference reader, in both time directions. Returns the number of parts that the reader yielded. */
async function assertSameAsReference(endpoint: Parameters<typeof collect>[0], limits: ReaderLimits) {
  const expected = { [endpoint.endpointId]: await points(endpoint.endpointId) }
  let parts = 0
  for (const descending of [false, true]) {
    const read = await readSeries(db, { endpoints: [endpoint], descending, limits })
    assert.deepEqual(read.points, expected)
    parts = read.parts
  }
  return parts
}

suite('reading in parts', () => {
  test('if many samples have the same time, each series has its value in the last sample that contains it', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ timestamp: today - 1, x: -1 }])
    for (let round = 0; round < 12; round++)
      await collect(endpoint, [
        { timestamp: today, x: round },
        { timestamp: today, x: round + 0.5, y: round },
        { timestamp: today, y: -round },
      ])
    await collect(endpoint, [{ timestamp: today + 1, x: 100 }])
    await assertSameAsReference(endpoint, { points: 10, sampleValues: 4 })
    assert.deepEqual((await points(endpoint.endpointId))['auto~x/value'], [
      [today - 1, -1],
      [today, 11.5],
      [today + 1, 100],
    ])
  })

  test('long texts of one endpoint, and of several endpoints, are read in small parts', async () => {
    const endpoint = await unregisteredEndpoint({ 'time-series': { names: { log: { values: [{ path: 'log' }] } } } })
    const otherEndpoint = await registerEndpoint(endpoint)
    const texts = (prefix: string) =>
      Array.from({ length: 30 }, (_, index) => ({
        timestamp: today + index * 1000,
        log: index % 3 === 0 ? 'on' : `${prefix}${index}`.repeat(200),
        x: index,
      }))
    for (const target of [endpoint, otherEndpoint]) await collect(target, texts(target.endpointId.slice(0, 3)))
    const limits = { points: 300, sampleValues: 1000, sampleTextBytes: 3000 }
    const assertBothEqual = async () => {
      assert.ok((await assertSameAsReference(endpoint, limits)) > 5, 'the query must be read in several parts')
      const both = await readSeries(db, { endpoints: [endpoint, otherEndpoint], descending: false, limits })
      assert.deepEqual(both.points, {
        [endpoint.endpointId]: await points(endpoint.endpointId),
        [otherEndpoint.endpointId]: await points(otherEndpoint.endpointId),
      })
    }
    await assertBothEqual()
    await pack()
    await assertSameAsReference(endpoint, { ...limits, points: 50 })
  })

  test('if samples in two slots have the same time, the later write wins', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [
      { timestamp: today + 5, x: 1 },
      { timestamp: today + 3, x: 2 },
      { timestamp: today + 4, x: 3 },
    ])
    await collect(endpoint, [{ timestamp: today + 3, x: 'none', y: 7 }])
    await collect(endpoint, [{ timestamp: today + 3, x: 4 }])
    await assertSameAsReference(endpoint, { points: 100, sampleValues: 100 })
    await pack()
    await collect(endpoint, [{ timestamp: today + 3, x: 5 }])
    await assertSameAsReference(endpoint, { points: 100, sampleValues: 100 })
  })

  test('a day that is too large for memory is read series by series, and a large series of that day hour by hour', async () => {
    const endpoint = await unregisteredEndpoint()
    const samples = Array.from({ length: 20_000 }, (_, index) => ({
      timestamp: today + index * 1000,
      x: index,
      y: index / 2,
    }))
    for (let from = 0; from < samples.length; from += 1000) await collect(endpoint, samples.slice(from, from + 1000))
    await collect(endpoint, [
      { timestamp: today - 3 * dayMs, x: 1 },
      { timestamp: today + 3 * dayMs, y: 1 },
    ])
    await pack()
    await collect(endpoint, [
      { timestamp: today + 10_000, x: -1 },
      { timestamp: today - dayMs, y: 5 },
    ])
    assert.equal(await assertSameAsReference(endpoint, { points: 1_000_000, sampleValues: 1000 }), 1)
    assert.ok((await assertSameAsReference(endpoint, { points: 25_000, sampleValues: 1000 })) >= 2)
    assert.ok((await assertSameAsReference(endpoint, { points: 9000, sampleValues: 1000 })) >= 6)
  })

  test('a part contains many endpoints with few points, or one endpoint with many points', async () => {
    const endpoint = await unregisteredEndpoint()
    const others: DeviceEndpoint[] = []
    for (let count = 0; count < 30; count++) others.push(await registerEndpoint(endpoint))
    for (const target of others)
      await collect(target, [
        { timestamp: today, x: 1 },
        { timestamp: today + 1, x: 2 },
      ])
    await collect(
      others[7]!,
      Array.from({ length: 500 }, (_, index) => ({ timestamp: today + index, x: index })),
    )
    const check = async (limits: { points: number; sampleValues: number }) => {
      const read = await readSeries(db, { endpoints: others, limits })
      for (const { endpointId } of others) assert.deepEqual(read.points[endpointId], await points(endpointId))
      return read.parts
    }
    assert.equal(await check({ points: 10_000, sampleValues: 10_000 }), 1)
    const unpackedParts = await check({ points: 10_000, sampleValues: 100 })
    assert.ok(unpackedParts > 5 && unpackedParts < 12, `${unpackedParts} parts`)
    // A reduction loads two halves of the endpoints at the same time. The large endpoint is first in one half, then in the other half.
    for (const endpoints of [others, others.toReversed()])
      for (const sampleValues of [10, 50, 400, 10_000]) {
        const read = await readSeries(db, { endpoints, limits: { points: 10_000, sampleValues }, reducing: 'points' })
        for (const { endpointId } of others) assert.deepEqual(read.points[endpointId], await points(endpointId))
      }
    await pack()
    const packedParts = await check({ points: 100, sampleValues: 100 })
    assert.ok(packedParts <= 4, `${packedParts} parts`)
  })
})

suite('reading during packing', () => {
  test('points that are packed between two parts are read exactly once', async () => {
    const endpoint = await unregisteredEndpoint()
    const samples = Array.from({ length: 300 }, (_, index) => ({ timestamp: today + index * 1000, x: index }))
    await collect(endpoint, samples)
    const expected = { [endpoint.endpointId]: await points(endpoint.endpointId) }
    for (const descending of [false, true]) {
      const limits = { points: 50, sampleValues: 40 }
      const read = await readSeries(db, {
        endpoints: [endpoint],
        descending,
        limits,
        afterPart: async (part) => {
          if (part === 3) await pack()
          if (part === 5) await collect(endpoint, samples.slice(0, 100))
        },
      })
      assert.deepEqual(read.points, expected)
    }
  })

  test('readers always see all points while slots are closed, packed and dropped', async () => {
    const endpoint = await unregisteredEndpoint()
    let stored = 0
    let done = false
    const write = async () => {
      for (let round = 0; round < 40; round++) {
        await collect(
          endpoint,
          Array.from({ length: 20 }, (_, index) => ({ timestamp: today + round * 100 + index, x: stored })),
        )
        stored += 20
        if (round % 5 === 4) await pack()
      }
      done = true
    }
    const count = (list: [number, Value][] | undefined) => list?.length ?? 0
    const readRepeatedly = async () => {
      while (!done) {
        const least = stored
        const { points: seen } = await readSeries(db, {
          endpoints: [endpoint],
          limits: { points: 200, sampleValues: 64 },
        })
        const found = count(seen[endpoint.endpointId]?.['auto~x/value'])
        assert.ok(found >= least, `at least ${least} points must be found, and ${found} were found`)
      }
    }
    await Promise.all([write(), readRepeatedly(), readRepeatedly()])
    assert.equal((await points(endpoint.endpointId))['auto~x/value']!.length, 800)
  })
})
