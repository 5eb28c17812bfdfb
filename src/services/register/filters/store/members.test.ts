import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { eventually } from '../../../../../test/harness/eventually.ts'
import { openRegister, query, root } from '../../../../../test/harness/register.ts'
import { findMatching, findNumbers } from '../../lists/store/list.ts'
import { filterIndex } from './members.ts'

const { waypost, admin, anApplication } = await openRegister()
const { sql } = waypost.kit.db
const { app, version } = await anApplication()
const size = 3600

// With so few endpoints, the store would always read the members first. The tests select each strategy by `membersOfFirst`.
await sql`
  insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date,
    created_date, metadata, metadata_updated_date)
  select 'e-' || n, 'default', ${app}, ${version}, now(), now(),
    jsonb_build_object('n', n, 'even', n % 2 = 0, 'third', n % 3 = 0), now() from generate_series(1, ${size}::integer) n`

async function aFilter(name: string, documentQuery: object): Promise<string> {
  const { body, status, text } = await admin(`POST ${root}/applications/${app}/filters`, { name, documentQuery })
  assert.equal(status, 201, text)
  await eventually(async () =>
    assert.equal((await admin(`GET ${root}/applications/${app}/filters/${body.id}`)).body.status, 'active'),
  )
  return body.id
}

suite('a list with filters finds the same endpoints with every strategy of the store', () => {
  const filters = { even: '', third: '' }
  before(async () => {
    filters.even = await aFilter('Even', { 'metadata.even': true })
    filters.third = await aFilter('Third', { 'metadata.third': true })
  })
  const strategies = { 'members first': 0, 'one by one': 1_000_000, 'all in one query': 20_001 }
  for (const [name, membersOfFirst] of Object.entries(strategies)) {
    const find = async (listFields: object, page = { offset: 0, limit: 5000 }) => {
      const listQuery = {
        tenantId: 'default',
        visibility: 'all' as const,
        conditions: [],
        membersOfFirst,
        ...listFields,
      }
      const { total, content } = await findMatching(sql, listQuery, filterIndex, page, {
        metadata: 'none',
        filters: undefined,
      })
      const { total: numbered, numbers } = await findNumbers(sql, listQuery, filterIndex, 0)
      assert.equal(numbered, total)
      assert.equal(numbers === '' ? 0 : numbers.split(',').length, total)
      return {
        total,
        ids: JSON.parse(`[${content ?? ''}]`).map(({ endpointId }: { endpointId: string }) => endpointId),
      }
    }

    test(`the strategy ${name} finds the members that meet all conditions`, async () => {
      const { total, ids } = await find({ filterIds: [filters.even] }, { offset: 1, limit: 2 })
      assert.deepEqual({ total, ids }, { total: size / 2, ids: ['e-4', 'e-6'] })
      const both = await find({ filterIds: [filters.third, filters.even], versionNames: [version] })
      assert.deepEqual([both.total, both.ids.slice(0, 2)], [size / 6, ['e-6', 'e-12']])
      const conditions = [{ key: { path: ['n'] }, operator: 'IN' as const, values: [5, 6, 8] }]
      assert.deepEqual((await find({ filterIds: [filters.even], conditions })).ids, ['e-6', 'e-8'])
      assert.deepEqual((await find({ filterIds: [filters.third, filters.even], conditions })).ids, ['e-6'])
      assert.equal((await find({ filterIds: [filters.even, 'gone'] })).total, 0)
    })
  }

  test('the API finds endpoints that match two filters and a condition', async () => {
    const { body } = await admin(
      `GET ${root}/endpoints${query({ filterId: `${filters.even},${filters.third}`, metadataFilter: { n: 12 } })}`,
    )
    assert.deepEqual([body.totalElements, body.content[0].endpointId], [1, 'e-12'])
    const matchingBoth = await admin(
      `GET ${root}/endpoints${query({ filterId: `${filters.even},${filters.third}`, limit: 1 })}`,
    )
    assert.equal(matchingBoth.body.totalElements, size / 6)
  })
})
