import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { aRegistration, aTenantId } from '../../../test/harness/registration.ts'
import { openTenants } from '../../../test/harness/tenants.ts'
import { TenantDeleted, TenantStatusChanged } from './events.ts'

describe('tenant manager v1', () => {
  let fixture: Awaited<ReturnType<typeof openTenants>>
  before(async () => {
    fixture = await openTenants()
  })

  test('a tenant is registered without any preparation and becomes AVAILABLE', async () => {
    const { admin, realm: realmOf, waitForStatus } = fixture
    const tenantId = aTenantId()
    const answer = await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId, idp_version: true }))
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.headers.location, `http://waypost.test/api/v1/tenants/${tenantId}`)
    const { created, client_backend_secret: secret, ...rest } = answer.body
    assert.deepEqual(rest, {
      id: tenantId,
      realm_name: tenantId,
      client_frontend_id: 'waypost-frontend',
      client_backend_id: 'waypost-backend',
      realm_template_version: 1,
      realm_scopes_version: 1,
      client_backend_version: 1,
      client_frontend_version: 1,
      roles_version: 1,
      resources_version: 1,
      idp_version: 1,
      user_roles: 1,
      issuer: `http://waypost.test/auth/realms/${tenantId}`,
      status: 'CREATING',
      idp_server: 1,
      package_type: 1,
      analytics_enabled: false,
      js_policies: [],
      subscription_type: 'PERMANENT',
    })
    assert.match(created, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    const available = await waitForStatus(tenantId, 'AVAILABLE')
    assert.equal(
      available.client_backend_secret,
      secret,
      'the secret in the response must be the secret of the built realm',
    )
    const realm = await realmOf(tenantId)
    assert.equal(realm.status, 'AVAILABLE')
    assert.deepEqual(realm.users, [])
  })

  test('the realm has the built-in roles with their scopes and no scope on the platform', async () => {
    const { realm, createAvailable } = fixture
    const tenantId = aTenantId()
    await createAvailable(tenantId)
    const spec = await realm(tenantId)
    const roles = new Map(spec.roles.map((role) => [role.name, role]))
    assert.deepEqual(
      [...roles.keys()],
      ['application-admin', 'application-reader', 'endpoint-admin', 'endpoint-reader', 'service', 'tenant-admin'],
    )
    assert.ok(roles.get('tenant-admin')?.scopes.includes('identity:tenant:read'))
    assert.ok(!roles.get('tenant-admin')?.scopes.includes('identity:tenant:create'))
    assert.ok(roles.get('endpoint-reader')?.scopes.includes('endpoint:read'))
    assert.ok(!roles.get('endpoint-reader')?.scopes.includes('endpoint:update'))
    for (const { platformScopes, scopes } of roles.values()) {
      assert.deepEqual(platformScopes, [])
      assert.ok(scopes.every((scope) => !scope.startsWith('platform:')))
    }
    assert.deepEqual(spec.backendClient, { id: 'waypost-backend', roles: ['service'] })
    assert.equal(spec.accessTokenSeconds, 300)
    assert.equal(spec.refreshTokenSeconds, 1800)
    assert.equal(spec.resources[0]?.name, 'tenant-system')
    assert.ok(spec.resources[0]?.scopes.includes('tenant:application:create'))
  })

  test('the realm is built from custom versions of roles, scopes and resources', async () => {
    const { admin, realm: realmOf, createAvailable } = fixture
    const post = async (path: string, body: object) => {
      const answer = await admin(`POST /api/v1${path}`, body)
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    }
    const realm = await post('/templates/realms', { template: { accessTokenLifespan: 60 }, description: 'short' })
    const backend = await post('/templates/realm-backend-clients', {
      template: { clientId: 'robot', serviceAccountRoles: ['auditor'] },
      description: 'audits',
    })
    await post('/roles/versions-mappings', { version: 7, role: 'auditor' })
    await post('/roles/scopes-mappings', { role: 'auditor', scope: 'endpoint:read' })
    await post('/roles/scopes-mappings', { role: 'auditor', scope: 'platform:tenant:read' })
    await post('/roles/scopes-mappings', { role: 'auditor', scope: 'not:in:this:version' })
    await post('/default-resources', {
      resource_name: 'shop',
      resource_type: 'application',
      display_name: 'Shop',
      scopes: ['application:read'],
    })
    await post('/default-resources/versions-mappings', { version: 9, resource: 'shop' })
    await post('/default-resources/scopes-mappings', { resource: 'shop', scope: 'application:update' })
    const tenantId = aTenantId()
    const tenant = await createAvailable(tenantId, {
      realm_template_version: realm.id,
      client_backend_version: backend.id,
      roles_version: 7,
      resources_version: 9,
    })
    assert.equal(tenant.client_backend_id, 'robot')
    const spec = await realmOf(tenantId)
    assert.equal(spec.accessTokenSeconds, 60)
    assert.deepEqual(spec.backendClient, { id: 'robot', roles: ['auditor'] })
    assert.deepEqual(spec.roles, [{ name: 'auditor', scopes: ['endpoint:read'], platformScopes: [] }])
    assert.deepEqual(spec.resources, [
      {
        name: 'shop',
        type: 'application',
        displayName: 'Shop',
        scopes: ['application:read', 'application:update'],
      },
    ])
  })

  test('the field `user` of a registration creates the first administrator, whose password is shown once', async () => {
    const { admin, realm, loginStatus, waitForStatus } = fixture
    const tenantId = aTenantId()
    const answer = await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId, user: 1 }))
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.body.user, 1)
    const after = await waitForStatus(tenantId, 'AVAILABLE')
    assert.equal(after.user_password, undefined)
    const [user] = (await realm(tenantId)).users
    assert.equal(user?.username, 'admin')
    assert.equal(await loginStatus(tenantId, 'admin', answer.body.user_password), 200)
    assert.deepEqual(user?.roles, ['tenant-admin'])
  })

  test('the error names every missing or invalid field with its messages', async () => {
    const { admin } = fixture
    const empty = await admin('POST /api/v1/tenants', {})
    assert.equal(empty.status, 400)
    for (const field of ['realm_name', 'roles_version', 'user_roles', 'idp_server', 'package_type'])
      assert.deepEqual(empty.body[field], ['is required'], field)
    assert.equal(empty.body.detail, empty.body.message)

    const rejected = await admin(
      'POST /api/v1/tenants',
      aRegistration({ realm_template_version: 999, package_type: 998 }),
    )
    assert.equal(rejected.status, 400)
    assert.deepEqual(rejected.body.realm_template_version, ['Realm template 999 does not exist'])
    assert.deepEqual(rejected.body.package_type, ['Package type 998 does not exist'])

    for (const [field, value] of [
      ['realm_name', 'Not Good'],
      ['realm_name', 'a@b'],
      ['realm_name', ''],
      ['realm_name', 'x'.repeat(64)],
      ['roles_version', 0],
      ['roles_version', 2 ** 40],
      ['roles_version', '1'],
      ['user', 77],
      ['subscription_type', 'TRIAL'],
      ['idp_version', 'yes'],
      ['idp_version', 55],
    ] as const) {
      const answer = await admin('POST /api/v1/tenants', aRegistration({ [field]: value }))
      assert.equal(answer.status, 400, `${field} ${value}`)
      assert.ok(Array.isArray(answer.body[field]), `${field} ${value}: ${answer.text}`)
    }
  })

  test('a realm_name that is already used gets 400 with the name of the field, even after the tenant was deleted', async () => {
    const { admin, createAvailable } = fixture
    const tenantId = aTenantId()
    await createAvailable(tenantId)
    for (const realm_name of [tenantId, 'platform', 'default']) {
      const answer = await admin('POST /api/v1/tenants', aRegistration({ realm_name }))
      assert.equal(answer.status, 400)
      assert.deepEqual(answer.body.realm_name, [`Tenant ${realm_name} already exists`])
    }
    assert.equal((await admin(`DELETE /api/v1/tenants/${tenantId}`)).status, 204)
    assert.equal((await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId }))).status, 400)
  })

  test('field names of existing clients are accepted and returned with the current names', async () => {
    const { admin } = fixture
    const { idp_server: _, ...body } = aRegistration({ keycloak_server: 1, opendistro_enabled: true })
    const answer = await admin('POST /tenant-manager/api/v1/tenants', body)
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.body.idp_server, 1)
    assert.equal(answer.body.analytics_enabled, true)
    assert.match(answer.headers.location!, /\/tenant-manager\/api\/v1\/tenants\//)
    const listed = await admin(`GET /api/v1/tenants?opendistro_enabled=true&realm_name=${answer.body.id}`)
    assert.equal(listed.body.count, 1)
    assert.equal((await admin('GET /api/v1/keycloak-servers/1')).body.url, 'http://waypost.test/auth')
  })

  test('lists support pages and filters', async () => {
    const { admin, createAvailable } = fixture
    const { status, body } = await admin('GET /api/v1/tenants?limit=1')
    assert.equal(status, 200)
    assert.equal(body.results.length, 1)
    assert.equal(body.next, null)
    assert.equal(body.previous, null)
    const all = await admin('GET /api/v1/tenants?limit=0')
    assert.equal(all.body.results.length, all.body.count)
    const second = await admin('GET /api/v1/tenants?limit=1&offset=1')
    assert.equal(second.body.results[0].id, all.body.results[1].id)

    const tenantId = aTenantId('listed')
    await createAvailable(tenantId, { analytics_enabled: true, subscription_type: 'RENEWAL' })
    const find = async (query: string) =>
      (await admin(`GET /api/v1/tenants?realm_name=${tenantId}&${query}`)).body.count
    assert.equal(await find('analytics_enabled=true'), 1)
    assert.equal(await find('analytics_enabled=False'), 0)
    assert.equal(await find('subscription_type=RENEWAL'), 1)
    assert.equal(await find('subscription_type=PERMANENT'), 0)
    assert.equal(await find('status=AVAILABLE'), 1)
    assert.equal(await find('status=SUSPENDED'), 0)
    for (const query of ['analytics_enabled=maybe', 'status=GONE', 'limit=-1', 'offset=x', 'subscription_type=TRIAL'])
      assert.equal((await admin(`GET /api/v1/tenants?${query}`)).status, 400, query)
  })

  test('a changed version rebuilds the realm: UPDATING, then AVAILABLE', async () => {
    const { admin, realm, createAvailable, waitForStatus } = fixture
    const tenantId = aTenantId()
    const before = await createAvailable(tenantId)
    const template = await admin('POST /api/v1/templates/realms', {
      template: { accessTokenLifespan: 120 },
      description: '',
    })
    const answer = await admin(`PUT /api/v1/tenants/${tenantId}`, { realm_template_version: template.body.id })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.status, 'UPDATING')
    const after = await waitForStatus(tenantId, 'AVAILABLE')
    assert.equal(after.client_backend_secret, before.client_backend_secret)
    assert.equal((await realm(tenantId)).accessTokenSeconds, 120)
    const inUse = await admin(`DELETE /api/v1/templates/realms/${template.body.id}`)
    assert.equal(inUse.status, 400)
    assert.match(inUse.body.detail, new RegExp(tenantId))
  })

  test('a version that the tenant already has does not rebuild the realm', async () => {
    const { admin, waypost, createAvailable } = fixture
    const tenantId = aTenantId()
    const before = await createAvailable(tenantId)
    const statuses: string[] = []
    waypost.kit.bus.subscribe(
      TenantStatusChanged,
      ({ tenantId: id, to }) => void (id === tenantId && statuses.push(to)),
    )
    const answer = await admin(`PUT /api/v1/tenants/${tenantId}`, {
      realm_template_version: before.realm_template_version,
      roles_version: before.roles_version,
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.status, 'AVAILABLE')
    assert.deepEqual(statuses, [])
  })

  test('a change of fields that are not part of the realm takes effect immediately', async () => {
    const { admin, createAvailable } = fixture
    const tenantId = aTenantId()
    const before = await createAvailable(tenantId)
    const answer = await admin(`PUT /api/v1/tenants/${tenantId}`, {
      subscription_type: 'RENEWAL',
      analytics_enabled: true,
    })
    assert.equal(answer.body.status, 'AVAILABLE')
    assert.equal(answer.body.subscription_type, 'RENEWAL')
    assert.equal(answer.body.analytics_enabled, true)
    // A response can be sent back as an update.
    const repeated = await admin(`PUT /api/v1/tenants/${tenantId}`, before)
    assert.equal(repeated.status, 200, repeated.text)
    assert.equal(repeated.body.subscription_type, 'PERMANENT')
    assert.equal(repeated.body.status, 'AVAILABLE')
  })

  test('an update with an unusable template is rejected and the tenant stays AVAILABLE', async () => {
    const { admin, createAvailable } = fixture
    const tenantId = aTenantId()
    await createAvailable(tenantId)
    const template = await admin('POST /api/v1/templates/realms', {
      template: { accessTokenLifespan: 'soon' },
      description: 'broken',
    })
    const put = (body: object) => admin(`PUT /api/v1/tenants/${tenantId}`, body)
    const answer = await put({ realm_template_version: template.body.id })
    assert.equal(answer.status, 400)
    assert.match(answer.body.detail, /accessTokenLifespan/)
    const another = await admin('POST /api/v1/templates/realms', { template: {}, description: '' })
    const both = { status: 'SUSPENDED', realm_template_version: another.body.id }
    for (const body of [{ realm_name: 'other' }, { roles_version: 404 }, both])
      assert.equal((await put(body)).status, 400, JSON.stringify(body))
    assert.equal((await admin(`GET /api/v1/tenants/${tenantId}`)).body.status, 'AVAILABLE')
    assert.equal((await admin('PUT /api/v1/tenants/nobody', {})).status, 404)
  })

  test('a caller can suspend, disable and reactivate a tenant; other transitions are rejected', async () => {
    const { admin, realm, waypost, createAvailable } = fixture
    const tenantId = aTenantId()
    await createAvailable(tenantId)
    const moved: string[] = []
    waypost.kit.bus.subscribe(TenantStatusChanged, ({ tenantId: who, to }) => void (who === tenantId && moved.push(to)))
    const put = (status: string) => admin(`PUT /api/v1/tenants/${tenantId}`, { status })
    for (const status of ['SUSPENDED', 'SUSPENDED', 'AVAILABLE', 'DISABLED', 'AVAILABLE']) {
      const answer = await put(status)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.body.status, status)
      assert.equal((await realm(tenantId)).status, status)
    }
    assert.deepEqual(moved, ['SUSPENDED', 'AVAILABLE', 'DISABLED', 'AVAILABLE'])
    await put('SUSPENDED')
    for (const status of ['DISABLED', 'DELETED', 'CREATING', 'FAILED', 'UPDATING']) {
      const answer = await put(status)
      assert.equal(answer.status, 400)
      assert.match(answer.body.detail, /is SUSPENDED and cannot become/)
    }
    const template = await admin('POST /api/v1/templates/realms', { template: {}, description: '' })
    const change = (version: number) => admin(`PUT /api/v1/tenants/${tenantId}`, { realm_template_version: version })
    assert.equal((await change(template.body.id)).status, 400)
    assert.equal((await change(1)).body.status, 'SUSPENDED')
  })

  test('a deleted tenant gets 404, its deletion is published, and lists contain it only with the filter DELETED', async () => {
    const { admin, hasRealm, waypost, createAvailable } = fixture
    const tenantId = aTenantId()
    await createAvailable(tenantId)
    const deletedTenants: string[] = []
    waypost.kit.bus.subscribe(TenantDeleted, ({ tenantId: who }) => void deletedTenants.push(who))
    const answer = await admin(`DELETE /api/v1/tenants/${tenantId}`)
    assert.equal(answer.status, 204)
    assert.equal(answer.text, '')
    assert.deepEqual(deletedTenants, [tenantId])
    assert.equal(await hasRealm(tenantId), false)
    const missing = await admin(`GET /api/v1/tenants/${tenantId}`)
    assert.equal(missing.status, 404)
    assert.deepEqual(missing.body, {
      detail: `Tenant ${tenantId} was not found`,
      message: `Tenant ${tenantId} was not found`,
    })
    assert.equal((await admin(`DELETE /api/v1/tenants/${tenantId}`)).status, 404)
    assert.equal((await admin(`GET /api/v1/tenants?realm_name=${tenantId}`)).body.count, 0)
    const listed = await admin(`GET /api/v1/tenants?realm_name=${tenantId}&status=DELETED`)
    assert.equal(listed.body.results[0].client_backend_secret, '')
  })

  test('js_policies contains the policies that are mapped to the tenant', async () => {
    const { admin, createAvailable } = fixture
    const tenantId = aTenantId()
    await createAvailable(tenantId)
    const policy = await admin('POST /api/v1/js-policies', { name: 'p', type: 'js', scope: ['endpoint:read'] })
    assert.equal(policy.status, 201, policy.text)
    const map = (policy_id: number, tenant_id = tenantId) =>
      admin('POST /api/v1/tenants-policies-mappings', { tenant_id, policy_id })
    assert.equal((await map(policy.body.id)).status, 201)
    assert.deepEqual((await admin(`GET /api/v1/tenants/${tenantId}`)).body.js_policies, [policy.body.id])
    const unknown = await map(4711)
    assert.equal(unknown.status, 400)
    assert.deepEqual(unknown.body.policy_id, ['4711 does not exist'])
    assert.deepEqual((await map(policy.body.id, 'nobody')).body.tenant_id, ['nobody does not exist'])
  })

  test('a caller without the scope on the platform gets 403, and a caller without a token gets 401', async () => {
    const { waypost } = fixture
    const tenantAdmin = waypost.as(aTenantAdmin('acme'))
    const reader = waypost.as(aCaller({ tenantId: 'platform', on: { 'platform-system': ['platform:tenant:read'] } }))
    for (const operation of ['GET /api/v1/tenants', 'GET /api/v1/tenants/acme', 'GET /api/v1/roles/scopes-mappings']) {
      const forbidden = await tenantAdmin(operation)
      assert.equal(forbidden.status, 403, operation)
      assert.equal(forbidden.body.detail, forbidden.body.message)
      assert.equal((await waypost.as(undefined)(operation)).status, 401, operation)
    }
    assert.equal((await reader('GET /api/v1/tenants')).status, 200)
    assert.equal((await reader('POST /api/v1/tenants', aRegistration())).status, 403)
  })

  test('the built-in tenants exist from the start and cannot be deleted', async () => {
    const { admin, identity, realm, waypost } = fixture
    const { Tenants } = await import('./contract.ts')
    for (const tenantId of ['platform', 'default', 'platform']) await waypost.ask(Tenants).ensureBuiltIn(tenantId)
    assert.equal(identity.built.filter((tenantId) => tenantId === 'platform').length, 1)
    const platform = await realm('platform')
    assert.equal(platform.status, 'AVAILABLE')
    const operator = platform.roles.find(({ name }) => name === 'platform-admin')!
    assert.deepEqual(operator.scopes, [])
    for (const scope of ['platform:tenant:create', 'identity:tenant:create', 'endpoint:read'])
      assert.ok(operator.platformScopes.includes(scope), scope)
    assert.deepEqual(platform.backendClient.roles, ['service', 'platform-admin'])
    assert.ok(!(await realm('default')).roles.some(({ name }) => name === 'platform-admin'))

    assert.equal((await admin('DELETE /api/v1/tenants/default')).status, 400)
    for (const status of ['SUSPENDED', 'DISABLED'])
      assert.equal((await admin('PUT /api/v1/tenants/default', { status })).status, 400)
    const rebuilt = await admin('PUT /api/v1/tenants/default', { roles_version: 1 })
    assert.equal(rebuilt.body.status, 'AVAILABLE')
    assert.equal((await realm('default')).status, 'AVAILABLE')
  })
})
