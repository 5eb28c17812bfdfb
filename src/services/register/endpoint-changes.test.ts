/**
 * Tests what filters rely on: listeners get every change of an endpoint in the transaction of the change, and lists use the filter index.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { addRealms } from '../../../test/harness/realm-state.ts'
import { ids, query, root } from '../../../test/harness/register.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { Identity } from '../../identity/contract.ts'
import identity from '../../identity/index.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import applications from '../applications/index.ts'
import { Tokens } from '../tokens/contract.ts'
import tokens from '../tokens/index.ts'
import { Register } from './contract.ts'
import { createChanges, type EndpointChange } from './endpoint-changes.ts'
import { endpointRoutes } from './endpoints/routes.ts'
import type { FilterIndex, FilterSummary } from './filters/filter-index.ts'
import { metadataRoutes } from './metadata/routes.ts'
import { createRegister } from './service.ts'

const changes = createChanges()
const received: EndpointChange[] = []
changes.listen(async (_sql, published) => {
  received.push(...published)
  if (published.some(({ after }) => after?.metadata.refused)) throw new Error('a listener failed')
})

/** A filter index whose members are in a table of the test. */
const known: FilterSummary[] = []
const filters: FilterIndex = {
  find: async (_sql, _tenantId, filterIds) => known.filter(({ filterId }) => filterIds.includes(filterId)),
  members: (sql, _tenantId, filterIds) => sql`
    select seq from public.members where filter_id = any(${filterIds}::text[])
    group by seq having count(*) = ${filterIds.length}`,
  among: (sql, tenantId, filterIds) => ({
    condition: sql`e.seq in (${filters.members(sql, tenantId, filterIds)})`,
  }),
  contains: (sql, tenantId, filterId, seq) => sql`${seq} in (${filters.members(sql, tenantId, [filterId])})`,
  page: (sql, tenantId, filterIds, { after, offset, limit }) => sql`
    select seq from (${filters.members(sql, tenantId, filterIds)}) m where seq > ${after}
    order by seq offset ${offset} limit ${limit}`,
  idsBySeq: (sql, seqs) => sql`
    select seq, json_agg(filter_id order by filter_id)::text as filter_ids from public.members
    where seq in (${seqs}) group by seq`,
  async idsOf(sql, endpointId) {
    const rows = await sql`select filter_id from public.members where endpoint_id = ${endpointId} order by 1`
    return rows.map(({ filterId }) => filterId)
  },
  matchesOf: async () => new Map(),
}

const register = defineService({
  name: 'register',
  provides: Register,
  needs: { identity: Identity, applications: Applications, tokens: Tokens },
  migrations: new URL('./migrations/', import.meta.url),
  build(kit, given) {
    const service = createRegister(kit, given, { changes, filters, connectivityKeys: () => undefined })
    const routes = [endpointRoutes, metadataRoutes]
    return {
      api: service.api,
      http: [
        {
          name: 'register',
          roots: ['/epr/api/v1'],
          routes: (http) => routes.forEach((add) => void add(http, service)),
        },
      ],
    }
  },
})
const waypost = await openTestPlatform({ services: [identity, applications, tokens, register] })
await addRealms(waypost, 'default', 'other')
const admin = waypost.as(aTenantAdmin())
const sql = waypost.kit.db.sql
await sql`create table public.members (filter_id text, endpoint_id text, seq bigint)`
await admin('POST /api/v1/applications', { name: 'app' })
for (const nameSuffix of ['v1', 'v2']) await admin('POST /api/v1/applications/app/app-versions', { nameSuffix })

const anEndpoint = async (endpointId: string, metadata: object = {}) => {
  const answer = await admin(`POST ${root}/endpoints`, { appVersion: { name: 'app-v1' }, endpointId, metadata })
  assert.equal(answer.status, 201, answer.text)
}
const states = () => received.splice(0).map(({ endpointId, before, after }) => ({ endpointId, before, after }))

suite('changes of endpoints', () => {
  test('changes of endpoints are passed to listeners with the state before and after', async () => {
    const metadata = { a: 1 }
    await anEndpoint('c1', metadata)
    const [{ seq } = { seq: 0 }] = received
    assert.ok(seq > 0)
    const v1 = (metadata: object) => ({ versionName: 'app-v1', metadata })
    assert.deepEqual(states(), [{ endpointId: 'c1', before: undefined, after: v1(metadata) }])
    await admin(`PUT ${root}/endpoints/c1/metadata/a`, '2')
    await admin(`PUT ${root}/endpoints/c1/metadata/a`, '2')
    assert.deepEqual(states(), [{ endpointId: 'c1', before: v1({ a: 1 }), after: v1({ a: 2 }) }])
    const at = new Date('2026-01-01T00:00:00.000Z')
    await waypost.ask(Register).setConnectivity([{ endpointId: 'c1', connected: true, at, number: 1 }])
    const online = { a: 2, connected: true, connectivity_ts: at.toISOString() }
    assert.deepEqual(states(), [{ endpointId: 'c1', before: v1({ a: 2 }), after: v1(online) }])
    await admin(`PUT ${root}/endpoints/c1/app-version`, { name: 'app-v2' })
    assert.deepEqual(states(), [
      { endpointId: 'c1', before: v1(online), after: { versionName: 'app-v2', metadata: online } },
    ])
    await admin(`DELETE ${root}/endpoints/c1`)
    assert.deepEqual(states(), [{ endpointId: 'c1', before: undefined, after: undefined }])
  })

  test('changes of endpoints are rolled back when a listener fails', async () => {
    const body = { appVersion: { name: 'app-v1' }, endpointId: 'refused', metadata: { refused: true } }
    assert.equal((await admin(`POST ${root}/endpoints`, body)).status, 500)
    assert.equal((await admin(`GET ${root}/endpoints/refused`)).status, 404)
  })
})

suite('lists by filters', () => {
  test('lists by filters contain the members of all given filters that the caller may read, in list order', async () => {
    for (const id of ['m1', 'm2', 'm3', 'm4']) await anEndpoint(id, { city: id === 'm2' ? 'Kyiv' : 'Lviv' })
    for (const [filterId, ...members] of [['f1', 'm3', 'm1', 'm2'], ['f2', 'm2', 'm3'], ['slow']] as string[][]) {
      await sql`
        insert into public.members select ${filterId!}, endpoint_id, seq from register.endpoints
        where endpoint_id = any(${members}::text[])`
      const status = filterId === 'slow' ? 'pending' : 'active'
      known.push({ filterId: filterId!, applicationName: 'app', status, matchedEndpointsCount: members.length })
    }
    const list = async (parameters: Record<string, unknown>, ask = admin) => {
      const answer = await ask(`GET ${root}/endpoints${query(parameters)}`)
      assert.equal(answer.status, 200, answer.text)
      return [ids(answer), answer.body.totalElements]
    }
    assert.deepEqual(await list({ filterId: 'f1' }), [['m1', 'm2', 'm3'], 3])
    assert.deepEqual(await list({ filterId: 'f1', offset: 1, limit: 1 }), [['m2'], 3])
    assert.deepEqual(await list({ filterId: 'f1,f2' }), [['m2', 'm3'], 2])
    assert.deepEqual(await list({ filterId: 'f1', limit: 0 }), [['m1', 'm2', 'm3'], 3])
    assert.deepEqual(await list({ filterId: 'f1', metadataFilter: { city: 'Kyiv' } }), [['m2'], 1])
    assert.deepEqual(await list({ filterId: 'f1', applicationName: 'another' }), [[], 0])
    const reader = (on: string) => waypost.as(aCaller({ on: { [on]: ['endpoint:read'] } }))
    assert.deepEqual(await list({ filterId: 'f1' }, reader('application-app')), [['m1', 'm2', 'm3'], 3])
    assert.deepEqual(await list({ filterId: 'f1' }, reader('endpoint-m3')), [['m3'], 1])
    for (const filterId of ['slow', 'nothing'])
      assert.equal((await admin(`GET ${root}/endpoints?filterId=${filterId}`)).status, 400)
    const { body } = await admin(`GET ${root}/endpoints?include=filters&endpointId=m2,m3,m4`)
    assert.deepEqual(
      body.content.map((endpoint: { filters: string[] }) => endpoint.filters),
      [['f1', 'f2'], ['f1', 'f2'], []],
    )
    assert.deepEqual((await admin(`GET ${root}/endpoints/m1?include=filters`)).body.filters, ['f1'])
  })
})
