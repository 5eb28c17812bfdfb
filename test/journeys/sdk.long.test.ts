/** The SDK against the real program: logins, files, live data and devices. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { connect, type Device, type DeviceOptions } from '../../sdk/src/device/index.ts'
import { type Auth, createClient, WaypostError } from '../../sdk/src/index.ts'
import { finishLogin, startLogin } from '../../sdk/src/pkce.ts'
import { afterAllTests } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'

let platform: RunningPlatform
let backend: Extract<Auth, { clientSecret: string }>
before(async () => {
  platform = await startPlatform()
  const { tenantId, backendClient } = platform.bootstrap.default
  backend = { tenant: tenantId, clientId: backendClient.id, clientSecret: backendClient.secret }
})

/** Returns a client, and the list of requests that it has sent. */
function aClient(auth: Auth, more: { fetch?: typeof fetch } = {}) {
  const requests: string[] = []
  const client = createClient({
    url: platform.baseUrl,
    auth,
    fetch: (input, init) => {
      requests.push(`${init?.method} ${new URL(String(input)).pathname}`)
      return (more.fetch ?? fetch)(input, init)
    },
  })
  return { client, requests }
}

let count = 0
async function anApplication() {
  const { client } = aClient(backend)
  const name = `sdk-${++count}`
  await client.applications.create({ body: { name } })
  await client.applications.versions.create({ appName: name, body: { nameSuffix: 'v1' } })
  return { client, name, version: `${name}-v1` }
}
async function anEndpoint() {
  const application = await anApplication()
  const { body } = await application.client.endpoints.create({ body: { appVersion: { name: application.version } } })
  return { ...application, endpointId: body.endpointId, token: body.token }
}

suite('logins', () => {
  test('many simultaneous calls of one client log in once', async () => {
    const { client, requests } = aClient(backend)
    await Promise.all(Array.from({ length: 20 }, () => client.me.get()))
    assert.equal(requests.filter((one) => one.endsWith('/token')).length, 1)
    assert.equal(requests.length, 21)
  })

  test('when the platform rejects the token of many simultaneous calls, the SDK renews the token once and sends all requests again', async () => {
    let rejected: string | undefined
    const { client, requests } = aClient(backend, {
      fetch: (input, init) => {
        const headers = init?.headers as Record<string, string>
        rejected ??= headers.authorization
        const isRejected = rejected !== undefined && headers.authorization === rejected
        return fetch(input, isRejected ? { ...init, headers: { ...headers, authorization: 'Bearer x' } } : init)
      },
    })
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.me.get()))
    assert.ok(answers.every(({ status, attempts }) => status === 200 && attempts === 2))
    assert.equal(requests.filter((one) => one.endsWith('/token')).length, 2)
  })

  test('a client can log in with an API key, a password, or a function that returns a token', async () => {
    const { client } = aClient(backend)
    const key = (await client.apiKeys.create({ body: { name: 'sdk' } })).body.key
    assert.equal((await aClient({ apiKey: key }).client.me.get()).status, 200)
    const { admin } = platform.bootstrap.default
    const byPassword: Auth = { tenant: backend.tenant, username: admin.username, password: admin.password! }
    assert.equal((await aClient(byPassword).client.me.get()).status, 200)
    const { body } = await client.openid.tokens.create({
      tenant_id: backend.tenant,
      body: { grant_type: 'client_credentials', client_id: backend.clientId, client_secret: backend.clientSecret },
    })
    const token = (body as { access_token: string }).access_token
    assert.equal((await aClient(() => token).client.me.get()).status, 200)
  })

  test('a login with wrong credentials fails with the status of the login request', async () => {
    const { client } = aClient({ ...backend, clientSecret: 'wrong' })
    await assert.rejects(
      client.me.get(),
      (error: WaypostError) => error instanceof WaypostError && error.status === 401,
    )
  })

  test('a login with the browser starts at the realm, and rejects a response that belongs to another login', async () => {
    const login = await startLogin({
      url: platform.baseUrl,
      tenant: backend.tenant,
      redirectUri: 'http://127.0.0.1:1/',
    })
    const page = await fetch(login.address, { redirect: 'manual' })
    assert.equal(page.status, 303)
    await assert.rejects(finishLogin(login, 'http://127.0.0.1:1/?code=a&state=other'), { code: 'login_failed' })
  })
})

suite('data', () => {
  test('a list of endpoints is read page by page, with its total', async () => {
    const { client, name, version } = await anApplication()
    for (let number = 0; number < 7; number++)
      await client.endpoints.create({ body: { appVersion: { name: version }, endpointId: `${name}-${number}` } })
    const list = client.endpoints.list({ applicationName: name, limit: 3 })
    const ids: string[] = []
    for await (const { endpointId } of list) ids.push(endpointId)
    assert.deepEqual(
      ids,
      [0, 1, 2, 3, 4, 5, 6].map((number) => `${name}-${number}`),
    )
    assert.equal(await list.total, 7)
  })

  test('an update with an old ETag is rejected and overwrites nothing', async () => {
    const { client } = await anApplication()
    const type = await client.assetTypes.create({
      body: { displayName: `Room ${++count}`, definitionJsonSchema: '{"type":"object"}' },
    })
    const created = await client.assets.create({ body: { assetTypeId: type.body.id, definition: '{"floor":1}' } })
    const args = { assetId: created.body.id }
    const { etag } = await client.assets.get(args)
    const unchanged = await client.assets.get(args, { ifNoneMatch: etag! })
    assert.equal(unchanged.status, 304)
    const first = await client.assets.update({ ...args, body: { definition: '{"floor":2}' } }, { ifMatch: etag! })
    const second = await client.assets.update({ ...args, body: { definition: '{"floor":3}' } }, { ifMatch: etag! })
    assert.deepEqual([first.status, second.status], [204, 412])
  })

  test('an error names its field, its code and its correlation id', async () => {
    const { client } = await anApplication()
    const failed = client.endpoints.create({ body: { appVersion: { name: 5 as never } } })
    await assert.rejects(failed, ({ status, code, field, correlationId, operation }: WaypostError) => {
      assert.deepEqual([status, code, operation], [400, 'invalid_request', 'endpoints.create'])
      assert.ok(field?.includes('name') && correlationId !== undefined, field)
      return true
    })
  })

  test('live data begins with the newest points, continues after the connection broke, and loses nothing', async () => {
    const { client: direct, name, endpointId, token, version } = await anEndpoint()
    await direct.devices.messages.send({
      appVersionName: version,
      extension: 'dcx',
      token,
      resource: 'json',
      body: { t: 1 },
    })
    const streams: AbortController[] = []
    const { client } = aClient(backend, {
      fetch: async (input, init) => {
        if (!String(input).includes('/live')) return fetch(input, init)
        const breaker = new AbortController()
        streams.push(breaker)
        return fetch(input, { ...init, signal: AbortSignal.any([init!.signal!, breaker.signal]) })
      },
    })
    const seen: unknown[] = []
    const controller = new AbortController()
    const reading = (async () => {
      for await (const event of client.live({ applicationName: name, endpointId, initial: true }, controller)) {
        if (event.type !== 'points') seen.push(event.type)
        else for (const { values } of event.points[endpointId]?.['auto~t'] ?? []) seen.push(values.value)
      }
    })()
    const points = () => [...new Set(seen.filter((one) => typeof one === 'number'))]
    await eventually(() => assert.deepEqual(points(), [1]))
    streams[0]!.abort()
    await direct.devices.messages.send({
      appVersionName: version,
      extension: 'dcx',
      token,
      resource: 'json',
      body: { t: 2 },
    })
    await eventually(() => assert.deepEqual(points(), [1, 2]))
    assert.ok(seen.includes('interrupted'))
    assert.ok(!seen.includes('gap'))
    controller.abort()
    await reading
  })
})

suite('devices', () => {
  /** Connects a device and closes it after the tests. */
  async function aDevice(options: Omit<DeviceOptions, 'url'> & { url: string }): Promise<Device> {
    const device = await connect({ pollMs: 100, httpUrl: platform.baseUrl, ...options })
    afterAllTests(() => device.close())
    return device
  }

  for (const protocol of ['HTTP', 'MQTT'] as const)
    test(`a device over ${protocol} sends samples, metadata and files, and processes commands and configurations`, async () => {
      const { client, name, version, token, endpointId } = await anEndpoint()
      const url = protocol === 'HTTP' ? platform.baseUrl : platform.mqttUrl
      const configurations: unknown[] = []
      const device = await aDevice({
        url,
        version,
        token,
        onCommand: ({ type, payload }) => ({ type, payload }),
        onConfiguration: ({ config }) => void configurations.push(config),
      })
      await device.sample({ temperature: 21.5 })
      await device.sample([{ timestamp: '2026-01-02T03:04:05Z', temperature: 20 }, { temperature: 22 }])
      const { body: last } = await client.timeSeries.last.get({
        applicationName: name,
        timeSeriesName: 'auto~temperature',
      })
      assert.equal(JSON.stringify(last).includes('"value":22'), true, JSON.stringify(last))
      await device.metadata.update({ firmware: '1.0.0', city: 'Kyiv' })
      await device.metadata.delete(['city'])
      assert.equal((await device.metadata.get(['firmware'])).firmware, '1.0.0')
      await assert.rejects(device.request('epmx', 'update/keys', {}), ({ status }: WaypostError) => status === 400)
      await device.uploadFile('night.log', 'all quiet')
      const file = await client.files.download({ appName: name, endpointId, filename: 'night.log' })
      assert.equal(file.status, 200)
      assert.equal(await new Response(file.body).text(), 'all quiet')
      await client.configurations.endpoints.update({ endpointId, appVersionName: version, body: { every: 5 } })
      await eventually(() => assert.deepEqual(configurations, [{ every: 5 }]))
      const result = await client.commands.send({
        endpointId,
        commandType: 'blink',
        awaitTimeout: 20,
        body: { times: 3 },
      })
      assert.equal(result.status, 200)
      assert.deepEqual(result.body, { type: 'blink', payload: { times: 3 } })
    })

  test('a device without a connection queues a limited number of messages, and sends them when it is connected', async () => {
    const { client, name, version, token } = await anEndpoint()
    let online = false
    const offline = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })
    const device = await aDevice({
      url: platform.baseUrl,
      version,
      token,
      queueMax: 3,
      fetch: (input, init) => (online ? fetch(input, init) : Promise.reject(offline)),
    })
    const outcomes = [1, 2, 3, 4, 5].map((level) =>
      device.sample({ level }).then(
        () => 'stored',
        ({ code }: WaypostError) => code,
      ),
    )
    await eventually(() => assert.ok(!device.connected))
    online = true
    const known = await Promise.all(outcomes)
    assert.equal(known.filter((one) => one === 'queue_full').length, 2)
    assert.deepEqual(known.slice(2), ['stored', 'stored', 'stored'])
    const { body } = await client.timeSeries.last.get({ applicationName: name, timeSeriesName: 'auto~level' })
    assert.match(JSON.stringify(body), /"value":5/)
  })
})
