import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bearer, client, requestToken, tokenOf } from '../../../test/harness/client.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { createFixtures } from '../../../test/harness/gateway.ts'
import { openInProcessPlatform } from '../../../test/harness/in-process-platform.ts'
import { Identity } from '../../identity/contract.ts'

const { ask, baseUrl, directory, waypost } = await openInProcessPlatform({
  WAYPOST_LOG_LEVEL: 'fatal',
  WAYPOST_AUDIT_DAYS: '30',
  WAYPOST_LOGIN_ATTEMPTS_PER_ACCOUNT: '2',
})
const { sql } = waypost.kit.db
const bootstrap = JSON.parse(readFileSync(join(directory, 'bootstrap.json'), 'utf8'))
const records = '/api/v1/audit/records'
const { anApplication, anEndpoint } = createFixtures(ask)

// biome-ignore lint/suspicious/noExplicitAny: tests read records of every kind
const recordsOf = async (query: Record<string, string>, client = ask): Promise<any[]> => {
  const answer = await client(`GET ${records}?${new URLSearchParams(query)}`)
  assert.equal(answer.status, 200, answer.text)
  assert.ok(answer.body.totalElements >= answer.body.content.length)
  return answer.body.content
}

/** Sends a request and returns its only record. The address of a created object is added to the record after the response. */
async function recordOf(operation: string, body: unknown, status: number) {
  const answer = await ask(operation, body)
  assert.equal(answer.status, status, `${operation}: ${answer.text}`)
  const correlationId = answer.headers.get('x-correlation-id')!
  const location = answer.headers.get('location')
  const record = await eventually(async () => {
    const found = await recordsOf({ correlationId })
    assert.equal(found.length, 1, `${operation} must have one record, and it has ${found.length}`)
    if (location) assert.equal(found[0].resource, new URL(location, baseUrl).pathname)
    return found[0]
  })
  assert.equal(record.status, status)
  return { answer, record }
}

test('the record of a change has the caller, address, request, object and names of fields, but no values', async () => {
  const { record } = await recordOf('POST /api/v1/applications', { name: 'audited', description: 'never stored' }, 201)
  const { id, at, correlationId, actorId, address, ...rest } = record
  assert.deepEqual(rest, {
    tenantId: 'default',
    operation: 'applications.create',
    resource: '/api/v1/applications/audited',
    status: 201,
    actorType: 'client',
    fields: ['name', 'description'],
    count: 1,
  })
  assert.match(id, /^[0-9a-f-]{36}$/)
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  assert.ok(['127.0.0.1', '::1', '::ffff:127.0.0.1'].includes(address), address)
  assert.equal(actorId, bootstrap.default.backendClient.id)
  const patched = await recordOf('PATCH /api/v1/applications/audited', { displayName: 'x' }, 204)
  assert.deepEqual([patched.record.resource, patched.record.fields], ['/api/v1/applications/audited', ['displayName']])
})

test('changes of users, their roles, API keys, tokens and credentials are recorded, and no record has a secret', async () => {
  const secrets = ['a-Secret-passw0rd', 'another-Secret-passw0rd']
  const user = await recordOf('POST /iam/api/v1/users', { username: 'eve', password: secrets[0] }, 201)
  const userId = user.answer.body.id
  assert.equal(user.record.resource, `/iam/api/v1/users/${userId}`)
  await recordOf(`PUT /iam/api/v1/users/${userId}/password`, { password: secrets[1] }, 204)
  const roles = await recordOf(`PUT /iam/api/v1/users/${userId}/roles`, ['endpoint-reader'], 204)
  assert.equal(roles.record.operation, 'users.roles.update')
  const key = await recordOf('POST /iam/api/v1/api-keys', { name: 'ci' }, 201)
  secrets.push(key.answer.body.key)
  const asKey = client(baseUrl, { 'x-identity-api-key': key.answer.body.key })
  const made = await asKey('POST /api/v1/applications', { name: 'of-a-key' })
  const [ofKey] = await recordsOf({ correlationId: made.headers.get('x-correlation-id')! })
  assert.deepEqual([ofKey.actorType, ofKey.actorName], ['api-key', 'ci'])
  const { app, version } = await anApplication()
  const { endpointId, token } = await anEndpoint(version)
  secrets.push(token)
  const added = await recordOf(`POST /api/v1/endpoints/${endpointId}/tokens`, { applicationName: app }, 201)
  secrets.push(added.answer.body.token)
  const credentials = { username: 'device-9', password: 'Secret-of-a-device' }
  await recordOf('POST /api/v1/basic-credentials', credentials, 201)
  secrets.push(credentials.password)
  const removed = await recordOf(`DELETE /iam/api/v1/users/${userId}`, undefined, 204)
  assert.equal(removed.record.resource, `/iam/api/v1/users/${userId}`)
  await waypost.kit.audit.flush()
  const rows = JSON.stringify(await sql`select * from kernel.audit_log`)
  for (const secret of secrets) assert.ok(!rows.includes(secret), `a record contains ${secret}`)
})

test('reads, searches and samples are not recorded, and requests that are rejected for lack of permission are recorded', async () => {
  const { version } = await anApplication()
  const { endpointId } = await anEndpoint(version)
  const search = await ask('POST /am/api/v1/assets/list', {})
  const points = { [endpointId]: { t: [{ timestamp: 0, values: { value: 1 } }] } }
  const put = await ask(`PUT /epts/api/v1/app-versions/${version}/time-series/data`, points)
  assert.deepEqual([search.status, put.status], [200, 204])
  for (const answer of [search, put])
    assert.deepEqual(await recordsOf({ correlationId: answer.headers.get('x-correlation-id')! }), [])

  const forbidden = await ask('POST /api/v1/tenants', {})
  assert.equal(forbidden.status, 403)
  const correlationId = forbidden.headers.get('x-correlation-id')!
  await eventually(async () => {
    const [record] = await recordsOf({ correlationId })
    assert.deepEqual([record?.operation, record?.status], ['tenantsV1.create', 403])
  })
  const invalid = await ask('POST /api/v1/applications', { name: 1 })
  assert.deepEqual(await recordsOf({ correlationId: invalid.headers.get('x-correlation-id')! }), [])
})

test('if the record of a change cannot be written, the change is not made, or its response is an error', async () => {
  await sql.unsafe(
    `alter table kernel.audit_log add constraint none check (operation not in ('applications.create', 'applications.patch')) not valid`,
  )
  try {
    const refused = await ask('POST /api/v1/applications', { name: 'unrecorded' })
    assert.equal(refused.status, 500, refused.text)
    assert.equal((await ask('GET /api/v1/applications/unrecorded')).status, 404)
    assert.equal((await ask('PATCH /api/v1/applications/audited', { displayName: 'y' })).status, 500)
  } finally {
    await sql.unsafe('alter table kernel.audit_log drop constraint none')
  }
  assert.equal((await ask('POST /api/v1/applications', { name: 'unrecorded' })).status, 201)
})

test('logins, failed logins and lockouts are recorded, except for usernames that do not exist', async () => {
  const { id } = bootstrap.default.backendClient
  const user = { username: 'mallory', password: 'the-Right-passw0rd' }
  const created = await ask('POST /iam/api/v1/users', user)
  assert.equal(created.status, 201, created.text)
  const { frontendClientId } = (await waypost.ask(Identity).realm('default'))!
  const logIn = (username: string, password: string) =>
    requestToken(baseUrl, 'default', { grant_type: 'password', client_id: frontendClientId, username, password })
  const loggedIn = await logIn(user.username, user.password)
  assert.equal(loggedIn.status, 200, loggedIn.text)
  for (let i = 0; i < 3; i++) await logIn(user.username, `wrong-${i}`)
  await logIn('my-password-by-mistake', 'x')
  const wrongSecret = { grant_type: 'client_credentials', client_id: id, client_secret: 'wrong-secret' }
  assert.equal((await requestToken(baseUrl, 'default', wrongSecret)).status, 401)
  await waypost.kit.audit.flush()
  const [success] = await recordsOf({ operation: 'logins.succeeded', actor: 'mallory' })
  assert.equal(success.actorId, created.body.id)
  const failed = await recordsOf({ operation: 'logins.failed', actor: created.body.id })
  assert.equal(
    failed.reduce((sum, { count }) => sum + count, 0),
    2,
  )
  assert.equal((await recordsOf({ operation: 'logins.locked', actor: 'mallory' })).length, 1)
  assert.match(
    await waypost.kit.metrics.text(),
    /waypost_lockouts_total\{kind="account-at-address",secret="user-password"\} 1/,
  )
  const [ofClient] = await recordsOf({ operation: 'logins.failed', actor: id })
  assert.equal(ofClient.actorType, 'client')
  const rows = JSON.stringify(await sql`select * from kernel.audit_log`)
  for (const text of ['my-password-by-mistake', 'wrong-secret', 'wrong-1']) assert.ok(!rows.includes(text), text)
})

test('records can be filtered, paged and exported as CSV and lines of JSON', async () => {
  const names = Array.from({ length: 5 }, (_, n) => `paged-${n}`)
  const from = new Date().toISOString()
  for (const name of names) assert.equal((await ask('POST /api/v1/applications', { name })).status, 201)
  await waypost.kit.audit.flush()
  const filter = { from, operation: 'applications.create' }
  const pages = [
    await recordsOf({ ...filter, size: '2' }),
    await recordsOf({ ...filter, size: '2', page: '1' }),
    await recordsOf({ ...filter, size: '2', page: '2' }),
  ]
  const resources = pages.flat().map(({ resource }) => resource)
  assert.deepEqual(
    resources,
    names.toReversed().map((name) => `/api/v1/applications/${name}`),
  )
  assert.equal((await recordsOf({ ...filter, resource: '/api/v1/applications/paged-3' })).length, 1)
  assert.equal((await recordsOf({ ...filter, to: from })).length, 0)
  assert.equal((await recordsOf({ ...filter, status: '403' })).length, 0)
  assert.equal((await recordsOf({ ...filter, actor: 'nobody' })).length, 0)

  const download = async (format: string) => {
    const { id, secret } = bootstrap.default.backendClient
    const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    const query = new URLSearchParams({ ...filter, format })
    const response = await fetch(`${baseUrl}${records}?${query}`, {
      headers: bearer(await tokenOf(baseUrl, 'default', grant)),
    })
    return { headers: response.headers, text: await response.text() }
  }
  const lines = await download('ndjson')
  assert.match(lines.headers.get('content-type')!, /^application\/x-ndjson/)
  const parsed = lines.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(parsed, pages.flat())
  const csv = await download('csv')
  assert.match(csv.headers.get('content-type')!, /^text\/csv/)
  const [header, ...rows] = csv.text.trimEnd().split('\r\n')
  assert.match(header!, /^at,tenantId,operation,resource,status,actorType,/)
  assert.equal(rows.length, 5)
  for (const bad of ['from=yesterday', 'format=xml', 'status=7', 'size=0'])
    assert.equal((await ask(`GET ${records}?${bad}`)).status, 400, bad)
})

test('records are hidden from other tenants and from callers without the scope, and deleted with their tenant and by age', async () => {
  const { id, secret } = bootstrap.platform.backendClient
  const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
  const platform = client(baseUrl, bearer(await tokenOf(baseUrl, 'platform', grant)))
  const own = await recordsOf({}, platform)
  assert.ok(own.every(({ tenantId }) => tenantId === 'platform'))
  assert.ok((await recordsOf({ tenantId: 'default' }, platform)).length > 0)
  assert.equal((await ask(`GET ${records}?tenantId=platform`)).status, 403)
  assert.equal((await ask(`GET ${records}?tenantId=platform&format=csv`)).status, 403)
  assert.equal((await client(baseUrl)(`GET ${records}`)).status, 401)

  const admin = { email: 'a@b.example', username: 'a', first_name: 'A', last_name: 'B' }
  const tenant = await platform('POST /tenant-manager/api/v2/tenants', { name: 'gone', tenant_id: 'gone', admin })
  assert.equal(tenant.status, 202, tenant.text)
  const path = `/tenant-manager/api/v2/tenants/${tenant.body.id}`
  await eventually(async () => assert.equal((await platform(`GET ${path}`)).body.status, 'AVAILABLE'))
  const added = await platform('POST /tenant-manager/api/v2/users?tenant_id=gone', {
    ...admin,
    username: 'b',
    email: 'b@b.example',
  })
  assert.equal(added.status, 201, added.text)
  const [record] = await recordsOf({ tenantId: 'gone' }, platform)
  assert.deepEqual([record.operation, record.actorTenantId], ['tenants.users.create', 'platform'])
  assert.equal((await platform(`DELETE ${path}`)).status < 300, true)
  await eventually(async () =>
    assert.equal((await sql`select from kernel.audit_log where tenant_id = 'gone'`).count, 0),
  )

  await sql`update kernel.audit_log set at = at - interval '31 days' where operation = 'applications.patch'`
  await waypost.kit.audit.prune()
  assert.equal((await recordsOf({ operation: 'applications.patch' })).length, 0)
  assert.ok((await recordsOf({ operation: 'applications.create' })).length > 0)
})
