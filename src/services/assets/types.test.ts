import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { am, anySchema, openAssets } from '../../../test/harness/assets.ts'
import { aCaller } from '../../../test/harness/builders.ts'

const { waypost, admin, other, expect, aType, anAsset } = await openAssets()
const types = `${am}/asset-types`
const input = (more: object = {}) => ({ displayName: 'Room', definitionJsonSchema: anySchema, ...more })

suite('an asset type', () => {
  test('an asset type is created, read, replaced and deleted, with ETags', async () => {
    const body = input({
      type: 'ROOM_1',
      description: 'A room',
      uiJsonSchema: '{"icon":"door"}',
      poolIds: ['p1'],
      id: 'mine',
      tenantId: 'other',
      createdAt: 'never',
      unknown: 1,
    })
    const created = await expect(201, `POST ${types}`, body)
    const { id, createdAt, updatedAt, ...rest } = created.body
    const typePath = `${types}/${id}`
    assert.equal(created.headers.location, `${waypost.baseUrl}${typePath}`)
    const { unknown: _, id: __, createdAt: ___, ...stored } = body as Record<string, unknown>
    assert.deepEqual(rest, { ...stored, tenantId: 'default' })
    assert.equal(createdAt, updatedAt)
    const etag = created.headers.etag!
    const read = await admin(`GET ${typePath}`)
    assert.deepEqual([read.headers.etag, read.body], [etag, created.body])
    const unchanged = await admin(`GET ${typePath}`, undefined, { 'if-none-match': etag })
    assert.deepEqual([unchanged.status, unchanged.text], [304, ''])

    assert.equal((await admin(`PUT ${typePath}`, input(), { 'if-match': '"x"' })).status, 412)
    const put = await admin(`PUT ${typePath}`, input({ displayName: 'Hall' }), { 'if-match': etag })
    assert.equal(put.status, 204, put.text)
    const replaced = await admin(`GET ${typePath}`)
    assert.equal(replaced.headers.etag, put.headers.etag)
    assert.notEqual(put.headers.etag, etag)
    const { updatedAt: changedAt, ...changed } = replaced.body
    // A PUT without `type` and `poolIds` keeps their values. All other optional fields that are absent are removed.
    const expected = { id, type: 'ROOM_1', displayName: 'Hall', definitionJsonSchema: anySchema, poolIds: ['p1'] }
    assert.deepEqual(changed, { ...expected, tenantId: 'default', createdAt })
    assert.ok(changedAt >= createdAt)

    assert.equal((await admin(`DELETE ${typePath}`, undefined, { 'if-match': etag })).status, 412)
    assert.equal((await admin(`DELETE ${typePath}`, undefined, { 'if-match': '' })).status, 204)
    for (const method of ['GET', 'DELETE']) assert.equal((await admin(`${method} ${typePath}`)).status, 404)
    assert.equal((await admin(`PUT ${typePath}`, input())).status, 404)
  })

  test('the field `type` of a new asset type is made from its display name, with a number if this value is already used', async () => {
    const typeOf = async (displayName: string) =>
      (await expect(201, `POST ${types}`, input({ displayName }))).body.type as string
    assert.equal(await typeOf('Cold store, façade 7'), 'COLD_STORE__FA_ADE_7')
    assert.equal(await typeOf('cold store  fa ade 7'), 'COLD_STORE__FA_ADE_7_2')
    assert.equal(await typeOf('COLD_STORE, FA.ADE 7'), 'COLD_STORE__FA_ADE_7_3')
    assert.equal(await typeOf('q'), 'Q_')
    const long = 'x'.repeat(200)
    assert.equal(await typeOf(long), 'X'.repeat(50))
    assert.equal(await typeOf(long), `${'X'.repeat(48)}_2`)
    const many = await Promise.all(Array.from({ length: 12 }, () => typeOf('same name')))
    assert.equal(new Set(many).size, 12)
    for (const type of many) assert.match(type, /^[A-Z0-9_]{2,50}$/)
  })

  test('the field `type` of an asset type is unique in the tenant', async () => {
    const id = await aType({ type: 'UNIQUE' })
    const second = await aType({ type: 'SECOND' })
    const taken = await expect(409, `POST ${types}`, input({ type: 'UNIQUE' }))
    assert.match(taken.body.message, /UNIQUE/)
    await expect(409, `PUT ${types}/${second}`, input({ type: 'UNIQUE' }))
    await expect(204, `PUT ${types}/${id}`, input({ type: 'UNIQUE' }))
    await expect(201, `POST ${types}`, input({ type: 'UNIQUE' }), other)
  })

  test('an asset type cannot be deleted while it has assets', async () => {
    const id = await aType()
    const asset = await anAsset({ assetTypeId: id })
    await expect(409, `DELETE ${types}/${id}`)
    await expect(204, `DELETE ${am}/assets/${asset.split(' ')[1]}`)
    await expect(204, `DELETE ${types}/${id}`)
  })

  test('an asset type with a wrong field or an unusable schema is rejected', async () => {
    const cases: [object, RegExp][] = [
      [{ type: 'room' }, /type/],
      [{ type: 'A' }, /type/],
      [{ type: 'A'.repeat(51) }, /type/],
      [{ type: 'A\n' }, /type/],
      [{ displayName: '' }, /displayName/],
      [{ displayName: undefined }, /displayName/],
      [{ displayName: 'a\u0000' }, /displayName/],
      [{ description: 'x'.repeat(4001) }, /description/],
      [{ uiJsonSchema: 'x'.repeat(65_537) }, /uiJsonSchema/],
      [{ definitionJsonSchema: undefined }, /definitionJsonSchema/],
      [{ definitionJsonSchema: {} }, /definitionJsonSchema/],
      [{ definitionJsonSchema: '' }, /definitionJsonSchema.*not JSON/],
      [{ definitionJsonSchema: '{' }, /definitionJsonSchema.*not JSON/],
      [{ definitionJsonSchema: '[]' }, /definitionJsonSchema.*not an object/],
      [{ definitionJsonSchema: '{"$schema":"http://json-schema.org/draft-04/schema#"}' }, /\$schema/],
      [{ definitionJsonSchema: '{"$ref":"https://example.org/a.json"}' }, /reference/],
      [{ definitionJsonSchema: '{"pattern":"(?=a)b"}' }, /linear time/],
      [{ definitionJsonSchema: '{"type":"nothing"}' }, /definitionJsonSchema/],
      [{ definitionJsonSchema: `{"title":"${'x'.repeat(65_536)}"}` }, /definitionJsonSchema/],
      [{ poolIds: 'p' }, /poolIds/],
      [{ poolIds: [7] }, /poolIds/],
    ]
    const id = await aType()
    for (const [wrong, message] of cases)
      for (const operation of [`POST ${types}`, `PUT ${types}/${id}`])
        assert.match((await expect(400, operation, input(wrong))).body.message, message)
  })
})

suite('the list of asset types', () => {
  test('the list of asset types filters by parts of type and description, sorts and pages', async () => {
    const ask = waypost.as(aCaller({ tenantId: 'doomed', on: { 'tenant-system': ['*'] } }))
    for (const [type, description] of [
      ['PUMP_OLD', '50% used'],
      ['PUMP_NEW', 'Fresh'],
      ['VALVE', undefined],
    ])
      await expect(201, `POST ${types}`, input({ type, description }), ask)
    const listed = async (query: string) => {
      const { body } = await expect(200, `GET ${types}?${query}`, undefined, ask)
      return [body.totalElements, body.content.map(({ type }: { type: string }) => type)]
    }
    await expect(204, `PUT ${types}/${await idOf(ask, 'PUMP_OLD')}`, input({ description: '50% used' }), ask)
    assert.deepEqual(await listed('sort=updatedAt&size=1'), [3, ['PUMP_OLD']])
    assert.deepEqual(await listed('type=pump&sortOrder=asc'), [2, ['PUMP_OLD', 'PUMP_NEW']])
    assert.deepEqual(await listed('type=P_N'), [1, ['PUMP_NEW']])
    assert.deepEqual(await listed('type=PU%25'), [0, []])
    assert.deepEqual(await listed('description=0%25%20U'), [1, ['PUMP_OLD']])
    assert.deepEqual(await listed('description=__'), [0, []])
    assert.deepEqual(await listed('sortOrder=asc&page=1&size=2'), [3, ['VALVE']])
    assert.deepEqual(await listed('page=1000&size=10000'), [3, []])
    for (const wrong of ['size=0', 'size=10001', 'page=-1', 'page=x', 'sort=type', 'sortOrder=up'])
      await expect(400, `GET ${types}?${wrong}`, undefined, ask)
  })

  const idOf = async (ask: typeof admin, type: string): Promise<string> =>
    (await ask(`GET ${types}?type=${type}`)).body.content[0].id

  test('the list of asset types has all of 450 types on one page, in order', async () => {
    const { sql } = waypost.kit.db
    await sql`
      insert into assets.asset_types (asset_type_id, tenant_id, type, display_name, definition_json_schema, created_date, updated_date)
      select 'many-' || n, 'many', 'T' || n, 'T', '{}', now() - n * interval '1 second', now() from generate_series(1, 450) n`
    const ask = waypost.as(aCaller({ tenantId: 'many', on: { 'tenant-system': ['asset-type:read'] } }))
    const { body } = await expect(200, `GET ${types}?size=10000`, undefined, ask)
    assert.deepEqual(
      body.content.map(({ id }: { id: string }) => id),
      Array.from({ length: 450 }, (_, n) => `many-${n + 1}`),
    )
  })
})

suite('permissions on asset types', () => {
  test('a caller does not see asset types of another tenant, and gets 403 for requests that its scopes do not permit', async () => {
    const [mine, hidden] = [await aType(), await aType()]
    const reader = waypost.as(aCaller({ on: { [`asset-type-${mine}`]: ['asset-type:read'] } }))
    assert.deepEqual(
      (await reader(`GET ${types}`)).body.content.map(({ id }: { id: string }) => id),
      [mine],
    )
    await expect(200, `GET ${types}/${mine}`, undefined, reader)
    await expect(403, `PUT ${types}/${mine}`, input(), reader)
    await expect(403, `DELETE ${types}/${mine}`, undefined, reader)
    await expect(403, `POST ${types}`, input(), reader)
    await expect(403, `POST ${am}/assets`, { assetTypeId: mine, definition: '{}' }, reader)
    for (const [ask, id] of [
      [reader, hidden],
      [other, mine],
    ] as const) {
      const missing = (await ask(`GET ${types}/none`)).text.replace('none', id)
      assert.equal((await ask(`GET ${types}/${id}`)).text, missing)
      for (const operation of [`GET ${types}/${id}`, `DELETE ${types}/${id}`])
        await expect(404, operation, undefined, ask)
      await expect(404, `PUT ${types}/${id}`, input(), ask)
      await expect(404, `POST ${am}/assets`, { assetTypeId: id, definition: '{}' }, ask)
    }
    assert.equal((await other(`GET ${types}?type=nothing`)).body.totalElements, 0)
    assert.equal((await waypost.as(undefined)(`GET ${types}`)).status, 401)
  })

  test('the creator holds every scope on the new type', async () => {
    const creator = aCaller({ on: { 'tenant-system': ['tenant:asset-type:create'] } })
    const { body } = await expect(201, `POST ${types}`, input(), waypost.as(creator))
    const grants = await waypost.kit.db.sql`
      select resource, scopes from identity.grants where subject_id = ${creator.subject.id}`
    assert.deepEqual([...grants], [{ resource: `asset-type-${body.id}`, scopes: ['*'] }])
    await expect(204, `DELETE ${types}/${body.id}`)
    const [left] = await waypost.kit.db.sql`select from identity.grants where subject_id = ${creator.subject.id}`
    assert.equal(left, undefined)
  })
})
