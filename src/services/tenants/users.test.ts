import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aCreation } from '../../../test/harness/tenants.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { Identity } from '../../identity/contract.ts'
import identity from '../../identity/index.ts'
import tenants from './index.ts'

const root = '/tenant-manager/api/v2'

test('the last administrator cannot be deleted, except with the tenant', async () => {
  const waypost = await openTestPlatform({ services: [identity, tenants] })
  const admin = waypost.as(aPlatformAdmin())
  const created = (await admin(`POST ${root}/tenants`, aCreation({ tenant_id: 'acme' }))).body
  await eventually(async () =>
    assert.equal((await admin(`GET ${root}/tenants/${created.id}`)).body.status, 'AVAILABLE'),
  )
  const scopes = ['identity:tenant:read', 'identity:tenant:update']
  const editor = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': scopes } }))
  const owner = waypost.as(aTenantAdmin('acme'))
  const remove = (id: string) => owner(`DELETE ${root}/users/${id}`)

  // A tenant manager may only delete users that have no permissions that the manager lacks.
  assert.equal((await editor(`DELETE ${root}/users/${created.admin.id}`)).status, 403)
  const plain = { username: 'plain', email: 'plain@example.org', first_name: 'P', last_name: 'L' }
  const added = await editor(`POST ${root}/users`, plain)
  assert.equal(added.status, 201, added.text)
  assert.equal((await editor(`DELETE ${root}/users/${added.body.id}`)).status, 204)

  const rejected = await remove(created.admin.id)
  assert.equal(rejected.status, 409, rejected.text)
  assert.match(rejected.body.error, /last enabled user with the role tenant-admin/)
  assert.equal((await admin(`DELETE ${root}/users/${created.admin.id}?tenant_id=acme`)).status, 409)

  // The deletion is allowed only if there is another enabled administrator.
  const { kit } = waypost
  const second = { username: 'second', roles: ['tenant-admin'] }
  const { id } = (await kit.db.tx((sql) => waypost.ask(Identity).createUser(sql, 'acme', second)))!
  await kit.db.sql`update identity.users set enabled = false where id = ${id}`
  assert.equal((await remove(created.admin.id)).status, 409)
  await kit.db.sql`update identity.users set enabled = true where id = ${id}`
  // One of two concurrent deletions fails, because it would delete the last administrator.
  const answers = await Promise.all([remove(created.admin.id), remove(id)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409])
  assert.equal((await admin(`DELETE ${root}/tenants/${created.id}`)).status, 204)
})

test('a username cannot equal the e-mail address of another user, even if both users are created at the same time', async () => {
  const waypost = await openTestPlatform({ services: [identity, tenants] })
  const admin = waypost.as(aPlatformAdmin())
  const created = (await admin(`POST ${root}/tenants`, aCreation({ tenant_id: 'acme' }))).body
  await eventually(async () =>
    assert.equal((await admin(`GET ${root}/tenants/${created.id}`)).body.status, 'AVAILABLE'),
  )
  const owner = waypost.as(aTenantAdmin('acme'))
  const create = (username: string, email: string) =>
    owner(`POST ${root}/users`, { username, email, first_name: 'A', last_name: 'B' })
  const createInIam = (username: string, email: string) => owner('POST /iam/api/v1/users', { username, email })
  const count = (answers: { status: number }[], status: number) => answers.filter((one) => one.status === status).length
  // The test first creates twenty users with the same e-mail address, then pairs in which one username is the address of the other user.
  const shared = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? create : createInIam)(`shared-${n}`, n % 4 ? 'One@example.org' : 'one@example.org'),
    ),
  )
  assert.deepEqual([count(shared, 201), count(shared, 409)], [1, 19], shared.map(({ text }) => text).join())
  for (let n = 0; n < 5; n++) {
    const pair = await Promise.all([
      create(`crossed-${n}@example.org`, `other-${n}@example.org`),
      createInIam(`someone-${n}`, `crossed-${n}@example.org`),
    ])
    assert.deepEqual([count(pair, 201), count(pair, 409)], [1, 1], pair.map(({ text }) => text).join())
  }
  const eve = await createInIam('eve', 'eve@example.org')
  const bob = await createInIam('bob', 'bob@example.org')
  assert.deepEqual([eve.status, bob.status], [201, 201])
  const change = (user: typeof eve, changes: object) => owner(`PUT /iam/api/v1/users/${user.body.id}`, changes)
  assert.equal((await change(bob, { email: 'EVE@example.org' })).status, 409)
  assert.equal((await change(bob, { email: 'bob@example.org', firstName: 'Bob' })).status, 204)
  const both = await Promise.all([change(eve, { email: 'new@example.org' }), change(bob, { email: 'new@example.org' })])
  assert.deepEqual([count(both, 204), count(both, 409)], [1, 1])
})
