import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { type Ask, bearer, client, tokenOf } from '../../../test/harness/client.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { createFixtures } from '../../../test/harness/gateway.ts'
import { openInProcessPlatform } from '../../../test/harness/in-process-platform.ts'
import { uploadTokenOf } from '../../../test/harness/upload-token.ts'

const { ask, baseUrl, directory, waypost } = await openInProcessPlatform({ WAYPOST_LOG_LEVEL: 'fatal' })
const bootstrap = JSON.parse(readFileSync(join(directory, 'bootstrap.json'), 'utf8'))
const { anApplication, anEndpoint } = createFixtures(ask)
const links = '/links/api/v1/links'
const { sql } = waypost.kit.db

/** Uploads a file as a device does. Returns the path of the file. */
async function aFile(filename: string, content: Buffer) {
  const { app, version } = await anApplication()
  const { endpointId, token } = await anEndpoint(version)
  const uploadToken = await uploadTokenOf(baseUrl, { version, token })
  const path = `/bcx/api/v1/applications/${app}/endpoints/${endpointId}/files`
  const uploaded = await fetch(`${baseUrl}/bcx/api/v1/files/${encodeURIComponent(filename)}`, {
    method: 'POST',
    headers: { 'x-auth-token': uploadToken, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(content),
  })
  assert.ok(uploaded.status < 300, `${uploaded.status} ${await uploaded.text()}`)
  return { app, endpointId, path: `${path}/${encodeURIComponent(filename)}` }
}

async function aLink(path: string, by: Ask = ask, validSeconds?: number): Promise<string> {
  const answer = await by(`POST ${links}`, { path, ...(validSeconds && { validSeconds }) })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.url
}

const get = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

async function aUser(username: string, roles: string[]) {
  const password = 'a-Long-passw0rd-for-tests'
  const user = await ask('POST /iam/api/v1/users', { username, password })
  assert.equal(user.status, 201, user.text)
  assert.equal((await ask(`PUT /iam/api/v1/users/${user.body.id}/roles`, roles)).status, 204)
  const client_id = bootstrap.default.frontendClient.id
  const grant = { grant_type: 'password', client_id, username, password }
  return { id: user.body.id as string, ask: client(baseUrl, bearer(await tokenOf(baseUrl, 'default', grant))) }
}

/** Creates a tenant. Returns a function that sends requests as the backend client of the tenant. */
async function aTenant(name: string): Promise<Ask> {
  const { id, secret } = bootstrap.platform.backendClient
  const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
  const platform = client(baseUrl, bearer(await tokenOf(baseUrl, 'platform', grant)))
  const admin = { email: 'a@b.example', username: 'a', first_name: 'A', last_name: 'B' }
  const created = await platform('POST /tenant-manager/api/v2/tenants', { name, tenant_id: name, admin })
  assert.equal(created.status, 202, created.text)
  const path = `/tenant-manager/api/v2/tenants/${created.body.id}`
  await eventually(async () => assert.equal((await platform(`GET ${path}`)).body.status, 'AVAILABLE'))
  const { body } = await platform(`GET ${path}/credentials`)
  const own = {
    grant_type: 'client_credentials',
    client_id: body.client_backend_id,
    client_secret: body.client_backend_secret,
  }
  return client(baseUrl, bearer(await tokenOf(baseUrl, name, own)))
}

suite('a link', () => {
  test('a link downloads its file without credentials, completely or in ranges, as an attachment that browsers do not execute', async () => {
    const content = Buffer.from('<script>alert(1)</script>'.repeat(40_000))
    const { path } = await aFile('r\u202eeport "x".html', content)
    const url = await aLink(path)
    assert.doesNotMatch(url, /report|files|bcx|default/)
    const whole = await get(url)
    assert.equal(whole.status, 200)
    assert.deepEqual(whole.bytes, content)
    assert.equal(whole.headers.get('content-type'), 'application/octet-stream')
    assert.equal(whole.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(whole.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(whole.headers.get('cache-control'), 'private, no-store')
    assert.match(
      whole.headers.get('content-disposition')!,
      /^attachment; filename="r_eport _x_.html"; filename\*=UTF-8''/,
    )
    const part = await get(url, { range: 'bytes=8-14' })
    assert.deepEqual([part.status, part.bytes.toString()], [206, 'alert(1'])
    assert.equal((await get(url, { range: `bytes=${content.length}-` })).status, 416)
    assert.equal((await get(url, { 'if-none-match': whole.headers.get('etag')! })).status, 304)
    const ofUrl = await aLink(`${waypost.kit.baseUrl()}${path}`)
    assert.equal((await get(ofUrl)).status, 200)
  })

  test('a link expires, and cannot be changed or forged', async () => {
    const { path } = await aFile('a.bin', Buffer.from('a'))
    const url = new URL(await aLink(path))
    const token = url.searchParams.get('token')!
    const invalid = await get(`${baseUrl}${links}/content?token=x`)
    assert.equal(invalid.status, 404)
    const changed = token.slice(0, -3) + (token.endsWith('AAA') ? 'BBB' : 'AAA')
    const { secrets, now } = waypost.kit
    const sealed = (fields: object) => secrets.seal(JSON.stringify(fields))
    const openable = (text: string) =>
      text.startsWith('v2.') && text.length > 50 && text !== changed ? secrets.open(text) : text
    const content = JSON.parse(secrets.open(token))
    for (const bad of [
      changed,
      '',
      'v2.a.b',
      sealed({ ...content, expires: now().getTime() - 1 }),
      sealed({ ...content, for: 'something else' }),
      sealed({ ...content, tenantId: 'nowhere' }),
      secrets.seal('null'),
      secrets.seal('not JSON'),
    ]) {
      const answer = await get(`${baseUrl}${links}/content?token=${encodeURIComponent(bad)}`)
      assert.equal(answer.status, bad === '' ? 400 : 404, openable(bad))
      if (bad !== '') assert.deepEqual(answer.bytes, invalid.bytes, 'the responses to all invalid links must be equal')
    }
    assert.equal((await get(`${baseUrl}${links}/content`)).status, 400)
  })

  test('a link is invalid after its creator loses the permission or is deleted, and after its file is deleted', async () => {
    const { path } = await aFile('b.bin', Buffer.from('b'))
    const eve = await aUser('eve', ['endpoint-reader'])
    const mallory = await aUser('mallory', ['endpoint-reader'])
    const [ofEve, ofMallory, own] = [await aLink(path, eve.ask), await aLink(path, mallory.ask), await aLink(path)]
    assert.equal((await get(ofEve)).status, 200)
    assert.equal((await ask(`PUT /iam/api/v1/users/${eve.id}/roles`, [])).status, 204)
    await eventually(async () => assert.equal((await get(ofEve)).status, 404))
    assert.equal((await ask(`DELETE /iam/api/v1/users/${mallory.id}`)).status, 204)
    await eventually(async () => assert.equal((await get(ofMallory)).status, 404))
    assert.equal((await ask(`DELETE ${path}`)).status, 204)
    assert.equal((await get(own)).status, 404)
  })

  test('a link can be created only for a download that the caller may read', async () => {
    const { path, endpointId } = await aFile('c.bin', Buffer.from('c'))
    for (const bad of [
      '/api/v1/applications',
      `/epr/api/v1/endpoints/${endpointId}`,
      '/iam/api/v1/me',
      'https://elsewhere.example/file',
      '//elsewhere.example/file',
      'bcx/api/v1/x',
      `${path}/../c.bin`,
      `${path}#a`,
      '/\\elsewhere.example',
      '/a b',
      'javascript:alert(1)',
      `${links}/content?token=x`,
    ]) {
      const answer = await ask(`POST ${links}`, { path: bad })
      assert.ok([400, 404].includes(answer.status), `${bad}: ${answer.status} ${answer.text}`)
      assert.ok(bad.startsWith('/') || answer.status === 400, bad)
    }
    for (const body of [{}, { path: '' }, { path, validSeconds: 5 }, { path, validSeconds: 3601 }, { path: 1 }])
      assert.equal((await ask(`POST ${links}`, body)).status, 400, JSON.stringify(body))
    const missing = await ask(`POST ${links}`, { path: path.replace('c.bin', 'none.bin') })
    assert.equal(missing.status, 404, missing.text)
    const otherUser = await aUser('stranger', [])
    assert.equal((await otherUser.ask(`POST ${links}`, { path })).status, 404)
    assert.equal((await client(baseUrl)(`POST ${links}`, { path })).status, 401)
    assert.equal((await (await aTenant('elsewhere'))(`POST ${links}`, { path })).status, 404)
  })

  test('a link to the file of an export works after the export has ended', async () => {
    const { app } = await anApplication()
    const { body } = await ask('POST /jobs/api/v1/jobs/endpoint-exports', {
      select: { applicationName: app },
      format: 'csv',
    })
    const file = `/jobs/api/v1/jobs/${body.jobId}/file`
    const url = await eventually(async () => await aLink(file, ask, 10))
    assert.match((await get(url)).bytes.toString(), /^endpointId,/)
  })

  test('the audit log records that a link was created and used, without its token', async () => {
    const { path } = await aFile('d.bin', Buffer.from('d'))
    const url = await aLink(path)
    await get(url)
    await waypost.kit.audit.flush()
    const records = await eventually(async () => {
      const { body } = await ask(`GET /api/v1/audit/records?operation=links.used&resource=${encodeURIComponent(path)}`)
      assert.equal(body.content.length, 1)
      return body.content
    })
    assert.deepEqual([records[0].actorId, records[0].status], [bootstrap.default.backendClient.id, 200])
    const { body } = await ask('GET /api/v1/audit/records?operation=links.create')
    assert.ok(body.totalElements > 0)
    const token = new URL(url).searchParams.get('token')!
    const rows = JSON.stringify(await sql`select * from kernel.audit_log`)
    assert.ok(!rows.includes(token.slice(20)), 'the audit log must not contain the token')
  })
})
