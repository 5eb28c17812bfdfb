import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aTenantId } from '../../../test/harness/registration.ts'
import { aCreation, openTenants } from '../../../test/harness/tenants.ts'
import { Identity } from '../../identity/contract.ts'

const root = '/tenant-manager/api/v2'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('tenant manager v2', () => {
  let fixture: Awaited<ReturnType<typeof openTenants>>
  before(async () => {
    fixture = await openTenants()
  })

  const create = async (fields: object = {}) => {
    const answer = await fixture.admin(`POST ${root}/tenants`, aCreation(fields))
    assert.equal(answer.status, 202, answer.text)
    return answer
  }
  const createAvailable = async (fields: object = {}) => {
    const { body } = await create(fields)
    await fixture.waitForStatus(body.tenant_id, 'AVAILABLE')
    return body
  }
  const callerOf = (tenantId: string, ...scopes: string[]) =>
    fixture.waypost.as(aCaller({ tenantId, on: { 'tenant-system': scopes } }))

  test('a registration needs only a name and an administrator, and the Location shows when the tenant is available', async () => {
    const { admin, realm, loginStatus } = fixture
    const answer = await create()
    const { id, tenant_id: tenantId, admin: person, created, modified, ...rest } = answer.body
    assert.match(id, uuid)
    assert.match(tenantId, /^acme-ltd-[0-9a-v]{6}$/)
    assert.equal(answer.headers.location, `http://waypost.test${root}/tenants/${id}`)
    assert.deepEqual(rest, {
      name: 'Acme Ltd.',
      status: 'CREATING',
      analytics_enabled: false,
      subscription_type: 'TRIAL',
      package_type: 'default',
      objectstore: { key: tenantId, status: 'CREATING' },
      analytics: { key: tenantId, uuid: id, status: 'DISABLED' },
    })
    assert.match(created, /Z$/)
    assert.equal(created, modified)
    const { password, id: adminId, ...shown } = person
    assert.match(adminId, uuid)
    assert.deepEqual(shown, {
      irn: `irn:${tenantId}:identity::user/ada`,
      email: 'ada@acme.example',
      username: 'ada',
      first_name: 'Ada',
      last_name: 'Byron',
    })
    const location = new URL(answer.headers.location!).pathname
    const polled = await eventually(async () => {
      const { body } = await admin(`GET ${location}`)
      assert.equal(body.status, 'AVAILABLE')
      return body
    })
    assert.equal(polled.admin.password, undefined, 'a generated password must be shown only once')
    const [user] = (await realm(tenantId)).users
    assert.deepEqual(user, {
      id: adminId,
      username: 'ada',
      email: 'ada@acme.example',
      firstName: 'Ada',
      lastName: 'Byron',
      roles: ['tenant-admin'],
    })
    assert.equal(await loginStatus(tenantId, 'ada', password), 200)
  })

  test('a password in the request is used and never returned', async () => {
    const { loginStatus } = fixture
    const body = await createAvailable({ admin: { ...aCreation().admin, password: 'correct horse' } })
    assert.equal(body.admin.password, undefined)
    assert.equal(await loginStatus(body.tenant_id, 'ada', 'correct horse'), 200)
  })

  test('a tenant_id that is made from a name keeps the letters that have accents', async () => {
    for (const [name, start] of [
      ['Stadtwerke Zürich', 'stadtwerke-zurich'],
      ['İzmir & Orléans', 'izmir-orleans'],
      ['水', 'tenant'],
    ])
      assert.match((await create({ name })).body.tenant_id, new RegExp(`^${start}-[a-z0-9]{6}$`))
  })

  test('a tenant_id that is already used gets 409, and an invalid field gets 400 with its name', async () => {
    const { admin } = fixture
    const tenant_id = aTenantId()
    await create({ tenant_id })
    const taken = await admin(`POST ${root}/tenants`, aCreation({ tenant_id }))
    assert.equal(taken.status, 409)
    assert.deepEqual(taken.body, { error: `Tenant ${tenant_id} already exists, or existed once; choose another id` })
    assert.equal((await admin(`POST ${root}/tenants`, aCreation({ tenant_id: 'platform' }))).status, 409)
    for (const [fields, field] of [
      [{ name: '' }, 'name'],
      [{ tenant_id: 'No!' }, 'tenant_id'],
      [{ admin: undefined }, 'admin'],
      [{ admin: { ...aCreation().admin, email: 'nowhere' } }, 'admin.email'],
      [{ admin: { ...aCreation().admin, password: 'short' } }, 'admin.password'],
      [{ package_type: 'huge' }, 'package_type'],
      [{ idp_server: 99 }, 'idp_server'],
      [{ subscription_type: 'FOREVER' }, 'subscription_type'],
    ] as const) {
      const answer = await admin(`POST ${root}/tenants`, aCreation(fields))
      assert.equal(answer.status, 400, answer.text)
      assert.ok(Array.isArray(answer.body.details[field]), answer.text)
      assert.match(answer.body.error, new RegExp(`^${field}: `))
    }
  })

  test('lists support filters, search, sorting and pages', async () => {
    const { admin } = fixture
    const person = (username: string) => ({ ...aCreation().admin, username, email: `${username}@zoo.example` })
    for (const name of ['Zoo Berlin', 'Zoo Aachen', 'Zoo 100%'])
      await create({ name, admin: person(`keeper-${name.slice(4, 6).toLowerCase()}`) })
    const names = async (query: string) => {
      const { status, body, text } = await admin(`GET ${root}/tenants?${query}`)
      assert.equal(status, 200, text)
      return body.results.map(({ name }: { name: string }) => name)
    }
    assert.deepEqual(await names('name=zoo&sort_by=name&sort_order=asc'), ['Zoo 100%', 'Zoo Aachen', 'Zoo Berlin'])
    assert.deepEqual(await names('search=keeper-be'), ['Zoo Berlin'])
    assert.deepEqual(await names('admin=keeper-aa%40zoo.example'), ['Zoo Aachen'])
    assert.deepEqual(await names('name=100%25'), ['Zoo 100%'])
    assert.deepEqual(await names('name=zoo&limit=1'), ['Zoo 100%'], 'the newest tenant must be first')
    const page = await admin(`GET ${root}/tenants?name=zoo&limit=1&offset=1`)
    assert.equal(page.body.count, 3)
    assert.equal(page.body.limit, 1)
    assert.equal(page.body.offset, 1)
    assert.equal(page.body.results[0].name, 'Zoo Aachen')
    const { tenant_id } = page.body.results[0]
    assert.deepEqual(await names(`tenant_id=${tenant_id}`), ['Zoo Aachen'])
    const all = (await admin(`GET ${root}/tenants`)).body
    assert.equal(all.limit, 100)
    assert.equal((await admin(`GET ${root}/tenants?tenant_id=`)).body.count, all.count)
    assert.equal((await admin('GET /api/v1/tenants?realm_name=')).body.count, all.count)
    for (const query of ['limit=0', 'limit=101', 'offset=-1', 'sort_by=secret', 'sort_order=up'])
      assert.equal((await admin(`GET ${root}/tenants?${query}`)).status, 400, query)
  })

  test('the same tenant is visible in v1 and v2', async () => {
    const { admin } = fixture
    const { id, tenant_id: tenantId } = await createAvailable({ package_type: 'default' })
    const v1 = (await admin(`GET /api/v1/tenants/${tenantId}`)).body
    assert.equal(v1.subscription_type, 'RENEWAL', 'v1 must show a trial as RENEWAL')
    assert.equal(v1.package_type, 1)
    assert.equal((await admin(`GET /api/v1/tenants?realm_name=${tenantId}&subscription_type=RENEWAL`)).body.count, 1)
    await admin(`PUT /api/v1/tenants/${tenantId}`, v1)
    assert.equal((await admin(`GET ${root}/tenants/${id}`)).body.subscription_type, 'TRIAL')
    await admin(`PUT /api/v1/tenants/${tenantId}`, { status: 'DISABLED' })
    const disabled = (await admin(`GET ${root}/tenants/${id}`)).body
    assert.equal(disabled.status, 'SUSPENDED', 'v2 must show DISABLED as SUSPENDED')
    assert.equal((await admin(`PUT ${root}/tenants/${id}`, { status: 'SUSPENDED' })).status, 200)
    assert.equal((await admin(`GET /api/v1/tenants/${tenantId}`)).body.status, 'DISABLED')
    assert.equal((await admin(`PUT ${root}/tenants/${id}`, { status: 'AVAILABLE' })).body.status, 'AVAILABLE')
  })

  test('name, theme and status of a tenant are changed, and the tenant is deleted', async () => {
    const { admin, realm } = fixture
    const { id, tenant_id: tenantId } = await createAvailable()
    const changed = await admin(`PUT ${root}/tenants/${id}`, {
      name: 'Acme GmbH',
      login_theme: 'dark',
      subscription_type: 'PERMANENT',
    })
    assert.equal(changed.status, 200, changed.text)
    assert.equal(changed.body.name, 'Acme GmbH')
    assert.equal(changed.body.status, 'AVAILABLE')
    assert.equal((await realm(tenantId)).loginTheme, 'dark')
    assert.equal((await realm(tenantId)).displayName, 'Acme GmbH')
    assert.equal((await admin(`PUT ${root}/tenants/${id}`, { status: 'SUSPENDED' })).body.status, 'SUSPENDED')
    assert.equal((await realm(tenantId)).status, 'SUSPENDED')
    const rejected = await admin(`PUT ${root}/tenants/${id}`, { status: 'CREATING' })
    assert.equal(rejected.status, 400)
    assert.match(rejected.body.error, /cannot become CREATING/)
    const subscriptions = (await admin(`GET ${root}/tenants-subscriptions?tenant_id=${tenantId}`)).body
    assert.deepEqual(
      subscriptions.results.map((one: { subscription_type: string }) => one.subscription_type),
      ['TRIAL', 'PERMANENT'],
    )
    assert.equal((await admin(`DELETE ${root}/tenants/${id}`)).status, 204)
    for (const method of ['GET', 'DELETE'])
      assert.deepEqual((await admin(`${method} ${root}/tenants/${id}`)).body, { error: `Tenant ${id} was not found` })
    assert.equal((await admin(`GET ${root}/tenants/not-a-uuid`)).status, 404)
  })

  test('a change of a tenant with an old ETag is answered with 412 in v1 and v2, and changes nothing', async () => {
    const { admin } = fixture
    const { id, tenant_id: tenantId } = await createAvailable()
    const paths = [`${root}/tenants/${id}`, `/api/v1/tenants/${tenantId}`]
    const etags = await Promise.all(paths.map(async (path) => (await admin(`GET ${path}`)).headers.etag!))
    const changed = await admin(`PUT ${paths[0]}`, { name: 'First' }, { 'if-match': etags[0]! })
    assert.equal(changed.status, 200, changed.text)
    assert.equal((await admin(`GET ${paths[0]}`)).headers.etag, changed.headers.etag)
    for (const [index, path] of paths.entries()) {
      const old = { 'if-match': etags[index]! }
      assert.equal((await admin(`PUT ${path}`, { subscription_type: 'PERMANENT' }, old)).status, 412)
      assert.equal((await admin(`DELETE ${path}`, undefined, old)).status, 412)
    }
    const { body } = await admin(`GET ${paths[0]}`)
    assert.deepEqual([body.name, body.status, body.subscription_type], ['First', 'AVAILABLE', 'TRIAL'])
  })

  test('a tenant that the caller already has is answered with 304 in v1 and v2; in v1, a new client secret is a change', async () => {
    const { admin, waypost } = fixture
    const { id, tenant_id: tenantId } = await createAvailable()
    const [v2, v1] = [`${root}/tenants/${id}`, `/api/v1/tenants/${tenantId}`]
    const etagAt = async (path: string) => (await admin(`GET ${path}`)).headers.etag!
    const statusAt = async (path: string, etag: string) =>
      (await admin(`GET ${path}`, undefined, { 'if-none-match': etag })).status
    const etags = [await etagAt(v2), await etagAt(v1)] as const
    assert.deepEqual([await statusAt(v2, etags[0]), await statusAt(v1, etags[1])], [304, 304])

    const { backendClientId } = (await waypost.ask(Identity).realm(tenantId))!
    const tenantAdmin = waypost.as(aTenantAdmin(tenantId))
    const rotated = await tenantAdmin(`POST /iam/api/v1/clients/${backendClientId}/secret`)
    assert.equal(rotated.status, 200, rotated.text)
    assert.deepEqual([await statusAt(v2, etags[0]), await statusAt(v1, etags[1])], [304, 200])
    assert.equal((await admin(`DELETE ${v1}`, undefined, { 'if-match': etags[1] })).status, 412)
    const changed = await admin(`PUT ${v1}`, { subscription_type: 'PERMANENT' }, { 'if-match': await etagAt(v1) })
    assert.equal(changed.status, 200, changed.text)
    assert.equal(changed.body.client_backend_secret, rotated.body.secret)
    assert.equal(await statusAt(v1, changed.headers.etag!), 304)
  })

  test('credentials contain current and older field names, and the client secret of the realm', async () => {
    const { admin, waypost } = fixture
    const { id, tenant_id: tenantId } = await createAvailable()
    const { status, body } = await admin(`GET ${root}/tenants/${id}/credentials`)
    assert.equal(status, 200)
    assert.equal(body.client_backend_secret, (await waypost.ask(Identity).realm(tenantId))!.backendClientSecret)
    assert.equal(body.client_frontentd_id, body.client_frontend_id)
    assert.equal(body.minio_secret, body.objectstore_secret)
    assert.equal(body.issuer, `http://waypost.test/auth/realms/${tenantId}`)
    assert.ok(body.objectstore_secret.length > 20)
  })

  test('users of a tenant see only their tenant and change only its name and theme', async () => {
    const ownTenant = await createAvailable()
    const otherTenant = await createAvailable()
    const reader = callerOf(ownTenant.tenant_id, 'identity:tenant:read')
    const list = await reader(`GET ${root}/tenants`)
    assert.equal(list.body.count, 1)
    assert.equal(list.body.results[0].id, ownTenant.id)
    assert.equal((await reader(`GET ${root}/tenants?tenant_id=${otherTenant.tenant_id}`)).body.count, 0)
    assert.equal((await reader(`GET ${root}/tenants/${ownTenant.id}`)).status, 200)
    for (const path of ['', '/credentials']) {
      const hidden = await reader(`GET ${root}/tenants/${otherTenant.id}${path}`)
      assert.equal(hidden.status, 404)
      assert.deepEqual(hidden.body, { error: `Tenant ${otherTenant.id} was not found` })
    }
    assert.equal((await reader(`PUT ${root}/tenants/${ownTenant.id}`, { name: 'x' })).status, 403)
    assert.equal((await reader(`POST ${root}/tenants`, aCreation())).status, 403)
    assert.equal((await reader(`DELETE ${root}/tenants/${ownTenant.id}`)).status, 403)
    assert.equal((await reader(`GET ${root}/tenants-subscriptions?tenant_id=${ownTenant.tenant_id}`)).body.count, 1)
    assert.equal((await reader(`GET ${root}/tenants-subscriptions?tenant_id=${otherTenant.tenant_id}`)).status, 403)

    const editor = callerOf(ownTenant.tenant_id, 'identity:tenant:read', 'identity:tenant:update')
    assert.equal((await editor(`PUT ${root}/tenants/${ownTenant.id}`, { name: 'Mine' })).body.name, 'Mine')
    assert.equal((await editor(`PUT ${root}/tenants/${otherTenant.id}`, { name: 'Mine' })).status, 404)
    for (const body of [{ status: 'SUSPENDED' }, { package_type: 'default' }, { subscription_type: 'PERMANENT' }])
      assert.equal((await editor(`PUT ${root}/tenants/${ownTenant.id}`, body)).status, 403, JSON.stringify(body))

    const callerWithoutScope = callerOf(ownTenant.tenant_id, 'endpoint:read')
    const forbidden = await callerWithoutScope(`GET ${root}/tenants`)
    assert.equal(forbidden.status, 403)
    assert.ok(forbidden.body.error)
    assert.equal((await fixture.waypost.as(undefined)(`GET ${root}/tenants`)).status, 401)
  })

  test('every authenticated caller can read identity provider servers and packages', async () => {
    const caller = callerOf('acme')
    const server = { id: 1, url: 'http://waypost.test/auth' }
    for (const path of ['/idp-servers', '/keycloak-servers']) {
      assert.deepEqual((await caller(`GET ${root}${path}`)).body, { results: [server] })
      assert.deepEqual((await caller(`GET ${root}${path}/1`)).body, server)
      assert.equal((await caller(`GET ${root}${path}/77`)).status, 404)
    }
    assert.equal((await caller('GET /api/v2/packages-types')).body.results[0].name, 'default')
    assert.equal((await caller(`GET ${root}/packages-types/1`)).body.devices, 0)
    assert.equal((await fixture.waypost.as(undefined)(`GET ${root}/idp-servers`)).status, 401)
  })

  test('callers can list, create and delete users of their tenant', async () => {
    const { tenant_id: tenantId } = await createAvailable()
    const editor = callerOf(tenantId, 'identity:tenant:read', 'identity:tenant:update')
    const person = { email: 'bob@acme.example', username: 'bob', first_name: 'Bob', last_name: 'B' }
    const created = await editor(`POST ${root}/users`, person)
    assert.equal(created.status, 201, created.text)
    assert.ok(created.body.password)
    assert.equal((await fixture.realm(tenantId)).users.at(-1)?.roles.length, 0)
    const taken = await editor(`POST ${root}/users`, person)
    assert.equal(taken.status, 409)
    assert.ok(taken.body.error)
    const found = await editor(`GET ${root}/users?search=bob`)
    assert.equal(found.body.count, 1)
    const { password: _, ...shown } = created.body
    assert.deepEqual(found.body.results, [shown])
    const platform = await fixture.admin(`GET ${root}/users?tenant_id=${tenantId}`)
    assert.equal(platform.body.count, 2)
    assert.equal((await editor(`GET ${root}/users?tenant_id=platform`)).status, 403)
    assert.equal((await editor(`DELETE ${root}/users/${created.body.id}`)).status, 204)
    assert.equal((await editor(`DELETE ${root}/users/${created.body.id}`)).status, 404)
    assert.equal((await fixture.admin(`GET ${root}/users?tenant_id=nobody`)).status, 404)
  })
})
