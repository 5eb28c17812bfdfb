import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import type { Ask } from '../../../../test/harness/test-platform.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import type { Value } from '../points.ts'

const { admin, collect, configure, unregisteredEndpoint, waypost, pack, points, registerEndpoint, retention, service } =
  await openTimeSeries()
const urlOf = ({ applicationName }: DeviceEndpoint) => `/epts/api/v1/applications/${applicationName}/time-series/last`
const today = Math.floor(Date.now() / dayMs) * dayMs
const iso = (time: number) => new Date(time).toISOString()
const point = (time: number, value: unknown) => ({ timestamp: iso(time), values: { value } })

const read = async (endpoint: DeviceEndpoint, query: Record<string, string> = {}, ask: Ask = admin) => {
  const answer = await ask(`GET ${urlOf(endpoint)}?${new URLSearchParams(query)}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

suite('the last points', () => {
  test('the last points contain the newest point of each series immediately after it is stored, before and after packing', async () => {
    const endpoint = await unregisteredEndpoint()
    const otherEndpoint = await registerEndpoint(endpoint)
    await collect(endpoint, [
      { timestamp: today + 1000, x: 1, y: 5 },
      { timestamp: today + 2000, x: 2 },
      { timestamp: today, x: 0 },
    ])
    await collect(otherEndpoint, [{ timestamp: today, x: -1 }])
    const expected = {
      [endpoint.endpointId]: { 'auto~x': [point(today + 2000, 2)], 'auto~y': [point(today + 1000, 5)] },
      [otherEndpoint.endpointId]: { 'auto~x': [point(today, -1)] },
    }
    assert.deepEqual(await read(endpoint), expected)
    await service.latest.flush(true)
    assert.deepEqual(await read(endpoint), expected)
    await pack()
    assert.deepEqual(await read(endpoint), expected)
    assert.deepEqual(await read(endpoint, { endpointId: otherEndpoint.endpointId }), {
      [otherEndpoint.endpointId]: expected[otherEndpoint.endpointId],
    })
    assert.deepEqual(await read(endpoint, { timeSeriesName: 'auto~y, no-such' }), {
      [endpoint.endpointId]: { 'auto~y': [point(today + 1000, 5)] },
    })
    assert.deepEqual(await read(endpoint, { endpointId: 'no-such' }), {})
  })

  test('last points combine values of the same time, even from different samples', async () => {
    const values = ['a', 'b'].map((name) => ({ path: name, name }))
    const endpoint = await unregisteredEndpoint({ 'time-series': { 'auto-extract': false, names: { s: { values } } } })
    await collect(endpoint, [{ timestamp: today, a: 1, b: null }])
    await collect(endpoint, [{ timestamp: today + 1, a: 'x' }])
    await collect(endpoint, [{ timestamp: today + 1, b: true }])
    await collect(endpoint, [{ timestamp: today - 5, b: 7 }])
    const newest = { timestamp: iso(today + 1), values: { a: 'x', b: true } }
    assert.deepEqual(await read(endpoint), { [endpoint.endpointId]: { s: [newest] } })
    const older = [
      { timestamp: iso(today), values: { a: 1, b: null } },
      { timestamp: iso(today - 5), values: { b: 7 } },
    ]
    assert.deepEqual(await read(endpoint, { limit: '9' }), { [endpoint.endpointId]: { s: [newest, ...older] } })
    assert.deepEqual(await read(endpoint, { limit: '1', offset: '2' }), { [endpoint.endpointId]: { s: [older[1]] } })
  })

  test('the last points can be requested with a body, an empty body or no body', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [
      { timestamp: today, x: 1 },
      { timestamp: today + 1, x: 2 },
    ])
    const newest = { [endpoint.endpointId]: { 'auto~x': [point(today + 1, 2)] } }
    const url = `POST ${urlOf(endpoint)}`
    assert.deepEqual((await admin(url, {})).body, newest)
    assert.deepEqual((await admin(url)).body, newest)
    assert.deepEqual((await admin(url, '')).body, newest)
    const body = {
      timeSeriesNames: ['auto~x'],
      endpointIDs: [endpoint.endpointId],
      offset: 1,
      limit: 5,
      beforeDate: 'now',
    }
    assert.deepEqual((await admin(url, body)).body[endpoint.endpointId], { 'auto~x': [point(today, 1)] })
    const older = { [endpoint.endpointId]: { 'auto~x': [point(today, 1)] } }
    assert.deepEqual(
      (await admin(url, { beforeDate: today + 1 })).body,
      older,
      'beforeDate may be a number of milliseconds',
    )
    const data = { timeSeriesNames: ['auto~x'], fromDate: today - 1, toDate: today + 1 }
    assert.deepEqual((await admin(url.replace('/last', '/data'), data)).body, [older])
    for (const beforeDate of [1.5, true, null, 10 ** 15])
      assert.match((await admin(url, { beforeDate })).body.message, /^beforeDate: /)
  })

  test('the last points exclude a point at beforeDate itself', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(
      endpoint,
      [0, 1, 2].map((step) => ({ timestamp: today + step, x: step })),
    )
    const newest = async (beforeDate: string) =>
      (await read(endpoint, { beforeDate }))[endpoint.endpointId]?.['auto~x'].map(
        (own: { values: { value: Value } }) => own.values.value,
      )
    assert.deepEqual(await newest(iso(today + 2)), [1])
    assert.deepEqual(await newest(iso(today + 3)), [2])
    assert.deepEqual(await newest(iso(today + 1).replace('Z', '001Z')), [1])
    assert.equal(await newest(iso(today)), undefined)
    assert.equal(await newest('0001-01-01'), undefined)
  })

  test('the last points of endpoints that stopped sending at different times are found, even if they are very old', async () => {
    const endpoint = await unregisteredEndpoint()
    const [two, three] = [await registerEndpoint(endpoint), await registerEndpoint(endpoint)]
    const times = [today - 3 * dayMs, today - 400 * dayMs, today - 10_000 * dayMs, Date.parse('0001-01-02T00:00:00Z')]
    for (const timestamp of times) await collect(endpoint, [{ timestamp, x: 1 }])
    await collect(two, [{ timestamp: today, x: 2, y: 2 }])
    await pack()
    await collect(two, [{ timestamp: times[1], x: 2 }])
    await collect(three, [{ timestamp: times[2], z: 3 }])
    assert.deepEqual(await read(endpoint, { limit: '10' }), {
      [endpoint.endpointId]: { 'auto~x': times.map((time) => point(time, 1)) },
      [two.endpointId]: { 'auto~x': [point(today, 2), point(times[1]!, 2)], 'auto~y': [point(today, 2)] },
      [three.endpointId]: { 'auto~z': [point(times[2]!, 3)] },
    })
    assert.deepEqual(await read(endpoint, { limit: '1', offset: '3' }), {
      [endpoint.endpointId]: { 'auto~x': [point(times[3]!, 1)] },
    })
  })

  test('the last points equal the points of the reference reader for random offsets and limits', async () => {
    const endpoint = await unregisteredEndpoint()
    const some = [endpoint, await registerEndpoint(endpoint), await registerEndpoint(endpoint)]
    let seed = 7
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return Math.floor((seed / 2 ** 32) * below)
    }
    for (let round = 0; round < 6; round++) {
      for (const target of some) {
        const samples = Array.from({ length: 25 }, () => ({
          timestamp: today - random(4) ** 4 * dayMs + random(200) * 1000,
          ...(random(3) > 0 && { x: random(100) }),
          ...(random(3) === 0 && { y: random(100) }),
        }))
        await collect(target, samples)
      }
      if (round % 2 === 0) await pack()
      const [offset, limit] = [random(30), 1 + random(30)]
      const before = random(2) === 0 ? undefined : today - random(3) * dayMs + random(100) * 1000
      const expected: Record<string, Record<string, unknown>> = {}
      for (const { endpointId } of some)
        for (const [field, list] of Object.entries(await points(endpointId))) {
          const own = list.filter(([time]) => before === undefined || time < before).reverse()
          const page = own.slice(offset, offset + limit).map(([time, value]) => point(time, value))
          if (page.length > 0) expected[endpointId] = { ...expected[endpointId], [field.split('/')[0]!]: page }
        }
      const query = { offset: String(offset), limit: String(limit), ...(before && { beforeDate: iso(before) }) }
      assert.deepEqual(await read(endpoint, query), expected, JSON.stringify(query))
    }
  })

  test('the last points contain no point that is older than the retention, before and after packing and deletion', async () => {
    const endpoint = await unregisteredEndpoint()
    const ago = (days: number) => today - days * dayMs
    await collect(endpoint, [
      { timestamp: ago(20), x: 20, y: 20 },
      { timestamp: ago(31) - 1, x: 31 },
      { timestamp: ago(50), x: 50, z: 50 },
    ])
    const all = { 'auto~x': [point(ago(20), 20)], 'auto~y': [point(ago(20), 20)], 'auto~z': [point(ago(50), 50)] }
    assert.deepEqual((await read(endpoint))[endpoint.endpointId], all)
    await configure(endpoint.applicationName, { retention: { days: 30, series: { 'auto~y': 7, 'auto~z': 50 } } })
    const { 'auto~y': gone, ...kept } = all
    const assertKept = async () => {
      assert.deepEqual((await read(endpoint))[endpoint.endpointId], kept)
      assert.deepEqual((await read(endpoint, { limit: '5' }))[endpoint.endpointId], kept)
      assert.deepEqual(await read(endpoint, { timeSeriesName: 'auto~y' }), {})
      assert.deepEqual(await read(endpoint, { timeSeriesName: 'auto~y', limit: '5' }), {})
      assert.deepEqual(await read(endpoint, { timeSeriesName: 'auto~x', beforeDate: iso(ago(40)) }), {})
      assert.deepEqual(await read(endpoint, { timeSeriesName: 'auto~x', offset: '1' }), {})
    }
    await assertKept()
    await service.latest.flush(true)
    await pack()
    await retention().run(() => {})
    await assertKept()
    await collect(endpoint, [{ timestamp: ago(8), y: 8 }])
    await assertKept()
    await collect(endpoint, [{ timestamp: ago(7), y: 7 }])
    for (const limit of ['1', '5'])
      assert.deepEqual((await read(endpoint, { limit }))[endpoint.endpointId]['auto~y'], [point(ago(7), 7)])
  })

  test('an invalid request for the last points is rejected with the name of the field', async () => {
    const endpoint = await unregisteredEndpoint()
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=10001', 'limit'],
      ['offset=-1', 'offset'],
      ['beforeDate=soon', 'beforeDate'],
      ['beforeDate=2026-02-31T25:00:00Z', 'beforeDate'],
    ]) {
      const answer = await admin(`GET ${urlOf(endpoint)}?${query}`)
      assert.equal(answer.status, 400, answer.text)
      assert.ok(answer.body.message.startsWith(`${field}: `), answer.body.message)
    }
    assert.equal((await admin(`POST ${urlOf(endpoint)}`, { limit: '1' })).status, 400)
    assert.equal((await admin(`POST ${urlOf(endpoint)}`, [])).status, 400)
  })

  test('the last points contain only points of endpoints that the caller may read', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const otherEndpoint = await registerEndpoint(endpoint)
    for (const target of [endpoint, otherEndpoint])
      await collect(target, [
        { timestamp: today, x: 1 },
        { timestamp: today + 1, x: 2 },
      ])
    const limited = waypost.as(
      aCaller({ on: { [`endpoint-${otherEndpoint.endpointId}`]: ['endpoint:read', 'time-series:read'] } }),
    )
    for (const query of [{}, { limit: '2' }, { endpointId: `${endpoint.endpointId},${otherEndpoint.endpointId}` }])
      assert.deepEqual(Object.keys(await read(endpoint, query as Record<string, string>, limited)), [
        otherEndpoint.endpointId,
      ])
    for (const caller of [aCaller(), aTenantAdmin('other')])
      assert.equal((await waypost.as(caller)(`GET ${urlOf(endpoint)}`)).status, 404)
  })
})
