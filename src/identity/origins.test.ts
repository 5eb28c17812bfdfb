import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { call, clientOf, type IdentityPlatform, openIdentity, type Realm } from '../../test/harness/realms.ts'

let waypost: IdentityPlatform
let acme: Realm
let globex: Realm

before(async () => {
  waypost = await openIdentity({ environment: { WAYPOST_CORS_ORIGINS: 'https://console.example' } })
  acme = await waypost.addRealm('acme', {
    frontendClient: {
      id: 'acme-web',
      redirectUris: ['https://in.acme.example/signed-in/*', 'com.acme.app:/callback'],
      webOrigins: ['https://app.acme.example'],
    },
  })
  globex = await waypost.addRealm('globex', {
    frontendClient: { id: 'globex-web', redirectUris: [], webOrigins: ['https://globex.example'] },
  })
})

const usersOf = async (realm: Realm, origin: string) => {
  const token = (await clientOf(realm).serviceAccount()).body.access_token
  return await call(`${waypost.baseUrl}/iam/api/v1/users`, { headers: { origin, authorization: `Bearer ${token}` } })
}
const preflight = (origin: string, path = '/iam/api/v1/users', headers = 'authorization, if-match') =>
  call(waypost.baseUrl + path, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': headers },
  })
const allowedIn = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin')

suite('a page of another origin', () => {
  test('a page of another origin may call the platform only for the tenant that registered the origin or a redirect address of the origin', async () => {
    for (const origin of ['https://app.acme.example', 'https://in.acme.example']) {
      const usersResponse = await usersOf(acme, origin)
      assert.deepEqual([usersResponse.status, allowedIn(usersResponse)], [200, origin])
      assert.match(usersResponse.headers.get('access-control-expose-headers')!, /\betag\b.*\blocation\b/)
      assert.equal(usersResponse.headers.get('access-control-allow-credentials'), null)
      const other = await usersOf(globex, origin)
      assert.deepEqual([other.status, allowedIn(other)], [200, null])
    }
  })

  test('a page of another origin may call the platform for every tenant if the installation allows its origin', async () => {
    for (const realm of [acme, globex])
      assert.equal(allowedIn(await usersOf(realm, 'https://console.example')), 'https://console.example')
  })

  test('a page of another origin is not allowed to read responses if no tenant has registered its origin', async () => {
    for (const origin of ['https://evil.example', 'https://app.acme.example.evil.example', 'null']) {
      assert.equal(allowedIn(await usersOf(acme, origin)), null)
      const response = await preflight(origin)
      assert.deepEqual([response.status, allowedIn(response)], [204, null])
    }
  })

  test('a page of another origin can send preflight requests, on every path and without credentials', async () => {
    for (const path of ['/iam/api/v1/users', '/api/v1/applications/unknown', '/kp1/v1/dcx/token/json']) {
      const response = await eventually(async () => {
        const { status, headers } = await preflight('https://globex.example', path)
        assert.equal(allowedIn({ headers }), 'https://globex.example')
        return { status, headers }
      })
      assert.equal(response.status, 204)
      assert.match(response.headers.get('access-control-allow-methods')!, /PUT.*DELETE/)
      assert.equal(response.headers.get('access-control-allow-headers'), 'authorization, if-match')
      assert.equal(response.headers.get('vary'), 'Origin')
    }
    const injected = await preflight('https://globex.example', '/iam/api/v1/users', 'a b')
    assert.equal(injected.headers.get('access-control-allow-headers'), null)
  })

  test('a page of another origin can read why a request was rejected', async () => {
    const refused = await call(`${waypost.baseUrl}/iam/api/v1/users`, { headers: { origin: 'https://globex.example' } })
    assert.deepEqual([refused.status, allowedIn(refused)], [401, 'https://globex.example'])
  })

  test('a page of another origin may send cookies to the token endpoint of its realm only', async () => {
    const form = { grant_type: 'refresh_token', client_id: acme.frontend, refresh_token: 'x' }
    const response = await clientOf(acme).token(form, { origin: 'https://app.acme.example' })
    assert.equal(response.headers.get('access-control-allow-credentials'), 'true')
    const other = await clientOf(globex).token(form, { origin: 'https://app.acme.example' })
    assert.deepEqual([allowedIn(other), other.headers.get('access-control-allow-credentials')], [null, null])
  })
})

test('if only the entry * allows an origin, the origin cannot send requests with cookies', async () => {
  const open = await waypost.addRealm('open', {
    frontendClient: { id: 'open-web', redirectUris: [], webOrigins: ['*'] },
  })
  const form = { grant_type: 'refresh_token', client_id: open.frontend, refresh_token: 'x' }
  const { headers } = await clientOf(open).token(form, { origin: 'https://any.example' })
  assert.deepEqual(
    [headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials')],
    ['https://any.example', null],
  )
})
