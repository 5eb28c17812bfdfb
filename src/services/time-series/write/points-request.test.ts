import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import type { Ask } from '../../../../test/harness/test-platform.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'

const { admin, unregisteredEndpoint, waypost, points, registerEndpoint } = await openTimeSeries()
const put = (ask: Ask, { versionName }: DeviceEndpoint, body: unknown) =>
  ask(`PUT /epts/api/v1/app-versions/${versionName}/time-series/data`, body)
const at = (timestamp: unknown, values: unknown = { value: 1 }) => ({ timestamp, values })

suite('writing points', () => {
  test('writing points stores numbers, texts, booleans and nulls of several endpoints in one request', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const otherEndpoint = await registerEndpoint(endpoint)
    const answer = await put(admin, endpoint, {
      [endpoint.endpointId]: {
        'auto~x': [at('1970-01-01T00:00:01.5Z'), at(2000, { value: null })],
        state: [at('1970-01-01 00:00:03+00:00', { text: 'on', ok: true })],
      },
      [otherEndpoint.endpointId]: { 'auto~x': [at('1970-01-01T00:00:01', { value: -2.5 })] },
    })
    assert.equal(answer.status, 204, answer.text)
    assert.deepEqual(await points(endpoint.endpointId), {
      'auto~x/value': [
        [1500, 1],
        [2000, null],
      ],
      'state/ok': [[3000, true]],
      'state/text': [[3000, 'on']],
    })
    assert.deepEqual(await points(otherEndpoint.endpointId), { 'auto~x/value': [[1000, -2.5]] })
  })

  test('an empty request stores nothing and succeeds', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    for (const body of [{}, { [endpoint.endpointId]: {} }, { [endpoint.endpointId]: { a: [] } }])
      assert.equal((await put(admin, endpoint, body)).status, 204)
  })

  test('an invalid request names the field and stores nothing', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const id = endpoint.endpointId
    const cases: [unknown, string][] = [
      [{ [id]: { good: [at(1)], 'bad name': [at(2)] } }, `${id}.bad name.0`],
      [{ [id]: { good: [at(1), at('yesterday')] } }, `${id}.good.1.timestamp`],
      [{ [id]: { good: [at(1), at(1.5)] } }, `${id}.good.1.timestamp`],
      [{ [id]: { good: [at(1), at(1e18)] } }, `${id}.good.1.timestamp`],
      [{ [id]: { good: [at(1), { values: { value: 1 } }] } }, `${id}.good.1.timestamp`],
      [{ [id]: { good: [at(1), at(2, [1])] } }, `${id}.good.1.values`],
      [{ [id]: { good: [at(1), at(2, { value: {} })] } }, `${id}.good.1.values.value`],
      [{ [id]: { good: [at(1), at(2, { time: 1 })] } }, `${id}.good.1.values.time`],
      [{ [id]: { good: [at(1), at(2, { 'a,b': 1 })] } }, `${id}.good.1.values.a,b`],
      // Fields are joined by control characters, so this name would look like two names.
      [{ [id]: { good: [at(1), at(2, { 'a\tgood\nb': 1 })] } }, `${id}.good.1.values.a\tgood\nb`],
      [{ [id]: { good: [at(1), null] } }, `${id}.good.1`],
      [{ [id]: { good: at(1) } }, `${id}.good`],
      [{ [id]: [] }, id],
    ]
    for (const [body, path] of cases) {
      const answer = await put(admin, endpoint, body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.ok(answer.body.message.startsWith(`${path}: `), answer.body.message)
    }
    const fraction = await put(admin, endpoint, { [id]: { good: [at(1.5)] } })
    assert.match(fraction.body.message, /expected whole milliseconds/)
    for (const body of [[], null, 7, 'x']) assert.equal((await put(admin, endpoint, JSON.stringify(body))).status, 400)
    assert.deepEqual(await points(id), {})
  })

  test('a request with an unknown endpoint, or with an endpoint of another version, is rejected completely', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const other = await registerEndpoint(await unregisteredEndpoint())
    const missing = await put(admin, endpoint, { [endpoint.endpointId]: { a: [at(1)] }, nobody: { a: [at(1)] } })
    assert.deepEqual(
      [missing.status, missing.body.message],
      [404, 'There is no endpoint nobody, or the caller may not read it; nothing was stored'],
    )
    const rejected = await put(admin, endpoint, {
      [endpoint.endpointId]: { a: [at(1)] },
      [other.endpointId]: { a: [at(1)] },
    })
    assert.equal(rejected.status, 400)
    assert.ok(rejected.body.message.includes(other.versionName))
    assert.deepEqual(await points(endpoint.endpointId), {})
  })

  test('the endpoint id __proto__ gets the 404 of a missing endpoint', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const answer = await put(admin, endpoint, '{"__proto__": {"a": []}}')
    assert.deepEqual(
      [answer.status, answer.body.message],
      [404, 'There is no endpoint __proto__, or the caller may not read it; nothing was stored'],
    )
  })
})

suite('permission to write points', () => {
  const all = ['endpoint:read', 'endpoint:update', 'time-series:update']

  test('writing points needs endpoint:update and time-series:update on the endpoint', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const body = { [endpoint.endpointId]: { a: [at(1)] } }
    const as = (scopes: string[]) => waypost.as(aCaller({ on: { [`endpoint-${endpoint.endpointId}`]: scopes } }))
    assert.equal((await put(as(all), endpoint, body)).status, 204)
    assert.equal((await put(as(['endpoint:read']), endpoint, body)).status, 403)
    const half = await put(as(['endpoint:read', 'endpoint:update']), endpoint, body)
    assert.deepEqual([half.status, half.body.message.includes('time-series:update')], [403, true])
    assert.equal((await put(as(all), endpoint, {})).status, 404)
  })

  test('callers without access, or of another tenant, get the same 404 as for an unknown version or endpoint', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    const second = await registerEndpoint(endpoint)
    const body = { [endpoint.endpointId]: { a: [at(1)] } }
    const missing = (name: string) => `There is no application version ${name}, or the caller may not read it`
    for (const caller of [aCaller(), aTenantAdmin('other')]) {
      const answer = await put(waypost.as(caller), endpoint, body)
      assert.deepEqual([answer.status, answer.body.message], [404, missing(endpoint.versionName)])
    }
    assert.equal((await put(admin, { ...endpoint, versionName: 'no-such' }, body)).status, 404)
    const limited = waypost.as(aCaller({ on: { [`endpoint-${endpoint.endpointId}`]: all } }))
    const both = await put(limited, endpoint, { ...body, [second.endpointId]: { a: [at(1)] } })
    assert.deepEqual([both.status, both.body.message.includes(second.endpointId)], [404, true])
    assert.deepEqual(await points(endpoint.endpointId), {})
  })
})
