import assert from 'node:assert/strict'
import { test } from 'node:test'
import { am, entity, openAssets, relation } from '../../../test/harness/assets.ts'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { TenantDeleted } from '../tenants/events.ts'

const {
  waypost,
  expect,
  aType,
  anAsset,
  anEndpointEntity,
  link,
  relationsOf,
  sessionsOf,
  treeOf,
  anApplication,
  anEndpoint,
} = await openAssets()
const { db, bus } = waypost.kit

test('relations of an endpoint end when it is unregistered, and do not exist when its id is registered again', async () => {
  const [site, gateway, sensor] = [await anAsset(), await anEndpointEntity(), await anEndpointEntity()]
  await link(
    relation('CONTAINS', site, gateway),
    relation('MANAGES', gateway, sensor),
    relation('CONTAINS', gateway, sensor),
    relation('CONTAINS', site, sensor),
  )
  const { entityId } = entity(gateway)
  await expect(204, `DELETE /epr/api/v1/endpoints/${entityId}`)
  // Even before the event is processed, the relations are no longer returned.
  assert.deepEqual(await relationsOf(site), [`CONTAINS ${sensor}`])
  assert.equal((await treeOf(site)).children.length, 1)
  const { version } = await anApplication()
  await anEndpoint(version, { endpointId: entityId })
  await eventually(async () => {
    assert.deepEqual(await relationsOf(gateway), [])
    assert.deepEqual(await relationsOf(sensor), [`IS_CONTAINED_BY ${site}`])
    const ended = (await sessionsOf(site)).filter(({ endedAt }: { endedAt?: string }) => endedAt)
    assert.deepEqual(
      ended.map(({ to }: { to: object }) => to),
      [entity(gateway)],
    )
  })
  assert.equal((await sessionsOf(sensor)).length, 3)
  await link(relation('CONTAINS', site, gateway))
  assert.equal((await relationsOf(gateway)).length, 1)
})

test('an event that is processed late does not end the relations of an endpoint that was registered again', async () => {
  const [site, gateway] = [await anAsset(), await anEndpointEntity()]
  await link(relation('CONTAINS', site, gateway))
  const { entityId } = entity(gateway)
  const { EndpointUnregistered } = await import('../register/events.ts')
  const payload = { tenantId: 'default', applicationName: 'any', endpointIds: [entityId] }
  const [before, after] = [new Date(0), new Date(Date.now() + 60_000)].map((date) => date.toISOString())
  await db.tx((sql) => bus.publish(sql, EndpointUnregistered, { ...payload, unregisteredDate: before! }))
  await eventually(async () => {
    const [waiting] = await db.sql`select from kernel.outbox`
    assert.equal(waiting, undefined)
  })
  assert.equal((await relationsOf(site)).length, 1)
  await db.tx((sql) => bus.publish(sql, EndpointUnregistered, { ...payload, unregisteredDate: after! }))
  await eventually(async () => assert.equal((await relationsOf(site)).length, 0))
})

test('when a tenant is deleted, its asset types, assets and relations are deleted', async () => {
  const ask = waypost.as(aTenantAdmin('doomed'))
  const assetTypeId = await aType({}, ask)
  const [a, b] = [await anAsset({ assetTypeId }, ask), await anAsset({ assetTypeId }, ask)]
  const relationBody = relation('CONTAINS', a, b)
  for (const word of ['link', 'unlink', 'link']) await expect(204, `POST ${am}/relations/${word}`, relationBody, ask)
  const kept = await anAsset()
  await db.tx((sql) => bus.publish(sql, TenantDeleted, { tenantId: 'doomed' } as never))
  await eventually(async () => {
    for (const table of ['asset_types', 'assets', 'relations', 'ended_relations']) {
      const [row] = await db.sql.unsafe(`select 1 from assets.${table} where tenant_id = 'doomed'`, [])
      assert.equal(row, undefined, table)
    }
  })
  await expect(200, `GET ${am}/assets/${entity(kept).entityId}`)
})
