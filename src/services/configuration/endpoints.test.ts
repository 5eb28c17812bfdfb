/** Tests configurations of endpoints, and defaults of versions, over the HTTP API. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { ecr, openConfiguration } from '../../../test/harness/configuration.ts'

const { waypost, admin, ok, aTestEndpoint, anEndpoint, anApplication, other } = await openConfiguration()
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

suite('the configuration of an endpoint', () => {
  test('the configuration of an endpoint is created, read, replaced and deleted', async () => {
    const { path } = await aTestEndpoint()
    assert.equal((await admin(`GET ${path}`)).status, 404)
    const created = await admin(`PUT ${path}`, { interval: 5 })
    assert.equal(created.status, 200, created.text)
    const { configId, createdDate, updatedDate, ...rest } = created.body
    assert.match(configId, uuid)
    assert.deepEqual(rest, { name: 'default', config: '{"interval":5}' })
    assert.equal(createdDate, updatedDate)
    assert.equal(created.headers.etag, `"${configId}"`)
    assert.deepEqual((await admin(`GET ${path}`)).body, created.body)
    const replaced = await ok(`PUT ${path}`, { interval: 6 })
    assert.notEqual(replaced.configId, configId)
    assert.equal(replaced.createdDate, createdDate)
    assert.ok(replaced.updatedDate >= updatedDate)
    assert.equal((await admin(`DELETE ${path}`)).status, 204)
    assert.equal((await admin(`DELETE ${path}`)).status, 204)
    assert.equal((await admin(`GET ${path}`)).status, 404)
  })

  test('the configuration of an endpoint may be any JSON, and equal JSON changes nothing', async () => {
    const { path } = await aTestEndpoint()
    for (const value of [0, '', 'text', false, null, [], [1, { a: [] }], {}])
      assert.equal((await ok(`PUT ${path}`, JSON.stringify(value))).config, JSON.stringify(value))
    const first = await ok(`PUT ${path}`, '{"a": 1, "b": {"c": [1, 2], "d": null}}')
    assert.deepEqual(await ok(`PUT ${path}`, '{"b":{"d":null,"c":[1.0,2]},"a":1}'), first)
    for (const different of ['{"a":1,"b":{"c":[2,1],"d":null}}', '{"a":1,"b":{"c":[1,2]}}', '{"a":"1"}', '[{"a":1}]'])
      assert.notEqual((await ok(`PUT ${path}`, different)).configId, first.configId)
    assert.equal((await ok(`PUT ${path}`, '{"__proto__":{"a":1}}')).config, '{"__proto__":{"a":1}}')
  })

  test('an endpoint can have configurations with several names, and their list is sorted by name', async () => {
    const { path } = await aTestEndpoint()
    const configs = []
    for (const name of ['night', 'a-1', 'default', 'B_2']) configs.push(await ok(`PUT ${path}?name=${name}`, { name }))
    const sorted = configs.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    assert.deepEqual(await ok(`GET ${path}/configurations`), sorted)
    assert.deepEqual(await ok(`GET ${path}?name=night`), configs[0])
    assert.deepEqual(await ok(`GET ${path}`), configs[2])
    assert.equal((await admin(`GET ${path}?name=none`)).status, 404)
    for (let n = 0; n < 20; n++) await ok(`PUT ${path}?name=n${n}`, n)
    assert.equal((await ok(`GET ${path}/configurations`)).length, 24)
  })

  test('the configuration of an endpoint falls back to the default of the version, separately for each name', async () => {
    const { path, defaults } = await aTestEndpoint()
    const common = await ok(`PUT ${defaults}`, { common: true })
    const night = await ok(`PUT ${defaults}?name=night`, { night: true })
    assert.deepEqual(await ok(`GET ${path}`), common)
    const configuration = await ok(`PUT ${path}`, { own: true })
    assert.deepEqual(await ok(`GET ${path}`), configuration)
    assert.deepEqual(await ok(`GET ${path}?name=night`), night)
    assert.deepEqual(await ok(`GET ${path}/configurations`), [configuration])
    assert.deepEqual(await ok(`GET ${defaults}/configurations`), [common, night])
    assert.equal((await admin(`DELETE ${path}`)).status, 204)
    assert.deepEqual(await ok(`GET ${path}`), common)
  })

  test('the configuration of an endpoint belongs to a version of its application', async () => {
    const { app, version } = await anApplication(['v1', 'v2'])
    const { endpointId } = await anEndpoint(version)
    const foreign = await anApplication()
    const at = (name: string) => `${ecr}/endpoints/${endpointId}/app-versions/${name}`
    const two = await ok(`PUT ${at(`${app}-v2`)}`, 2)
    assert.deepEqual(await ok(`GET ${at(`${app}-v2`)}`), two)
    assert.equal((await admin(`GET ${at(version)}`)).status, 404)
    const theirs = await anApplication(['v1'], other)
    const answers = []
    for (const name of [foreign.version, theirs.version, 'none'])
      answers.push((await admin(`PUT ${at(name)}`, 1)).text.replace(name, '…'))
    assert.equal(new Set(answers).size, 1)
    assert.match(answers[0]!, /There is no application version …/)
  })

  test('the configuration of an endpoint honours If-None-Match and If-Match', async () => {
    const { path } = await aTestEndpoint()
    const ifMatch = (tag: string) => ({ 'if-match': tag })
    assert.equal((await admin(`PUT ${path}`, 1, ifMatch('"x"'))).status, 412)
    assert.equal((await admin(`PUT ${path}`, 1, ifMatch('*'))).status, 412)
    assert.equal((await admin(`DELETE ${path}`, undefined, ifMatch('"x"'))).status, 412)
    const { configId } = await ok(`PUT ${path}`, 1, ifMatch(''))
    for (const tag of [configId, `"${configId}"`, `W/"${configId}"`, '*']) {
      const answer = await admin(`GET ${path}`, undefined, { 'if-none-match': tag })
      assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, '', `"${configId}"`])
    }
    assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': '' })).status, 200)
    assert.equal((await admin(`PUT ${path}`, 2, ifMatch('"x"'))).status, 412)
    const next = await ok(`PUT ${path}`, 2, ifMatch(`"${configId}"`))
    assert.equal((await admin(`PUT ${path}`, 3, ifMatch(`"${configId}"`))).status, 412)
    assert.equal((await admin(`DELETE ${path}`, undefined, ifMatch(configId))).status, 412)
    assert.equal((await admin(`DELETE ${path}`, undefined, ifMatch(next.configId))).status, 204)
  })

  test('when concurrent requests write a configuration with the same ETag, one request succeeds; without an ETag all succeed', async () => {
    const { path, defaults } = await aTestEndpoint()
    for (const url of [path, defaults]) {
      const { configId } = await ok(`PUT ${url}`, ['first'])
      const write = (n: number, headers = {}) => admin(`PUT ${url}`, { n }, headers)
      const racing = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => write(n, { 'if-match': configId })))
      assert.deepEqual(racing.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412])
      const winner = racing.find(({ status }) => status === 200)!
      assert.deepEqual(await ok(`GET ${url}`), winner.body)
      const all = await Promise.all([7, 8, 9].map((n) => write(n)))
      assert.deepEqual(
        all.map(({ status }) => status),
        [200, 200, 200],
      )
      const current = await ok(`GET ${url}`)
      assert.ok(all.some(({ body }) => body.configId === current.configId))
    }
  })

  test('concurrent requests that write the same first value get the same configuration', async () => {
    const { path } = await aTestEndpoint()
    const racing = await Promise.all([1, 1, 1, 1].map((value) => admin(`PUT ${path}`, value)))
    assert.equal(new Set(racing.map(({ body }) => body.configId)).size, 1)
  })
})

suite('the default of a version', () => {
  test('the default of a version is created, replaced and deleted; a missing default gets 404', async () => {
    const { defaults } = await aTestEndpoint()
    assert.equal((await admin(`GET ${defaults}`)).status, 404)
    assert.equal((await admin(`DELETE ${defaults}`)).status, 404)
    assert.equal((await admin(`DELETE ${defaults}`, undefined, { 'if-match': 'x' })).status, 412)
    const first = await ok(`PUT ${defaults}`, { a: 1 })
    assert.deepEqual(await ok(`PUT ${defaults}`, { a: 1 }), first)
    const got = await admin(`GET ${defaults}`, undefined, { 'if-none-match': first.configId })
    assert.equal(got.status, 304)
    assert.equal((await admin(`PUT ${defaults}`, { a: 2 }, { 'if-match': 'x' })).status, 412)
    const second = await ok(`PUT ${defaults}`, { a: 2 }, { 'if-match': first.configId })
    assert.equal(second.createdDate, first.createdDate)
    assert.equal((await admin(`DELETE ${defaults}`, undefined, { 'if-match': first.configId })).status, 412)
    assert.equal((await admin(`DELETE ${defaults}`, undefined, { 'if-match': second.configId })).status, 204)
    assert.equal((await admin(`GET ${defaults}`)).status, 404)
  })
})

suite('bad input', () => {
  const bad: [why: string, query: string, body: unknown, status: number, problem: RegExp][] = [
    ['no body', '', undefined, 400, /body/],
    ['an empty body', '', '', 400, /body/],
    ['malformed JSON', '', '{', 400, /malformed JSON/],
    ['a lone surrogate', '', '"\\ud800"', 400, /surrogate/],
    ['NUL', '', '"\\u0000"', 400, /NUL/],
    ['a number that a double cannot represent', '', '12345678901234567890', 400, /kept exactly/],
    ['JSON that is too deep', '', `${'['.repeat(100)}${']'.repeat(100)}`, 400, /nested deeper/],
    ['an empty name', '?name=', '1', 400, /name/],
    ['a name with a slash', '?name=a%2Fb', '1', 400, /name/],
    ['a long name', `?name=${'x'.repeat(256)}`, '1', 400, /name/],
    ['more than a million bytes', '', JSON.stringify('x'.repeat(999_999)), 413, /1000000 bytes/],
    ['more than a megabyte', '', JSON.stringify('x'.repeat(1_048_577)), 413, /larger/],
  ]
  for (const [why, query, body, status, problem] of bad)
    test(`${why} is rejected, and nothing is stored`, async () => {
      const { path, defaults } = await aTestEndpoint()
      for (const url of [path, defaults]) {
        const answer = await admin(`PUT ${url}${query}`, body)
        assert.equal(answer.status, status, answer.text)
        assert.match(answer.body.message, problem)
        assert.equal((await admin(`GET ${url}`)).status, 404)
      }
    })

  test('a configuration of a million bytes is accepted', async () => {
    const { path } = await aTestEndpoint()
    assert.equal((await ok(`PUT ${path}`, JSON.stringify('x'.repeat(999_998)))).config.length, 1_000_000)
  })

  test('a body with another media type gets 415', async () => {
    const { path } = await aTestEndpoint()
    assert.equal((await admin(`PUT ${path}`, '{}', { 'content-type': 'text/plain' })).status, 415)
  })
})

suite('permissions', () => {
  const as = (scopes: string[], on = 'tenant-system') => waypost.as(aCaller({ on: { [on]: scopes } }))

  test('the response for an endpoint that the caller may not read is equal to the response for a missing endpoint', async () => {
    const { path, endpointId, version } = await aTestEndpoint()
    await ok(`PUT ${path}`, ['secret'])
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? 1 : undefined
      const missing = await admin(`${method} ${ecr}/endpoints/none/app-versions/${version}`, body)
      assert.equal(missing.status, 404)
      for (const outsider of [waypost.as(aCaller()), other, as(['application:read'])]) {
        const answer = await outsider(`${method} ${path}`, body)
        assert.equal(answer.text.replace(endpointId, 'none'), missing.text)
        assert.equal(answer.status, 404)
      }
    }
    assert.equal((await waypost.as(undefined)(`GET ${path}`)).status, 401)
  })

  test('a caller that may read but not change gets 403', async () => {
    const { path, endpointId } = await aTestEndpoint()
    await ok(`PUT ${path}`, 1)
    const reader = as(['endpoint:read'], `endpoint-${endpointId}`)
    assert.equal((await reader(`GET ${path}`)).status, 200)
    assert.equal((await reader(`GET ${path}/configurations`)).status, 200)
    assert.equal((await reader(`PUT ${path}`, 2)).status, 403)
    assert.equal((await reader(`DELETE ${path}`)).status, 403)
    assert.equal((await as(['endpoint:read', 'endpoint:update'])(`DELETE ${path}`)).status, 403)
    assert.equal((await as(['endpoint:update'])(`PUT ${path}`, 2)).status, 200)
    assert.equal((await as(['endpoint:delete'])(`DELETE ${path}`)).status, 204)
  })

  test('without the scope on the application, requests for defaults get 404, or 403 if the caller may read the application', async () => {
    const { app, version, defaults } = await aTestEndpoint()
    const resource = `application-${app}`
    await ok(`PUT ${defaults}`, ['secret'])
    const missing = await admin(`GET ${ecr}/app-versions/none`)
    for (const outsider of [waypost.as(aCaller()), other]) {
      const answer = await outsider(`GET ${defaults}`)
      assert.equal(answer.text.replaceAll(version, 'none'), missing.text)
    }
    const reader = as(['application:read'], resource)
    const calls: [operation: string, body: unknown, scope: string][] = [
      [`GET ${defaults}`, undefined, 'read'],
      [`GET ${defaults}/configurations`, undefined, 'read'],
      [`PUT ${defaults}`, 1, 'update'],
      [`DELETE ${defaults}`, undefined, 'delete'],
    ]
    for (const [operation, body, scope] of calls) {
      assert.equal((await reader(operation, body)).status, 403, operation)
      assert.ok((await as([`application:endpoint-config:${scope}`], resource)(operation, body)).status < 300, operation)
    }
  })

  test('a caller that may read the defaults of a version but not change them gets 403', async () => {
    const { app, defaults } = await aTestEndpoint()
    await ok(`PUT ${defaults}`, 1)
    const reader = as(['application:endpoint-config:read'], `application-${app}`)
    assert.equal((await reader(`GET ${defaults}`)).status, 200)
    assert.equal((await reader(`PUT ${defaults}`, 2)).status, 403)
    assert.equal((await reader(`DELETE ${defaults}`)).status, 403)
  })

  test('a configuration that an administrator of the platform writes belongs to the tenant of the endpoint', async () => {
    const { path } = await aTestEndpoint()
    const written = await waypost.as(aPlatformAdmin())(`PUT ${path}`, 1)
    assert.equal(written.status, 200, written.text)
    assert.deepEqual(await ok(`GET ${path}`), written.body)
    assert.equal((await waypost.as(aTenantAdmin('platform'))(`GET ${path}`)).status, 404)
  })
})
