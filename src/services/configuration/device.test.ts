/** Tests the extension cmx over real MQTT and HTTP: requests, pushes, reports and statuses. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { asPushed, ecr, openConfiguration } from '../../../test/harness/configuration.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { ConfigurationApplied, ConfigurationUpdated } from './events.ts'

const {
  waypost,
  test: extension,
  admin,
  ok,
  aTestEndpoint,
  testEndpoint,
  anApplication,
  anEndpoint,
  device,
  statusesOf,
  eventuallyStatuses,
} = await openConfiguration()
const none = { configId: '', config: null, statusCode: 200, reasonPhrase: 'ok' }
const status = '/config/json/status'

suite('a device requests its configuration', () => {
  test('a device that requests its configuration gets the configuration of its endpoint, otherwise the default, otherwise an empty configuration', async () => {
    const { defaults, put, post, path } = await aTestEndpoint()
    assert.deepEqual(await post('/config/json'), { status: 200, body: none })
    const common = await ok(`PUT ${defaults}`, { common: true })
    assert.deepEqual((await post('/config/json/7')).body, asPushed(common))
    const configuration = await put({ own: true })
    assert.deepEqual((await post('/config/json', { configId: common.configId })).body, asPushed(configuration))
    assert.deepEqual((await post('/config/json', { configId: configuration.configId })).body, {})
    await admin(`DELETE ${path}`)
    assert.deepEqual((await post('/config/json/default')).body, asPushed(common))
    assert.deepEqual((await post('/config/json/night')).body, none)
    const night = await put([1], '?name=night')
    assert.deepEqual((await post('/config/json/night')).body, asPushed(night))
  })

  test('a device requests its configuration over MQTT with and without a request id, in both versions of the protocol', async () => {
    for (const protocolVersion of [4, 5] as const) {
      const { put, topic } = await aTestEndpoint()
      const config = await put({ interval: 5 })
      const sensor = await device({ protocolVersion })
      await sensor.publish(topic('/config/json/0'))
      assert.deepEqual((await sensor.receives(topic('/config/json/0/status'))).json, asPushed(config))
      // The configuration is also pushed on connect.
      assert.deepEqual((await sensor.receives(topic(status))).json, asPushed(config))
      await sensor.publish(topic('/config/json'), { configId: config.configId })
      assert.deepEqual((await sensor.receives(topic(status))).json, {})
      await sensor.end()
    }
  })

  test('a message with a wrong payload, name or path gets an error on the error topic', async () => {
    const { topic, post } = await aTestEndpoint()
    const sensor = await device()
    const bad: [path: string, payload: string, status: number][] = [
      ['/config/json', '{', 400],
      ['/config/json', '[]', 400],
      ['/config/json', '{"configId":5}', 400],
      ['/config/json', '{"observe":"yes"}', 400],
      ['/config/json/a.b', '{}', 400],
      ['/config/xml', '{}', 404],
      ['/applied/json', '{}', 400],
      ['/applied/json', '', 400],
      ['/applied/json', '{"configId":"x","statusCode":"200"}', 400],
      ['/applied/json', '{"configId":"x","statusCode":1.5}', 400],
      ['/applied/json', `{"configId":"x","reasonPhrase":"${'x'.repeat(4097)}"}`, 400],
    ]
    for (const [path, payload, code] of bad) {
      await sensor.publish(topic(path), payload)
      assert.equal((await sensor.receives(topic(`${path}/error`))).json.statusCode, code, `${path} ${payload}`)
      assert.equal((await post(path, payload)).status, code, `${path} ${payload}`)
    }
  })
})

suite('a connected device gets a push', () => {
  test('a connected device gets a push when its effective configuration changes, and no push when its last configuration is deleted', async () => {
    const { connect, topic, put, path, defaults } = await aTestEndpoint()
    const sensor = await device()
    await connect(sensor)
    const pushed = async () => (await sensor.receives(topic(status))).json
    const common = await ok(`PUT ${defaults}`, { n: 1 })
    assert.deepEqual(await pushed(), asPushed(common))
    const configuration = await put({ n: 2 })
    assert.deepEqual(await pushed(), asPushed(configuration))
    await put({ n: 2 })
    await ok(`PUT ${defaults}`, { n: 3 })
    await sensor.receivesNothing()
    await admin(`DELETE ${path}`)
    assert.deepEqual((await pushed()).config, { n: 3 })
    await admin(`DELETE ${defaults}`)
    await sensor.receivesNothing()
    const night = await put('"at night"', '?name=night')
    assert.deepEqual((await sensor.receives(topic('/config/json/night/status'))).json, asPushed(night))
  })

  test('a connected device gets a push when the endpoint moves to another version, with the configurations of that version', async () => {
    const { app, version } = await anApplication(['v1', 'v2'])
    const endpoint = await anEndpoint(version)
    const one = testEndpoint({ app, version, ...endpoint })
    const two = testEndpoint({ app, version: `${app}-v2`, ...endpoint })
    await two.put({ version: 2 })
    const sensor = await device()
    await one.connect(sensor)
    await sensor.receivesNothing()
    const moved = await admin(`PUT /epr/api/v1/endpoints/${endpoint.endpointId}/app-version`, { name: two.version })
    assert.equal(moved.status, 204, moved.text)
    assert.deepEqual((await sensor.receives(two.topic(status))).json.config, { version: 2 })
    await sensor.receivesNothing()
    await one.put({ version: 1 })
    await sensor.receivesNothing()
  })

  test('when a connected device moves to another version and back, it gets a configuration again that it had applied before', async () => {
    const { app, version } = await anApplication(['v1', 'v2'])
    const endpoint = await anEndpoint(version)
    const one = testEndpoint({ app, version, ...endpoint })
    const two = testEndpoint({ app, version: `${app}-v2`, ...endpoint })
    const { configId } = await one.put({ version: 1 })
    const both = await ok(`PUT ${ecr}/endpoints/batch?name=both`, {
      configPayload: 1,
      endpoints: { [one.version]: [endpoint.endpointId], [two.version]: [endpoint.endpointId] },
    })
    await two.put({ version: 2 })
    await one.post('/applied/json', { configId })
    await one.post('/applied/json/both', { configId: both.configId })
    const sensor = await device()
    await one.connect(sensor)
    const move = (name: string) => admin(`PUT /epr/api/v1/endpoints/${endpoint.endpointId}/app-version`, { name })
    await move(two.version)
    assert.deepEqual((await sensor.receives(two.topic(status))).json.config, { version: 2 })
    await move(one.version)
    assert.equal((await sensor.receives(one.topic(status))).json.configId, configId)
    await sensor.receivesNothing()
  })

  test('a device gets a push at each connect until it has applied the configuration, even after it has reported a failure', async () => {
    const { connect, topic, put } = await aTestEndpoint()
    const { configId } = await put({ n: 1 })
    const connected = async () => {
      const sensor = await device()
      await connect(sensor)
      return sensor
    }
    for (const statusCode of [undefined, 500, 404]) {
      const sensor = await connected()
      assert.equal((await sensor.receives(topic(status))).json.configId, configId)
      if (statusCode) await sensor.publish(topic('/applied/json'), { configId, statusCode, reasonPhrase: 'no' })
      await sensor.end()
    }
    const sensor = await connected()
    await sensor.receives(topic(status))
    await sensor.publish(topic('/applied/json/1'), { configId })
    assert.equal((await sensor.receives(topic('/applied/json/1/status'))).text, '')
    await sensor.end()
    const last = await connected()
    await last.receivesNothing()
    await last.end()
  })

  test('a device that got a configuration while it connected does not get the same configuration in the push on connect', async () => {
    const { app, version } = await anApplication()
    // Eight endpoints occupy all slots for pushes on connect, so the ninth endpoint gets the push of the write before its push on connect.
    const endpoints = await Promise.all(Array.from({ length: 9 }, () => anEndpoint(version)))
    const last = testEndpoint({ app, version, ...endpoints.at(-1)! })
    const isBlocked = Promise.withResolvers<never[]>()
    const connected: string[] = []
    const { connected: original } = extension
    extension.connected = ({ endpointId }) => {
      connected.push(endpointId)
      return endpointId === last.endpointId ? Promise.resolve([]) : isBlocked.promise
    }
    try {
      const sensor = await device()
      for (const endpoint of endpoints.slice(0, -1)) await testEndpoint({ app, version, ...endpoint }).connect(sensor)
      await eventually(() => assert.equal(connected.length, 8))
      await last.connect(sensor)
      const { configId } = await last.put({ n: 1 })
      assert.equal((await sensor.receives(last.topic(status))).json.configId, configId)
      isBlocked.resolve([])
      await eventually(() => assert.equal(connected.at(-1), last.endpointId))
      await sensor.receivesNothing()
      await sensor.end()
    } finally {
      isBlocked.resolve([])
      extension.connected = original!
    }
  })

  test('a connected device gets no push of a configuration name whose pushes it has stopped', async () => {
    const { connect, topic, put } = await aTestEndpoint()
    const sensor = await device()
    await connect(sensor)
    await sensor.publish(topic('/config/json/1'), { observe: false })
    await sensor.receives(topic('/config/json/1/status'))
    await put({ n: 1 })
    const night = await put({ n: 2 }, '?name=night')
    assert.deepEqual((await sensor.receives(topic('/config/json/night/status'))).json, asPushed(night))
    await sensor.receivesNothing()
    await sensor.publish(topic('/config/json/2'), { observe: true })
    assert.deepEqual((await sensor.receives(topic('/config/json/2/status'))).json.config, { n: 1 })
    await put({ n: 3 })
    assert.deepEqual((await sensor.receives(topic(status))).json.config, { n: 3 })
  })

  test('after many quick writes, the last push to a connected device has the last configuration', async () => {
    const { connect, topic, put } = await aTestEndpoint()
    const sensor = await device()
    await connect(sensor)
    await Promise.all(Array.from({ length: 20 }, (_, n) => put({ n })))
    const last = await put({ n: 'last' })
    await eventually(() => assert.equal(sensor.received.at(-1)?.json.configId, last.configId))
    await new Promise((resolve) => setTimeout(resolve, 150))
    assert.equal(sensor.received.at(-1)?.json.configId, last.configId)
    assert.ok(sensor.received.every((message) => message.topic === topic(status)))
  })
})

suite('statuses', () => {
  test('statuses change from PENDING to DISPATCHED, then to APPLIED or FAILED; a later report replaces an earlier report', async () => {
    const { endpointId, version, connect, put, post, topic } = await aTestEndpoint()
    const config = await put({ n: 1 })
    const query = `endpointId=${endpointId}`
    assert.deepEqual(await statusesOf(query), [
      {
        configId: config.configId,
        endpointId,
        appVersionName: version,
        name: 'default',
        status: 'PENDING',
        config: config.config,
      },
    ])
    const sensor = await device()
    await connect(sensor)
    await sensor.receives(topic(status))
    await eventuallyStatuses(query, ['DISPATCHED'])
    const [dispatched] = await statusesOf(query)
    assert.ok(dispatched.lastDispatchedDate && !('lastConfirmedDate' in dispatched))
    const { configId } = config
    assert.equal((await post('/applied/json', { configId, statusCode: 503, reasonPhrase: 'busy' })).status, 200)
    const [failed] = await statusesOf(query)
    assert.deepEqual(
      [failed.status, failed.confirmationStatusCode, failed.confirmationReasonPhrase],
      ['FAILED', 503, 'busy'],
    )
    assert.equal((await post('/applied/json', { configId, statusCode: 204 })).status, 200)
    const [applied] = await statusesOf(query)
    assert.deepEqual([applied.status, applied.confirmationStatusCode], ['APPLIED', 204])
    assert.ok(applied.lastConfirmedDate && !('confirmationReasonPhrase' in applied))
  })

  test('a configuration that was sent in a response has the status DISPATCHED', async () => {
    const { endpointId, put, post } = await aTestEndpoint()
    await put(1)
    await post('/config/json')
    assert.deepEqual(
      (await statusesOf(`endpointId=${endpointId}`)).map((one: { status: string }) => one.status),
      ['DISPATCHED'],
    )
  })

  test('a report on a configuration that the endpoint never had gets 404 if it has a request id, and is otherwise ignored', async () => {
    const { topic, post, put, endpointId } = await aTestEndpoint()
    const otherEndpoint = await aTestEndpoint()
    const theirs = await otherEndpoint.put({ theirs: true })
    const replaced = await put(1)
    await put(2)
    const sensor = await device()
    for (const configId of ['x', '', theirs.configId, replaced.configId]) {
      assert.equal(
        (await post('/applied/json', { configId })).status,
        200,
        'a request without a request id must be accepted over HTTP',
      )
      await sensor.publish(topic('/applied/json/5'), { configId })
      const { json } = await sensor.receives(topic('/applied/json/5/error'))
      assert.deepEqual([json.statusCode], [404])
    }
    assert.deepEqual(await statusesOf(`endpointId=${endpointId}&status=APPLIED`), [])
    assert.deepEqual(await statusesOf(`endpointId=${otherEndpoint.endpointId}&status=APPLIED`), [])
  })

  test('the statuses of earlier configurations that were sent are kept, at most 20 for each endpoint, version and name', async () => {
    const { endpointId, path, defaults, put, post } = await aTestEndpoint()
    const common = await ok(`PUT ${defaults}`, { n: -1 })
    await post('/config/json')
    await put('"never sent"')
    for (let n = 0; n < 22; n++) {
      const { configId } = await put({ n })
      await post('/config/json')
      if (n % 2 === 1) await post('/applied/json', { configId })
    }
    const found = await statusesOf(`endpointId=${endpointId}&size=100`)
    // The record of the default is kept, because the default may become effective again.
    assert.deepEqual(
      found.map(({ config }: { config: string }) => JSON.parse(config).n),
      [...Array.from({ length: 19 }, (_, index) => 21 - index), -1],
    )
    assert.deepEqual([found[0].status, found[1].status], ['APPLIED', 'DISPATCHED'])
    // A report on an earlier configuration is still accepted.
    assert.equal((await post('/applied/json/1', { configId: found[2].configId, statusCode: 500 })).status, 200)
    assert.equal((await statusesOf(`configId=${found[2].configId}`))[0].status, 'FAILED')
    await admin(`DELETE ${path}`)
    assert.equal((await statusesOf(`configId=${common.configId}`))[0].status, 'DISPATCHED')
  })

  test('statuses of defaults and of deleted configurations are kept up to the same limit', async () => {
    const { endpointId, path, defaults, put, post } = await aTestEndpoint()
    for (let n = 0; n < 21; n++) {
      await ok(`PUT ${defaults}`, { n })
      await post('/config/json')
      await put({ n }, '?name=deleted')
      await post('/config/json/deleted')
      await admin(`DELETE ${path}?name=deleted`)
    }
    // The twentieth record belongs to a default that was not sent yet.
    await ok(`PUT ${defaults}`, { n: 21 })
    const numbersOf = async (name: string) =>
      (await statusesOf(`endpointId=${endpointId}&name=${name}&size=100`)).map(
        ({ config }: { config: string }) => JSON.parse(config).n,
      )
    const newest = Array.from({ length: 19 }, (_, index) => 20 - index)
    assert.deepEqual(await numbersOf('deleted'), newest)
    assert.deepEqual(await numbersOf('default'), [21, ...newest])
  })

  test('a report with the status code null counts as a report without a status code', async () => {
    const { put, post } = await aTestEndpoint()
    const { configId } = await put(1)
    const report = { configId, statusCode: null, reasonPhrase: null }
    assert.equal((await post('/applied/json', report)).status, 200)
    const [{ status: reported, confirmationStatusCode }] = await statusesOf(`configId=${configId}`)
    assert.deepEqual([reported, confirmationStatusCode], ['APPLIED', 200])
    for (const statusCode of ['200', 2.5, true, 2 ** 31])
      assert.equal((await post('/applied/json', { configId, statusCode })).status, 400, String(statusCode))
  })

  test('a default has a status for every endpoint of the version, and the counts of the statuses add up', async () => {
    const { version, app, defaults, ...first } = await aTestEndpoint()
    const others = [await anEndpoint(version), await anEndpoint(version), await anEndpoint(version)]
    const own = testEndpoint({ app, version, ...others[0]! })
    await own.put('"own"')
    const { configId } = await ok(`PUT ${defaults}`, { common: 1 })
    const query = `configId=${configId}`
    await eventuallyStatuses(query, ['PENDING', 'PENDING', 'PENDING'])
    await first.post('/config/json')
    await testEndpoint({ app, version, ...others[1]! }).post('/applied/json/1', { configId })
    const page = await ok(`GET ${ecr}/statuses?${query}`)
    assert.equal(page.totalElements, 3)
    const statuses = page.content.map((one: { status: string }) => one.status)
    assert.deepEqual(statuses.toSorted(), ['APPLIED', 'DISPATCHED', 'PENDING'])
    for (const one of ['APPLIED', 'DISPATCHED', 'PENDING'])
      assert.equal((await statusesOf(`${query}&status=${one}`)).length, 1)
    // This endpoint has its own configuration and never got the default.
    assert.equal((await own.post('/applied/json/1', { configId })).status, 200)
    assert.equal((await statusesOf(query)).length, 3)
    const next = await ok(`PUT ${defaults}`, { common: 2 })
    await eventuallyStatuses(`configId=${next.configId}`, ['PENDING', 'PENDING', 'PENDING'])
    assert.equal((await statusesOf(query)).length, 2)
  })
})

test('events are published for written and for applied configurations; one event can contain several reports', async () => {
  const updated: unknown[] = []
  const applied: unknown[] = []
  waypost.kit.bus.subscribe(ConfigurationUpdated, (payload) => void updated.push(payload))
  waypost.kit.bus.subscribe(ConfigurationApplied, (payload) => void applied.push(payload))
  const { endpointId, version, put, post, path, defaults } = await aTestEndpoint()
  const { configId } = await put({ n: 1 })
  await put({ n: 1 })
  await post('/applied/json', { configId, reasonPhrase: 'done' })
  await admin(`DELETE ${path}`)
  const common = await ok(`PUT ${defaults}`, 1)
  const key = { tenantId: 'default', versionName: version, name: 'default' }
  assert.deepEqual(updated, [
    { ...key, configId, endpointIds: [endpointId] },
    { ...key, endpointIds: [endpointId] },
    { ...key, configId: common.configId },
  ])
  const report = { endpointId, versionName: version, name: 'default', configId, statusCode: 200, reasonPhrase: 'done' }
  assert.deepEqual(applied, [{ tenantId: 'default', reports: [report] }])
})
