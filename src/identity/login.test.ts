import assert from 'node:assert/strict'
import { createHash, createPublicKey } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import { before, test } from 'node:test'
import { decodeJwt, jwtVerify } from 'jose'
import { aTenantAdmin } from '../../test/harness/builders.ts'
import { freePort } from '../../test/harness/free-port.ts'
import {
  aBrowser,
  basic,
  call,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  password,
  pkce,
  type Realm,
} from '../../test/harness/realms.ts'

let waypost: IdentityPlatform
let base: string
let realm: Realm
let client: ReturnType<typeof clientOf>

before(async () => {
  waypost = await openIdentity()
  base = waypost.baseUrl
  const registered = ['https://app.example/in/*', 'com.example.app:/callback']
  realm = await waypost.addRealm('acme', {
    displayName: 'Acme <Works>',
    frontendClient: { id: 'acme-web', redirectUris: registered, webOrigins: ['https://app.example'] },
  })
  await waypost.addUser('acme', 'ada')
  client = clientOf(realm)
})

test('discovery contains the public address, for any Host and X-Forwarded headers', async () => {
  const wellKnown = `${realm.url}/.well-known/openid-configuration`
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
  const text = await new Promise<string>((resolve, reject) => {
    const request = http.get(wellKnown, { headers }, async (response) => resolve((await response.toArray()).join('')))
    request.on('error', reject)
  })
  assert.ok(!text.includes('evil'), text)
  const document = JSON.parse(text)
  assert.equal(document.issuer, realm.url)
  const endpoints = {
    token_endpoint: 'token',
    authorization_endpoint: 'auth',
    end_session_endpoint: 'logout',
    userinfo_endpoint: 'userinfo',
    jwks_uri: 'certs',
    revocation_endpoint: 'revoke',
    introspection_endpoint: 'token/introspect',
  }
  for (const [name, path] of Object.entries(endpoints)) assert.equal(document[name], client.at(path))
  assert.deepEqual(document.code_challenge_methods_supported, ['S256'])

  const absolute = await new Promise<string>((resolve) => {
    const socket = net.connect(Number(new URL(base).port), '127.0.0.1')
    const target = 'http://evil.example/auth/realms/acme/.well-known/openid-configuration'
    socket.write(`GET ${target} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
  })
  assert.ok(!absolute.includes('evil'), absolute)
  assert.equal((await call(wellKnown, { method: 'HEAD' })).status, 200)
})

test('the address of a realm shows its public key, as in Keycloak', async () => {
  for (const url of [realm.url, `${realm.url}/`]) {
    const { status, body, headers } = await call(url, { headers: { origin: 'https://anywhere.example' } })
    assert.deepEqual([status, headers.get('access-control-allow-origin')], [200, 'https://anywhere.example'])
    const { public_key, ...addresses } = body
    assert.deepEqual(addresses, {
      realm: 'acme',
      'token-service': `${realm.url}/protocol/openid-connect`,
      'account-service': `${realm.url}/account`,
      'tokens-not-before': 0,
    })
    const key = createPublicKey({ key: Buffer.from(public_key, 'base64'), format: 'der', type: 'spki' })
    const { payload } = await jwtVerify((await client.serviceAccount()).body.access_token, key)
    assert.equal(payload.iss, realm.url)
  }
  assert.equal((await call(realm.url, { method: 'HEAD' })).status, 200)
  assert.equal((await call(realm.url, { method: 'POST', body: new URLSearchParams({ a: 'b' }) })).status, 404)
  assert.equal((await call(`${realm.url}-none`)).status, 404)
})

test('a user signs in with a browser, is signed in to the next application, and signs out', async () => {
  const browser = aBrowser()
  const { verifier, challenge } = pkce()
  const first = await browser.go(client.authUrl(challenge, { response_mode: 'fragment' }))
  assert.equal(first.status, 303, first.text)
  assert.match(first.location, /^\/auth\/realms\/acme\/login\//)
  const page = await browser.go(base + first.location)
  assert.equal(page.status, 200)
  assert.match(page.text, /to Acme &lt;Works&gt;/)
  assert.match(page.text, /autocomplete="username"/)
  assert.match(page.text, /<label for="password">/)
  assert.match(page.headers.get('content-security-policy')!, /default-src 'none'; style-src 'sha256-/)
  assert.equal(page.headers.get('cache-control'), 'no-store')

  const wrong = await browser.go(base + first.location, { username: '"><b>ada', password: 'no' })
  assert.equal(wrong.status, 401)
  assert.match(wrong.text, /role="alert">The user name or the password is wrong/)
  assert.match(wrong.text, /value="&quot;&gt;&lt;b&gt;ada"/, 'the form must keep the username, escaped')
  assert.equal((await browser.go(base + first.location, { username: 'ada', password: '' })).status, 400)

  const right = await browser.go(base + first.location, { username: 'ada', password })
  assert.equal(right.status, 303, right.text)
  assert.ok(right.location.startsWith(`${client.at('auth')}/`), right.location)
  const back = await browser.go(right.location)
  assert.ok(back.location.startsWith(`${base}/console/callback#`), back.location)
  const result = new URLSearchParams(new URL(back.location).hash.slice(1))
  assert.deepEqual([result.get('state'), result.get('iss')], ['s1', realm.url])
  const code = { grant_type: 'authorization_code', client_id: realm.frontend, code: result.get('code')! }
  const exchange = { ...code, redirect_uri: `${base}/console/callback` }
  assert.equal((await client.token({ ...exchange, code_verifier: pkce().verifier })).status, 400)
  const tokens = await client.token({ ...exchange, code_verifier: verifier })
  assert.equal(tokens.status, 200, tokens.text)
  assert.equal(tokens.body.refresh_expires_in, 1800)
  const id = decodeJwt(tokens.body.id_token)
  assert.deepEqual([id.sid, id.nonce], [decodeJwt(tokens.body.access_token).sid, 'n1'])
  assert.equal((await client.userinfo(tokens.body.access_token)).status, 200)

  // The user has a session, so the next application needs no sign-in. This application uses a loopback address and response mode query.
  const again = pkce()
  const desktop = 'http://127.0.0.1:49152/cb'
  const known = await browser.go(client.authUrl(again.challenge, { response_mode: 'query', redirect_uri: desktop }))
  assert.ok(known.location.startsWith(`${desktop}?code=`), known.location)
  const next = { ...code, code: new URL(known.location).searchParams.get('code')!, redirect_uri: desktop }
  const others = await client.token({ ...next, code_verifier: again.verifier })
  assert.equal(others.status, 200, others.text)
  assert.match((await browser.go(client.authUrl(again.challenge, { prompt: 'none' }))).location, /code=/)
  const consent = await browser.go(client.authUrl(again.challenge, { prompt: 'consent' }))
  const resumed = await browser.go((await browser.go(base + consent.location)).location)
  assert.match(resumed.location, /code=/, resumed.text)

  const hint = { id_token_hint: tokens.body.id_token }
  const logOut = (query: Record<string, string>) => browser.go(`${client.at('logout')}?${new URLSearchParams(query)}`)
  assert.equal((await logOut({ ...hint, post_logout_redirect_uri: 'https://evil.example/' })).status, 400)
  const out = await logOut({ ...hint, post_logout_redirect_uri: `${base}/bye`, state: 'x' })
  assert.deepEqual([out.status, out.location], [302, `${base}/bye?state=x`])
  for (const { body } of [tokens, others]) assert.equal((await client.refresh(body.refresh_token)).status, 400)
  assert.match((await browser.go(client.authUrl(challenge, { prompt: 'none' }))).location, /error=login_required/)
})

test('the form_post page has the security headers of the sign-in page and may run only its own script', async () => {
  const browser = aBrowser()
  const { challenge } = pkce()
  const url = client.authUrl(challenge, { response_mode: 'form_post' })
  const login = await browser.go(base + (await browser.go(url)).location)
  const right = await browser.go(base + (await browser.go(url)).location, { username: 'ada', password })
  const page = await browser.go(right.location)
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /name="code"/)
  for (const name of ['x-frame-options', 'x-content-type-options', 'referrer-policy', 'cache-control'])
    assert.equal(page.headers.get(name), login.headers.get(name), name)
  const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(page.text) ?? []
  const policy = page.headers.get('content-security-policy')!
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.ok(policy.includes(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`), policy)
  assert.match((await browser.go(client.authUrl(challenge, { prompt: 'none' }))).location, /code=/)
})

test('an authorization code works once, and a second use ends the login of the first use', async () => {
  const { verifier, challenge } = pkce()
  const back = await aBrowser().signIn(client.authUrl(challenge), 'ada')
  const exchange = {
    grant_type: 'authorization_code',
    client_id: realm.frontend,
    code: back.searchParams.get('code')!,
    redirect_uri: `${base}/console/callback`,
    code_verifier: verifier,
  }
  const one = await client.token(exchange)
  assert.equal(one.status, 200, one.text)
  assert.equal((await client.token(exchange)).status, 400)
  assert.equal((await client.refresh(one.body.refresh_token)).status, 400)
})

test('without an id_token_hint the logout page asks for confirmation, without a script', async () => {
  const browser = aBrowser()
  await browser.signIn(client.authUrl(pkce().challenge), 'ada')
  const ask = await browser.go(client.at('logout'))
  assert.equal(ask.status, 200)
  assert.match(ask.text, /form="op\.logoutForm"/)
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(ask.text)![1]!
  const action = /action="([^"]+)"/.exec(ask.text)![1]!
  assert.equal(action, `${client.at('logout')}/confirm`)
  const done = await browser.go(action, { xsrf, logout: 'yes' })
  assert.equal(done.status, 303)
  const bye = await browser.go(done.location)
  assert.equal(bye.status, 200)
  assert.match(bye.text, /Signed out/)
  assert.match((await browser.go(client.authUrl(pkce().challenge, { prompt: 'none' }))).location, /login_required/)
})

test('sign-in and logout also accept POST of a form, as the standards require', async () => {
  const browser = aBrowser()
  const { searchParams: parameters } = new URL(client.authUrl(pkce().challenge))
  const posted = await browser.go(client.at('auth'), Object.fromEntries(parameters))
  assert.equal(posted.status, 303, posted.text)
  const callback = await browser.signIn(posted.location, 'ada')
  assert.equal(callback.searchParams.get('state'), 's1')
  const known = await browser.go(client.at('auth'), { ...Object.fromEntries(parameters), prompt: 'none' })
  assert.match(
    (await browser.go(known.location)).location,
    /[?#&]code=/,
    'the platform must recognise the session of the browser',
  )
  const twice = await browser.go(`${client.at('auth')}?state=s2`, Object.fromEntries(parameters))
  assert.match((await browser.go(twice.location)).location, /error=invalid_request/)

  const uri = `${base}/bye`
  const asked = await browser.go(client.at('logout'), { client_id: realm.frontend, post_logout_redirect_uri: uri })
  assert.equal(asked.status, 303, asked.text)
  assert.equal(new URL(asked.location).searchParams.get('post_logout_redirect_uri'), uri)
  assert.match((await browser.go(asked.location)).text, /form="op\.logoutForm"/)
  const empty = await call(client.at('auth'), { method: 'POST' })
  assert.equal((await browser.go(empty.headers.get('location')!)).status, 400)
})

test('redirects are allowed only to the base URL, loopback and registered addresses', async () => {
  const { challenge } = pkce()
  const ask = (redirect_uri: string) => aBrowser().go(client.authUrl(challenge, { redirect_uri }))
  const refused = [
    'https://evil.example/',
    `${base}.evil.example/`,
    'http://127.0.0.1@evil.example/',
    'http://127.0.0.1.evil.example/',
    'http://evil.example\\@127.0.0.1/',
    'javascript:alert(1)',
    'data:text/html,x',
    `${base}/x#y`,
    '//evil.example',
    'custom:x',
    'https://app.example/other',
    'https://app.example/in/../other',
    'https://app.example.evil.example/in/x',
    'http://app.example/in/x',
    'com.example.app:/callback/more',
  ]
  for (const uri of refused) {
    const answer = await ask(uri)
    assert.deepEqual([answer.status, answer.location], [400, ''], uri)
    assert.match(answer.text, /Sign-in not possible/)
  }
  const accepted = [
    'http://localhost:3000/cb',
    'http://[::1]:9/x',
    `${base}/any/path?q=1`,
    'http://127.0.0.1/',
    'https://app.example/in/x',
    'com.example.app:/callback',
  ]
  for (const uri of accepted) assert.equal((await ask(uri)).status, 303, uri)
  const without = new URL(client.authUrl(challenge))
  without.searchParams.delete('redirect_uri')
  for (const url of [without.href, `${client.authUrl(challenge)}&redirect_uri=x`]) {
    const answer = await aBrowser().go(url)
    assert.deepEqual([answer.status, answer.location], [400, ''], url)
  }
  assert.match((await aBrowser().go(without.href)).text, /redirect_uri/)
  assert.equal((await aBrowser().go(client.authUrl(challenge, { client_id: 'nobody' }))).status, 400)
  assert.match(
    (await aBrowser().go(client.authUrl(''))).location,
    /error=invalid_request/,
    'a request without PKCE must be rejected',
  )
  const plain = await aBrowser().go(client.authUrl(challenge, { code_challenge_method: 'plain' }))
  assert.match(plain.location, /error=invalid_request/)
})

test('an authorization request without a scope gets the default scopes, as in Keycloak', async () => {
  const redirect_uri = 'http://localhost:4000/cb'
  const { verifier: code_verifier, challenge } = pkce()
  const withoutScope = new URL(client.authUrl(challenge, { redirect_uri, state: 'a b+ä' }))
  for (const name of ['scope', 'nonce']) withoutScope.searchParams.delete(name)
  const emptyScope = `${withoutScope.href}&scope=`
  for (const url of [withoutScope.href, emptyScope]) {
    const { searchParams: result, href } = await aBrowser().signIn(url, 'ada')
    assert.equal(result.get('state'), 'a b+ä')
    const code = result.get('code') ?? assert.fail(href)
    const exchange = { grant_type: 'authorization_code', client_id: realm.frontend, code, redirect_uri, code_verifier }
    const { status, body, text } = await client.token(exchange)
    assert.deepEqual([status, body.scope, body.id_token], [200, 'profile email', undefined], text)
    assert.ok(body.refresh_token)
  }
})

test('a sign-in page that has expired, or that was opened in another browser, shows an error', async () => {
  const browser = aBrowser()
  const { location } = await browser.go(client.authUrl(pkce().challenge))
  const otherBrowser = await aBrowser().go(base + location, { username: 'ada', password })
  assert.equal(otherBrowser.status, 400)
  assert.match(otherBrowser.text, /This sign-in has expired/)
})

test('CORS allows only registered origins', async () => {
  const origins: [string, boolean][] = [
    [base, true],
    ['http://localhost:5173', true],
    ['https://app.example', true],
    ['https://evil.example', false],
    ['null', false],
  ]
  for (const [origin, allowed] of origins) {
    const expected = allowed ? origin : null
    const seen = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin')
    const asking = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,x-requested-with',
    }
    const preflight = await call(client.at('token'), { method: 'OPTIONS', headers: asking })
    assert.deepEqual([preflight.status, seen(preflight)], [204, expected], origin)
    const headersAllowed = preflight.headers.get('access-control-allow-headers')
    assert.equal(headersAllowed, allowed ? 'authorization,x-requested-with' : null, origin)
    const form = { grant_type: 'refresh_token', client_id: realm.frontend, refresh_token: 'x' }
    assert.equal(seen(await client.token(form, { origin })), expected, origin)
    const service = { grant_type: 'client_credentials', client_id: realm.backend, client_secret: realm.secret }
    const answer = await client.token(service, { origin })
    assert.deepEqual([answer.status, seen(answer)], [200, expected], origin)
    const wellKnown = await call(`${realm.url}/.well-known/openid-configuration`, { headers: { origin } })
    assert.equal(seen(wellKnown), origin)
  }
  assert.equal((await client.serviceAccount()).headers.get('access-control-allow-origin'), null)
})

test('if the base URL has https and a path, links have https, and cookies are secure and limited to the path of the realm', async () => {
  const port = await freePort()
  const outside = 'https://iot.example/wp'
  const other = await openIdentity({ port, environment: { WAYPOST_BASE_URL: outside } })
  const { frontend } = await other.addRealm('acme')
  const inside = `http://127.0.0.1:${port}/auth/realms/acme`
  const { body } = await call(`${inside}/.well-known/openid-configuration`)
  assert.equal(body.token_endpoint, `${outside}/auth/realms/acme/protocol/openid-connect/token`)
  const query = new URLSearchParams({
    client_id: frontend,
    response_type: 'code',
    redirect_uri: `${outside}/cb`,
    scope: 'openid',
    code_challenge: pkce().challenge,
    code_challenge_method: 'S256',
  })
  const auth = () => call(`${inside}/protocol/openid-connect/auth?${query}`)
  const answer = await auth()
  assert.match(answer.headers.get('location')!, /^\/wp\/auth\/realms\/acme\/login\//)
  for (const cookie of answer.headers.getSetCookie()) {
    assert.match(cookie, /; secure/)
    assert.match(cookie, /; httponly/)
    assert.match(cookie, /; samesite=lax/)
    assert.match(cookie, /path=\/wp\/auth\/realms\/acme\//)
  }
  for (const uri of ['https://iot.example/other', 'https://iot.example/wpx', 'http://iot.example/wp/cb']) {
    query.set('redirect_uri', uri)
    assert.equal((await auth()).status, 400, uri)
  }
})

test('every realm has a client for the console, which redirects only to the console and allows no password grant', async () => {
  const { challenge } = pkce()
  const ask = (redirect_uri: string) =>
    aBrowser().go(client.authUrl(challenge, { redirect_uri, client_id: 'waypost-console' }))
  assert.equal((await ask(`${base}/console/@/signed-in?to=x`)).status, 303)
  for (const uri of [
    `${base}/other`,
    `${base}/consolex`,
    'http://localhost:3000/console/x',
    'https://app.example/in/x',
  ])
    assert.equal((await ask(uri)).status, 400, uri)
  const { status, body } = await call(`${realm.url}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', client_id: 'waypost-console', username: 'ada', password: 'x' }),
  })
  assert.deepEqual([status, body.error], [400, 'unauthorized_client'])
})

test('a client may be allowed to sign in without PKCE', async () => {
  const withoutPkce = new URL(client.authUrl(pkce().challenge))
  withoutPkce.searchParams.delete('code_challenge')
  withoutPkce.searchParams.delete('code_challenge_method')
  const refused = await aBrowser().go(withoutPkce.href)
  assert.match(refused.location ?? '', /error=invalid_request/)
  const change = `PATCH /iam/api/v1/clients/${realm.frontend}`
  assert.equal((await waypost.as(aTenantAdmin('acme'))(change, { pkceRequired: false })).status, 200)
  const accepted = await aBrowser().go(withoutPkce.href)
  assert.match(accepted.location ?? '', /\/login\//)
})

test('a web application with a secret signs users in with the backend client, only at registered addresses', async () => {
  const redirect_uri = 'http://localhost:4100/callback'
  const { verifier: code_verifier, challenge } = pkce()
  const backend = { client_id: realm.backend, redirect_uri }
  const url = client.authUrl(challenge, backend)
  assert.equal((await aBrowser().go(url)).status, 400, 'no address is registered')
  const change = `PATCH /iam/api/v1/clients/${realm.backend}`
  const admin = waypost.as(aTenantAdmin('acme'))
  assert.equal((await admin(change, { redirectUris: [redirect_uri] })).status, 200)
  for (const unregistered of [`${base}/console/callback`, 'http://localhost:4101/callback', `${redirect_uri}/more`])
    assert.equal(
      (await aBrowser().go(client.authUrl(challenge, { ...backend, redirect_uri: unregistered }))).status,
      400,
    )

  const browser = aBrowser()
  const back = await browser.signIn(url, 'ada')
  const code = back.searchParams.get('code') ?? assert.fail(back.href)
  const exchange = { grant_type: 'authorization_code', code, redirect_uri, code_verifier }
  assert.equal((await client.token({ ...exchange, client_id: realm.backend })).status, 401, 'the secret is required')
  const tokens = await client.token(exchange, basic(realm.backend, realm.secret))
  assert.equal(tokens.status, 200, tokens.text)
  const { azp, preferred_username, realm_access } = decodeJwt<Record<string, unknown>>(tokens.body.access_token)
  assert.deepEqual([azp, preferred_username, realm_access], [realm.backend, 'ada', { roles: ['tenant-admin'] }])
  assert.equal((await client.userinfo(tokens.body.access_token)).body.preferred_username, 'ada')
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.body.refresh_token }
  const refreshed = await client.token({ ...refresh, client_id: realm.backend, client_secret: realm.secret })
  assert.equal(refreshed.status, 200, refreshed.text)
  const logout = { id_token_hint: tokens.body.id_token, post_logout_redirect_uri: redirect_uri }
  assert.equal((await browser.go(`${client.at('logout')}?${new URLSearchParams(logout)}`)).location, redirect_uri)

  assert.equal((await admin(change, { redirectUris: [] })).status, 200)
  assert.equal((await aBrowser().go(url)).status, 400, 'the address is no longer registered')
})
