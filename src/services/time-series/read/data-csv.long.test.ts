import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { longestStallMs } from '../../../../test/harness/thread-time.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { wantsCsv } from '../routes/send.ts'

const { admin, collect, unregisteredEndpoint, pack, registerEndpoint, sql } = await openTimeSeries()
const start = Date.UTC(2026, 0, 1)
const iso = (seconds: number) => new Date(start + seconds * 1000).toISOString()

function csvOf(endpoint: DeviceEndpoint, query: Record<string, string>) {
  const url = `/epts/api/v1/applications/${endpoint.applicationName}/time-series/data`
  const parameters = new URLSearchParams({ fromDate: '2025-01-01', toDate: '2028-01-01', ...query })
  return admin(`GET ${url}?${parameters}`, undefined, { accept: 'text/csv' })
}

suite('CSV', () => {
  test('CSV has a line for each point and a column for each value name', async () => {
    const values = ['lat', 'lon'].map((name) => ({ path: name, name }))
    const endpoint = await unregisteredEndpoint({ 'time-series': { names: { place: { values } } } })
    await collect(endpoint, [
      { timestamp: start, lat: 50.45, lon: -30.5 },
      { timestamp: start + 1000, lat: 50.5 },
    ])
    await pack()
    await collect(endpoint, [{ timestamp: start + 1500, lon: 1e21, x: 0.1 }])
    const answer = await csvOf(endpoint, { timeSeriesName: 'place,auto~x,auto~lat' })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8; header=present')
    assert.match(answer.headers['content-disposition']!, /^attachment; filename="[^"]+\.csv"$/)
    const id = endpoint.endpointId
    const expected = [
      'timestamp,endpointId,series,lat,lon,value',
      `${iso(0)},${id},auto~lat,,,50.45`,
      `${iso(1)},${id},auto~lat,,,50.5`,
      `${iso(1.5)},${id},auto~x,,,0.1`,
      `${iso(0)},${id},place,50.45,-30.5,`,
      `${iso(1)},${id},place,50.5,,`,
      `${iso(1.5)},${id},place,,1e+21,`,
    ]
    assert.deepEqual(answer.text.split('\r\n'), [...expected, ''])
  })

  test('CSV of many points does not block the event loop, before and after packing', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ timestamp: start, x: 0, y: 0 }])
    // The test writes whole hours of samples directly into the open slot.
    await sql`
      insert into time_series.samples (slot, endpoint_no, ts, set_id, written, record)
      select slot, endpoint_no, ts + n * 1000, set_id, written,
        float8send(endpoint_no::float8) || float8send((ts + n * 1000)::float8) || float8send(n / 8.0) || float8send(-n)
      from time_series.samples join time_series.endpoints using (endpoint_no), generate_series(1, 100000) as n
      where endpoint_id = ${endpoint.endpointId}`
    const check = async () => {
      let length = 0
      const stallMs = await longestStallMs(async () => {
        const { text } = await csvOf(endpoint, { timeSeriesName: 'auto~x,auto~y' })
        length = text.length
      })
      assert.ok(length > 200_000 * 60, 'all points must be in the response')
      return stallMs
    }
    // The minimum of three runs counts: the first query compiles the code, and garbage of other tests may be collected during a run.
    const leastStall = async () => Math.min(await check(), await check(), await check())
    const unpackedMs = await leastStall()
    assert.ok(unpackedMs < 100, `${unpackedMs} ms`)
    await pack()
    const packedMs = await leastStall()
    assert.ok(packedMs < 100, `${packedMs} ms`)
  })

  test('CSV quotes texts and escapes texts that a spreadsheet would run as formulas', async () => {
    const endpoint = await unregisteredEndpoint({
      'time-series': { 'auto-extract': false, names: { s: { values: [{ path: 't' }] } } },
    })
    const texts = [
      'a,b',
      'say "x"',
      'two\r\nlines',
      ' edge ',
      '',
      '=1+1',
      '+1',
      '-1',
      '@SUM(A1)',
      '\t=1',
      'ü,✓',
      '=a,"b',
    ]
    const expected = [
      '"a,b"',
      '"say ""x"""',
      '"two\r\nlines"',
      '" edge "',
      '""',
      "'=1+1",
      "'+1",
      "'-1",
      "'@SUM(A1)",
      "'\t=1",
      '"ü,✓"',
      '"\'=a,""b"',
    ]
    const others = [true, false, null, -1.5]
    await collect(
      endpoint,
      [...texts, ...others].map((t, index) => ({ timestamp: start + index * 1000, t })),
    )
    const lines = [...expected, 'true', 'false', '', '-1.5'].map(
      (text, index) => `${iso(index)},${endpoint.endpointId},s,${text}`,
    )
    const { text } = await csvOf(endpoint, { timeSeriesName: 's' })
    assert.equal(text, ['timestamp,endpointId,series,value', ...lines, ''].join('\r\n'))
  })

  test('CSV escapes endpoint ids that a spreadsheet would run as formulas', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint(), `-cmd-${Date.now()}`)
    await collect(endpoint, [{ timestamp: start, x: 1 }])
    const { text } = await csvOf(endpoint, { timeSeriesName: 'auto~x' })
    assert.equal(text.split('\r\n')[1], `${iso(0)},'${endpoint.endpointId},auto~x,1`)
  })

  test('CSV supports aggregation, descending order and empty results', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(
      endpoint,
      [0, 10, 70].map((minute) => ({ timestamp: start + minute * 60_000, x: minute })),
    )
    const query = { timeSeriesName: 'auto~x', aggregate: 'avg', interval: '1h', sort: 'DESC' }
    const { text } = await csvOf(endpoint, query)
    const head = 'timestamp,endpointId,series,value'
    const rows = [`${iso(3600)},${endpoint.endpointId},auto~x,70`, `${iso(0)},${endpoint.endpointId},auto~x,5`]
    assert.equal(text, [head, ...rows, ''].join('\r\n'))
    const url = `GET /epts/api/v1/applications/${endpoint.applicationName}/time-series/data`
    const dates = { fromDate: '2025-01-01', toDate: '2028-01-01' }
    const byParameter = await admin(`${url}?${new URLSearchParams({ ...query, ...dates, format: 'csv' })}`)
    assert.equal(byParameter.text, text)
    assert.equal((await admin(`${url}?${new URLSearchParams({ ...query, ...dates, format: 'xml' })}`)).status, 400)
    const none = await csvOf(endpoint, { timeSeriesName: 'auto~x', toDate: '2025-06-01' })
    assert.equal(none.text, `${head}\r\n`)
    assert.equal((await csvOf(endpoint, { timeSeriesName: 'no-such' })).text, 'timestamp,endpointId,series\r\n')
    const rejected = await csvOf(endpoint, { timeSeriesName: 'auto~x', fromDate: 'x' })
    assert.deepEqual([rejected.status, rejected.headers['content-type']], [400, 'application/json; charset=utf-8'])
  })

  test('CSV is sent to clients whose Accept header prefers it', () => {
    for (const accept of [
      'text/csv',
      'TEXT/CSV; header=present',
      'text/csv, application/json;q=0.9',
      'application/json, text/csv',
    ])
      assert.ok(wantsCsv(accept), accept)
    for (const accept of [
      undefined,
      '',
      '*/*',
      'text/*',
      'application/json',
      'application/json, text/csv;q=0.5',
      'text/csv;q=0',
    ])
      assert.ok(!wantsCsv(accept), accept)
  })
})
