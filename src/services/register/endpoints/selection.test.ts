import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRegister, root } from '../../../../test/harness/register.ts'
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import { newId } from '../../../kernel/ids.ts'
import { Register, type Selection, selectionPages } from '../contract.ts'

const { waypost, admin, anApplication } = await openRegister()
const register = waypost.ask(Register)
const { db } = waypost.kit
const as = (caller: Caller): Ctx => ({ ...waypost.kit.system(caller.tenantId), caller })
const update = 'endpoint:update'

async function someEndpoints(version: string, count: number) {
  const endpoints = Array.from({ length: count }, () => ({ endpointId: newId() }))
  const { body } = await admin(`POST ${root}/endpoints/batch`, { appVersion: { name: version }, endpoints })
  await eventually(async () => {
    const status = await admin(`GET ${root}/endpoints/batch/status?taskId=${body.taskId}`)
    assert.equal(status.body.createdCount, count)
  })
  return endpoints.map(({ endpointId }) => endpointId)
}

async function aFilter(app: string, documentQuery: object = {}) {
  const { body } = await admin(`POST ${root}/applications/${app}/filters`, { name: newId(), documentQuery })
  await becomesActive(app, body.id)
  return body.id as string
}
const becomesActive = (app: string, filterId: string) =>
  eventually(async () => {
    const { body } = await admin(`GET ${root}/applications/${app}/filters/${filterId}`)
    assert.equal(body.status, 'active')
  })

async function all(caller: Caller, selection: Selection, limit: number) {
  const [endpoints, refused, sizes]: [string[], [string, number][], number[]] = [[], [], []]
  for await (const page of selectionPages(register, db.sql, as(caller), selection, { scope: update, limit })) {
    endpoints.push(...page.endpoints.map(({ endpointId }) => endpointId))
    refused.push(...page.rejected.map(({ endpointId, error }): [string, number] => [endpointId, error.status]))
    sizes.push(page.endpoints.length + page.rejected.length)
  }
  return { endpoints, refused, sizes }
}

suite('a selection of endpoints', () => {
  test('a selection of endpoints returns pages with each endpoint once, in list order or in the order of the given ids', async () => {
    const { app, version } = await anApplication()
    const ids = await someEndpoints(version, 25)
    const filterId = await aFilter(app)
    const pages = { refused: [], sizes: [10, 10, 5] }
    assert.deepEqual(await all(aTenantAdmin(), { filterId }, 10), { endpoints: ids, ...pages })
    const backwards = ids.toReversed()
    assert.deepEqual(await all(aTenantAdmin(), { endpointIds: backwards }, 10), { endpoints: backwards, ...pages })
    assert.deepEqual(await all(aTenantAdmin(), { endpointIds: [] }, 10), { endpoints: [], refused: [], sizes: [0] })
    const emptyFilter = await aFilter(app, { 'metadata.a': 1 })
    assert.deepEqual(await all(aTenantAdmin(), { filterId: emptyFilter }, 10), {
      endpoints: [],
      refused: [],
      sizes: [0],
    })
  })

  test('a selection of endpoints contains the endpoints that the caller may use, and an error for each other endpoint', async () => {
    const { app, version } = await anApplication()
    const ids = await someEndpoints(version, 4)
    const [updatable = '', readable = ''] = ids
    const some = aCaller({ on: { [`endpoint-${updatable}`]: [update], [`endpoint-${readable}`]: ['endpoint:read'] } })
    const rest = ids.slice(2).map((id): [string, number] => [id, 404])
    const expected = { endpoints: [updatable], refused: [[readable, 403], ...rest] }
    const filterId = await aFilter(app)
    const { sizes: _, ...ofFilter } = await all(some, { filterId }, 3)
    assert.deepEqual(ofFilter, expected)
    const { refused, endpoints } = await all(some, { endpointIds: [...ids, 'nobody'] }, 10)
    assert.deepEqual(
      [endpoints, new Map(refused)],
      [[updatable], new Map([...expected.refused, ['nobody', 404]] as never)],
    )
    const ofApplication = aCaller({ on: { [`application-${app}`]: [update] } })
    assert.deepEqual((await all(ofApplication, { filterId }, 10)).endpoints, ids)
  })

  test('a selection of endpoints contains no endpoints of another tenant', async () => {
    const { app, version } = await anApplication()
    const ids = await someEndpoints(version, 2)
    const filterId = await aFilter(app)
    const otherTenant = aTenantAdmin('other')
    const { endpoints, refused } = await all(otherTenant, { endpointIds: ids }, 10)
    assert.deepEqual([endpoints, refused], [[], ids.map((id) => [id, 404])])
    await assert.rejects(all(otherTenant, { filterId }, 10), {
      status: 400,
      message: `filterId: there is no filter ${filterId}`,
    })
  })

  test('a selection of endpoints is rejected, never incomplete, if its filter is pending, deleted or changed between pages', async () => {
    const { app, version } = await anApplication()
    await someEndpoints(version, 6)
    const filterId = await aFilter(app)
    const [sql, ctx, options] = [db.sql, as(aTenantAdmin()), { scope: update, limit: 2 }]
    const first = await register.selectionPage(sql, ctx, { filterId }, options)
    const next = () => register.selectionPage(sql, ctx, { filterId }, { ...options, from: first.next })
    assert.equal((await next()).endpoints.length, 2)
    await admin(`PATCH ${root}/applications/${app}/filters/${filterId}`, {
      documentQuery: { 'metadata.a': { $exists: false } },
    })
    await becomesActive(app, filterId)
    await assert.rejects(next(), /was changed while its endpoints were read/)
    await sql.unsafe(`update register.filters set status = 'pending' where filter_id = '${filterId}'`)
    await assert.rejects(next(), /still being matched/)
    await assert.rejects(register.selectionPage(sql, ctx, { filterId }, options), /still being matched/)
    await admin(`DELETE ${root}/applications/${app}/filters/${filterId}`)
    await assert.rejects(next(), /there is no filter/)
  })
})

test('one query finds, for many endpoints, the active filters that each endpoint matches', async () => {
  const { app, version } = await anApplication()
  const [first, second, third] = await someEndpoints(version, 3)
  const everyone = await aFilter(app)
  const emptyFilter = await aFilter(app, { 'metadata.a': 1 })
  const filterIds = [everyone, emptyFilter, newId()]
  const endpointIds = [first!, third!, newId()]
  const matches = (tenantId: string, query = { endpointIds, filterIds }) =>
    register.matchesOf(db.sql, { tenantId, ...query })
  assert.deepEqual(
    await matches('default'),
    new Map([
      [first, [everyone]],
      [third, [everyone]],
    ]),
  )
  assert.equal((await matches('other')).size, 0)
  assert.equal((await matches('default', { endpointIds: [], filterIds })).size, 0)
  await admin(`PUT ${root}/endpoints/${second}/metadata`, { a: 1 })
  await admin(`PATCH ${root}/applications/${app}/filters/${everyone}`, { documentQuery: { 'metadata.a': 2 } })
  await becomesActive(app, everyone)
  assert.deepEqual(await matches('default', { endpointIds: [second!], filterIds }), new Map([[second, [emptyFilter]]]))
  const filters = await register.findFilters(db.sql, 'default', filterIds)
  assert.deepEqual(filters.map(({ filterId }) => filterId).sort(), [everyone, emptyFilter].sort())
})
