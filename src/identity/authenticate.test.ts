import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openRealms, type Realms } from '../../test/harness/iam.ts'
import { Unauthenticated } from '../kernel/errors.ts'
import { holds, onResource } from '../kernel/permissions.ts'

const root = '/iam/api/v1'
const me = `GET ${root}/me`

describe('authentication', () => {
  let waypost: Realms
  let service: string
  const asService = (operation: string, body?: unknown) => waypost.bearer(service)(operation, body)

  before(async () => {
    waypost = await openRealms()
    await waypost.realm('acme')
    await waypost.realm('platform', ['service', 'platform-admin'])
    service = await waypost.clientToken('acme')
  })

  test('the token of a service account authenticates as its client with the roles of the client', async () => {
    const { status, body } = await asService(me)
    assert.equal(status, 200)
    assert.equal(body.tenantId, 'acme')
    assert.deepEqual(body.subject, { type: 'client', id: 'acme-back' })
    assert.deepEqual(body.roles, ['service'])
    assert.deepEqual(
      body.permissions.map(({ resource }: { resource: string }) => resource),
      ['tenant-system'],
    )
  })

  test('the backend client of realm platform has every scope', async () => {
    const { body } = await waypost.bearer(await waypost.clientToken('platform'))(me)
    const platform = body.permissions.find(({ resource }: { resource: string }) => resource === 'platform-system')
    assert.ok(platform.scopes.includes('*'))
  })

  test('a caller with the token of a user has the username and the roles of the user', async () => {
    const id = await waypost.user('acme', 'lisa', ['endpoint-reader'])
    const { body } = await waypost.bearer(await waypost.userToken('acme', 'lisa'))(me)
    assert.deepEqual(body, {
      tenantId: 'acme',
      subject: { type: 'user', id },
      username: 'lisa',
      roles: ['endpoint-reader'],
      permissions: [{ resource: 'tenant-system', scopes: ['endpoint:read'] }],
    })
  })

  test('a request whose token or key contains text that PostgreSQL cannot store is answered with 401', async () => {
    const none = Buffer.from('{"alg":"none","kid":"a\\u0000b"}').toString('base64url')
    const ours = `${waypost.baseUrl}/auth/realms/`
    for (const iss of [
      'https://x\0',
      `${ours}a\0b`,
      `${ours}acme\0`,
      'https://x\ud800',
      `${ours}\ud800`,
      'x'.repeat(8000),
    ]) {
      const claims = Buffer.from(JSON.stringify({ iss, sub: 'x', aud: 'a\0' })).toString('base64url')
      const answer = await waypost.bearer(`${none}.${claims}.`)(me)
      assert.equal(answer.status, 401, JSON.stringify(iss))
    }
    for (const key of ['wpk_a\ud800', 'wpk_%00'])
      await assert.rejects(waypost.api.authenticate({ apiKey: key }), Unauthenticated.is)
  })

  test('a request without token and key is anonymous; an invalid token or key is answered with 401', async () => {
    assert.equal(await waypost.api.authenticate({}), undefined)
    const [head, payload, signature] = service.split('.') as [string, string, string]
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    const other = Buffer.from(JSON.stringify({ iss: 'https://unknown.example', sub: 'x' })).toString('base64url')
    const presented = [
      'Bearer',
      'Bearer ',
      'Bearer x',
      'Bearer a.b.c',
      'Bearer ..',
      `Basic ${service}`,
      service,
      `Bearer ${head}.${payload}`,
      `Bearer ${head}.${payload}.`,
      `Bearer ${none}.${payload}.`,
      `Bearer ${none}.${payload}.${signature}`,
      `Bearer ${head}.${other}.${signature}`,
      `Bearer ${head}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      `Bearer ${service} ${service}`,
      `Bearer ${'x'.repeat(20_000)}`,
    ]
    for (const authorization of presented)
      await assert.rejects(waypost.authenticate(authorization), Unauthenticated.is, authorization.slice(0, 60))
    const { status, headers } = await waypost.bearer('x')(me)
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer error="invalid_token"'])
    for (const apiKey of ['x', 'wpk_', `wpk_${'x'.repeat(43)}`, 'x'.repeat(9000)])
      await assert.rejects(waypost.api.authenticate({ apiKey }), Unauthenticated.is, apiKey.slice(0, 60))
    await assert.rejects(
      waypost.api.authenticate({ authorization: `Bearer ${service}`, apiKey: 'wpk_x' }),
      Unauthenticated.is,
    )
  })

  test('the authentication scheme is case-insensitive', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer '])
      assert.equal((await waypost.authenticate(`${scheme} ${service}`))?.tenantId, 'acme', scheme)
  })

  test('two requests with the same token get the same cached caller object', async () => {
    const first = await waypost.authenticate(`Bearer ${service}`)
    assert.equal(await waypost.authenticate(`Bearer ${service}`), first)
  })

  test('changed roles of a user apply to the next request', async () => {
    const id = await waypost.user('acme', 'moving', [])
    const ask = waypost.bearer(await waypost.userToken('acme', 'moving'))
    assert.deepEqual((await ask(me)).body.permissions, [])
    for (let round = 0; round < 5; round++)
      for (const roles of [['endpoint-reader'], []]) {
        assert.equal((await asService(`PUT ${root}/users/${id}/roles`, roles)).status, 204)
        assert.deepEqual((await ask(me)).body.roles, roles)
      }
  })

  test('a changed or deleted role applies to the next request of all its users', async () => {
    await asService(`POST ${root}/roles`, { name: 'shifting', scopes: ['endpoint:read'] })
    await waypost.user('acme', 'shifted', ['shifting'])
    const ask = waypost.bearer(await waypost.userToken('acme', 'shifted'))
    const readScopes = async () =>
      (await ask(me)).body.permissions.flatMap(({ scopes }: { scopes: string[] }) => scopes)
    assert.deepEqual(await readScopes(), ['endpoint:read'])
    await asService(`PUT ${root}/roles/shifting`, { scopes: ['endpoint:update'] })
    assert.deepEqual(await readScopes(), ['endpoint:update'])
    const subject = { type: 'role', id: 'shifting' }
    await asService(`POST ${root}/grants`, { subject, resource: 'endpoint-5', scopes: ['endpoint:read'] })
    assert.deepEqual(await readScopes(), ['endpoint:update', 'endpoint:read'])
    await asService(`DELETE ${root}/roles/shifting`)
    assert.deepEqual(await readScopes(), [])
  })

  test('a grant applies from the next request until it is deleted', async () => {
    const id = await waypost.user('acme', 'granted')
    const ask = waypost.bearer(await waypost.userToken('acme', 'granted'))
    assert.deepEqual((await ask(me)).body.permissions, [])
    const grant = { subject: { type: 'user', id }, resource: 'application-a', scopes: ['application:read'] }
    const { body } = await asService(`POST ${root}/grants`, grant)
    assert.deepEqual((await ask(me)).body.permissions, [{ resource: 'application-a', scopes: ['application:read'] }])
    await asService(`DELETE ${root}/grants/${body.id}`)
    assert.deepEqual((await ask(me)).body.permissions, [])
  })

  test('a disabled user is rejected immediately, and accepted after the user is enabled and logs in again', async () => {
    const id = await waypost.user('acme', 'blinking')
    const ask = waypost.bearer(await waypost.userToken('acme', 'blinking'))
    assert.equal((await ask(me)).status, 200)
    await asService(`PUT ${root}/users/${id}`, { enabled: false })
    assert.equal((await ask(me)).status, 401)
    assert.equal((await ask(me)).status, 401)
    await asService(`PUT ${root}/users/${id}`, { enabled: true })
    assert.equal((await waypost.bearer(await waypost.userToken('acme', 'blinking'))(me)).status, 200)
  })

  test('the token of a deleted user is rejected immediately', async () => {
    const id = await waypost.user('acme', 'leaving')
    const ask = waypost.bearer(await waypost.userToken('acme', 'leaving'))
    assert.equal((await ask(me)).status, 200)
    await asService(`DELETE ${root}/users/${id}`)
    assert.equal((await ask(me)).status, 401)
  })

  test('a new password ends the existing logins', async () => {
    const id = await waypost.user('acme', 'changing')
    const ask = waypost.bearer(await waypost.userToken('acme', 'changing'))
    assert.equal((await ask(me)).status, 200)
    assert.equal((await asService(`PUT ${root}/users/${id}/password`, { password: 'battery staple' })).status, 204)
    assert.equal((await ask(me)).status, 401)
    const again = await waypost.userToken('acme', 'changing', 'battery staple')
    assert.equal((await waypost.bearer(again)(me)).status, 200)
  })

  test('only tokens of an available realm are accepted', async () => {
    await waypost.realm('sleepy')
    const ask = waypost.bearer(await waypost.clientToken('sleepy'))
    assert.equal((await ask(me)).status, 200)
    await waypost.setStatus('sleepy', 'SUSPENDED')
    assert.equal((await ask(me)).status, 401)
    await waypost.setStatus('sleepy', 'AVAILABLE')
    assert.equal((await ask(me)).status, 200)
  })

  test('the creator of a resource has every scope on the resource until the resource is deleted', async () => {
    await waypost.user('acme', 'maker')
    const bearer = `Bearer ${await waypost.userToken('acme', 'maker')}`
    const { kit, api } = waypost
    const where = onResource('acme', 'application-new', 'endpoint-new')
    const caller = (await waypost.authenticate(bearer))!
    assert.equal(holds(caller, 'endpoint:read', where), false)
    const ctx = { ...kit.system('acme'), caller }
    await kit.db.tx((sql) => api.grantCreator(sql, ctx, 'application-new'))
    assert.equal(holds((await waypost.authenticate(bearer))!, 'endpoint:read', where), true)
    await kit.db.tx((sql) => api.forgetResource(sql, 'acme', 'application-new'))
    assert.equal(holds((await waypost.authenticate(bearer))!, 'endpoint:read', where), false)
    await assert.rejects(
      kit.db.tx(async (sql) => {
        await api.grantCreator(sql, ctx, 'application-never')
        throw new Error('undone')
      }),
    )
    assert.deepEqual((await waypost.authenticate(bearer))!.permissions, [])
  })

  test('a user who is no longer administrator keeps the permissions on resources that the user created', async () => {
    const id = await waypost.user('acme', 'former', ['tenant-admin'])
    await waypost.user('acme', 'successor', ['tenant-admin'])
    const bearer = `Bearer ${await waypost.userToken('acme', 'former')}`
    const caller = (await waypost.authenticate(bearer))!
    await waypost.kit.db.tx((sql) =>
      waypost.api.grantCreator(sql, { ...waypost.kit.system('acme'), caller }, 'application-mine'),
    )
    const resources = async () => (await waypost.authenticate(bearer))!.permissions.map(({ resource }) => resource)
    assert.deepEqual(await resources(), ['tenant-system'])
    assert.equal((await asService(`PUT ${root}/users/${id}/roles`, [])).status, 204)
    assert.deepEqual(await resources(), ['application-mine'])
  })

  test('no caller keeps a revoked permission when changes and requests are concurrent', async () => {
    const id = await waypost.user('acme', 'raced')
    const bearer = `Bearer ${await waypost.userToken('acme', 'raced')}`
    for (let round = 0; round < 15; round++) {
      const roles = round % 2 === 0 ? ['endpoint-reader'] : []
      const change = asService(`PUT ${root}/users/${id}/roles`, roles)
      const asking = Array.from({ length: 20 }, (_, i) =>
        new Promise((resolve) => setTimeout(resolve, i / 2)).then(() => waypost.authenticate(bearer)),
      )
      await change
      assert.deepEqual((await waypost.authenticate(bearer))!.roles, roles)
      await Promise.all(asking)
      assert.deepEqual((await waypost.authenticate(bearer))!.roles, roles)
    }
  })
})
