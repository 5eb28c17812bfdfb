import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { independentPool } from '../../../../test/harness/database.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import type { Answer, Ask } from '../../../../test/harness/test-platform.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'

const caller = aTenantAdmin()
const { admin, collect, unregisteredEndpoint, waypost, pack, registerEndpoint, sql } = await openTimeSeries({
  authenticate: () => async (headers) => (headers.authorization === 'Bearer of a reader' ? caller : undefined),
})

const dateAfter = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString()
const sample = (seconds: number, fields: object) => ({ timestamp: dateAfter(seconds), ...fields })
const urlOf = ({ applicationName }: DeviceEndpoint) => `/epts/api/v1/applications/${applicationName}/time-series/data`
const always = { fromDate: '2025-01-01', toDate: '2028-01-01' }

const read = (endpoint: DeviceEndpoint, query: Record<string, string>, ask: Ask = admin) =>
  ask(`GET ${urlOf(endpoint)}?${new URLSearchParams({ ...always, ...query })}`)
const search = (endpoint: DeviceEndpoint, body: object, ask: Ask = admin) =>
  ask(`POST ${urlOf(endpoint)}`, { ...always, ...body })

/** Merges the objects of a response. Several objects may have points of the same series. */
function whole({ status, body, text }: Answer) {
  assert.equal(status, 200, text)
  const all: Record<string, Record<string, unknown[]>> = {}
  for (const object of body)
    for (const [endpointId, series] of Object.entries<Record<string, unknown[]>>(object))
      for (const [name, points] of Object.entries(series)) {
        all[endpointId] ??= {}
        all[endpointId][name] ??= []
        for (const point of points) all[endpointId][name].push(point)
      }
  return all
}
const point = (seconds: number, value: unknown) => ({ timestamp: dateAfter(seconds), values: { value } })

suite('historical points', () => {
  test('historical points are read for several endpoints and series, whether packed or not', async () => {
    const endpoint = await unregisteredEndpoint()
    const otherEndpoint = await registerEndpoint(endpoint)
    await collect(endpoint, [sample(1, { x: 1, y: 10 }), sample(2, { x: 2 })])
    await collect(otherEndpoint, [sample(1, { x: -1 })])
    const names = { timeSeriesName: 'auto~x,auto~y' }
    const first = {
      [endpoint.endpointId]: { 'auto~x': [point(1, 1), point(2, 2)], 'auto~y': [point(1, 10)] },
      [otherEndpoint.endpointId]: { 'auto~x': [point(1, -1)] },
    }
    assert.deepEqual(whole(await read(endpoint, names)), first)
    await pack()
    assert.deepEqual(whole(await read(endpoint, names)), first)
    await collect(endpoint, [sample(1, { x: 1.5 }), sample(3, { x: 3, y: 30 })])
    const second = {
      ...first,
      [endpoint.endpointId]: {
        'auto~x': [point(1, 1.5), point(2, 2), point(3, 3)],
        'auto~y': [point(1, 10), point(3, 30)],
      },
    }
    assert.deepEqual(whole(await read(endpoint, names)), second)
    await pack()
    assert.deepEqual(whole(await read(endpoint, names)), second)
    assert.deepEqual(whole(await search(endpoint, { timeSeriesNames: ['auto~x', 'auto~y'] })), second)
  })

  test('historical points contain the values of a series that were sent at the same time, and leave out missing values', async () => {
    const values = ['a', 'b'].map((name) => ({ path: name, name }))
    const endpoint = await unregisteredEndpoint({ 'time-series': { 'auto-extract': false, names: { s: { values } } } })
    await collect(endpoint, [sample(1, { a: 'on', b: true }), sample(2, { b: null }), sample(3, { a: 3 })])
    await pack()
    await collect(endpoint, [sample(3, { b: '"' })])
    for (const sort of ['ASC', 'DESC']) {
      const expected = [
        { timestamp: dateAfter(1), values: { a: 'on', b: true } },
        { timestamp: dateAfter(2), values: { b: null } },
        { timestamp: dateAfter(3), values: { a: 3, b: '"' } },
      ]
      if (sort === 'DESC') expected.reverse()
      assert.deepEqual(whole(await read(endpoint, { timeSeriesName: 's', sort })), {
        [endpoint.endpointId]: { s: expected },
      })
    }
  })

  test('historical points include points at fromDate and toDate only if includeTime says so, even for dates finer than a millisecond', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(
      endpoint,
      [1, 2, 3].map((second) => sample(second, { x: second })),
    )
    const valuesOf = async (query: Record<string, string>) =>
      (whole(
        await read(endpoint, { timeSeriesName: 'auto~x', fromDate: dateAfter(1), toDate: dateAfter(3), ...query }),
      )[endpoint.endpointId]?.['auto~x'] ?? []) as { values: { value: number } }[]
    const seen = async (query: Record<string, string>) => (await valuesOf(query)).map(({ values }) => values.value)
    assert.deepEqual(await seen({}), [2])
    assert.deepEqual(await seen({ includeTime: 'none' }), [2])
    assert.deepEqual(await seen({ includeTime: 'from' }), [1, 2])
    assert.deepEqual(await seen({ includeTime: 'to' }), [2, 3])
    assert.deepEqual(await seen({ includeTime: 'both' }), [1, 2, 3])
    assert.deepEqual(await seen({ includeTime: 'both', sort: 'DESC' }), [3, 2, 1])
    const finer = { fromDate: '2026-01-01T00:00:01.000001Z', toDate: '2026-01-01T00:00:02.999999Z' }
    assert.deepEqual(await seen({ ...finer, includeTime: 'both' }), [2])
    assert.deepEqual(
      await seen({ fromDate: '2026-01-01T00:00:00.999999Z', toDate: '2026-01-01T00:00:03.000001Z' }),
      [1, 2, 3],
    )
    assert.deepEqual(await seen({ fromDate: '2026-01-01T02:00:01+02:00', toDate: '2026-01-01T00:00:03' }), [2])
  })

  test('historical points can be requested with dates relative to now', async () => {
    const endpoint = await unregisteredEndpoint()
    const ago = (minutes: number) => ({ timestamp: Date.now() - minutes * 60_000, x: minutes })
    await collect(endpoint, [ago(1), ago(10), ago(60 * 25)])
    const seen = async (fromDate: string) => {
      const answer = await read(endpoint, { timeSeriesName: 'auto~x', fromDate, toDate: 'now', sort: 'DESC' })
      const points = whole(answer)[endpoint.endpointId]?.['auto~x'] ?? []
      return (points as { values: { value: number } }[]).map(({ values }) => values.value)
    }
    assert.deepEqual(await seen('now-5m'), [1])
    assert.deepEqual(await seen('now-1h'), [1, 10])
    for (const fromDate of ['now-2d', 'now-1w', 'now-1M', 'now-1y'])
      assert.deepEqual(await seen(fromDate), [1, 10, 1500])
    assert.deepEqual(await seen('now'), [])
    assert.deepEqual(await seen(String(Date.now() - 300_000)), [1], 'milliseconds since 1970 must be accepted')
    assert.deepEqual(await seen('0'), [1, 10, 1500])
  })

  test('historical points are filtered by endpoints, for every format of the list of ids', async () => {
    const endpoint = await unregisteredEndpoint()
    const [two, three] = [await registerEndpoint(endpoint), await registerEndpoint(endpoint)]
    for (const target of [endpoint, two, three]) await collect(target, [sample(1, { x: 1, y: 1 })])
    const endpointIdsFor = async (query: string) => {
      const answer = await admin(`GET ${urlOf(endpoint)}?fromDate=2025-01-01&toDate=2028-01-01&${query}`)
      return Object.keys(whole(answer)).sort()
    }
    const [a, b] = [two.endpointId, three.endpointId]
    for (const query of [`endpointId=${a},${b}`, `endpointId=${a}&endpointId=${b}`, `endpointId=%20${a}%20,,%20${b}`])
      assert.deepEqual(await endpointIdsFor(`timeSeriesName=auto~x&${query}`), [a, b].sort())
    assert.deepEqual((await endpointIdsFor('timeSeriesName=auto~x&timeSeriesName=auto~y')).length, 3)
    assert.deepEqual((await endpointIdsFor('timeSeriesName=auto~x&endpointId=')).length, 3)
    assert.deepEqual(await endpointIdsFor(`timeSeriesName=auto~x&endpointId=${a},no-such`), [a])
    assert.deepEqual(Object.keys(whole(await search(endpoint, { timeSeriesNames: ['auto~x'], endpointIDs: [a] }))), [a])
    assert.deepEqual(whole(await search(endpoint, { timeSeriesNames: ['auto~x'], endpointIDs: ['no-such'] })), {})
    assert.deepEqual((await read(endpoint, { timeSeriesName: 'no-such' })).body, [])
  })

  test('an invalid request for historical points is rejected with the name of the field', async () => {
    const endpoint = await unregisteredEndpoint()
    const cases: [Record<string, string>, string][] = [
      [{}, 'timeSeriesName'],
      [{ timeSeriesName: ' ,' }, 'timeSeriesName'],
      [{ timeSeriesName: 'x', fromDate: 'yesterday' }, 'fromDate'],
      [{ timeSeriesName: 'x', fromDate: '2026-13-01' }, 'fromDate'],
      [{ timeSeriesName: 'x', toDate: 'now-5q' }, 'toDate'],
      [{ timeSeriesName: 'x', toDate: 'now+5m' }, 'toDate'],
      [{ timeSeriesName: 'x', toDate: '2024-01-01' }, 'toDate'],
      [{ timeSeriesName: 'x', includeTime: 'some' }, 'includeTime'],
      [{ timeSeriesName: 'x', sort: 'up' }, 'sort'],
    ]
    for (const [query, field] of cases) {
      const answer = await read(endpoint, query)
      assert.equal(answer.status, 400, answer.text)
      assert.ok(answer.body.message.includes(field), answer.body.message)
    }
    for (const body of [
      {},
      { timeSeriesNames: [] },
      { timeSeriesNames: ['x'], endpointIDs: 'x' },
      { timeSeriesNames: 'x' },
    ])
      assert.equal((await search(endpoint, body)).status, 400)
    assert.equal((await admin(`GET ${urlOf(endpoint)}?timeSeriesName=x&fromDate=now-1d`)).status, 400)
  })
})

suite('permission to read points', () => {
  const scopes = ['endpoint:read', 'time-series:read']

  test('reading points needs both scopes, on the application or on single endpoints', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const otherEndpoint = await registerEndpoint(endpoint)
    for (const target of [endpoint, otherEndpoint]) await collect(target, [sample(1, { x: 1 })])
    const seen = async (on: Record<string, string[]>, query = {}) => {
      const answer = await read(endpoint, { timeSeriesName: 'auto~x', ...query }, waypost.as(aCaller({ on })))
      return answer.status === 200 ? Object.keys(whole(answer)).sort() : answer.status
    }
    const both = [endpoint.endpointId, otherEndpoint.endpointId].sort()
    const app = `application-${endpoint.applicationName}`
    const [first, second] = [`endpoint-${endpoint.endpointId}`, `endpoint-${otherEndpoint.endpointId}`]
    assert.deepEqual(await seen({ [app]: scopes }), both)
    assert.deepEqual(await seen({ [first]: scopes }), [endpoint.endpointId])
    assert.deepEqual(await seen({ [first]: scopes, [second]: ['endpoint:read'] }), [endpoint.endpointId])
    assert.deepEqual(await seen({ [app]: ['endpoint:read'], [second]: ['time-series:read'] }), [
      otherEndpoint.endpointId,
    ])
    assert.deepEqual(await seen({ [first]: scopes }, { endpointId: both.join() }), [endpoint.endpointId])
    assert.deepEqual(await seen({ [first]: scopes }, { endpointId: otherEndpoint.endpointId }), [])
    assert.equal(await seen({ [app]: ['endpoint:read'] }), 403)
    assert.equal(await seen({ [app]: ['application:read'] }), 403)
    assert.equal(await seen({ [first]: ['endpoint:read'] }), 404)
    assert.equal(await seen({}), 404)
  })

  test('a request for an application of another tenant gets the same 404 as for an unknown application', async () => {
    const endpoint = await unregisteredEndpoint()
    const query = { timeSeriesName: 'auto~x' }
    const other = await read(endpoint, query, waypost.as(aTenantAdmin('other')))
    const missing = await read({ ...endpoint, applicationName: 'no-such' }, query)
    assert.deepEqual([other.status, missing.status], [404, 404])
    assert.equal(other.text.replace(endpoint.applicationName, ''), missing.text.replace('no-such', ''))
  })
})

suite('a response over a socket', () => {
  async function listening(): Promise<AddressInfo> {
    const { app } = waypost.http
    if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server.address() as AddressInfo
  }
  async function open(path: string): Promise<IncomingMessage> {
    const { port } = await listening()
    const headers = { authorization: 'Bearer of a reader' }
    const [response] = await once(get({ port, path, agent: false, headers }), 'response')
    assert.equal(response.statusCode, 200)
    return response
  }
  const path = (endpoint: DeviceEndpoint) =>
    `${urlOf(endpoint)}?timeSeriesName=auto~x&fromDate=1970-01-01&toDate=2028-01-01`

  /** Inserts samples directly into the open slot. */
  async function fill(endpoint: DeviceEndpoint, count: number) {
    await collect(endpoint, [{ timestamp: 1, x: 1 }])
    const [row] = await sql`
      select s.* from time_series.samples s join time_series.endpoints using (endpoint_no)
      where endpoint_id = ${endpoint.endpointId}`
    await sql`
      insert into time_series.samples (slot, endpoint_no, ts, set_id, written, record)
      select ${row!.slot}, ${row!.endpointNo}, n * 1000::bigint, ${row!.setId}, n,
        float8send(${row!.endpointNo}) || float8send(n * 1000) || float8send(n)
      from generate_series(1, ${count}) as n`
  }

  /** Returns the chunks of a response as sent by the server. */
  async function chunksOf(path: string): Promise<string[]> {
    const socket = connect((await listening()).port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer of a reader\r\nconnection: close\r\n\r\n`)
    const text = await readText(socket)
    const chunks: string[] = []
    for (let at = text.indexOf('\r\n\r\n') + 4; at < text.length; ) {
      const head = text.indexOf('\r\n', at)
      const length = Number.parseInt(text.slice(at, head), 16)
      if (length === 0) break
      chunks.push(text.slice(head + 2, head + 2 + length))
      at = head + 2 + length + 2
    }
    return chunks
  }

  test('a response over a socket is sent in HTTP chunks, which form one object with all points of the endpoint', async () => {
    const endpoint = await unregisteredEndpoint()
    await fill(endpoint, 20_000)
    const chunks = await chunksOf(path(endpoint))
    assert.ok(chunks.length > 5)
    const objects: Record<string, Record<string, { values: { value: number } }[]>>[] = JSON.parse(chunks.join(''))
    assert.equal(objects.length, 1)
    const values = objects[0]![endpoint.endpointId]!['auto~x']!.map((own) => own.values.value)
    assert.deepEqual(values, [1, ...Array.from({ length: 20_000 }, (_, index) => index + 1)])
  })

  /** Creates `count` endpoints with copies of the packed points of this endpoint. */
  async function multiply(endpoint: DeviceEndpoint, count: number) {
    await pack()
    const made = await sql`
      insert into time_series.endpoints (endpoint_id, tenant_id, application_name)
      select 'copy-' || n || ${endpoint.endpointId}, ${endpoint.tenantId}, ${endpoint.applicationName} from generate_series(1, ${count}::integer) as n
      returning endpoint_no`
    await sql`
      insert into time_series.chunks
      select made.no, series_id, day, slot, part, n, t_min, t_max, v_min, v_max, v_sum, data
      from time_series.chunks c join time_series.endpoints e using (endpoint_no),
        unnest(${made.map(({ endpointNo }) => endpointNo)}::bigint[]) as made (no)
      where e.endpoint_id = ${endpoint.endpointId}`
  }

  /** An endpoint with more packed points than fit into the socket buffers. The first test that needs it creates it. */
  let large: Promise<DeviceEndpoint> | undefined
  async function aLargeSeries(): Promise<DeviceEndpoint> {
    const endpoint = await unregisteredEndpoint()
    await fill(endpoint, 60_000)
    await multiply(endpoint, 12)
    return endpoint
  }

  for (const accept of ['application/json', 'text/csv'])
    test(`a database error during a response closes the connection, so that no client accepts a partial response (${accept})`, async () => {
      large ??= aLargeSeries()
      const endpoint = await large
      const { port } = await listening()
      const headers = { authorization: 'Bearer of a reader', accept }
      const request = get({ port, path: path(endpoint), agent: false, headers })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      assert.equal(response.statusCode, 200)
      await once(response, 'readable')
      const ended = new Promise<string>((resolve) => {
        response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
        response.on('end', () => resolve('the response ended as if it were complete'))
      })
      // The test kills the database connection that reads the next part.
      await independentPool(waypost.connection).begin(async (inner) => {
        await inner`lock table time_series.chunks in access exclusive mode`
        response.resume()
        await eventually(async () => {
          const killed = await sql`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name = 'waypost-series-reading' and wait_event_type = 'Lock'`
          assert.ok(killed.length > 0, 'a read must be in progress when its connection is killed')
        })
      })
      assert.equal(await ended, 'ECONNRESET')
      assert.equal(response.complete, false)
      const after = await read(endpoint, {
        timeSeriesName: 'auto~x',
        fromDate: '1970-01-01',
        endpointId: endpoint.endpointId,
      })
      assert.equal(whole(after)[endpoint.endpointId]!['auto~x']!.length, 60_001)
    })

  test('after a client disconnects during its request, no database connection and no slot of the response limit are in use', async () => {
    large ??= aLargeSeries()
    const endpoint = await large
    const readers = () => sql`
      select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and application_name = 'waypost-series-reading' and state <> 'idle'`
    for (let round = 0; round < 12; round++) {
      const response = await open(path(endpoint))
      await once(response, 'data')
      response.destroy()
    }
    await eventually(async () => assert.equal((await readers())[0]!.count, 0))
    // More clients than the response limit of the tenant disconnect before the first byte of their responses.
    const { port } = await listening()
    for (let round = 0; round < 40; round++) {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET ${path(endpoint)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer of a reader\r\n\r\n`)
      await once(socket, 'connect')
      setTimeout(() => socket.destroy(), round % 5)
    }
    // There were more requests than database connections. If requests had kept their connections, this read would wait forever.
    const query = { timeSeriesName: 'auto~x', fromDate: '1970-01-01', endpointId: endpoint.endpointId }
    assert.ok(whole(await read(endpoint, query))[endpoint.endpointId])
  })
})
