import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller, aPlatformAdmin } from '../../../test/harness/builders.ts'
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
  const remove = (id: string) => editor(`DELETE ${root}/users/${id}`)

  const rejected = await remove(created.admin.id)
  assert.equal(rejected.status, 409, rejected.text)
  assert.match(rejected.body.error, /last enabled user with the role tenant-admin/)
  assert.equal((await admin(`DELETE ${root}/users/${created.admin.id}?tenant_id=acme`)).status, 409)

  // Only another enabled administrator allows the deletion.
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
