import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { grantsOn } from '../../../../test/harness/realm-state.ts'
import { openRegister, query, root } from '../../../../test/harness/register.ts'
import { TenantDeleted } from '../../tenants/events.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const other = waypost.as(aTenantAdmin('other'))
const platform = waypost.as(aPlatformAdmin())
const endpoints = `${root}/endpoints`

suite('registering an endpoint', () => {
  test('registering an endpoint returns its id, a token and its location', async () => {
    const { app, version } = await anApplication()
    const answer = await admin(`POST ${endpoints}`, {
      appVersion: { name: version },
      endpointId: 'pump-1.a~b_c',
      endpointToken: 'secret of pump 1',
      metadata: { city: 'Kyiv', nested: { __b: [1, null] } },
    })
    assert.equal(answer.status, 201, answer.text)
    assert.deepEqual(answer.body, { endpointId: 'pump-1.a~b_c', token: 'secret of pump 1', status: 'Inactive' })
    assert.equal(answer.headers.location, `http://waypost.test${root}/endpoints/pump-1.a~b_c`)
    const { createdDate, metadataUpdatedDate, appVersion, ...rest } = (
      await admin(`GET ${endpoints}/pump-1.a~b_c?include=metadata`)
    ).body
    assert.deepEqual(rest, {
      endpointId: 'pump-1.a~b_c',
      appName: app,
      filters: [],
      poolIds: [],
      metadata: { city: 'Kyiv', nested: { __b: [1, null] } },
    })
    assert.deepEqual(appVersion, { name: version, registeredDate: createdDate })
    assert.equal(metadataUpdatedDate, createdDate)
    assert.equal(new Date(createdDate).toISOString(), createdDate)
    assert.deepEqual(publishedEvents.find(({ event }) => event === 'register.endpoint.registered')?.payload, {
      tenantId: 'default',
      applicationName: app,
      versionName: version,
      endpointIds: ['pump-1.a~b_c'],
    })
  })

  test('registering an endpoint generates an id and a token if none is given', async () => {
    const { version } = await anApplication()
    const { body, status } = await admin(`POST ${endpoints}`, { appVersion: { name: version } })
    assert.equal(status, 201)
    assert.match(body.endpointId, /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    assert.match(body.token, /^[A-Za-z0-9]{10}$/)
    const read = (await admin(`GET ${endpoints}/${body.endpointId}`)).body
    assert.equal('metadata' in read, false)
    assert.equal('metadataUpdatedDate' in read, false)
  })

  test('registering an endpoint rejects an id that any tenant uses, and a token that the application uses, and stores nothing', async () => {
    const { version } = await anApplication()
    const foreign = await anApplication(other)
    const id = await anEndpoint(version, { endpointToken: 'taken token' })
    const duplicate = await admin(`POST ${endpoints}`, { appVersion: { name: version }, endpointId: id })
    assert.equal(duplicate.status, 409)
    assert.deepEqual(duplicate.body, { message: `Endpoint ${id} already exists; choose another id` })
    const otherTenant = await other(`POST ${endpoints}`, { appVersion: { name: foreign.version }, endpointId: id })
    assert.equal(otherTenant.status, 409)
    const token = await admin(`POST ${endpoints}`, {
      appVersion: { name: version },
      endpointId: 'unborn',
      endpointToken: 'taken token',
    })
    assert.equal(token.status, 409)
    assert.match(token.body.message, /already has this endpointToken/)
    assert.equal((await admin(`GET ${endpoints}/unborn`)).status, 404)
    const { body } = await admin(`GET ${endpoints}${query({ applicationVersionName: version })}`)
    assert.equal(body.totalElements, 1)
  })

  test('registering an endpoint succeeds once if many concurrent requests use the same id', async () => {
    const { version } = await anApplication()
    const body = { appVersion: { name: version }, endpointId: 'contested' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => admin(`POST ${endpoints}`, body)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)])
    const list = await admin(`GET ${endpoints}${query({ applicationVersionName: version })}`)
    assert.equal(list.body.totalElements, 1)
  })

  test('registering an endpoint rejects invalid input with the name of the field', async () => {
    const { version } = await anApplication()
    const good = { appVersion: { name: version } }
    const cases: [unknown, string][] = [
      [{}, 'appVersion'],
      [{ appVersion: {} }, 'appVersion.name'],
      [{ appVersion: { name: 'no-such-version' } }, 'appVersion.name'],
      [{ ...good, endpointId: 'with space' }, 'endpointId'],
      [{ ...good, endpointId: 'a/b' }, 'endpointId'],
      [{ ...good, endpointId: '' }, 'endpointId'],
      [{ ...good, endpointId: 'x\n' }, 'endpointId'],
      [{ ...good, endpointToken: 'a/b' }, 'endpointToken'],
      [{ ...good, endpointToken: 'a+b' }, 'endpointToken'],
      [{ ...good, endpointToken: '' }, 'endpointToken'],
      [{ ...good, metadata: [] }, 'metadata'],
      [{ ...good, metadata: null }, 'metadata'],
      [{ ...good, metadata: { 'with-dash': 1 } }, 'metadata'],
      [{ ...good, metadata: { '': 1 } }, 'metadata'],
      [{ ...good, metadata: { connected: true } }, 'metadata'],
      [{ ...good, metadata: { big: 'x'.repeat(65_600) } }, 'metadata'],
      [{ ...good, metadata: Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`k${i}`, 1])) }, 'metadata'],
      [{ ...good, relations: [{ type: 'contains' }] }, 'relations'],
      [{ ...good, relations: [{ type: 'contains', from: 'a', to: 'b' }] }, 'relations'],
      [{ ...good, relations: [{ type: 'owns', from: 'a' }] }, 'relations'],
      [{ ...good, resourceGroupIds: 'x' }, 'resourceGroupIds'],
      [[], 'body'],
      ['{', 'body'],
    ]
    for (const [body, field] of cases) {
      const answer = await admin(`POST ${endpoints}`, body)
      assert.equal(answer.status, 400, `${JSON.stringify(body)} ${answer.text}`)
      assert.match(answer.body.message, new RegExp(`^${field}`), JSON.stringify(body))
    }
  })

  test('registering an endpoint requires both scopes, and does not reveal versions to callers without these scopes', async () => {
    const { app, version } = await anApplication()
    const on = (resource: string, ...scopes: string[]) => waypost.as(aCaller({ on: { [resource]: scopes } }))
    const register = (ask: typeof admin, name = version) => ask(`POST ${endpoints}`, { appVersion: { name } })
    const scopes = ['application:endpoint:create', 'endpoint:update']
    for (const name of [version, 'no-such-version'])
      assert.equal((await register(on('tenant-system', 'endpoint:read'), name)).status, 403)
    assert.equal((await register(on(`application-${app}`, 'application:endpoint:create'))).status, 403)
    assert.equal((await register(on(`application-${app}`, ...scopes))).status, 201)
    const onOtherApplication = on('application-another', ...scopes)
    const [hidden, missing] = [
      await register(onOtherApplication),
      await register(onOtherApplication, 'no-such-version'),
    ]
    assert.equal(hidden.status, 400)
    assert.equal(hidden.text.replace(version, '…'), missing.text.replace('no-such-version', '…'))
    assert.equal((await register(other)).status, 400)
  })

  test('registering an endpoint grants the creator every scope on it, if the creator does not have every scope on the application', async () => {
    const { app, version } = await anApplication()
    assert.deepEqual([...(await grantsOn(waypost.kit.db.sql, `endpoint-${await anEndpoint(version)}`))], [])
    const caller = aCaller({ on: { [`application-${app}`]: ['application:endpoint:create', 'endpoint:update'] } })
    const id = await anEndpoint(version, {}, waypost.as(caller))
    const [grant] = await grantsOn(waypost.kit.db.sql, `endpoint-${id}`)
    assert.deepEqual(grant, { tenantId: 'default', subjectId: caller.subject.id, scopes: ['*'] })
  })
})

suite('reading an endpoint', () => {
  test('reading an endpoint returns 304 for a current ETag, and a new ETag after a change', async () => {
    const { version } = await anApplication()
    const id = await anEndpoint(version, { metadata: { a: 1 } })
    const first = await admin(`GET ${endpoints}/${id}?include=metadata`)
    const notModified = await admin(`GET ${endpoints}/${id}?include=metadata`, undefined, {
      'if-none-match': first.headers.etag!,
    })
    assert.equal(notModified.status, 304)
    assert.equal(notModified.text, '')
    await admin(`PUT ${endpoints}/${id}/metadata/a`, '2')
    const changed = await admin(`GET ${endpoints}/${id}?include=metadata`, undefined, {
      'if-none-match': first.headers.etag!,
    })
    assert.equal(changed.status, 200)
    assert.deepEqual(changed.body.metadata, { a: 2 })
  })

  test('reading an endpoint returns the same 404 for another tenant, an unknown id and a missing scope', async () => {
    const { app, version } = await anApplication()
    const id = await anEndpoint(version)
    const readers = { [`endpoint-${id}`]: 200, [`application-${app}`]: 200, 'application-x': 404, 'endpoint-x': 404 }
    for (const [resource, status] of Object.entries(readers)) {
      const answer = await waypost.as(aCaller({ on: { [resource]: ['endpoint:read'] } }))(`GET ${endpoints}/${id}`)
      assert.equal(answer.status, status, resource)
    }
    const [hidden, missing] = [await other(`GET ${endpoints}/${id}`), await other(`GET ${endpoints}/nobody`)]
    assert.equal(hidden.status, 404)
    assert.equal(hidden.text.replace(id, '…'), missing.text.replace('nobody', '…'))
  })

  test('reading an endpoint accepts two values of include, and accepts another tenantId only with the scope on the platform', async () => {
    const { version } = await anApplication()
    const id = await anEndpoint(version)
    const status = async (ask: typeof admin, parameters: string) =>
      (await ask(`GET ${endpoints}/${id}?${parameters}`)).status
    assert.equal(await status(admin, 'tenantId=default'), 200)
    assert.equal(await status(admin, 'tenantId=other'), 403)
    assert.equal(await status(platform, 'tenantId=default'), 200)
    assert.equal(await status(platform, 'tenantId=other'), 404)
    assert.equal(await status(admin, 'include=filters,metadata'), 200)
    assert.equal(await status(admin, 'include=everything'), 400)
  })
})

suite('deleting endpoints', () => {
  test('deleting endpoints deletes their tokens, relations and grants, and publishes an event', async () => {
    const { app, version } = await anApplication()
    const creator = aCaller({ on: { [`application-${app}`]: ['application:endpoint:create', 'endpoint:update'] } })
    const child = await anEndpoint(version, { endpointToken: 'again' }, waypost.as(creator))
    const parent = await anEndpoint(version)
    assert.equal((await grantsOn(waypost.kit.db.sql, `endpoint-${child}`)).length, 1)
    await admin(`PUT ${root}/relations/link`, [{ type: 'contains', from: parent, to: child }])
    assert.equal((await admin(`DELETE ${endpoints}/${child}`)).status, 204)
    assert.equal((await admin(`GET ${endpoints}/${child}`)).status, 404)
    assert.equal((await admin(`DELETE ${endpoints}/${child}`)).status, 404)
    assert.equal((await admin(`GET /api/v1/endpoints/${child}/tokens`)).status, 404)
    assert.equal((await grantsOn(waypost.kit.db.sql, `endpoint-${child}`)).length, 0)
    const { payload } = publishedEvents.findLast(({ event }) => event === 'register.endpoint.unregistered')!
    assert.deepEqual([payload.applicationName, payload.endpointIds], [app, [child]])
    const relations = await admin(`GET ${endpoints}/${parent}/relations?relation=contains`)
    assert.deepEqual(relations.body, { totalElements: 0, content: [] })
    assert.equal(await anEndpoint(version, { endpointId: child, endpointToken: 'again' }), child)
    const reverse = await admin(`GET ${endpoints}/${parent}/relations?relation=contains`)
    assert.equal(reverse.body.totalElements, 0)
  })

  test('deleting endpoints is answered with 403 for a caller who may only read', async () => {
    const { version } = await anApplication()
    const id = await anEndpoint(version)
    const reader = waypost.as(aCaller({ on: { [`endpoint-${id}`]: ['endpoint:read'] } }))
    assert.equal((await reader(`DELETE ${endpoints}/${id}`)).status, 403)
    assert.equal((await other(`DELETE ${endpoints}/${id}`)).status, 404)
  })

  test('deleting endpoints succeeds once if many requests are concurrent', async () => {
    const { version } = await anApplication()
    const id = await anEndpoint(version)
    const answers = await Promise.all(Array.from({ length: 5 }, () => admin(`DELETE ${endpoints}/${id}`)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 404, 404, 404, 404])
    const list = await admin(`GET ${endpoints}${query({ applicationVersionName: version })}`)
    assert.equal(list.body.totalElements, 0)
  })

  test('deleting a list of endpoints reports an outcome for each endpoint', async () => {
    const { version } = await anApplication()
    const foreign = await anEndpoint((await anApplication(other)).version, {}, other)
    const [updatable, readable] = [await anEndpoint(version), await anEndpoint(version)]
    const caller = aCaller({
      on: { [`endpoint-${updatable}`]: ['endpoint:delete'], [`endpoint-${readable}`]: ['endpoint:read'] },
    })
    const answer = await waypost.as(caller)(`POST ${endpoints}/delete`, {
      endpointIds: [updatable, readable, foreign, 'nobody', updatable],
    })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, {
      deletedCount: 1,
      failedCount: 3,
      deleted: [updatable],
      failed: [
        { endpointId: readable, reason: `The caller does not hold the scope endpoint:delete on endpoint-${readable}` },
        { endpointId: foreign, reason: `There is no endpoint ${foreign}, or the caller may not read it` },
        { endpointId: 'nobody', reason: 'There is no endpoint nobody, or the caller may not read it' },
      ],
    })
    for (const body of [{}, { endpointIds: [] }, { endpointIds: 'x' }, { endpointIds: Array(1001).fill('x') }])
      assert.equal((await admin(`POST ${endpoints}/delete`, body)).status, 400)
  })

  test('deleting a thousand endpoints publishes events of limited size, which together contain all endpoints', async () => {
    const { app, version } = await anApplication()
    await waypost.kit.db.sql`
      insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date,
        created_date) select ${app} || '-' || n, 'default', ${app}, ${version}, now(), now() from generate_series(1, 1000) n`
    const endpointIds = Array.from({ length: 1000 }, (_, n) => `${app}-${n + 1}`)
    assert.equal((await admin(`POST ${endpoints}/delete`, { endpointIds })).body.deletedCount, 1000)
    const events = publishedEvents.filter(
      ({ event, payload }) => event.endsWith('.unregistered') && payload.applicationName === app,
    )
    assert.deepEqual(events.flatMap(({ payload }) => payload.endpointIds).sort(), endpointIds.sort())
    for (const deletion of events) assert.ok(JSON.stringify(deletion).length < 7000)
  })
})

suite('the application version of an endpoint', () => {
  test('the application version of an endpoint can change within the application, and the change is published', async () => {
    const { app, version } = await anApplication(admin, ['v1', 'v2'])
    const id = await anEndpoint(version, { metadata: { a: 1 } })
    const before = (await admin(`GET ${endpoints}/${id}/app-version`)).body
    assert.equal(before.name, version)
    assert.equal((await admin(`PUT ${endpoints}/${id}/app-version`, { name: `${app}-v2` })).status, 204)
    const after = (await admin(`GET ${endpoints}/${id}/app-version`)).body
    assert.equal(after.name, `${app}-v2`)
    assert.ok(after.registeredDate >= before.registeredDate)
    const moved = publishedEvents.filter(({ event }) => event === 'register.endpoint.version-updated')
    const payload = { versionName: `${app}-v2`, previousVersionName: version }
    assert.deepEqual(moved.at(-1)?.payload, { tenantId: 'default', applicationName: app, endpointId: id, ...payload })
    const keys = await admin(`GET ${root}/applications/${app}/metadata-keys`)
    assert.deepEqual(keys.body, { [version]: [], [`${app}-v2`]: ['a'] })
    // Setting the same version changes nothing.
    await admin(`PUT ${endpoints}/${id}/app-version`, { name: `${app}-v2` })
    assert.deepEqual((await admin(`GET ${endpoints}/${id}/app-version`)).body, after)
    assert.equal(
      publishedEvents.filter(({ event }) => event === 'register.endpoint.version-updated').length,
      moved.length,
    )
  })

  test('the application version of an endpoint cannot be a version of another application', async () => {
    const { version } = await anApplication()
    const id = await anEndpoint(version)
    const otherVersion = (await anApplication()).version
    for (const name of [otherVersion, 'no-such-version']) {
      const answer = await admin(`PUT ${endpoints}/${id}/app-version`, { name })
      assert.equal(answer.status, 400)
      assert.match(answer.body.message, /^name: /)
    }
    assert.equal((await admin(`PUT ${endpoints}/${id}/app-version`, {})).status, 400)
    assert.equal((await other(`PUT ${endpoints}/${id}/app-version`, { name: version })).status, 404)
  })
})

suite('deleted applications and tenants', () => {
  test('an application can be deleted only without endpoints', async () => {
    const { app, version } = await anApplication(admin, ['v1', 'v2'])
    const id = await anEndpoint(version)
    const versions = `/api/v1/applications/${app}/app-versions`
    assert.equal((await admin(`DELETE ${versions}/${version}`)).status, 409)
    assert.equal((await admin(`DELETE ${versions}/${app}-v2`)).status, 204)
    assert.equal((await admin(`DELETE /api/v1/applications/${app}`)).status, 409)
    await admin(`DELETE ${endpoints}/${id}`)
    assert.equal((await admin(`DELETE /api/v1/applications/${app}`)).status, 204)
    assert.equal((await admin(`POST ${endpoints}`, { appVersion: { name: version } })).status, 400)
  })

  test('no endpoint survives the concurrent deletion of its application', async () => {
    const { app, version } = await anApplication()
    const [registered, deleted] = await Promise.all([
      Promise.all(Array.from({ length: 8 }, () => admin(`POST ${endpoints}`, { appVersion: { name: version } }))),
      admin(`DELETE /api/v1/applications/${app}`),
    ])
    await waypost.kit.bus.settled()
    const { body } = await admin(`GET ${endpoints}${query({ applicationName: app })}`)
    const createdCount = registered.filter(({ status }) => status === 201).length
    assert.equal(body.totalElements, deleted.status === 204 ? 0 : createdCount)
  })

  test('the endpoints of a deleted tenant are deleted', async () => {
    const doomed = waypost.as(aTenantAdmin('doomed'))
    const { version } = await anApplication(doomed)
    const id = await anEndpoint(version, { metadata: { a: 1 } }, doomed)
    await waypost.kit.db.tx((sql) => waypost.kit.bus.publish(sql, TenantDeleted, { tenantId: 'doomed' }))
    await eventually(async () => {
      assert.equal((await platform(`GET ${endpoints}/${id}`)).status, 404)
      const { body } = await doomed(`GET ${endpoints}`)
      assert.equal(body.totalElements, 0)
    })
  })
})
