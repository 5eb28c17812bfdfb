import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { dayMs, dayOf } from './chunk-builder.ts'
import { packSlot } from './pack-slot.ts'

const { waypost, service, unregisteredEndpoint, collect, points, pack, sql } = await openTimeSeries()
const today = dayOf(Date.now()) * dayMs
const chunksOf = async (endpointId: string) =>
  (
    await sql`
      select day, n, slot, part, c.tableoid::regclass::text as partition from time_series.chunks c
      join time_series.endpoints using (endpoint_no) where endpoint_id = ${endpointId} order by day, slot, part`
  ).map((row) => ({ ...row }))

suite('packing', () => {
  test('late samples of a day are merged into one chunk, and the last written value is kept', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ timestamp: today + 1000, a: 1 }])
    await collect(endpoint, [{ timestamp: today + 3000, a: 3 }])
    await pack()
    await collect(endpoint, [{ timestamp: today + 2000, a: 2 }])
    await collect(endpoint, [
      { timestamp: today + 3000, a: 'no number' },
      { timestamp: today + 3000, a: 33 },
    ])
    await pack()
    const chunks = await chunksOf(endpoint.endpointId)
    assert.deepEqual(
      chunks.map(({ n, part }) => [n, part]),
      [[3, 0]],
    )
    assert.deepEqual(await points(endpoint.endpointId), {
      'auto~a/value': [
        [today + 1000, 1],
        [today + 2000, 2],
        [today + 3000, 33],
      ],
    })
    const [unpacked] = await sql`select count(*)::int as count from time_series.samples`
    assert.equal(unpacked!.count, 0)
  })

  test('long texts are packed in small chunks, and texts that arrive late are packed in further chunks', async () => {
    const endpoint = await unregisteredEndpoint({
      'time-series': { 'auto-extract': false, names: { log: { values: [{ path: 'log' }] } } },
    })
    const text = (index: number) => String(index % 10).repeat(65_536)
    const some = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ timestamp: today + from + index, log: text(from + index) }))
    await collect(endpoint, some(0, 20))
    await pack()
    await collect(endpoint, some(10, 40))
    await pack()
    assert.deepEqual(
      (await chunksOf(endpoint.endpointId)).map(({ n, part }) => [n, part]),
      [
        [16, 0],
        [4, 1],
        [16, 0],
        [16, 1],
        [8, 2],
      ],
    )
    const [[log]] = [Object.values(await points(endpoint.endpointId))]
    assert.deepEqual(
      log!.map(([time, value]) => [time - today, value]),
      Array.from({ length: 50 }, (_, index) => [index, text(index)]),
    )
  })

  test('a sample with fewer values than its set has fields does not block packing', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ timestamp: today, a: 1, b: 2 }])
    await sql`
      update time_series.samples s set record = substring(record for 24) from time_series.endpoints e
      where s.endpoint_no = e.endpoint_no and endpoint_id = ${endpoint.endpointId}`
    await pack()
    assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[today, 1]] })
  })

  test('a day with many points has several chunks, and points that arrive late are merged into the last chunk', async () => {
    const endpoint = await unregisteredEndpoint()
    const busy = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ timestamp: today + (from + index) * 2000, a: from + index }))
    await collect(endpoint, busy(0, 9000))
    await pack()
    assert.deepEqual(
      (await chunksOf(endpoint.endpointId)).map(({ n, part }) => [n, part]),
      [
        [8640, 0],
        [360, 1],
      ],
    )
    for (let late = 0; late < 11; late++) {
      await collect(endpoint, [{ timestamp: today + late * 2000 + 1, a: -late }])
      await pack()
    }
    assert.deepEqual(
      (await chunksOf(endpoint.endpointId)).map(({ n, part }) => [n, part]),
      [
        [8640, 0],
        [371, 1],
      ],
    )
    assert.equal((await points(endpoint.endpointId))['auto~a/value']!.length, 9011)
  })

  test('each month has a partition; months long before or after today share a partition until their own partition is created', async () => {
    const endpoint = await unregisteredEndpoint()
    const far = Date.UTC(2093, 5, 5)
    await collect(endpoint, [
      { timestamp: Date.UTC(2019, 1, 3), a: 1 },
      { timestamp: far, a: 2 },
      { timestamp: -5, a: 3 },
    ])
    await pack()
    assert.deepEqual(
      (await chunksOf(endpoint.endpointId)).map(({ partition }) => partition),
      ['time_series.chunks_far', 'time_series.chunks_201902', 'time_series.chunks_far'],
    )
    const { createMonth } = await import('../store/chunks.ts')
    await waypost.kit.db.tx((tx) =>
      createMonth(tx, { name: 'chunks_209306', from: dayOf(Date.UTC(2093, 5, 1)), to: dayOf(Date.UTC(2093, 6, 1)) }),
    )
    assert.equal((await chunksOf(endpoint.endpointId)).at(-1)!.partition, 'time_series.chunks_209306')
    assert.deepEqual(await points(endpoint.endpointId), {
      'auto~a/value': [
        [-5, 3],
        [Date.UTC(2019, 1, 3), 1],
        [far, 2],
      ],
    })
  })

  test('packing that is aborted changes nothing', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(
      endpoint,
      Array.from({ length: 9000 }, (_, index) => ({ timestamp: today + index * 1000, a: index })),
    )
    const slot = await service.slots.current()
    await service.slots.rotate(true)
    let pages = 0
    const ended = waypost.kit.db.tx((tx) =>
      packSlot(tx, slot, {
        longestText: 0,
        numbers: service.numbers,
        pace: () => undefined,
        firstDays: new Map(),
        check() {
          if (++pages === 2) throw new Error('killed')
        },
      }),
    )
    await assert.rejects(ended, /killed/)
    assert.deepEqual(await chunksOf(endpoint.endpointId), [])
    assert.equal((await points(endpoint.endpointId))['auto~a/value']!.length, 9000)
    await service.packer.round()
    assert.equal((await points(endpoint.endpointId))['auto~a/value']!.length, 9000)
    const [left] = await sql`select count(*)::int as count from time_series.slots where slot <= ${slot}`
    assert.equal(left!.count, 0)
  })

  test('samples of deleted endpoints are not packed', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ a: 1 }])
    const endpointNo = await service.numbers.endpointNo(endpoint)
    await sql`delete from time_series.endpoints where endpoint_no = ${endpointNo}`
    await pack()
    const [left] = await sql`select count(*)::int as count from time_series.chunks where endpoint_no = ${endpointNo}`
    assert.equal(left!.count, 0)
  })

  test('a partition that a long query reads is dropped later', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ timestamp: today, a: 1 }])
    const slot = await service.slots.current()
    const reading = Promise.withResolvers<void>()
    const reader = waypost.kit.db.tx(async (tx) => {
      await tx`select count(*) from time_series.samples`
      await reading.promise
    })
    await service.slots.rotate(true)
    await assert.rejects(service.packer.round(), { code: '55P03' })
    const [packed] = await sql`select state from time_series.slots where slot = ${slot}`
    assert.equal(packed?.state, 'packed')
    reading.resolve()
    await reader
    await service.packer.round()
    assert.equal((await sql`select from time_series.slots where slot = ${slot}`).length, 0)
    assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[today, 1]] })
  })
})
