import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openRealms, type Realms } from '../../test/harness/iam.ts'

describe('commands of the operator', () => {
  let waypost: Realms
  let operator: Realms['api']['operator']
  before(async () => {
    waypost = await openRealms()
    await waypost.realm('acme')
    operator = waypost.api.operator
  })
  const status = (expected: number, message: RegExp) => (error: { status?: number; message: string }) => {
    assert.equal(error.status, expected, error.message)
    assert.match(error.message, message)
    return true
  }

  test('commands of the operator add users with existing roles, and reject unknown roles', async () => {
    const ada = { username: 'ada', password: 'correct horse', roles: ['tenant-admin'] }
    const added = await operator.addUser('acme', ada)
    const me = await waypost.bearer(await waypost.userToken('acme', 'ada'))('GET /iam/api/v1/me')
    assert.deepEqual([me.body.subject.id, me.body.roles], [added.id, ['tenant-admin']])
    await assert.rejects(operator.addUser('acme', ada), status(409, /ada/))
    await assert.rejects(
      operator.addUser('acme', { ...ada, username: 'bob', roles: ['tenant-amdin'] }),
      status(400, /there is no role tenant-amdin/),
    )
    for (const username of ['', ' x', 'a\nb', 'a\0', 'x'.repeat(300)])
      await assert.rejects(operator.addUser('acme', { ...ada, username }), status(400, /username/))
    assert.equal((await waypost.api.findUsers('acme', { offset: 0, limit: null })).count, 1)
  })

  test('an API key is created only with scopes that its owner has', async () => {
    const id = await waypost.user('acme', 'rita', ['endpoint-reader'])
    const keyOf = (scopes?: string[]) =>
      operator.createApiKey('acme', { type: 'user', id }, { name: 'k', ...(scopes && { scopes }) })
    const { key } = await keyOf(['endpoint:read'])
    const me = await waypost.withKey(key)('GET /iam/api/v1/me')
    assert.deepEqual(me.body.permissions, [{ resource: 'tenant-system', scopes: ['endpoint:read'] }])
    await assert.rejects(keyOf(['endpoint:red']), status(403, /endpoint:red/))
    await assert.rejects(keyOf(['tenant:application:create']), status(403, /tenant:application:create/))
    for (const scope of ['', 'Endpoint:Read', 'a b', 'endpoint:', 'x'.repeat(200)])
      await assert.rejects(keyOf([scope]), status(400, /scopes/))
    await assert.rejects(operator.createApiKey('acme', { type: 'user', id }, { name: '' }), status(400, /name/))
    await assert.rejects(operator.createApiKey('acme', { type: 'client', id: 'no' }, { name: 'k' }), status(404, /no/))
    const service = await operator.createApiKey('acme', { type: 'client', id: 'acme-back' }, { name: 'all' })
    assert.equal((await waypost.withKey(service.key)('GET /iam/api/v1/users')).status, 200)
  })
})
