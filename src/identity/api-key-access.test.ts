import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller } from '../../test/harness/builders.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openRealms, type Realms } from '../../test/harness/iam.ts'
import { migratedDatabase } from '../../test/harness/test-platform.ts'
import type { Caller } from '../kernel/contract.ts'
import type { ConnectionOptions } from '../kernel/db.ts'
import { permissionsOfKey } from './api-key-access.ts'
import identity from './index.ts'

const root = '/iam/api/v1'
const me = `GET ${root}/me`

describe('API keys', () => {
  let waypost: Realms
  let other: Realms
  let ahead = 0
  const open = async (connection: ConnectionOptions) =>
    await openRealms({
      connection,
      environment: { WAYPOST_MASTER_KEY: 'the same for both of these processes' },
      now: () => new Date(Date.now() + ahead),
    })
  before(async () => {
    const connection = await migratedDatabase([identity])
    waypost = await open(connection)
    await waypost.realm('acme')
    other = await open(connection)
  })

  const administer = (operation: string, body?: unknown) =>
    waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': ['*'] } }))(operation, body)
  /** Creates a user with these roles and an API key of that user. */
  async function withKey(name: string, roles: string[], body: Record<string, unknown> = {}) {
    const id = await waypost.user('acme', name, roles)
    const ask = waypost.as(aCaller({ tenantId: 'acme', id, on: { 'tenant-system': ['*'] } }))
    const made = await ask(`POST ${root}/api-keys`, { name: `key of ${name}`, ...body })
    assert.equal(made.status, 201, made.text)
    return { userId: id, keyId: made.body.id as string, key: made.body.key as string, made }
  }

  test('a key is shown once, stored as a hash, and authenticates a caller with the roles and permissions of its owner', async () => {
    const { userId, keyId, key, made } = await withKey('owner', ['endpoint-reader'])
    assert.match(key, /^wpk_[\w-]{43}$/)
    assert.equal(made.headers.location, `http://waypost.test${root}/api-keys/${keyId}`)
    assert.equal(made.headers['cache-control'], 'no-store')
    assert.deepEqual(made.body.owner, { type: 'user', id: userId })
    const list = await administer(`GET ${root}/api-keys`)
    assert.ok(list.text.includes(keyId) && !list.text.includes(key))
    const [row] = await waypost.kit.db
      .sql`select to_jsonb(k)::text as text from identity.api_keys k where id = ${keyId}`
    assert.ok(!row!.text.includes(key))
    const callers = [
      ...['x-identity-api-key', 'x-iamcore-api-key', 'X-IAMCORE-API-KEY'].map((name) => waypost.withKey(key, name)),
      waypost.bearer(key),
    ]
    assert.equal((await waypost.bearer(`${key.slice(0, -1)}x`)(me)).status, 401)
    for (const ask of callers) {
      const { body } = await ask(me)
      assert.deepEqual(body, {
        tenantId: 'acme',
        subject: { type: 'api-key', id: keyId },
        username: 'owner',
        roles: ['endpoint-reader'],
        permissions: [{ resource: 'tenant-system', scopes: ['endpoint:read'] }],
      })
    }
  })

  test('the permissions of an existing key change when the permissions of its owner change', async () => {
    const { userId, key } = await withKey('waning', ['tenant-admin', 'endpoint-reader'], {
      scopes: ['endpoint:read', 'endpoint:update'],
    })
    const readPermissions = async () => (await waypost.withKey(key)(me)).body.permissions
    assert.deepEqual(await readPermissions(), [
      { resource: 'tenant-system', scopes: ['endpoint:read', 'endpoint:update'] },
    ])
    await waypost.user('acme', 'another administrator', ['tenant-admin'])
    await administer(`PUT ${root}/users/${userId}/roles`, ['endpoint-reader'])
    assert.deepEqual(await readPermissions(), [{ resource: 'tenant-system', scopes: ['endpoint:read'] }])
    await administer(`PUT ${root}/users/${userId}/roles`, [])
    assert.deepEqual(await readPermissions(), [])
  })

  test('a key is rejected immediately after its owner was disabled or deleted', async () => {
    const { userId, key } = await withKey('going', [])
    const ask = waypost.withKey(key)
    assert.equal((await ask(me)).status, 200)
    await administer(`PUT ${root}/users/${userId}`, { enabled: false })
    assert.equal((await ask(me)).status, 401)
    await administer(`PUT ${root}/users/${userId}`, { enabled: true })
    assert.equal((await ask(me)).status, 200)
    await administer(`DELETE ${root}/users/${userId}`)
    assert.equal((await ask(me)).status, 401)
  })

  test('a revoked key is rejected immediately on the node of the revocation, and within a second on other nodes', async () => {
    const { keyId, key } = await withKey('revoked', [])
    assert.equal((await waypost.withKey(key)(me)).status, 200)
    assert.equal((await other.withKey(key)(me)).status, 200)
    assert.equal((await administer(`DELETE ${root}/api-keys/${keyId}`)).status, 204)
    assert.equal((await waypost.withKey(key)(me)).status, 401)
    await eventually(async () => assert.equal((await other.withKey(key)(me)).status, 401), { withinMs: 1000 })
    assert.equal((await administer(`DELETE ${root}/api-keys/${keyId}`)).status, 404)
  })

  test('changes of roles, grants and the status of the tenant reach another node within a second', async () => {
    const { userId, keyId, key } = await withKey('followed', [])
    const seen = async () => (await other.withKey(key)(me)).body.permissions
    const within = { withinMs: 1000 }
    const expectedPermissions = (...permissions: [string, ...string[]][]) =>
      permissions.map(([resource, ...scopes]) => ({ resource, scopes }))
    assert.deepEqual(await seen(), [])

    await administer(`POST ${root}/roles`, { name: 'followed', scopes: ['endpoint:read'] })
    await administer(`PUT ${root}/users/${userId}/roles`, ['followed'])
    await eventually(
      async () => assert.deepEqual(await seen(), expectedPermissions(['tenant-system', 'endpoint:read'])),
      within,
    )

    await administer(`PUT ${root}/roles/followed`, { scopes: [] })
    await eventually(async () => assert.deepEqual(await seen(), []), within)

    const caller: Caller = { ...aCaller({ tenantId: 'acme' }), subject: { type: 'api-key', id: keyId } }
    await waypost.kit.db.tx((sql) =>
      waypost.api.grantCreator(sql, { ...waypost.kit.system('acme'), caller }, 'application-followed'),
    )
    await eventually(
      async () => assert.deepEqual(await seen(), expectedPermissions(['application-followed', '*'])),
      within,
    )

    await waypost.kit.db.tx((sql) => waypost.api.forgetResource(sql, 'acme', 'application-followed'))
    await eventually(async () => assert.deepEqual(await seen(), []), within)

    await waypost.setStatus('acme', 'SUSPENDED')
    await eventually(async () => assert.equal((await other.withKey(key)(me)).status, 401), within)
    await waypost.setStatus('acme', 'AVAILABLE')
    await eventually(async () => assert.equal((await other.withKey(key)(me)).status, 200), within)
  })

  test('a grant to a key counts only if the owner of the key has the same permission', async () => {
    const { userId, keyId, key } = await withKey('narrow', ['endpoint-reader'], { scopes: [] })
    const readPermissions = async () => (await waypost.withKey(key)(me)).body.permissions
    const subject = { type: 'api-key', id: keyId }
    await administer(`POST ${root}/grants`, {
      subject,
      resource: 'endpoint-1',
      scopes: ['endpoint:read', 'endpoint:update'],
    })
    assert.deepEqual(await readPermissions(), [{ resource: 'endpoint-1', scopes: ['endpoint:read'] }])
    await administer(`PUT ${root}/users/${userId}/roles`, [])
    assert.deepEqual(await readPermissions(), [])
  })

  test('a key that is created with another key cannot have more scopes or a later expiry than that key', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const scopes = ['identity:api-key:create', 'endpoint:read']
    const { userId, key } = await withKey('parent', ['tenant-admin'], { scopes, expiresAt })
    const ask = waypost.withKey(key)
    const child = await ask(`POST ${root}/api-keys`, { name: 'child' })
    assert.equal(child.status, 201, child.text)
    assert.deepEqual(child.body.owner, { type: 'user', id: userId })
    assert.deepEqual(child.body.scopes, [...scopes].sort())
    assert.equal(child.body.expiresAt, expiresAt)
    const wider = await ask(`POST ${root}/api-keys`, { name: 'wider', scopes: ['endpoint:update'] })
    assert.equal(wider.status, 403)
    assert.match(wider.body.message, /endpoint:update/)
    const longer = { name: 'longer', expiresAt: new Date(Date.now() + 7_200_000).toISOString() }
    assert.equal((await ask(`POST ${root}/api-keys`, longer)).status, 400)
  })

  test('the time of the last use is written at most once a minute, and never becomes earlier', async () => {
    const { keyId, key } = await withKey('used', [])
    const lastUsed = async () => {
      const { body } = await administer(`GET ${root}/api-keys?limit=0`)
      return body.content.find(({ id }: { id: string }) => id === keyId).lastUsedAt as string | undefined
    }
    assert.equal(await lastUsed(), undefined)
    await waypost.withKey(key)(me)
    const first = await eventually(async () => {
      const at = await lastUsed()
      assert.ok(at)
      return at
    })
    for (let n = 0; n < 5; n++) await waypost.withKey(key)(me)
    ahead += 59_000
    await waypost.withKey(key)(me)
    assert.equal(await lastUsed(), first)
    ahead += 2000
    await waypost.withKey(key)(me)
    await eventually(async () => assert.notEqual(await lastUsed(), first))
  })

  test('an expired key is rejected, even if it is cached', async () => {
    const expiresAt = new Date(Date.now() + ahead + 10_000).toISOString()
    const { key } = await withKey('mortal', [], { expiresAt })
    assert.equal((await waypost.withKey(key)(me)).status, 200)
    ahead += 10_001
    assert.equal((await waypost.withKey(key)(me)).status, 401)
    assert.equal((await waypost.withKey(key)(me)).status, 401)
  })
})

const cases: [
  what: string,
  owner: Record<string, string[]>,
  scopes: string[] | null,
  left: Record<string, string[]>,
][] = [
  [
    'without scopes, the key has all permissions',
    { 'tenant-system': ['a', 'b'], 'endpoint-1': ['*'] },
    null,
    { 'tenant-system': ['a', 'b'], 'endpoint-1': ['*'] },
  ],
  [
    'the key has the permissions that its scopes name',
    { 'tenant-system': ['a', 'b'] },
    ['b', 'c'],
    { 'tenant-system': ['b'] },
  ],
  ['with an empty list of scopes, the key has no permission', { 'tenant-system': ['a'] }, [], {}],
  [
    'if the owner has every scope, the key has the named scopes',
    { 'endpoint-1': ['*'], 'platform-system': ['*'] },
    ['a'],
    { 'endpoint-1': ['a'], 'platform-system': ['a'] },
  ],
]
test('the permissions of a key are the permissions of its owner that the scopes of the key allow', () => {
  for (const [what, on, scopes, left] of cases) {
    const permissions = permissionsOfKey(aCaller({ on }), { scopes, grants: [] })
    assert.deepEqual(Object.fromEntries(permissions.map((one) => [one.resource, [...one.scopes]])), left, what)
  }
})
