/**
 * Tests that no request takes a second connection while it holds a connection. With only one connection for transactions, such a request
 * would never end. With a few connections, a few concurrent requests would block the whole node.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openRegister, query, root } from '../../../test/harness/register.ts'

const { admin, anApplication, anEndpoint } = await openRegister({
  environment: { WAYPOST_DATABASE_CONNECTIONS: '2' },
})

// Two is the minimum of the setting: one connection for transactions, and one connection for all other statements.
suite('requests over a single connection', { timeout: 20_000 }, () => {
  test('one connection suffices to move an endpoint to a version that is not cached', async () => {
    const { app, version } = await anApplication(admin, ['v1', 'v2'])
    const endpointId = await anEndpoint(version)
    const url = `PUT ${root}/endpoints/${endpointId}/app-version`
    assert.equal((await admin(url, { name: `${app}-v3` })).status, 400)
    assert.equal((await admin(url, { name: `${app}-v2` })).status, 204)
  })

  test('one connection suffices to create a filter while the application changes', async () => {
    const { app } = await anApplication()
    const answers = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const renamed = await admin(`PATCH /api/v1/applications/${app}`, { displayName: `name ${index}` })
        assert.ok(renamed.status < 300, renamed.text)
        return await admin(`POST ${root}/applications/${app}/filters`, { name: `f${index}`, documentQuery: {} })
      }),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  })

  test('requests of one tenant that create relations and wait for each other hold no connection', async () => {
    const { version } = await anApplication()
    const ids = await Promise.all(Array.from({ length: 30 }, () => anEndpoint(version)))
    const answers = ids
      .slice(1)
      .map((to, index) =>
        index % 2 === 0
          ? admin(`PUT ${root}/relations/link`, [{ type: 'contains', from: ids[index], to }])
          : admin(`POST ${root}/endpoints`, { appVersion: { name: version }, relations: [{ type: 'contains', to }] }),
      )
    const lists = Array.from({ length: 5 }, () => admin(`GET ${root}/endpoints?limit=1`))
    assert.deepEqual(new Set((await Promise.all(lists)).map(({ status }) => status)), new Set([200]))
    assert.deepEqual(new Set((await Promise.all(answers)).map(({ status }) => status)), new Set([201, 204]))
  })

  test('one connection suffices for all other kinds of changes', async () => {
    const { app, version } = await anApplication()
    const [endpoint, other] = [await anEndpoint(version), await anEndpoint(version, { endpointToken: `${app}-token` })]
    const relation = { type: 'contains', from: endpoint, to: other }
    for (const [operation, body, status] of [
      [
        `POST ${root}/endpoints`,
        { appVersion: { name: version }, relations: [{ type: 'contains', from: endpoint }] },
        201,
      ],
      [`POST ${root}/endpoints/batch`, { appVersion: { name: version }, endpoints: [{}] }, 202],
      [`PUT ${root}/endpoints/${endpoint}/metadata`, { a: 1 }, 204],
      [`PUT ${root}/relations/link`, [relation], 204],
      [`PUT ${root}/relations/unlink`, [relation], 204],
      [`GET ${root}/endpoints${query({ regex: 'a', include: 'filters' })}`, undefined, 200],
      [`POST /api/v1/endpoints/${endpoint}/tokens`, { applicationName: app }, 201],
      [`POST ${root}/endpoints/delete`, { endpointIds: [endpoint] }, 200],
      [`DELETE ${root}/endpoints/${other}`, undefined, 204],
    ] as const) {
      const answer = await admin(operation, body)
      assert.equal(answer.status, status, `${operation}: ${answer.text}`)
    }
  })
})
