import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { openRealms, type Realms } from '../../../../test/harness/iam.ts'
import type { Ask } from '../../../../test/harness/test-platform.ts'

const root = '/iam/api/v1'

describe('the explanation of permissions', () => {
  let waypost: Realms
  let admin: Ask
  const ids: Record<string, string> = {}
  const grants: Record<string, string> = {}

  before(async () => {
    waypost = await openRealms()
    await waypost.realm('acme')
    await waypost.realm('other')
    await waypost.realm('platform')
    admin = waypost.as(aTenantAdmin('acme'))
    await make('/roles', { name: 'watchers', scopes: [] })
    await make('/roles', { name: 'own-scope', scopes: ['shop:sell'] })
    for (const [username, roles] of [
      ['ada', ['tenant-admin']],
      ['bea', ['endpoint-reader', 'watchers']],
      ['cyd', ['watchers', 'own-scope']],
      ['dan', []],
      ['eve', []],
    ] as const)
      ids[username] = (await make('/users', { username, roles })).id
    const grant = async (name: string, subject: object, resource: string, scopes: string[]) => {
      grants[name] = (await make('/grants', { subject, resource, scopes })).id
    }
    await grant('toWatchers', { type: 'role', id: 'watchers' }, 'application-a', ['endpoint:read'])
    await grant('toDan', { type: 'user', id: ids.dan }, 'endpoint-1', ['*'])
    await grant('toEve', { type: 'user', id: ids.eve }, 'application-b', ['endpoint:read'])
  })
  async function make(path: string, body: unknown) {
    const answer = await admin(`POST ${root}${path}`, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests read holders of every kind
  async function holders(query: string, ask = admin): Promise<any> {
    const answer = await ask(`GET ${root}/access?${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const names = ({ content }: { content: { name: string }[] }) => content.map(({ name }) => name)

  test('the explanation of permissions lists all users and keys that have a scope on a resource by a role or a grant', async () => {
    const found = await holders('scope=endpoint:read&resource=application-a,endpoint-1')
    assert.deepEqual(names(found), ['ada', 'bea', 'cyd', 'dan', 'acme-back'])
    assert.equal(found.totalElements, 5)
    // biome-ignore lint/suspicious/noExplicitAny: see above
    const reasons = Object.fromEntries(found.content.map((one: any) => [one.name, one.reasons]))
    const viaRole = { role: 'watchers', grantId: grants.toWatchers, resource: 'application-a', scope: 'endpoint:read' }
    assert.deepEqual(reasons.ada, [{ role: 'tenant-admin', resource: 'tenant-system', scope: 'endpoint:read' }])
    assert.deepEqual(reasons.bea, [
      { role: 'endpoint-reader', resource: 'tenant-system', scope: 'endpoint:read' },
      viaRole,
    ])
    assert.deepEqual(reasons.cyd, [viaRole])
    assert.deepEqual(reasons.dan, [{ grantId: grants.toDan, resource: 'endpoint-1', scope: '*' }])
    assert.deepEqual(names(await holders('scope=endpoint:read&resource=application-b')), [
      'ada',
      'bea',
      'eve',
      'acme-back',
    ])
    assert.deepEqual(names(await holders('scope=endpoint:read')), ['ada', 'bea', 'acme-back'])
    assert.deepEqual(names(await holders('scope=shop:sell')), ['cyd'])
    assert.deepEqual(names(await holders('scope=kaa:tenant:read&resource=platform-system')), [])
  })

  test('the explanation of permissions agrees with the check of permissions for every user, scope and resource', async () => {
    for (const scope of ['endpoint:read', 'endpoint:delete', 'application:read', 'shop:sell'])
      for (const path of [[], ['application-a'], ['application-a', 'endpoint-1'], ['application-b', 'endpoint-2']]) {
        const listed = await holders(`scope=${scope}&resource=${path.join(',')}`)
        for (const [name, id] of Object.entries(ids)) {
          const caller = await waypost.api.callerNow('acme', { type: 'user', id })
          const holdsIt = caller!.permissions.some(
            ({ resource, scopes }) =>
              ['tenant-system', ...path].includes(resource) && (scopes.has(scope) || scopes.has('*')),
          )
          assert.equal(names(listed).includes(name), holdsIt, `${name} ${scope} ${path}`)
        }
      }
  })

  test('the explanation of permissions is paged, omits disabled users and expired keys, and limits keys to the scopes of their owner', async () => {
    const asDan = waypost.as(aCaller({ tenantId: 'acme', id: ids.dan!, on: { 'tenant-system': ['*'] } }))
    const keyOf = async (key: object) => (await asDan(`POST ${root}/api-keys`, key)).body.id
    await keyOf({ name: 'all' })
    await keyOf({ name: 'narrow', scopes: ['endpoint:delete'] })
    await keyOf({ name: 'late', expiresAt: '2001-01-01T00:00:00Z' })
    const query = 'scope=endpoint:read&resource=endpoint-1'
    const found = await holders(query)
    assert.deepEqual(names(found), ['ada', 'bea', 'dan', 'acme-back', 'all'])
    const key = found.content.at(-1)
    assert.deepEqual([key.subject.type, key.owner], ['api-key', { type: 'user', id: ids.dan }])
    assert.deepEqual(key.reasons, [{ grantId: grants.toDan, resource: 'endpoint-1', scope: '*' }])
    const page = await holders(`${query}&offset=1&limit=2`)
    assert.deepEqual([page.totalElements, names(page)], [5, ['bea', 'dan']])
    assert.equal((await admin(`PUT ${root}/users/${ids.dan}`, { enabled: false })).status, 204)
    assert.deepEqual(names(await holders(query)), ['ada', 'bea', 'acme-back'])
    assert.equal((await admin(`PUT ${root}/users/${ids.dan}`, { enabled: true })).status, 204)
  })

  test('the explanation of permissions says what one user may do on a resource, and why', async () => {
    const accessOf = async (id: string, query = '') => {
      const answer = await admin(`GET ${root}/users/${id}/access${query}`)
      assert.equal(answer.status, 200, answer.text)
      return answer.body
    }
    const bea = await accessOf(ids.bea!, '?resource=application-a')
    assert.deepEqual(bea.content, [
      {
        scope: 'endpoint:read',
        reasons: [
          { role: 'endpoint-reader', resource: 'tenant-system', scope: 'endpoint:read' },
          { role: 'watchers', grantId: grants.toWatchers, resource: 'application-a', scope: 'endpoint:read' },
        ],
      },
    ])
    const dan = await accessOf(ids.dan!, '?resource=application-a,endpoint-1')
    // biome-ignore lint/suspicious/noExplicitAny: see above
    const scopes = dan.content.map((one: any) => one.scope)
    assert.ok(scopes.includes('*') && scopes.includes('endpoint:delete') && scopes.includes('rule:read'))
    assert.deepEqual((await accessOf(ids.dan!)).content, [])
    assert.deepEqual(
      // biome-ignore lint/suspicious/noExplicitAny: see above
      (await accessOf(ids.cyd!)).content.map((one: any) => one.scope),
      ['shop:sell'],
    )
  })

  test('the explanation of permissions covers one tenant, and requires the scopes to read users, roles and grants', async () => {
    const otherTenant = waypost.as(aTenantAdmin('other'))
    assert.deepEqual(names(await holders('scope=endpoint:read&resource=endpoint-1', otherTenant)), ['other-back'])
    const hidden = await otherTenant(`GET ${root}/users/${ids.dan}/access`)
    const missing = await otherTenant(`GET ${root}/users/nobody/access`)
    assert.deepEqual([hidden.status, hidden.text.replace(ids.dan!, 'nobody')], [404, missing.text])
    const scopes = ['identity:user:read', 'identity:role:read', 'identity:grant:read']
    for (const missingScope of scopes) {
      const rest = scopes.filter((scope) => scope !== missingScope)
      const ask = waypost.as(aCaller({ tenantId: 'acme', on: { 'tenant-system': rest } }))
      assert.equal((await ask(`GET ${root}/access?scope=endpoint:read`)).status, 403, missingScope)
      const ofUser = (await ask(`GET ${root}/users/${ids.dan}/access`)).status
      assert.equal(ofUser, missingScope === 'identity:user:read' ? 404 : 403)
    }
  })

  test('the explanation of permissions rejects bad input', async () => {
    for (const query of [
      '',
      'scope=',
      'scope=No Such',
      'scope=a:b&limit=0',
      'scope=a:b&limit=5000',
      'scope=a:b&offset=-1',
    ])
      assert.equal((await admin(`GET ${root}/access?${query}`)).status, 400, query)
    const many = Array.from({ length: 21 }, (_, n) => `endpoint-${n}`).join(',')
    const answer = await admin(`GET ${root}/access?scope=endpoint:read&resource=${many}`)
    assert.deepEqual([answer.status, /resource/.test(answer.body.message)], [400, true])
    assert.deepEqual(names(await holders(`scope=endpoint:read&resource=${encodeURIComponent("' or 1=1 --")}`)), [
      'ada',
      'bea',
      'acme-back',
    ])
  })
})
