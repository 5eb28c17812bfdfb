/** Tests system configurations of tenants, applications, versions and endpoints. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin } from '../../../test/harness/builders.ts'
import { ecr, openConfiguration } from '../../../test/harness/configuration.ts'

const { waypost, admin, other, ok, aTestEndpoint } = await openConfiguration()
const system = `${ecr}/system`

async function ownersByLevel() {
  const { app, version, endpointId } = await aTestEndpoint()
  return {
    tenant: { path: `${system}/tenants/default/configs`, level: 'TENANT', entityId: 'default' },
    application: { path: `${system}/applications/${app}/configs`, level: 'APPLICATION', entityId: app },
    version: { path: `${system}/app-versions/${version}/configs`, level: 'APP_VERSION', entityId: version },
    endpoint: { path: `${system}/endpoints/${endpointId}/configs`, level: 'ENDPOINT', entityId: endpointId },
  }
}

async function created(path: string, name: string, config: unknown, more = {}) {
  const answer = await admin(`POST ${path}`, { name, config: JSON.stringify(config), ...more })
  assert.equal(answer.status, 201, answer.text)
  return { id: answer.headers.location!.split('/').at(-1)!, etag: answer.headers.etag!, answer }
}

suite('a system configuration', () => {
  test('a system configuration is created, read, listed, replaced and deleted at every level', async () => {
    for (const { path } of Object.values(await ownersByLevel())) {
      const name = `n-${path.length}_${Math.floor(Math.random() * 1e9)}`
      const { id, etag, answer } = await created(path, name, { a: 1 }, { displayName: 'One' })
      assert.equal(answer.text, '')
      assert.equal(answer.headers.location, `${waypost.baseUrl}${path}/${id}`)
      const configPath = `${path}/${id}`
      const item = await ok(`GET ${configPath}`)
      const { createdAt, updatedAt, ...rest } = item
      assert.deepEqual(rest, { configId: id, name, displayName: 'One', config: '{"a":1}' })
      assert.equal(createdAt, updatedAt)
      const unchanged = await admin(`GET ${configPath}`, undefined, { 'if-none-match': etag })
      assert.deepEqual([unchanged.status, unchanged.headers.etag], [304, etag])
      assert.deepEqual(await ok(`GET ${path}?name=${name}`), { totalElements: 1, content: [item] })
      assert.equal((await admin(`POST ${path}`, { name, config: '1' })).status, 409)
      const next = { name: `${name}2`, config: '[2]' }
      assert.equal((await admin(`PUT ${configPath}`, next, { 'if-match': '"x"' })).status, 412)
      const put = await admin(`PUT ${configPath}`, next, { 'if-match': etag })
      assert.equal(put.status, 204, put.text)
      assert.notEqual(put.headers.etag, etag)
      const replaced = await admin(`GET ${configPath}`)
      assert.equal(replaced.headers.etag, put.headers.etag)
      assert.equal(replaced.body.config, '[2]')
      assert.ok(!('displayName' in replaced.body))
      assert.equal(replaced.body.createdAt, createdAt)
      const second = await created(path, name, 1)
      assert.equal((await admin(`PUT ${path}/${second.id}`, { ...next, config: '1' })).status, 409)
      assert.equal((await admin(`DELETE ${configPath}`, undefined, { 'if-match': etag })).status, 412)
      for (const [target, tag] of [
        [configPath, put.headers.etag!],
        [`${path}/${second.id}`, ''],
      ] as const)
        assert.equal((await admin(`DELETE ${target}`, undefined, { 'if-match': tag })).status, 204)
      for (const method of ['GET', 'DELETE']) assert.equal((await admin(`${method} ${configPath}`)).status, 404)
      assert.equal((await admin(`PUT ${configPath}`, next)).status, 404)
    }
  })

  test('a system configuration is listed by name with offset and limit; 0 returns all', async () => {
    const { endpoint } = await ownersByLevel()
    for (let n = 0; n < 103; n++) await created(endpoint.path, `n${String(n).padStart(3, '0')}`, n)
    const names = async (query: string) => {
      const { totalElements, content } = await ok(`GET ${endpoint.path}${query}`)
      assert.equal(totalElements, 103)
      return content.map(({ name }: { name: string }) => name)
    }
    assert.equal((await names('')).length, 100)
    assert.equal((await names('?limit=0')).length, 103)
    assert.deepEqual(await names('?offset=101&limit=10'), ['n101', 'n102'])
    assert.deepEqual(await names('?offset=0&limit=2'), ['n000', 'n001'])
    for (const query of ['offset=-1', 'limit=-1', 'limit=x'])
      assert.equal((await admin(`GET ${endpoint.path}?${query}`)).status, 400)
  })

  test('the resource /current searches its own level and then the levels above, unless a parameter excludes these levels', async () => {
    const levels = await ownersByLevel()
    const name = `walk-${Math.floor(Math.random() * 1e9)}`
    const current = (at: { path: string }, more = '') => admin(`GET ${at.path}/current?name=${name}${more}`)
    const order = [levels.tenant, levels.application, levels.version, levels.endpoint]
    for (const [index, at] of order.entries()) {
      assert.equal((await current(at, '&treeTraversalStrategy=SKIP')).status, 404)
      const { id, etag } = await created(at.path, name, { index })
      for (const below of order.slice(index)) {
        const { status, body, headers } = await current(below)
        assert.equal(status, 200)
        assert.deepEqual([body.configId, body.level, body.entityId], [id, at.level, at.entityId])
        assert.equal(headers.etag, etag)
      }
      assert.equal((await current(at, '&treeTraversalStrategy=SKIP')).body.configId, id)
      const same = await admin(`GET ${at.path}/current?name=${name}`, undefined, { 'if-none-match': etag })
      assert.equal(same.status, 304)
    }
    assert.equal((await current(levels.endpoint, '&treeTraversalStrategy=WALK')).status, 400)
    assert.equal((await admin(`GET ${levels.endpoint.path}/current`)).status, 404)
    await created(levels.version.path, 'default', 1)
    assert.equal((await ok(`GET ${levels.endpoint.path}/current`)).level, 'APP_VERSION')
  })

  const bad: [body: object, field: RegExp][] = [
    [{ config: '1' }, /name/],
    [{ name: '', config: '1' }, /name/],
    [{ name: 'a b', config: '1' }, /name/],
    [{ name: 'x'.repeat(256), config: '1' }, /name/],
    [{ name: 'a' }, /config/],
    [{ name: 'a', config: '' }, /config/],
    [{ name: 'a', config: '{' }, /config/],
    [{ name: 'a', config: { a: 1 } }, /config/],
    [{ name: 'a', config: 'x'.repeat(262_145) }, /config/],
    [{ name: 'a', config: '1', displayName: 5 }, /displayName/],
  ]
  for (const [body, field] of bad)
    test(`a system configuration rejects ${JSON.stringify(body).slice(0, 50)}`, async () => {
      const { endpoint } = await ownersByLevel()
      const { id } = await created(endpoint.path, 'kept', 1)
      for (const operation of [`POST ${endpoint.path}`, `PUT ${endpoint.path}/${id}`]) {
        const answer = await admin(operation, body)
        assert.equal(answer.status, 400, answer.text)
        assert.match(answer.body.message, field)
      }
      assert.equal((await ok(`GET ${endpoint.path}`)).content[0].config, '1')
    })

  test('the response for an entity that the caller may not read is the same 404 as for a missing entity', async () => {
    const levels = await ownersByLevel()
    for (const { path, entityId } of [levels.application, levels.version, levels.endpoint]) {
      const missing = await admin(`GET ${path.replace(entityId, 'none')}`)
      assert.equal(missing.status, 404)
      for (const outsider of [other, waypost.as(aCaller())])
        assert.equal((await outsider(`GET ${path}`)).text.replace(entityId, 'none'), missing.text)
    }
    assert.equal((await waypost.as(aCaller())(`GET ${levels.tenant.path}`)).status, 403)
    const foreign = await other(`GET ${levels.tenant.path}`)
    assert.equal(foreign.status, 404)
    assert.equal(foreign.text.replace('default', 'none'), (await other(`GET ${system}/tenants/none/configs`)).text)
    assert.equal((await waypost.as(aPlatformAdmin())(`GET ${levels.tenant.path}`)).status, 200)
  })

  test('a system configuration needs the scopes of its level', async () => {
    const levels = await ownersByLevel()
    const kinds = {
      tenant: 'tenant:configuration',
      application: 'application',
      version: 'application',
      endpoint: 'endpoint',
    }
    for (const [key, { path }] of Object.entries(levels)) {
      const kind = kinds[key as keyof typeof kinds]
      const as = (scope: string) => waypost.as(aCaller({ on: { 'tenant-system': [`${kind}:${scope}`] } }))
      const body = { name: `scoped-${key}`, config: '1' }
      assert.equal((await as('read')(`GET ${path}`)).status, 200)
      assert.equal((await as('read')(`POST ${path}`, body)).status, 403)
      const created = await as('update')(`POST ${path}`, body)
      assert.equal(created.status, 201, created.text)
      const configPath = `${path}/${created.headers.location!.split('/').at(-1)}`
      assert.equal((await as('read')(`DELETE ${configPath}`)).status, 403)
      assert.equal((await as('update')(`DELETE ${configPath}`)).status, 204)
    }
  })
})
