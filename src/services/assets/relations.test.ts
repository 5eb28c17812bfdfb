import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { am, type EntityName, entity, openAssets, relation } from '../../../test/harness/assets.ts'
import { aCaller } from '../../../test/harness/builders.ts'
import { EntityRelationsUpdated } from './events.ts'

const platform = await openAssets()
const {
  waypost,
  admin,
  other,
  expect,
  anAsset,
  anEndpointEntity,
  link,
  unlink,
  relationsOf,
  sessionsOf,
  publishedEvents,
} = platform
const [linkUrl, unlinkUrl] = [`POST ${am}/relations/link`, `POST ${am}/relations/unlink`]
const v2 = 'GET /am/api/v2/relations'

suite('relations', () => {
  test('relations link assets and endpoints, and both ends list them', async () => {
    const [site, room, sensor, gateway] = [
      await anAsset(),
      await anAsset(),
      await anEndpointEntity(),
      await anEndpointEntity(),
    ]
    await expect(204, linkUrl, relation('contains', site, room))
    await link(
      relation('CONTAINS', room, sensor),
      relation('Manages', gateway, sensor),
      relation('MANAGES', gateway, room),
      relation('CONTAINS', gateway, sensor),
    )
    assert.deepEqual(await relationsOf(site), [`CONTAINS ${room}`])
    assert.deepEqual(await relationsOf(room), [
      `CONTAINS ${sensor}`,
      `IS_CONTAINED_BY ${site}`,
      `IS_MANAGED_BY ${gateway}`,
    ])
    assert.deepEqual(
      await relationsOf(sensor),
      [`IS_CONTAINED_BY ${room}`, `IS_CONTAINED_BY ${gateway}`, `IS_MANAGED_BY ${gateway}`].toSorted(),
    )
    const { entityId } = entity(site)
    const { body } = await expect(200, `${v2}?entityIds=${entityId}`)
    const { entityId: roomId } = entity(room)
    const seen = { ofEntityType: 'ASSET', ofEntityId: entityId, entityType: 'ASSET', entityId: roomId }
    assert.deepEqual(body, [{ ...seen, relationType: 'CONTAINS' }])
    const several = await expect(200, `${v2}?entityIds=${entityId},none&entityIds=${roomId}`)
    assert.equal(several.body.length, 4)
    assert.deepEqual((await expect(200, `${v2}?entityIds=${entityId}&entityType=endpoint`)).body, [])
  })

  test('to link a pair that is linked, or to unlink a pair that is not linked, changes nothing and gets 204', async () => {
    const [a, b] = [await anAsset(), await anEndpointEntity()]
    for (let round = 0; round < 2; round++) await link(relation('CONTAINS', a, b), relation('CONTAINS', a, b))
    assert.deepEqual(await relationsOf(a), [`CONTAINS ${b}`])
    await unlink(relation('MANAGES', a, b), relation('CONTAINS', b, a))
    assert.deepEqual(await relationsOf(a), [`CONTAINS ${b}`])
    for (let round = 0; round < 2; round++) await unlink(relation('CONTAINS', a, b))
    assert.deepEqual(await relationsOf(a), [])
    await expect(204, linkUrl, [])
    await expect(204, unlinkUrl, [])
  })

  test('CONTAINS between two endpoints is stored as the relation `contains` of the register', async () => {
    const [gateway, sensor] = [await anEndpointEntity(), await anEndpointEntity()]
    const [from, to] = [entity(gateway).entityId, entity(sensor).entityId]
    const registered = async () =>
      (await expect(200, `GET /epr/api/v1/endpoints/${from}/relations?relation=contains`)).body.content
    await link(relation('CONTAINS', gateway, sensor), relation('MANAGES', gateway, sensor))
    assert.deepEqual(await registered(), [{ type: 'contains', from, to }])
    assert.equal((await admin('PUT /epr/api/v1/relations/unlink', [{ type: 'contains', from, to }])).status, 204)
    assert.deepEqual(await relationsOf(gateway), [`MANAGES ${sensor}`])
    assert.equal((await admin('PUT /epr/api/v1/relations/link', [{ type: 'contains', from, to }])).status, 204)
    assert.deepEqual(await relationsOf(gateway), [`CONTAINS ${sensor}`, `MANAGES ${sensor}`])
    await unlink(relation('CONTAINS', gateway, sensor))
    assert.deepEqual(await registered(), [])
    const published = publishedEvents.filter(({ event }) => event === 'register.relations.updated').slice(-4)
    assert.deepEqual(
      published.map(({ payload }) => [payload.linked.length, payload.unlinked.length]),
      [
        [1, 0],
        [0, 1],
        [1, 0],
        [0, 1],
      ],
    )
  })

  test('a request creates all of its relations or no relation; the error names the wrong relation', async () => {
    const [a, b, c] = [await anAsset(), await anEndpointEntity(), await anAsset()]
    const good = relation('CONTAINS', a, b)
    const cases: [number, unknown, RegExp][] = [
      [404, [good, relation('CONTAINS', a, 'ASSET none')], /ASSET none/],
      [404, [good, relation('CONTAINS', a, `ENDPOINT ${entity(c).entityId}`)], /ENDPOINT/],
      [400, [good, relation('MANAGES', a, a)], /^1\.to: .*itself/],
      [400, [good, relation('CONTAINS', b, a)], /^1\.to: .*cycle/],
      [400, [good, relation('CONTAINS', b, c), relation('CONTAINS', c, a)], /^2\.to: .*cycle/],
      [400, relation('CONTAINS', a, a), /^to: .*itself/],
      [400, [good, { ...good, type: 'OWNS' }], /^1\.type: expected CONTAINS or MANAGES/],
      [
        400,
        { ...good, from: { entityType: 'TENANT', entityId: 'x' } },
        /^from\.entityType: expected ASSET or ENDPOINT/,
      ],
      [400, [good, { ...good, to: undefined }], /^1\.to: is required/],
      [400, { ...good, to: { entityType: 'ASSET' } }, /^to\.entityId: is required/],
      [400, [{ ...good, from: 'x' }], /^0\.from: expected an object/],
      [400, 'null', /^body: expected an object/],
      [400, '7', /^body: expected an object/],
      [400, Array(1001).fill(good), /1000/],
    ]
    for (const [status, body, message] of cases)
      assert.match((await expect(status, linkUrl, body)).body.message, message)
    for (const name of [a, b, c]) assert.deepEqual(await relationsOf(name), [])
    assert.match((await expect(404, unlinkUrl, [good, relation('MANAGES', a, 'ENDPOINT none')])).body.message, /none/)
  })

  test('relations of type CONTAINS form no cycle of assets and endpoints, whichever service creates the relations', async () => {
    const [e1, asset, e2, e3] = [
      await anEndpointEntity(),
      await anAsset(),
      await anEndpointEntity(),
      await anEndpointEntity(),
    ]
    await link(relation('CONTAINS', e1, asset), relation('CONTAINS', asset, e2), relation('CONTAINS', e2, e3))
    const inRegister = (from: EntityName, to: EntityName) =>
      admin('PUT /epr/api/v1/relations/link', [
        { type: 'contains', from: entity(from).entityId, to: entity(to).entityId },
      ])
    const refused = await inRegister(e3, e1)
    assert.equal(refused.status, 400)
    assert.match(refused.body.failed[0].reason, /cycle/)
    await expect(400, linkUrl, relation('CONTAINS', e3, asset))
    await expect(400, linkUrl, relation('CONTAINS', e3, e1))
    assert.equal((await inRegister(e1, e3)).status, 204)
    await link(relation('MANAGES', e3, e1), relation('MANAGES', e1, e3))
    await unlink(relation('CONTAINS', asset, e2))
    // The endpoint e1 still contains e3, but no longer through the asset.
    await expect(400, linkUrl, relation('CONTAINS', e3, e1))
    await link(relation('CONTAINS', e3, asset))
  })

  test('an endpoint and an asset with the same id are different entities', async () => {
    const asset = await anAsset({ definition: { name: 'asset' } })
    const { entityId } = entity(asset)
    const { version } = await platform.anApplication()
    await platform.anEndpoint(version, { endpointId: entityId, metadata: { name: 'endpoint' } })
    const sameId: EntityName = `ENDPOINT ${entityId}`
    await link(relation('CONTAINS', asset, sameId))
    await expect(400, linkUrl, relation('CONTAINS', sameId, asset))
    assert.deepEqual(await relationsOf(asset), [`CONTAINS ${sameId}`, `IS_CONTAINED_BY ${asset}`])
    const url = `${v2}?entityIds=${entityId}&entityType=`
    assert.equal((await expect(200, `${url}ENDPOINT`)).body[0].relationType, 'IS_CONTAINED_BY')
    assert.equal((await expect(200, `${url}asset`)).body[0].relationType, 'CONTAINS')
  })

  test('a list of thousands of relations is complete', async () => {
    const [hub, gateway] = [await anAsset(), await anEndpointEntity()]
    const { entityId } = entity(hub)
    await waypost.kit.db.sql`
      insert into assets.relations (tenant_id, from_type, from_id, to_type, to_id, type, created_date)
      select 'default', 'ASSET', ${entityId}, 'ASSET', 'bulk-' || n, 'CONTAINS', now() from generate_series(1, 2500) n`
    await link(relation('CONTAINS', hub, gateway), relation('MANAGES', hub, gateway))
    const found = await relationsOf(hub)
    assert.equal(found.length, 2502)
    assert.equal(new Set(found).size, 2502)
    await waypost.kit.db.sql`delete from assets.relations where from_id = ${entityId} and to_id like 'bulk-%'`
  })

  test('a wrong query of relations is rejected', async () => {
    for (const [url, field] of [
      [v2, 'entityIds'],
      [`${v2}?entityIds=`, 'entityIds'],
      [`${v2}?entityIds=a&entityType=x`, 'entityType'],
      [`${v2}?entityIds=${Array.from({ length: 1001 }, (_, n) => n)}`, 'entityIds'],
      [`GET ${am}/relation-sessions`, 'entityId'],
      [`GET ${am}/relation-sessions?entityId=a&entityType=x`, 'entityType'],
      [`GET ${am}/relation-trees?entityId=a`, 'entityType'],
      [`GET ${am}/relation-trees?entityType=ASSET`, 'entityId'],
      [`GET ${am}/relation-trees?entityType=RULE&entityId=a`, 'entityType'],
    ] as const)
      assert.match((await expect(400, url)).body.message, new RegExp(field))
    await expect(404, `GET ${am}/relation-sessions?entityId=none`)
    await expect(404, `GET ${am}/relation-trees?entityType=asset&entityId=none`)
  })

  test('relations are published to services that handle them', async () => {
    const payloads: unknown[] = []
    waypost.kit.bus.subscribe(EntityRelationsUpdated, (payload) => payloads.push(payload))
    const relationBody = relation('CONTAINS', await anAsset(), await anEndpointEntity())
    await link(relationBody)
    await link(relationBody)
    await unlink(relationBody)
    await unlink(relationBody)
    assert.deepEqual(payloads, [
      { tenantId: 'default', linked: [relationBody], unlinked: [] },
      { tenantId: 'default', linked: [], unlinked: [relationBody] },
    ])
  })
})

suite('sessions of relations', () => {
  test('sessions list every period in which a relation existed, for relations of both services', async () => {
    const [asset, gateway, sensor] = [await anAsset(), await anEndpointEntity(), await anEndpointEntity()]
    const contains = relation('CONTAINS', asset, gateway)
    const [from, to] = [entity(gateway).entityId, entity(sensor).entityId]
    await link(contains)
    await unlink(contains)
    await link(contains)
    for (const word of ['link', 'unlink'])
      await expect(204, `PUT /epr/api/v1/relations/${word}`, [{ type: 'contains', from, to }])
    await link(relation('CONTAINS', gateway, sensor))
    const sessions = await sessionsOf(gateway)
    const summary = sessions.map((session: { to: object; endedAt?: string }) => [session.to, 'endedAt' in session])
    assert.deepEqual(summary, [
      [entity(gateway), false],
      [entity(sensor), false],
      [entity(gateway), true],
      [entity(sensor), true],
    ])
    for (const { startedAt, endedAt } of sessions) assert.ok(endedAt === undefined || startedAt <= endedAt)
    const { startedAt, ...first } = sessions[0]
    assert.deepEqual(first, contains)
    assert.ok(startedAt >= sessions[2].endedAt)
    assert.deepEqual(
      (await sessionsOf(asset)).map(({ type }: { type: string }) => type),
      ['CONTAINS', 'CONTAINS'],
    )
  })

  test('the sessions of a relation are still listed for one end after the other end is deleted', async () => {
    const [site, room, sensor] = [await anAsset(), await anAsset(), await anEndpointEntity()]
    await link(relation('CONTAINS', site, room), relation('CONTAINS', site, sensor))
    await expect(204, `DELETE ${am}/assets/${entity(room).entityId}`)
    const [running, ended, ...more] = await sessionsOf(site)
    assert.deepEqual([running.to, ended.to, more], [entity(sensor), entity(room), []])
    assert.ok(ended.endedAt && !running.endedAt)
    await expect(404, `GET ${am}/relation-sessions?entityId=${entity(room).entityId}`)
  })
})

suite('permissions on relations', () => {
  test('a change of relations needs asset:update on each asset and endpoint:update on each endpoint', async () => {
    const [asset, gateway] = [await anAsset(), await anEndpointEntity()]
    const [assetName, gatewayName] = [`asset-${entity(asset).entityId}`, `endpoint-${entity(gateway).entityId}`]
    const relationBody = relation('CONTAINS', asset, gateway)
    const as = (on: Record<string, string[]>) => waypost.as(aCaller({ on }))
    for (const url of [linkUrl, unlinkUrl]) {
      for (const [status, on] of [
        [404, {}],
        [404, { [assetName]: ['asset:update'] }],
        [404, { [gatewayName]: ['endpoint:update'] }],
        [403, { [assetName]: ['asset:update'], [gatewayName]: ['endpoint:read'] }],
        [403, { [assetName]: ['asset:read'], [gatewayName]: ['endpoint:update'] }],
        [204, { [assetName]: ['asset:update'], [gatewayName]: ['endpoint:update'] }],
      ] as [number, Record<string, string[]>][])
        await expect(status, url, relationBody, as(on))
    }
    assert.match((await expect(404, linkUrl, relationBody, other)).body.message, /may not read it/)
    const theirs = await anEndpointEntity({}, other)
    await expect(404, linkUrl, relation('CONTAINS', asset, theirs))
  })

  test('entities that the caller may not read are left out of lists and sessions', async () => {
    const [site, seen, hidden, gateway, secret] = [
      await anAsset(),
      await anAsset(),
      await anAsset(),
      await anEndpointEntity(),
      await anEndpointEntity(),
    ]
    const all = [seen, hidden, gateway, secret].map((to) => relation('CONTAINS', site, to))
    await link(...all)
    await unlink(all[1]!, all[3]!)
    await link(...all)
    const on = Object.fromEntries([
      ...[site, seen].map((name) => [`asset-${entity(name).entityId}`, ['asset:read']]),
      [`endpoint-${entity(gateway).entityId}`, ['endpoint:read']],
    ])
    const reader = waypost.as(aCaller({ on }))
    assert.deepEqual(await relationsOf(site, reader), [`CONTAINS ${seen}`, `CONTAINS ${gateway}`].toSorted())
    assert.deepEqual(await relationsOf(hidden, reader), [])
    assert.equal((await sessionsOf(site, reader)).length, 2)
    assert.equal((await sessionsOf(site)).length, 6)
    await expect(404, `GET ${am}/relation-sessions?entityId=${entity(hidden).entityId}`, undefined, reader)
    assert.deepEqual(await relationsOf(site, other), [])
    await expect(404, `GET ${am}/relation-sessions?entityId=${entity(site).entityId}`, undefined, other)
  })
})
