import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { aTenantId } from '../../../test/harness/registration.ts'
import { openTenants } from '../../../test/harness/tenants.ts'
import { type Catalogue, catalogues } from './catalogues.ts'

/** Two bodies for each catalogue: one creates an entry, the other replaces it. */
const bodies: Record<string, [object, object]> = {
  '/templates/realms': [
    { template: { a: null, 'b.c': [1] }, description: 'one' },
    { template: {}, description: 'two' },
  ],
  '/templates/realm-frontend-clients': [
    { template: { clientId: 'web' }, description: '' },
    { template: {}, description: 'two' },
  ],
  '/templates/realm-backend-clients': [
    { template: { clientId: 'api' }, description: 'one' },
    { template: {}, description: 'two' },
  ],
  '/roles': [{ name: 'nurse', description: 'cares' }, { name: 'doctor' }],
  '/roles/versions': [{ description: 'second' }, {}],
  '/roles/versions-mappings': [
    { version: 2, role: 'nurse' },
    { version: 3, role: 'nurse' },
  ],
  '/roles/scopes-mappings': [
    { role: 'nurse', scope: 'endpoint:read' },
    { role: 'nurse', scope: 'alert:read' },
  ],
  '/scopes': [{ name: 'bed:read' }, { name: 'bed:update' }],
  '/scopes/versions': [{}, { description: 'second' }],
  '/scopes/versions-mappings': [
    { version: 2, scope: 'bed:read' },
    { version: 3, scope: 'bed:read' },
  ],
  '/default-resources': [
    { resource_name: 'ward', resource_type: 'asset', display_name: 'Ward', scopes: ['asset:read'] },
    { resource_name: 'ward', resource_type: 'asset', display_name: 'The ward', scopes: [] },
  ],
  '/default-resources/versions': [{ description: 'second' }, { description: '2' }],
  '/default-resources/versions-mappings': [
    { version: 2, resource: 'ward' },
    { version: 3, resource: 'ward' },
  ],
  '/default-resources/scopes-mappings': [
    { resource: 'ward', scope: 'asset:update' },
    { resource: 'ward', scope: 'asset:delete' },
  ],
  '/idps': [{ name: 'other' }, { name: 'another', description: 'x' }],
  '/idp-servers': [{ url: 'https://idp.example/auth' }, { url: 'https://idp2.example/auth' }],
  '/packages-types': [
    {
      name: 'small',
      devices: 10,
      applications: 1,
      disk_size: 5_000_000_000,
      traffic: 3,
      requests_per_second: 9,
      description: 'd',
    },
    { name: 'medium', devices: 20, applications: 2, disk_size: 0, traffic: 0, requests_per_second: 0 },
  ],
  '/users': [{ username: 'root', email: 'root@acme.example', first_name: 'R' }, { username: 'boss' }],
  '/js-policies': [
    { name: 'night', type: 'js', scope: ['endpoint:read'], description: 'at night' },
    { name: 'day', type: 'js', scope: [] },
  ],
}

describe('the catalogues of v1', () => {
  let fixture: Awaited<ReturnType<typeof openTenants>>
  before(async () => {
    fixture = await openTenants()
  })

  for (const [path, [first, second]] of Object.entries(bodies))
    test(`an entry of ${path} is created, read, listed, replaced and deleted`, async () => {
      const { admin } = fixture
      const created = await admin(`POST /api/v1${path}`, first)
      assert.equal(created.status, 201, created.text)
      const { id } = created.body
      assert.ok(Number.isInteger(id))
      assert.deepEqual(created.body, { id, ...first })
      assert.equal(created.headers.location, `http://waypost.test/api/v1${path}/${id}`)
      assert.deepEqual((await admin(`GET /api/v1${path}/${id}`)).body, { id, ...first })
      const list = (await admin(`GET /api/v1${path}?limit=0`)).body
      assert.deepEqual(
        list.results.find((item: { id: number }) => item.id === id),
        { id, ...first },
      )
      assert.equal(list.count, list.results.length)
      const replaced = await admin(`PUT /api/v1${path}/${id}`, second)
      assert.equal(replaced.status, 200, replaced.text)
      assert.deepEqual(replaced.body, { id, ...second })
      assert.equal((await admin(`DELETE /api/v1${path}/${id}`)).status, 204)
      for (const method of ['GET', 'DELETE']) {
        const notFound = await admin(`${method} /api/v1${path}/${id}`)
        assert.equal(notFound.status, 404)
        assert.equal(notFound.body.detail, notFound.body.message)
      }
      assert.equal((await admin(`PUT /api/v1${path}/${id}`, second)).status, 404)
      for (const bad of ['0', '1.5', 'x', '99999999999'])
        assert.equal((await admin(`GET /api/v1${path}/${bad}`)).status, 400, bad)
    })

  test('the error about a missing or invalid field names the field', async () => {
    const { admin } = fixture
    const empty = await admin('POST /api/v1/templates/realm-frontend-clients', {})
    assert.equal(empty.status, 400)
    assert.deepEqual(empty.body.template, ['is required'])
    assert.deepEqual(empty.body.description, ['is required'])
    for (const [path, body, field] of [
      ['/templates/realms', { template: [], description: '' }, 'template'],
      ['/roles/versions-mappings', { version: 'one', role: 'r' }, 'version'],
      ['/roles/scopes-mappings', { role: '', scope: 's' }, 'role'],
      ['/roles/scopes-mappings', { role: 'r', scope: 's'.repeat(300) }, 'scope'],
      ['/packages-types', { name: 'p', devices: -1 }, 'devices'],
      ['/idp-servers', { url: 'not an address' }, 'url'],
      ['/users', { username: 'u', email: 'nowhere' }, 'email'],
      ...[
        '0000-01-01T00:00:00Z',
        '2026-12-31T23:59:60Z',
        '2026-01-01T00:00:00+23:00',
        '0001-01-01T00:00:00+01:00',
      ].flatMap((date) =>
        (['starts_at', 'ends_at'] as const).map(
          (field) =>
            [
              '/tenants-subscriptions',
              { tenant_id: 'acme', subscription_type: 'TRIAL', [field]: date },
              field,
            ] as const,
        ),
      ),
    ] as const) {
      const answer = await admin(`POST /api/v1${path}`, body)
      assert.equal(answer.status, 400, `${path}: ${answer.text}`)
      assert.ok(Array.isArray(answer.body[field]), `${path}: ${answer.text}`)
    }
    assert.equal((await admin('POST /api/v1/roles')).status, 400)
  })

  test('a subscription may start and end at any time that PostgreSQL can store', async () => {
    const { admin, createAvailable } = fixture
    const tenant_id = aTenantId()
    await createAvailable(tenant_id)
    for (const date of ['0001-01-02T00:00:00Z', '9999-12-31T23:59:59Z', '2026-01-01t00:00:00.123456+14:00']) {
      const body = { tenant_id, subscription_type: 'TRIAL', starts_at: date, ends_at: date }
      const answer = await admin('POST /api/v1/tenants-subscriptions', body)
      assert.equal(answer.status, 201, answer.text)
      assert.match(answer.body.starts_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
      assert.equal(Date.parse(answer.body.ends_at), Date.parse(date))
    }
  })

  test('a template may have any keys, and a key such as __proto__ is only data', async () => {
    const { admin, createAvailable } = fixture
    const template =
      '{"__proto__":{"polluted":true,"accessTokenLifespan":7},"constructor":{"prototype":{"polluted":true}}}'
    const body = `{"template":${template},"description":"d"}`
    for (const path of ['realms', 'realm-frontend-clients', 'realm-backend-clients']) {
      const created = await admin(`POST /api/v1/templates/${path}`, body)
      assert.equal(created.status, 201, created.text)
      const read = async () =>
        JSON.stringify((await admin(`GET /api/v1/templates/${path}/${created.body.id}`)).body.template)
      assert.equal(await read(), template)
      assert.equal((await admin(`PUT /api/v1/templates/${path}/${created.body.id}`, body)).status, 200)
      assert.equal(await read(), template)
      const beside = await admin(`POST /api/v1/templates/${path}`, `{"__proto__":{"polluted":true},${body.slice(1)}`)
      assert.equal(beside.status, 400, beside.text)
      assert.ok((await admin(`GET /api/v1/templates/${path}`)).text.includes(template))
    }
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    // Values below the key `__proto__` must not become settings of the realm.
    const [realm] = (await admin('GET /api/v1/templates/realms?limit=0')).body.results.slice(-1)
    const tenantId = aTenantId()
    await createAvailable(tenantId, { realm_template_version: realm.id })
    assert.equal((await fixture.realm(tenantId)).accessTokenSeconds, 300)
    const nested = await admin('POST /api/v1/roles', '{"name":"x","__proto__":{"a":1}}')
    assert.equal(nested.status, 400, nested.text)
  })

  test('a duplicate value is answered with a 400 that names the field', async () => {
    const { admin } = fixture
    const answer = await admin('POST /api/v1/roles/scopes-mappings', { role: 'service', scope: 'endpoint:read' })
    assert.equal(answer.status, 400)
    assert.deepEqual(answer.body.scope, ['Role-scope mapping with scope endpoint:read already exists'])
    const other = (await admin('POST /api/v1/roles', { name: 'singer' })).body
    assert.equal((await admin(`PUT /api/v1/roles/${other.id}`, { name: 'service' })).status, 400)
  })

  test('an entry that a tenant is built with cannot be deleted', async () => {
    const { admin, createAvailable } = fixture
    await createAvailable(aTenantId())
    for (const catalogue of catalogues as readonly Catalogue[]) {
      if (!catalogue.usedAs || catalogue.usedAs === 'user_template') continue
      assert.equal((await admin(`DELETE /api/v1${catalogue.path}/1`)).status, 400, catalogue.path)
    }
  })

  test('lists have 50 entries per page by default', async () => {
    const { admin } = fixture
    const { body } = await admin('GET /api/v1/scopes')
    assert.equal(body.results.length, 50)
    assert.ok(body.count > 200)
    assert.equal(body.next, null)
    const next = await admin('GET /api/v1/scopes?offset=50&limit=1')
    assert.notEqual(next.body.results[0].id, body.results[49].id)
  })

  test('each operation requires its own scope on the platform', async () => {
    const { waypost } = fixture
    for (const { path, entity } of catalogues) {
      const reader = waypost.as(
        aCaller({ tenantId: 'platform', on: { 'platform-system': [`platform:tenant:${entity}:read`] } }),
      )
      assert.equal((await reader(`GET /api/v1${path}`)).status, 200, path)
      assert.equal((await reader(`POST /api/v1${path}`, {})).status, 403, path)
      assert.equal((await reader(`PUT /api/v1${path}/1`, {})).status, 403, path)
      assert.equal((await reader(`DELETE /api/v1${path}/1`)).status, 403, path)
    }
  })
})
