/** Tests samples over real sockets: the response to the device, and the stored series. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { readPoints } from '../../../test/harness/series-reader.ts'
import timeSeries from './index.ts'

const { waypost, admin, anApplication, anEndpoint, device, httpUrl } = await openGateway({
  services: [...services, timeSeries],
  environment: { WAYPOST_SERIES_PER_APPLICATION: '3' },
})

async function aTestEndpoint(instances: Record<string, object> = {}) {
  const { app, version } = await anApplication()
  for (const [instance, configuration] of Object.entries(instances)) {
    const envelope = { [instance]: { platform: { applications: { [app]: configuration } } } }
    const answer = await admin(`PUT /api/v1/app-configs/applications/${app}`, envelope)
    assert.equal(answer.status, 204, answer.text)
  }
  const { endpointId, token } = await anEndpoint(version)
  const topic = `kp1/${version}/dcx/${token}`
  return {
    app,
    endpointId,
    topic,
    post: (path: string, body: string) => fetch(`${httpUrl}/${topic}${path}`, { method: 'POST', body }),
    points: () => readPoints(waypost.kit.db.sql, endpointId),
  }
}

test('a sample whose new series exceeds the limit of the application is rejected over MQTT and HTTP, and the error names the series', async () => {
  const { app, topic, post, points } = await aTestEndpoint()
  const sensor = await device()
  await sensor.publish(`${topic}/json/1`, { timestamp: 1, a: 1, b: 1 })
  assert.equal((await sensor.receives(`${topic}/json/1/status`)).text, '')
  const error = {
    statusCode: 400,
    reasonPhrase: `Application ${app} already has 3 values of series, the maximum, and auto~d.value would be a further value; nothing was stored`,
  }
  for (const end of ['', '/2']) {
    await sensor.publish(`${topic}/json${end}`, [
      { timestamp: 2, a: 2 },
      { timestamp: 3, a: 3, c: 3, d: 3 },
    ])
    assert.deepEqual((await sensor.receives(`${topic}/json${end}/error`)).json, error)
  }
  const answer = await post('/json', JSON.stringify({ c: 1, d: 1 }))
  assert.deepEqual([answer.status, await answer.json()], [400, error])
  // Samples of known series are accepted. An MQTT 5 client gets the rejection as the reason code of the acknowledgement.
  const modern = await device({ protocolVersion: 5 })
  await assert.rejects(modern.publish(`${topic}/json`, { c: 1, d: 1 }), { code: 0x99 })
  await modern.publish(`${topic}/json/3`, { timestamp: 4, b: 4 })
  assert.equal((await modern.receives(`${topic}/json/3/status`)).text, '')
  assert.deepEqual(await points(), {
    'auto~a/value': [[1, 1]],
    'auto~b/value': [
      [1, 1],
      [4, 4],
    ],
  })
})

/** Sends `count` messages with the values from 0 to `count` - 1. At most `atOnce` messages are sent at the same time. */
async function sendAll(count: number, atOnce: number, send: (value: number) => Promise<unknown>) {
  let next = 0
  const sender = async () => {
    while (next < count) await send(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
}

test('every acknowledged sample without a timestamp becomes a point, with concurrent messages over MQTT and HTTP', async () => {
  const { app, endpointId, topic, post } = await aTestEndpoint()
  const [first, second] = [await device(), await device()]
  const count = 400
  await Promise.all([
    sendAll(count, 4, (value) => first.publish(`${topic}/json`, { a: value })),
    sendAll(count, 4, (value) => second.publish(`${topic}/json`, [{ b: value }, { b: value + 0.5 }])),
    sendAll(count / 2, 8, async (value) =>
      assert.equal((await post('/json', JSON.stringify({ c: value }))).status, 200),
    ),
  ])
  const read = async (question: string) => {
    const answer = await admin(`GET /epts/api/v1/applications/${app}/time-series/${question}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const series = ['a', 'b', 'c'].map((name) => `auto~${name}`)
  const span = `fromDate=now-1h&toDate=${new Date(Date.now() + 60_000).toISOString()}`
  // biome-ignore lint/suspicious/noExplicitAny: the test reads points of any series
  const parts: any[] = await read(`data?timeSeriesName=${series.join()}&endpointId=${endpointId}&${span}`)
  const points = series.map((name) => parts.flatMap((part) => part[endpointId]?.[name] ?? []))
  assert.deepEqual(
    points.map((own) => own.length),
    [count, 2 * count, count / 2],
  )
  const times = points.flat().map(({ timestamp }) => timestamp)
  assert.equal(new Set(times).size, times.length, 'the samples of the endpoint must have different times')
  const values = points.map((own) => own.map(({ values: { value } }) => value).sort((a: number, b: number) => a - b))
  assert.deepEqual(values[0], [...Array(count).keys()])
  assert.deepEqual(
    values[1],
    [...Array(2 * count).keys()].map((half) => half / 2),
  )
  // The operation `last` returns the newest point of each series.
  const last = await read(`last?endpointId=${endpointId}`)
  for (const [index, name] of series.entries()) assert.deepEqual(last[endpointId][name], [points[index]!.at(-1)])
})

test('metadata becomes series if the application configures it', async () => {
  const values = [{ path: '~ep-metadata.place.floor', name: 'floor', type: 'number' }]
  const { endpointId, post, points } = await aTestEndpoint({
    dcx: { 'metadata-enrichment': { enabled: true } },
    epts: { 'time-series': { names: { place: { values } } } },
  })
  const metadata = async (floor: unknown) =>
    assert.equal((await admin(`PUT /epr/api/v1/endpoints/${endpointId}/metadata`, { place: { floor } })).status, 204)
  await metadata(3)
  assert.equal((await post('/json', '{"timestamp": 1, "t": 20}')).status, 200)
  assert.equal((await post('/plain/level', '5%')).status, 200)
  await metadata(4)
  assert.equal((await post('/json', '[{"timestamp": 2, "t": 21}]')).status, 200)
  const found = await points()
  assert.deepEqual(found['auto~t/value'], [
    [1, 20],
    [2, 21],
  ])
  const [first, second, third] = found['place/floor']!
  assert.deepEqual([first, second, third![1]], [[1, 3], [2, 4], 3])
  // The metadata becomes part of the sample, so invalid metadata makes the platform reject the sample.
  await metadata('third')
  const answer = await post('/json', '{"t": 1}')
  assert.equal(answer.status, 400)
  assert.match(((await answer.json()) as { reasonPhrase: string }).reasonPhrase, /place\.floor: expected a number/)
})

test('an invalid sample is reported with its position, and nothing of its message is stored', async () => {
  const values = [{ path: 'level', type: 'number' }]
  const { topic, points } = await aTestEndpoint({ epts: { 'time-series': { names: { level: { values } } } } })
  const sensor = await device()
  await sensor.publish(`${topic}/json/9`, [
    { timestamp: 1, level: 1 },
    { timestamp: 2, level: 'high' },
  ])
  assert.deepEqual((await sensor.receives(`${topic}/json/9/error`)).json, {
    statusCode: 400,
    reasonPhrase:
      'Sample 2: level: expected a number, found a string (series level); nothing of the message was stored',
  })
  assert.deepEqual(await points(), {})
})

test('with the fallback strategy fail, a sample without a valid timestamp is not stored, and the other samples of its message are stored', async () => {
  const timestamp = { path: 'ts', format: 'millis-unix-epoch', 'fallback-strategy': 'fail' }
  const { post, points } = await aTestEndpoint({ epts: { 'time-series': { timestamp } } })
  for (const samples of [[{ ts: 1, a: 1 }, { a: 2 }, { ts: 3, a: 3 }], { ts: 'soon', a: 4 }])
    assert.equal((await post('/json', JSON.stringify(samples))).status, 200)
  assert.deepEqual(await points(), {
    'auto~a/value': [
      [1, 1],
      [3, 3],
    ],
  })
})
