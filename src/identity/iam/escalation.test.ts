import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openRealms, type Realms } from '../../../test/harness/iam.ts'
import type { Ask } from '../../../test/harness/test-platform.ts'
import type { Sql } from '../../kernel/db.ts'

const root = '/iam/api/v1'
const managing = ['user', 'role', 'grant', 'api-key', 'client', 'issuer', 'realm'].flatMap((entity) =>
  ['create', 'read', 'update', 'delete'].map((verb) => `identity:${entity}:${verb}`),
)

describe('a caller can grant only permissions that they have', () => {
  let waypost: Realms
  let manager: Ask
  let managerId: string
  let adminId: string
  before(async () => {
    waypost = await openRealms()
    await waypost.realm('acme')
    await waypost.realm('platform')
    managerId = await waypost.user('acme', 'manager')
    adminId = await waypost.user('acme', 'admin', ['tenant-admin'])
    manager = waypost.as(
      aCaller({ tenantId: 'acme', id: managerId, on: { 'tenant-system': [...managing, 'endpoint:read'] } }),
    )
  })
  const refused = async (operation: string, body: unknown, scope: RegExp) => {
    const answer = await manager(operation, body)
    assert.equal(answer.status, 403, `${operation} ${JSON.stringify(body)}: ${answer.text}`)
    assert.match(answer.body.message, scope)
  }

  test('a role can have only scopes that its creator has', async () => {
    await refused(
      `POST ${root}/roles`,
      { name: 'more', scopes: ['endpoint:read', 'endpoint:delete'] },
      /endpoint:delete/,
    )
    await refused(`POST ${root}/roles`, { name: 'all', scopes: ['*'] }, /\*/)
    await refused(`POST ${root}/roles`, { name: 'high', scopes: ['platform:tenant:read'] }, /platform-system/)
    await refused(
      `POST ${root}/roles`,
      { name: 'high', scopes: ['kaa:tenant:read'] },
      /platform:tenant:read on platform/,
    )
    assert.equal((await manager(`POST ${root}/roles`, { name: 'fine', scopes: ['endpoint:read'] })).status, 201)
    await refused(`PUT ${root}/roles/fine`, { scopes: ['endpoint:read', 'endpoint:delete'] }, /endpoint:delete/)
  })

  test('a caller with fewer permissions than a role may change the role if the change adds no scope', async () => {
    const admin = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': ['*'] } }))
    await admin(`POST ${root}/roles`, { name: 'strong', scopes: ['endpoint:delete'] })
    const change = { description: 'Strong', scopes: ['endpoint:delete', 'endpoint:read'] }
    assert.equal((await manager(`PUT ${root}/roles/strong`, change)).status, 204)
  })

  test('a caller cannot assign a role with permissions that the caller lacks, neither to themselves nor to other users', async () => {
    await refused(`PUT ${root}/users/${managerId}/roles`, ['tenant-admin'], /(endpoint|application):create/)
    await refused(`PUT ${root}/users/${managerId}`, { roles: ['tenant-admin'] }, /(endpoint|application):create/)
    await refused(
      `POST ${root}/users`,
      { username: 'puppet', roles: ['tenant-admin'] },
      /(endpoint|application):create/,
    )
    const high = await manager(`PUT ${root}/users/${managerId}/roles`, ['platform-admin'])
    assert.equal(high.status, 400)
    assert.match(high.body.message, /there is no role platform-admin/)
    assert.equal((await manager(`PUT ${root}/users/${managerId}/roles`, ['endpoint-reader'])).status, 204)
  })

  test('the permissions of a role include the grants to the role', async () => {
    const admin = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': ['*'] } }))
    await admin(`POST ${root}/roles`, { name: 'carrier', scopes: [] })
    const subject = { type: 'role', id: 'carrier' }
    await admin(`POST ${root}/grants`, { subject, resource: 'application-a', scopes: ['application:delete'] })
    await refused(`PUT ${root}/users/${managerId}/roles`, ['carrier'], /application:delete on application-a/)
  })

  test('a caller cannot grant a permission that the caller lacks, on a resource, the tenant or the platform', async () => {
    const subject = { type: 'user', id: managerId }
    const grant = (resource: string, ...scopes: string[]) => ({ subject, resource, scopes })
    await refused(`POST ${root}/grants`, grant('endpoint-1', 'endpoint:delete'), /endpoint:delete on endpoint-1/)
    await refused(`POST ${root}/grants`, grant('tenant-system', '*'), /\* on tenant-system/)
    await refused(`POST ${root}/grants`, grant('endpoint-1', '*'), /\* on endpoint-1/)
    await refused(`POST ${root}/grants`, grant('platform-system', 'endpoint:read'), /endpoint:read on platform-system/)
    await refused(`POST ${root}/grants`, grant('kaa-system', 'endpoint:read'), /endpoint:read on platform-system/)
    assert.equal((await manager(`POST ${root}/grants`, grant('endpoint-1', 'endpoint:read'))).status, 201)
  })

  test('no caller of a tenant can grant permissions on the platform', async () => {
    const admin = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': ['*'] } }))
    const subject = { type: 'user', id: adminId }
    const answer = await admin(`POST ${root}/grants`, {
      subject,
      resource: 'platform-system',
      scopes: ['endpoint:read'],
    })
    assert.equal(answer.status, 403)
    assert.equal((await admin(`POST ${root}/roles`, { name: 'p', scopes: ['platform:tenant:read'] })).status, 403)
    await waypost.kit.db.sql`
      insert into identity.grants (tenant_id, id, subject_type, subject_id, resource, scopes)
      values ('acme', 'smuggled', 'user', ${managerId}, 'platform-system', '{*}')`
    const { body } = await waypost.bearer(await waypost.userToken('acme', 'manager'))(`GET ${root}/me`)
    assert.ok(!JSON.stringify(body.permissions).includes('platform-system'))
  })

  test('a caller with every scope on the platform can grant scopes on the platform', async () => {
    const id = await waypost.user('platform', 'operator')
    const admin = waypost.as(aCaller({ tenantId: 'platform', on: { 'platform-system': ['*'] } }))
    const grant = { subject: { type: 'user', id }, resource: 'kaa-system', scopes: ['kaa:tenant:read'] }
    const created = await admin(`POST ${root}/grants`, grant)
    assert.equal(created.status, 201, created.text)
    assert.deepEqual([created.body.resource, created.body.scopes], ['platform-system', ['platform:tenant:read']])
    const names = ['platform:tenant:role-version-mapping:read', 'kaa:tenant:idp-roles-versions-mappings:read']
    const role = await admin(`POST ${root}/roles`, { name: 'mapper', scopes: names })
    assert.deepEqual(role.body.scopes, ['platform:tenant:idp-roles-versions-mappings:read'])
  })

  test('a caller with fewer permissions than a user or client cannot set its password or secret', async () => {
    await refused(`PUT ${root}/users/${adminId}/password`, { password: 'mine now!' }, /(endpoint|application):create/)
    await refused(`PUT ${root}/users/${adminId}`, { password: 'mine now!' }, /(endpoint|application):create/)
    await refused(`POST ${root}/clients/acme-back/secret`, undefined, /(endpoint|application):create/)
    assert.equal((await manager(`PUT ${root}/users/${managerId}/password`, { password: 'mine anyway' })).status, 204)
  })

  test('a caller with fewer permissions than a user cannot rename, disable, demote or delete this user', async () => {
    await refused(`PUT ${root}/users/${adminId}`, { username: 'nobody' }, /(endpoint|application):create/)
    await refused(`PUT ${root}/users/${adminId}`, { email: 'manager@example.org' }, /(endpoint|application):create/)
    await refused(`PUT ${root}/users/${adminId}`, { enabled: false }, /(endpoint|application):create/)
    await waypost.user('acme', 'second-admin', ['tenant-admin'])
    await refused(`PUT ${root}/users/${adminId}/roles`, [], /(endpoint|application):create/)
    await refused(`DELETE ${root}/users/${adminId}`, undefined, /(endpoint|application):create/)
    assert.equal((await manager(`PUT ${root}/users/${adminId}`, { username: 'admin', firstName: 'Ada' })).status, 204)
    const equalId = await waypost.user('acme', 'equal')
    const change = { username: 'equal-2', email: 'equal@example.org', enabled: false }
    assert.equal((await manager(`PUT ${root}/users/${equalId}`, change)).status, 204)
    assert.equal((await manager(`DELETE ${root}/users/${equalId}`)).status, 204)
  })

  test('the e-mail address of a user cannot be the username of another user, and a username cannot be the e-mail address of another user', async () => {
    const create = (user: object) => manager(`POST ${root}/users`, user)
    const victim = await create({ username: 'victim', email: 'victim@example.org' })
    assert.equal(victim.status, 201)
    const taken = await create({ username: 'Victim@example.org' })
    assert.deepEqual([taken.status, /logs in as Victim@example.org/.test(taken.body.message)], [409, true])
    await create({ username: 'named@example.org', email: 'named@example.org' })
    assert.equal((await create({ username: 'other', email: 'named@EXAMPLE.org' })).status, 409)
    const { body } = await create({ username: 'renamed' })
    assert.equal((await manager(`PUT ${root}/users/${body.id}`, { username: 'victim@example.org' })).status, 409)
    assert.equal((await manager(`PUT ${root}/users/${body.id}`, { email: 'named@example.org' })).status, 409)
    assert.equal((await manager(`PUT ${root}/users/${victim.body.id}`, { username: 'victim@example.org' })).status, 204)
  })

  test('the e-mail address of a user is not the username of another user, even if both are created at the same time', async () => {
    const users = Array.from({ length: 6 }, (_, n) =>
      n % 2 ? { username: 'race@example.org' } : { username: `racer-${n}`, email: 'race@example.org' },
    )
    await Promise.all(users.map((user) => manager(`POST ${root}/users`, user)))
    const { body } = await manager(`GET ${root}/users?search=race@example.org`)
    const holders = body.content.filter(({ username }: { username: string }) => username === 'race@example.org')
    assert.ok(holders.length === 0 || body.content.length === 1, JSON.stringify(body.content))
  })

  test('only a caller with the permissions of all roles can let logins return to a new address, or allow logins without PKCE', async () => {
    const change = `PATCH ${root}/clients/acme-front`
    await refused(change, { redirectUris: ['https://mine.example/*'] }, /does not hold the scope/)
    await refused(change, { pkceRequired: false }, /does not hold the scope/)
    const admin = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': ['*'] } }))
    const registered = { redirectUris: ['https://app.example/*', 'https://old.example/*'], pkceRequired: false }
    assert.equal((await admin(change, registered)).status, 200)
    // A change that adds no address requires no further permissions.
    const kept = { redirectUris: ['https://app.example/*'], webOrigins: ['https://app.example'], pkceRequired: false }
    assert.equal((await manager(change, kept)).status, 200)
    assert.equal((await manager(change, { redirectUris: [], pkceRequired: true })).status, 200)
    await refused(change, { redirectUris: ['https://old.example/*'] }, /does not hold the scope/)
  })

  test('a change of a client that waits for another change is checked against the result of that other change', async () => {
    const { db } = waypost.kit
    const set = (sql: Sql, pkceRequired: boolean) =>
      sql`update identity.clients set own = own || ${sql.json({ pkceRequired })} where tenant_id = 'acme' and id = 'acme-front'`
    await set(db.sql, false)
    const [isSet, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const other = db.tx(async (sql) => {
      await set(sql, true)
      isSet.resolve()
      await mayCommit.promise
    })
    await isSet.promise
    const answer = manager(`PATCH ${root}/clients/acme-front`, { pkceRequired: false })
    await eventually(async () => {
      const [row] = await db.sql<{ waiting: number }[]>`
        select count(*)::int as waiting from pg_locks where not granted and locktype in ('transactionid', 'tuple')`
      assert.ok(row!.waiting > 0)
    })
    mayCommit.resolve()
    await other
    assert.equal((await answer).status, 403)
  })

  test('a caller without the permissions of all roles can require second factors, but cannot make them optional or turn them off', async () => {
    const set = (by: Ask, secondFactor: string) => by(`PUT ${root}/realm`, { secondFactor })
    assert.equal((await set(manager, 'required')).status, 200)
    for (const secondFactor of ['optional', 'off'])
      await refused(`PUT ${root}/realm`, { secondFactor }, /does not hold the scope/)
    const admin = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': ['*'] } }))
    assert.deepEqual((await set(admin, 'optional')).body, { secondFactor: 'optional' })
    await refused(`PUT ${root}/realm`, { secondFactor: 'off' }, /does not hold the scope/)
    assert.equal((await set(admin, 'off')).status, 200)
  })

  test('registering an issuer requires the permissions of all roles', async () => {
    await refused(
      `POST ${root}/issuers`,
      { issuer: 'https://mine.example', audience: 'waypost' },
      /(endpoint|application):create/,
    )
  })

  test('a key can only have scopes that its owner has', async () => {
    await refused(
      `POST ${root}/api-keys`,
      { name: 'wide', scopes: ['endpoint:read', 'endpoint:delete'] },
      /endpoint:delete/,
    )
    await refused(`POST ${root}/api-keys`, { name: 'wide', scopes: ['*'] }, /\*/)
  })

  test('an administrator may grant every scope on a single resource and reset the password of its creator', async () => {
    const admin = waypost.bearer(await waypost.userToken('acme', 'admin'))
    const makerId = await waypost.user('acme', 'maker')
    const caller = aCaller({ tenantId: 'acme', id: makerId })
    await waypost.kit.db.tx((sql) =>
      waypost.api.grantCreator(sql, { ...waypost.kit.system('acme'), caller }, 'application-m'),
    )
    const grant = { subject: { type: 'user', id: managerId }, resource: 'application-m', scopes: ['*'] }
    assert.equal((await admin(`POST ${root}/grants`, grant)).status, 201)
    assert.equal((await admin(`POST ${root}/grants`, { ...grant, resource: 'tenant-system' })).status, 403)
    assert.equal((await admin(`PUT ${root}/users/${makerId}/password`, { password: 'forgotten again' })).status, 204)
    assert.equal((await admin(`POST ${root}/clients/acme-back/secret`)).status, 200)
    assert.equal(
      (await admin(`POST ${root}/issuers`, { issuer: 'https://ours.example', audience: 'waypost' })).status,
      201,
    )
  })
})
