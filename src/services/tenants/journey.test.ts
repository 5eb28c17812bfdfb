import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aPlatformAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aRegistration } from '../../../test/harness/registration.ts'
import { aCreation } from '../../../test/harness/tenants.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { Identity } from '../../identity/contract.ts'
import identity from '../../identity/index.ts'
import { Tenants } from './contract.ts'
import tenants from './index.ts'

const root = '/tenant-manager/api/v2'

test('with the real identity service, a new tenant logs in with the returned credentials until it is suspended', async () => {
  const waypost = await openTestPlatform({
    services: [identity, tenants],
    authenticate: (built) => built.ask(Identity).authenticate,
  })
  for (const tenantId of ['platform', 'default']) await waypost.ask(Tenants).ensureBuiltIn(tenantId)
  const admin = waypost.as(aPlatformAdmin())
  const caller = waypost.as(undefined)

  const tokenOf = async (tenantId: string, form: Record<string, string>) => {
    const answer = await caller(
      `POST /auth/realms/${tenantId}/protocol/openid-connect/token`,
      new URLSearchParams(form).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
    return { status: answer.status, bearer: { authorization: `Bearer ${answer.body?.access_token}` } }
  }
  const serviceToken = async (tenantId: string, client_id: string, client_secret: string) =>
    await tokenOf(tenantId, { grant_type: 'client_credentials', client_id, client_secret })
  const waitUntilAvailable = async (tenantId: string) =>
    await eventually(async () =>
      assert.equal((await admin(`GET /api/v1/tenants/${tenantId}`)).body.status, 'AVAILABLE'),
    )

  // The backend client of `platform` may manage tenants in v1 and v2.
  const platform = (await waypost.ask(Identity).realm('platform'))!
  const operator = await serviceToken('platform', platform.backendClientId, platform.backendClientSecret)
  assert.equal(operator.status, 200)
  const registered = await caller('POST /api/v1/tenants', aRegistration({ realm_name: 'first' }), operator.bearer)
  assert.equal(registered.status, 201, registered.text)
  const created = await caller(`POST ${root}/tenants`, aCreation({ tenant_id: 'second' }), operator.bearer)
  assert.equal(created.status, 202, created.text)
  await waitUntilAvailable('first')
  await waitUntilAvailable('second')

  // The backend client of the first tenant logs in with the secret of the registration.
  const { client_backend_id, client_backend_secret } = registered.body
  const service = await serviceToken('first', client_backend_id, client_backend_secret)
  assert.equal(service.status, 200)
  const visibleTenants = await caller(`GET ${root}/tenants`, undefined, service.bearer)
  assert.deepEqual(
    visibleTenants.body.results.map((tenant: { tenant_id: string }) => tenant.tenant_id),
    ['first'],
  )
  assert.equal((await caller('GET /api/v1/tenants', undefined, service.bearer)).status, 403)

  // The administrator of the second tenant logs in with the password that was shown once.
  const password = { grant_type: 'password', client_id: 'waypost-frontend', username: 'ada' }
  const ada = await tokenOf('second', { ...password, password: created.body.admin.password })
  assert.equal(ada.status, 200)
  const me = await caller('GET /iam/api/v1/me', undefined, ada.bearer)
  assert.equal(me.body.subject.id, created.body.admin.id)
  assert.deepEqual(me.body.roles, ['tenant-admin'])
  assert.equal((await caller(`GET ${root}/tenants/${created.body.id}`, undefined, ada.bearer)).status, 200)
  assert.equal((await caller(`DELETE ${root}/tenants/${created.body.id}`, undefined, ada.bearer)).status, 403)

  // Requests of the tenant are rejected within a second after its suspension, accepted after its activation, and rejected after its
  // deletion.
  const setStatus = (status: string) => admin(`PUT ${root}/tenants/${created.body.id}`, { status })
  assert.equal((await setStatus('SUSPENDED')).status, 200)
  const expectMeStatus = async (expected: number) =>
    await eventually(
      async () => assert.equal((await caller('GET /iam/api/v1/me', undefined, ada.bearer)).status, expected),
      { withinMs: 1000 },
    )
  await expectMeStatus(401)
  assert.equal((await setStatus('AVAILABLE')).status, 200)
  await expectMeStatus(200)
  const template = await admin('POST /api/v1/templates/realms', { template: {}, description: '' })
  const rebuilt = await admin('PUT /api/v1/tenants/second', { realm_template_version: template.body.id })
  assert.equal(rebuilt.body.status, 'UPDATING')
  await waitUntilAvailable('second')
  await expectMeStatus(200)
  assert.equal((await admin('DELETE /api/v1/tenants/second')).status, 204)
  await expectMeStatus(401)
})
