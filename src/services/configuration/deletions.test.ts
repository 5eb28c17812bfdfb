/**
 * Tests that configurations are deleted with their endpoint, version, application and tenant, and that a content is deleted when no
 * configuration refers to it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ecr, openConfiguration } from '../../../test/harness/configuration.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { sweepContents } from './store/cleanup.ts'

const { waypost, admin, other, ok, aTestEndpoint, anApplication, anEndpoint, testEndpoint } = await openConfiguration()
const { sql } = waypost.kit.db
const tables = ['endpoint_configs', 'sent_configs', 'defaults', 'system_configs', 'contents'] as const

const countIn = async (table: (typeof tables)[number], column: string, value: string) => {
  const [row] = await sql.unsafe(`select count(*)::int as count from configuration.${table} where ${column} = $1`, [
    value,
  ])
  return row!.count
}
const sweepAll = () => sweepContents(sql, new Date(waypost.kit.now().getTime() + 1000), 10_000)
const system = (path: string) => admin(`POST ${ecr}/system/${path}/configs`, { name: 'a', config: '1' })

test('configurations are deleted with their endpoint, but configurations of an endpoint that was registered again are kept', async () => {
  const { endpointId, app, version, put, post } = await aTestEndpoint()
  const first = await put(1)
  await post('/config/json')
  await put(2)
  assert.equal((await system(`endpoints/${endpointId}`)).status, 201)
  // The test moves the dates of the rows into the future, as if a node whose clock is ahead had written them.
  for (const [table, column, date] of [
    ['endpoint_configs', 'endpoint_id', 'updated_date'],
    ['sent_configs', 'endpoint_id', 'dispatched_date'],
    ['system_configs', 'entity_id', 'updated_date'],
  ])
    await sql.unsafe(`update configuration.${table} set ${date} = ${date} + interval '1 hour' where ${column} = $1`, [
      endpointId,
    ])
  assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
  await eventually(async () => {
    for (const table of ['endpoint_configs', 'sent_configs'] as const)
      assert.equal(await countIn(table, 'endpoint_id', endpointId), 0)
    assert.equal(await countIn('system_configs', 'entity_id', endpointId), 0)
  })
  await sweepAll()
  assert.equal(await countIn('contents', 'config_id', first.configId), 0)
  const again = await admin('POST /epr/api/v1/endpoints', { appVersion: { name: version }, endpointId })
  assert.equal(again.status, 201, again.text)
  const endpoint = testEndpoint({ app, version, endpointId, token: again.body.token })
  await endpoint.put(3)
  await waypost.kit.bus.settled()
  assert.equal((await ok(`GET ${endpoint.path}`)).config, '3')
})

test('when an endpoint or a version is deleted, its configurations are deleted before the response', async () => {
  const { endpointId, app, version, put, path } = await aTestEndpoint()
  const remove = async (target: string) => assert.equal((await admin(`DELETE ${target}`)).status, 204)
  const register = () => admin('POST /epr/api/v1/endpoints', { appVersion: { name: version }, endpointId })
  await put(1)
  await remove(`/epr/api/v1/endpoints/${endpointId}`)
  assert.equal((await ok(`GET ${ecr}/statuses?endpointId=${endpointId}`)).totalElements, 0)
  assert.equal((await register()).status, 201)
  assert.equal((await admin(`GET ${path}`)).status, 404)
  await put(2)
  const { deleted } = await ok('POST /epr/api/v1/endpoints/delete', { endpointIds: [endpointId] })
  assert.deepEqual(deleted, [endpointId])
  assert.equal((await register()).status, 201)
  assert.equal((await admin(`GET ${path}`)).status, 404)
  await remove(`/epr/api/v1/endpoints/${endpointId}`)
  await ok(`PUT ${ecr}/app-versions/${version}`, 3)
  await remove(`/api/v1/applications/${app}/app-versions/${version}`)
  assert.equal(await countIn('defaults', 'version_name', version), 0)
})

test('configurations are deleted with the version and the application', async () => {
  const { app, version } = await anApplication(['v1', 'v2'])
  const second = `${app}-v2`
  const endpoint = testEndpoint({ app, version, ...(await anEndpoint(version)) })
  await endpoint.put(1)
  await ok(`PUT ${ecr}/endpoints/${endpoint.endpointId}/app-versions/${second}`, 2)
  for (const name of [version, second]) {
    await ok(`PUT ${ecr}/app-versions/${name}`, 3)
    assert.equal((await system(`app-versions/${name}`)).status, 201)
  }
  assert.equal((await system(`applications/${app}`)).status, 201)
  assert.equal((await admin(`DELETE /api/v1/applications/${app}/app-versions/${second}`)).status, 204)
  await eventually(async () => {
    assert.equal(await countIn('defaults', 'version_name', second), 0)
    assert.equal(await countIn('endpoint_configs', 'version_name', second), 0)
    assert.equal(await countIn('system_configs', 'entity_id', second), 0)
  })
  assert.equal((await ok(`GET ${endpoint.path}`)).config, '1')
  assert.equal(await countIn('defaults', 'version_name', version), 1)
  assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpoint.endpointId}`)).status, 204)
  assert.equal((await admin(`DELETE /api/v1/applications/${app}`)).status, 204)
  await eventually(async () => {
    assert.equal(await countIn('defaults', 'version_name', version), 0)
    for (const id of [app, version]) assert.equal(await countIn('system_configs', 'entity_id', id), 0)
  })
})

test('configurations are deleted with the tenant', async () => {
  const { app, version } = await anApplication(['v1'], other)
  const { endpointId } = await anEndpoint(version, other)
  const path = `${ecr}/endpoints/${endpointId}/app-versions/${version}`
  assert.equal((await other(`PUT ${path}`, 1)).status, 200)
  assert.equal((await other(`PUT ${ecr}/app-versions/${version}`, 1)).status, 200)
  assert.equal((await other(`POST ${ecr}/system/applications/${app}/configs`, { name: 'a', config: '1' })).status, 201)
  const { db, bus } = waypost.kit
  await db.tx((tx) => bus.publish(tx, TenantDeleted, { tenantId: 'other' }))
  await eventually(
    async () => {
      for (const table of tables) assert.equal(await countIn(table, 'tenant_id', 'other'), 0, table)
    },
    { withinMs: 15_000 },
  )
})

test('a content is kept while a configuration refers to it', async () => {
  const { put, post, path, defaults } = await aTestEndpoint()
  const sent = await put({ n: 1 })
  await post('/config/json')
  const unsent = await put({ n: 2 })
  await put({ n: 3 })
  const common = await ok(`PUT ${defaults}`, { n: 4 })
  await sweepAll()
  const kept = async () =>
    await Promise.all([sent, unsent, common].map(({ configId }) => countIn('contents', 'config_id', configId)))
  assert.deepEqual(await kept(), [1, 0, 1])
  await admin(`DELETE ${path}`)
  await admin(`DELETE ${defaults}`)
  await sweepAll()
  assert.deepEqual(await kept(), [1, 0, 0])
})

test('the sweep deletes configurations that were written while their endpoint was being unregistered', async () => {
  const { endpointId, put } = await aTestEndpoint()
  await put(1)
  await sql`update configuration.endpoint_configs set endpoint_id = ${`gone-${endpointId}`} where endpoint_id = ${endpointId}`
  const sweep = waypost.built.get('configuration')!.periodic!.find(({ name }) => name === 'configuration.sweep')!
  await waypost.kit.db.tx((tx) => sweep.run(tx))
  assert.equal(await countIn('endpoint_configs', 'endpoint_id', `gone-${endpointId}`), 0)
})
