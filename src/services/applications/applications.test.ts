import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { addRealms, grantsOn } from '../../../test/harness/realm-state.ts'
import { type Ask, openTestPlatform } from '../../../test/harness/test-platform.ts'
import identity from '../../identity/index.ts'
import type { EventType } from '../../kernel/bus.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { attributesInstance } from './configuration.ts'
import { Applications } from './contract.ts'
import * as events from './events.ts'
import applications from './index.ts'

const root = '/api/v1'
const waypost = await openTestPlatform({ services: [applications, identity] })
await addRealms(waypost, 'platform', 'default', 'other', 'doomed', 'lister')
const admin = waypost.as(aTenantAdmin())
const other = waypost.as(aTenantAdmin('other'))
const platform = waypost.as(aPlatformAdmin())

const publishedEvents: { event: string; payload: object }[] = []
for (const event of Object.values(events) as EventType<object>[])
  waypost.kit.bus.subscribe(event, (payload) => publishedEvents.push({ event: event.name, payload }))

let count = 0
const anApplication = async (ask: Ask = admin, body: object = {}) => {
  const name = `app-${count++}`
  const answer = await ask(`POST ${root}/applications`, { name, ...body })
  assert.equal(answer.status, 201, answer.text)
  return name
}
const aVersion = async (application: string, nameSuffix = 'v1', body: object = {}, ask: Ask = admin) => {
  const answer = await ask(`POST ${root}/applications/${application}/app-versions`, { nameSuffix, ...body })
  assert.equal(answer.status, 201, answer.text)
  return `${application}-${nameSuffix}`
}
const grantsOf = (application: string) => grantsOn(waypost.kit.db.sql, `application-${application}`)
const names = (list: { name: string }[]) => list.map(({ name }) => name)

suite('creating an application', () => {
  test('creating an application returns a Location below the root path of the request', async () => {
    const plain = await admin(`POST ${root}/applications`, { name: 'smart_kettle-1' })
    assert.equal(plain.status, 201)
    assert.equal(plain.text, '')
    assert.equal(plain.headers.location, 'http://waypost.test/api/v1/applications/smart_kettle-1')
    const alias = await admin('POST /tekton/api/v1/applications', { name: 'aliased' })
    assert.equal(alias.headers.location, 'http://waypost.test/tekton/api/v1/applications/aliased')
  })

  test('creating an application stores the given fields with the tenant and dates, without versions', async () => {
    const name = await anApplication(admin, { displayName: 'Kettle "é" ☕', description: '', tenantId: 'other', x: 1 })
    const { status, body, headers } = await admin(`GET ${root}/applications/${name}`)
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    const { createdDate, updatedDate, ...rest } = body
    assert.deepEqual(rest, {
      name,
      tenantId: 'default',
      displayName: 'Kettle "é" ☕',
      description: '',
      versions: [],
    })
    assert.equal(createdDate, new Date(createdDate).toISOString())
    assert.equal(updatedDate, createdDate)
  })

  test('creating an application grants the creator every scope on it and publishes an event', async () => {
    const caller = aTenantAdmin()
    const name = await anApplication(waypost.as(caller))
    const granted = { tenantId: 'default', subjectId: caller.subject.id, scopes: ['*'] }
    assert.deepEqual([...(await grantsOf(name))], [granted])
    const payload = { tenantId: 'default', applicationName: name }
    assert.deepEqual(publishedEvents.at(-1), { event: 'applications.application.created', payload })
  })

  test('creating an application rejects a name that any tenant already uses, and changes nothing', async () => {
    const name = await anApplication()
    const before = [...(await grantsOf(name))]
    for (const ask of [admin, other]) {
      const answer = await ask(`POST ${root}/applications`, { name })
      assert.equal(answer.status, 409)
      assert.deepEqual(answer.body, { message: `Application ${name} already exists; choose another name` })
    }
    assert.deepEqual([...(await grantsOf(name))], before)
  })

  test('creating an application succeeds once if concurrent requests use the same name', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => admin(`POST ${root}/applications`, { name: 'contested' })),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409])
  })

  test('creating an application rejects invalid input and names the field', async () => {
    const cases: [unknown, string][] = [
      [{}, 'name'],
      [{ name: '' }, 'name'],
      [{ name: 'Upper' }, 'name'],
      [{ name: 'with space' }, 'name'],
      [{ name: 'dot.ted' }, 'name'],
      [{ name: 'new\nline' }, 'name'],
      [{ name: 'trailing\n' }, 'name'],
      [{ name: 'é' }, 'name'],
      [{ name: 'a'.repeat(129) }, 'name'],
      [{ name: 7 }, 'name'],
      [{ name: null }, 'name'],
      [{ name: 'ok', displayName: 5 }, 'displayName'],
      [{ name: 'ok', displayName: 'd'.repeat(256) }, 'displayName'],
      [{ name: 'ok', displayName: 'nul \0' }, 'displayName'],
      [{ name: 'ok', description: 'd'.repeat(4097) }, 'description'],
      [{ name: 'ok', description: [] }, 'description'],
      [[], 'body'],
      ['"text"', 'body'],
      ['null', 'body'],
      ['{', 'body'],
    ]
    for (const [body, field] of cases) {
      const answer = await admin(`POST ${root}/applications`, body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match(answer.body.message, new RegExp(`^${field}`), JSON.stringify(body))
    }
    assert.equal((await admin(`POST ${root}/applications`)).status, 400)
    assert.equal((await admin(`GET ${root}/applications/ok`)).status, 404)
  })

  test('creating an application accepts names of one character and of the maximum length, and __proto__', async () => {
    for (const name of ['a'.repeat(128), '-', '__proto__', 'constructor']) {
      assert.equal((await admin(`POST ${root}/applications`, { name })).status, 201)
      assert.equal((await admin(`GET ${root}/applications/${name}`)).body.name, name)
    }
  })

  test('creating an application for another tenant requires the permission on the platform', async () => {
    const forbidden = await admin(`POST ${root}/applications?tenantId=other`, { name: 'theirs' })
    assert.equal(forbidden.status, 403)
    assert.equal((await admin(`POST ${root}/applications?tenantId=default`, { name: 'ours' })).status, 201)
    assert.equal((await platform(`POST ${root}/applications?tenantId=other`, { name: 'theirs' })).status, 201)
    assert.equal((await other(`GET ${root}/applications/theirs`)).body.tenantId, 'other')
    assert.equal((await grantsOf('theirs')).length, 0)
    const unknownTenant = await platform(`POST ${root}/applications?tenantId=nobody`, { name: 'lost' })
    assert.equal(unknownTenant.status, 400)
    assert.match(unknownTenant.body.message, /^tenantId: /)
  })

  test('creating an application requires the scope on the tenant or on the platform', async () => {
    const scopes = { 'application-app-0': ['*'], 'tenant-system': ['application:read', 'application:update'] }
    const without = waypost.as(aCaller({ on: scopes }))
    assert.equal((await without(`POST ${root}/applications`, { name: 'never' })).status, 403)
    const onTenant = waypost.as(aCaller({ on: { 'tenant-system': ['tenant:application:create'] } }))
    assert.equal((await onTenant(`POST ${root}/applications`, { name: 'by-tenant' })).status, 201)
    const onPlatform = aCaller({ tenantId: 'platform', on: { 'platform-system': ['platform:application:create'] } })
    const answer = await waypost.as(onPlatform)(`POST ${root}/applications?tenantId=default`, { name: 'by-platform' })
    assert.equal(answer.status, 201)
    assert.equal((await waypost.as(undefined)(`POST ${root}/applications`, { name: 'never' })).status, 401)
  })
})

test('generated names have 20 base32hex characters, and a given name is rejected', async () => {
  const generating = await openTestPlatform({
    services: [applications, identity],
    environment: { WAYPOST_GENERATE_APPLICATION_NAMES: 'on' },
  })
  await addRealms(generating, 'default')
  const ask = generating.as(aTenantAdmin())
  for (const body of [{}, { name: '' }, undefined]) {
    const answer = await ask(`POST ${root}/applications`, body)
    assert.equal(answer.status, 201)
    assert.match(answer.headers.location!, /\/applications\/[0-9a-v]{20}$/)
  }
  const created = await ask(`POST ${root}/applications`, { name: 'mine' })
  assert.equal(created.status, 400)
  assert.match(created.body.message, /^name: /)
})

suite('reading applications', () => {
  test('reading applications lists the applications of the tenant with their versions, in the order of names', async () => {
    const ask = waypost.as(aTenantAdmin('lister'))
    assert.deepEqual((await ask(`GET ${root}/applications`)).body, [])
    for (const name of ['list-b', 'list_a', 'list-a']) await ask(`POST ${root}/applications`, { name })
    await aVersion('list-b', 'v2', {}, ask)
    await aVersion('list-b', 'v1', { displayName: 'One' }, ask)
    const { body, status } = await ask(`GET ${root}/applications`)
    assert.equal(status, 200)
    assert.deepEqual(names(body), ['list-a', 'list-b', 'list_a'])
    assert.deepEqual(names(body[1].versions), ['list-b-v1', 'list-b-v2'])
    assert.deepEqual(body[1], (await ask(`GET ${root}/applications/list-b`)).body)
  })

  test('reading applications lists only applications that the caller may read', async () => {
    const [visible, hidden] = [await anApplication(), await anApplication()]
    const ofOtherTenant = await anApplication(other)
    const on = {
      [`application-${visible}`]: ['application:read'],
      [`application-${ofOtherTenant}`]: ['application:read'],
    }
    const ask = waypost.as(aCaller({ on }))
    assert.deepEqual(names((await ask(`GET ${root}/applications`)).body), [visible])
    assert.equal((await ask(`GET ${root}/applications/${visible}`)).status, 200)
    for (const name of [hidden, ofOtherTenant])
      assert.equal((await ask(`GET ${root}/applications/${name}`)).status, 404)
    assert.deepEqual((await waypost.as(aCaller())(`GET ${root}/applications`)).body, [])
  })

  test('reading applications returns the same bytes if the application does not exist, is hidden or belongs to another tenant', async () => {
    const hidden = await anApplication()
    const ask = waypost.as(aCaller({ on: { 'application-app-0': ['*'] } }))
    const paths = (name: string) => [
      `GET ${root}/applications/${name}`,
      `PATCH ${root}/applications/${name}`,
      `DELETE ${root}/applications/${name}`,
      `GET ${root}/applications/${name}/app-versions`,
      `POST ${root}/applications/${name}/app-versions`,
      `GET ${root}/app-configs/applications/${name}`,
      `PUT ${root}/app-configs/applications/${name}`,
      `PATCH ${root}/app-configs/applications/${name}?serviceInstanceName=epts`,
    ]
    const shape = async (asker: Ask, name: string) =>
      await Promise.all(
        paths(name).map(async (path) => {
          const { status, text, headers } = await asker(path, path.startsWith('GET') ? undefined : { nameSuffix: 'a' })
          const { 'x-correlation-id': _id, date: _date, ...rest } = headers
          return { status, text: text.replaceAll(name, '<name>'), rest: { ...rest, 'content-length': '' } }
        }),
      )
    const missing = await shape(ask, 'missing')
    assert.ok(missing.every(({ status }) => status === 404))
    assert.deepEqual(await shape(ask, hidden), missing)
    assert.deepEqual(await shape(other, hidden), missing)
  })

  test('reading applications of another tenant with the parameter tenantId requires a permission on the platform', async () => {
    const name = await anApplication(other)
    const scopes = [['application:read'], ['platform:application:read']]
    for (const scope of scopes) {
      const ask = waypost.as(aCaller({ tenantId: 'platform', on: { 'platform-system': scope } }))
      assert.ok(names((await ask(`GET ${root}/applications?tenantId=other`)).body).includes(name))
      assert.equal((await ask(`GET ${root}/applications/${name}?tenantId=other`)).status, 200)
      assert.equal((await ask(`GET ${root}/applications/${name}?tenantId=default`)).status, 404)
      assert.equal((await ask(`GET ${root}/applications/${name}`)).status, 200)
    }
    assert.equal((await admin(`GET ${root}/applications?tenantId=other`)).status, 403)
    assert.equal((await admin(`GET ${root}/applications/${name}?tenantId=other`)).status, 403)
    const list = await other(`GET ${root}/applications?tenantId=other`)
    assert.deepEqual(list.body, (await other(`GET ${root}/applications`)).body)
  })

  test('reading applications with the current ETag returns 304', async () => {
    const name = await anApplication()
    for (const path of [`GET ${root}/applications/${name}`, `GET ${root}/applications`]) {
      const { headers } = await admin(path)
      const condition = { 'if-none-match': headers.etag! }
      const notModified = await admin(path, undefined, condition)
      assert.deepEqual([notModified.status, notModified.text], [304, ''])
      await aVersion(name, `e${count++}`)
      assert.equal((await admin(path, undefined, condition)).status, 200)
    }
  })

  test('reading applications streams a list longer than a page completely and in order', async () => {
    const ask = waypost.as(aTenantAdmin('large'))
    const description = 'x'.repeat(2000)
    await waypost.kit.db.sql`
      insert into applications.applications (name, tenant_id, description, created_date, updated_date, document)
      select 'large-' || lpad(i::text, 5, '0'), 'large', ${description}, now(), now(),
        json_build_object('name', 'large-' || lpad(i::text, 5, '0'), 'description', ${description}::text)::text
      from generate_series(1, 2500) i`
    const { status, body, headers } = await ask(`GET ${root}/applications`)
    assert.equal(status, 200)
    assert.equal(headers.etag, undefined)
    assert.equal(body.length, 2500)
    assert.deepEqual(names(body), names(body).toSorted())
    const some = aCaller({
      tenantId: 'large',
      on: Object.fromEntries(names(body).map((name) => [`application-${name}`, ['application:read']])),
    })
    assert.equal((await waypost.as(some)(`GET ${root}/applications`)).body.length, 2500)
  })
})

suite('changing an application', () => {
  test('changing an application replaces only the given fields, and the next read returns them', async () => {
    const name = await anApplication(admin, { displayName: 'Old', description: 'Kept' })
    const before = (await admin(`GET ${root}/applications/${name}`)).body
    await admin(`GET ${root}/applications`)
    const answer = await admin(`PATCH ${root}/applications/${name}`, {
      displayName: 'New',
      name: 'other',
      tenantId: 'x',
    })
    assert.deepEqual([answer.status, answer.text], [204, ''])
    const after = (await admin(`GET ${root}/applications/${name}`)).body
    assert.deepEqual({ ...after, updatedDate: '' }, { ...before, displayName: 'New', updatedDate: '' })
    assert.ok(after.updatedDate >= before.createdDate)
    const listed = (await admin(`GET ${root}/applications`)).body.find((one: { name: string }) => one.name === name)
    assert.deepEqual(listed, after)
    assert.equal(publishedEvents.at(-1)?.event, 'applications.application.updated')
  })

  test('changing an application with a request that changes no field succeeds and publishes no event', async () => {
    const name = await anApplication()
    const eventsBefore = publishedEvents.length
    assert.equal((await admin(`PATCH ${root}/applications/${name}`, { unknown: 1 })).status, 204)
    assert.equal(publishedEvents.length, eventsBefore)
  })

  test('changing an application without the scope is answered with 403 if the caller may read the application', async () => {
    const name = await anApplication()
    const reader = waypost.as(aCaller({ on: { [`application-${name}`]: ['application:read'] } }))
    const writer = waypost.as(aCaller({ on: { [`application-${name}`]: ['application:update'] } }))
    assert.equal((await reader(`PATCH ${root}/applications/${name}`, {})).status, 403)
    assert.equal((await reader(`DELETE ${root}/applications/${name}`)).status, 403)
    assert.equal((await reader(`POST ${root}/applications/${name}/app-versions`, { nameSuffix: 'a' })).status, 403)
    assert.equal((await reader(`PUT ${root}/app-configs/applications/${name}`, {})).status, 403)
    assert.equal((await writer(`PATCH ${root}/applications/${name}`, { displayName: 'By grant' })).status, 204)
    assert.equal((await writer(`GET ${root}/applications/${name}`)).status, 404)
    assert.equal((await waypost.as(undefined)(`PATCH ${root}/applications/${name}`, {})).status, 401)
  })

  test('changing an application with If-Match of an older state is rejected', async () => {
    const name = await anApplication()
    const path = `${root}/applications/${name}`
    const { etag } = (await admin(`GET ${path}`)).headers
    assert.equal((await admin(`PATCH ${path}`, { displayName: 'A' }, { 'if-match': etag! })).status, 204)
    assert.equal((await admin(`PATCH ${path}`, { displayName: 'B' }, { 'if-match': etag! })).status, 412)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': etag! })).status, 412)
    assert.equal((await admin(`GET ${path}`)).body.displayName, 'A')
  })

  test('changing an application rejects invalid input', async () => {
    const name = await anApplication()
    for (const body of [{ displayName: null }, { description: 1 }, { displayName: 'x'.repeat(256) }, [], 'null'])
      assert.equal((await admin(`PATCH ${root}/applications/${name}`, body)).status, 400)
  })
})

suite('deleting an application', () => {
  test('deleting an application deletes its versions, configurations and grants, and publishes events', async () => {
    const name = await anApplication()
    const version = await aVersion(name)
    const config = { epts: { platform: { applications: { [name]: { versions: { [version]: {} } } } } } }
    await admin(`PUT ${root}/app-configs/applications/${name}`, config)
    const eventsBefore = publishedEvents.length
    assert.equal((await grantsOf(name)).length, 1)
    assert.equal((await admin(`DELETE ${root}/applications/${name}`)).status, 204)
    assert.equal((await admin(`GET ${root}/applications/${name}`)).status, 404)
    assert.equal((await admin(`DELETE ${root}/applications/${name}`)).status, 404)
    assert.ok(!names((await admin(`GET ${root}/applications`)).body).includes(name))
    assert.equal((await grantsOf(name)).length, 0)
    assert.deepEqual(
      publishedEvents.slice(eventsBefore).map(({ event }) => event),
      ['applications.version.deleted', 'applications.application.deleted'],
    )
    const ask = waypost.ask(Applications)
    assert.equal(await ask.findVersion(version), undefined)
  })

  test('deleting an application or a version is rejected while objects use it', async () => {
    const name = await anApplication()
    const version = await aVersion(name)
    const used = new Set([version])
    waypost.ask(Applications).addUsage({
      plural: 'endpoints',
      count: async (_sql, target) =>
        used.has(target.versionName ?? '') || (used.size > 0 && target.applicationName === name) ? 3 : 0,
    })
    for (const path of [`${root}/applications/${name}`, `${root}/applications/${name}/app-versions/${version}`]) {
      const answer = await admin(`DELETE ${path}`)
      assert.equal(answer.status, 409)
      assert.match(answer.body.message, /3 endpoints/)
      assert.equal((await admin(`GET ${path}`)).status, 200)
    }
    used.clear()
    assert.equal((await admin(`DELETE ${root}/applications/${name}/app-versions/${version}`)).status, 204)
    assert.equal((await admin(`DELETE ${root}/applications/${name}`)).status, 204)
  })
})

suite('versions', () => {
  test('versions have the name of the application as prefix and are part of the application', async () => {
    const name = await anApplication()
    const path = `${root}/applications/${name}/app-versions`
    const created = await admin(`POST ${path}`, { nameSuffix: 'v1', displayName: 'One', name: 'ignored' })
    assert.equal(created.status, 201)
    assert.equal(created.headers.location, `http://waypost.test${path}/${name}-v1`)
    const { body, headers } = await admin(`GET ${path}/${name}-v1`)
    assert.deepEqual(Object.keys(body), ['name', 'displayName', 'createdDate', 'updatedDate'])
    assert.equal(body.name, `${name}-v1`)
    assert.deepEqual((await admin(`GET ${path}`)).body, [body])
    assert.deepEqual((await admin(`GET ${root}/applications/${name}`)).body.versions, [body])
    assert.equal((await admin(`GET ${path}/${name}-v1`, undefined, { 'if-none-match': headers.etag! })).status, 304)
    const payload = { tenantId: 'default', applicationName: name, versionName: `${name}-v1` }
    assert.deepEqual(publishedEvents.at(-1), { event: 'applications.version.created', payload })
    assert.equal((await admin(`POST ${path}`, { nameSuffix: 'v1' })).status, 409)
  })

  test('versions are changed and deleted, and the next read of the application shows the change', async () => {
    const name = await anApplication()
    const version = await aVersion(name, 'v1', { displayName: 'One', description: 'Kept' })
    const path = `${root}/applications/${name}/app-versions/${version}`
    const { etag } = (await admin(`GET ${path}`)).headers
    assert.equal((await admin(`PATCH ${path}`, { displayName: 'Uno' }, { 'if-match': etag! })).status, 204)
    assert.equal((await admin(`PATCH ${path}`, { displayName: 'Due' }, { 'if-match': etag! })).status, 412)
    const [shown] = (await admin(`GET ${root}/applications/${name}`)).body.versions
    assert.deepEqual([shown.displayName, shown.description], ['Uno', 'Kept'])
    assert.equal((await admin(`DELETE ${path}`)).status, 204)
    assert.equal((await admin(`GET ${path}`)).status, 404)
    assert.deepEqual((await admin(`GET ${root}/applications/${name}`)).body.versions, [])
    assert.equal((await admin(`PATCH ${path}`, {})).status, 404)
    assert.equal((await admin(`DELETE ${path}`)).status, 404)
  })

  test('versions are found only below their own application', async () => {
    const [one, two] = [await anApplication(), await anApplication()]
    const version = await aVersion(one)
    const answer = await admin(`GET ${root}/applications/${two}/app-versions/${version}`)
    assert.equal(answer.status, 404)
    assert.deepEqual(answer.body, {
      message: `There is no application version ${version}, or the caller may not read it`,
    })
    assert.equal((await admin(`DELETE ${root}/applications/${two}/app-versions/${version}`)).status, 404)
    assert.equal((await other(`GET ${root}/applications/${one}/app-versions/${version}`)).status, 404)
  })

  test('versions reject an invalid suffix', async () => {
    const name = await anApplication()
    for (const nameSuffix of ['', 'V1', 'v-1', 'v_1', 'v 1', 'v1\n', 'a'.repeat(65), 1, null, undefined]) {
      const answer = await admin(`POST ${root}/applications/${name}/app-versions`, { nameSuffix })
      assert.equal(answer.status, 400, String(nameSuffix))
      assert.match(answer.body.message, /^nameSuffix: /)
    }
  })

  test('versions are limited to 1000 per application', async () => {
    const name = await anApplication()
    await waypost.kit.db.sql`
      insert into applications.versions (name, application_name, tenant_id, created_date, updated_date)
      select ${name} || '-' || i, ${name}, 'default', now(), now() from generate_series(1, 1000) i`
    const answer = await admin(`POST ${root}/applications/${name}/app-versions`, { nameSuffix: 'more' })
    assert.equal(answer.status, 409)
    assert.match(answer.body.message, /1000 versions/)
  })
})

suite('other services', () => {
  test('the contract tells other services whether a tenant has an application, and which application a version belongs to', async () => {
    const name = await anApplication()
    const version = await aVersion(name)
    const ask = waypost.ask(Applications)
    assert.equal(await ask.exists(waypost.kit.system('default'), { name }), true)
    assert.equal(await ask.exists(waypost.kit.system('other'), { name }), false)
    assert.equal(await ask.exists(waypost.kit.system('default'), { name: 'missing' }), false)
    const found = { tenantId: 'default', applicationName: name, versionName: version }
    assert.deepEqual({ ...(await ask.findVersion(version)) }, found)
    assert.equal(await ask.findVersion(name), undefined)
  })
})

test('deleting a tenant deletes only its own applications, versions and configurations', async () => {
  const doomed = waypost.as(aTenantAdmin('doomed'))
  const name = await anApplication(doomed)
  const version = await aVersion(name, 'v1', {}, doomed)
  const remaining = await anApplication()
  await doomed(`PUT ${root}/app-configs/applications/${name}`, {
    adx: { platform: { applications: { [name]: { a: 1 } } } },
  })
  const tenantConfig = { adx: { platform: { tenants: { doomed: { config: { a: 1 } } } } } }
  assert.equal((await doomed(`PUT ${root}/tenant-configs`, tenantConfig)).status, 204)
  const ask = waypost.ask(Applications)
  const query = { tenantId: 'doomed', instance: attributesInstance, applicationName: name }
  assert.deepEqual((await ask.configuration(query)).config, { a: 1 })
  assert.deepEqual(await ask.tenantConfiguration(query), { a: 1 })

  await waypost.kit.db.tx((sql) => waypost.kit.bus.publish(sql, TenantDeleted, { tenantId: 'doomed' }))
  await waypost.kit.bus.settled()
  assert.equal((await doomed(`GET ${root}/applications/${name}`)).status, 404)
  assert.deepEqual((await doomed(`GET ${root}/applications`)).body, [])
  assert.deepEqual((await doomed(`GET ${root}/tenant-configs`)).body, {})
  assert.equal(await ask.findVersion(version), undefined)
  assert.deepEqual((await ask.configuration(query)).config, {})
  assert.deepEqual(await ask.tenantConfiguration(query), {})
  assert.equal((await admin(`GET ${root}/applications/${remaining}`)).status, 200)
  assert.equal((await admin(`POST ${root}/applications`, { name })).status, 201)
})
