import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { Value } from '../points.ts'
import { createLatest } from './latest-values.ts'

const { house, service, endpoint, collect, pack, sql } = await openTimeSeries()

async function latestOf(one: Parameters<typeof collect>[0], of = service): Promise<Record<string, [number, Value]>> {
  const endpointNo = await of.numbers.endpointNo(one)
  const series = await of.numbers.seriesOf(one)
  const names = new Map(series.map(({ seriesId, name }) => [seriesId, name]))
  const found = (await of.latest.of([endpointNo])).get(endpointNo) ?? []
  return Object.fromEntries(found.map(({ seriesId, timestamp, value }) => [names.get(seriesId)!, [timestamp, value]]))
}

test('each series has its newest value at once, whatever samples held it and in whatever order they came', async () => {
  const one = await endpoint()
  await collect(one, [
    { timestamp: 10, a: 1, b: 2 },
    { timestamp: 30, b: -0 },
    { timestamp: 20, a: 5 },
    { timestamp: 15, a: 4, b: 7 },
  ])
  const expected = { 'auto~a': [20, 5], 'auto~b': [30, -0] }
  assert.deepEqual(await latestOf(one), expected)
  await service.latest.flush(true)
  assert.deepEqual(await latestOf(one), expected)
  await collect(one, [{ timestamp: 30, b: 9 }])
  await collect(one, [{ timestamp: 29, b: 8 }])
  assert.deepEqual((await latestOf(one))['auto~b'], [30, 9])
  await service.latest.flush(true)
  assert.deepEqual((await latestOf(one))['auto~b'], [30, 9])
})

test('after a crash the samples that the table lacks are taken up, hot or packed', async () => {
  const one = await endpoint()
  await collect(one, [{ timestamp: 10, a: 1 }])
  await service.latest.flush(true)
  assert.equal((await sql`select from time_series.latest_marks`).length, 1)
  await collect(one, [{ timestamp: 20, a: 2 }])
  // The process is gone, and what it remembered with it.
  service.latest.forgetAll()
  assert.deepEqual(await latestOf(one), { 'auto~a': [10, 1] })

  const { numbers } = service
  const { db, now, log } = house.kit
  const next = createLatest({
    db,
    reading: db,
    numbers,
    node: 'next',
    now,
    log,
    storedUpTo: async () => Number.MAX_SAFE_INTEGER,
  })
  await next.start()
  assert.deepEqual(await latestOf(one), { 'auto~a': [20, 2] })

  await collect(one, [{ timestamp: 30, a: 3 }])
  service.latest.forgetAll()
  await pack()
  assert.deepEqual(await latestOf(one), { 'auto~a': [30, 3] })
  await next.stop()
})

test('a process that ends well leaves no mark', async () => {
  const one = await endpoint()
  await service.api.collect(messageOf(one), [{ a: 1 }])
  await service.latest.stop()
  assert.equal((await sql`select from time_series.latest_marks`).length, 0)
})
