/** Tests the aggregation of samples that are not packed yet, alone and together with packed points. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { oneAtATime } from '../../../../test/harness/read-series.ts'
import { seededInteger } from '../../../../test/harness/seeded-random.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { timeMax, timeMin } from '../../../kernel/times.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import type { Value } from '../points.ts'
import { findEndpointNumbers, findSeries } from '../store/numbers.ts'
import { createAggregator } from './aggregate.ts'
import type { Aggregate } from './interval-sums.ts'
import { intervalOf } from './intervals.ts'
import { createReader } from './reader.ts'
import type { SeriesFragment } from './series-fragments.ts'

const { collect, unregisteredEndpoint, registerEndpoint, waypost, pack, points } = await openTimeSeries()
const begin = Date.UTC(2026, 0, 1)
const hourMs = 3_600_000
/** Configures the series x, y and z. The values of these series may also be texts. */
const names = Object.fromEntries(['x', 'y', 'z'].map((name) => [name, { values: [{ path: name }] }]))
const configuration = { 'time-series': { 'auto-extract': false, names } }

type Result = Record<string, [number, Value][]>

/** Aggregates everything with the production reader. Returns the points and the number of parts. */
async function aggregated(endpoints: DeviceEndpoint[], aggregate: Aggregate, interval: string, sampleValues = 1000) {
  const { db } = waypost.kit
  const { tenantId, applicationName } = endpoints[0]!
  const stored = await findSeries(db.sql, { tenantId, applicationName })
  const series = stored.map(({ name, seriesId, valueName }) => ({ name, values: [{ seriesId, name: valueName }] }))
  const ids = endpoints.map(({ endpointId }) => endpointId)
  const idOf = new Map(
    (await findEndpointNumbers(db.sql, ids)).map(({ endpointId, endpointNo }) => [endpointNo, endpointId]),
  )
  const summing = intervalOf(interval)!
  const limits = { points: 120_000, sampleValues }
  const reader = createReader({ db, readLimit: oneAtATime(), limits })
  const span = { from: timeMin, to: timeMax }
  const request = { tenantId, applicationName, endpointNos: [...idOf.keys()], series, ...span, descending: false }
  const result: Result = {}
  let parts = 0
  const reading = summing.isOfDays ? ('sums' as const) : ('points' as const)
  const options = { prefetch: false, seriesFirst: true, reducing: reading, summing }
  const reducer = createAggregator(summing, aggregate, false)
  const add = ({ endpointNo, series: { name }, columns }: SeriesFragment) => {
    const key = `${idOf.get(endpointNo)} ${name}`
    for (const { points } of columns) {
      const valueAt = (index: number) => points.others?.get(index) ?? points.numbers[index]!
      const list = Array.from(points.times, (time, index): [number, Value] => [time, valueAt(index)])
      result[key] = [...(result[key] ?? []), ...list]
    }
  }
  for await (const part of reader.read({ ...request, ...options })) {
    parts++
    for (const fragment of part.fragments) {
      const reduced = reducer.add(fragment, { ...part, isLast: false })
      if (reduced) add(reduced)
    }
  }
  for (const rest of reducer.end()) add(rest)
  return { result, parts }
}

const rounded = (value: Value) => (typeof value === 'number' ? Math.round(value * 1e6) / 1e6 : value)

/** Reference implementation: aggregates the stored points in the simplest way. */
async function expectedOf(endpoints: DeviceEndpoint[], aggregate: Aggregate, interval: string): Promise<Result> {
  const { startOf } = intervalOf(interval)!
  const result: Result = {}
  for (const { endpointId } of endpoints)
    for (const [name, list] of Object.entries(await points(endpointId)))
      result[`${endpointId} ${name.split('/')[0]}`] = [...Map.groupBy(list, ([time]) => startOf(time))].map(
        ([time, own]) => {
          const numbers = own.map(([, value]) => value).filter((value) => typeof value === 'number')
          const sum = numbers.reduce((before, number) => before + number, 0)
          const hasNumbers = numbers.length > 0
          const byAggregate: Partial<Record<Aggregate, Value>> = {
            count: own.filter(([, value]) => value !== null).length,
            sum: hasNumbers ? sum : null,
            avg: hasNumbers ? sum / numbers.length : null,
            min: hasNumbers ? Math.min(...numbers) : null,
            max: hasNumbers ? Math.max(...numbers) : null,
          }
          return [time, byAggregate[aggregate]!]
        },
      )
  return result
}

/** Compares the reader with the reference implementation. Returns the number of parts in which hourly averages were read. */
async function check(endpoints: DeviceEndpoint[], sampleValues?: number): Promise<number> {
  let partsByHour = 0
  for (const aggregate of ['avg', 'min', 'max', 'sum', 'count'] as const)
    for (const interval of ['1h', '1d', '1w', '1M']) {
      const { result, parts } = await aggregated(endpoints, aggregate, interval, sampleValues)
      const round = (all: Result) =>
        Object.fromEntries(
          Object.entries(all)
            .map(([key, list]) => [key, list.map(([time, value]) => [time, rounded(value)])] as const)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      const expected = await expectedOf(endpoints, aggregate, interval)
      assert.deepEqual(round(result), round(expected), `${aggregate} ${interval}`)
      if (interval === '1h') partsByHour = parts
    }
  return partsByHour
}

const samplesFrom = (time: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ timestamp: time + index * 600_000, x: index / 4, y: -index }))

suite('aggregation of samples that are not packed', () => {
  test('aggregation of samples that are not packed equals the reference, in one part and in small parts, even before 1970', async () => {
    const endpoint = await unregisteredEndpoint(configuration)
    const other = await registerEndpoint(endpoint)
    await collect(endpoint, samplesFrom(begin, 200))
    await collect(other, samplesFrom(-dayMs, 300))
    assert.equal(await check([endpoint, other]), 1)
    assert.ok((await check([endpoint, other], 70)) > 2)
  })

  test('aggregation of samples that are not packed uses the last value of a time that was written twice, and leaves out values that are not numbers', async () => {
    const endpoint = await unregisteredEndpoint(configuration)
    const [twice, text, huge] = [
      await registerEndpoint(endpoint),
      await registerEndpoint(endpoint),
      await registerEndpoint(endpoint),
    ]
    for (const target of [endpoint, twice, text]) await collect(target, samplesFrom(begin, 50))
    await collect(twice, [{ timestamp: begin + 600_000, x: 1000, y: 5 }])
    await collect(text, [{ timestamp: begin + 1, x: 'broken', y: 5 }])
    await check([endpoint, twice, text])
    await collect(
      huge,
      [1, 2].map((index) => ({ timestamp: begin + index, x: 1.7e308, y: 0 })),
    )
    const { result } = await aggregated([huge], 'min', '1h')
    assert.deepEqual(result[`${huge.endpointId} x`], [[begin, 1.7e308]])
  })

  test('aggregation of samples that are not packed equals the reference if endpoints also have packed samples, and late samples replace packed points', async () => {
    const endpoint = await unregisteredEndpoint(configuration)
    const late = await registerEndpoint(endpoint)
    for (const target of [endpoint, late]) await collect(target, samplesFrom(begin, 30))
    await pack()
    await collect(endpoint, samplesFrom(begin + 6 * hourMs, 30))
    await collect(late, [{ timestamp: begin + 1_200_000, x: 77, y: 78 }])
    await check([endpoint, late])
    await pack()
    await check([endpoint, late])
  })

  test('aggregation of samples that are not packed equals aggregation of the points, for random samples', async () => {
    const random = seededInteger(20261117)
    const first = await unregisteredEndpoint(configuration)
    const endpoints = [first, await registerEndpoint(first), await registerEndpoint(first)]
    for (let round = 0; round < 8; round++) {
      for (const target of endpoints.slice(0, 1 + random(3))) {
        // Late samples have times of the round before the previous one.
        const from = begin + (random(4) === 0 ? Math.max(0, round - 2) : round) * 9 * hourMs
        const sampleAt = (index: number) => ({
          timestamp: from + index * 700_000 + random(2) * random(50),
          ...(random(40) === 0 ? { z: random(9) } : { x: random(1000) / 4, y: random(30) === 0 ? 'text' : random(9) }),
        })
        await collect(
          target,
          Array.from({ length: 40 }, (_, index) => sampleAt(index)),
        )
      }
      if (random(3) === 0) await pack()
      await check(endpoints, [16, 40, 1000][random(3)]!)
    }
  })
})
