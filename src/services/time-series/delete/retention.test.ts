import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { readConfiguration } from '../../../kernel/configuration-reader.ts'
import { timeSeriesInstance } from '../configuration.ts'
import { dayMs, dayOf } from '../pack/chunk-builder.ts'

const { service, unregisteredEndpoint, collect, points, pack, sql, configure, retention } = await openTimeSeries()
// The first round of the packer enforces the retention. It runs before the tests, so that later only the tests enforce the retention.
await service.packer.round()
const today = dayOf(Date.now()) * dayMs
const daysAgo = (days: number) => today - days * dayMs
const run = () => retention().run(() => {})

suite('retention', () => {
  test('retention deletes whole days of each series, and deletes exactly what the preview counts', async () => {
    const endpoint = await unregisteredEndpoint({ retention: { days: 30, series: { 'auto~b': 7 } } })
    await configure(endpoint.applicationName, {})
    await collect(
      endpoint,
      [0, 6, 8, 29, 31, 45].map((days) => ({ timestamp: daysAgo(days) + 5, a: days, b: days })),
    )
    await pack()
    await configure(endpoint.applicationName, { retention: { days: 30, series: { 'auto~b': 7 } } })
    const preview = await service.api.previewRetention(endpoint)
    assert.deepEqual(
      preview.series.map(({ bytes, ...rest }) => rest),
      [
        { name: 'auto~a', valueName: 'value', days: 30, before: new Date(daysAgo(30)), points: 2, unpacked: 0 },
        { name: 'auto~b', valueName: 'value', days: 7, before: new Date(daysAgo(7)), points: 4, unpacked: 0 },
      ],
    )
    assert.equal(preview.points, 6)
    assert.ok(preview.bytes > 0)
    const proposed = await service.api.previewRetention(endpoint, { days: 40 })
    assert.equal(proposed.points, 2)
    await run()
    const remaining = await points(endpoint.endpointId)
    assert.deepEqual(
      remaining['auto~a/value']!.map(([, value]) => value),
      [29, 8, 6, 0],
    )
    assert.deepEqual(
      remaining['auto~b/value']!.map(([, value]) => value),
      [6, 0],
    )
    assert.equal((await service.api.previewRetention(endpoint)).points, 0)
  })

  test('retention keeps all points of other applications, and drops the partition of a month only if no application keeps points of that month', async () => {
    const keeps = await unregisteredEndpoint()
    const withRetention = await unregisteredEndpoint({ retention: { days: 10 } })
    const old = Date.UTC(2024, 1, 3)
    await collect(keeps, [{ timestamp: old, a: 1 }])
    await configure(withRetention.applicationName, {})
    await collect(withRetention, [{ timestamp: old, a: 1 }])
    await pack()
    await configure(withRetention.applicationName, { retention: { days: 10 } })
    await run()
    assert.deepEqual(await points(keeps.endpointId), { 'auto~a/value': [[old, 1]] })
    assert.deepEqual(await points(withRetention.endpointId), {})
    const month = async () => (await sql`select to_regclass('time_series.chunks_202402') as name`)[0]!.name
    assert.ok(await month())
    await configure(keeps.applicationName, { retention: { days: 5 } })
    await run()
    assert.equal(await month(), null)
    assert.deepEqual(await points(keeps.endpointId), {})
  })

  test('points that are too old when they arrive are in the preview until packing leaves them out', async () => {
    const endpoint = await unregisteredEndpoint({ retention: { days: 30, series: { 'auto~b': 7 } } })
    await collect(endpoint, [
      { timestamp: daysAgo(40), a: 40, b: 40, c: 40 },
      { timestamp: daysAgo(10), a: 10, b: 10 },
      { timestamp: daysAgo(1), b: 1 },
    ])
    await collect(endpoint, [{ timestamp: daysAgo(41), c: 41 }])
    const counts = async () =>
      (await service.api.previewRetention(endpoint)).series.map(({ name, points: all, unpacked }) => [
        name,
        all,
        unpacked,
      ])
    assert.deepEqual(await counts(), [
      ['auto~a', 1, 1],
      ['auto~b', 2, 2],
      ['auto~c', 2, 2],
    ])
    // The points can be read until they are packed.
    assert.equal((await points(endpoint.endpointId))['auto~c/value']!.length, 2)
    await pack()
    assert.deepEqual(await points(endpoint.endpointId), {
      'auto~a/value': [[daysAgo(10), 10]],
      'auto~b/value': [[daysAgo(1), 1]],
    })
    assert.equal((await service.api.previewRetention(endpoint)).points, 0)
    // The latest value of `c` is one of these points, so the latest value is also deleted.
    await service.latest.flush(true)
    await run()
    const endpointNo = await service.numbers.endpointNo(endpoint)
    const latest = (await service.latest.read([endpointNo])).get(endpointNo)!
    assert.deepEqual(latest.map(({ value }) => value).sort(), [1, 10])
  })

  test('the invalid parts of a configured retention are left out and reported', () => {
    const read = (retention: unknown) => readConfiguration(timeSeriesInstance, 'application', { retention })
    for (const nonsense of [0, -1, 1.5, '30', 1e9]) {
      const { config, problems } = read({ days: nonsense, series: { a: nonsense, b: 7 } })
      assert.deepEqual(config, { retention: { series: { b: 7 } } })
      assert.deepEqual(problems.map(({ path }) => path.join('.')).toSorted(), ['retention.days', 'retention.series.a'])
    }
    assert.deepEqual([read(30).config, read(30).problems.length], [{}, 1])
    assert.equal(read({ series: [] }).problems.length, 1)
    // The configuration of a version may contain null for a value that only the application sets.
    assert.deepEqual(read(null), { config: {}, problems: [] })
  })
})
