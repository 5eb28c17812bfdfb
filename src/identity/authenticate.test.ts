import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openRealms, type Realms } from '../../test/harness/iam.ts'
import { Unauthenticated } from '../kernel/errors.ts'
import { holds, onResource } from '../kernel/permissions.ts'

const root = '/iam/api/v1'
const me = `GET ${root}/me`

describe('authentication', () => {
  let house: Realms
  let service: string
  const asService = (operation: string, body?: unknown) => house.bearer(service)(operation, body)

  before(async () => {
    house = await openRealms()
    await house.realm('acme')
    await house.realm('platform', ['service', 'platform-admin'])
    service = await house.clientToken('acme')
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
    const { body } = await house.bearer(await house.clientToken('platform'))(me)
    const platform = body.permissions.find(({ resource }: { resource: string }) => resource === 'platform-system')
    assert.ok(platform.scopes.includes('*'))
  })

  test('the token of a user gives username and roles', async () => {
    const id = await house.user('acme', 'lisa', ['endpoint-reader'])
    const { body } = await house.bearer(await house.userToken('acme', 'lisa'))(me)
    assert.deepEqual(body, {
      tenantId: 'acme',
      subject: { type: 'user', id },
      username: 'lisa',
      roles: ['endpoint-reader'],
      permissions: [{ resource: 'tenant-system', scopes: ['endpoint:read'] }],
    })
  })

  test('an issuer that PostgreSQL cannot store is 401', async () => {
    const none = Buffer.from('{"alg":"none","kid":"a\\u0000b"}').toString('base64url')
    const ours = `${house.baseUrl}/auth/realms/`
    for (const iss of [
      'https://x\0',
      `${ours}a\0b`,
      `${ours}acme\0`,
      'https://x\ud800',
      `${ours}\ud800`,
      'x'.repeat(8000),
    ]) {
      const claims = Buffer.from(JSON.stringify({ iss, sub: 'x', aud: 'a\0' })).toString('base64url')
      const answer = await house.bearer(`${none}.${claims}.`)(me)
      assert.equal(answer.status, 401, JSON.stringify(iss))
    }
    for (const key of ['wpk_a\ud800', 'wpk_%00'])
      await assert.rejects(house.api.authenticate({ apiKey: key }), Unauthenticated.is)
  })

  test('a request without token and key is anonymous, an invalid one is 401', async () => {
    assert.equal(await house.api.authenticate({}), undefined)
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
      await assert.rejects(house.authenticate(authorization), Unauthenticated.is, authorization.slice(0, 60))
    const { status, headers } = await house.bearer('x')(me)
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer error="invalid_token"'])
    for (const apiKey of ['x', 'wpk_', `wpk_${'x'.repeat(43)}`, 'x'.repeat(9000)])
      await assert.rejects(house.api.authenticate({ apiKey }), Unauthenticated.is, apiKey.slice(0, 60))
    await assert.rejects(
      house.api.authenticate({ authorization: `Bearer ${service}`, apiKey: 'wpk_x' }),
      Unauthenticated.is,
    )
  })

  test('the authentication scheme is case-insensitive', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer '])
      assert.equal((await house.authenticate(`${scheme} ${service}`))?.tenantId, 'acme', scheme)
  })

  test('a cached token gives the same caller object', async () => {
    const first = await house.authenticate(`Bearer ${service}`)
    assert.equal(await house.authenticate(`Bearer ${service}`), first)
  })

  test('changed roles of a user apply to the next request', async () => {
    const id = await house.user('acme', 'moving', [])
    const ask = house.bearer(await house.userToken('acme', 'moving'))
    assert.deepEqual((await ask(me)).body.permissions, [])
    for (let round = 0; round < 5; round++)
      for (const roles of [['endpoint-reader'], []]) {
        assert.equal((await asService(`PUT ${root}/users/${id}/roles`, roles)).status, 204)
        assert.deepEqual((await ask(me)).body.roles, roles)
      }
  })

  test('a changed or deleted role applies to the next request of all its users', async () => {
    await asService(`POST ${root}/roles`, { name: 'shifting', scopes: ['endpoint:read'] })
    await house.user('acme', 'shifted', ['shifting'])
    const ask = house.bearer(await house.userToken('acme', 'shifted'))
    const held = async () => (await ask(me)).body.permissions.flatMap(({ scopes }: { scopes: string[] }) => scopes)
    assert.deepEqual(await held(), ['endpoint:read'])
    await asService(`PUT ${root}/roles/shifting`, { scopes: ['endpoint:update'] })
    assert.deepEqual(await held(), ['endpoint:update'])
    const subject = { type: 'role', id: 'shifting' }
    await asService(`POST ${root}/grants`, { subject, resource: 'endpoint-5', scopes: ['endpoint:read'] })
    assert.deepEqual(await held(), ['endpoint:update', 'endpoint:read'])
    await asService(`DELETE ${root}/roles/shifting`)
    assert.deepEqual(await held(), [])
  })

  test('a grant applies from the next request until it is deleted', async () => {
    const id = await house.user('acme', 'granted')
    const ask = house.bearer(await house.userToken('acme', 'granted'))
    assert.deepEqual((await ask(me)).body.permissions, [])
    const grant = { subject: { type: 'user', id }, resource: 'application-a', scopes: ['application:read'] }
    const { body } = await asService(`POST ${root}/grants`, grant)
    assert.deepEqual((await ask(me)).body.permissions, [{ resource: 'application-a', scopes: ['application:read'] }])
    await asService(`DELETE ${root}/grants/${body.id}`)
    assert.deepEqual((await ask(me)).body.permissions, [])
  })

  test('a disabled user is rejected at once, and accepted after enabling and a new login', async () => {
    const id = await house.user('acme', 'blinking')
    const ask = house.bearer(await house.userToken('acme', 'blinking'))
    assert.equal((await ask(me)).status, 200)
    await asService(`PUT ${root}/users/${id}`, { enabled: false })
    assert.equal((await ask(me)).status, 401)
    assert.equal((await ask(me)).status, 401)
    await asService(`PUT ${root}/users/${id}`, { enabled: true })
    assert.equal((await house.bearer(await house.userToken('acme', 'blinking'))(me)).status, 200)
  })

  test('a deleted user is rejected at once', async () => {
    const id = await house.user('acme', 'leaving')
    const ask = house.bearer(await house.userToken('acme', 'leaving'))
    assert.equal((await ask(me)).status, 200)
    await asService(`DELETE ${root}/users/${id}`)
    assert.equal((await ask(me)).status, 401)
  })

  test('a new password ends the existing logins', async () => {
    const id = await house.user('acme', 'changing')
    const ask = house.bearer(await house.userToken('acme', 'changing'))
    assert.equal((await ask(me)).status, 200)
    assert.equal((await asService(`PUT ${root}/users/${id}/password`, { password: 'battery staple' })).status, 204)
    assert.equal((await ask(me)).status, 401)
    const again = await house.userToken('acme', 'changing', 'battery staple')
    assert.equal((await house.bearer(again)(me)).status, 200)
  })

  test('only tokens of an available realm are accepted', async () => {
    await house.realm('sleepy')
    const ask = house.bearer(await house.clientToken('sleepy'))
    assert.equal((await ask(me)).status, 200)
    await house.setStatus('sleepy', 'SUSPENDED')
    assert.equal((await ask(me)).status, 401)
    await house.setStatus('sleepy', 'AVAILABLE')
    assert.equal((await ask(me)).status, 200)
  })

  test('the creator of a resource has every scope on it at once, until it is deleted', async () => {
    await house.user('acme', 'maker')
    const bearer = `Bearer ${await house.userToken('acme', 'maker')}`
    const { kit, api } = house
    const where = onResource('acme', 'application-new', 'endpoint-new')
    const caller = (await house.authenticate(bearer))!
    assert.equal(holds(caller, 'endpoint:read', where), false)
    const ctx = { ...kit.system('acme'), caller }
    await kit.db.tx((sql) => api.grantCreator(sql, ctx, 'application-new'))
    assert.equal(holds((await house.authenticate(bearer))!, 'endpoint:read', where), true)
    await kit.db.tx((sql) => api.forgetResource(sql, 'acme', 'application-new'))
    assert.equal(holds((await house.authenticate(bearer))!, 'endpoint:read', where), false)
    await assert.rejects(
      kit.db.tx(async (sql) => {
        await api.grantCreator(sql, ctx, 'application-never')
        throw new Error('undone')
      }),
    )
    assert.deepEqual((await house.authenticate(bearer))!.permissions, [])
  })

  test('an administrator who loses the role keeps the permissions on resources it created', async () => {
    const id = await house.user('acme', 'former', ['tenant-admin'])
    await house.user('acme', 'successor', ['tenant-admin'])
    const bearer = `Bearer ${await house.userToken('acme', 'former')}`
    const caller = (await house.authenticate(bearer))!
    await house.kit.db.tx((sql) =>
      house.api.grantCreator(sql, { ...house.kit.system('acme'), caller }, 'application-mine'),
    )
    const resources = async () => (await house.authenticate(bearer))!.permissions.map(({ resource }) => resource)
    assert.deepEqual(await resources(), ['tenant-system'])
    assert.equal((await asService(`PUT ${root}/users/${id}/roles`, [])).status, 204)
    assert.deepEqual(await resources(), ['application-mine'])
  })

  test('with concurrent changes and requests no caller keeps a revoked permission', async () => {
    const id = await house.user('acme', 'raced')
    const bearer = `Bearer ${await house.userToken('acme', 'raced')}`
    for (let round = 0; round < 15; round++) {
      const roles = round % 2 === 0 ? ['endpoint-reader'] : []
      const change = asService(`PUT ${root}/users/${id}/roles`, roles)
      const asking = Array.from({ length: 20 }, (_, i) =>
        new Promise((resolve) => setTimeout(resolve, i / 2)).then(() => house.authenticate(bearer)),
      )
      await change
      assert.deepEqual((await house.authenticate(bearer))!.roles, roles)
      await Promise.all(asking)
      assert.deepEqual((await house.authenticate(bearer))!.roles, roles)
    }
  })
})
