import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import type { SentEvent } from '../../../../test/harness/event-source.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openLive } from '../../../../test/harness/live-time-series.ts'
import { messageOf } from '../../../../test/harness/time-series.ts'
import { startUndisturbedTime } from '../../../../test/harness/undisturbed-time.ts'
import { Identity } from '../../../identity/contract.ts'
import { newId } from '../../../kernel/ids.ts'
import { queuedBytesMax } from './subscription.ts'

const live = await openLive({
  environment: { WAYPOST_LIVE_SUBSCRIPTIONS: '12', WAYPOST_LIVE_SUBSCRIPTIONS_PER_TENANT: '10' },
})
const {
  waypost,
  admin,
  service,
  collect,
  unregisteredEndpoint,
  registerEndpoint,
  watch,
  open,
  aReplaceableCaller,
  httpUrl,
  pathOf,
  pack,
} = live
const scopes = ['endpoint:read', 'time-series:read']
const iso = (ms: number) => new Date(ms).toISOString()
const point = (timestamp: number, value: unknown) => ({ timestamp: iso(timestamp), values: { value } })

/** Returns the points of some events by endpoint and series. */
function pointsBySeries(events: SentEvent[]) {
  const all: Record<string, Record<string, unknown[]>> = {}
  for (const { data } of events)
    for (const [endpointId, series] of Object.entries(data as (typeof all)[string]))
      for (const [name, points] of Object.entries(series)) {
        all[endpointId] ??= {}
        all[endpointId][name] = [...(all[endpointId][name] ?? []), ...(points as unknown as unknown[])]
      }
  return all
}

suite('a live stream', () => {
  test('samples without a timestamp are sent with the times under which they are stored', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const source = await watch(endpoint)
    const receivedAt = new Date()
    await Promise.all(Array.from({ length: 30 }, (_, t) => live.api.collect(messageOf(endpoint, receivedAt), [{ t }])))
    const expected = Array.from({ length: 30 }, (_, t) => point(receivedAt.getTime() + t, t))
    await eventually(() =>
      assert.deepEqual(pointsBySeries(source.events), { [endpoint.endpointId]: { 'auto~t': expected } }),
    )
    assert.deepEqual(
      (await live.points(endpoint.endpointId))['auto~t/value'],
      expected.map(({ timestamp }, t) => [Date.parse(timestamp), t]),
    )
    source.close()
  })

  test('points from devices and from PUT are sent in the format of the operation data, with increasing event ids', async () => {
    const endpoint = await registerEndpoint(
      await unregisteredEndpoint({ 'time-series': { names: { p: { values: [{ path: 'p.x', name: 'x' }] } } } }),
    )
    const source = await watch(endpoint)
    assert.match(source.headers['content-type']!, /^text\/event-stream/)
    assert.equal(source.headers['cache-control'], 'no-store')
    await collect(endpoint, [{ timestamp: 1000, t: 21.5, p: { x: 'north' } }])
    const first = await source.next('points')
    assert.deepEqual(first.data, {
      [endpoint.endpointId]: {
        p: [{ timestamp: iso(1000), values: { x: 'north' } }],
        'auto~t': [point(1000, 21.5)],
      },
    })
    const body = { [endpoint.endpointId]: { 'auto~t': [{ timestamp: 2000, values: { value: null } }] } }
    const put = await admin(`PUT /epts/api/v1/app-versions/${endpoint.versionName}/time-series/data`, body)
    assert.equal(put.status, 204, put.text)
    const second = await source.next('points')
    assert.deepEqual(second.data, { [endpoint.endpointId]: { 'auto~t': [point(2000, null)] } })
    assert.ok(Number(second.id) > Number(first.id))
  })

  test('points that are stored in one transaction are sent in one event, and each point is sent once', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const source = await watch(endpoint)
    await Promise.all(Array.from({ length: 2000 }, (_, index) => collect(endpoint, [{ timestamp: index, a: index }])))
    const count = () => source.events.reduce((sum, { data }) => sum + data[endpoint.endpointId]['auto~a'].length, 0)
    await eventually(() => assert.equal(count(), 2000))
    assert.ok(source.events.length < 60, `${source.events.length} events`)
    const times = pointsBySeries(source.events)[endpoint.endpointId]!['auto~a']!.map((p) =>
      Date.parse((p as { timestamp: string }).timestamp),
    )
    assert.deepEqual(
      times.toSorted((a, b) => a - b),
      Array.from({ length: 2000 }, (_, index) => index),
    )
  })

  test('a stream includes only the endpoints and series that are requested, as a list or as repeated parameters', async () => {
    const app = await unregisteredEndpoint()
    const [first, second, third] = [
      await registerEndpoint(app),
      await registerEndpoint(app),
      await registerEndpoint(app),
    ]
    const other = await registerEndpoint(await unregisteredEndpoint())
    const some = await watch(
      app,
      `?endpointId=${first.endpointId},${second.endpointId}&timeSeriesName=auto~a&timeSeriesName=auto~b`,
    )
    for (const each of [first, second, third, other]) await collect(each, [{ timestamp: 1, a: 1, b: 2, c: 3 }])
    await eventually(() => assert.equal(Object.keys(pointsBySeries(some.events)).length, 2))
    const expected = { 'auto~a': [point(1, 1)], 'auto~b': [point(1, 2)] }
    assert.deepEqual(pointsBySeries(some.events), { [first.endpointId]: expected, [second.endpointId]: expected })
    const later = await registerEndpoint(app)
    const all = await watch(app, `?endpointId=`)
    await collect(later, [{ timestamp: 1, c: 3 }])
    assert.deepEqual((await all.next('points')).data, { [later.endpointId]: { 'auto~c': [point(1, 3)] } })
  })

  test('a HEAD request for a stream ends immediately, and invalid requests are rejected', async () => {
    const endpoint = await unregisteredEndpoint()
    const { headers } = aReplaceableCaller()
    const head = await fetch(httpUrl + pathOf(endpoint), { method: 'HEAD', headers })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    const ids = Array.from({ length: 1001 }, (_, n) => n).join()
    for (const query of ['?initial=perhaps', `?endpointId=${ids}`])
      assert.equal((await fetch(httpUrl + pathOf(endpoint, query), { headers })).status, 400, query.slice(0, 30))
    assert.equal((await fetch(httpUrl + pathOf({ applicationName: 'none' }), { headers })).status, 404)
    assert.equal((await fetch(httpUrl + pathOf(endpoint))).status, 401)
  })
})

suite('permission to watch', () => {
  test('a stream includes only endpoints that its caller may read', async () => {
    const app = await unregisteredEndpoint()
    const [first, second] = [await registerEndpoint(app), await registerEndpoint(app)]
    const status = async (on: Record<string, string[]>, tenantId = 'default') => {
      const source = await open(app, aReplaceableCaller(aCaller({ tenantId, on })).headers)
      source.close()
      return source.status
    }
    assert.equal(await status({}), 404)
    assert.equal(await status({ 'tenant-system': ['*'] }, 'other'), 404)
    assert.equal(await status({ [`application-${app.applicationName}`]: ['application:read'] }), 403)
    assert.equal(await status({ [`application-${app.applicationName}`]: ['endpoint:read'] }), 403)
    const { headers, replaceWith } = aReplaceableCaller(aCaller({ on: { [`endpoint-${first.endpointId}`]: scopes } }))
    const source = await open(app, headers)
    await source.next('open')
    await collect(second, [{ timestamp: 1, a: 1 }])
    await collect(first, [{ timestamp: 2, a: 2 }])
    assert.deepEqual((await source.next('points')).data, { [first.endpointId]: { 'auto~a': [point(2, 2)] } })

    // The permission on the first endpoint is replaced by a permission on the second endpoint.
    replaceWith(aCaller({ on: { [`endpoint-${second.endpointId}`]: scopes } }))
    await eventually(async () => {
      await collect(second, [{ timestamp: 3, a: 3 }])
      assert.ok(second.endpointId in pointsBySeries(source.events))
    })
    source.events.splice(0)
    await collect(first, [{ timestamp: 4, a: 4 }])
    await collect(second, [{ timestamp: 5, a: 5 }])
    await eventually(() =>
      assert.ok(
        pointsBySeries(source.events)[second.endpointId]?.['auto~a']?.some(
          (p) => (p as { timestamp: string }).timestamp === iso(5),
        ),
      ),
    )
    assert.deepEqual(Object.keys(pointsBySeries(source.events)), [second.endpointId])

    replaceWith(aCaller({ on: { [`endpoint-${second.endpointId}`]: ['endpoint:read'] } }))
    assert.equal(await source.endReason(), 'forbidden')
  })

  test('a stream ends when its credentials are no longer valid', async () => {
    const endpoint = await unregisteredEndpoint()
    const { headers, replaceWith } = aReplaceableCaller()
    const source = await open(endpoint, headers)
    await source.next('open')
    replaceWith(undefined)
    assert.equal(await source.endReason(), 'unauthenticated')
  })

  test('a stream ends when its token expires or its API key is deleted', async () => {
    const tenantId = `t${newId().slice(0, 8)}`
    const identity = waypost.ask(Identity)
    await waypost.kit.db.tx(async (sql) => {
      const role = {
        name: 'service',
        on: 'tenant' as const,
        scopes: [...scopes, 'application:read', 'identity:api-key:create'],
      }
      await identity.buildRealm(sql, {
        tenantId,
        displayName: tenantId,
        accessTokenSeconds: 3,
        refreshTokenSeconds: 60,
        frontendClient: { id: `${tenantId}-f`, redirectUris: [], webOrigins: [] },
        backendClient: { id: `${tenantId}-b`, roles: ['service'] },
        roles: [role],
        resources: [],
      })
      await identity.setRealmStatus(sql, tenantId, 'AVAILABLE')
    })
    const owner = waypost.as(aTenantAdmin(tenantId))
    const applicationName = `app-${tenantId}`
    assert.equal((await owner('POST /api/v1/applications', { name: applicationName })).status, 201)
    const { backendClientId, backendClientSecret } = (await identity.realm(tenantId))!
    const token = async () => {
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: backendClientId,
        client_secret: backendClientSecret,
      })
      const answer = await fetch(`${httpUrl}/auth/realms/${tenantId}/protocol/openid-connect/token`, {
        method: 'POST',
        body,
      })
      return ((await answer.json()) as { access_token: string }).access_token
    }
    const authorization = `Bearer ${await token()}`
    const byToken = await open({ applicationName }, { authorization })
    await byToken.next('open')
    const created = await fetch(`${httpUrl}/iam/api/v1/api-keys`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'watcher' }),
    })
    const { id, key } = (await created.json()) as { id: string; key: string }
    const byKey = await open({ applicationName }, { 'x-identity-api-key': key })
    await byKey.next('open')
    assert.equal(await byToken.endReason(), 'unauthenticated')
    assert.equal((await owner(`DELETE /iam/api/v1/api-keys/${id}`)).status, 204)
    assert.equal(await byKey.endReason(), 'unauthenticated')
  })

  test('further streams get 429 at the limit of the tenant and of the node', async () => {
    const endpoint = await unregisteredEndpoint()
    const openStream = (tenantId = 'default', watched = endpoint) =>
      open(watched, aReplaceableCaller(aTenantAdmin(tenantId)).headers)
    // The test waits until the streams of earlier tests are closed.
    live.closeAll()
    await eventually(async () => assert.match(await waypost.kit.metrics.text(), /_live_subscriptions 0$/m))
    const openStreams = await Promise.all(Array.from({ length: 10 }, () => openStream()))
    assert.deepEqual(new Set(openStreams.map(({ status }) => status)), new Set([200]))
    const more = await openStream()
    assert.deepEqual([more.status, more.headers['retry-after']], [429, '10'])
    assert.match(await more.text(), /already has 10 live streams open/)
    const name = `app-${newId().slice(0, 8)}`
    assert.equal((await waypost.as(aTenantAdmin('other'))('POST /api/v1/applications', { name })).status, 201)
    const others = []
    for (let n = 0; n < 3; n++)
      others.push(await openStream('other', { ...endpoint, tenantId: 'other', applicationName: name }))
    assert.deepEqual(
      others.map(({ status }) => status),
      [200, 200, 429],
    )
    assert.match(await others[2]!.text(), /already serves 12 live streams/)
    live.closeAll()
    await eventually(async () => {
      const reopened = await openStream()
      reopened.close()
      assert.equal(reopened.status, 200)
    })
  })
})

suite('replay', () => {
  test('initial=true sends the newest point of each series first', async () => {
    const app = await unregisteredEndpoint()
    const [first, second] = [await registerEndpoint(app), await registerEndpoint(app)]
    await collect(first, [{ timestamp: 1000, a: 1, b: 1 }])
    await collect(first, [{ timestamp: 2000, a: 2 }])
    await pack()
    await service.latest.flush(true)
    await collect(second, [{ timestamp: 5000, a: 5 }])
    await collect(second, [{ timestamp: 4000, a: 4 }])
    const source = await watch(app, '?initial=true')
    assert.deepEqual((await source.next('points')).data, {
      [first.endpointId]: { 'auto~a': [point(2000, 2)], 'auto~b': [point(1000, 1)] },
      [second.endpointId]: { 'auto~a': [point(5000, 5)] },
    })
    await collect(first, [{ timestamp: 3000, a: 3 }])
    assert.deepEqual((await source.next('points')).data, { [first.endpointId]: { 'auto~a': [point(3000, 3)] } })
    const named = await watch(app, `?initial=true&endpointId=${second.endpointId}&timeSeriesName=auto~a`)
    assert.deepEqual((await named.next('points')).data, { [second.endpointId]: { 'auto~a': [point(5000, 5)] } })
  })

  test('a stream with Last-Event-ID gets each missed point at least once, or a `gap` event if the points cannot be sent again', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const first = await watch(endpoint)
    await collect(endpoint, [{ timestamp: 1, a: 1 }])
    const { id } = await first.next('points')
    first.close()
    await collect(endpoint, [{ timestamp: 2, a: 2 }])
    await collect(endpoint, [{ timestamp: 3, a: 'no number', b: 3 }])
    const second = await watch(endpoint, '', { 'last-event-id': id! })
    const missed = pointsBySeries([await second.next('points')])[endpoint.endpointId]!
    assert.deepEqual(missed['auto~a']!.at(-1), point(2, 2))
    assert.deepEqual(missed['auto~b'], [point(3, 3)])
    for (const invalidId of ['1', 'nonsense', String((Date.now() - 3_600_000) * 1000)]) {
      const source = await watch(endpoint, '', { 'last-event-id': invalidId })
      assert.deepEqual((await source.next('gap')).data, { reason: 'too_old' })
      source.close()
    }
    // Packed points have no event id, so they cannot be sent again.
    await pack()
    const late = await watch(endpoint, '', { 'last-event-id': id! })
    assert.deepEqual((await late.next('gap')).data, { reason: 'too_old' })
  })
})

suite('a slow reader', () => {
  test('a stream whose reader is too slow ends with too_slow, and other streams continue', async () => {
    const endpoint = await registerEndpoint(
      await unregisteredEndpoint({ 'time-series': { names: { s: { values: [{ path: 's' }] } } } }),
    )
    const slow = await watch(endpoint)
    const quick = await watch(endpoint)
    slow.pause()
    const text = 'x'.repeat(60_000)
    let sent = 0
    // The test sends until the stream ends, because the socket buffers of both sides also store events.
    while (!slow.events.some(({ event }) => event === 'end') && sent < 200) {
      await collect(endpoint, [{ timestamp: sent++, s: text }])
      if (sent * 2 * text.length > 4 * queuedBytesMax) slow.resume()
    }
    assert.equal(await slow.endReason(), 'too_slow')
    const got = () => quick.events.reduce((sum, { data }) => sum + data[endpoint.endpointId].s.length, 0)
    await eventually(() => assert.equal(got(), sent))
    // The slow stream must contain every point up to its end.
    const times = pointsBySeries(slow.events.filter(({ event }) => event === 'points'))[endpoint.endpointId]!.s!
    assert.deepEqual(
      times.map((p) => Date.parse((p as { timestamp: string }).timestamp)),
      times.map((_, index) => index),
    )
  })

  test('a reader that pauses briefly misses no point', async () => {
    const endpoint = await registerEndpoint(
      await unregisteredEndpoint({ 'time-series': { names: { s: { values: [{ path: 's' }] } } } }),
    )
    const source = await watch(endpoint)
    source.pause()
    const text = 'x'.repeat(20_000)
    for (let n = 0; n < 40; n++) await collect(endpoint, [{ timestamp: n, s: text }])
    source.resume()
    const got = () => source.events.reduce((sum, { data }) => sum + data[endpoint.endpointId].s.length, 0)
    await eventually(() => assert.equal(got(), 40))
  })
})

test('a shutdown ends all streams with a reason', async () => {
  live.closeAll()
  const endpoint = await unregisteredEndpoint()
  const sources = await eventually(() => Promise.all([watch(endpoint), watch(endpoint)]))
  const undisturbedMs = startUndisturbedTime()
  await waypost.http.close()
  assert.ok(undisturbedMs() < 1500, `${undisturbedMs()} ms`)
  for (const source of sources) assert.equal(await source.endReason(), 'stopping')
})
