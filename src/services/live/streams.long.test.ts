import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { openEventSource } from '../../../test/harness/event-source.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openStreams } from '../../../test/harness/live-streams.ts'
import { startUndisturbedTime } from '../../../test/harness/undisturbed-time.ts'
import { Identity } from '../../identity/contract.ts'
import { newId } from '../../kernel/ids.ts'
import { TrafficLog } from '../traffic-log/contract.ts'
import { queuedBytesMax } from './queue.ts'

const live = await openStreams({
  environment: {
    WAYPOST_LIVE_STREAMS: '14',
    WAYPOST_LIVE_STREAMS_PER_TENANT: '12',
    WAYPOST_LIVE_STREAMS_PER_CALLER: '3',
  },
})
const { waypost, stream, change, aReplaceableCaller, httpUrl, device, other } = live
const trafficLog = waypost.ask(TrafficLog)

/** Creates an application with an endpoint that can send samples. */
async function anEndpoint(ask?: typeof other) {
  const { app, version, endpointId, token } = await live.aProvisionedEndpoint(ask)
  return { app, version, endpointId, token, prefix: `kp1/${version}/dcx/${token}/json` }
}

/** Sends samples over HTTP, as a device does. */
async function send({ version, token }: { version: string; token: string }, ...samples: object[]) {
  const url = `${httpUrl}/kp1/${version}/dcx/${token}/json`
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(samples) })
  assert.equal(answer.status, 200, await answer.text())
}

/** Writes a record of the traffic log, as the gateway does. */
const record = ({ app, version, endpointId }: { app: string; version: string; endpointId: string }, payload: string) =>
  trafficLog.record({
    correlationId: newId(),
    direction: 'INBOUND',
    tenantId: 'default',
    applicationName: app,
    versionName: version,
    endpointId,
    extension: 'dcx',
    resourcePath: '/json',
    payload: Buffer.from(payload),
    createdAt: new Date(),
  })

suite('topics', () => {
  test('one stream gets messages, refusals, connections and points by subscriptions with different filters', async () => {
    const [first, second] = [await anEndpoint(), await anEndpoint()]
    const source = await stream([
      { id: 'in', topic: 'traffic', endpointIds: [first.endpointId], directions: ['INBOUND'] },
      { id: 'all', topic: 'traffic', applicationName: first.app },
      { id: 'none', topic: 'traffic', applicationName: first.app, extensions: ['cex'] },
      { id: 'refused', topic: 'refusals', reasons: ['token_unknown'] },
      { id: 'connected', topic: 'connection', applicationName: first.app },
      { id: 't', topic: 'series', applicationName: first.app, seriesNames: ['auto~t'] },
      { id: 'points', topic: 'series', applicationName: second.app, endpointIds: [second.endpointId] },
    ])
    await source.active('in', 'all', 'none', 'refused', 'connected', 't', 'points')
    const client = await device()
    await client.publish(`${first.prefix}/7`, [{ t: 21.5, h: 40 }])
    await send(second, { timestamp: 1000, a: 1, b: 2 })
    const unknown = await fetch(`${httpUrl}/kp1/${first.version}/dcx/nobody/json`, { method: 'POST', body: '[]' })
    assert.equal(unknown.status, 401)
    await client.end()
    await eventually(() => assert.equal(source.items('connected').length, 2))
    await eventually(() => assert.ok(source.items('all').length >= 2))
    await eventually(() => assert.equal(source.items('refused').length, 1), { withinMs: 8000 })
    const [message] = source.items('in')
    assert.equal(source.items('in').length, 1)
    const { body } = await live.admin(`GET /api/v1/al/endpoint-traffic?endpointIds=${first.endpointId}&sortOrder=asc`)
    const { id, applicationName, ...rest } = message!
    assert.deepEqual(rest, body.content[0], 'the item must equal the record in the list')
    assert.equal(applicationName, first.app)
    assert.match(String(id), /^\d{16}-i-/)
    assert.deepEqual(new Set(source.items('all').map(({ direction }) => direction)), new Set(['INBOUND', 'OUTBOUND']))
    assert.deepEqual(source.items('none'), [])
    assert.equal(source.items('refused')[0]!.reason, 'token_unknown')
    assert.deepEqual(
      source.items('connected').map(({ endpointId, connected }) => ({ endpointId, connected })),
      [true, false].map((connected) => ({ endpointId: first.endpointId, connected })),
    )
    const [point] = source.items('t')
    assert.deepEqual(
      { ...point, timestamp: '' },
      { endpointId: first.endpointId, seriesName: 'auto~t', timestamp: '', values: { value: 21.5 } },
    )
    assert.deepEqual(source.items('points'), [
      {
        endpointId: second.endpointId,
        seriesName: 'auto~a',
        timestamp: '1970-01-01T00:00:01.000Z',
        values: { value: 1 },
      },
      {
        endpointId: second.endpointId,
        seriesName: 'auto~b',
        timestamp: '1970-01-01T00:00:01.000Z',
        values: { value: 2 },
      },
    ])
    source.close()
  })

  test('GET /stream opens a stream with a subscription for each topic, and GET /topics lists the topics', async () => {
    const endpoint = await anEndpoint()
    const { headers } = aReplaceableCaller()
    const query = `topics=traffic,connection&topics=series&applicationName=${endpoint.app}&endpointIds=${endpoint.endpointId}`
    const source = await openEventSource(`${httpUrl}/live/api/v1/stream?${query}`, headers)
    const names = (event: string) => source.events.filter((one) => one.event === event).map(({ data }) => data)
    await eventually(() => assert.equal(names('subscribed').length, 3))
    await send(endpoint, { timestamp: 1000, a: 1 })
    await eventually(() => assert.equal(names('series')[0]?.items[0].values.value, 1))
    await eventually(() => assert.ok(names('traffic')[0]?.items[0].payload.includes('"a":1')))
    source.close()
    const topics = (await (await fetch(`${httpUrl}/live/api/v1/topics`, { headers })).json()) as {
      topic: string
      scopes: string[]
      filters: string[]
    }[]
    assert.deepEqual(topics.find(({ topic }) => topic === 'series')?.scopes, ['endpoint:read', 'time-series:read'])
    assert.deepEqual(topics.find(({ topic }) => topic === 'connection')?.filters, ['applicationName', 'endpointIds'])
    const head = await fetch(`${httpUrl}/live/api/v1/stream?topics=traffic`, { method: 'HEAD', headers })
    assert.deepEqual([head.status, await head.text()], [200, ''])
  })

  test('the subscriptions of an open stream can be changed; subscriptions that stay are not interrupted', async () => {
    const [first, second] = [await anEndpoint(), await anEndpoint()]
    const { headers } = aReplaceableCaller()
    const source = await stream([], headers)
    const stays = { id: 'stays', topic: 'traffic', endpointIds: [first.endpointId] }
    const goes = { id: 'goes', topic: 'series', applicationName: first.app }
    assert.equal((await change(source.streamId, [stays, goes], headers)).status, 200)
    await source.active('stays', 'goes')
    await record(first, 'one')
    const other = { id: 'goes', topic: 'traffic', endpointIds: [second.endpointId] }
    assert.equal((await change(source.streamId, [stays, other], headers)).status, 200)
    await eventually(() => assert.equal(source.events.filter(({ event }) => event === 'subscribed').length, 3))
    await send(first, { a: 1 })
    await record(second, 'two')
    await eventually(() => assert.equal(source.items('goes')[0]?.payload, 'two'))
    await eventually(() => assert.ok(source.items('stays').length >= 2))
    assert.equal(source.items('stays')[0]!.payload, 'one')
    assert.ok(source.items('goes').every(({ endpointId }) => endpointId === second.endpointId))
    const rejected = await change(source.streamId, [], aReplaceableCaller().headers)
    assert.equal(rejected.status, 404, 'a caller must not see the streams of another caller')
    assert.equal((await change(`${newId()}-${newId()}`, [], headers)).status, 404)
    source.close()
    await eventually(async () => assert.equal((await change(source.streamId, [], headers)).status, 404))
  })

  test('invalid requests are rejected and name the field', async () => {
    const { headers } = aReplaceableCaller()
    const post = async (subscriptions: unknown) => {
      const answer = await fetch(`${httpUrl}/live/api/v1/streams`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ subscriptions }),
      })
      const { message } = (await answer.json()) as { message: string }
      return `${answer.status} ${message}`
    }
    const cases: [subscriptions: unknown, problem: RegExp][] = [
      ['traffic', /^400 .*subscriptions/],
      [[{ id: 'a' }], /^400 .*topic/],
      [[{ id: 'a', topic: 'everything' }], /^400 .*topic/],
      [[{ id: 'with space', topic: 'traffic' }], /^400 .*id/],
      [[{ id: 'x'.repeat(65), topic: 'traffic' }], /^400 .*id/],
      [
        [
          { id: 'a', topic: 'traffic' },
          { id: 'a', topic: 'refusals' },
        ],
        /^400 subscriptions\.1\.id: another/,
      ],
      [[{ id: 'a', topic: 'series' }], /^400 subscriptions\.0\.applicationName: the topic series needs it/],
      [
        [{ id: 'a', topic: 'traffic', seriesNames: ['t'] }],
        /^400 subscriptions\.0\.seriesNames: the topic traffic has no/,
      ],
      [
        [{ id: 'a', topic: 'refusals', applicationName: 'x' }],
        /^400 subscriptions\.0\.applicationName: the topic refusals/,
      ],
      [[{ id: 'a', topic: 'connection', since: 'now-1m' }], /^400 subscriptions\.0\.since: the topic connection/],
      [[{ id: 'a', topic: 'traffic', endpointIds: [] }], /^400 .*endpointIds/],
      [[{ id: 'a', topic: 'traffic', endpointIds: Array(1001).fill('e') }], /^400 .*endpointIds/],
      [[{ id: 'a', topic: 'traffic', directions: ['SIDEWAYS'] }], /^400 .*directions/],
      [[{ id: 'a', topic: 'traffic', since: 'yesterday' }], /^400 .*since/],
      [[{ id: 'a', topic: 'traffic', unknown: 1 }], /^400 .*unknown/],
      [[{ id: 'a', topic: 'traffic', newestOnly: 'yes' }], /^400 .*newestOnly/],
      [
        [{ id: 'a', topic: 'counts', newestOnly: true }],
        /^400 subscriptions\.0\.newestOnly: the topic counts has no such filter/,
      ],
      [Array.from({ length: 101 }, (_, n) => ({ id: `s${n}`, topic: 'traffic' })), /^400 .*subscriptions/],
    ]
    for (const [subscriptions, problem] of cases) assert.match(await post(subscriptions), problem)
    for (const query of ['', '?topics=', '?topics=everything', '?topics=series', `?topics=traffic&since=soon`])
      assert.equal((await fetch(`${httpUrl}/live/api/v1/stream${query}`, { headers })).status, 400, query)
    assert.equal((await fetch(`${httpUrl}/live/api/v1/stream?topics=traffic`)).status, 401)
  })
})

suite('permissions', () => {
  test('a subscription that the caller may not read ends with the reason, and other subscriptions continue', async () => {
    const [mine, hidden] = [await anEndpoint(), await anEndpoint()]
    const foreign = await anEndpoint(other)
    const { headers } = aReplaceableCaller(
      aCaller({
        on: { [`application-${mine.app}`]: ['endpoint:read'], [`endpoint-${mine.endpointId}`]: ['endpoint:read'] },
      }),
    )
    const source = await stream(
      [
        { id: 'mine', topic: 'traffic', endpointIds: [mine.endpointId] },
        { id: 'tenant', topic: 'traffic' },
        { id: 'hidden', topic: 'traffic', endpointIds: [hidden.endpointId] },
        { id: 'application', topic: 'traffic', applicationName: hidden.app },
        { id: 'foreign', topic: 'traffic', endpointIds: [foreign.endpointId] },
        { id: 'theirs', topic: 'connection', applicationName: foreign.app },
        { id: 'nothing', topic: 'traffic', endpointIds: ['no-such-endpoint'] },
        { id: 'points', topic: 'series', applicationName: mine.app },
        { id: 'refusals', topic: 'refusals' },
      ],
      headers,
    )
    const ends = new Map<string, string>()
    for (const id of ['hidden', 'application', 'foreign', 'theirs', 'nothing', 'points', 'refusals']) {
      const { status, code } = await source.ended(id)
      ends.set(id, `${status} ${code}`)
    }
    assert.deepEqual(Object.fromEntries(ends), {
      hidden: '404 no_such_endpoint_of_stream',
      application: '404 no_such_application_of_stream',
      foreign: '404 no_such_endpoint_of_stream',
      theirs: '404 no_such_application_of_stream',
      nothing: '404 no_such_endpoint_of_stream',
      points: '403 forbidden',
      refusals: '403 forbidden',
    })
    await source.active('mine', 'tenant')
    await record(hidden, 'hidden')
    await record(mine, 'mine')
    for (const id of ['mine', 'tenant'])
      await eventually(() =>
        assert.deepEqual(
          source.items(id).map(({ payload }) => payload),
          ['mine'],
          id,
        ),
      )
    source.close()
  })

  test('a tenant gets no events of another tenant; refusals without a tenant are sent to administrators of the platform', async () => {
    const foreign = await anEndpoint(other)
    const own = await stream([
      { id: 'all', topic: 'traffic' },
      { id: 'refused', topic: 'refusals' },
      { id: 'connected', topic: 'connection' },
    ])
    const platform = await stream([{ id: 'refused', topic: 'refusals' }], aReplaceableCaller(aPlatformAdmin()).headers)
    await own.active('all', 'refused', 'connected')
    await platform.active('refused')
    await send(foreign, { a: 1 })
    trafficLog.recordRefusal({ tenantId: 'other', transport: 'mqtt', address: '1.2.3.4', reason: 'bad_credentials' })
    trafficLog.recordRefusal({ transport: 'mqtt', address: '1.2.3.4', reason: 'packet_too_large' })
    trafficLog.recordRefusal({ tenantId: 'default', transport: 'mqtt', address: '1.2.3.4', reason: 'last' })
    await eventually(() => assert.equal(own.items('refused').length, 1))
    assert.equal(own.items('refused')[0]!.reason, 'last')
    await eventually(() =>
      assert.deepEqual(
        platform.items('refused').map(({ reason }) => reason),
        ['packet_too_large'],
      ),
    )
    assert.deepEqual([...own.items('all'), ...own.items('connected')], [])
    own.close()
    platform.close()
  })

  test('a revoked permission ends a subscription within a second; a new permission takes effect', async () => {
    const [first, second] = [await anEndpoint(), await anEndpoint()]
    const rights = (...endpoints: { endpointId: string }[]) =>
      aCaller({
        id: 'ada',
        on: Object.fromEntries(endpoints.map(({ endpointId: id }) => [`endpoint-${id}`, ['endpoint:read']])),
      })
    const { headers, replaceWith } = aReplaceableCaller(rights(first, second))
    const source = await stream(
      [
        { id: 'first', topic: 'traffic', endpointIds: [first.endpointId] },
        { id: 'any', topic: 'traffic' },
      ],
      headers,
    )
    await source.active('first', 'any')
    replaceWith(rights(second))
    const undisturbedMs = startUndisturbedTime()
    const { status, message } = await source.ended('first')
    assert.ok(undisturbedMs() < 1000, `${undisturbedMs()} ms`)
    assert.equal(status, 404)
    assert.match(message, /no endpoint .* may not read it/)
    await eventually(() => assert.equal(source.events.filter(({ event }) => event === 'permissions').length, 1))
    // A change of the scopes on the same resource must also take effect.
    const on = { [`endpoint-${second.endpointId}`]: ['endpoint:read', 'endpoint:update'] }
    replaceWith(aCaller({ id: 'ada', on }))
    await eventually(() => assert.equal(source.events.filter(({ event }) => event === 'permissions').length, 2))
    await record(first, 'first')
    await record(second, 'second')
    await eventually(() => assert.equal(source.items('any').at(-1)?.payload, 'second'))
    assert.ok(source.items('any').every(({ payload }) => payload === 'second'))
    assert.deepEqual(source.items('first'), [])
    replaceWith(undefined)
    assert.equal(await source.endReason(), 'unauthenticated')
  })

  test('streams above the limit of a caller, a tenant or the node get 429', async () => {
    const open = async (tenantId: string, id = newId()) => {
      const caller = aCaller({ tenantId, id, on: { 'tenant-system': ['*'] } })
      const source = await openEventSource(`${httpUrl}/live/api/v1/streams`, aReplaceableCaller(caller).headers, {
        subscriptions: [],
      })
      return source
    }
    await eventually(async () => assert.match(await waypost.kit.metrics.text(), /waypost_live_streams 0$/m))
    const sources = []
    for (let n = 0; n < 3; n++) sources.push(await open('default', 'bob'))
    const fourth = await open('default', 'bob')
    assert.deepEqual([fourth.status, fourth.headers['retry-after']], [429, '10'])
    assert.match(await fourth.text(), /The caller already has 3 live streams/)
    for (let n = 0; n < 9; n++) sources.push(await open('default'))
    assert.match(await (await open('default')).text(), /The tenant already has 12 live streams/)
    for (let n = 0; n < 2; n++) sources.push(await open('other'))
    assert.match(await (await open('other')).text(), /This node already serves 14 live streams/)
    for (const source of sources) source.close()
    await eventually(async () => assert.match(await waypost.kit.metrics.text(), /waypost_live_streams 0$/m))
  })
})

suite('real credentials', () => {
  test('a stream ends when its token or API key ends; a subscription ends when the grant that permits it is deleted', async () => {
    const tenantId = `t${newId().slice(0, 8)}`
    const identity = waypost.ask(Identity)
    const scopes = ['application:read', 'identity:api-key:create']
    await waypost.kit.db.tx(async (sql) => {
      await identity.buildRealm(sql, {
        tenantId,
        displayName: tenantId,
        accessTokenSeconds: 5,
        refreshTokenSeconds: 60,
        frontendClient: { id: `${tenantId}-f`, redirectUris: [], webOrigins: [] },
        backendClient: { id: `${tenantId}-b`, roles: ['service'] },
        roles: [{ name: 'service', on: 'tenant' as const, scopes }],
        resources: [],
      })
      await identity.setRealmStatus(sql, tenantId, 'AVAILABLE')
    })
    const { backendClientId, backendClientSecret } = (await identity.realm(tenantId))!
    const answer = await fetch(`${httpUrl}/auth/realms/${tenantId}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: backendClientId,
        client_secret: backendClientSecret,
      }),
    })
    const authorization = `Bearer ${((await answer.json()) as { access_token: string }).access_token}`
    const owner = waypost.as(aTenantAdmin(tenantId))
    const applicationName = `app-${tenantId}`
    assert.equal((await owner('POST /api/v1/applications', { name: applicationName })).status, 201)
    const granted = await owner('POST /iam/api/v1/grants', {
      subject: { type: 'role', id: 'service' },
      resource: `application-${applicationName}`,
      scopes: ['endpoint:read'],
    })
    assert.equal(granted.status, 201, granted.text)
    const subscriptions = [{ id: 'all', topic: 'traffic', applicationName }]
    const created = await fetch(`${httpUrl}/iam/api/v1/api-keys`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'watcher' }),
    })
    const { id, key } = (await created.json()) as { id: string; key: string }
    const byToken = await stream(subscriptions, { authorization })
    const byKey = await stream(subscriptions, { 'x-identity-api-key': key, authorization: '' })
    await byToken.active('all')
    await byKey.active('all')
    assert.deepEqual(
      byKey.events.filter(({ event }) => event === 'ended'),
      [],
    )
    const grant = granted.headers.location!.split('/').at(-1)
    assert.equal((await owner(`DELETE /iam/api/v1/grants/${grant}`)).status, 204)
    const undisturbedMs = startUndisturbedTime()
    for (const source of [byToken, byKey]) assert.equal((await source.ended('all')).code, 'forbidden')
    assert.ok(undisturbedMs() < 1000, `${undisturbedMs()} ms`)
    assert.equal((await owner(`DELETE /iam/api/v1/api-keys/${id}`)).status, 204)
    assert.equal(await byKey.endReason(), 'unauthenticated')
    assert.equal(await byToken.endReason(10_000), 'unauthenticated')
  })
})

suite('resuming', () => {
  test('a stream that resumes gets the events of the interruption; an event that is sent again has the same id', async () => {
    const endpoint = await anEndpoint()
    const subscriptions = [
      { id: 'traffic', topic: 'traffic', endpointIds: [endpoint.endpointId], directions: ['INBOUND'] },
      { id: 'series', topic: 'series', applicationName: endpoint.app },
      { id: 'refused', topic: 'refusals' },
      { id: 'connection', topic: 'connection' },
    ]
    const first = await stream(subscriptions)
    await first.active('traffic', 'series', 'refused', 'connection')
    await send(endpoint, { timestamp: 1, n: 1 })
    await eventually(() => assert.equal(first.items('traffic').length, 1))
    const before = first.items('traffic')[0]!
    const id = await eventually(() => first.lastId() ?? assert.fail('no position'))
    first.close()
    await send(endpoint, { timestamp: 2, n: 2 })
    trafficLog.recordRefusal({ tenantId: 'default', transport: 'mqtt', address: '1.2.3.4', reason: 'meanwhile' })
    await eventually(async () => {
      const { body } = await live.admin('GET /api/v1/al/refusals?reason=meanwhile')
      assert.equal(body.totalElements, 1)
    })
    const second = await stream(subscriptions, { 'last-event-id': id })
    await second.active('traffic', 'series', 'refused', 'connection')
    await send(endpoint, { timestamp: 3, n: 3 })
    await eventually(() => assert.equal(new Set(second.items('traffic').map((one) => one.id)).size, 3))
    assert.equal(second.items('traffic').length, 3, 'a record must be sent once on a stream')
    assert.equal(second.items('traffic')[0]!.id, before.id, 'a repeated record must have the same id')
    await eventually(() => {
      const values = second.items('series').map(({ timestamp }) => Date.parse(String(timestamp)))
      assert.deepEqual([...new Set(values)].toSorted(), [1, 2, 3])
    })
    assert.ok(second.items('refused').some(({ reason }) => reason === 'meanwhile'))
    assert.deepEqual(second.gaps(), ['no_history'], 'the topic of connections must report that it has no history')
    assert.deepEqual(second.gaps('connection'), ['no_history'])
    second.close()
  })

  test('a stream with `since` begins with stored events; an unknown or old position results in a `gap` event', async () => {
    const endpoint = await anEndpoint()
    await send(endpoint, { timestamp: 1, n: 1 })
    await send(endpoint, { timestamp: 2, n: 2 })
    const since = await stream([
      { id: 'traffic', topic: 'traffic', endpointIds: [endpoint.endpointId], since: 'now-1m' },
      { id: 'newest', topic: 'traffic', endpointIds: [endpoint.endpointId], since: 'now-1m', newestOnly: true },
    ])
    await eventually(() => {
      assert.ok(since.items('traffic').length > 1)
      assert.deepEqual(since.items('newest'), since.items('traffic').slice(-1))
    })
    since.close()
    for (const position of ['1', 'nonsense', '9'.repeat(30)]) {
      const source = await stream([{ id: 'series', topic: 'series', applicationName: endpoint.app }], {
        'last-event-id': position,
      })
      await source.active('series')
      await eventually(() => assert.deepEqual(source.gaps('series'), ['too_old'], position))
      source.close()
    }
  })

  test('a stream without events also gets positions at which it can resume', async () => {
    const source = await stream([{ id: 'all', topic: 'traffic' }])
    await source.active('all')
    const { id, data } = await eventually(
      () => source.events.find(({ event }) => event === 'position') ?? assert.fail(),
    )
    assert.equal(Number(id), Date.parse(data.at) * 1000)
    source.close()
  })
})

suite('a slow reader', () => {
  test('a reader that falls behind gets a `gap` event instead of some events, and the stream continues', async () => {
    const endpoint = await anEndpoint()
    const subscriptions = [{ id: 'all', topic: 'traffic', endpointIds: [endpoint.endpointId] }]
    const [slow, quick] = [await stream(subscriptions), await stream(subscriptions)]
    await slow.active('all')
    await quick.active('all')
    slow.pause()
    const payload = 'x'.repeat(15_000)
    let sent = 0
    const isGapCounted = async () =>
      /waypost_live_gaps_total\{reason="too_slow"\} \d/.test(await waypost.kit.metrics.text())
    // The test sends more than the queue holds, because the socket buffers of both sides also store events.
    while (sent * payload.length < 6 * queuedBytesMax) {
      await Promise.all(Array.from({ length: 20 }, () => record(endpoint, payload)))
      sent += 20
      await eventually(() => assert.equal(quick.items('all').length, sent), { everyMs: 5 })
    }
    slow.resume()
    await eventually(() => assert.deepEqual(slow.gaps('all'), ['too_slow']))
    assert.ok(await isGapCounted())
    assert.ok(slow.items('all').length < sent)
    await record(endpoint, 'after')
    await eventually(() => assert.equal(slow.items('all').at(-1)?.payload, 'after'))
    slow.close()
    quick.close()
  })
})

test('a shutdown ends all streams with a reason', async () => {
  const sources = [
    await stream([{ id: 'all', topic: 'traffic' }]),
    await stream([], aReplaceableCaller(aTenantAdmin('other')).headers),
  ]
  await waypost.http.close()
  for (const source of sources) assert.equal(await source.endReason(), 'stopping')
})
