import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import { Register } from '../contract.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const other = waypost.as(aTenantAdmin('other'))
const { sql } = waypost.kit.db
const register = waypost.ask(Register)
const filtersOf = (app: string) => `${root}/applications/${app}/filters`
const kyiv = { 'metadata.city': 'Kyiv' }

let names = 0
async function aFilter(app: string, documentQuery: unknown = {}, ask = admin): Promise<string> {
  const answer = await ask(`POST ${filtersOf(app)}`, { name: `filter ${++names}`, documentQuery })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.id
}
const active = (app: string, id: string, ask = admin) =>
  eventually(async () => {
    const answer = await ask(`GET ${filtersOf(app)}/${id}`)
    assert.equal(answer.body.status, 'active', answer.text)
    return answer
  })
async function members(filterId: string): Promise<string[]> {
  const answer = await admin(`GET ${root}/endpoints${query({ filterId })}`)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.totalElements, answer.body.content.length)
  return ids(answer)
}
const eventsOf = (filterId: string) =>
  publishedEvents
    .filter(({ payload }) => payload.filterId === filterId)
    .map(({ event, payload }) => [event.replace('register.filter.', ''), ...(payload.endpointIds ?? [])])

suite('creating a filter', () => {
  test('creating a filter returns a pending filter that becomes active and counts its endpoints', async () => {
    const { app, version } = await anApplication()
    const [a, b] = [await anEndpoint(version, { metadata: { city: 'Kyiv' } }), await anEndpoint(version)]
    const created = await admin(`POST ${filtersOf(app)}`, { name: 'In Kyiv', documentQuery: kyiv })
    assert.equal(created.status, 201, created.text)
    const { id, createdDate, ...rest } = created.body
    assert.deepEqual(rest, {
      name: 'In Kyiv',
      description: '',
      documentQuery: kyiv,
      updatedDate: createdDate,
      matchedEndpointsCount: 0,
      status: 'pending',
    })
    assert.equal(created.headers.location, `http://waypost.test${filtersOf(app)}/${id}`)
    const read = await active(app, id)
    assert.deepEqual(read.body, { ...created.body, matchedEndpointsCount: 1, status: 'active' })
    assert.notEqual(read.headers.etag, created.headers.etag)
    const notModified = await admin(`GET ${filtersOf(app)}/${id}`, undefined, { 'if-none-match': read.headers.etag! })
    assert.equal(notModified.status, 304)
    assert.deepEqual(await members(id), [a])
    assert.deepEqual((await admin(`GET ${root}/endpoints/${a}?include=filters`)).body.filters, [id])
    assert.deepEqual((await admin(`GET ${root}/endpoints/${b}?include=filters`)).body.filters, [])
    assert.deepEqual(eventsOf(id), [['pending'], ['activated']])
  })

  test('creating a filter accepts the query as text, and in the fields that older clients use', async () => {
    const { app } = await anApplication()
    const order = { 'metadata.z': 1, 'metadata.a': { $in: [2, 1] } }
    for (const [index, given] of [
      { documentQuery: JSON.stringify(order) },
      { mongoQuery: order },
      { query: JSON.stringify(order), description: 'd' },
    ].entries()) {
      const { status, text } = await admin(`POST ${filtersOf(app)}`, { name: `n${index}`, ...given })
      assert.equal(status, 201, text)
      assert.ok(text.includes(`"documentQuery":${JSON.stringify(order)}`), text)
    }
  })

  test('creating a filter rejects an invalid query with the field and the path of the error', async () => {
    const { app } = await anApplication()
    for (const [body, expected] of [
      [{}, /^documentQuery: is required/],
      [{ documentQuery: 'no json' }, /^documentQuery: the query is not valid JSON/],
      [{ documentQuery: '[]' }, /^documentQuery: the query is not a JSON object/],
      [{ documentQuery: { $where: 'true' } }, /^documentQuery: \$where/],
      [{ documentQuery: { 'metadata.a': { $gt: {} } } }, /^documentQuery: metadata\.a\.\$gt/],
      [{ documentQuery: 7 }, /documentQuery/],
      [{ documentQuery: null }, /documentQuery/],
      [{ documentQuery: {}, mongoQuery: {} }, /^documentQuery: is given twice/],
    ] as const) {
      const answer = await admin(`POST ${filtersOf(app)}`, { name: 'bad', ...body })
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.message, expected)
    }
    assert.equal((await admin(`GET ${filtersOf(app)}`)).body.totalElements, 0)
  })

  test('creating a filter rejects a name that the application already has', async () => {
    const [{ app }, { app: another }] = [await anApplication(), await anApplication()]
    const body = { name: 'same', documentQuery: {} }
    const statuses = await Promise.all(Array.from({ length: 4 }, () => admin(`POST ${filtersOf(app)}`, body)))
    assert.deepEqual(statuses.map(({ status }) => status).sort(), [201, 409, 409, 409])
    assert.equal((await admin(`POST ${filtersOf(another)}`, body)).status, 201)
  })
})

suite('listing filters', () => {
  test('listing filters returns a page in the order of creation, filtered by a part of the name', async () => {
    const { app } = await anApplication()
    for (const name of ['Pumps', 'pump 100%', 'valves'])
      await admin(`POST ${filtersOf(app)}`, { name, documentQuery: {} })
    const list = async (parameters: object) => {
      const { body, status, text } = await admin(`GET ${filtersOf(app)}${query({ ...parameters })}`)
      assert.equal(status, 200, text)
      return [body.content.map(({ name }: { name: string }) => name), body.totalElements]
    }
    assert.deepEqual(await list({}), [['Pumps', 'pump 100%', 'valves'], 3])
    assert.deepEqual(await list({ name: 'pump' }), [['Pumps', 'pump 100%'], 2])
    assert.deepEqual(await list({ name: '0%' }), [['pump 100%'], 1])
    assert.deepEqual(await list({ offset: 1, limit: 1 }), [['pump 100%'], 3])
    assert.deepEqual(await list({ limit: 0 }), [['Pumps', 'pump 100%', 'valves'], 3])
    await eventually(async () => {
      const { body } = await admin(`GET ${filtersOf(app)}`)
      assert.ok(body.content.every(({ status }: { status: string }) => status === 'active'))
    })
    const { headers } = await admin(`GET ${filtersOf(app)}`)
    const notModified = await admin(`GET ${filtersOf(app)}`, undefined, { 'if-none-match': headers.etag! })
    assert.equal(notModified.status, 304)
  })
})

suite('updating a filter', () => {
  test('updating a filter makes it pending only if the query changes', async () => {
    const { app, version } = await anApplication()
    const [a, b] = [
      await anEndpoint(version, { metadata: { city: 'Kyiv' } }),
      await anEndpoint(version, { metadata: { city: 'Lviv' } }),
    ]
    const id = await aFilter(app, kyiv)
    await active(app, id)
    const renamed = await admin(`PATCH ${filtersOf(app)}/${id}`, { name: 'new', description: 'd', documentQuery: kyiv })
    assert.equal(renamed.status, 200, renamed.text)
    assert.deepEqual([renamed.body.name, renamed.body.description, renamed.body.status], ['new', 'd', 'active'])
    assert.deepEqual(await members(id), [a])
    const edited = await admin(
      `PATCH ${filtersOf(app)}/${id}`,
      { mongoQuery: { 'metadata.city': 'Lviv' } },
      { 'if-match': renamed.headers.etag! },
    )
    assert.equal(edited.status, 200, edited.text)
    assert.deepEqual([edited.body.status, edited.body.matchedEndpointsCount, edited.body.name], ['pending', 0, 'new'])
    assert.equal((await active(app, id)).body.matchedEndpointsCount, 1)
    assert.deepEqual(await members(id), [b])
    assert.deepEqual(eventsOf(id), [['pending'], ['activated'], ['pending'], ['activated']])
    await eventually(async () => {
      const [row] = await sql`select count(*) from register.filter_members where member_set not in (
        select member_set from register.filters)`
      assert.equal(row?.count, 0)
    })
  })

  test('updating a filter is rejected for a taken name, an invalid query or an outdated ETag', async () => {
    const { app } = await anApplication()
    await admin(`POST ${filtersOf(app)}`, { name: 'taken', documentQuery: {} })
    const id = await aFilter(app)
    const patch = (body: object, headers = {}) => admin(`PATCH ${filtersOf(app)}/${id}`, body, headers)
    assert.equal((await patch({ name: 'taken' })).status, 409)
    assert.equal((await patch({ documentQuery: { $expr: 1 } })).status, 400)
    assert.equal((await patch({ name: 'x' }, { 'if-match': '"old"' })).status, 412)
    assert.equal((await patch({ name: 'x' }, { 'if-match': '' })).status, 200)
    assert.equal((await patch({})).status, 200)
    assert.equal((await admin(`PATCH ${filtersOf(app)}/none`, {})).status, 404)
  })
})

suite('deleting a filter', () => {
  test('deleting a filter honours If-Match, and afterwards the filter cannot be read or used in lists', async () => {
    const { app, version } = await anApplication()
    await anEndpoint(version)
    const id = await aFilter(app)
    const { headers } = await active(app, id)
    assert.equal((await admin(`DELETE ${filtersOf(app)}/${id}`, undefined, { 'if-match': '"old"' })).status, 412)
    const deleted = await admin(`DELETE ${filtersOf(app)}/${id}`, undefined, { 'if-match': headers.etag! })
    assert.equal(deleted.status, 204, deleted.text)
    assert.equal((await admin(`DELETE ${filtersOf(app)}/${id}`)).status, 404)
    assert.equal((await admin(`GET ${filtersOf(app)}/${id}`)).status, 404)
    assert.equal((await admin(`GET ${root}/endpoints?filterId=${id}`)).status, 400)
    assert.deepEqual(eventsOf(id).at(-1), ['deleted'])
  })

  test('a filter is deleted with its application and with its tenant', async () => {
    const left = async () => {
      const [row] = await sql`
        select (select count(*) from register.filters where application_name = any(${[app, doomed.app]}::text[])) as filters,
          (select count(*) from register.filter_members where tenant_id = 'doomed') as members`
      return [row?.filters, row?.members]
    }
    const asDoomed = waypost.as(aTenantAdmin('doomed'))
    const doomed = await anApplication(asDoomed)
    await anEndpoint(doomed.version, {}, asDoomed)
    await active(doomed.app, await aFilter(doomed.app, {}, asDoomed), asDoomed)
    const { app } = await anApplication()
    await active(app, await aFilter(app))
    assert.deepEqual(await left(), [2, 1])
    await waypost.kit.db.tx((tx) => waypost.kit.bus.publish(tx, TenantDeleted, { tenantId: 'doomed' }))
    assert.equal((await admin(`DELETE /api/v1/applications/${app}`)).status, 204)
    await eventually(async () => assert.deepEqual(await left(), [0, 0]))
  })
})

suite('an active filter', () => {
  test('an active filter contains an endpoint as soon as a change makes it match, and publishes when an endpoint begins or ceases to match', async () => {
    const { app, version } = await anApplication(admin, ['v1', 'v2'])
    const inKyiv = await aFilter(app, kyiv)
    const online = await aFilter(app, { 'metadata.connected': true })
    const second = await aFilter(app, { application_version: `${app}-v2` })
    const many = await aFilter(app, { metadata: { $size: 2 } })
    for (const id of [inKyiv, online, second, many]) await active(app, id)
    const id = await anEndpoint(version)
    const all = async () => {
      const matched = await register.matchingFilters(id)
      return [inKyiv, online, second, many].map((filter) => matched.includes(filter))
    }
    assert.deepEqual(await all(), [false, false, false, false])
    await admin(`PUT ${root}/endpoints/${id}/metadata/city`, '"Kyiv"')
    assert.deepEqual(await all(), [true, false, false, false])
    await admin(`PUT ${root}/endpoints/${id}/metadata`, { city: 'Kyiv', a: 1 })
    assert.deepEqual(await all(), [true, false, false, true])
    await register.setConnectivity([{ endpointId: id, connected: true, at: new Date(), number: 1 }])
    assert.deepEqual(await all(), [true, true, false, false])
    await admin(`PUT ${root}/endpoints/${id}/app-version`, { name: `${app}-v2` })
    assert.deepEqual(await all(), [true, true, true, false])
    await admin(`DELETE ${root}/endpoints/${id}/metadata/city`)
    assert.deepEqual(await all(), [false, true, true, false])
    await admin(`DELETE ${root}/endpoints/${id}`)
    for (const filter of [inKyiv, online, second, many]) {
      assert.equal((await admin(`GET ${filtersOf(app)}/${filter}`)).body.matchedEndpointsCount, 0)
      assert.deepEqual(eventsOf(filter).slice(2), [
        ['matched', id],
        ['unmatched', id],
      ])
    }
    assert.equal(
      (
        await sql`select from register.filter_members m join register.filters f using (member_set)
      where f.application_name = ${app}`
      ).count,
      0,
    )
  })

  test('an active filter can be used by other services', async () => {
    const { app, version } = await anApplication()
    const endpoints = [await anEndpoint(version), await anEndpoint(version), await anEndpoint(version)]
    const filterId = await aFilter(app)
    await active(app, filterId)
    const summary = { filterId, applicationName: app, status: 'active', matchedEndpointsCount: 3 }
    assert.deepEqual(await register.findFilter('default', filterId), summary)
    assert.equal(await register.findFilter('other', filterId), undefined)
    const options = { scope: 'endpoint:read', limit: 2 }
    const first = await register.selectionPage(sql, waypost.kit.system('default'), { filterId }, options)
    const rest = await register.selectionPage(
      sql,
      waypost.kit.system('default'),
      { filterId },
      { ...options, from: first.next },
    )
    assert.deepEqual(
      [...first.endpoints, ...rest.endpoints].map(({ endpointId }) => endpointId),
      endpoints,
    )
  })

  test('an active filter restricts a list together with other conditions', async () => {
    const { app, version } = await anApplication()
    const [a, b, c] = [
      await anEndpoint(version, { metadata: { city: 'Kyiv', n: 1 } }),
      await anEndpoint(version, { metadata: { city: 'Kyiv', n: 2 } }),
      await anEndpoint(version, { metadata: { city: 'Kyiv', n: 3 } }),
    ]
    await anEndpoint(version, { metadata: { city: 'Lviv', n: 3 } })
    const some = await Promise.all([kyiv, { 'metadata.n': { $gt: 1 } }, {}].map((one) => aFilter(app, one)))
    for (const id of some) await active(app, id)
    const [inKyiv, above] = some
    const list = async (parameters: object) => {
      const answer = await admin(`GET ${root}/endpoints${query({ ...parameters })}`)
      return [ids(answer), answer.body.totalElements]
    }
    assert.deepEqual(await list({ filterId: inKyiv }), [[a, b, c], 3])
    assert.deepEqual(await list({ filterId: some.join() }), [[b, c], 2])
    assert.deepEqual(await list({ filterId: [inKyiv, above].join(), offset: 1, limit: 1 }), [[c], 2])
    assert.deepEqual(await list({ filterId: some.join(), limit: 0 }), [[b, c], 2])
    assert.deepEqual(await list({ filterId: above, metadataFilter: { n: 2 } }), [[b], 1])
    for (const filterId of [inKyiv, some.join()]) {
      const [all, total] = (await list({ filterId })) as [string[], number]
      const first = await admin(`GET ${root}/endpoints${query({ filterId, limit: 1, cursor: '' })}`)
      assert.deepEqual(await list({ filterId, cursor: first.body.nextCursor }), [all.slice(1), total])
    }
    assert.equal((await admin(`GET ${root}/endpoints?filterId=${inKyiv},none`)).status, 400)
  })

  test('an active filter publishes many endpoints in several events of limited size', async () => {
    const { app, version } = await anApplication()
    const filterId = await aFilter(app)
    await active(app, filterId)
    const endpointIds = Array.from({ length: 150 }, (_, n) => `${n}-`.padEnd(100, 'x'))
    const endpoints = endpointIds.map((endpointId) => ({ endpointId }))
    const { body } = await admin(`POST ${root}/endpoints/batch`, { appVersion: { name: version }, endpoints })
    await eventually(async () => {
      const status = await admin(`GET ${root}/endpoints/batch/status?taskId=${body.taskId}`)
      assert.equal(status.body.createdCount, 150)
    })
    const matchedEvents = () => eventsOf(filterId).filter(([event]) => event === 'matched')
    await eventually(() => assert.equal(matchedEvents().flatMap(([, ...rest]) => rest).length, 150))
    assert.ok(matchedEvents().every((one) => JSON.stringify(one).length < 7000))
    assert.equal((await admin(`GET ${filtersOf(app)}/${filterId}`)).body.matchedEndpointsCount, 150)
  })
})

suite('permissions on filters', () => {
  const operations = (app: string, id: string): [string, string, object?][] => [
    ['create', `POST ${filtersOf(app)}`, { name: 'n', documentQuery: {} }],
    ['read', `GET ${filtersOf(app)}`],
    ['read', `GET ${filtersOf(app)}/${id}`],
    ['update', `PATCH ${filtersOf(app)}/${id}`, { description: 'x' }],
    ['delete', `DELETE ${filtersOf(app)}/${id}`],
  ]

  test('lists reject a filter of an application without readable endpoints in the same way as an unknown filter', async () => {
    const { app } = await anApplication()
    const { app: another } = await anApplication()
    const id = await aFilter(app)
    await active(app, id)
    const list = `${root}/endpoints?filterId=`
    const search = `${root}/endpoints/search`
    assert.equal((await admin(`GET ${list}${id}`)).status, 200)
    assert.equal(
      (await waypost.as(aCaller({ on: { [`application-${app}`]: ['endpoint:read'] } }))(`GET ${list}${id}`)).status,
      200,
    )
    const strangers = [{}, { [`application-${another}`]: ['endpoint:read'] }]
    for (const ask of strangers.map((on) => waypost.as(aCaller({ on }))))
      for (const filterId of [id, 'unknown']) {
        const message = `there is no filter ${filterId}`
        assert.equal((await ask(`GET ${list}${filterId}`)).body.message, `filterId: ${message}`)
        const found = await ask(`POST ${search}`, { and: [], filterIds: [filterId] })
        assert.equal(found.body.message, `filterIds: ${message}`)
      }
  })

  test('permissions on filters: without the scope a caller gets 404 if it may not read the application, otherwise 403', async () => {
    const { app } = await anApplication()
    const id = await aFilter(app)
    for (const [action, operation, body] of operations(app, id)) {
      const as = (scopes: string[]) =>
        waypost
          .as(aCaller({ on: { [`application-${app}`]: scopes } }))(operation, body)
          .then(({ status }) => status)
      assert.equal(await as([]), 404, operation)
      assert.equal(await as(['application:read']), 403, operation)
      if (action !== 'read') assert.equal(await as(['application:endpoint-filter:read']), 403, operation)
      assert.equal((await other(operation, body)).status, 404, operation)
      assert.ok((await as([`application:endpoint-filter:${action}`])) < 300, operation)
    }
    for (const [, operation, body] of operations('no-such-application', id))
      assert.equal((await admin(operation, body)).status, 404, operation)
    const { app: another } = await anApplication()
    for (const [, operation, body] of operations(another, id).slice(2))
      assert.equal((await admin(operation, body)).status, 404, operation)
  })
})
