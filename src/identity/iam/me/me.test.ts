import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import {
  aBrowser,
  call,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  pkce,
  type Realm,
} from '../../../../test/harness/realms.ts'

let time = Date.now()
let waypost: IdentityPlatform
let realm: Realm
let client: ReturnType<typeof clientOf>

before(async () => {
  waypost = await openIdentity({ now: () => new Date(time) })
  realm = await waypost.addRealm('acme')
  await waypost.addRealm('other')
  client = clientOf(realm)
})

type Headers = Record<string, string>
const askWithToken =
  (token: string) =>
  (operation: string, body?: unknown, headers: Headers = {}) => {
    const [method, path] = operation.split(' ') as [string, string]
    return call(`${waypost.baseUrl}/iam/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }

/** Adds a user. Returns a function that sends requests with a token of a new login. */
async function aUser(username: string) {
  const { id } = await waypost.addUser('acme', username)
  return { id, ask: askWithToken((await client.logIn(username)).body.access_token) }
}

suite('the profile of the caller', () => {
  test('the profile of the caller has names, tenant, second factors and effective scopes of a user', async () => {
    const { id, ask } = await aUser('ann')
    const { status, body } = await ask('GET /me/profile')
    assert.equal(status, 200)
    assert.deepEqual(body, {
      tenantId: 'acme',
      tenantName: 'acme Works',
      subject: { type: 'user', id },
      username: 'ann',
      email: 'ann@example.org',
      firstName: 'Ada',
      lastName: 'Lovelace',
      roles: ['tenant-admin'],
      secondFactor: { rule: 'off', factors: [], recoveryCodes: 0 },
      scopes: [
        { scope: 'identity:user:read', on: 'tenant' },
        { scope: 'identity:user:update', on: 'tenant' },
      ],
    })
  })

  test('the profile of the caller lists the resources on which the caller has scopes, and has no personal data if the caller is a client', async () => {
    const caller = {
      tenantId: 'acme',
      subject: { type: 'client' as const, id: 'c' },
      roles: [],
      permissions: [
        { resource: 'platform-system', scopes: new Set(['platform:tenant:read']) },
        { resource: 'tenant-system', scopes: new Set(['application:read']) },
        { resource: 'endpoint-1', scopes: new Set(['endpoint:read']) },
      ],
    }
    const { body } = await waypost.as(caller)('GET /iam/api/v1/me/profile')
    assert.deepEqual(body.scopes, [
      { scope: 'application:read', on: 'tenant' },
      { scope: 'endpoint:read', on: 'resources' },
      { scope: 'platform:tenant:read', on: 'platform' },
    ])
    assert.equal(body.secondFactor, undefined)
    const every = { ...caller, permissions: [{ resource: 'endpoint-1', scopes: new Set(['*']) }] }
    const all = (await waypost.as(every)('GET /iam/api/v1/me/profile')).body.scopes
    assert.deepEqual([all.length, all[0].on], [waypost.kit.scopes.size, 'resources'])
  })
})

suite('sessions of the caller', () => {
  test('sessions of the caller are listed with client, program and times, and one session is marked as the present session', async () => {
    const { ask } = await aUser('bea')
    await client.logIn('bea')
    const { body } = await ask('GET /me/sessions')
    assert.equal(body.content.length, 2)
    assert.equal(body.content.filter(({ current }: { current: boolean }) => current).length, 1)
    for (const session of body.content) {
      assert.equal(session.clientId, realm.frontend)
      assert.equal(session.userAgent, 'node')
      assert.match(session.address, /127\.0\.0\.1|::1/)
      assert.equal(Math.abs(Date.parse(session.startedAt) - time) < 60_000, true)
      assert.ok(Date.parse(session.expiresAt) > time)
    }
  })

  test('sessions of the caller are ended one by one: the tokens of an ended session are invalid, the tokens of other sessions stay valid', async () => {
    const { ask } = await aUser('cyd')
    const other = (await client.logIn('cyd')).body
    const found = (await ask('GET /me/sessions')).body.content
    const { id } = found.find(({ current }: { current: boolean }) => !current)
    assert.equal((await ask(`DELETE /me/sessions/${id}`)).status, 204)
    assert.equal((await client.refresh(other.refresh_token)).status, 400)
    await eventually(async () => assert.equal((await askWithToken(other.access_token)('GET /me')).status, 401))
    assert.equal((await ask('GET /me/sessions')).body.content.length, 1)
    assert.equal((await ask(`DELETE /me/sessions/${id}`)).status, 404)
  })

  test('all sessions of the caller except the present session can be ended', async () => {
    const { ask } = await aUser('dora')
    const others = [(await client.logIn('dora')).body, (await client.logIn('dora')).body]
    assert.equal((await ask('DELETE /me/other-sessions')).status, 204)
    for (const { refresh_token: token } of others) assert.equal((await client.refresh(token)).status, 400)
    await eventually(async () => assert.equal((await askWithToken(others[0].access_token)('GET /me')).status, 401))
    const left = (await ask('GET /me/sessions')).body.content
    assert.deepEqual([left.length, left[0].current], [1, true])
  })

  test('when the session of a browser is ended, its cookie is invalid, and the next sign-in needs the password', async () => {
    const { ask } = await aUser('eve')
    const browser = aBrowser()
    const { challenge } = pkce()
    assert.ok((await browser.signIn(client.authUrl(challenge), 'eve')).searchParams.has('code'))
    const silently = () => browser.go(`${client.authUrl(challenge)}&prompt=none`)
    assert.match((await silently()).location, /code=/)
    const found = (await ask('GET /me/sessions')).body.content
    const { id } = found.find(({ current }: { current: boolean }) => !current)
    assert.equal((await ask(`DELETE /me/sessions/${id}`)).status, 204)
    assert.match((await silently()).location, /error=login_required/)
  })

  test('sessions of other users and tenants are not found', async () => {
    const { ask } = await aUser('fay')
    const victim = await aUser('gus')
    const { id } = (await victim.ask('GET /me/sessions')).body.content[0]
    const hidden = await ask(`DELETE /me/sessions/${id}`)
    const missing = await ask('DELETE /me/sessions/nothing')
    assert.deepEqual([hidden.status, hidden.text.replace(id, 'nothing')], [404, missing.text])
    assert.equal((await ask('DELETE /me/other-sessions')).status, 204)
    assert.equal((await victim.ask('GET /me')).status, 200)
  })

  test('sessions that have expired are not listed', async () => {
    const { ask } = await aUser('hana')
    const before = time
    time += 40 * 60_000
    const fresh = askWithToken((await client.logIn('hana')).body.access_token)
    assert.equal((await fresh('GET /me/sessions')).body.content.length, 1)
    time = before
    assert.equal((await ask('GET /me/sessions')).status, 200)
  })
})

suite('preferences', () => {
  const right = {
    zone: 'Europe/Berlin',
    language: 'de-AT',
    theme: 'dark',
    columns: { endpoints: ['id', 'metadata.name'] },
    views: [{ name: 'Silent', page: 'endpoints', query: 'sort=-lastActivity' }],
    other: { 'my tool': { deep: [1, null, '<b>'] } },
  }

  test('preferences are empty until the user stores preferences, which are then returned with an ETag', async () => {
    const { ask } = await aUser('ida')
    const empty = await ask('GET /me/preferences')
    assert.deepEqual([empty.status, empty.body], [200, {}])
    const put = await ask('PUT /me/preferences', { ...right, unknown: 1 }, { 'if-match': empty.headers.get('etag')! })
    assert.deepEqual([put.status, put.body], [200, right])
    const got = await ask('GET /me/preferences')
    assert.deepEqual([got.body, got.headers.get('etag')], [right, put.headers.get('etag')])
    const etag = got.headers.get('etag')!
    assert.equal((await ask('GET /me/preferences', undefined, { 'if-none-match': etag })).status, 304)
    const stale = await ask('PUT /me/preferences', {}, { 'if-match': empty.headers.get('etag')! })
    assert.equal(stale.status, 412)
    assert.deepEqual((await ask('GET /me/preferences')).body, right)
    assert.equal((await ask('PUT /me/preferences', {}, { 'if-match': etag })).status, 200)
  })

  test('when several requests write preferences with the same ETag, one request succeeds', async () => {
    const { ask } = await aUser('jana')
    const etag = (await ask('GET /me/preferences')).headers.get('etag')!
    const put = (theme: string) => ask('PUT /me/preferences', { theme }, { 'if-match': etag })
    const statuses = (await Promise.all(['dark', 'light', 'system'].map(put))).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, 412, 412])
  })

  test('preferences belong to one user and are deleted with the user', async () => {
    const { id, ask } = await aUser('kim')
    const { ask: otherUser } = await aUser('lea')
    assert.equal((await ask('PUT /me/preferences', { theme: 'dark' })).status, 200)
    assert.deepEqual((await otherUser('GET /me/preferences')).body, {})
    await waypost.kit.db.tx((sql) => waypost.identity.deleteUser(sql, 'acme', id))
    const rows = await waypost.kit.db.sql`select from identity.preferences where user_id = ${id}`
    assert.equal(rows.count, 0)
  })

  test('preferences that are invalid are rejected with the name of the field', async () => {
    const { ask } = await aUser('mia')
    for (const [body, field] of [
      [{ zone: 'Mars/Base' }, 'zone'],
      [{ zone: '' }, 'zone'],
      [{ zone: 5 }, 'zone'],
      [{ language: 'x'.repeat(40) }, 'language'],
      [{ language: 'de_AT' }, 'language'],
      [{ theme: 'pink' }, 'theme'],
      [{ columns: { a: 'b' } }, 'columns'],
      [{ columns: { a: ['x'.repeat(201)] } }, 'columns'],
      [{ views: [{ name: '', page: 'a', query: '' }] }, 'views'],
      [{ views: Array.from({ length: 201 }, () => right.views[0]) }, 'views'],
      [{ other: [] }, 'other'],
      [{ other: { a: 'x\0' } }, 'other'],
      [[], 'body'],
    ] as const) {
      const answer = await ask('PUT /me/preferences', body)
      assert.equal(answer.status, 400, `${JSON.stringify(body).slice(0, 80)}: ${answer.text}`)
      assert.ok(answer.body.message.includes(field), answer.body.message)
    }
    assert.equal((await ask('PUT /me/preferences', { other: { a: 'x'.repeat(70_000) } })).status, 413)
    assert.equal((await ask('PUT /me/preferences', '{"theme":')).status, 400)
    assert.deepEqual((await ask('GET /me/preferences')).body, {})
  })

  test('preferences and sessions are for users only', async () => {
    const machine = askWithToken((await client.serviceAccount()).body.access_token)
    for (const operation of [
      'GET /me/preferences',
      'GET /me/sessions',
      'DELETE /me/other-sessions',
      'DELETE /me/sessions/x',
    ])
      assert.equal((await machine(operation)).status, 403, operation)
    assert.equal((await machine('PUT /me/preferences', {})).status, 403)
    for (const path of ['profile', 'sessions', 'preferences'])
      assert.equal((await call(`${waypost.baseUrl}/iam/api/v1/me/${path}`)).status, 401, path)
  })
})
