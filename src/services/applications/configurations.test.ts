import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { freshDatabase, temporaryDirectory } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { addRealms } from '../../../test/harness/realm-state.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { buildServices } from '../../assembly/build.ts'
import { loadConfig } from '../../config.ts'
import { gatewayInstance } from '../../gateway/configuration.ts'
import identity from '../../identity/index.ts'
import { requestStatusInstance } from '../traffic-log/configuration.ts'
import { attributesInstance } from './configuration.ts'
import { Applications } from './contract.ts'
import { ConfigurationChanged } from './events.ts'
import applications from './index.ts'

const root = '/api/v1'
const waypost = await openTestPlatform({ services: [applications, identity] })
await addRealms(waypost, 'platform', 'default', 'other')
const admin = waypost.as(aTenantAdmin())
const platform = waypost.as(aPlatformAdmin())
const ask = waypost.ask(Applications)

const publishedEvents: object[] = []
waypost.kit.bus.subscribe(ConfigurationChanged, (payload) => publishedEvents.push(payload))

let count = 0
/** Creates an application with the versions `<name>-v1` and `<name>-v2`. */
async function anApplication() {
  const name = `conf-${count++}`
  await admin(`POST ${root}/applications`, { name })
  for (const nameSuffix of ['v1', 'v2']) await admin(`POST ${root}/applications/${name}/app-versions`, { nameSuffix })
  return name
}
const pathOf = (name: string, version?: string) =>
  `${root}/app-configs/applications/${name}${version ? `/app-versions/${version}` : ''}`
const enveloped = (instance: string, name: string, config: object, word = 'platform') => ({
  [instance]: { [word]: { applications: { [name]: config } } },
})
const ofVersion = (instance: string, name: string, version: string, config: object, word = 'platform') =>
  enveloped(instance, name, { versions: { [version]: config } }, word)
const autoExtract = (on: boolean) => ({ 'time-series': { 'auto-extract': on } })

test('the initial load accepts an envelope with all configurations only while no configuration exists', async () => {
  const [first, second] = [await anApplication(), await anApplication()]
  const envelope = {
    dcx: { kaa: { applications: { [first]: { a: 1, versions: { [`${first}-v1`]: { a: 2 } } }, [second]: { b: 1 } } } },
    adx: { platform: { applications: { [first]: { versions: { [`${first}-v2`]: { x: [1] } } } } } },
  }
  const post = `POST ${root}/app-configs`
  assert.equal((await admin(post, envelope)).status, 403)
  const unknown = await platform(post, enveloped('dcx', 'nowhere', {}))
  assert.equal(unknown.status, 400)
  assert.match(unknown.body.message, /^dcx\.platform\.applications\.nowhere: /)

  const loaded = await platform(post, envelope)
  assert.equal(loaded.status, 201)
  assert.deepEqual(loaded.body, envelope)
  assert.equal(loaded.headers.location, `http://waypost.test${root}/app-configs`)
  assert.equal(publishedEvents.length, 4)
  assert.equal((await platform(post, envelope)).status, 409)

  const all = await platform(`GET ${root}/app-configs`)
  assert.deepEqual(all.body, {
    adx: { platform: { applications: { [first]: { versions: { [`${first}-v2`]: { x: [1] } } } } } },
    dcx: {
      platform: { applications: { [first]: { a: 1, versions: { [`${first}-v1`]: { a: 2 } } }, [second]: { b: 1 } } },
    },
  })
  const some = await platform(`GET ${root}/app-configs?serviceInstanceName=adx&serviceInstanceName=epts`)
  assert.deepEqual(Object.keys(some.body), ['adx'])
  assert.deepEqual((await platform(`GET ${root}/app-configs?serviceInstanceName=epts`)).body, {})
  assert.equal((await admin(`GET ${root}/app-configs`)).status, 403)
})

suite('the configuration of an application', () => {
  test('the configuration of an application is empty at first, and returned as it was written', async () => {
    const name = await anApplication()
    const empty = await admin(`GET ${pathOf(name)}`)
    assert.deepEqual([empty.status, empty.text], [200, '{}'])
    const envelope = { ...enveloped('epts', name, autoExtract(false)), ...enveloped('adx', name, { any: [null, 'é'] }) }
    const put = await admin(`PUT ${pathOf(name)}`, envelope)
    assert.deepEqual([put.status, put.text], [204, ''])
    for (const query of ['', '?serviceInstanceName='])
      assert.deepEqual((await admin(`GET ${pathOf(name)}${query}`)).body, envelope)
    for (const query of ['epts', 'epts,%20al', 'epts&serviceInstanceName=unknown'])
      assert.deepEqual(
        (await admin(`GET ${pathOf(name)}?serviceInstanceName=${query}`)).body,
        enveloped('epts', name, autoExtract(false)),
      )
    const both = await admin(`GET ${pathOf(name)}?serviceInstanceName=epts&serviceInstanceName=adx`)
    assert.deepEqual(both.body, envelope)
  })

  test('the configuration of an application is accepted with the key `kaa` and returned with the key `platform`', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    assert.equal((await admin(`PUT ${pathOf(name)}`, enveloped('dcx', name, { a: 1 }, 'kaa'))).status, 204)
    assert.deepEqual((await admin(`GET ${pathOf(name)}`)).body, enveloped('dcx', name, { a: 1 }))
    const put = await admin(`PUT ${pathOf(name, version)}`, ofVersion('dcx', name, version, { a: 2 }, 'kaa'))
    assert.equal(put.status, 204)
    assert.deepEqual((await admin(`GET ${pathOf(name, version)}`)).body, ofVersion('dcx', name, version, { a: 2 }))
  })

  test('the configuration of an application is replaced for the named instances only', async () => {
    const name = await anApplication()
    await admin(`PUT ${pathOf(name)}`, {
      ...enveloped('dcx', name, { a: 1, b: 1 }),
      ...enveloped('adx', name, { c: 1 }),
    })
    await admin(`PUT ${pathOf(name)}`, enveloped('dcx', name, { a: 2 }))
    const { body } = await admin(`GET ${pathOf(name)}`)
    assert.deepEqual(body, { ...enveloped('adx', name, { c: 1 }), ...enveloped('dcx', name, { a: 2 }) })
  })

  test('the configuration of an application is independent of the configurations of its versions', async () => {
    const name = await anApplication()
    const [v1, v2] = [`${name}-v1`, `${name}-v2`]
    await admin(`PUT ${pathOf(name, v1)}`, ofVersion('dcx', name, v1, { level: 'v1' }))
    await admin(`PUT ${pathOf(name)}`, enveloped('dcx', name, { level: 'application' }))
    assert.deepEqual((await admin(`GET ${pathOf(name, v1)}`)).body, ofVersion('dcx', name, v1, { level: 'v1' }))
    await admin(`PUT ${pathOf(name, v1)}`, ofVersion('dcx', name, v1, { level: 'new' }))
    assert.deepEqual((await admin(`GET ${pathOf(name)}`)).body, enveloped('dcx', name, { level: 'application' }))
    assert.deepEqual((await admin(`GET ${pathOf(name, v2)}`)).body, {})

    await admin(`PUT ${pathOf(name)}`, ofVersion('dcx', name, v2, { level: 'v2' }))
    assert.deepEqual((await admin(`GET ${pathOf(name)}`)).body, enveloped('dcx', name, { level: 'application' }))
    assert.deepEqual((await admin(`GET ${pathOf(name, v2)}`)).body, ofVersion('dcx', name, v2, { level: 'v2' }))
    assert.deepEqual((await admin(`GET ${pathOf(name, v1)}`)).body, ofVersion('dcx', name, v1, { level: 'new' }))
  })

  test('the configuration of an application rejects an invalid envelope with the path of the mistake and changes nothing', async () => {
    const name = await anApplication()
    const [v1, v2] = [`${name}-v1`, `${name}-v2`]
    const good = enveloped('dcx', name, { a: 1 })
    const cases: [path: string, body: unknown, where: string][] = [
      [pathOf(name), {}, 'body'],
      [pathOf(name), [], 'body'],
      [pathOf(name), { ...good, nope: { platform: { applications: { [name]: {} } } } }, 'nope'],
      [pathOf(name), JSON.stringify({ __proto: 1 }).replace('__proto', '__proto__'), '__proto__'],
      [pathOf(name), { dcx: 1 }, 'dcx'],
      [pathOf(name), { dcx: {} }, 'dcx.platform'],
      [pathOf(name), { dcx: { platform: {}, kaa: {} } }, 'dcx'],
      [pathOf(name), { dcx: { platform: [] } }, 'dcx.platform'],
      [pathOf(name), { dcx: { kaa: {} } }, 'dcx.kaa.applications'],
      [pathOf(name), { dcx: { kaa: { applications: {} } } }, 'dcx.kaa.applications'],
      [pathOf(name), enveloped('dcx', 'another', {}), 'dcx.platform.applications.another'],
      [pathOf(name), { ...good, ...enveloped('adx', name, [] as never) }, `adx.platform.applications.${name}`],
      [pathOf(name), ofVersion('dcx', name, 'ghost', {}), `dcx.platform.applications.${name}.versions.ghost`],
      [pathOf(name), enveloped('dcx', name, { versions: 1 }), `dcx.platform.applications.${name}.versions`],
      [pathOf(name, v1), ofVersion('dcx', name, v2, {}), `dcx.platform.applications.${name}.versions.${v2}`],
      [pathOf(name, v1), enveloped('dcx', name, { a: 1 }), `dcx.platform.applications.${name}`],
      [
        pathOf(name),
        { ...good, ...enveloped('epts', name, { 'time-series': { 'auto-extract': 'yes' } }, 'kaa') },
        `epts.kaa.applications.${name}.time-series.auto-extract`,
      ],
    ]
    for (const [path, body, where] of cases) {
      const answer = await admin(`PUT ${path}`, body)
      assert.equal(answer.status, 400, `${where}: ${answer.text}`)
      assert.ok(answer.body.message.startsWith(`${where}: `), `${where}: ${answer.text}`)
    }
    assert.deepEqual((await admin(`GET ${pathOf(name)}`)).body, {})
    assert.equal((await admin(`PUT ${pathOf(name, `${name}-v9`)}`, good)).status, 404)
    assert.equal((await admin(`GET ${pathOf(name, `${name}-v9`)}`)).status, 404)
  })

  test('the configuration of an application stores __proto__ and similar keys as plain data', async () => {
    const name = await anApplication()
    const text = `{"adx":{"platform":{"applications":{"${name}":{"__proto__":{"polluted":1},"constructor":2}}}}}`
    assert.equal((await admin(`PUT ${pathOf(name)}`, text)).status, 204)
    assert.equal((await admin(`PATCH ${pathOf(name)}?serviceInstanceName=adx`, '{"__proto__":{"b":2}}')).status, 204)
    const { text: answer } = await admin(`GET ${pathOf(name)}`)
    assert.match(answer, /"__proto__":\{"b":2,"polluted":1\}|"__proto__":\{"polluted":1,"b":2\}/)
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })

  test('the configuration of an application publishes one event per change and none without a change', async () => {
    const name = await anApplication()
    const [v1] = [`${name}-v1`]
    const envelope = { ...enveloped('dcx', name, { a: 1, versions: { [v1]: {} } }), ...enveloped('adx', name, {}) }
    publishedEvents.length = 0
    await admin(`PUT ${pathOf(name)}`, envelope)
    const base = { tenantId: 'default', applicationName: name }
    assert.deepEqual(publishedEvents, [
      { ...base, instance: 'dcx', level: 'application' },
      { ...base, instance: 'dcx', level: 'version', versionName: v1 },
      { ...base, instance: 'adx', level: 'application' },
    ])
    await admin(`PUT ${pathOf(name)}`, envelope)
    assert.equal(publishedEvents.length, 3)
  })

  test('the configuration of an application returns 304 for its ETag', async () => {
    const name = await anApplication()
    const { headers } = await admin(`GET ${pathOf(name)}`)
    const notModified = await admin(`GET ${pathOf(name)}`, undefined, { 'if-none-match': headers.etag! })
    assert.equal(notModified.status, 304)
  })

  test('the configuration of an application requires the same permissions as the application', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    const reader = waypost.as(aCaller({ on: { [`application-${name}`]: ['application:read'] } }))
    const otherTenant = waypost.as(aTenantAdmin('other'))
    const patch = `PATCH ${pathOf(name)}?serviceInstanceName=dcx`
    for (const path of [pathOf(name), pathOf(name, version)]) {
      assert.equal((await reader(`GET ${path}`)).status, 200)
      assert.equal((await reader(`PUT ${path}`, enveloped('dcx', name, {}))).status, 403)
      assert.equal((await otherTenant(`GET ${path}`)).status, 404)
      assert.equal((await otherTenant(`PUT ${path}`, enveloped('dcx', name, {}))).status, 404)
    }
    assert.equal((await reader(patch, {})).status, 403)
    assert.equal((await otherTenant(patch, {})).status, 404)
    assert.equal((await waypost.as(undefined)(`GET ${pathOf(name)}`)).status, 401)
  })
})

suite('a patch', () => {
  test('a patch is merged by RFC 7396, for an application and for a version', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    for (const path of [pathOf(name), pathOf(name, version)]) {
      const patch = `PATCH ${path}?serviceInstanceName=adx`
      assert.equal((await admin(patch, { a: { b: 1, c: 2 }, d: [1, 2] })).status, 204)
      const merge = { 'content-type': 'application/merge-patch+json' }
      assert.equal((await admin(patch, { a: { c: null, e: { f: 3 } }, d: [3] }, merge)).status, 204)
    }
    const merged = { a: { b: 1, e: { f: 3 } }, d: [3] }
    assert.deepEqual((await admin(`GET ${pathOf(name)}`)).body, enveloped('adx', name, merged))
    assert.deepEqual((await admin(`GET ${pathOf(name, version)}`)).body, ofVersion('adx', name, version, merged))
  })

  test('concurrent patches lose no change', async () => {
    const name = await anApplication()
    const keys = Array.from({ length: 10 }, (_, index) => `k${index}`)
    await Promise.all(keys.map((key) => admin(`PATCH ${pathOf(name)}?serviceInstanceName=adx`, { [key]: 1 })))
    const { body } = await admin(`GET ${pathOf(name)}`)
    assert.deepEqual(Object.keys(body.adx.platform.applications[name]).sort(), keys)
  })

  test('a patch that is invalid is rejected and changes nothing', async () => {
    const name = await anApplication()
    const cases: [query: string, body: unknown, where: string][] = [
      ['', {}, 'serviceInstanceName'],
      ['?serviceInstanceName=', {}, 'serviceInstanceName'],
      ['?serviceInstanceName=dcx,adx', {}, 'serviceInstanceName'],
      ['?serviceInstanceName=nope', {}, 'serviceInstanceName'],
      ['?serviceInstanceName=adx', [1], 'body'],
      ['?serviceInstanceName=adx', 'null', 'body'],
      ['?serviceInstanceName=adx', '7', 'body'],
      ['?serviceInstanceName=adx', undefined, 'body'],
      ['?serviceInstanceName=adx', { versions: {} }, 'versions'],
      [
        '?serviceInstanceName=epts',
        { 'time-series': { names: { 'bad name': { values: [] } } } },
        'body.time-series.names',
      ],
    ]
    for (const [query, body, where] of cases) {
      const answer = await admin(`PATCH ${pathOf(name)}${query}`, body)
      assert.equal(answer.status, 400, `${query} ${JSON.stringify(body)}`)
      assert.ok(answer.body.message.startsWith(where), answer.text)
    }
    assert.deepEqual((await admin(`GET ${pathOf(name)}`)).body, {})
  })

  test('a patch cannot grow a configuration beyond 1 MiB', async () => {
    const name = await anApplication()
    const path = `PATCH ${pathOf(name)}?serviceInstanceName=adx`
    assert.equal((await admin(path, { a: 'x'.repeat(600_000) })).status, 204)
    const answer = await admin(path, { b: 'x'.repeat(600_000) })
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, /at most 1048576 bytes/)
  })
})

suite('the configuration of a tenant', () => {
  const path = `${root}/tenant-configs`
  const ofTenant = (tenantId: string, config: unknown, word = 'platform') => ({
    kpc: { [word]: { tenants: { [tenantId]: { config } } } },
  })
  const transports = { transports: { mqtt: { tcp: { 'basic-auth': { required: true } } } } }

  test('the configuration of a tenant is written and read by its administrator, with `platform` or `kaa`, and published', async () => {
    publishedEvents.length = 0
    assert.equal((await admin(`PUT ${path}`, ofTenant('default', transports, 'kaa'))).status, 204)
    assert.deepEqual(publishedEvents, [{ tenantId: 'default', instance: 'kpc', level: 'tenant' }])
    for (const query of ['', '?serviceInstanceName=kpc', '?tenantId=default'])
      assert.deepEqual((await admin(`GET ${path}${query}`)).body, ofTenant('default', transports))
    assert.deepEqual((await admin(`GET ${path}?serviceInstanceName=epts`)).body, {})
    assert.deepEqual(await ask.tenantConfiguration({ tenantId: 'default', instance: gatewayInstance }), transports)
    assert.deepEqual(await ask.tenantConfiguration({ tenantId: 'other', instance: gatewayInstance }), {})
  })

  test('the configuration of another tenant requires the permission on the platform', async () => {
    const otherTenantConfiguration = ofTenant('other', transports)
    assert.equal((await admin(`PUT ${path}?tenantId=other`, otherTenantConfiguration)).status, 403)
    assert.equal((await admin(`GET ${path}?tenantId=other`)).status, 403)
    const scopes = ['platform:tenant:configuration:read', 'platform:tenant:configuration:update']
    const operator = waypost.as(aCaller({ tenantId: 'platform', on: { 'platform-system': scopes } }))
    assert.equal((await operator(`PUT ${path}?tenantId=other`, otherTenantConfiguration)).status, 204)
    assert.deepEqual((await operator(`GET ${path}?tenantId=other`)).body, otherTenantConfiguration)
    assert.equal((await operator(`PUT ${path}?tenantId=nobody`, ofTenant('nobody', {}))).status, 400)
    assert.equal((await operator(`PUT ${path}`, otherTenantConfiguration)).status, 400)
    const reader = waypost.as(aCaller({ on: { 'tenant-system': ['tenant:configuration:read'] } }))
    assert.equal((await reader(`GET ${path}`)).status, 200)
    assert.equal((await reader(`PUT ${path}`, otherTenantConfiguration)).status, 403)
    assert.equal((await waypost.as(aCaller())(`GET ${path}`)).status, 403)
  })

  test('the configuration of a tenant rejects violations of its schema or its envelope', async () => {
    const cases: [body: unknown, where: string][] = [
      [{}, 'body'],
      [ofTenant('other', {}), 'kpc.platform.tenants.other'],
      [{ kpc: { platform: { tenants: { default: {} } } } }, 'kpc.platform.tenants.default.config'],
      [ofTenant('default', []), 'kpc.platform.tenants.default.config'],
      [
        ofTenant('default', { transports: { mqtt: { tls: { 'x509-auth': { required: 1 } } } } }),
        'kpc.platform.tenants.default.config.transports.mqtt.tls.x509-auth.required',
      ],
      [{ nope: { platform: { tenants: { default: { config: {} } } } } }, 'nope'],
    ]
    for (const [body, where] of cases) {
      const answer = await admin(`PUT ${path}`, body)
      assert.equal(answer.status, 400, where)
      assert.ok(answer.body.message.startsWith(where), answer.text)
    }
    const wrongInstance = await admin(`PUT ${path}?serviceInstanceName=epts`, ofTenant('default', {}))
    assert.equal(wrongInstance.status, 400)
  })
})

suite('the effective configuration', () => {
  test('the effective configuration is the configuration of the application, in which top-level keys of the version replace equal keys', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    await admin(`PUT ${pathOf(name)}`, enveloped('adx', name, { a: { x: 1, y: 1 }, b: 1 }))
    await admin(`PUT ${pathOf(name, version)}`, ofVersion('adx', name, version, { a: { x: 2 }, c: 3 }))
    const query = { tenantId: 'default', instance: attributesInstance, applicationName: name }
    assert.deepEqual((await ask.configuration(query)).config, { a: { x: 1, y: 1 }, b: 1 })
    assert.deepEqual((await ask.configuration({ ...query, versionName: version })).config, { a: { x: 2 }, b: 1, c: 3 })
    assert.deepEqual((await ask.configuration({ ...query, versionName: `${name}-v2` })).config, {
      a: { x: 1, y: 1 },
      b: 1,
    })
    assert.deepEqual((await ask.configuration({ ...query, instance: requestStatusInstance })).config, {
      outcomes: 1000,
    })
    assert.deepEqual((await ask.configuration({ ...query, tenantId: 'other' })).config, {})
  })

  test('the effective configuration contains every acknowledged write, and callers cannot change it', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    const query = { tenantId: 'default', instance: attributesInstance, applicationName: name, versionName: version }
    for (let round = 0; round < 5; round++) {
      await admin(`PATCH ${pathOf(name)}?serviceInstanceName=adx`, { round })
      assert.deepEqual((await ask.configuration(query)).config, { round })
    }
    await admin(`PATCH ${pathOf(name, version)}?serviceInstanceName=adx`, { deep: { own: true } })
    const config = (await ask.configuration(query)).config
    assert.deepEqual(config, { round: 4, deep: { own: true } })
    assert.throws(() => Object.assign(config.deep as object, { own: false }))
  })

  test('the effective configuration of a new version has no values of a deleted version or application with the same name', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    const query = { tenantId: 'default', instance: attributesInstance, applicationName: name, versionName: version }
    const configure = () =>
      admin(`PUT ${pathOf(name)}`, enveloped('adx', name, { a: 1, versions: { [version]: { b: 1 } } }))
    const recreate = () => admin(`POST ${root}/applications/${name}/app-versions`, { nameSuffix: 'v1' })
    await configure()
    assert.deepEqual((await ask.configuration(query)).config, { a: 1, b: 1 })
    await admin(`DELETE ${root}/applications/${name}/app-versions/${version}`)
    assert.equal((await recreate()).status, 201)
    assert.deepEqual((await ask.configuration(query)).config, { a: 1 })
    await configure()
    assert.deepEqual((await ask.configuration(query)).config, { a: 1, b: 1 })
    await admin(`DELETE ${root}/applications/${name}`)
    await admin(`POST ${root}/applications`, { name })
    await recreate()
    assert.deepEqual((await ask.configuration(query)).config, {})
  })
})

test('/bulk returns instances, applications and configurations, with filters', async () => {
  const name = await anApplication()
  await admin(`PUT ${pathOf(name)}`, { ...enveloped('dcx', name, { a: 1 }), ...enveloped('adx', name, { b: 1 }) })
  const { status, body } = await platform(
    `GET ${root}/bulk?appName=${name}&serviceInstanceName=dcx&include=appConfigurationSchema`,
  )
  assert.equal(status, 200)
  assert.deepEqual(body.appConfigs, enveloped('dcx', name, { a: 1 }))
  assert.deepEqual(body.applications, [(await admin(`GET ${root}/applications/${name}`)).body])
  assert.deepEqual(
    body.serviceInstances.map((one: { name: string }) => one.name),
    ['dcx'],
  )
  assert.equal(body.serviceInstances[0].appConfigurationSchema.type, 'object')
  const whole = (await platform(`GET ${root}/bulk`)).body
  assert.deepEqual(whole.appConfigs, (await platform(`GET ${root}/app-configs`)).body)
  assert.ok(whole.applications.length > 10 && whole.serviceInstances.length > 20)
  assert.deepEqual((await platform(`GET ${root}/bulk?appName=nobody`)).body.applications, [])
  assert.equal((await admin(`GET ${root}/bulk`)).status, 403)
  assert.equal((await platform(`GET ${root}/bulk?include=x`)).status, 400)
})

test('the envelope of all configurations is complete, even if it has more configurations than a page', async () => {
  const name = await anApplication()
  await waypost.kit.db.sql`
    insert into applications.versions (name, application_name, tenant_id, created_date, updated_date)
    select ${name} || '-p' || i, ${name}, 'default', now(), now() from generate_series(1, 250) i`
  await waypost.kit.db.sql`
    insert into applications.configurations (application_name, version_name, instance, tenant_id, config)
    select ${name}, ${name} || '-p' || i, 'cex', 'default', json_build_object('i', i) from generate_series(1, 250) i`
  const { body } = await platform(`GET ${root}/app-configs?serviceInstanceName=cex`)
  const { versions } = body.cex.platform.applications[name]
  assert.equal(Object.keys(versions).length, 250)
  assert.deepEqual(versions[`${name}-p77`], { i: 77 })
})

test('a change on one node invalidates the cache of another node, and a restarted node reads the change', async () => {
  const connection = await freshDatabase()
  const config = loadConfig({ WAYPOST_DATA: temporaryDirectory() })
  const aNode = async () => {
    const node = await buildServices({
      config,
      connection,
      log: waypost.kit.log,
      services: [applications, identity],
      baseUrl: () => 'http://waypost.test',
    })
    await node.kit.bus.start({ workers: false })
    const close = async () => {
      await node.kit.bus.stop()
      await node.close()
    }
    return { ...node, close, ask: node.ask(Applications) }
  }
  const [first, second] = [await aNode(), await aNode()]
  const { sql } = first.kit.db
  const at = new Date()
  await sql`insert into applications.applications (name, tenant_id, created_date, updated_date)
    values ('shared', 'default', ${at}, ${at})`
  const save = (value: number) =>
    first.kit.db.tx(async (tx) => {
      await tx`insert into applications.configurations (application_name, instance, tenant_id, config)
        values ('shared', 'adx', 'default', ${tx.json({ value })})
        on conflict (application_name, version_name, instance) do update set config = excluded.config`
      const target = { tenantId: 'default', instance: 'adx', level: 'application', applicationName: 'shared' } as const
      await first.kit.bus.publish(tx, ConfigurationChanged, target)
    })
  const query = { tenantId: 'default', instance: attributesInstance, applicationName: 'shared' }
  await save(1)
  for (const node of [first, second]) assert.deepEqual((await node.ask.configuration(query)).config, { value: 1 })
  await save(2)
  assert.deepEqual((await first.ask.configuration(query)).config, { value: 2 })
  await eventually(async () => assert.deepEqual((await second.ask.configuration(query)).config, { value: 2 }))
  await Promise.all([first.close(), second.close()])
  const restarted = await aNode()
  assert.deepEqual((await restarted.ask.configuration(query)).config, { value: 2 })
  await restarted.close()
})

suite('the API of the attribute dictionary', () => {
  const attributesPath = (name: string, version: string) =>
    `/adx/api/v1/app-configs/applications/${name}/app-versions/${version}`

  test('the API of the attribute dictionary reads and replaces the adx configuration of a version', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    const path = attributesPath(name, version)
    assert.deepEqual((await admin(`GET ${path}`)).body, {})
    const attributes = '{"limits":{"high":[1,null]},"versions":{"a":1},"__proto__":{"b":2}}'
    const put = await admin(`PUT ${path}`, attributes)
    assert.equal(put.status, 204, put.text)
    assert.deepEqual(JSON.parse((await admin(`GET ${path}`)).text), JSON.parse(attributes))
    const { body } = await admin(`GET ${pathOf(name, version)}?serviceInstanceName=adx`)
    assert.deepEqual(body, ofVersion('adx', name, version, JSON.parse(attributes)))
    assert.deepEqual((await admin(`GET ${attributesPath(name, `${name}-v2`)}`)).body, {})
    await eventually(() =>
      assert.ok(publishedEvents.some((event) => 'versionName' in event && event.versionName === version)),
    )
    assert.equal((await admin(`PUT ${path}`, { q: 1 })).status, 204)
    assert.deepEqual((await admin(`GET ${path}`)).body, { q: 1 })
  })

  test('the attributes of a version may be any JSON, and a value that is not an object replaces all attributes of the application', async () => {
    const name = await anApplication()
    const version = `${name}-v1`
    const path = attributesPath(name, version)
    await admin(`PUT ${pathOf(name)}`, enveloped('adx', name, { a: 1 }))
    const query = { tenantId: 'default', instance: attributesInstance, applicationName: name, versionName: version }
    for (const body of ['[{"b":1},2]', '"x"', '7', 'false', 'null']) {
      assert.equal((await admin(`PUT ${path}`, body)).status, 204, body)
      assert.equal((await admin(`GET ${path}`)).text, body)
      assert.deepEqual((await ask.configuration(query)).config, JSON.parse(body))
      const envelope = await admin(`GET ${pathOf(name, version)}`)
      assert.deepEqual(envelope.body, ofVersion('adx', name, version, JSON.parse(body)))
      assert.equal((await admin(`PUT ${pathOf(name, version)}`, envelope.body)).status, 204, body)
    }
    assert.equal((await admin(`PATCH ${pathOf(name, version)}?serviceInstanceName=adx`, { c: 1 })).status, 204)
    assert.deepEqual((await ask.configuration(query)).config, { a: 1, c: 1 })
    assert.equal((await admin(`PUT ${pathOf(name)}`, enveloped('adx', name, [] as never))).status, 400)
  })

  test('the API of the attribute dictionary rejects malformed bodies, callers without permission and unknown versions', async () => {
    const name = await anApplication()
    const path = attributesPath(name, `${name}-v1`)
    for (const body of ['', '{']) assert.equal((await admin(`PUT ${path}`, body)).status, 400, body)
    for (const unknown of [attributesPath(name, `${name}-v9`), attributesPath('nothing', 'nothing-v1')])
      for (const operation of [`GET ${unknown}`, `PUT ${unknown}`])
        assert.equal((await admin(operation, operation.startsWith('PUT') ? {} : undefined)).status, 404, operation)
    const otherTenant = waypost.as(aTenantAdmin('other'))
    assert.equal((await otherTenant(`GET ${path}`)).status, 404)
    assert.equal((await otherTenant(`PUT ${path}`, {})).status, 404)
    const reader = waypost.as(aCaller({ on: { [`application-${name}`]: ['application:read'] } }))
    assert.equal((await reader(`GET ${path}`)).status, 200)
    assert.equal((await reader(`PUT ${path}`, {})).status, 403)
    assert.equal((await waypost.as(undefined)(`GET ${path}`)).status, 401)
  })
})

test('a change of configurations with an old ETag is answered with 412 and changes nothing', async () => {
  const name = await anApplication()
  const version = `${name}-v1`
  const tenants = { kpc: { platform: { tenants: { default: { config: {} } } } } }
  const cases: [string, string, object, object][] = [
    ['PUT', pathOf(name), enveloped('dcx', name, { a: 1 }), enveloped('adx', name, { b: 1 })],
    [
      'PUT',
      pathOf(name, version),
      ofVersion('dcx', name, version, { a: 1 }),
      ofVersion('dcx', name, version, { a: 2 }),
    ],
    ['PATCH', `${pathOf(name)}?serviceInstanceName=cex`, { a: 1 }, { b: 1 }],
    ['PUT', `/adx/api/v1/app-configs/applications/${name}/app-versions/${version}`, { a: 1 }, { b: 1 }],
    ['PUT', `${root}/tenant-configs`, tenants, tenants],
  ]
  for (const [method, path, first, second] of cases) {
    const before = (await admin(`GET ${path}`)).headers.etag!
    assert.equal((await admin(`${method} ${path}`, first, { 'if-match': before })).status, 204, path)
    const after = await admin(`GET ${path}`)
    const late = await admin(`${method} ${path}`, second, { 'if-match': before })
    assert.deepEqual([late.status, late.headers['x-waypost-error']], [412, 'precondition_failed'], path)
    assert.deepEqual((await admin(`GET ${path}`)).body, after.body)
    assert.equal((await admin(`${method} ${path}`, second, { 'if-match': after.headers.etag! })).status, 204)
  }
  const path = pathOf(name)
  const etag = (await admin(`GET ${path}`)).headers.etag!
  const writes = Array.from({ length: 8 }, (_, n) =>
    admin(`PUT ${path}`, enveloped('dcx', name, { n }), { 'if-match': etag }),
  )
  const statuses = (await Promise.all(writes)).map(({ status }) => status).sort()
  assert.deepEqual(statuses, [204, ...Array(7).fill(412)], 'of several writers with the same ETag, one succeeds')
})
