import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { aRegistration, aTenantId } from '../../../test/harness/registration.ts'
import { openTenants } from '../../../test/harness/tenants.ts'
import { TenantAvailable } from './events.ts'

describe('building a realm', { concurrency: true }, () => {
  let fixture: Awaited<ReturnType<typeof openTenants>>
  const available: string[] = []
  before(async () => {
    fixture = await openTenants({ environment: { WAYPOST_LOG_LEVEL: 'silent' } })
    fixture.waypost.kit.bus.subscribe(TenantAvailable, ({ tenantId }) => void available.push(tenantId))
  })

  test('building a realm continues after an interruption until the tenant is AVAILABLE', async () => {
    const { admin, identity, waitForStatus, realm } = fixture
    const tenantId = aTenantId('interrupted')
    identity.failBuilding(tenantId, new Error('killed'), new Error('killed again'))
    await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId, user: 1 }))
    await waitForStatus(tenantId, 'AVAILABLE')
    assert.equal(identity.built.filter((name) => name === tenantId).length, 3)
    assert.equal((await realm(tenantId)).users.length, 1)
    assert.deepEqual(
      available.filter((name) => name === tenantId),
      [tenantId],
    )
  })

  test('building a realm fails immediately with the reason if a template cannot be used; with another version of the template it succeeds', async () => {
    const { admin, identity, waitForStatus, realm } = fixture
    for (const [path, field, template] of [
      ['realms', 'realm_template_version', { accessTokenLifespan: 'soon' }],
      ['realm-frontend-clients', 'client_frontend_version', { redirectUris: 'everywhere' }],
      ['realm-frontend-clients', 'client_frontend_version', { clientId: 'waypost-backend' }],
      ['realm-backend-clients', 'client_backend_version', { clientId: 'not a client id' }],
      ['realm-backend-clients', 'client_backend_version', { serviceAccountRoles: ['nobody'] }],
    ] as const) {
      const { body } = await admin(`POST /api/v1/templates/${path}`, { template, description: 'broken' })
      const tenantId = aTenantId('broken')
      const answer = await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId, [field]: body.id }))
      assert.equal(answer.status, 201, answer.text)
      const failed = await waitForStatus(tenantId, 'FAILED')
      assert.match(
        failed.status_reason,
        new RegExp(`template ${body.id}: .*${Object.keys(template)[0]}|no role nobody`),
      )
      assert.equal((await realm(tenantId)).status, 'FAILED')
      assert.ok(!identity.built.includes(tenantId))

      assert.equal((await admin(`PUT /api/v1/tenants/${tenantId}`, { status: 'AVAILABLE' })).status, 400)
      const repaired = await admin(`PUT /api/v1/tenants/${tenantId}`, { [field]: 1 })
      assert.equal(repaired.body.status, 'UPDATING', repaired.text)
      const after = await waitForStatus(tenantId, 'AVAILABLE')
      assert.equal(after.status_reason, undefined)
    }
  })

  test('the realm of a FAILED tenant is built again when the same template version is sent once more after the template was corrected', async () => {
    const { admin, waitForStatus } = fixture
    const { body } = await admin('POST /api/v1/templates/realms', {
      template: { accessTokenLifespan: 'soon' },
      description: '',
    })
    const tenantId = aTenantId('corrected')
    await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId, realm_template_version: body.id }))
    await waitForStatus(tenantId, 'FAILED')
    const corrected = { template: { accessTokenLifespan: 60 }, description: '' }
    assert.equal((await admin(`PUT /api/v1/templates/realms/${body.id}`, corrected)).status, 200)
    const answer = await admin(`PUT /api/v1/tenants/${tenantId}`, { realm_template_version: body.id })
    assert.equal(answer.body.status, 'UPDATING', answer.text)
    await waitForStatus(tenantId, 'AVAILABLE')
  })

  test('building a realm does nothing for a tenant that was deleted in the meantime', async () => {
    const { admin, identity, hasRealm } = fixture
    const tenantId = aTenantId('deleted')
    identity.failBuilding(tenantId, new Error('not yet'))
    await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId }))
    await eventually(() => assert.ok(identity.built.includes(tenantId)))
    assert.equal((await admin(`DELETE /api/v1/tenants/${tenantId}`)).status, 204)
    const other = aTenantId('after')
    await fixture.createAvailable(other)
    assert.equal((await admin(`GET /api/v1/tenants/${tenantId}`)).status, 404)
    assert.equal(await hasRealm(tenantId), false)
  })

  test('a tenant whose build has stopped is found and built', async () => {
    const { waypost, waitForStatus, createAvailable } = fixture
    const tenantId = aTenantId('stuck')
    await createAvailable(tenantId)
    const { sql } = waypost.kit.db
    await sql`update tenants.tenants set status = 'UPDATING', modified = now() - interval '1 hour'
      where tenant_id = ${tenantId}`
    const rescue = waypost.built.get('tenants')!.periodic!.find(({ name }) => name === 'tenants.rescue')!
    await waypost.kit.db.tx((tx) => rescue.run(tx))
    await waitForStatus(tenantId, 'AVAILABLE')
  })

  test('the sealed password is deleted once the administrator is created', async () => {
    const { waypost, createAvailable } = fixture
    const tenantId = aTenantId('forgets')
    await createAvailable(tenantId, { user: 1 })
    const [row] = await waypost.kit.db.sql`
      select admin_password_sealed from tenants.tenants where tenant_id = ${tenantId}`
    assert.equal(row?.adminPasswordSealed, null)
  })
})
