import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import { Register } from '../contract.ts'

const { waypost, admin, anApplication, anEndpoint } = await openRegister()
const other = waypost.as(aTenantAdmin('other'))
const platform = waypost.as(aPlatformAdmin())
const register = waypost.ask(Register)

const list = (parameters: Record<string, unknown> = {}, ask = admin) => ask(`GET ${root}/directory${query(parameters)}`)

/** Reads all pages. Default: one endpoint on each page. */
async function all(parameters: Record<string, unknown> = {}, ask = admin): Promise<string[]> {
  const found: string[] = []
  for (let cursor: string | undefined, pages = 0; pages < 200; pages++) {
    const answer = await list({ limit: 1, ...parameters, ...(cursor && { cursor }) }, ask)
    assert.equal(answer.status, 200, answer.text)
    found.push(...ids(answer))
    cursor = answer.body.nextCursor
    if (!cursor) return found
  }
  throw new Error('the list does not end')
}

const configure = (app: string, config: object) =>
  admin(`PUT /api/v1/app-configs/applications/${app}`, { epr: { platform: { applications: { [app]: config } } } })

const updateTask = waypost.built.get('register')!.periodic!.find(({ name }) => name === 'register.update-directory')!
const update = () => updateTask.run(waypost.kit.db.sql as never)

/** Application a has pump-1 to pump-3 in version v1 and valve-7 in v2. Application b has b-meter. */
const a = await anApplication(admin, ['v1', 'v2'])
const b = await anApplication()
const endpoints: [string, string, object][] = [
  ['pump-1', a.version, { name: 'Main Pump', serial: 'SN-0017', model: 'X1', floor: 2 }],
  ['pump-2', a.version, { name: 'Насос Північ', serial: 42, model: 'X1', floor: 10 }],
  ['pump-3', a.version, { name: 'pump of the cellar', model: 'X2', floor: -1, deep: { a: 1 } }],
  ['valve-7', `${a.app}-v2`, { name: 'Valve', active: true, floor: 'roof' }],
  ['b-meter', b.version, { name: '50%_\\', model: 'X2' }],
]
for (const [endpointId, version, metadata] of endpoints) await anEndpoint(version, { endpointId, metadata })
const foreign = await anApplication(other)
await anEndpoint(foreign.version, { endpointId: 'foreign-pump', metadata: { name: 'Main Pump' } }, other)
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
await register.setConnectivity([
  { endpointId: 'pump-1', connected: true, at: at(5), number: 1 },
  { endpointId: 'pump-2', connected: false, at: at(3), number: 2 },
])
// b-meter was registered before the others, and neither it nor pump-3 was ever active.
await waypost.kit.db.sql`update register.endpoints set created_date = ${at(2)} where endpoint_id = 'b-meter'`
await update()
register.noteActivity('valve-7', at(4))
register.noteActivity('pump-2', at(1))
await waypost.built.get('register')!.stop!()

suite('the directory', () => {
  test('an update of the directory merges the new entries of the metadata index', async () => {
    const merge = async () =>
      (await waypost.kit.db.sql`select gin_clean_pending_list('register.endpoints_metadata') as pages`)[0]
    await merge()
    const { version } = await anApplication()
    await anEndpoint(version, { endpointId: 'merged', metadata: { name: 'merged' } })
    await update()
    assert.equal((await merge())?.pages, 0)
    await admin(`DELETE ${root}/endpoints/merged`)
    await update()
  })

  test('the directory lists and counts only endpoints with the given ids, also when a word is part of many ids', async () => {
    const two = { endpointId: 'pump-3,pump-1,foreign-pump,pump' }
    assert.deepEqual(await all(two), ['pump-1', 'pump-3'])
    assert.deepEqual(await all({ ...two, search: 'cellar', sort: 'endpointId' }), ['pump-3'])
    const reader = waypost.as(aCaller({ on: { 'endpoint-pump-3': ['endpoint:read'] } }))
    assert.deepEqual(await all(two, reader), ['pump-3'])
    const { body } = await admin(`GET ${root}/directory/counts${query({ ...two, by: 'connection' })}`)
    assert.equal(body.total, 2)
  })

  test('the directory lists endpoints with connection and last activity, in the order of registration', async () => {
    const answer = await list({ include: 'metadata' })
    assert.deepEqual(ids(answer), ['pump-1', 'pump-2', 'pump-3', 'valve-7', 'b-meter'])
    assert.equal(answer.body.nextCursor, undefined)
    const [first, second, third, fourth] = answer.body.content
    assert.deepEqual(Object.keys(first).sort(), [
      'appName',
      'appVersion',
      'connection',
      'createdDate',
      'endpointId',
      'lastActivity',
      'metadata',
      'metadataUpdatedDate',
    ])
    assert.deepEqual([first.connection, first.lastActivity], ['connected', at(5).toISOString()])
    assert.deepEqual([second.connection, second.lastActivity], ['disconnected', at(3).toISOString()])
    assert.deepEqual([third.connection, third.lastActivity], ['never', undefined])
    assert.deepEqual([fourth.connection, fourth.lastActivity], ['never', at(4).toISOString()])
    assert.equal(first.metadata.name, 'Main Pump')
    assert.equal((await list()).body.content[0].metadata, undefined)
  })

  test('a search finds parts of ids and of indexed values, in any case and alphabet', async () => {
    const cases: [search: string, expected: string[]][] = [
      ['pump', ['pump-1', 'pump-2', 'pump-3']],
      ['PUMP-1', ['pump-1']],
      ['p-2', ['pump-2']],
      ['насос', ['pump-2']],
      ['північ нас', ['pump-2']],
      ['ер', []],
      ['0017', ['pump-1']],
      ['sn', ['pump-1']],
      ['42', ['pump-2']],
      ['x2', ['pump-3', 'b-meter']],
      ['v', ['valve-7']],
      ['zq', []],
      ['ж', []],
      ['%', ['b-meter']],
      ['50%_\\', ['b-meter']],
      ['pump cellar', ['pump-3']],
      ['roof', []],
      ['', ['pump-1', 'pump-2', 'pump-3', 'valve-7', 'b-meter']],
      ['  ', ['pump-1', 'pump-2', 'pump-3', 'valve-7', 'b-meter']],
      ['x1 sn main p', ['pump-1']],
      ['7\nv', ['valve-7']],
    ]
    for (const [search, expected] of cases) {
      assert.deepEqual(await all({ search, limit: 100 }), expected, search)
      assert.deepEqual((await all({ search, sort: 'endpointId' })).sort(), [...expected].sort(), search)
    }
  })

  test('the directory sorts by id, creation, last activity and metadata, and continues at the cursor', async () => {
    const cases: [parameters: object, expected: string[]][] = [
      [{ sort: 'endpointId' }, ['b-meter', 'pump-1', 'pump-2', 'pump-3', 'valve-7']],
      [{ sort: 'endpointId', sortOrder: 'desc' }, ['valve-7', 'pump-3', 'pump-2', 'pump-1', 'b-meter']],
      [{ sort: 'createdDate', sortOrder: 'desc' }, ['b-meter', 'valve-7', 'pump-3', 'pump-2', 'pump-1']],
      [{ sort: 'lastActivity' }, ['pump-2', 'valve-7', 'pump-1', 'pump-3', 'b-meter']],
      [{ sort: 'lastActivity', sortOrder: 'desc' }, ['pump-1', 'valve-7', 'pump-2', 'pump-3', 'b-meter']],
      [{ sort: 'name' }, ['b-meter', 'pump-1', 'pump-3', 'valve-7', 'pump-2']],
      [{ sort: 'name', sortOrder: 'desc' }, ['pump-2', 'valve-7', 'pump-3', 'pump-1', 'b-meter']],
      [{ sort: 'serial' }, ['pump-2', 'pump-1', 'pump-3', 'valve-7', 'b-meter']],
      [{ sort: 'serial', sortOrder: 'desc' }, ['pump-1', 'pump-2', 'pump-3', 'valve-7', 'b-meter']],
      [{ sort: 'floor' }, ['pump-3', 'pump-1', 'pump-2', 'valve-7', 'b-meter']],
      [{ sort: 'floor', sortOrder: 'desc' }, ['valve-7', 'pump-2', 'pump-1', 'pump-3', 'b-meter']],
      [{ sort: 'deep' }, ['pump-1', 'pump-2', 'pump-3', 'valve-7', 'b-meter']],
      [{ sort: 'name', search: 'pump' }, ['pump-1', 'pump-3', 'pump-2']],
      [{ sort: 'floor', search: 'pump', applicationName: a.app }, ['pump-3', 'pump-1', 'pump-2']],
    ]
    for (const [parameters, expected] of cases)
      for (const limit of [1, 2, 5, 100])
        assert.deepEqual(await all({ ...parameters, limit }), expected, JSON.stringify({ ...parameters, limit }))
  })

  test('the directory filters by application, version, connection, activity, filter and metadata', async () => {
    const filters = `${root}/applications/${a.app}/filters`
    const created = await admin(`POST ${filters}`, { name: 'x1', documentQuery: { 'metadata.model': 'X1' } })
    const filterId = created.body.filterId ?? created.body.id
    await eventually(async () => assert.equal((await admin(`GET ${filters}/${filterId}`)).body.status, 'active'))
    const cases: [parameters: object, expected: string[]][] = [
      [{ applicationName: b.app }, ['b-meter']],
      [{ applicationName: `${a.app},${b.app}`, search: 'e' }, ['pump-3', 'valve-7', 'b-meter']],
      [{ applicationName: 'nothing' }, []],
      [{ applicationName: foreign.app }, []],
      [{ applicationVersionName: `${a.app}-v2` }, ['valve-7']],
      [{ connection: 'connected' }, ['pump-1']],
      [{ connection: 'disconnected,connected' }, ['pump-1', 'pump-2']],
      [{ connection: 'never' }, ['pump-3', 'valve-7', 'b-meter']],
      [{ activeAfter: at(4).toISOString() }, ['pump-1', 'valve-7']],
      // pump-3 was registered after this time and was never active, so it is not found.
      [{ activeBefore: at(4).toISOString() }, ['pump-2', 'b-meter']],
      [{ activeBefore: at(2).toISOString() }, []],
      [{ activeBefore: '2100-01-01T00:00:00Z' }, ['pump-1', 'pump-2', 'pump-3', 'valve-7', 'b-meter']],
      [{ activeAfter: at(3).toISOString(), activeBefore: at(5).toISOString() }, ['pump-2', 'valve-7']],
      [{ activeAfter: 'now-1h' }, []],
      [{ metadataFilter: { model: 'X2' } }, ['pump-3', 'b-meter']],
      [{ metadataFilter: { 'deep.a': 1 } }, ['pump-3']],
      [{ filterId }, ['pump-1', 'pump-2']],
      [{ filterId, connection: 'connected', search: 'pump' }, ['pump-1']],
    ]
    for (const [parameters, expected] of cases)
      for (const sort of ['createdDate', 'endpointId', 'floor'])
        assert.deepEqual((await all({ ...parameters, sort })).sort(), [...expected].sort(), JSON.stringify(parameters))
  })

  test('the directory shows changes of metadata, connectivity and configuration, and deletions', async () => {
    const { app, version } = await anApplication()
    const selection = { applicationName: app }
    for (const endpointId of ['change-1', 'change-2'])
      await anEndpoint(version, {
        endpointId,
        metadata: { name: 'before', colour: endpointId === 'change-1' ? 'red' : 'blue' },
      })
    await update()
    assert.deepEqual(await all({ ...selection, search: 'before' }), ['change-1', 'change-2'])
    await admin(`PUT ${root}/endpoints/change-1/metadata/name`, '"After"')
    await register.setConnectivity([{ endpointId: 'change-1', connected: true, at: at(9), number: 1 }])
    await update()
    assert.deepEqual(await all({ ...selection, search: 'before' }), ['change-2'])
    assert.deepEqual(await all({ ...selection, search: 'after', connection: 'connected', sort: 'lastActivity' }), [
      'change-1',
    ])
    assert.deepEqual(await all({ ...selection, sort: 'name' }), ['change-1', 'change-2'])
    assert.deepEqual(await all({ ...selection, search: 'red' }), [])
    const configured = await configure(app, { directory: { keys: ['colour'] } })
    assert.ok(configured.status < 300, configured.text)
    await eventually(
      async () => {
        await update()
        assert.deepEqual(await all({ ...selection, search: 'red' }), ['change-1'])
      },
      { withinMs: 15_000 },
    )
    assert.deepEqual(await all({ ...selection, search: 'after' }), [])
    assert.deepEqual(await all({ ...selection, sort: 'colour' }), ['change-2', 'change-1'])
    await admin(`DELETE ${root}/endpoints/change-1`)
    assert.deepEqual(await all({ ...selection, search: 'red' }), [], 'a deleted endpoint must not be listed')
    assert.deepEqual(await all({ ...selection, sort: 'colour' }), ['change-2'])
    await update()
    const sql = waypost.kit.db.sql
    for (const table of ['documents', 'sort_values', 'activity'])
      assert.deepEqual(
        [...(await sql`select distinct seq from ${sql.unsafe(`register.${table}`)} where application_name = ${app}`)]
          .length,
        table === 'activity' ? 0 : 1,
        table,
      )
  })

  test('a cursor is stable while endpoints are registered, changed and deleted', async () => {
    const { app, version } = await anApplication()
    for (const n of [1, 3, 5, 7]) await anEndpoint(version, { endpointId: `stable-${n}` })
    await update()
    const selection = { applicationName: app, sort: 'endpointId', limit: 2 }
    const first = await list(selection)
    assert.deepEqual(ids(first), ['stable-1', 'stable-3'])
    await anEndpoint(version, { endpointId: 'stable-2' })
    await anEndpoint(version, { endpointId: 'stable-4' })
    await admin(`DELETE ${root}/endpoints/stable-3`)
    await update()
    const second = await list({ ...selection, cursor: first.body.nextCursor })
    assert.deepEqual(ids(second), ['stable-4', 'stable-5'])
    assert.deepEqual(ids(await list({ ...selection, cursor: second.body.nextCursor })), ['stable-7'])
  })

  test('a list with an empty cursor begins with the first page', async () =>
    assert.deepEqual((await list({ limit: 3, cursor: '' })).body, (await list({ limit: 3 })).body))

  test('a list with invalid input is rejected', async () => {
    const { nextCursor } = (await list({ limit: 1, sort: 'name' })).body
    const crafted = (fields: unknown) => Buffer.from(JSON.stringify(fields)).toString('base64url')
    const cases: [parameters: Record<string, unknown>, field: string][] = [
      [{ sort: 'a-b' }, 'sort'],
      [{ sort: 'name', sortOrder: 'up' }, 'sortOrder'],
      [{ search: 'x'.repeat(101) }, 'search'],
      [{ search: 'a b c d e f' }, 'search'],
      [{ connection: 'maybe' }, 'connection'],
      [{ activeAfter: 'yesterday' }, 'activeAfter'],
      [{ activeBefore: '2026-02-30T00:00:00Z' }, 'activeBefore'],
      [{ filterId: 'nothing' }, 'filterId'],
      [{ metadataFilter: '[' }, 'metadataFilter'],
      [{ include: 'filters' }, 'include'],
      [{ limit: 0 }, 'limit'],
      [{ limit: 1001 }, 'limit'],
      [{ cursor: 'x' }, 'cursor'],
      [{ cursor: nextCursor }, 'cursor'],
      [{ cursor: nextCursor, sort: 'name', sortOrder: 'desc' }, 'cursor'],
      [{ cursor: crafted([1, 'lastActivity asc', 'no date', 1, 0]), sort: 'lastActivity' }, 'cursor'],
      [{ cursor: crafted([1, 'createdDate asc', 'x', 1, 0]) }, 'cursor'],
      [{ cursor: crafted([1, 'createdDate asc', null, 1e300, 0]) }, 'cursor'],
      [{ cursor: crafted([1, 'createdDate asc', null, '1', 0]) }, 'cursor'],
      [{ cursor: crafted([1, 'endpointId asc', 'a\0', 1, 0]), sort: 'endpointId' }, 'cursor'],
      [{ cursor: crafted([2, 'createdDate asc', null, 1, 0]) }, 'cursor'],
    ]
    for (const [parameters, field] of cases) {
      const answer = await list(parameters)
      assert.equal(answer.status, 400, `${JSON.stringify(parameters)} ${answer.text}`)
      assert.match(answer.body.message, new RegExp(`\\b${field}\\b`), JSON.stringify(parameters))
    }
  })

  test('the directory shows only endpoints that the caller may read', async () => {
    const read = ['endpoint:read']
    const reader = (on: Record<string, string[]>) => waypost.as(aCaller({ on }))
    const mixed = reader({ [`application-${b.app}`]: read, 'endpoint-pump-2': read, 'endpoint-b-meter': read })
    const single = reader({
      'endpoint-pump-3': read,
      'endpoint-foreign-pump': read,
      'endpoint-pump-1': ['endpoint:update'],
    })
    for (const sort of ['createdDate', 'endpointId', 'lastActivity', 'name', 'floor'])
      for (const limit of [1, 100]) {
        assert.deepEqual((await all({ sort, limit }, mixed)).sort(), ['b-meter', 'pump-2'], sort)
        assert.deepEqual(await all({ sort, limit }, single), ['pump-3'], sort)
        assert.deepEqual(await all({ sort, limit, search: 'pump' }, mixed), ['pump-2'], sort)
        assert.deepEqual(await all({ sort, limit, applicationName: b.app }, mixed), ['b-meter'], sort)
        assert.deepEqual(await all({ sort, limit, applicationName: a.app }, mixed), ['pump-2'], sort)
      }
    assert.deepEqual(await all({}, other), ['foreign-pump'])
    assert.deepEqual(await all({ search: 'main pump' }, other), ['foreign-pump'])
    assert.deepEqual(await all({ tenantId: 'other' }, platform), ['foreign-pump'])
    assert.equal((await list({ tenantId: 'other' })).status, 403)
    assert.equal((await list({}, reader({ 'tenant-system': ['application:read'] }))).status, 200)
    assert.deepEqual(await all({}, reader({ 'tenant-system': ['application:read'] })), [])
  })
})

suite('counts of endpoints', () => {
  const counts = (parameters: Record<string, unknown> = {}, ask = admin) =>
    ask(`GET ${root}/directory/counts${query(parameters)}`)
  const selection = { applicationName: `${a.app},${b.app}` }

  test('endpoints are counted by application, version, connection and metadata', async () => {
    const { status, body, text } = await counts({ ...selection, by: 'version,application,connection,model,deep' })
    assert.equal(status, 200, text)
    assert.deepEqual([body.total, body.complete], [5, true])
    const byName = Object.fromEntries(body.counts.map((one: { by: string }) => [one.by, one]))
    const value = (value: unknown, count: number) => ({ value, count })
    assert.deepEqual(byName.version.values, [value(a.version, 3), value(`${a.app}-v2`, 1), value(b.version, 1)])
    assert.deepEqual(byName.application.values, [value(a.app, 4), value(b.app, 1)])
    assert.deepEqual(byName.connection.values, [value('never', 3), value('connected', 1), value('disconnected', 1)])
    assert.deepEqual([byName.model.values, byName.model.missing], [[value('X1', 2), value('X2', 2)], 1])
    assert.deepEqual([byName.deep.values, byName.deep.missing], [[], 5])
    const maintained = await counts({ ...selection, by: 'version,application' })
    assert.deepEqual(maintained.body.counts, body.counts.slice(0, 2))
    assert.deepEqual((await counts(selection)).body, { total: 5, complete: true, counts: [] })
  })

  test('maintained counts equal the number of matching endpoints, after registrations, changes and deletions', async () => {
    const c = await anApplication(admin, ['v1'])
    await configure(c.app, { directory: { 'counted-keys': ['floor', 'model'] } })
    const ids: string[] = []
    for (let n = 0; n < 6; n++)
      ids.push(
        await anEndpoint(c.version, { endpointId: `${c.app}-${n}`, metadata: { floor: n % 2, model: `M${n % 3}` } }),
      )
    const connect = (n: number, connected: boolean, number: number) =>
      waypost.ask(Register).setConnectivity([{ endpointId: ids[n]!, connected, at: new Date(), number }])
    const check = async (expected: Record<string, number>) => {
      await update()
      const grouping = { applicationName: c.app, by: 'floor,model,connection' }
      const { body } = await counts(grouping)
      const each = await counts({ ...grouping, by: `${grouping.by},deep` })
      assert.deepEqual([body.total, body.counts], [each.body.total, each.body.counts.slice(0, 3)])
      const stored = await waypost.kit.db.sql`
        select key || '=' || value as name, count from register.value_counts where application_name = ${c.app} order by 1`
      assert.deepEqual(Object.fromEntries(stored.map(({ name, count }) => [name, count])), expected)
    }
    const models = { 'model="M0"': 2, 'model="M1"': 2, 'model="M2"': 2 }
    await check({ 'floor=0': 3, 'floor=1': 3, ...models })
    await connect(0, true, 1)
    await connect(1, true, 1)
    await check({ '=2': 2, 'floor=0': 3, 'floor=1': 3, ...models })
    await connect(1, false, 2)
    await admin(`PUT /epr/api/v1/endpoints/${ids[2]}/metadata/floor`, '"roof"', { 'content-type': 'application/json' })
    await admin(`PUT /epr/api/v1/endpoints/${ids[3]}/metadata/floor`, { a: 1 })
    await check({ '=1': 1, '=2': 1, 'floor="roof"': 1, 'floor=0': 2, 'floor=1': 2, ...models })
    waypost.ask(Register).noteActivity(ids[4]!, new Date())
    await waypost.built.get('register')!.stop!()
    await connect(4, true, 1)
    await check({ '=1': 1, '=2': 2, 'floor="roof"': 1, 'floor=0': 2, 'floor=1': 2, ...models })
    for (const endpointId of ids) await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)
    await check({})
  })

  test('a count contains the most frequent values, and the sum of all other values', async () => {
    const { body } = await counts({ ...selection, by: 'floor', top: 1, search: 'pump' })
    assert.deepEqual(body.counts, [{ by: 'floor', values: [{ value: -1, count: 1 }], others: 2, missing: 0 }])
    const searched = await counts({ ...selection, by: 'version', search: 'zq' })
    assert.deepEqual(searched.body, {
      total: 0,
      complete: true,
      counts: [{ by: 'version', values: [], others: 0, missing: 0 }],
    })
  })

  test('only endpoints that the caller may read are counted', async () => {
    const read = ['endpoint:read']
    const mixed = waypost.as(
      aCaller({ on: { [`application-${b.app}`]: read, 'endpoint-pump-2': read, 'endpoint-b-meter': read } }),
    )
    for (const by of ['version', 'version,connection'])
      assert.deepEqual(
        (await counts({ by }, mixed)).body.counts[0].values.map(({ count }: { count: number }) => count),
        [1, 1],
      )
    assert.equal((await counts({}, mixed)).body.total, 2)
    assert.equal((await counts({ by: 'name' }, other)).body.total, 1)
    assert.equal((await counts({ tenantId: 'other' })).status, 403)
  })

  test('counts with invalid input are rejected', async () => {
    for (const parameters of [{ by: 'a-b' }, { by: 'a,b,c,d,e,f' }, { top: 0 }, { top: 1001 }, { connection: 'x' }])
      assert.equal((await counts(parameters)).status, 400, JSON.stringify(parameters))
  })
})
