import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import {
  basic,
  call,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  password,
  type Realm,
} from '../../test/harness/realms.ts'
import { createCore } from './core.ts'

let waypost: IdentityPlatform
let realm: Realm
let client: ReturnType<typeof clientOf>
let ada: { id: string }

before(async () => {
  waypost = await openIdentity()
  realm = await waypost.addRealm('acme')
  ada = await waypost.addUser('acme', 'ada')
  client = clientOf(realm)
})

test('a service account gets a token with form fields and with HTTP Basic', async () => {
  const { backend, secret } = realm
  const keys = createRemoteJWKSet(new URL(client.at('certs')))
  for (const answer of [
    await client.token({ grant_type: 'client_credentials', client_id: backend, client_secret: secret }),
    await client.token({ grant_type: 'client_credentials' }, basic(backend, secret)),
    await client.token({ grant_type: 'client_credentials', client_id: backend }, basic(backend, secret)),
  ]) {
    assert.equal(answer.status, 200, answer.text)
    const cacheHeaders = ['cache-control', 'pragma'].map((name) => answer.headers.get(name))
    assert.deepEqual(cacheHeaders, ['no-store', 'no-cache'])
    const { access_token, ...rest } = answer.body
    assert.deepEqual(rest, { expires_in: 300, refresh_expires_in: 0, token_type: 'Bearer', scope: 'profile email' })
    const { payload, protectedHeader } = await jwtVerify(access_token, keys, { issuer: realm.url })
    assert.equal(protectedHeader.alg, 'RS256')
    assert.ok(protectedHeader.kid)
    assert.equal(payload.exp! - payload.iat!, 300)
    assert.deepEqual(
      { azp: payload.azp, typ: payload.typ, roles: payload.realm_access, aud: payload.aud },
      { azp: backend, typ: 'Bearer', roles: { roles: ['service'] }, aud: 'account' },
    )
    const { body } = await client.introspect(access_token)
    assert.deepEqual(
      { active: body.active, client: body.client_id, sub: body.sub },
      { active: true, client: backend, sub: payload.sub },
    )
    assert.equal((await client.userinfo(access_token)).status, 401)
  }
})

test('a password grant returns the six fields that existing clients require, even if a public client sends a secret', async () => {
  const form = { grant_type: 'password', username: 'ada', password }
  for (const answer of [
    await client.logIn('ada'),
    await client.logIn('ada', { client_secret: 'whatever' }),
    await client.token(form, basic(realm.frontend, 'whatever')),
    await client.token(form, basic(realm.frontend.replaceAll('-', '%2D'), 'whatever')),
    await client.logIn('ada', { client_id: realm.backend, client_secret: realm.secret }),
    await client.logIn('Ada@Example.org'),
  ]) {
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(Object.keys(answer.body).sort(), [
      'access_token',
      'expires_in',
      'refresh_expires_in',
      'refresh_token',
      'scope',
      'token_type',
    ])
    assert.equal(answer.body.refresh_expires_in, 1800)
    // biome-ignore lint/suspicious/noExplicitAny: tests read claims of every shape
    const claims = decodeJwt(answer.body.access_token) as any
    assert.equal(claims.sub, ada.id)
    assert.equal(claims.preferred_username, 'ada')
    assert.equal(claims.email, 'ada@example.org')
    assert.equal(claims.email_verified, false)
    assert.ok(claims.jti && claims.sid && claims.aud)
    assert.deepEqual(claims.realm_access.roles, ['tenant-admin'])
    assert.deepEqual(claims.resource_access[claims.azp].roles, ['tenant-admin'])
  }
})

test('scope openid adds an id_token of the same login, and userinfo requires that scope', async () => {
  const { body } = await client.logIn('ada', { scope: 'openid' })
  const id = decodeJwt(body.id_token)
  assert.equal(id.aud, realm.frontend)
  assert.equal(id.sid, decodeJwt(body.access_token).sid)
  assert.equal(id.preferred_username, 'ada')
  const info = await client.userinfo(body.access_token)
  assert.equal(info.status, 200)
  assert.deepEqual([info.body.sub, info.body.name], [ada.id, 'Ada Lovelace'])
  assert.equal((await client.userinfo((await client.logIn('ada')).body.access_token)).status, 403)
  assert.equal((await client.userinfo('nonsense')).status, 401)
  assert.equal((await client.userinfo(body.id_token)).status, 401, 'an id_token must not be accepted as access token')
  assert.equal((await client.introspect(body.id_token)).body.active, false)
})

test('errors have RFC 6749 bodies and the statuses that clients expect', async () => {
  const { frontend, backend } = realm
  const cases: [Record<string, string>, Record<string, string>, number, string][] = [
    [{ grant_type: 'client_credentials', client_id: backend, client_secret: 'x' }, {}, 401, 'invalid_client'],
    [{ grant_type: 'client_credentials', client_id: backend }, {}, 401, 'invalid_client'],
    [{ grant_type: 'client_credentials', client_id: 'nobody', client_secret: 'x' }, {}, 401, 'invalid_client'],
    [{ grant_type: 'client_credentials' }, {}, 400, 'invalid_request'],
    [{ grant_type: 'client_credentials', client_id: frontend }, {}, 400, 'unauthorized_client'],
    [{ grant_type: 'nonsense', client_id: frontend }, {}, 400, 'unsupported_grant_type'],
    [{ client_id: frontend }, {}, 400, 'invalid_request'],
    [{ grant_type: 'password', client_id: frontend, username: 'ada', password: 'wrong' }, {}, 400, 'invalid_grant'],
    [{ grant_type: 'password', client_id: frontend, username: 'n\0', password: 'wrong' }, {}, 400, 'invalid_request'],
    [{ grant_type: 'password', client_id: frontend, username: 'ada' }, {}, 400, 'invalid_request'],
    [{ grant_type: 'refresh_token', client_id: frontend, refresh_token: 'x' }, {}, 400, 'invalid_grant'],
    [
      { grant_type: 'client_credentials', client_id: backend, client_secret: 'x' },
      { accept: 'text/html' },
      401,
      'invalid_client',
    ],
  ]
  for (const [form, headers, status, error] of cases) {
    const answer = await client.token(form, headers)
    assert.equal(answer.status, status, `${JSON.stringify(form)} ${answer.text}`)
    assert.equal(answer.body.error, error)
    assert.ok(answer.body.error_description)
    assert.ok(answer.headers.get('x-correlation-id'))
    assert.equal(answer.headers.get('x-waypost-error'), error)
  }
  const codeOf = async (path: string, headers: Record<string, string> = {}) => {
    const { status, headers: got } = await call(client.at('token').replace('protocol/openid-connect/token', path), {
      headers,
    })
    return [status, got.get('x-waypost-error')]
  }
  assert.deepEqual(await codeOf('nowhere'), [404, 'no_such_route'])
  assert.deepEqual(await codeOf('../none/protocol/openid-connect/token'), [404, 'no_such_realm'])
  assert.deepEqual(await codeOf('protocol/openid-connect/userinfo', { authorization: 'Bearer x' }), [
    401,
    'invalid_token',
  ])
  const page = { accept: 'text/html' }
  assert.deepEqual(await codeOf('protocol/openid-connect/auth?client_id=none', page), [400, 'invalid_client'])
  assert.deepEqual(await codeOf('protocol/openid-connect/certs'), [200, null])
  const json = await call(client.at('token'), {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(json.status, 400)
  const empty = await call(client.at('token'), { method: 'POST', body: new URLSearchParams() })
  assert.deepEqual([empty.status, empty.body.error], [400, 'invalid_request'])
  assert.doesNotMatch(empty.body.error_description, /content-type/, 'an empty form is a form')
  assert.equal((await client.logIn('a'.repeat(70_000))).status, 413)
  const anonymous = await call(client.at('token/introspect'), {
    method: 'POST',
    body: new URLSearchParams({ token: 'x' }),
  })
  assert.deepEqual([anonymous.status, anonymous.body.error], [401, 'invalid_client'])
  assert.match(anonymous.headers.get('www-authenticate')!, /^Basic realm=/)
  const twice = await call(client.at('token'), {
    method: 'POST',
    body: 'grant_type=password&grant_type=password&client_id=a&client_id=b&__proto__=x',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  assert.equal(twice.status, 400)
  assert.equal(
    (await call(`${waypost.baseUrl}/auth/realms/nope/protocol/openid-connect/token`, { method: 'POST' })).status,
    404,
  )
  const nothing = await call(`${realm.url}/nope`)
  assert.deepEqual([nothing.status, nothing.body.error], [404, 'not_found'])
})

test('each refresh returns a new refresh token, and the reuse of an old token ends only its own login', async () => {
  const first = (await client.logIn('ada', { scope: 'openid' })).body
  const other = (await client.logIn('ada')).body
  const second = await client.refresh(first.refresh_token, { client_secret: 'needless' })
  assert.equal(second.status, 200, second.text)
  assert.ok(second.body.id_token)
  assert.equal(second.body.refresh_expires_in, 1800)
  assert.notEqual(second.body.refresh_token, first.refresh_token)
  assert.equal((await client.introspect(first.refresh_token)).body.active, false)
  assert.equal((await client.introspect(second.body.refresh_token)).body.active, true)

  const reused = await client.refresh(first.refresh_token)
  assert.deepEqual([reused.status, reused.body.error], [400, 'invalid_grant'])
  assert.equal((await client.refresh(second.body.refresh_token)).status, 400)
  assert.equal((await client.introspect(second.body.access_token)).body.active, false)
  await assert.rejects(waypost.identity.authenticate({ authorization: `Bearer ${second.body.access_token}` }))

  const others = { client_id: realm.backend, client_secret: realm.secret }
  assert.equal(
    (await client.refresh(other.refresh_token, others)).status,
    400,
    'another client must not use the refresh token',
  )
  assert.equal((await client.refresh(other.refresh_token)).status, 200)
})

test('of eight concurrent uses of a refresh token at most one succeeds, and the login ends', async () => {
  const first = (await client.logIn('ada')).body
  const answers = await Promise.all(Array.from({ length: 8 }, () => client.refresh(first.refresh_token)))
  const won = answers.filter(({ status }) => status === 200)
  assert.ok(won.length <= 1, `${won.length}`)
  assert.ok(
    answers.every(({ status }) => status === 200 || status === 400),
    answers.map(({ text }) => text).join(),
  )
  for (const { body } of won) assert.equal((await client.refresh(body.refresh_token)).status, 400)
})

test('old and new refresh tokens of a login that are used at the same moment cause no server error', async () => {
  for (let round = 0; round < 4; round++) {
    const first = (await client.logIn('ada')).body
    const second = (await client.refresh(first.refresh_token)).body
    const tokens = [first.refresh_token, second.refresh_token]
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => client.refresh(tokens[index % 2])))
    assert.deepEqual(
      answers.filter(({ status }) => status >= 500).map(({ text }) => text),
      [],
    )
  }
})

test('the revocation of an access token keeps the login, and the revocation of a refresh token ends the login', async () => {
  const login = (await client.logIn('ada')).body
  assert.equal((await client.introspect(login.access_token)).body.active, true)
  assert.equal((await client.post('revoke', { token: login.access_token, client_id: realm.frontend })).status, 200)
  assert.equal((await client.introspect(login.access_token)).body.active, false)
  assert.equal((await client.userinfo(login.access_token)).status, 401)
  const next = await client.refresh(login.refresh_token)
  assert.equal(next.status, 200, 'the login must continue')
  await client.post('revoke', { token: next.body.refresh_token, client_id: realm.frontend })
  assert.equal((await client.introspect(next.body.refresh_token)).body.active, false)
  assert.equal((await client.introspect(next.body.access_token)).body.active, false)

  const service = (await client.serviceAccount()).body.access_token
  await client.post('revoke', { token: service, client_id: realm.frontend })
  assert.equal((await client.introspect(service)).body.active, true, 'another client must not revoke the token')
  await client.post('revoke', { token: service }, basic(realm.backend, realm.secret))
  assert.equal((await client.introspect(service)).body.active, false)
  assert.equal((await client.post('revoke', { token: 'unknown', client_id: realm.frontend })).status, 200)
})

test('a client ends a login by password grant with an id_token_hint or with the refresh token, as in Keycloak', async () => {
  const first = (await client.logIn('ada', { scope: 'openid' })).body
  const out = await call(`${client.at('logout')}?id_token_hint=${first.id_token}`)
  assert.equal(out.status, 302, out.text)
  assert.equal((await client.introspect(first.refresh_token)).body.active, false)
  assert.equal((await client.introspect(first.access_token)).body.active, false)
  const second = (await client.logIn('ada')).body
  const form = { client_id: realm.frontend, refresh_token: second.refresh_token }
  assert.equal((await client.post('logout', form)).status, 204)
  assert.equal((await client.introspect(second.refresh_token)).body.active, false)
})

test('the independent library openid-client works unchanged', async () => {
  const insecure = { execute: [oidc.allowInsecureRequests] }
  const service = await oidc.discovery(new URL(realm.url), realm.backend, realm.secret, undefined, insecure)
  const tokens = await oidc.clientCredentialsGrant(service)
  assert.equal((await oidc.tokenIntrospection(service, tokens.access_token)).active, true)
  await oidc.tokenRevocation(service, tokens.access_token)
  assert.equal((await oidc.tokenIntrospection(service, tokens.access_token)).active, false)

  const app = await oidc.discovery(new URL(realm.url), realm.frontend, undefined, oidc.None(), insecure)
  const login = await oidc.genericGrantRequest(app, 'password', { username: 'ada', password, scope: 'openid' })
  const next = await oidc.refreshTokenGrant(app, login.refresh_token!)
  assert.equal(next.claims()?.sub, ada.id)
  const info = await oidc.fetchUserInfo(app, next.access_token, ada.id)
  assert.equal(info.preferred_username, 'ada')
})

test('a new signing key ends no login', async () => {
  const login = (await client.logIn('ada', { scope: 'openid' })).body
  const { kid } = decodeProtectedHeader(login.access_token)
  await createCore(waypost.kit).signingKeys.rotate('acme')
  const certs = (await call(client.at('certs'))).body.keys as Record<string, string>[]
  assert.equal(certs.length, 2)
  assert.ok(certs.every(({ d, alg, use }) => !d && alg === 'RS256' && use === 'sig'))
  assert.equal((await client.userinfo(login.access_token)).status, 200)
  const next = await client.refresh(login.refresh_token)
  assert.equal(next.status, 200)
  assert.notEqual(decodeProtectedHeader(next.body.access_token).kid, kid)
  assert.notEqual(decodeProtectedHeader(next.body.id_token).kid, kid)
  assert.equal((await call(`${client.at('logout')}?id_token_hint=${login.id_token}`)).status, 302)
})

test('the database contains no refresh token, client secret or private key in plain text', async () => {
  const login = (await client.logIn('ada')).body
  const { sql } = waypost.kit.db
  const rows = await sql`select a::text as text from identity.artefacts a
    union all select c::text from identity.clients c union all select k::text from identity.signing_keys k`
  const all = rows.map(({ text }) => text as string).join('\n')
  assert.ok(!all.includes(login.refresh_token))
  assert.ok(!all.includes(realm.secret))
  assert.ok(!all.includes('"d"'))
})

test('an access token reads the profile of its user at the path account, as loadUserProfile of keycloak-js does', async () => {
  const profile = (token: string) => call(`${realm.url}/account`, { headers: { authorization: `Bearer ${token}` } })
  const { body: login } = await client.logIn('ada')
  const { status, body, headers } = await profile(login.access_token)
  assert.equal(status, 200)
  const { id, username, emailVerified } = body
  assert.deepEqual({ id, username, emailVerified }, { id: ada.id, username: 'ada', emailVerified: false })
  assert.equal(headers.get('cache-control'), 'no-store')
  const { backend, secret } = realm
  const service = await client.token({ grant_type: 'client_credentials' }, basic(backend, secret))
  for (const token of ['nonsense', service.body.access_token, login.refresh_token])
    assert.deepEqual([(await profile(token)).status, (await profile(token)).body.error], [401, 'invalid_token'])
  const page = await call(`${realm.url}/account`)
  assert.match(page.headers.get('content-type')!, /^text\/html/)
})

test('the response to a revocation is an empty JSON object, because simple-oauth2 accepts only JSON', async () => {
  const { backend, secret } = realm
  const form = new URLSearchParams({ token: 'nonsense' })
  const answer = await call(client.at('revoke'), { method: 'POST', body: form, headers: basic(backend, secret) })
  assert.deepEqual([answer.status, answer.text], [200, '{}'])
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
})

test('an old access token in the header does not disturb a request whose form names the client, as in Keycloak', async () => {
  const { backend, frontend, secret } = realm
  const bearer = { authorization: 'Bearer expired' }
  const credentials = { client_id: backend, client_secret: secret }
  const service = await client.token({ grant_type: 'client_credentials', ...credentials }, bearer)
  assert.equal(service.status, 200, service.text)
  const login = await client.token({ grant_type: 'password', client_id: frontend, username: 'ada', password }, bearer)
  const refresh = { grant_type: 'refresh_token', client_id: frontend, refresh_token: login.body.refresh_token }
  const renewed = await client.token(refresh, bearer)
  assert.equal(renewed.status, 200, renewed.text)
  const send = (path: string, form: Record<string, string>) =>
    call(client.at(path), { method: 'POST', body: new URLSearchParams(form), headers: bearer })
  const introspected = await send('token/introspect', { ...credentials, token: renewed.body.access_token })
  assert.equal(introspected.body.active, true, introspected.text)
  const loggedOut = await send('logout', { client_id: frontend, refresh_token: renewed.body.refresh_token })
  assert.equal(loggedOut.status, 204, loggedOut.text)
  assert.equal((await send('revoke', { ...credentials, token: service.body.access_token })).status, 200)

  const wrong = await client.token(
    { grant_type: 'client_credentials', client_id: backend, client_secret: 'no' },
    bearer,
  )
  assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
  assert.equal((await client.token({ grant_type: 'client_credentials' }, bearer)).status, 400)
  const malformed = await client.token({ grant_type: 'client_credentials' }, basic('%', secret))
  assert.deepEqual([malformed.status, malformed.body.error], [400, 'invalid_request'])
})
