/** Tests aggregation by interval, and downsampling. */

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { oneAtATime } from '../../../../test/harness/read-series.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { timeMax, timeMin } from '../../../kernel/times.ts'
import { Applications } from '../../applications/contract.ts'
import { Register } from '../../register/contract.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import type { Value } from '../points.ts'
import { createDataQuery, type DataRequest } from './data.ts'
import { type Aggregate, aggregates } from './interval-sums.ts'
import { type Interval, intervalInZone, intervalOf } from './intervals.ts'
import { createReader } from './reader.ts'
import { timeZoneOf } from './time-zones.ts'
import { createVisibleSeries } from './visible-series.ts'

const { admin, collect, unregisteredEndpoint, waypost, pack, points, registerEndpoint, sql } = await openTimeSeries()
const start = Date.UTC(2026, 0, 1)
const iso = (time: number) => new Date(time).toISOString()
const always = { fromDate: '2025-01-01', toDate: '2028-01-01' }

type PointsByEndpoint = Record<string, Record<string, { timestamp: string; values: Record<string, Value> }[]>>

/** Merges the objects of a response. Each object has one endpoint, and no endpoint occurs twice. */
function whole(parts: PointsByEndpoint[]): PointsByEndpoint {
  for (const part of parts) assert.equal(Object.keys(part).length, 1)
  const all: PointsByEndpoint = Object.assign({}, ...parts)
  assert.equal(Object.keys(all).length, parts.length, 'each endpoint must be in one element')
  return all
}

async function read(endpoint: DeviceEndpoint, query: Record<string, string>) {
  const url = `/epts/api/v1/applications/${endpoint.applicationName}/time-series/data`
  const answer = await admin(`GET ${url}?${new URLSearchParams({ ...always, timeSeriesName: 'auto~x', ...query })}`)
  assert.equal(answer.status, 200, answer.text)
  return whole(answer.body)
}

suite('aggregation by interval', () => {
  test('aggregation by interval returns one value for each interval, before and after packing', async () => {
    const endpoint = await unregisteredEndpoint()
    const samples = [0, 10, 20, 60, 70, 24 * 60, 24 * 60 + 1].map((minute, x) => ({
      timestamp: start + minute * 60_000,
      x,
    }))
    await collect(endpoint, samples)
    const values = async (query: Record<string, string>) =>
      (await read(endpoint, query))[endpoint.endpointId]!['auto~x']!.map(({ timestamp, values: own }) => [
        timestamp,
        own.value,
      ])
    for (const isPacked of [false, true]) {
      if (isPacked) await pack()
      assert.deepEqual(await values({ aggregate: 'avg', interval: '1h' }), [
        [iso(start), 1],
        [iso(start + 3_600_000), 3.5],
        [iso(start + dayMs), 5.5],
      ])
      assert.deepEqual(await values({ aggregate: 'count', interval: '1d', sort: 'DESC' }), [
        [iso(start + dayMs), 2],
        [iso(start), 5],
      ])
      assert.deepEqual(await values({ aggregate: 'max', interval: '1y' }), [[iso(start), 6]])
      assert.deepEqual(await values({ aggregate: 'first', interval: '1w' }), [[iso(start - 3 * dayMs), 0]])
    }
  })

  test('points are aggregated by the wall clock of a time zone, before and after packing', async () => {
    const endpoint = await unregisteredEndpoint()
    // In Berlin, the clock changes on 29 March, so that this day has 23 hours.
    const first = Date.UTC(2026, 2, 27, 23)
    await collect(
      endpoint,
      Array.from({ length: 72 }, (_, hour) => ({ timestamp: first + hour * 3_600_000, x: hour })),
    )
    const values = async (query: Record<string, string>) =>
      (await read(endpoint, { timeZone: 'Europe/Berlin', ...query }))[endpoint.endpointId]!['auto~x']!.map(
        ({ timestamp, values: own }) => [timestamp, own.value],
      )
    for (const isPacked of [false, true]) {
      if (isPacked) await pack()
      assert.deepEqual(await values({ aggregate: 'count', interval: '1d' }), [
        ['2026-03-27T23:00:00.000Z', 24],
        ['2026-03-28T23:00:00.000Z', 23],
        ['2026-03-29T22:00:00.000Z', 24],
        ['2026-03-30T22:00:00.000Z', 1],
      ])
      assert.deepEqual(await values({ aggregate: 'last', interval: '1M', timeZone: '-10:00' }), [
        ['2026-03-01T10:00:00.000Z', 71],
      ])
    }
  })

  test('aggregation by interval ignores points outside of the dates, even on the same day', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(
      endpoint,
      Array.from({ length: 48 }, (_, hour) => ({ timestamp: start + hour * 3_600_000, x: hour })),
    )
    await pack()
    const query = { aggregate: 'sum', interval: '1d', fromDate: iso(start + 3_600_000), toDate: iso(start + dayMs) }
    const expected = (value: number) => [{ timestamp: iso(start), values: { value } }]
    const sum = (from: number, to: number) => ((to - from + 1) * (from + to)) / 2
    assert.deepEqual((await read(endpoint, query))[endpoint.endpointId]!['auto~x'], expected(sum(2, 23)))
    assert.deepEqual(
      (await read(endpoint, { ...query, includeTime: 'from' }))[endpoint.endpointId]!['auto~x'],
      expected(sum(1, 23)),
    )
  })

  test('aggregation by interval rejects invalid requests with the name of the field', async () => {
    const endpoint = await unregisteredEndpoint()
    const url = `/epts/api/v1/applications/${endpoint.applicationName}/time-series/data`
    for (const [query, field] of [
      ['aggregate=avg', 'interval'],
      ['interval=1h', 'aggregate'],
      ['aggregate=median&interval=1h', 'aggregate'],
      ['aggregate=avg&interval=0h', 'interval'],
      ['aggregate=avg&interval=1.5h', 'interval'],
      ['aggregate=avg&interval=1h&points=10', 'points'],
      ['aggregate=avg&interval=1h&timeZone=Mars/Olympus', 'timeZone'],
      ['aggregate=avg&interval=1h&timeZone=', 'timeZone'],
      ['timeZone=UTC', 'timeZone'],
      ['points=10&timeZone=UTC', 'timeZone'],
      ['points=2', 'points'],
      ['points=20001', 'points'],
    ]) {
      const answer = await admin(`GET ${url}?timeSeriesName=x&fromDate=now-1d&toDate=now&${query}`)
      assert.equal(answer.status, 400, answer.text)
      assert.ok(answer.body.message.startsWith(`${field}: `), answer.body.message)
    }
  })
})

/** Reference implementation of the aggregates. */
function expectedOf(list: [number, Value][], { startOf }: Interval, kind: Aggregate): [number, Value][] {
  return [...Map.groupBy(list, ([time]) => startOf(time))].map(([time, own]) => {
    const all = own.map(([, value]) => value)
    const numbers = all.filter((value) => typeof value === 'number')
    const sum = numbers.reduce((before, number) => before + number, 0)
    const hasNumbers = numbers.length > 0
    const byAggregate: Record<Aggregate, Value> = {
      first: all[0]!,
      last: all.at(-1)!,
      count: all.filter((value) => value !== null).length,
      sum: hasNumbers ? sum : null,
      avg: hasNumbers ? sum / numbers.length : null,
      min: hasNumbers ? Math.min(...numbers) : null,
      max: hasNumbers ? Math.max(...numbers) : null,
    }
    return [time, byAggregate[kind]]
  })
}

const queryWith = (limits: { points: number; sampleValues: number }) => {
  const { db } = waypost.kit
  const reader = createReader({
    db,
    readLimit: oneAtATime(),
    limits,
  })
  const deps = { db, applications: waypost.ask(Applications), register: waypost.ask(Register) }
  const responses = createConcurrencyLimit({ perTenant: 1, waitingPerTenant: 0 })
  return createDataQuery({ visible: createVisibleSeries(deps), reader, responses })
}

async function responseOf(
  request: Omit<DataRequest, 'format'>,
  limits: { points: number; sampleValues: number },
): Promise<PointsByEndpoint> {
  const buffers: Buffer[] = []
  const system = waypost.kit.system('default')
  for await (const buffer of await queryWith(limits).read(system, { ...request, format: 'json' })) buffers.push(buffer)
  return whole(JSON.parse(Buffer.concat(buffers).toString()))
}

let seed = 3
function random(below: number) {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}

suite('aggregation of random points in parts of any size', () => {
  test('aggregation of random points in parts of any size equals aggregation of all points together', async () => {
    const values = [
      { path: 'a', name: 'a' },
      { path: 'b', name: 'b' },
    ]
    const names = { s: { values }, t: { values: [{ path: 'c', name: 'c' }] } }
    const endpoint = await unregisteredEndpoint({ 'time-series': { 'auto-extract': false, names } })
    const otherEndpoint = await registerEndpoint(endpoint)
    const others: Value[] = [null, 'text', true]
    for (let round = 0; round < 6; round++) {
      for (const target of [endpoint, otherEndpoint]) {
        const samples = Array.from({ length: 60 }, () => ({
          timestamp: start + random(9) * random(9) * dayMs + random(400) * 200_000,
          ...(random(3) > 0 && { a: random(20) === 0 ? others[random(3)] : random(1000) / 4 }),
          ...(random(4) === 0 && { b: random(50) - 25 }),
          ...(random(2) === 0 && { c: random(10) }),
        }))
        await collect(target, samples)
      }
      if (round !== 4) await pack()
    }
    const stored = [await points(endpoint.endpointId), await points(otherEndpoint.endpointId)]
    for (let round = 0; round < 28; round++) {
      const text = ['1h', '7h', '1d', '3d', '1w', '1M', '1y'][round % 7]!
      const zone = round < 21 ? undefined : ['America/New_York', 'Asia/Kolkata'][round % 2]!
      const interval = zone === undefined ? intervalOf(text)! : intervalInZone(text, timeZoneOf(zone)!)!
      const aggregate = aggregates[random(aggregates.length)]!
      const descending = random(2) === 0
      const span =
        random(2) === 0
          ? { from: timeMin, to: timeMax }
          : { from: start + random(10) * dayMs - 5, to: start + random(70) * dayMs }
      const limits = { points: [1, 5, 30, 10_000][random(4)]!, sampleValues: [2, 20, 10_000][random(3)]! }
      const reduction = round % 8 === 7 ? undefined : { aggregate, interval }
      const query = { applicationName: endpoint.applicationName, endpointIds: undefined, seriesNames: ['s', 't'] }
      const answer = await responseOf({ ...query, span, descending, reduction }, limits)
      const what = JSON.stringify({ text, zone, aggregate, descending, span, limits })
      for (const [index, { endpointId }] of [endpoint, otherEndpoint].entries()) {
        for (const series of ['s', 't']) {
          const rows = new Map<number, Record<string, Value>>()
          for (const name of series === 's' ? ['a', 'b'] : ['c']) {
            const all = stored[index]![`${series}/${name}`] ?? []
            const own = all.filter(([time]) => time >= span.from && time <= span.to)
            for (const [time, value] of reduction ? expectedOf(own, interval, aggregate) : own)
              rows.set(time, { ...rows.get(time), [name]: value })
          }
          const sorted = [...rows].sort(([a], [b]) => (descending ? b - a : a - b))
          const expected = sorted.map(([time, own]) => ({ timestamp: iso(time), values: own }))
          assert.deepEqual(answer[endpointId]?.[series] ?? [], expected, what)
        }
      }
    }
  })

  test('aggregation by days reads stored sums for whole days, and points only where sums do not suffice', async () => {
    const endpoint = await unregisteredEndpoint()
    const hours = (day: number) =>
      Array.from({ length: 24 }, (_, hour) => ({ timestamp: start + day * dayMs + hour * 3_600_000, x: hour }))
    for (const day of [0, 1, 2, 3]) await collect(endpoint, hours(day))
    await pack()
    // The test overwrites the packed data, so an attempt to unpack it would fail.
    await sql`
      update time_series.chunks set data = '\\x0100' where endpoint_no =
        (select endpoint_no from time_series.endpoints where endpoint_id = ${endpoint.endpointId})`
    const query = { applicationName: endpoint.applicationName, endpointIds: undefined, seriesNames: undefined }
    const ask = (from: number, aggregate: Aggregate) =>
      responseOf(
        {
          ...query,
          span: { from, to: timeMax },
          descending: false,
          reduction: { aggregate, interval: intervalOf('1d')! },
        },
        { points: 1000, sampleValues: 1000 },
      )
    const sums = (await ask(start, 'sum'))[endpoint.endpointId]!['auto~x']!
    assert.deepEqual(
      sums.map(({ values }) => values.value),
      [276, 276, 276, 276],
    )
    await assert.rejects(ask(start + 1, 'sum'), /chunk/)
    await assert.rejects(ask(start, 'last'), /chunk/)
    await collect(endpoint, [{ timestamp: start + dayMs + 5, x: 1 }])
    await assert.rejects(ask(start, 'sum'), /chunk/)
    await sql`delete from time_series.chunks where data = '\\x0100'`
  })
})

suite('downsampling', () => {
  test('downsampling returns at most the requested number of points, with first point, last point and peak, in the requested order', async () => {
    const endpoint = await unregisteredEndpoint()
    const samples = Array.from({ length: 3000 }, (_, step) => ({
      timestamp: start + step * 60_000,
      x: step === 1234 ? 99 : Math.sin(step / 50),
      y: step % 2,
    }))
    for (let from = 0; from < samples.length; from += 1000) await collect(endpoint, samples.slice(from, from + 1000))
    await pack()
    await collect(endpoint, [{ timestamp: start - 60_000, x: 0.5 }])
    const fewer = (await read(endpoint, { points: '100', timeSeriesName: 'auto~x,auto~y' }))[endpoint.endpointId]!
    assert.deepEqual([fewer['auto~x']!.length, fewer['auto~y']!.length], [100, 100])
    assert.equal(fewer['auto~x']![0]!.timestamp, iso(start - 60_000))
    assert.equal(fewer['auto~x']!.at(-1)!.timestamp, iso(start + 2999 * 60_000))
    assert.ok(fewer['auto~x']!.some(({ values }) => values.value === 99))
    const turned = (await read(endpoint, { points: '100', sort: 'DESC' }))[endpoint.endpointId]!['auto~x']
    assert.deepEqual(turned, fewer['auto~x']!.toReversed())
    assert.equal((await read(endpoint, { points: '5000' }))[endpoint.endpointId]!['auto~x']!.length, 3001)
  })

  test('downsampling works for more points than fit into memory', async () => {
    const endpoint = await unregisteredEndpoint()
    const samples = Array.from({ length: 2000 }, (_, step) => ({
      timestamp: start + step * 60_000,
      x: step === 777 ? -50 : step % 10,
    }))
    for (let from = 0; from < samples.length; from += 1000) await collect(endpoint, samples.slice(from, from + 1000))
    const query = { applicationName: endpoint.applicationName, endpointIds: undefined, seriesNames: undefined }
    const span = { from: start, to: start + 5 * dayMs }
    const answer = await responseOf(
      { ...query, span, descending: false, reduction: { points: 10 } },
      { points: 20, sampleValues: 100 },
    )
    const values = answer[endpoint.endpointId]!['auto~x']!
    assert.equal(values.length, 10)
    assert.ok(values.some((own) => own.values.value === -50))
  })
})
