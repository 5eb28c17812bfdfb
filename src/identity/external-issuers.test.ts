import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, test } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { aTenantAdmin } from '../../test/harness/builders.ts'
import { afterAllTests } from '../../test/harness/database.ts'
import { openRealms, type Realms } from '../../test/harness/iam.ts'
import { Unauthenticated } from '../kernel/errors.ts'
import { createExternalIssuers, rolesOf } from './external-issuers.ts'
import { isAccessToken } from './token-kind.ts'

const root = '/iam/api/v1'
const me = `GET ${root}/me`

/** Starts an OpenID Connect provider on a socket. It can return invalid responses. */
async function aProvider() {
  const keys: JWK[] = []
  const signers = new Map<string, CryptoKey>()
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url!)
    const answer = provider.answers[request.url!]
    if (answer === undefined) response.writeHead(404).end()
    else if (typeof answer === 'function') answer(response)
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  afterAllTests(async () => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realms/theirs`
  const provider = {
    issuer,
    requests,
    keys,
    answers: {
      '/realms/theirs/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/certs` },
      '/realms/theirs/certs': { keys },
    } as Record<string, unknown>,
    async addKey(kid: string, alg = 'ES256') {
      const { publicKey, privateKey } = await generateKeyPair(alg)
      keys.push({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' })
      signers.set(kid, privateKey)
    },
    token: (claims: Record<string, unknown> = {}, kid = 'one', { alg = 'ES256', seconds = 300 } = {}) =>
      new SignJWT({ sub: 'u-1', aud: 'waypost', preferred_username: 'zoe', typ: 'Bearer', ...claims })
        .setProtectedHeader({ alg, kid })
        .setIssuer((claims.iss as string) ?? issuer)
        .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
        .sign(signers.get(kid)!),
  }
  await provider.addKey('one')
  return provider
}
type Provider = Awaited<ReturnType<typeof aProvider>>

describe('tokens of an external issuer', () => {
  let waypost: Realms
  let provider: Provider
  let issuerId: string
  before(async () => {
    waypost = await openRealms({ environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on' } })
    await waypost.realm('acme')
    provider = await aProvider()
    issuerId = await register(provider)
  })
  const admin = () => waypost.as(aTenantAdmin('acme'))
  async function register({ issuer }: { issuer: string }, more: Record<string, string> = {}) {
    const created = await admin()(`POST ${root}/issuers`, { issuer, audience: 'waypost', ...more })
    assert.equal(created.status, 201, created.text)
    return created.body.id as string
  }
  const statusOf = async (token: string) => (await waypost.bearer(token)(me)).status

  test('a token belongs to the tenant that registered the issuer, and has only roles that this tenant defines', async () => {
    const { body } = await waypost.bearer(
      await provider.token({ realm_access: { roles: ['endpoint-reader', 'their-own', 'platform-admin'] } }),
    )(me)
    assert.deepEqual(body, {
      tenantId: 'acme',
      subject: { type: 'user', id: `${issuerId}:u-1` },
      username: 'zoe',
      roles: ['endpoint-reader'],
      permissions: [{ resource: 'tenant-system', scopes: ['endpoint:read'] }],
    })
  })

  test('invalid tokens are rejected', async () => {
    const good = await provider.token()
    assert.equal(await statusOf(good), 200)
    const [head, , signature] = good.split('.')
    const claims = Buffer.from(JSON.stringify({ iss: provider.issuer, sub: 'other', exp: 9999999999 })).toString(
      'base64url',
    )
    const shared = await new SignJWT({ sub: 'u-1' })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setIssuer(provider.issuer)
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(JSON.stringify(provider.keys[0])))
    const unregistered = await aProvider()
    const bad: [what: string, token: string][] = [
      ['another payload', `${head}.${claims}.${signature}`],
      ['no signature', `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`],
      ['a public key as a shared secret', shared],
      ['expired', await provider.token({}, 'one', { seconds: -10 })],
      ['not yet valid', await provider.token({ nbf: Math.floor(Date.now() / 1000) + 600 })],
      ['no subject', await provider.token({ sub: undefined })],
      ['an ID token', await provider.token({ typ: 'ID' })],
      ['an ID token of another provider', await provider.token({ typ: undefined, nonce: 'n' })],
      ['an ID token with a hash of its access token', await provider.token({ at_hash: 'x' })],
      ['an ID token without a type', await provider.token({ typ: undefined, auth_time: 1 })],
      ['a refresh token', await provider.token({ typ: 'Refresh' })],
      ['of an unregistered issuer', await unregistered.token()],
      ['signed by another provider with the name of the issuer', await unregistered.token({ iss: provider.issuer })],
    ]
    for (const [what, token] of bad) assert.equal(await statusOf(token), 401, what)
  })

  test('a token for another audience is rejected', async () => {
    const strict = await aProvider()
    await register(strict)
    assert.equal(await statusOf(await strict.token({ aud: undefined })), 401)
    assert.equal(await statusOf(await strict.token({ aud: 'account' })), 401)
    assert.equal(await statusOf(await strict.token({ aud: ['account', 'waypost'] })), 200)
  })

  test('if several tenants register one issuer, the audience of a token selects the tenant, and a later registration gets no tokens of an earlier registration', async () => {
    await waypost.realm('squatter')
    const shared = await aProvider()
    const other = waypost.as(aTenantAdmin('squatter'))
    const registerInOtherTenant = async (more: object) => {
      const created = await other(`POST ${root}/issuers`, { issuer: shared.issuer, ...more })
      assert.equal(created.status, 201, created.text)
      return created.body.id as string
    }
    let n = 0
    const ownerOf = async (aud?: string | string[]) =>
      (await waypost.bearer(await shared.token({ n: n++, ...(aud && { aud }) }))(me)).body.tenantId

    await register(shared, { audience: 'acme-app' })
    assert.equal(await ownerOf('acme-app'), 'acme')
    assert.equal(await ownerOf('else'), undefined)
    const taken = await other(`POST ${root}/issuers`, { issuer: shared.issuer, audience: 'acme-app' })
    assert.equal(taken.status, 409, taken.text)

    await registerInOtherTenant({ audience: 'their-app' })
    assert.equal(await ownerOf(['acme-app', 'account']), 'acme')
    assert.equal(await ownerOf('their-app'), 'squatter')
    assert.equal(await ownerOf(['their-app', 'acme-app']), 'acme', 'the first registration must win')
  })

  test('the keys of an issuer are fetched once, and for an unknown key id again after the cooldown', async () => {
    const rotating = await aProvider()
    await register(rotating)
    for (let n = 0; n < 5; n++) assert.equal(await statusOf(await rotating.token({ n })), 200)
    assert.equal(rotating.requests.length, 2)
    await rotating.addKey('two')
    // An unknown key id causes no further fetch before the cooldown is over.
    for (let n = 0; n < 5; n++) assert.equal(await statusOf(await rotating.token({ n }, 'two')), 401)
    assert.equal(rotating.requests.length, 2)

    const { kit } = waypost
    const withoutCooldown = createExternalIssuers(kit, { failureMs: 0, rotationMs: 0 })
    await withoutCooldown.verify(await rotating.token(), rotating.issuer)
    await rotating.addKey('three')
    const { tenantId } = await withoutCooldown.verify(await rotating.token({}, 'three'), rotating.issuer)
    assert.equal(tenantId, 'acme')
  })

  test('tokens of a failing issuer are rejected, and the issuer gets at most two requests during the cooldown', async () => {
    const discovery = '/realms/theirs/.well-known/openid-configuration'
    const certs = '/realms/theirs/certs'
    const misbehaviour: [what: string, answers: (issuer: string) => Record<string, unknown>][] = [
      ['nothing there', () => ({})],
      ['no JSON', () => ({ [discovery]: (response: { end(text: string): void }) => response.end('<html>') })],
      ['null', () => ({ [discovery]: null })],
      [
        'another issuer',
        () => ({ [discovery]: { issuer: 'https://other.example', jwks_uri: 'https://other.example' } }),
      ],
      ['no keys', (issuer) => ({ [discovery]: { issuer } })],
      ['keys in a file', (issuer) => ({ [discovery]: { issuer, jwks_uri: 'file:///etc/passwd' } })],
      [
        'a text instead of keys',
        (issuer) => ({ [discovery]: { issuer, jwks_uri: `${issuer}/certs` }, [certs]: { keys: 'x' } }),
      ],
      ['too much', (issuer) => ({ [discovery]: { issuer, jwks_uri: `${issuer}/certs`, more: 'x'.repeat(300_000) } })],
    ]
    for (const [what, answers] of misbehaviour) {
      const odd = await aProvider()
      await register(odd)
      odd.answers = answers(odd.issuer)
      for (let n = 0; n < 3; n++) assert.equal(await statusOf(await odd.token({ n })), 401, what)
      assert.ok(odd.requests.length <= 2, `${what}: ${odd.requests.length} requests`)
    }
  })

  test('an external user has the permissions that administrators grant, and permissions on resources that the user created', async () => {
    const token = await provider.token({ sub: 'u-2' })
    const id = `${issuerId}:u-2`
    assert.deepEqual((await waypost.bearer(token)(me)).body.permissions, [])
    const grant = { subject: { type: 'user', id }, resource: 'endpoint-1', scopes: ['endpoint:read'] }
    assert.equal((await admin()(`POST ${root}/grants`, grant)).status, 201)
    assert.equal((await waypost.bearer(token)(me)).body.permissions.length, 1)
    const caller = (await waypost.authenticate(`Bearer ${token}`))!
    await waypost.kit.db.tx((sql) =>
      waypost.api.grantCreator(sql, { ...waypost.kit.system('acme'), caller }, 'endpoint-2'),
    )
    assert.equal((await waypost.bearer(token)(me)).body.permissions.length, 2)
    const unknown = { ...grant, subject: { type: 'user', id: 'nothing:u-2' } }
    assert.equal((await admin()(`POST ${root}/grants`, unknown)).status, 400)
  })

  test('external users cannot create API keys, because only their tokens contain their roles', async () => {
    const token = await provider.token({ sub: 'u-3', roles: ['tenant-admin'] })
    const answer = await waypost.bearer(token)(`POST ${root}/api-keys`, { name: 'x' })
    assert.equal(answer.status, 403, answer.text)
  })

  test('realms of the platform cannot be registered as external issuers', async () => {
    for (const issuer of ['http://waypost.test/auth/realms/acme', 'http://WAYPOST.test:80/', 'http://waypost.test']) {
      const answer = await admin()(`POST ${root}/issuers`, { issuer, audience: 'waypost' })
      assert.equal(answer.status, 400, issuer)
      assert.match(answer.body.message, /not of this platform/)
    }
  })

  test('tokens of a removed issuer are rejected immediately', async () => {
    const leaving = await aProvider()
    const id = await register(leaving)
    const token = await leaving.token()
    assert.equal(await statusOf(token), 200)
    assert.equal((await admin()(`DELETE ${root}/issuers/${id}`)).status, 204)
    assert.equal(await statusOf(token), 401)
  })

  test('the keys of an issuer on a private address are fetched only if the operator allows it', async () => {
    const { kit } = waypost
    const guarded = createExternalIssuers({ ...kit, platform: { ...kit.platform, allowPrivateAddresses: false } })
    const before = provider.requests.length
    await assert.rejects(guarded.verify(await provider.token(), provider.issuer), Unauthenticated.is)
    assert.equal(provider.requests.length, before)
  })
})

const claims: [claim: string | null, payload: Record<string, unknown>, roles: string[]][] = [
  [null, {}, []],
  [null, { realm_access: { roles: ['b', 'a', 'b'] }, roles: ['c'] }, ['a', 'b']],
  [null, { realm_access: 'x', roles: ['c'] }, ['c']],
  [null, { roles: 'a b,c' }, ['a', 'b', 'c']],
  ['groups', { groups: ['g'], roles: ['r'] }, ['g']],
  ['resource_access.app.roles', { resource_access: { app: { roles: ['r'] } } }, ['r']],
  ['https://acme.example/roles', { 'https://acme.example/roles': ['r'] }, ['r']],
  ['groups', { roles: ['r'] }, []],
  ['groups', { groups: [1, null, {}, '', 'ok', 'x'.repeat(300), 'a\nb'] }, ['ok']],
  ['constructor.name', {}, []],
  ['__proto__.roles', {}, []],
]
const kinds: [what: string, isAccess: boolean, claims: Record<string, unknown>, headerType?: string][] = [
  ['an access token with the required claims only', true, {}],
  ['Keycloak', true, { typ: 'Bearer', azp: 'app', acr: '1', auth_time: 1, nonce: 'n' }],
  ['Keycloak, ID token', false, { typ: 'ID', azp: 'app' }],
  ['RFC 9068', true, { client_id: 'app', auth_time: 1, nonce: 'n' }, 'at+jwt'],
  ['RFC 9068, the whole media type', true, { nonce: 'n' }, 'application/AT+JWT'],
  ['Auth0', true, { azp: 'app', scope: 'openid', gty: 'password' }, 'JWT'],
  ['Okta', true, { cid: 'app', scp: ['a'], auth_time: 1 }],
  ['Okta, ID token', false, { auth_time: 1, amr: ['pwd'], at_hash: 'x' }],
  ['Entra ID', true, { azp: 'app', scp: 'a', nonce: 'n' }],
  ['Entra ID, ID token', false, { nonce: 'n', preferred_username: 'zoe' }],
  ['Cognito', true, { token_use: 'access', client_id: 'app', auth_time: 1 }],
  ['Cognito, ID token', false, { token_use: 'id' }],
  ['an ID token that says when the user logged in', false, { auth_time: 1 }],
  ['an ID token for the client that it was issued to', false, { aud: ['waypost', 'other'], azp: 'waypost' }],
  ['an ID token with a hash of the state', false, { s_hash: 'x', scope: 'openid' }],
  ['a logout token', false, { events: {} }],
  ['a logout token by its header', false, {}, 'logout+jwt'],
]
for (const [what, isAccess, claims, headerType] of kinds)
  test(`${what}: the token is ${isAccess ? 'accepted' : 'no access token'}`, () => {
    assert.equal(isAccessToken(headerType, { sub: 'u-1', aud: 'waypost', ...claims }), isAccess)
  })

test('roles are read from the claim that the registration of the issuer names', () => {
  for (const [claim, payload, roles] of claims) assert.deepEqual(rolesOf(payload, claim), roles, String(claim))
})
