import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { aTenantId } from '../../../test/harness/registration.ts'
import { openTenants } from '../../../test/harness/tenants.ts'
import { catalogue } from '../../assembly/catalogue.ts'
import { scopesOf } from '../../assembly/declared.ts'
import { catalogues } from './catalogues.ts'
import { seedsOf } from './defaults.ts'

const defaultScopes = scopesOf(catalogue)
const tenantScopes = [...defaultScopes].filter(([, holders]) => holders.length > 0).map(([scope]) => scope)

test('the roles service and tenant-admin have every scope of a tenant, platform-admin has every scope, and readers have only scopes to read', () => {
  const scopesOfRole = (role: string) =>
    seedsOf(defaultScopes)
      .roleScopes.filter((mapping) => mapping.role === role)
      .map(({ scope }) => scope)
  assert.deepEqual(scopesOfRole('service'), tenantScopes)
  assert.deepEqual(scopesOfRole('tenant-admin'), tenantScopes)
  assert.deepEqual(scopesOfRole('platform-admin'), [...defaultScopes.keys()])
  for (const role of ['application-reader', 'endpoint-reader'])
    for (const scope of scopesOfRole(role)) assert.match(scope, /:read$/)
  assert.ok(tenantScopes.every((scope) => !scope.startsWith('platform:')))
  for (const { entity } of catalogues) assert.ok(defaultScopes.has(`platform:tenant:${entity}:create`), entity)
})

describe('built-in roles and scopes', () => {
  let fixture: Awaited<ReturnType<typeof openTenants>>
  const start = () => fixture.waypost.built.get('tenants')!.start!()
  before(async () => {
    fixture = await openTenants()
  })

  test('every catalogue to which a registration refers has an entry 1', async () => {
    const { admin } = fixture
    for (const catalogue of catalogues) {
      if (!('usedAs' in catalogue)) continue
      const answer = await admin(`GET /api/v1${catalogue.path}/1`)
      assert.equal(answer.status, 200, `${catalogue.path}: ${answer.text}`)
    }
    const versions = await admin('GET /api/v1/roles/versions-mappings?limit=0')
    assert.equal(versions.body.count, 7)
  })

  test('a restart inserts no built-in roles and scopes, and builds no realm', async () => {
    const { identity, admin, createAvailable } = fixture
    await createAvailable(aTenantId())
    const before = await admin('GET /api/v1/roles/scopes-mappings?limit=0')
    const built = identity.built.length
    await start()
    assert.equal((await admin('GET /api/v1/roles/scopes-mappings?limit=0')).body.count, before.body.count)
    assert.equal(identity.built.length, built)
  })

  test('a scope of a new release is added to existing realms, and deleted entries stay deleted', async () => {
    const { admin, waypost, realm, createAvailable } = fixture
    const { sql } = waypost.kit.db
    const tenantId = aTenantId()
    await createAvailable(tenantId)
    const holds = async (scope: string) =>
      (await realm(tenantId)).roles.find(({ name }) => name === 'tenant-admin')!.scopes.includes(scope)
    assert.ok(await holds('vpnclient:create'))
    const mappings = (await admin('GET /api/v1/roles/scopes-mappings?limit=0')).body.results
    const unwanted = mappings.find(
      (one: { role: string; scope: string }) => one.role === 'tenant-admin' && one.scope === 'vpnclient:create',
    )
    assert.equal((await admin(`DELETE /api/v1/roles/scopes-mappings/${unwanted.id}`)).status, 204)
    // The test deletes the scope and its roles, as in a database of an older release.
    await sql`delete from tenants.seeds where item like '% vpnclient:read'`
    await sql`delete from tenants.role_scope_mappings where scope = 'vpnclient:read'`
    await sql`update tenants.seed_state set checksum = 'older'`
    await sql`update tenants.tenants set built_with = 'older'`
    await start()
    await eventually(async () => assert.ok(!(await holds('vpnclient:create'))))
    assert.ok(await holds('vpnclient:read'))
    assert.equal((await admin(`GET /api/v1/tenants/${tenantId}`)).body.status, 'AVAILABLE')
  })
})
