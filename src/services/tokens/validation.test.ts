import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { migratedDatabase, openTestPlatform } from '../../../test/harness/test-platform.ts'
import { openTokens, services, tokenFixtures } from '../../../test/harness/tokens.ts'
import { resetAllNodes } from '../../kernel/signals.ts'
import { TenantDeleted } from '../tenants/events.ts'

const environment = { WAYPOST_MASTER_KEY: 'a master key that two nodes share, long enough' }
const connection = await migratedDatabase(services)
const { waypost, admin, api, publishedEvents, anApplication, anEndpoint, aTokenWithStatus } = await openTokens({
  connection,
  environment,
})
const otherNode = tokenFixtures(await openTestPlatform({ services, connection, environment }))
const { db } = waypost.kit

const anEndpointWithToken = async () => {
  const { app, version } = await anApplication()
  return { app, version, ...(await anEndpoint(app)) }
}
const changes = () => publishedEvents.filter(({ event }) => event === 'tokens.token.status-changed')

suite('validating a token', () => {
  test('validating a token accepts every token that can be provisioned, even with characters of two UTF-16 units', async () => {
    const { app, version, endpointId } = await anEndpointWithToken()
    for (const token of ['😀'.repeat(255), 'x'.repeat(255), ' ', 'a\nb', '"', '\u202e']) {
      const created = await admin(`POST /api/v1/endpoints/${endpointId}/tokens`, { applicationName: app, token })
      assert.equal(created.status, 201, created.text)
      assert.equal((await api.validate({ token, versionName: version }))?.endpointId, endpointId)
    }
    assert.equal(await api.validate({ token: '😀'.repeat(256), versionName: version }), undefined)
  })

  test('the first use activates the token and publishes one event; every use returns the endpoint', async () => {
    const { app, version, endpointId, token } = await anEndpointWithToken()
    publishedEvents.length = 0
    const first = await api.validate({ token, versionName: version })
    const [{ endpointTokenId, status, updatedDate }] = (await admin(`GET /api/v1/endpoints/${endpointId}/tokens`)).body
      .content
    assert.deepEqual(first, { tenantId: 'default', applicationName: app, endpointId, endpointTokenId })
    assert.equal(status, 'Active')
    assert.ok(updatedDate)
    assert.deepEqual(await api.validate({ token, versionName: version }), first)
    assert.equal(changes().length, 1)
    const { from, to } = changes()[0]!.payload
    assert.deepEqual([from, to], ['Inactive', 'Active'])
  })

  test('a token is accepted with every version of its application, and with no other version', async () => {
    const { app, token, endpointId } = await anEndpointWithToken()
    const otherApplication = await anApplication()
    const added = await admin(`POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v2' })
    assert.equal(added.status, 201)
    assert.equal((await api.validate({ token, versionName: `${app}-v2` }))?.endpointId, endpointId)
    for (const versionName of [otherApplication.version, 'no-such-version', app, ''])
      assert.equal(await api.validate({ token, versionName }), undefined)
  })

  test('unknown tokens of any form or length are rejected', async () => {
    const { version, token } = await anEndpointWithToken()
    for (const invalid of [
      '',
      'x',
      token.toUpperCase(),
      ` ${token}`,
      `${token}\0`,
      '#',
      '\ud800',
      token.repeat(10_000),
    ])
      assert.equal(await api.validate({ token: invalid, versionName: version }), undefined)
  })

  test('the same token in two applications belongs to two endpoints', async () => {
    const [one, two] = [await anEndpointWithToken(), await anApplication()]
    const { endpointId } = await anEndpoint(two.app, { token: one.token })
    assert.equal((await api.validate({ token: one.token, versionName: one.version }))?.endpointId, one.endpointId)
    assert.equal((await api.validate({ token: one.token, versionName: two.version }))?.endpointId, endpointId)
  })

  test('an unknown token is valid as soon as it is provisioned', async () => {
    const { app, version } = await anApplication()
    assert.equal(await api.validate({ token: 'soon', versionName: version }), undefined)
    await anEndpoint(app, { token: 'soon' })
    assert.ok(await api.validate({ token: 'soon', versionName: version }))
  })

  test('concurrent first uses on two nodes all succeed, with one event', async () => {
    const { version, endpointId, token } = await anEndpointWithToken()
    publishedEvents.length = 0
    const uses = Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? api : otherNode.api).validate({ token, versionName: version }),
    )
    for (const validated of await Promise.all(uses)) assert.equal(validated?.endpointId, endpointId)
    await eventually(() => assert.equal(changes().length, 1))
    assert.equal(changes().length, 1)
  })

  test('concurrent first uses of many tokens all succeed, with one event for each token', async () => {
    const { app, version } = await anApplication()
    const tokens = await Promise.all(Array.from({ length: 30 }, async () => (await anEndpoint(app)).token))
    publishedEvents.length = 0
    const uses = [...tokens, ...tokens].map((token) => api.validate({ token, versionName: version }))
    const endpoints = (await Promise.all(uses)).map((valid) => valid?.endpointId)
    assert.equal(new Set(endpoints).size, 30)
    assert.ok(!endpoints.includes(undefined))
    assert.deepEqual(
      changes()
        .map(({ payload }) => payload.endpointId)
        .sort(),
      [...new Set(endpoints)].sort(),
    )
    const [row] = await db.sql`
      select count(*) from tokens.tokens where application_name = ${app} and status = 'Active' and updated_date is not null`
    assert.equal(row!.count, 30)
  })

  test('a concurrent first use does not undo a revocation', async () => {
    for (let i = 0; i < 10; i++) {
      const { app, version, endpointId } = await anEndpointWithToken()
      const { url, token } = await aTokenWithStatus('Inactive', { endpointId, app, version })
      await Promise.all([
        admin(`PUT ${url}/status`, { status: 'Revoked' }),
        api.validate({ token, versionName: version }),
        otherNode.api.validate({ token, versionName: version }),
      ])
      assert.equal((await admin(`GET ${url}/status`)).body.status, 'Revoked')
      assert.equal(await api.validate({ token, versionName: version }), undefined)
    }
  })

  test('concurrent validations return the correct endpoints', async () => {
    const { app, version } = await anApplication()
    const endpoints = await Promise.all(Array.from({ length: 100 }, () => anEndpoint(app)))
    const cases = endpoints.flatMap(({ endpointId, token }) => [
      { token, endpointId },
      { token: `not ${token}`, endpointId: undefined },
    ])
    const validated = await Promise.all(cases.map(({ token }) => api.validate({ token, versionName: version })))
    assert.deepEqual(
      validated.map((one) => one?.endpointId),
      cases.map(({ endpointId }) => endpointId),
    )
  })
})

suite('changes invalidate caches', () => {
  const methodByChange = { Suspended: 'PUT', Revoked: 'PUT', deleted: 'DELETE' } as const

  for (const [what, method] of Object.entries(methodByChange))
    test(`the change to ${what} takes effect immediately on this node, and within a second on another node`, async () => {
      const { app, version, endpointId } = await anEndpointWithToken()
      const { url, token } = await aTokenWithStatus('Active', { endpointId, app, version })
      const presented = { token, versionName: version }
      for (const node of [api, otherNode.api]) assert.ok(await node.validate(presented))
      const answer = await (method === 'PUT' ? admin(`PUT ${url}/status`, { status: what }) : admin(`DELETE ${url}`))
      assert.equal(answer.status, 204, answer.text)
      assert.equal(await api.validate(presented), undefined)
      await eventually(async () => assert.equal(await otherNode.api.validate(presented), undefined), { withinMs: 1000 })
      if (what !== 'Suspended') return
      assert.equal((await admin(`PUT ${url}/status`, { status: 'Active' })).status, 204)
      assert.ok(await api.validate(presented))
      await eventually(async () => assert.ok(await otherNode.api.validate(presented)), { withinMs: 1000 })
    })

  test('tokens of a deleted endpoint are rejected on all nodes, and a new endpoint can get them', async () => {
    const { app, version } = await anApplication()
    const endpoints = await Promise.all(Array.from({ length: 150 }, () => anEndpoint(app)))
    const presented = { token: endpoints[149]!.token, versionName: version }
    for (const node of [api, otherNode.api]) assert.ok(await node.validate(presented))
    publishedEvents.length = 0
    let gaps = 0
    otherNode.waypost.kit.bus.onReset(() => gaps++)
    const ids = endpoints.map(({ endpointId }) => endpointId)
    await db.tx((sql) => api.deleteTokens(sql, 'default', ids))
    const publishedTokens = publishedEvents.flatMap(({ payload }) => payload.tokens)
    assert.deepEqual(publishedTokens.map(({ endpointId }) => endpointId).sort(), ids.sort())
    assert.equal(await api.validate(presented), undefined)
    await eventually(async () => assert.equal(await otherNode.api.validate(presented), undefined), { withinMs: 1000 })
    assert.equal(gaps, 0)
    assert.equal((await admin(`GET /api/v1/endpoints/${ids[0]}/tokens`)).status, 404)
    const anew = await anEndpoint(app, { endpointId: ids[0]!, token: endpoints[0]!.token })
    assert.equal((await api.validate({ token: anew.token, versionName: version }))?.endpointId, ids[0])
  })

  test('a token is rejected if it is presented with a deleted version', async () => {
    const { app, version, token } = await anEndpointWithToken()
    assert.ok(await api.validate({ token, versionName: version }))
    assert.equal((await admin(`DELETE /api/v1/applications/${app}/app-versions/${version}`)).status, 204)
    assert.equal(await api.validate({ token, versionName: version }), undefined)
  })

  test('a reset clears the cache, and new tokens are still found afterwards', async () => {
    const { app, version, token, endpointId } = await anEndpointWithToken()
    for (let i = 0; i < 2; i++) assert.ok(await otherNode.api.validate({ token, versionName: version }))
    // The test changes the rows without an event and only signals a reset, as a restore does.
    await db.sql.unsafe(`update tokens.tokens set status = 'Revoked' where endpoint_id = $1`, [endpointId])
    assert.ok(await otherNode.api.validate({ token, versionName: version }))
    await resetAllNodes(db.sql)
    await eventually(async () => assert.equal(await otherNode.api.validate({ token, versionName: version }), undefined))
    const fresh = await anEndpoint(app)
    assert.ok(await otherNode.api.validate({ token: fresh.token, versionName: version }))
  })
})

suite('functions for the register', () => {
  const provision = async (applicationName: string, token: string, endpointId = waypost.kit.newId()) => {
    const owner = { tenantId: 'default', applicationName }
    const [outcome] = await db.tx((sql) => api.provision(sql, owner, [{ endpointId, token }]))
    return outcome
  }

  test('of twenty concurrent registrations with the same token, one succeeds and nineteen write nothing', async () => {
    const { app, version } = await anApplication()
    const ids = Array.from({ length: 20 }, () => waypost.kit.newId())
    const outcomes = await Promise.all(ids.map((id) => provision(app, 'wanted by all', id)))
    assert.equal(outcomes.filter((outcome) => outcome === 'taken').length, 19)
    const winner = ids[outcomes.findIndex((outcome) => outcome !== 'taken')]
    assert.equal((await api.validate({ token: 'wanted by all', versionName: version }))?.endpointId, winner)
    const statuses = await Promise.all(
      ids.map(async (id) => (await admin(`GET /api/v1/endpoints/${id}/tokens`)).status),
    )
    assert.deepEqual(statuses.sort(), [200, ...Array(19).fill(404)])
  })

  test('a batch in one transaction continues after a token that already exists', async () => {
    const { app, version } = await anApplication()
    await provision(app, 'first')
    const outcomes = await db.tx((sql) =>
      api.provision(
        sql,
        { tenantId: 'default', applicationName: app },
        ['first', 'second', 'second', undefined].map((token, i) => ({ endpointId: `${app}-${i}`, token })),
      ),
    )
    assert.deepEqual(outcomes.slice(0, 3), ['taken', { token: 'second', status: 'Inactive' }, 'taken'])
    const generated = outcomes[3]
    assert.ok(generated && generated !== 'taken')
    assert.match(generated.token, /^[A-Za-z0-9]{10}$/)
    assert.equal((await api.validate({ token: 'second', versionName: version }))?.endpointId, `${app}-1`)
    assert.equal((await api.validate({ token: generated.token, versionName: version }))?.endpointId, `${app}-3`)
  })

  test('a registration that is rolled back leaves no token', async () => {
    const { app, version } = await anApplication()
    const failed = db.tx(async (sql) => {
      const owner = { tenantId: 'default', applicationName: app }
      await api.provision(sql, owner, [{ endpointId: `${app}-never`, token: 'never' }])
      throw new Error('no')
    })
    await assert.rejects(failed, /no/)
    assert.equal(await api.validate({ token: 'never', versionName: version }), undefined)
    assert.notEqual(await provision(app, 'never'), 'taken')
  })

  test('only endpoints of the given tenant are deleted', async () => {
    const { version, token, endpointId } = await anEndpointWithToken()
    await db.tx((sql) => api.deleteTokens(sql, 'other', [endpointId]))
    assert.ok(await api.validate({ token, versionName: version }))
  })

  test('a new endpoint with the same id as an endpoint of a deleted tenant does not inherit the tokens of that endpoint', async () => {
    const { app, version } = await anApplication()
    const { endpointId, token } = await anEndpoint(app, { tenantId: 'gone' })
    // The version belongs to another tenant than the token.
    assert.equal(await api.validate({ token, versionName: version }), undefined)
    assert.notEqual(await provision(app, 'new owner', endpointId), 'taken')
    const { body } = await admin(`GET /api/v1/endpoints/${endpointId}/tokens`)
    assert.equal(body.totalElements, 1)
    assert.equal(await api.validate({ token, versionName: version }), undefined)
    assert.equal((await api.validate({ token: 'new owner', versionName: version }))?.endpointId, endpointId)
  })
})

test('deleting a tenant deletes only its own endpoints and tokens', async () => {
  const { version, token } = await anEndpointWithToken()
  const { app } = await anApplication()
  const { endpointId } = await anEndpoint(app, { tenantId: 'doomed' })
  publishedEvents.length = 0
  await db.tx((sql) => waypost.kit.bus.publish(sql, TenantDeleted, { tenantId: 'doomed' }))
  await eventually(async () => {
    const [remaining] = await db.sql.unsafe('select count(*) from tokens.tokens where endpoint_id = $1', [endpointId])
    assert.equal(remaining?.count, 0)
  })
  await eventually(() => assert.equal(publishedEvents.at(-1)?.event, 'tokens.tenant.forgotten'))
  assert.ok(await api.validate({ token, versionName: version }))
})
