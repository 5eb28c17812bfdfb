import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { openRealms, type Realms } from '../../../test/harness/iam.ts'
import { aRealm } from '../../../test/harness/realms.ts'
import type { Ask } from '../../../test/harness/test-platform.ts'

const root = '/iam/api/v1'

describe('management of a realm', () => {
  let waypost: Realms
  let admin: Ask
  let otherTenant: Ask
  let nobody: Ask
  before(async () => {
    waypost = await openRealms()
    await waypost.realm('acme')
    await waypost.realm('other')
    admin = waypost.as(aTenantAdmin('acme'))
    otherTenant = waypost.as(aTenantAdmin('other'))
    nobody = waypost.as(aCaller({ tenantId: 'acme' }))
  })
  const create = async (path: string, body: unknown) => {
    const answer = await admin(`POST ${root}${path}`, body)
    assert.equal(answer.status, 201, answer.text)
    return answer
  }

  test('every operation returns 401 without a token', async () => {
    const anonymous = waypost.as(undefined)
    for (const path of ['/me', '/users', '/roles', '/grants', '/api-keys', '/clients', '/issuers'])
      assert.equal((await anonymous(`GET ${root}${path}`)).status, 401, path)
  })

  test('/me returns the caller and its permissions', async () => {
    const me = await waypost.as(
      aCaller({ tenantId: 'acme', id: 'u1', on: { 'tenant-system': ['endpoint:read'], 'endpoint-1': ['*'] } }),
    )(`GET ${root}/me`)
    assert.deepEqual(me.body, {
      tenantId: 'acme',
      subject: { type: 'user', id: 'u1' },
      roles: [],
      permissions: [
        { resource: 'tenant-system', scopes: ['endpoint:read'] },
        { resource: 'endpoint-1', scopes: ['*'] },
      ],
    })
  })

  test('a caller without the scope on the tenant gets 403 for lists and 404 for single objects', async () => {
    const { body: user } = await create('/users', { username: 'seen' })
    for (const path of ['/users', '/roles', '/grants', '/api-keys', '/clients', '/issuers']) {
      const answer = await nobody(`GET ${root}${path}`)
      assert.equal(answer.status, 403, path)
      assert.match(answer.body.message, /identity:.*:read on tenant-system/)
    }
    for (const path of ['/users', '/roles', '/grants', '/api-keys', '/issuers'])
      assert.equal((await nobody(`POST ${root}${path}`, {})).status, 403, path)
    assert.equal((await nobody(`GET ${root}/users/${user.id}`)).status, 404)
    assert.equal((await nobody(`DELETE ${root}/users/${user.id}`)).status, 404)
    assert.equal((await nobody(`GET ${root}/roles/tenant-admin`)).status, 404)
    assert.equal((await nobody(`POST ${root}/clients/acme-back/secret`)).status, 404)
  })

  test('a change by a caller without the scope for it is answered with 403 if the caller may read the object', async () => {
    const { body: user } = await create('/users', { username: 'read only' })
    const reader = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': ['identity:user:read'] } }))
    assert.equal((await reader(`GET ${root}/users/${user.id}`)).status, 200)
    assert.equal((await reader(`PUT ${root}/users/${user.id}`, { firstName: 'x' })).status, 403)
    assert.equal((await reader(`DELETE ${root}/users/${user.id}`)).status, 403)
  })

  test('a request is answered with 404 if its tenant is deleted while the request is processed', async () => {
    const late = waypost.as(aTenantAdmin('deleted-meanwhile'))
    for (const [path, body] of [
      ['/users', { username: 'late' }],
      ['/roles', { name: 'late', scopes: [] }],
    ] as const)
      assert.deepEqual(await late(`POST ${root}${path}`, body).then(({ status, body }) => [status, body.message]), [
        404,
        'The tenant was not found',
      ])
  })

  test('the response for an object of another tenant is equal to the response for an object that does not exist', async () => {
    const { body: user } = await create('/users', { username: 'hidden' })
    const { body: role } = await create('/roles', { name: 'hidden-role', scopes: [] })
    const grant = { subject: { type: 'user', id: user.id }, resource: 'endpoint-1', scopes: ['endpoint:read'] }
    const { body: createdGrant } = await create('/grants', grant)
    const { body: issuer } = await create('/issuers', { issuer: 'https://hidden.example', audience: 'waypost' })
    const operations = [
      `GET ${root}/users/ID`,
      `PUT ${root}/users/ID`,
      `DELETE ${root}/users/ID`,
      `PUT ${root}/users/ID/password`,
      `PUT ${root}/users/ID/roles`,
      `GET ${root}/roles/ID`,
      `PUT ${root}/roles/ID`,
      `DELETE ${root}/roles/ID`,
      `DELETE ${root}/grants/ID`,
      `DELETE ${root}/issuers/ID`,
      `DELETE ${root}/api-keys/ID`,
      `POST ${root}/clients/ID/secret`,
    ]
    const ids: Record<string, string> = {
      users: user.id,
      roles: role.name,
      grants: createdGrant.id,
      issuers: issuer.id,
      'api-keys': 'none',
      clients: 'acme-back',
    }
    for (const operation of operations) {
      const body = /password/.test(operation)
        ? { password: 'long enough' }
        : /\/roles$/.test(operation)
          ? []
          : /PUT/.test(operation)
            ? { scopes: [] }
            : undefined
      const id = ids[operation.split('/')[4]!]!
      const theirs = await otherTenant(operation.replace('ID', id), body)
      const missing = await otherTenant(operation.replace('ID', 'nothing'), body)
      assert.equal(theirs.status, 404, `${operation}: ${theirs.text}`)
      assert.equal(theirs.text.replaceAll(id, 'nothing'), missing.text)
    }
    assert.equal((await admin(`GET ${root}/users/${user.id}`)).status, 200)
  })

  test('a user is created, read, changed and deleted', async () => {
    const fields = {
      username: 'anna@example.com',
      email: 'anna@example.com',
      firstName: 'Anna',
      password: 'long enough',
    }
    const created = await create('/users', { ...fields, roles: ['endpoint-reader', 'endpoint-reader'] })
    const { id } = created.body
    assert.equal(created.headers.location, `http://waypost.test${root}/users/${id}`)
    const { password: _, ...seen } = fields
    assert.deepEqual(created.body, { id, ...seen, enabled: true, roles: ['endpoint-reader'] })
    assert.deepEqual((await admin(`GET ${root}/users/${id}`)).body, created.body)

    const change = { lastName: 'A', firstName: null, enabled: false, username: 'anna' }
    assert.equal((await admin(`PUT ${root}/users/${id}`, change)).status, 204)
    const { firstName: __, ...rest } = created.body
    assert.deepEqual((await admin(`GET ${root}/users/${id}`)).body, {
      ...rest,
      lastName: 'A',
      enabled: false,
      username: 'anna',
    })
    assert.equal((await admin(`PUT ${root}/users/${id}/roles`, [])).status, 204)
    assert.deepEqual((await admin(`GET ${root}/users/${id}`)).body.roles, [])
    assert.equal((await admin(`PUT ${root}/users/${id}/password`, { password: 'another one' })).status, 204)
    assert.equal((await admin(`DELETE ${root}/users/${id}`)).status, 204)
    assert.equal((await admin(`GET ${root}/users/${id}`)).status, 404)
    assert.equal((await admin(`DELETE ${root}/users/${id}`)).status, 404)
  })

  test('a change of a user cannot set columns that are not in the schema', async () => {
    const { body: user } = await create('/users', { username: 'columns' })
    const undeclared = {
      id: 'mine',
      tenantId: 'other',
      passwordHash: 'x',
      createdAt: '2020-01-01T00:00:00Z',
      firstName: 'f',
    }
    assert.equal((await admin(`PUT ${root}/users/${user.id}`, undeclared)).status, 204)
    assert.deepEqual((await admin(`GET ${root}/users/${user.id}`)).body, { ...user, firstName: 'f' })
  })

  test('usernames are case-insensitive', async () => {
    await create('/users', { username: 'Bob' })
    assert.equal((await admin(`POST ${root}/users`, { username: 'bOB' })).status, 409)
    const { body: user } = await create('/users', { username: 'bobby' })
    const taken = await admin(`PUT ${root}/users/${user.id}`, { username: 'BOB' })
    assert.equal(taken.status, 409)
    assert.match(taken.body.message, /BOB/)
    assert.equal((await admin(`PUT ${root}/users/${user.id}`, { username: 'Bobby' })).status, 204)
    assert.equal((await otherTenant(`POST ${root}/users`, { username: 'bob' })).status, 201)
  })

  test('users are listed in pages with the total number', async () => {
    for (const name of ['page-1', 'page-2', 'page-3']) await create('/users', { username: name })
    const page = await admin(`GET ${root}/users?search=PAGE-&offset=1&limit=1`)
    assert.equal(page.body.totalElements, 3)
    assert.deepEqual(
      page.body.content.map((user: { username: string }) => user.username),
      ['page-2'],
    )
    assert.equal((await admin(`GET ${root}/users?search=page-&limit=0`)).body.content.length, 3)
    assert.equal((await admin(`GET ${root}/users?search=%25`)).body.totalElements, 0)
  })

  const badInput: [operation: string, body: unknown, names: RegExp][] = [
    ['POST /users', undefined, /body/],
    ['POST /users', [], /body/],
    ['POST /users', {}, /username/],
    ['POST /users', { username: '' }, /username/],
    ['POST /users', { username: 'x'.repeat(256) }, /username/],
    ['POST /users', { username: 'two\nlines' }, /username/],
    ['POST /users', { username: ' space' }, /username/],
    ['POST /users', { username: 'a\u200bb' }, /username/],
    ['POST /users', { username: 'nul\0' }, /username/],
    ['POST /users', { username: 1 }, /username/],
    ['POST /users', { username: 'x', email: 'no address' }, /email/],
    ['POST /users', { username: 'x', password: 'short' }, /password/],
    ['POST /users', { username: 'x', password: 'x'.repeat(257) }, /password/],
    ['POST /users', { username: 'x', enabled: 'yes' }, /enabled/],
    ['POST /users', { username: 'x', roles: 'tenant-admin' }, /roles/],
    ['POST /users', { username: 'x', roles: ['nothing'] }, /roles: there is no role nothing/],
    ['POST /roles', { name: 'x' }, /scopes/],
    ['POST /roles', { name: '', scopes: [] }, /name/],
    ['POST /roles', { name: 'a/b', scopes: [] }, /name/],
    ['POST /roles', { name: 'x', scopes: ['No Scope'] }, /scopes/],
    ['POST /roles', { name: 'x', scopes: ['a:*'] }, /scopes/],
    ['POST /grants', {}, /subject/],
    [
      'POST /grants',
      { subject: { type: 'user', id: 'nobody' }, resource: 'endpoint-1', scopes: ['a'] },
      /no user nobody/,
    ],
    ['POST /grants', { subject: { type: 'role', id: 'none' }, resource: 'endpoint-1', scopes: ['a'] }, /no role none/],
    ['POST /grants', { subject: { type: 'client', id: 'none' }, resource: 'endpoint-1', scopes: ['a'] }, /no client/],
    ['POST /grants', { subject: { type: 'api-key', id: 'none' }, resource: 'endpoint-1', scopes: ['a'] }, /no api-key/],
    ['POST /grants', { subject: { type: 'group', id: 'x' }, resource: 'endpoint-1', scopes: ['a'] }, /subject.type/],
    ['POST /grants', { subject: { type: 'role', id: 'service' }, resource: 'endpoint', scopes: ['a'] }, /resource/],
    ['POST /grants', { subject: { type: 'role', id: 'service' }, resource: 'endpoint-\n', scopes: ['a'] }, /resource/],
    ['POST /grants', { subject: { type: 'role', id: 'service' }, resource: 'endpoint-1', scopes: [] }, /scopes/],
    ['POST /roles', { name: 'trailing ', scopes: [] }, /name/],
    ['POST /api-keys', { name: '' }, /name/],
    ['POST /api-keys', { name: 'x', expiresAt: 'tomorrow' }, /expiresAt/],
    ['POST /api-keys', { name: 'x', expiresAt: '0000-01-01T00:00:00Z' }, /expiresAt/],
    ['POST /api-keys', { name: 'x', expiresAt: '2099-12-31T23:59:60Z' }, /expiresAt/],
    ['POST /api-keys', { name: 'x', expiresAt: '9999-12-31T23:59:59-01:00' }, /expiresAt/],
    ['POST /api-keys', { name: 'x', expiresAt: '2001-01-01T00:00:00Z' }, /expiresAt/],
    ['POST /issuers', {}, /issuer/],
    ['POST /issuers', { issuer: 'https://issuer.example' }, /audience/],
    ['POST /issuers', { issuer: 'https://issuer.example', audience: '' }, /audience/],
    ['POST /issuers', { issuer: 'issuer', audience: 'waypost' }, /issuer/],
    ['POST /issuers', { issuer: 'ftp://issuer.example', audience: 'waypost' }, /issuer/],
    ['POST /issuers', { issuer: 'http://issuer.example', audience: 'waypost' }, /issuer: expected an https/],
    ['POST /issuers', { issuer: 'https://127.0.0.1', audience: 'waypost' }, /issuer: .*private/],
    ['POST /issuers', { issuer: 'https://localhost:8080', audience: 'waypost' }, /issuer: .*private/],
    ['POST /issuers', { issuer: 'https://u:p@issuer.example', audience: 'waypost' }, /issuer/],
    ['POST /issuers', { issuer: 'https://issuer.example?a=b', audience: 'waypost' }, /issuer/],
    ['GET /users?limit=-1', undefined, /limit/],
    ['GET /users?offset=x', undefined, /offset/],
    ['GET /grants?subjectType=thing', undefined, /subjectType/],
  ]
  test('invalid input is answered with 400 and the name of the field', async () => {
    for (const [operation, body, names] of badInput) {
      const [method, path] = operation.split(' ')
      const answer = await admin(`${method} ${root}${path}`, body)
      assert.equal(answer.status, 400, `${operation} ${JSON.stringify(body)}: ${answer.text}`)
      assert.match(answer.body.message, names, operation)
    }
  })

  test('a caller that is no user of the tenant, such as one without a login, is told who can own API keys', async () => {
    const { status, body } = await admin(`POST ${root}/api-keys`, { name: 'x' })
    assert.equal(status, 403)
    assert.match(body.message, /^Only users and clients of the tenant can own API keys;.* without a login cannot$/)
  })

  test('a role is created, read, changed and deleted, and users lose a deleted role', async () => {
    const created = await create('/roles', { name: 'watch man', description: 'Watches', scopes: ['endpoint:read'] })
    assert.equal(created.headers.location, `http://waypost.test${root}/roles/watch%20man`)
    const role = { name: 'watch man', description: 'Watches', scopes: ['endpoint:read'], builtIn: false }
    const { createdAt, ...fields } = created.body
    assert.deepEqual(fields, role)
    assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000, createdAt)
    assert.deepEqual((await admin(`GET ${root}/roles/watch%20man`)).body, created.body)
    assert.equal((await admin(`POST ${root}/roles`, { name: 'watch man', scopes: [] })).status, 409)

    assert.equal((await admin(`PUT ${root}/roles/watch%20man`, { scopes: ['endpoint:update'] })).status, 204)
    assert.deepEqual((await admin(`GET ${root}/roles/watch%20man`)).body.scopes, ['endpoint:update'])

    const { body: user } = await create('/users', { username: 'watcher', roles: ['watch man', 'endpoint-reader'] })
    const subject = { type: 'role', id: 'watch man' }
    await create('/grants', { subject, resource: 'endpoint-7', scopes: ['endpoint:read'] })
    assert.equal((await admin(`DELETE ${root}/roles/watch%20man`)).status, 204)
    assert.deepEqual((await admin(`GET ${root}/users/${user.id}`)).body.roles, ['endpoint-reader'])
    assert.equal((await admin(`GET ${root}/grants?resource=endpoint-7`)).body.totalElements, 0)
    const again = await create('/roles', { name: 'watch man', scopes: [] })
    assert.ok(Date.parse(again.body.createdAt) > Date.parse(createdAt))
  })

  test('when two callers change a user or role with the same If-Match, the later caller gets 412 and changes nothing', async () => {
    const { body: user } = await create('/users', { username: 'shared', firstName: 'A' })
    await create('/roles', { name: 'shared', description: 'one', scopes: ['endpoint:read'] })
    const cases: [string, object, object, string][] = [
      [`/users/${user.id}`, { firstName: 'B' }, { firstName: 'C' }, 'firstName'],
      ['/roles/shared', { description: 'two', scopes: [] }, { description: 'three', scopes: [] }, 'description'],
    ]
    for (const [path, first, second, field] of cases) {
      const at = `${root}${path}`
      const { etag } = (await admin(`GET ${at}`)).headers
      assert.match(etag!, /^"[\w-]+"$/)
      const unchanged = await admin(`GET ${at}`, undefined, { 'if-none-match': etag! })
      assert.deepEqual([unchanged.status, unchanged.text, unchanged.headers.etag], [304, '', etag])
      const condition = { 'if-match': etag! }
      assert.equal((await admin(`PUT ${at}`, first, condition)).status, 204)
      const late = await admin(`PUT ${at}`, second, condition)
      assert.deepEqual([late.status, late.headers['x-waypost-error']], [412, 'precondition_failed'])
      assert.equal((await admin(`DELETE ${at}`, undefined, condition)).status, 412)
      const now = await admin(`GET ${at}`, undefined, { 'if-none-match': etag! })
      assert.equal(now.body[field], (first as Record<string, unknown>)[field])
      // If a caller may not read the object, the ETag in its request makes no difference to the response.
      for (const etag of [now.headers.etag!, '"old"'])
        assert.equal((await otherTenant(`PUT ${at}`, second, { 'if-match': etag })).status, 404)
      if (path.startsWith('/users')) assert.equal((await admin(`PUT ${at}/roles`, [], condition)).status, 412)
      assert.equal(
        (await admin(`PUT ${at}`, second, { 'if-match': '' })).status,
        204,
        'an empty If-Match header must have no effect',
      )
      const { etag: last } = (await admin(`GET ${at}`)).headers
      assert.equal((await admin(`DELETE ${at}`, undefined, { 'if-match': last! })).status, 204)
    }
  })

  test('built-in roles are listed and cannot be changed', async () => {
    const { body } = await admin(`GET ${root}/roles?limit=0`)
    assert.equal(body.totalElements, body.content.length)
    assert.ok(body.content.some(({ name, builtIn }: never) => name === 'tenant-admin' && builtIn))
    assert.ok(!body.content.some(({ name }: never) => name === 'platform-admin'))
    assert.equal((await admin(`PUT ${root}/roles/tenant-admin`, { scopes: [] })).status, 409)
    assert.equal((await admin(`DELETE ${root}/roles/tenant-admin`)).status, 409)
    assert.equal((await admin(`POST ${root}/roles`, { name: 'platform-admin', scopes: [] })).status, 409)
  })

  test('a grant is created, listed and deleted; its scopes are stored sorted and without duplicates', async () => {
    const { body: user } = await create('/users', { username: 'granted' })
    const subject = { type: 'user', id: user.id }
    const { body: grant } = await create('/grants', { subject, resource: 'endpoint-9', scopes: ['b', 'a', 'b'] })
    assert.deepEqual(
      { ...grant, createdAt: 0 },
      { id: grant.id, subject, resource: 'endpoint-9', scopes: ['a', 'b'], createdAt: 0 },
    )
    const list = await admin(`GET ${root}/grants?subjectType=user&subjectId=${user.id}`)
    assert.deepEqual(list.body, { totalElements: 1, content: [grant] })
    assert.equal((await admin(`DELETE ${root}/grants/${grant.id}`)).status, 204)
    assert.equal((await admin(`DELETE ${root}/grants/${grant.id}`)).status, 404)
  })

  test('the last enabled administrator cannot be deleted or disabled, and the role cannot be removed from this user', async () => {
    await waypost.realm('lonely')
    const only = await waypost.user('lonely', 'only', ['tenant-admin'])
    const helper = waypost.as(aTenantAdmin('lonely'))
    for (const [operation, body] of [
      [`DELETE ${root}/users/${only}`, undefined],
      [`PUT ${root}/users/${only}`, { enabled: false }],
      [`PUT ${root}/users/${only}/roles`, []],
    ] as const)
      assert.equal((await helper(operation, body)).status, 409, operation)
    assert.equal((await helper(`POST ${root}/users`, { username: 'second', roles: ['tenant-admin'] })).status, 201)
    assert.equal((await helper(`DELETE ${root}/users/${only}`)).status, 204)
  })

  test('when two administrators delete each other at the same time, one administrator remains', async () => {
    await waypost.realm('duel')
    const ids = [
      await waypost.user('duel', 'one', ['tenant-admin']),
      await waypost.user('duel', 'two', ['tenant-admin']),
    ]
    const ask = waypost.as(aTenantAdmin('duel'))
    const answers = await Promise.all(ids.map((id) => ask(`DELETE ${root}/users/${id}`)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409])
  })

  test('clients are listed without their secrets, and a new secret is shown once', async () => {
    const { body, text } = await admin(`GET ${root}/clients`)
    assert.deepEqual(body, {
      totalElements: 2,
      content: [
        {
          id: 'acme-back',
          kind: 'backend',
          public: false,
          redirectUris: [],
          webOrigins: [],
          pkceRequired: true,
          roles: ['service'],
        },
        {
          id: 'acme-front',
          kind: 'frontend',
          public: true,
          redirectUris: [],
          webOrigins: [],
          pkceRequired: true,
          roles: [],
        },
      ],
    })
    const { backendClientSecret } = (await waypost.api.realm('acme'))!
    assert.ok(!text.includes(backendClientSecret))
    const changed = await admin(`POST ${root}/clients/acme-back/secret`)
    assert.equal(changed.status, 200)
    assert.equal(changed.body.secret, (await waypost.api.realm('acme'))!.backendClientSecret)
    assert.notEqual(changed.body.secret, backendClientSecret)
    assert.equal((await admin(`POST ${root}/clients/acme-front/secret`)).status, 404)
    assert.equal((await admin(`POST ${root}/clients/none/secret`)).status, 404)
  })

  test('a tenant registers redirect addresses and origins of its clients, and a rebuild of the realm keeps them', async () => {
    const own = {
      redirectUris: ['https://app.example/in/*', 'com.example.app:/in'],
      webOrigins: ['https://app.example'],
      pkceRequired: false,
    }
    const changed = await admin(`PATCH ${root}/clients/acme-front`, own)
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(changed.body, { id: 'acme-front', kind: 'frontend', public: true, roles: [], ...own })
    await waypost.kit.db.tx((sql) =>
      waypost.api.buildRealm(
        sql,
        aRealm('acme', {
          frontendClient: {
            id: 'acme-front',
            redirectUris: ['https://old.example'],
            webOrigins: ['https://app.example'],
          },
          backendClient: { id: 'acme-back', roles: ['service'] },
        }),
      ),
    )
    const { body } = await admin(`GET ${root}/clients`)
    const front = body.content.find(({ id }: { id: string }) => id === 'acme-front')
    assert.deepEqual(front.redirectUris, ['https://old.example', ...own.redirectUris])
    assert.deepEqual(front.webOrigins, ['https://app.example'])
    assert.deepEqual((await admin(`PATCH ${root}/clients/acme-front`, { webOrigins: [] })).body.pkceRequired, false)
    const wrong: [object, RegExp][] = [
      [{ webOrigins: ['https://app.example/path'] }, /webOrigins\.0/],
      [
        { webOrigins: ['https://A.Example'] },
        /^webOrigins\.0: expected an origin such as https:\/\/a\.example, in lower case/,
      ],
      [{ webOrigins: ['https://ok.example', 'null'] }, /webOrigins\.1/],
      [{ redirectUris: ['javascript:alert(1)'] }, /redirectUris\.0/],
      [{ redirectUris: ['https://*.example/'] }, /redirectUris\.0/],
      [{ redirectUris: ['/relative'] }, /redirectUris\.0/],
      [{ pkceRequired: 'no' }, /pkceRequired/],
    ]
    for (const [given, problem] of wrong) {
      const answer = await admin(`PATCH ${root}/clients/acme-front`, given)
      assert.equal(answer.status, 400, JSON.stringify(given))
      assert.match(answer.body.message, problem)
    }
    assert.equal((await otherTenant(`PATCH ${root}/clients/acme-front`, own)).status, 404)
  })

  test('an issuer with the same audience can be registered by one tenant only', async () => {
    const fields = { issuer: 'https://idp.example/realms/x', audience: 'waypost', rolesClaim: 'groups' }
    const created = await create('/issuers', fields)
    assert.equal(created.headers.location, `http://waypost.test${root}/issuers/${created.body.id}`)
    assert.deepEqual({ ...fields, id: created.body.id, createdAt: created.body.createdAt }, created.body)
    assert.equal((await otherTenant(`POST ${root}/issuers`, fields)).status, 409)
    assert.equal((await admin(`POST ${root}/issuers`, fields)).status, 409)
    assert.equal((await otherTenant(`POST ${root}/issuers`, { ...fields, audience: 'theirs' })).status, 201)
    assert.ok((await admin(`GET ${root}/issuers`)).text.includes(created.body.id))
    assert.ok(!(await otherTenant(`GET ${root}/issuers`)).text.includes(created.body.id))
    assert.equal((await admin(`DELETE ${root}/issuers/${created.body.id}`)).status, 204)
    assert.equal((await admin(`POST ${root}/issuers`, fields)).status, 201)
  })

  test('long lists of users and grants, which are read in parts, are complete and in order', async () => {
    await waypost.realm('large')
    const large = waypost.as(aTenantAdmin('large'))
    const { sql } = waypost.kit.db
    await sql`
      insert into identity.users (tenant_id, id, username)
      select 'large', 'id-' || n, 'Long-' || lpad(((n * 7919) % 2300)::text, 5, '0') from generate_series(1, 2300) n`
    await sql`
      insert into identity.grants (tenant_id, id, subject_type, subject_id, resource, scopes, created_at)
      select 'large', 'grant-' || n, 'user', 'id-1', 'endpoint-' || n, '{"endpoint:read"}', now() - (n / 5) * interval '1 s'
      from generate_series(1, 2300) n`
    for (const [path, key] of [
      ['/users?search=Long-', 'username'],
      ['/grants?subjectId=id-1', 'id'],
    ]) {
      const list = async (page: string) => {
        const { status, body, headers } = await large(`GET ${root}${path}&${page}`)
        assert.deepEqual([status, body.totalElements, headers['content-length']], [200, 2300, undefined])
        return body.content.map((item: Record<string, string>) => item[key!])
      }
      const all = await list('limit=0')
      assert.deepEqual([all.length, new Set(all).size], [2300, 2300])
      assert.deepEqual([...(await list('limit=1500')), ...(await list('limit=1500&offset=1500'))], all)
      assert.deepEqual(await list('limit=10&offset=1000'), all.slice(1000, 1010))
      if (key === 'username') assert.deepEqual(all, all.toSorted())
    }
  })
})
