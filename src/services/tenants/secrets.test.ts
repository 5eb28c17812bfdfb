import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aPlatformAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aRegistration, aTenantId } from '../../../test/harness/registration.ts'
import { aCreation } from '../../../test/harness/tenants.ts'
import { type Ask, openTestPlatform, type TestPlatform } from '../../../test/harness/test-platform.ts'
import { Identity } from '../../identity/contract.ts'
import identity from '../../identity/index.ts'
import { Tenants } from './contract.ts'
import tenants from './index.ts'

const root = '/tenant-manager/api/v2'

describe('the secret of a backend client is returned only to callers with all permissions of the client', () => {
  let waypost: TestPlatform
  let admin: Ask
  let caller: Ask
  before(async () => {
    waypost = await openTestPlatform({
      services: [identity, tenants],
      authenticate: (built) => built.ask(Identity).authenticate,
    })
    for (const tenantId of ['platform', 'default']) await waypost.ask(Tenants).ensureBuiltIn(tenantId)
    admin = waypost.as(aPlatformAdmin())
    caller = waypost.as(undefined)
  })

  const addUser = async (tenantId: string, username: string, roles: string[]) => {
    const user = { username, roles, password: 'correct horse' }
    const created = await waypost.kit.db.tx((sql) => waypost.ask(Identity).createUser(sql, tenantId, user))
    return created!.id
  }
  const tokenOf = async (tenantId: string, form: Record<string, string>) => {
    const { body } = await caller(
      `POST /auth/realms/${tenantId}/protocol/openid-connect/token`,
      new URLSearchParams(form).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
    return { authorization: `Bearer ${body.access_token}` }
  }
  const logIn = (tenantId: string, username: string) =>
    tokenOf(tenantId, { grant_type: 'password', client_id: 'waypost-frontend', username, password: 'correct horse' })
  const credentialsOf = async (tenantId: string) => {
    const { body } = await admin(`GET ${root}/tenants?tenant_id=${tenantId}`)
    return `GET ${root}/tenants/${body.results[0].id}/credentials`
  }

  test('a tenant-admin of realm platform cannot read the secret of the client that may do everything on the platform', async () => {
    await addUser('platform', 'pat', ['tenant-admin'])
    await addUser('platform', 'root', ['platform-admin'])
    const credentials = await credentialsOf('platform')
    const forbidden = await caller(credentials, undefined, await logIn('platform', 'pat'))
    assert.equal(forbidden.status, 403, forbidden.text)
    assert.match(forbidden.body.error, /all permissions of the client/)
    assert.ok(!forbidden.text.includes((await waypost.ask(Identity).realm('platform'))!.backendClientSecret))
    const shown = await caller(credentials, undefined, await logIn('platform', 'root'))
    assert.equal(shown.status, 200, shown.text)
    assert.equal(shown.headers['cache-control'], 'no-store')
  })

  test('an administrator and the service account of a tenant see the client secret, and an API key with fewer scopes does not', async () => {
    const adminId = await addUser('default', 'ada', ['tenant-admin'])
    await addUser('default', 'eve', ['application-admin'])
    const credentials = await credentialsOf('default')
    const ada = await logIn('default', 'ada')
    const shown = await caller(credentials, undefined, ada)
    assert.equal(shown.status, 200, shown.text)
    const { client_backend_id: client_id, client_backend_secret: client_secret } = shown.body
    const service = await tokenOf('default', { grant_type: 'client_credentials', client_id, client_secret })
    assert.equal((await caller(credentials, undefined, service)).status, 200)

    const { operator } = waypost.ask(Identity)
    const owner = { type: 'user', id: adminId } as const
    const keyWithAllScopes = await operator.createApiKey('default', owner, { name: 'whole' })
    assert.equal((await caller(credentials, undefined, { 'x-identity-api-key': keyWithAllScopes.key })).status, 200)
    const part = await operator.createApiKey('default', owner, { name: 'part', scopes: ['identity:tenant:read'] })
    assert.equal((await caller(credentials, undefined, { 'x-identity-api-key': part.key })).status, 403)
    const tenant = credentials.replace('/credentials', '')
    assert.equal((await caller(tenant, undefined, { 'x-identity-api-key': part.key })).status, 200)
    assert.equal((await caller(credentials, undefined, await logIn('default', 'eve'))).status, 403)
  })

  test('v1 leaves the client secret empty for a caller who manages tenants but lacks permissions of the client', async () => {
    const verbs = ['create', 'read', 'update'].map((verb) => `platform:tenant:${verb}`)
    const manager = waypost.as(aCaller({ tenantId: 'platform', on: { 'platform-system': verbs } }))
    const tenantId = aTenantId()
    const registered = await manager('POST /api/v1/tenants', aRegistration({ realm_name: tenantId, user: 1 }))
    assert.equal(registered.status, 201, registered.text)
    // The backend client has no roles yet, so the caller needs every scope to see the secret.
    assert.equal(registered.body.client_backend_secret, '')
    assert.equal(registered.headers['cache-control'], 'no-store')
    const path = `/api/v1/tenants/${tenantId}`
    await eventually(async () => assert.equal((await admin(`GET ${path}`)).body.status, 'AVAILABLE'))

    const secretIn = async (ask: Ask, operation: string, body?: unknown) => {
      const answer = await ask(operation, body)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers['cache-control'], 'no-store', operation)
      const [first = answer.body] = answer.body.results ?? []
      return first.client_backend_secret
    }
    const { backendClientSecret } = (await waypost.ask(Identity).realm(tenantId))!
    for (const [operation, body] of [
      [`GET ${path}`],
      [`GET /api/v1/tenants?realm_name=${tenantId}`],
      [`PUT ${path}`, { analytics_enabled: true }],
      [`PUT ${path}`, { status: 'SUSPENDED' }],
      [`GET ${path}`],
    ] as [string, unknown?][]) {
      assert.equal(await secretIn(manager, operation, body), '', operation)
      assert.equal(await secretIn(admin, operation, body), backendClientSecret, operation)
    }
  })

  test('responses with a generated password also forbid caching', async () => {
    const created = await admin(`POST ${root}/tenants`, aCreation())
    assert.equal(created.headers['cache-control'], 'no-store')
    const person = { email: 'b@x.example', username: 'bob', first_name: 'B', last_name: 'B' }
    const user = await admin(`POST ${root}/users?tenant_id=default`, person)
    assert.equal(user.status, 201, user.text)
    assert.equal(user.headers['cache-control'], 'no-store')
  })
})
