import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { before, test } from 'node:test'
import { decodeJwt, decodeProtectedHeader, exportSPKI, importJWK, SignJWT } from 'jose'
import { eventually } from '../../test/harness/eventually.ts'
import { freePort } from '../../test/harness/free-port.ts'
import {
  aBrowser,
  aRealm,
  basic,
  call,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  pkce,
} from '../../test/harness/realms.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'
import { startUndisturbedTime } from '../../test/harness/undisturbed-time.ts'
import type { ConnectionOptions } from '../kernel/db.ts'
import { createCore } from './core.ts'
import identity from './index.ts'

let connection: ConnectionOptions
let environment: Record<string, string>
let waypost: IdentityPlatform
let offsetMs = 0
const now = () => new Date(Date.now() + offsetMs)

before(async () => {
  connection = await migratedDatabase([identity])
  environment = { WAYPOST_MASTER_KEY: 'a master key of at least 32 characters' }
  waypost = await openIdentity({ connection, environment, now })
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const refused = (token: string, at = waypost) =>
  assert.rejects(at.identity.authenticate(bearer(token)), { code: 'unauthenticated' }, token)

test('a realm is reserved, built, rebuilt and deleted; a rebuild keeps its client secret and signing key', async () => {
  const { identity, kit } = waypost
  const names = { tenantId: 'built', frontendClientId: 'f', backendClientId: 'b' }
  const reserved = await kit.db.tx((sql) => identity.reserveRealm(sql, names))
  assert.equal(reserved.status, 'CREATING')
  assert.deepEqual(await kit.db.tx((sql) => identity.reserveRealm(sql, names)), reserved)
  const token = `${reserved.issuer}/protocol/openid-connect/token`
  const form = { grant_type: 'client_credentials', client_id: 'b', client_secret: reserved.backendClientSecret }
  const ask = () => call(token, { method: 'POST', body: new URLSearchParams(form) })
  assert.equal((await ask()).status, 401, 'a realm that is not available must reject tokens')

  const spec = aRealm('built', {
    frontendClient: { id: 'f', redirectUris: [], webOrigins: [] },
    backendClient: { id: 'b', roles: ['service'] },
    roles: [{ name: 'service', on: 'tenant', scopes: ['a:read', 'platform:tenant:read'] }],
    accessTokenSeconds: 120,
  })
  await kit.db.tx(async (sql) => {
    await identity.buildRealm(sql, spec)
    await identity.setRealmStatus(sql, 'built', 'AVAILABLE')
  })
  const first = await ask()
  assert.equal(first.body.expires_in, 120, first.text)
  const [role] = await kit.db.sql`select scopes, platform_scopes from identity.roles where tenant_id = 'built'`
  assert.deepEqual(
    role,
    { scopes: ['a:read'], platformScopes: [] },
    'a role outside of the realm platform must have no platform scopes',
  )

  await kit.db.tx((sql) => identity.buildRealm(sql, { ...spec, accessTokenSeconds: 60, roles: [] }))
  const second = await ask()
  assert.equal(second.body.expires_in, 60)
  const kid = (body: { access_token: string }) => decodeProtectedHeader(body.access_token).kid
  assert.equal(kid(second.body), kid(first.body))
  assert.equal((await identity.realm('built'))?.backendClientSecret, reserved.backendClientSecret)
  assert.equal((await kit.db.sql`select name from identity.roles where tenant_id = 'built'`).length, 0)

  await kit.db.tx((sql) => identity.setRealmStatus(sql, 'built', 'DELETED'))
  assert.equal(await identity.realm('built'), undefined)
  assert.equal((await ask()).status, 404)
  await refused(second.body.access_token)
  await kit.db.tx((sql) => identity.setRealmStatus(sql, 'built', 'DELETED'))
})

test('users are created, found and deleted, and the deletion of a user ends the logins of the user immediately', async () => {
  const { identity, kit } = waypost
  const realm = await waypost.addRealm('people')
  const ada = await waypost.addUser('people', 'ada')
  await waypost.addUser('people', 'bob')
  const again = await kit.db.tx((sql) => identity.createUser(sql, 'people', { username: 'ADA', roles: [] }))
  assert.equal(again, undefined)
  const generated = await kit.db.tx((sql) => identity.createUser(sql, 'people', { username: 'eve', roles: [] }))
  const eve = await clientOf(realm).logIn('eve', { password: generated!.password! })
  assert.equal(eve.status, 200, eve.text)
  const { count, users } = await identity.findUsers('people', { search: 'EXAMPLE.org', offset: 1, limit: null })
  assert.deepEqual([count, users.map(({ username }) => username)], [2, ['bob']])

  const login = (await clientOf(realm).logIn('ada')).body
  await identity.authenticate(bearer(login.access_token))
  assert.equal(await kit.db.tx((sql) => identity.deleteUser(sql, 'people', ada.id)), true)
  await refused(login.access_token)
  assert.equal((await clientOf(realm).refresh(login.refresh_token)).status, 400)
  assert.equal((await clientOf(realm).logIn('ada')).status, 400)
  assert.equal(await kit.db.tx((sql) => identity.deleteUser(sql, 'people', ada.id)), false)
})

test('when the logins of a user are ended, the session of the browser is also ended', async () => {
  const realm = await waypost.addRealm('sessions')
  const ada = await waypost.addUser('sessions', 'ada')
  const browser = aBrowser()
  await browser.signIn(clientOf(realm).authUrl(pkce().challenge), 'ada')
  const silently = () => browser.go(clientOf(realm).authUrl(pkce().challenge, { prompt: 'none' }))
  assert.match((await silently()).location, /code=/)
  const { sessions } = createCore(waypost.kit)
  await waypost.kit.db.tx((sql) => sessions.endSessions(sql, 'sessions', { userId: ada.id }))
  assert.match((await silently()).location, /login_required/)
})

test('forged tokens are rejected', async () => {
  const realm = await waypost.addRealm('forged')
  const other = await waypost.addRealm('stranger')
  const token: string = (await clientOf(realm).serviceAccount()).body.access_token
  const foreign: string = (await clientOf(other).serviceAccount()).body.access_token
  await waypost.identity.authenticate(bearer(token))
  const header = decodeProtectedHeader(token)
  const claims = decodeJwt(token)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const [first, , signature] = token.split('.') as [string, string, string]

  await refused(`${first}.${part({ ...claims, sub: 'x' })}.${signature}`)
  await refused(`${part({ ...header, alg: 'none' })}.${part(claims)}.`)
  const own = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const signedBy = (key: typeof own, changes = {}, kid = header.kid!) =>
    new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg: 'RS256', kid }).sign(key)
  await refused(await signedBy(own))

  const [jwk] = (await call(clientOf(realm).at('certs'))).body.keys
  const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as never)
  const unsigned = `${part({ alg: 'HS256', kid: header.kid })}.${part(claims)}`
  await refused(`${unsigned}.${createHmac('sha256', pem).update(unsigned).digest('base64url')}`)

  // The key of another realm is not accepted in this realm.
  const { keys } = (await createCore(waypost.kit).realms.get('stranger'))!
  const otherPrivateKey = JSON.parse(waypost.kit.secrets.open(keys[0]!.privateJwkSealed))
  const key = (await importJWK(otherPrivateKey, 'RS256')) as never
  await refused(await signedBy(key, {}, otherPrivateKey.kid))
  const mine = decodeJwt(foreign)
  await waypost.identity.authenticate(bearer(await signedBy(key, mine, otherPrivateKey.kid)))
  await refused(await signedBy(key, { ...mine, iss: `${mine.iss}/` }, otherPrivateKey.kid))
  await refused(
    await signedBy(key, { ...mine, iss: 'https://elsewhere.example/auth/realms/stranger' }, otherPrivateKey.kid),
  )
  await refused(await signedBy(key, { ...mine, typ: 'ID' }, otherPrivateKey.kid))
  await refused(await signedBy(key, { ...mine, exp: 1 }, otherPrivateKey.kid))
  await refused(await signedBy(key, { ...mine, iat: mine.iat! - 301, exp: mine.exp! + 9999 }, otherPrivateKey.kid))
  for (const nonsense of ['', 'x', 'a.b.c', '..', `${token}.`, `${token}x`]) await refused(nonsense || ' ')

  assert.equal((await clientOf(realm).introspect(foreign)).body.active, false)
  offsetMs += 301_000
  await refused(token)
  offsetMs = 0
})

test('the old client secret stays valid for an hour after a change', async () => {
  const realm = await waypost.addRealm('secrets')
  const { realms } = createCore(waypost.kit)
  const secret = await waypost.kit.db.tx((sql) => realms.changeSecret(sql, 'secrets', realm.backend))
  const status = async (value: string) =>
    (await clientOf(realm).token({ grant_type: 'client_credentials' }, basic(realm.backend, value))).status
  assert.deepEqual([await status(secret!), await status(realm.secret)], [200, 200])
  offsetMs = 3_601_000
  assert.deepEqual([await status(secret!), await status(realm.secret)], [200, 401])
  offsetMs = 0
  assert.equal(await waypost.kit.db.tx((sql) => realms.changeSecret(sql, 'secrets', realm.frontend)), undefined)
})

test('each of several old client secrets stays valid for an hour after its change', async () => {
  const realm = await waypost.addRealm('several-secrets')
  const { realms } = createCore(waypost.kit)
  const change = async () =>
    (await waypost.kit.db.tx((sql) => realms.changeSecret(sql, 'several-secrets', realm.backend)))!
  const status = async (value: string) =>
    (await clientOf(realm).token({ grant_type: 'client_credentials' }, basic(realm.backend, value))).status
  const second = await change()
  offsetMs = 1_800_000
  const third = await change()
  assert.deepEqual(await Promise.all([realm.secret, second, third].map(status)), [200, 200, 200])
  offsetMs = 3_601_000
  const fourth = await change()
  assert.deepEqual(await Promise.all([realm.secret, second, third, fourth].map(status)), [401, 200, 200, 200])
  offsetMs = 5_401_000
  assert.deepEqual(await Promise.all([second, third, fourth].map(status)), [401, 200, 200])
  for (let i = 0; i < 20; i++) await change()
  assert.deepEqual(await Promise.all([third, fourth].map(status)), [401, 200], 'only the newest 20 are kept')
  const [row] = await waypost.kit.db.sql`
    select jsonb_array_length(old_secrets) as count from identity.clients
    where tenant_id = 'several-secrets' and kind = 'backend'`
  assert.equal(row!.count, 20)
  offsetMs = 0
})

test('a retired signing key is deleted when every token that it signed has expired', async () => {
  const realm = await waypost.addRealm('retired')
  const certs = async () => (await call(clientOf(realm).at('certs'))).body.keys.length
  assert.equal(await certs(), 1)
  const { signingKeys: keys } = createCore(waypost.kit)
  const prune = () => waypost.kit.db.tx((sql) => keys.prune(sql))
  await keys.rotate('retired')
  await prune()
  assert.equal(await certs(), 2)
  offsetMs = 36_301_000
  await prune()
  offsetMs = 0
  assert.equal(await certs(), 1)
})

test('a token refresh that fails in the middle is rolled back, and the login stays valid', async () => {
  const realm = await waypost.addRealm('half')
  await waypost.addUser('half', 'ada')
  const login = (await clientOf(realm).logIn('ada')).body
  const { sql } = waypost.kit.db
  await sql`alter table identity.artefacts add constraint broken check (model <> 'RefreshToken') not valid`
  waypost.kit.log.level = 'silent'
  const failed = await clientOf(realm).refresh(login.refresh_token)
  waypost.kit.log.level = 'error'
  await sql`alter table identity.artefacts drop constraint broken`
  assert.deepEqual([failed.status, failed.body.error], [500, 'server_error'])
  assert.ok(!failed.text.includes('constraint'), failed.text)
  assert.equal((await clientOf(realm).refresh(login.refresh_token)).status, 200)
})

test('changes reach another node within a second', async () => {
  const port = await freePort()
  const sameAddress = { ...environment, WAYPOST_BASE_URL: waypost.baseUrl }
  const second = await openIdentity({ connection, environment: sameAddress, port })
  const realm = await waypost.addRealm('shared')
  await waypost.addUser('shared', 'ada')
  // Both nodes need the first key of the realm at the same time, and only one node creates it.
  const there = clientOf({ ...realm, url: `http://127.0.0.1:${port}/auth/realms/shared` })
  const here = clientOf(realm)
  const [a, b] = await Promise.all([here.serviceAccount(), there.serviceAccount()])
  assert.equal(decodeProtectedHeader(a.body.access_token).kid, decodeProtectedHeader(b.body.access_token).kid)
  for (const at of [waypost, second])
    for (const { body } of [a, b]) await at.identity.authenticate(bearer(body.access_token))

  const soon = { withinMs: 1000, everyMs: 10 }
  await createCore(waypost.kit).signingKeys.rotate('shared')
  const rotated = (await here.serviceAccount()).body.access_token
  await eventually(() => second.identity.authenticate(bearer(rotated)), soon)

  const login = (await here.logIn('ada')).body
  await second.identity.authenticate(bearer(login.access_token))
  await here.post('revoke', { token: login.refresh_token, client_id: realm.frontend })
  await eventually(() => refused(login.access_token, second), soon)
  assert.equal((await there.refresh(login.refresh_token)).status, 400)

  await waypost.kit.db.tx((sql) => waypost.identity.setRealmStatus(sql, 'shared', 'SUSPENDED'))
  await refused(rotated)
  await eventually(() => refused(rotated, second), soon)
  for (const client of [here, there]) {
    assert.equal((await client.serviceAccount()).status, 401)
    assert.equal((await client.introspect(rotated)).status, 401)
    assert.equal((await client.userinfo(rotated)).status, 401)
  }
  const page = await aBrowser().go(here.authUrl(pkce().challenge))
  assert.equal(page.status, 401)
  assert.match(page.text, /This tenant is not available/)
  await waypost.kit.db.tx((sql) => waypost.identity.setRealmStatus(sql, 'shared', 'AVAILABLE'))
  await eventually(async () => assert.equal((await there.serviceAccount()).status, 200), soon)
})

test('a restart keeps keys, cookies and refresh tokens', async () => {
  const port = await freePort()
  const own = await migratedDatabase([identity])
  const address = { ...environment, WAYPOST_BASE_URL: `http://127.0.0.1:${port}` }
  const old = await openIdentity({ connection: own, environment: address, port })
  const realm = await old.addRealm('acme')
  await old.addUser('acme', 'ada')
  const client = clientOf(realm)
  const login = (await client.logIn('ada')).body
  const browser = aBrowser()
  await browser.signIn(client.authUrl(pkce().challenge), 'ada')
  await old.close()

  const fresh = await openIdentity({ connection: own, environment: address, port })
  await fresh.identity.authenticate(bearer(login.access_token))
  assert.equal((await client.refresh(login.refresh_token)).status, 200)
  assert.match((await browser.go(client.authUrl(pkce().challenge, { prompt: 'none' }))).location, /code=/)
})

test('without the database, requests are answered with 503 in the OAuth error format', async () => {
  const lost = await openIdentity({ connection, environment })
  const realm = await lost.addRealm('lost')
  await lost.addUser('lost', 'ada')
  assert.equal((await clientOf(realm).serviceAccount()).status, 200)
  lost.kit.log.level = 'silent'
  await lost.kit.db.close()
  const answers = [
    await clientOf(realm).logIn('ada'),
    await clientOf(realm).refresh('x'),
    await clientOf(realm).serviceAccount(),
    await call(`${lost.baseUrl}/auth/realms/other/protocol/openid-connect/certs`),
  ]
  for (const { status, body, headers, text } of answers) {
    assert.deepEqual([status, body?.error], [503, 'temporarily_unavailable'], text)
    assert.ok(headers.get('retry-after'))
  }
})

test('without space for new rows, a login is answered in the OAuth error format with a time to wait, and not with 500', async () => {
  const full = await openIdentity({ connection: await migratedDatabase([identity]), environment })
  const realm = await full.addRealm('full')
  full.kit.log.level = 'silent'
  await full.kit.db.sql.unsafe(`
    create function identity.refuse() returns trigger language plpgsql as $$ begin
      raise exception 'could not extend file' using errcode = '53100'; end $$;
    create trigger full_disk before insert on identity.artefacts for each row execute function identity.refuse()`)
  const { status, body, headers } = await call(clientOf(realm).authUrl(pkce().challenge))
  assert.deepEqual([status, body?.error, headers.get('retry-after')], [503, 'temporarily_unavailable', '60'])
})

test('a start with 10,000 unused realms takes less than five seconds and creates no signing keys', async () => {
  const { sql } = waypost.kit.db
  await sql`
    insert into identity.realms (tenant_id, status, frontend_client_id, backend_client_id, cookie_key_sealed)
    select 'many-' || n, 'AVAILABLE', 'f', 'b', ${waypost.kit.secrets.seal('x'.repeat(43))} from generate_series(1, 10000) n`
  const undisturbedMs = startUndisturbedTime()
  const other = await openIdentity({ connection, environment })
  // Creating the signing keys of all realms would take minutes.
  assert.ok(undisturbedMs() < 5000, `${undisturbedMs()} ms`)
  assert.equal((await other.kit.db.sql`select kid from identity.signing_keys where tenant_id like 'many-%'`).length, 0)
  const found = await call(`${other.baseUrl}/auth/realms/many-9999/protocol/openid-connect/certs`)
  assert.equal(found.body.keys.length, 1)
})
