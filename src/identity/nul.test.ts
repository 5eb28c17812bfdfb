/** Tests that NUL characters, which PostgreSQL cannot store, are an error of the caller (4xx) in every parameter. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
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
let realm: Realm
let client: ReturnType<typeof clientOf>
before(async () => {
  waypost = await openIdentity()
  realm = await waypost.addRealm('acme')
  client = clientOf(realm)
  await waypost.addUser('acme', 'ada')
})

const names = ['state', 'nonce', 'login_hint', 'ui_locales', 'acr_values', 'claims_locales', 'display', 'claims', 'x']

test('NUL in a parameter of a sign-in is answered with 400', async () => {
  for (const name of [...names, 'client_id', 'redirect_uri', 'scope', 'a\0b']) {
    const url = client.authUrl(pkce().challenge, { [name]: 'a\0b' })
    const answer = await call(url)
    assert.equal(answer.status, 400, `${name}: ${answer.text}`)
    assert.equal(answer.body.error, 'invalid_request')
    assert.ok(answer.body.error_description)
    assert.equal((await call(url, { headers: { accept: 'text/html' } })).status, 400)
    const posted = await call(client.at('auth'), { method: 'POST', body: new URL(url).searchParams })
    assert.equal(posted.status, 400, posted.text)
  }
  assert.equal(
    (await call(client.authUrl(pkce().challenge, { state: 'a%00b' }))).status,
    303,
    'an encoded text other than NUL must be accepted',
  )
})

test('a method that no path of a realm has is answered in the format of OAuth 2.0', async () => {
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const answer = await call(client.at('token'), { method })
    assert.equal(answer.status, 404)
    assert.deepEqual(Object.keys(answer.body), ['error', 'error_description'])
    assert.equal(answer.body.error, 'not_found')
  }
})

test('NUL in a form or a path is rejected', async () => {
  const form = { grant_type: 'password', client_id: realm.frontend, username: 'ada', password }
  for (const field of [
    'grant_type',
    'client_id',
    'username',
    'password',
    'scope',
    'code',
    'refresh_token',
    'client_secret',
  ])
    assert.equal((await client.token({ ...form, [field]: 'a\0b' })).status, 400, field)
  for (const grant_type of ['authorization_code', 'refresh_token'])
    assert.equal((await client.token({ ...form, grant_type, code: '\0', refresh_token: '\0' })).status, 400)
  const raw = Buffer.from(`grant_type=password&client_id=${realm.frontend}&username=a\0&password=b`)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal((await call(client.at('token'), { method: 'POST', body: raw, headers })).status, 400)
  for (const path of ['token/introspect', 'revoke', 'logout']) {
    const answer = await client.post(path, { token: 'a\0b', id_token_hint: '\0' }, basic(realm.backend, realm.secret))
    assert.equal(answer.status, 400, path)
  }
  for (const path of ['login/a%00b', '%00', 'protocol/openid-connect/auth/%00'])
    assert.equal((await call(`${realm.url}/${path}`)).status, 400, path)
  assert.equal((await call(`${realm.url}%00/protocol/openid-connect/certs`)).status, 400)
  const strange = basic('a\0b', 'c\0d')
  const answer = await client.token({ grant_type: 'client_credentials' }, strange)
  assert.ok([400, 401].includes(answer.status), answer.text)
  const cookie = 'waypost_session=a%00b; waypost_session.sig=x; waypost_interaction=%00'
  assert.ok((await call(client.authUrl(pkce().challenge), { headers: { cookie } })).status < 500)
})
