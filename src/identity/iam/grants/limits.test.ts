/** Tests the limit of the scopes that are given to one subject. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { openRealms, type Realms } from '../../../../test/harness/iam.ts'
import type { Ctx } from '../../../kernel/contract.ts'

const root = '/iam/api/v1'
const limit = 100

describe('limits of grants', () => {
  let waypost: Realms
  before(async () => {
    waypost = await openRealms({ environment: { WAYPOST_GRANTS_PER_SUBJECT: String(limit) } })
    await waypost.realm('acme')
  })
  const grant = (
    subject: { type: string; id: string },
    resource: string,
    scopes = ['endpoint:read', 'endpoint:update'],
  ) => waypost.as(aTenantAdmin('acme'))(`POST ${root}/grants`, { subject, resource, scopes })

  test('the number of scopes that are granted to a subject is limited, and the deletion of a grant makes room', async () => {
    const subject = { type: 'user', id: await waypost.user('acme', 'granted') }
    let last = ''
    for (let n = 0; n < limit / 2; n++) {
      const { status, body, text } = await grant(subject, `endpoint-${n}`)
      assert.equal(status, 201, text)
      last = body.id
    }
    const refused = await grant(subject, 'endpoint-more')
    assert.deepEqual([refused.status, refused.headers['x-waypost-error']], [409, 'too_many_grants'])
    assert.match(refused.body.message, /more than 100 scopes/)
    assert.equal((await waypost.as(aTenantAdmin('acme'))(`DELETE ${root}/grants/${last}`)).status, 204)
    assert.equal((await grant(subject, 'endpoint-more')).status, 201)
    const other = { type: 'user', id: await waypost.user('acme', 'other') }
    assert.equal((await grant(other, 'endpoint-1')).status, 201)
  })

  test('the grants to all roles count together, because a user can have many roles', async () => {
    const scopes = Array.from({ length: 50 }, (_, n) => `endpoint-${n}`)
    for (const [n, resource] of scopes.entries())
      assert.equal(
        (await grant({ type: 'role', id: n % 2 === 0 ? 'endpoint-reader' : 'service' }, resource)).status,
        201,
      )
    for (const role of ['endpoint-reader', 'service', 'tenant-admin'])
      assert.equal((await grant({ type: 'role', id: role }, 'endpoint-x')).status, 409)
  })

  test('grants of a creator do not count, so that a caller without the role of an administrator can register any number of endpoints', async () => {
    const id = await waypost.user('acme', 'creator', ['endpoint-reader'])
    const caller = aCaller({ tenantId: 'acme', id })
    await waypost.kit.db.tx(async (sql) => {
      for (let n = 0; n <= limit; n++)
        await waypost.api.grantCreator(sql, { tenantId: 'acme', caller } as Ctx, `endpoint-own-${n}`)
    })
    const ask = waypost.bearer(await waypost.userToken('acme', 'creator'))
    assert.ok((await ask(`GET ${root}/me`)).body.permissions.length > limit)
    assert.equal((await grant({ type: 'user', id }, 'endpoint-given')).status, 201)
  })
})
