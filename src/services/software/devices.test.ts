import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openSoftware } from '../../../test/harness/software.ts'
import { RolloutHalted, SoftwareOffered, SoftwareReported } from './events.ts'

const at = await openSoftware()
const { admin, device, waypost, aFleet, sendAsDevice, report, requestVersion } = at
const { sql } = waypost.kit.db

/** Creates a fleet with two software versions: 1.0.0, and its update 2.0.0, which is offered to all endpoints. */
async function aSimpleFleet() {
  const fleet = await aFleet()
  await fleet.release('1.0.0')
  await fleet.release('2.0.0', { upgradableFrom: ['1.0.0'], specification: { board: 'esp32' } })
  return fleet
}

suite('a device that polls', () => {
  test('a device gets its target version until it has applied this version, and then gets {}', async () => {
    const { anEndpoint, read } = await aSimpleFleet()
    const { topic, endpointId } = await anEndpoint()
    assert.deepEqual((await sendAsDevice(topic, '/config/json')).body, {})
    assert.equal((await admin(`GET /otao/api/v1/applications/x/software/endpoints/${endpointId}`)).status, 404)
    await report(topic, '1.0.0')
    assert.equal((await read(`/endpoints/${endpointId}`)).state, 'waiting')
    const offered = await sendAsDevice(topic, '/config/json')
    assert.deepEqual(offered.body, {
      configId: '2.0.0',
      config: { board: 'esp32' },
      statusCode: 200,
      reasonPhrase: 'ok',
    })
    assert.deepEqual((await sendAsDevice(topic, '/config/json', { configId: '2.0.0' })).body, {})
    const { state, offeredVersion, targetVersion, attempts } = await read(`/endpoints/${endpointId}`)
    assert.deepEqual([state, offeredVersion, targetVersion, attempts.length], ['offered', '2.0.0', '2.0.0', 1])
    await requestVersion(topic)
    await report(topic, '2.0.0', { reasonPhrase: 'flashed' })
    assert.equal(await requestVersion(topic), undefined)
    const after = await read(`/endpoints/${endpointId}`)
    assert.deepEqual([after.state, after.currentVersion, after.targetVersion], ['current', '2.0.0', undefined])
    assert.deepEqual([after.lastAppliedStatusCode, after.reasonPhrase], [200, 'flashed'])
    assert.equal(after.attempts.length, 1)
    assert.deepEqual([after.attempts[0].statusCode, after.attempts[0].reasonPhrase], [200, 'flashed'])
  })

  test('a device that polls may name its present version, which is used for this response and not stored', async () => {
    const { anEndpoint, read, release } = await aSimpleFleet()
    const { topic, endpointId } = await anEndpoint()
    assert.equal(await requestVersion(topic, '1.0.0'), '2.0.0')
    assert.equal(await requestVersion(topic), undefined)
    assert.equal(await requestVersion(topic, '7.7.7'), undefined)
    const state = await read(`/endpoints/${endpointId}`)
    assert.deepEqual([state.currentVersion, state.offeredVersion, state.state], [undefined, '2.0.0', 'offered'])
    await release('3.0.0', { upgradableFrom: ['2.0.0'] })
    assert.equal(await requestVersion(topic, '2.0.0'), '3.0.0')
    await report(topic, '1.0.0')
    assert.equal(await requestVersion(topic, '2.0.0'), undefined)
    assert.equal(await requestVersion(topic, '3.0.0'), undefined)
  })

  test('reports of unknown versions and names change nothing', async () => {
    const { anEndpoint, read } = await aSimpleFleet()
    const { topic, endpointId } = await anEndpoint()
    await report(topic, '1.0.0')
    await report(topic, 'some-configuration-id')
    await report(topic, '2.0.0+other')
    assert.equal((await sendAsDevice(topic, '/applied/json/other', { configId: '2.0.0' })).status, 200)
    assert.deepEqual((await sendAsDevice(topic, '/config/json/other')).body, {})
    assert.equal((await read(`/endpoints/${endpointId}`)).currentVersion, '1.0.0')
    const sensor = await device()
    await sensor.publish(`${topic}/applied/json/5`, { configId: 'none' })
    assert.equal((await sensor.receives(`${topic}/applied/json/5/error`)).json.statusCode, 404)
    for (const payload of ['{', '[]', '{}', '{"configId":5}', '{"configId":"1.0.0","statusCode":"x"}']) {
      await sensor.publish(`${topic}/applied/json/6`, payload)
      assert.equal((await sensor.receives(`${topic}/applied/json/6/error`)).json.statusCode, 400, payload)
    }
  })

  test('a device that could not apply its target keeps its version and is offered the target again', async () => {
    const { anEndpoint, read } = await aSimpleFleet()
    const { topic, endpointId } = await anEndpoint()
    await report(topic, '1.0.0')
    await requestVersion(topic)
    await report(topic, '2.0.0', { statusCode: 500, reasonPhrase: 'no space' })
    const failed = await read(`/endpoints/${endpointId}`)
    assert.deepEqual([failed.state, failed.currentVersion, failed.targetVersion], ['failed', '1.0.0', '2.0.0'])
    assert.deepEqual(
      [failed.lastAppliedStatusCode, failed.reasonPhrase, failed.offeredVersion],
      [500, 'no space', undefined],
    )
    assert.equal(await requestVersion(topic), '2.0.0')
    assert.equal((await read(`/endpoints/${endpointId}`)).attempts.length, 2)
    await sql`
      insert into software.attempts (tenant_id, endpoint_id, version, offered_date)
      select 'default', ${endpointId}, '2.0.0', now() from generate_series(1, 105)`
    await report(topic, '2.0.0', { statusCode: 500 })
    await requestVersion(topic)
    assert.equal((await read(`/endpoints/${endpointId}`)).attempts.length, 100)
    const [{ count } = {}] = await sql`select count(*) from software.attempts where endpoint_id = ${endpointId}`
    assert.equal(count, 100)
  })

  test('a device that polls gets the highest version, even a downgrade if it is declared; of versions with equal precedence it gets the version created last', async () => {
    const { anEndpoint, release, put } = await aFleet()
    await release('1.0.0')
    const { topic } = await anEndpoint()
    await report(topic, '1.0.0')
    await release('0.9.0', { upgradableFrom: ['1.0.0'] })
    assert.equal(await requestVersion(topic), '0.9.0')
    await release('1.10.0', { upgradableFrom: ['1.0.0'] })
    await release('1.9.0', { upgradableFrom: ['1.0.0'] })
    assert.equal(await requestVersion(topic), '1.10.0')
    await release('1.10.0+a', { upgradableFrom: ['1.0.0'] })
    assert.equal(await requestVersion(topic), '1.10.0+a')
    await release('1.10.0-rc.1', { upgradableFrom: ['1.0.0'] })
    assert.equal(await requestVersion(topic), '1.10.0+a')
    await put('1.10.0%2Ba', { rolloutStrategy: 'suspended', upgradableFrom: ['1.0.0'] })
    await put('1.10.0', { upgradableFrom: [] })
    assert.equal(await requestVersion(topic), '1.10.0-rc.1')
  })
})

suite('a connected device', () => {
  async function connectedTo(topic: string, settings?: Parameters<typeof device>[0]) {
    const sensor = await device(settings)
    await sensor.publish(`${topic}/applied/json/1`, { configId: '1.0.0' })
    await sensor.receives(`${topic}/applied/json/1/status`)
    return sensor
  }

  test('the platform pushes a new target version once, and again when the device reconnects', async () => {
    const { anEndpoint, release, put, read } = await aFleet()
    await release('1.0.0')
    const { topic, endpointId } = await anEndpoint()
    const sensor = await connectedTo(topic)
    await release('2.0.0', { upgradableFrom: ['1.0.0'], specification: { a: 1 } })
    const { json } = await sensor.receives(`${topic}/config/json/status`)
    assert.deepEqual(json, { configId: '2.0.0', config: { a: 1 }, statusCode: 200, reasonPhrase: 'ok' })
    assert.equal((await read(`/endpoints/${endpointId}`)).state, 'offered')
    await put('2.0.0', { upgradableFrom: ['1.0.0'], metadata: 1 })
    await release('0.1.0')
    await sensor.receivesNothing()
    await sensor.end()
    const again = await device()
    await again.publish(`${topic}/config/json`, { observe: true })
    const pushes = [
      await again.receives(`${topic}/config/json/status`),
      await again.receives(`${topic}/config/json/status`),
    ]
    assert.deepEqual(
      pushes.map(({ json: { configId } }) => configId),
      ['2.0.0', '2.0.0'],
    )
    assert.equal((await read(`/endpoints/${endpointId}`)).attempts.length, 1)
  })

  test('a connected device gets a push of the next version after it has reported the previous version', async () => {
    const { anEndpoint, release } = await aFleet()
    await release('1.0.0')
    await release('2.0.0', { upgradableFrom: ['1.0.0'] })
    await release('3.0.0', { upgradableFrom: ['2.0.0'] })
    const { topic } = await anEndpoint()
    const sensor = await device({ protocolVersion: 5 })
    await sensor.publish(`${topic}/applied/json/1`, { configId: '1.0.0' })
    for (const version of ['2.0.0', '3.0.0']) {
      assert.equal((await sensor.receives(`${topic}/config/json/status`)).json.configId, version)
      await sensor.publish(`${topic}/applied/json/2`, { configId: version })
      await sensor.receives(`${topic}/applied/json/2/status`)
    }
    await sensor.publish(`${topic}/config/json/7`)
    assert.deepEqual((await sensor.receives(`${topic}/config/json/7/status`)).json, {})
  })

  test('a device that got a version while it connected does not get the same version in the push on connect', async () => {
    const { anEndpoint, release, version } = await aFleet()
    await release('1.0.0')
    // Eight endpoints occupy all slots for pushes on connect, so the ninth endpoint gets the push of the change before its push on connect.
    const endpoints = await Promise.all(Array.from({ length: 9 }, () => anEndpoint()))
    const { topic, endpointId: last } = endpoints.at(-1)!
    await report(topic, '1.0.0')
    const isBlocked = Promise.withResolvers<never[]>()
    const connected: string[] = []
    const { connected: original } = at.test
    at.test.connected = ({ endpointId }) => {
      connected.push(endpointId)
      return endpointId === last ? Promise.resolve([]) : isBlocked.promise
    }
    try {
      const sensor = await device()
      for (const { token } of endpoints.slice(0, -1)) await sensor.publish(`kp1/${version}/test/${token}/json`, '1')
      await eventually(() => assert.equal(connected.length, 8))
      await sensor.publish(`kp1/${version}/test/${endpoints.at(-1)!.token}/json`, '1')
      await release('2.0.0', { upgradableFrom: ['1.0.0'] })
      assert.equal((await sensor.receives(`${topic}/config/json/status`)).json.configId, '2.0.0')
      isBlocked.resolve([])
      await eventually(() => assert.equal(connected.at(-1), last))
      await sensor.receivesNothing()
      await sensor.end()
    } finally {
      isBlocked.resolve([])
      at.test.connected = original!
    }
  })

  test('a device that has stopped pushes gets no push, and no offer is recorded', async () => {
    const { anEndpoint, release, read } = await aFleet()
    await release('1.0.0')
    const { topic, endpointId } = await anEndpoint()
    const sensor = await connectedTo(topic)
    await sensor.publish(`${topic}/config/json/3`, { observe: false })
    await sensor.receives(`${topic}/config/json/3/status`)
    await release('2.0.0', { upgradableFrom: ['1.0.0'] })
    await sensor.receivesNothing(300)
    await eventually(async () => {
      const { state, attempts } = await read(`/endpoints/${endpointId}`)
      assert.deepEqual([state, attempts.length], ['waiting', 0])
    })
    await sensor.publish(`${topic}/config/json/4`, { observe: true })
    assert.equal((await sensor.receives(`${topic}/config/json/4/status`)).json.configId, '2.0.0')
  })

  test('the pushes to a connected device depend on pause, resume, suspension and failures of the rollout', async () => {
    const { anEndpoint, release, post, put, read } = await aFleet()
    await release('1.0.0')
    const { topic, endpointId } = await anEndpoint()
    const sensor = await connectedTo(topic)
    await release('2.0.0', { rolloutStrategy: 'suspended', upgradableFrom: ['1.0.0'] })
    await post('/2.0.0/pause')
    await post('/2.0.0/pause')
    await put('2.0.0', { upgradableFrom: ['1.0.0'] })
    await sensor.receivesNothing()
    assert.equal(await requestVersion(topic), undefined)
    const paused = await read('/2.0.0/rollout')
    assert.deepEqual(paused, {
      rolloutState: 'paused',
      counts: { waiting: 1, offered: 0, applied: 0, failed: 0 },
      warnings: [],
    })
    assert.equal((await read(`/endpoints/${endpointId}`)).targetVersion, undefined)
    await post('/2.0.0/resume')
    await sensor.receives(`${topic}/config/json/status`)
    assert.deepEqual((await read('/2.0.0/rollout')).counts, { waiting: 0, offered: 1, applied: 0, failed: 0 })
    await sensor.publish(`${topic}/applied/json/2`, { configId: '2.0.0', statusCode: 400 })
    await sensor.receives(`${topic}/applied/json/2/status`)
    assert.deepEqual((await read('/2.0.0/rollout')).counts, { waiting: 0, offered: 0, applied: 0, failed: 1 })
    await put('2.0.0', { upgradableFrom: ['1.0.0'] })
    await sensor.receivesNothing()
    await post('/2.0.0/pause')
    await post('/2.0.0/resume')
    assert.equal((await sensor.receives(`${topic}/config/json/status`)).json.configId, '2.0.0')
    await sensor.publish(`${topic}/applied/json/4`, { configId: '2.0.0', statusCode: 500 })
    await sensor.receives(`${topic}/applied/json/4/status`)
    // A resume restarts the counts, even if the rollout is active.
    await post('/2.0.0/resume')
    assert.equal((await sensor.receives(`${topic}/config/json/status`)).json.configId, '2.0.0')
    await sensor.publish(`${topic}/applied/json/3`, { configId: '2.0.0' })
    await sensor.receives(`${topic}/applied/json/3/status`)
    assert.deepEqual((await read('/2.0.0/rollout')).counts, { waiting: 0, offered: 0, applied: 1, failed: 0 })
  })

  test('a retry, of one endpoint or of all, pushes a version again that a connected device could not apply', async () => {
    const { anEndpoint, release, read, software } = await aFleet()
    await release('1.0.0')
    const { topic, endpointId } = await anEndpoint()
    const sensor = await connectedTo(topic)
    await release('2.0.0', { upgradableFrom: ['1.0.0'] })
    await sensor.receives(`${topic}/config/json/status`)
    const failedEndpointIds = async () =>
      (await read('/endpoints?failedVersion=2.0.0')).map((one: { endpointId: string }) => one.endpointId)
    const bodies = [{ endpointIds: [endpointId, 'unknown'] }, {}]
    for (const [index, body] of bodies.entries()) {
      await sensor.publish(`${topic}/applied/json/${index}`, {
        configId: '2.0.0',
        statusCode: 507,
        reasonPhrase: 'full',
      })
      await sensor.receives(`${topic}/applied/json/${index}/status`)
      assert.deepEqual(await failedEndpointIds(), [endpointId])
      assert.equal((await read(`/endpoints/${endpointId}`)).failedVersion, '2.0.0')
      const { body: answer } = await admin(`POST ${software}/2.0.0/retry`, body)
      assert.deepEqual(answer, { endpointsCount: 1 })
      assert.equal((await sensor.receives(`${topic}/config/json/status`)).json.configId, '2.0.0')
      assert.deepEqual(await failedEndpointIds(), [])
    }
    assert.deepEqual((await admin(`POST ${software}/2.0.0/retry`, {})).body, { endpointsCount: 0 })
    assert.equal((await admin(`POST ${software}/3.0.0/retry`, {})).status, 404)
    for (const endpointIds of [[], 'all', [1]])
      assert.equal((await admin(`POST ${software}/2.0.0/retry`, { endpointIds })).status, 400)
  })

  test('a connected device gets a push of a version at its rolloutDate', async () => {
    const { anEndpoint, release, aFilter } = await aFleet()
    await release('1.0.0')
    const { topic } = await anEndpoint({ group: 'canary' })
    const sensor = await connectedTo(topic)
    const filterId = await aFilter({ 'metadata.group': 'canary' })
    const due = Math.ceil(Date.now() / 1000 + 1) * 1000
    const rolloutDate = `${new Date(due).toISOString().slice(0, 19)}Z`
    await release('2.0.0', {
      rolloutStrategy: 'targeted',
      upgradableFrom: ['1.0.0'],
      filters: [{ filterId, rolloutDate }],
    })
    assert.equal(await requestVersion(topic), undefined)
    await sensor.receives(`${topic}/config/json/status`, due + 10_000 - Date.now())
    assert.ok(Date.now() >= due)
  })

  test('a device gets a version when it begins to match a filter, and no longer when it ceases to match', async () => {
    const { anEndpoint, release, aFilter, app } = await aFleet()
    await release('1.0.0')
    const { topic, endpointId } = await anEndpoint()
    const sensor = await connectedTo(topic)
    const filterId = await aFilter({ 'metadata.group': 'canary' })
    await release('2.0.0', { rolloutStrategy: 'targeted', upgradableFrom: ['1.0.0'], filters: [{ filterId }] })
    await sensor.receivesNothing()
    const group = (value: string) => admin(`PUT /epr/api/v1/endpoints/${endpointId}/metadata`, { group: value })
    assert.ok((await group('canary')).status < 300)
    assert.equal((await sensor.receives(`${topic}/config/json/status`)).json.configId, '2.0.0')
    await group('none')
    await eventually(async () => assert.equal(await requestVersion(topic), undefined))
    const filter = `/epr/api/v1/applications/${app}/filters/${filterId}`
    assert.equal((await admin(`PATCH ${filter}`, { documentQuery: { 'metadata.group': 'none' } })).status, 200)
    await eventually(async () => assert.equal(await requestVersion(topic), '2.0.0'))
    assert.equal((await admin(`DELETE ${filter}`)).status, 204)
    await eventually(async () => assert.equal(await requestVersion(topic), undefined))
  })
})

suite('a rollout', () => {
  test('a rollout halts at its failure threshold, counts each endpoint once and starts again when it is resumed', async () => {
    const { anEndpoint, release, read, post } = await aFleet()
    const halts: unknown[] = []
    waypost.kit.bus.subscribe(RolloutHalted, (event) => void halts.push(event))
    await release('1.0.0')
    await release('2.0.0', { upgradableFrom: ['1.0.0'], failureThreshold: { percent: 50, minimumAttempts: 4 } })
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => anEndpoint()))
    for (const { topic } of endpoints) await report(topic, '1.0.0')
    const fail = (n: number) => report(endpoints[n]!.topic, '2.0.0', { statusCode: 500 })
    const pass = (n: number) => report(endpoints[n]!.topic, '2.0.0')
    const state = async () => (await read('/2.0.0')).rolloutState
    await fail(0)
    await fail(0)
    await fail(0)
    await fail(0)
    await fail(1)
    await pass(2)
    assert.equal(await state(), 'active')
    await pass(3)
    assert.equal(await state(), 'halted')
    assert.match((await read('/2.0.0/rollout')).reason, /2 of the 4 endpoints/)
    assert.equal(halts.length, 1)
    assert.equal(await requestVersion(endpoints[4]!.topic), undefined)
    await post('/2.0.0/resume')
    assert.equal((await read('/2.0.0/rollout')).reason, undefined)
    assert.equal(await requestVersion(endpoints[4]!.topic), '2.0.0')
    await fail(0)
    await pass(0)
    await Promise.all([pass(1), pass(4), fail(5)])
    assert.equal(await state(), 'active')
    const { counts } = await read('/2.0.0/rollout')
    assert.deepEqual(counts, { waiting: 0, offered: 0, applied: 5, failed: 1 })
  })

  test('all reports are counted if they arrive at the same time', async () => {
    const { anEndpoint, release, read } = await aFleet()
    await release('1.0.0')
    await release('2.0.0', { upgradableFrom: ['1.0.0'], failureThreshold: { percent: 100, minimumAttempts: 12 } })
    const endpoints = await Promise.all(Array.from({ length: 12 }, () => anEndpoint()))
    await Promise.all(endpoints.map(({ topic }) => report(topic, '2.0.0', { statusCode: 500 })))
    assert.equal((await read('/2.0.0')).rolloutState, 'halted')
  })

  test('a preview shows which endpoints another strategy would update, and lists of endpoints can be filtered', async () => {
    const { anEndpoint, release, read, aFilter, software } = await aFleet()
    await release('1.0.0')
    await release('1.1.0')
    const filterId = await aFilter({ 'metadata.group': 'canary' })
    const endpoints = []
    for (let n = 0; n < 7; n++) {
      const one = await anEndpoint(n % 2 === 0 ? { group: 'canary' } : {})
      await report(one.topic, n < 4 ? '1.0.0' : '1.1.0')
      endpoints.push(one.endpointId)
    }
    await release('2.0.0', {
      rolloutStrategy: 'suspended',
      upgradableFrom: ['1.0.0', '1.1.0'],
      filters: [{ filterId }],
    })
    const preview = (strategy: string) => read(`/2.0.0/preview${strategy}`)
    assert.deepEqual(await preview(''), { endpointsCount: 0, byCurrentVersion: {}, sample: [] })
    assert.deepEqual(await preview('?rolloutStrategy=general'), {
      endpointsCount: 7,
      byCurrentVersion: { '1.0.0': 4, '1.1.0': 3 },
      sample: endpoints.toSorted(),
    })
    assert.deepEqual(await preview('?rolloutStrategy=targeted'), {
      endpointsCount: 4,
      byCurrentVersion: { '1.0.0': 2, '1.1.0': 2 },
      sample: endpoints.filter((_, n) => n % 2 === 0).toSorted(),
    })
    assert.deepEqual((await read('/2.0.0/rollout')).counts, { waiting: 0, offered: 0, applied: 0, failed: 0 })
    const list = await admin(`GET ${software}/endpoints?version=1.1.0&limit=2`)
    assert.deepEqual([list.body.length, list.headers['x-total-count']], [2, '3'])
    for (const [query, count] of [
      ['', 7],
      ['?limit=0', 7],
      ['?offset=5', 2],
      ['?state=current', 7],
      ['?state=waiting', 0],
      ['?targetVersion=2.0.0', 0],
      ['?version=9.9.9', 0],
      [`?endpointId=${endpoints[0]},${endpoints[1]},none`, 2],
    ] as const)
      assert.equal((await read(`/endpoints${query}`)).length, count, query)
  })

  test('offers and reports of a rollout are published as events', async () => {
    const { anEndpoint, app } = await aSimpleFleet()
    const events: object[] = []
    waypost.kit.bus.subscribe(SoftwareOffered, (event) => void events.push(event))
    waypost.kit.bus.subscribe(SoftwareReported, (event) => void events.push(event))
    const { topic, endpointId } = await anEndpoint()
    await report(topic, '1.0.0')
    await requestVersion(topic)
    const application = { tenantId: 'default', applicationName: app }
    const [{ reportedDate, ...first }, { offeredDate, ...second }] = events as [
      Record<string, unknown>,
      Record<string, unknown>,
    ]
    assert.deepEqual(first, { ...application, endpointId, version: '1.0.0', statusCode: 200 })
    assert.deepEqual(second, { ...application, version: '2.0.0', endpointIds: [endpointId] })
    assert.ok(reportedDate && offeredDate)
  })
})

test('the software state of an endpoint is deleted with it, even if a node whose clock is ahead stored it', async () => {
  const { anEndpoint, read } = await aSimpleFleet()
  const { topic, endpointId } = await anEndpoint()
  await report(topic, '1.0.0')
  await requestVersion(topic)
  assert.equal((await read('/endpoints')).length, 1)
  const dates = { endpoints: 'updated_date', attempts: 'offered_date', reports: 'reported_date' }
  for (const [table, date] of Object.entries(dates))
    await sql`
      update ${sql.unsafe(`software.${table}`)} set ${sql.unsafe(date)} = ${sql.unsafe(date)} + interval '1 hour'
      where endpoint_id = ${endpointId}`
  assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
  await eventually(async () => {
    for (const table of ['endpoints', 'attempts', 'reports'])
      assert.equal(
        (await sql`select from ${sql.unsafe(`software.${table}`)} where endpoint_id = ${endpointId}`).length,
        0,
      )
  })
})
