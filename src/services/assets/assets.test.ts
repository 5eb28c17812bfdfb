import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { am, entity, openAssets } from '../../../test/harness/assets.ts'
import { aCaller, aPlatformAdmin } from '../../../test/harness/builders.ts'

const { waypost, admin, other, expect, aType, anAsset } = await openAssets()
const assets = `${am}/assets`
const roomSchema = JSON.stringify({
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: { name: { type: 'string', pattern: '^[A-Z]' }, floor: { type: 'integer' } },
})
const idOf = (name: Awaited<ReturnType<typeof anAsset>>) => entity(name).entityId

suite('an asset', () => {
  test('an asset is created, read, replaced and deleted, with ETags', async () => {
    const assetTypeId = await aType({ definitionJsonSchema: roomSchema })
    // The text is returned unchanged, with its order of keys, white space and escapes.
    const definition = '{ "floor" : 1.0,\n "name": "Caf\\u00e9" }'
    const body = { assetTypeId, definition, uiJsonSchema: '{}', poolIds: ['a', 'b'], id: 'mine', tenantId: 'other' }
    const created = await expect(201, `POST ${assets}?tenantId=default`, body)
    const { id, createdAt, updatedAt, ...rest } = created.body
    const assetPath = `${assets}/${id}`
    assert.equal(created.headers.location, `${waypost.baseUrl}${assetPath}`)
    assert.deepEqual(rest, { assetTypeId, definition, uiJsonSchema: '{}', poolIds: ['a', 'b'], tenantId: 'default' })
    assert.equal(createdAt, updatedAt)
    await expect(403, `POST ${assets}?tenantId=other`, body)
    await expect(201, `POST ${assets}?tenantId=default`, body, waypost.as(aPlatformAdmin()))
    await expect(404, `POST ${assets}?tenantId=other`, body, waypost.as(aPlatformAdmin()))
    const etag = created.headers.etag!
    const read = await admin(`GET ${assetPath}`)
    assert.deepEqual([read.headers.etag, read.body], [etag, created.body])
    assert.equal((await admin(`GET ${assetPath}`, undefined, { 'if-none-match': etag })).status, 304)

    const next = { definition: '{"name":"B"}' }
    assert.equal((await admin(`PUT ${assetPath}`, next, { 'if-match': '"x"' })).status, 412)
    const put = await admin(`PUT ${assetPath}`, next, { 'if-match': etag })
    assert.equal(put.status, 204, put.text)
    const replaced = await admin(`GET ${assetPath}`)
    assert.equal(replaced.headers.etag, put.headers.etag)
    const { updatedAt: _, ...changed } = replaced.body
    assert.deepEqual(changed, { id, assetTypeId, ...next, tenantId: 'default', poolIds: ['a', 'b'], createdAt })

    assert.equal((await admin(`DELETE ${assetPath}`, undefined, { 'if-match': etag })).status, 412)
    assert.equal((await admin(`DELETE ${assetPath}`, undefined, { 'if-match': put.headers.etag! })).status, 204)
    for (const operation of [`GET ${assetPath}`, `DELETE ${assetPath}`]) await expect(404, operation)
    await expect(404, `PUT ${assetPath}`, next)
    await expect(404, `PATCH ${assetPath}`, [])
  })

  test('an asset must conform to the schema of its type; a changed schema applies to the next write of the asset', async () => {
    const assetTypeId = await aType({ definitionJsonSchema: roomSchema })
    const bad = { assetTypeId, definition: '{"name":"lower","floor":"one"}' }
    const refused = await expect(400, `POST ${assets}`, bad)
    assert.match(refused.body.message, /^definition: violates the schema of its asset type: \/name: .*\(and 1 more\)$/)
    assert.deepEqual(
      refused.body.errors.map(({ path }: { path: string }) => path),
      ['/name', '/floor'],
    )
    const id = idOf(await anAsset({ assetTypeId, definition: { name: 'Hall' } }))
    await expect(400, `PUT ${assets}/${id}`, { definition: '{}' })
    const stricter = { displayName: 'Room', definitionJsonSchema: '{"required":["floor"]}' }
    await expect(204, `PUT ${am}/asset-types/${assetTypeId}`, stricter)
    assert.equal((await expect(200, `GET ${assets}/${id}`)).body.definition, '{"name":"Hall"}')
    await expect(400, `PUT ${assets}/${id}`, { definition: '{"name":"Hall"}' })
    await expect(400, `PATCH ${assets}/${id}`, [{ op: 'add', path: '/a', value: 1 }])
    await expect(204, `PATCH ${assets}/${id}`, [{ op: 'add', path: '/floor', value: 1 }])
  })

  test('the error about a wrong field names the field; violations after the first hundred are only counted', async () => {
    const assetTypeId = await aType({ definitionJsonSchema: '{"items":{"type":"string"}}' })
    const deep = '['.repeat(100) + ']'.repeat(100)
    const cases: [object, RegExp][] = [
      [{ definition: undefined }, /definition/],
      [{ definition: { name: 'x' } }, /definition/],
      [{ definition: '' }, /definition: expected JSON/],
      [{ definition: ' ' }, /definition: expected JSON/],
      [{ definition: '{"a":1' }, /definition: malformed JSON/],
      [{ definition: '"\\u0000"' }, /definition: .*NUL/],
      [{ definition: '12345678901234567890123' }, /definition: .*kept exactly/],
      [{ definition: '{"a":"\\u0000"}' }, /^definition\.a: .*NUL/],
      [{ definition: '{"n":12345678901234567890123}' }, /^definition\.n: .*kept exactly/],
      [{ definition: deep }, /definition: nested deeper/],
      [{ definition: `"${'x'.repeat(262_144)}"` }, /definition/],
      [{ uiJsonSchema: 7 }, /uiJsonSchema/],
      [{ poolIds: {} }, /poolIds/],
      [{ poolIds: [''] }, /poolIds/],
      [{ assetTypeId: undefined }, /assetTypeId/],
      [{ assetTypeId: 7 }, /assetTypeId/],
    ]
    for (const [wrong, message] of cases)
      assert.match(
        (await expect(400, `POST ${assets}`, { assetTypeId, definition: '{}', ...wrong })).body.message,
        message,
      )
    const many = await expect(400, `POST ${assets}`, { assetTypeId, definition: JSON.stringify(Array(250).fill(1)) })
    assert.deepEqual([many.body.errors.length, many.body.moreErrors], [100, 150])
    const unknown = await expect(404, `POST ${assets}`, { assetTypeId: 'none', definition: '{}' })
    assert.match(unknown.body.message, /none/)
  })

  test('a schema that takes too long for a definition delays only the request with this definition', async () => {
    // Each of the 40 levels doubles the work, and no level finds a violation.
    const levels = Array.from({ length: 40 }, (_, n) => [
      `l${n}`,
      { allOf: [1, 2].map(() => ({ $ref: `#/definitions/l${n + 1}` })) },
    ])
    const definitions = { ...Object.fromEntries(levels), l40: { type: 'number' } }
    const slow = JSON.stringify({ definitions, $ref: '#/definitions/l0' })
    const assetTypeId = await aType({ definitionJsonSchema: slow })
    let isAnswered = false
    const answering = admin(`POST ${assets}`, { assetTypeId, definition: '1' }).finally(() => {
      isAnswered = true
    })
    await expect(200, `GET ${assets}`, undefined, other)
    assert.equal(isAnswered, false)
    const answer = await answering
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.message, /definition: cannot be validated: the schema takes/)
  })
})

suite('a JSON Patch of an asset', () => {
  const patched = async (definition: unknown, patch: unknown, status = 204, headers = {}) => {
    const id = idOf(await anAsset({ definition }))
    const answer = await admin(`PATCH ${assets}/${id}`, patch, headers)
    assert.equal(answer.status, status, answer.text)
    const read = await admin(`GET ${assets}/${id}`)
    if (status === 204) assert.equal(answer.headers.etag, read.headers.etag)
    else assert.equal(read.body.definition, JSON.stringify(definition))
    return status === 204 ? read.body.definition : answer.body.message
  }

  test('a JSON Patch of an asset is an object with operations or an array, with either media type', async () => {
    const operations = [
      { op: 'test', path: '/a', value: 1 },
      { op: 'replace', path: '/a', value: 2 },
      { op: 'add', path: '/b', value: { c: [] } },
      { op: 'add', path: '/b/c/-', value: 'x' },
      { op: 'copy', from: '/b', path: '/d' },
      { op: 'move', from: '/a', path: '/e' },
      { op: 'remove', path: '/b' },
    ]
    const expected = '{"d":{"c":["x"]},"e":2}'
    for (const type of ['application/json', 'application/json-patch+json'])
      for (const patch of [operations, { operations }])
        assert.equal(await patched({ a: 1 }, patch, 204, { 'content-type': type }), expected)
    assert.equal(await patched({ a: 1 }, []), '{"a":1}')
  })

  test('a JSON Patch of an asset that fails changes nothing; a failed `test` gets 409, and any other failure gets 400', async () => {
    const change = { op: 'add', path: '/b', value: 1 }
    assert.match(await patched({ a: 1 }, [change, { op: 'test', path: '/a', value: 2 }], 409), /operation 1/i)
    const wrong: [unknown, RegExp][] = [
      [[change, { op: 'remove', path: '/none' }], /operation 1.*nothing to remove at \/none/],
      [[{ op: 'increment', path: '/a' }], /op: expected one of/],
      [[{ op: 'add', path: 'a', value: 1 }], /path: expected a JSON pointer/],
      [[{ op: 'add', path: '/a' }], /value: is required/],
      [[7], /operation 0/],
      [{ operations: {} }, /operations/],
      [{}, /operations/],
      ['"x"', /body/],
      ['null', /body/],
      [Array(1001).fill(change), /1000/],
      [[{ op: 'replace', path: '', value: [] }], /definition: violates the schema/],
      [[{ op: 'remove', path: '' }], /definition: the patch removes all of it/],
    ]
    for (const [patch, message] of wrong) assert.match(await patched({ a: 1 }, patch, 400), message)
  })

  test('a JSON Patch of an asset honours If-Match', async () => {
    const id = idOf(await anAsset())
    const { headers } = await admin(`GET ${assets}/${id}`)
    const patch = [{ op: 'add', path: '/a', value: 1 }]
    assert.equal((await admin(`PATCH ${assets}/${id}`, patch, { 'if-match': '"x"' })).status, 412)
    assert.equal((await admin(`PATCH ${assets}/${id}`, patch, { 'if-match': headers.etag! })).status, 204)
    assert.equal((await admin(`PATCH ${assets}/${id}`, patch, { 'if-match': headers.etag! })).status, 412)
  })

  test('concurrent JSON Patches of one asset are each applied once', async () => {
    const id = idOf(await anAsset({ definition: { list: [] } }))
    const patches = Array.from({ length: 40 }, (_, value) => [{ op: 'add', path: '/list/-', value }])
    const answers = await Promise.all(patches.map((patch) => admin(`PATCH ${assets}/${id}`, patch)))
    for (const { status, text } of answers) assert.equal(status, 204, text)
    const { list } = JSON.parse((await admin(`GET ${assets}/${id}`)).body.definition)
    assert.deepEqual(
      list.toSorted((a: number, b: number) => a - b),
      patches.map(([{ value } = { value: -1 }]) => value),
    )
  })

  test('a hostile JSON Patch of an asset changes no prototype and is applied or rejected within ten seconds', async () => {
    const proto = JSON.parse(
      '[{"op":"add","path":"/__proto__","value":{"polluted":1}},{"op":"add","path":"/a/__proto__","value":{}}]',
    )
    assert.equal(await patched({ a: {} }, proto), '{"a":{"__proto__":{}},"__proto__":{"polluted":1}}')
    assert.equal(({} as { polluted?: number }).polluted, undefined)
    for (const path of ['/constructor/prototype/x', '/__proto__/x', '/toString'])
      await patched({}, [{ op: 'replace', path, value: 1 }], 400)
    const nesting = Array.from({ length: 70 }, (_, n) => ({ op: 'add', path: '/a'.repeat(n + 1), value: {} }))
    assert.match(await patched({}, nesting, 400), /nested deeper than 64/)
    const copies = Array.from({ length: 1000 }, () => ({ op: 'copy', from: '', path: '/a' }))
    assert.match(await patched({ b: 'x' }, copies, 400), /copies/)
    const large = { list: Array(40_000).fill(1) }
    const shifts = Array.from({ length: 1000 }, () => ({ op: 'add', path: '/list/0', value: 2 }))
    const began = Date.now()
    await patched(large, shifts)
    assert.ok(Date.now() - began < 10_000)
    const grown = { op: 'add', path: '/b', value: 'x'.repeat(200_000) }
    assert.match(await patched({ a: 'x'.repeat(100_000) }, [grown], 400), /262144 characters/)
  })
})

suite('the list of assets', () => {
  const tenant = aCaller({ tenantId: 'doomed', on: { 'tenant-system': ['*'] } })
  const ask = waypost.as(tenant)
  const listed = async (query: string) => {
    const { body } = await expect(200, `GET ${assets}?${query}`, undefined, ask)
    return [body.totalElements, ...body.content.map(({ id }: { id: string }) => id)]
  }

  test('the list of assets filters, searches, sorts and pages, by query and by body', async () => {
    const [room, pump] = [await aType({}, ask), await aType({}, ask)]
    const create = async (assetTypeId: string, definition: unknown) =>
      idOf(await anAsset({ assetTypeId, definition }, ask))
    const a = await create(room, { name: 'Boiler Room', floor: -1, nested: [{ note: '100%_"x"' }] })
    const b = await create(room, { name: 'Straße', size: 21.5, flag: true, room: null })
    const c = await create(pump, { name: 'Pump', text: 'a\u0001b', serial: 1e21 })
    assert.deepEqual(await listed('sortOrder=asc'), [3, a, b, c])
    assert.deepEqual(await listed(''), [3, c, b, a])
    assert.deepEqual(await listed('size=1&page=1'), [3, b])
    assert.deepEqual(await listed(`assetTypeIds=${room}&sortOrder=asc`), [2, a, b])
    assert.deepEqual(await listed(`assetTypeIds=${room},${pump}&assetIds=${a}&assetIds=${c},none`), [2, c, a])
    await expect(204, `PATCH ${assets}/${a}`, [{ op: 'add', path: '/x', value: 1 }], ask)
    assert.deepEqual(await listed('sort=updatedAt'), [3, a, c, b])
    for (const [search, ...found] of [
      ['boiler', a],
      ['OILER ROO', a],
      ['STRASSE'],
      ['traß', b],
      ['21.5', b],
      ['1.5', b],
      ['-1', a],
      ['1e+21', c],
      ['%_"', a],
      ['%', a],
      ['_', a],
      // The search finds texts of values. It does not find names of fields, true and null.
      ['name'],
      ['true'],
      ['null'],
      // A search text must not match the end of one value and the beginning of the next value.
      ['Room-1'],
      ['\u0001'.repeat(2)],
      ['a\u0001b', c],
    ] as const)
      assert.deepEqual(await listed(`search=${encodeURIComponent(search)}`), [found.length, ...found], search)
    const body = { page: 0, size: 2, sort: 'createdAt', sortOrder: 'asc', assetTypeIds: [room], search: 'o' }
    const found = await expect(200, `POST ${assets}/list`, body, ask)
    assert.deepEqual([found.body.totalElements, ...found.body.content.map(({ id }: { id: string }) => id)], [1, a])
    assert.equal((await expect(200, `POST ${assets}/list`, {}, ask)).body.totalElements, 3)
    assert.equal((await expect(200, `POST ${assets}/list`, undefined, ask)).body.totalElements, 3)
    assert.equal((await expect(200, `POST ${assets}/list`, { assetIds: [] }, ask)).body.totalElements, 0)
  })

  test('the list of assets rejects wrong values', async () => {
    for (const wrong of ['size=0', 'size=10001', 'page=-1', 'sort=name', 'sortOrder=up', `search=${'x'.repeat(256)}`])
      await expect(400, `GET ${assets}?${wrong}`, undefined, ask)
    for (const wrong of [
      { size: 0 },
      { size: '10' },
      { page: 1.5 },
      { sort: 'x' },
      { sortOrder: 'ASC' },
      { assetIds: 'a' },
      { assetIds: [1] },
      { assetTypeIds: {} },
      { search: 1 },
    ]) {
      const { body } = await expect(400, `POST ${assets}/list`, wrong, ask)
      assert.match(body.message, new RegExp(Object.keys(wrong)[0]!))
    }
  })
})

suite('permissions on assets', () => {
  test('a caller with a scope on one asset lists only that asset, and gets 403 for its changes and 404 for other assets', async () => {
    const [mine, hidden] = [idOf(await anAsset()), idOf(await anAsset())]
    const reader = waypost.as(aCaller({ on: { [`asset-${mine}`]: ['asset:read'] } }))
    const seen = await reader(`GET ${assets}`)
    assert.deepEqual([seen.body.totalElements, seen.body.content[0].id], [1, mine])
    assert.equal((await reader(`POST ${assets}/list`, { assetIds: [hidden] })).body.totalElements, 0)
    await expect(403, `PUT ${assets}/${mine}`, { definition: '{}' }, reader)
    await expect(403, `PATCH ${assets}/${mine}`, [], reader)
    await expect(403, `DELETE ${assets}/${mine}`, undefined, reader)
    for (const [ask, id] of [
      [reader, hidden],
      [other, mine],
    ] as const) {
      const missing = (await ask(`GET ${assets}/none`)).text.replace('none', id)
      assert.equal((await ask(`GET ${assets}/${id}`)).text, missing)
      await expect(404, `DELETE ${assets}/${id}`, undefined, ask)
      await expect(404, `PUT ${assets}/${id}`, { definition: '{}' }, ask)
      await expect(404, `PATCH ${assets}/${id}`, [], ask)
    }
    const writer = waypost.as(aCaller({ on: { [`asset-${mine}`]: ['asset:update', 'asset:delete'] } }))
    await expect(204, `PUT ${assets}/${mine}`, { definition: '{}' }, writer)
    await expect(204, `DELETE ${assets}/${mine}`, undefined, writer)
    await expect(200, `GET ${assets}/${hidden}`, undefined, waypost.as(aPlatformAdmin()))
  })

  test('a caller with a permission on a type can create assets of this type, and then has every scope on these assets', async () => {
    const assetTypeId = await aType()
    const creator = aCaller({ on: { [`asset-type-${assetTypeId}`]: ['asset-type:asset:create'] } })
    const created = await expect(201, `POST ${assets}`, { assetTypeId, definition: '{}' }, waypost.as(creator))
    const grants = () => waypost.kit.db.sql`
      select resource, scopes from identity.grants where subject_id = ${creator.subject.id}`
    assert.deepEqual([...(await grants())], [{ resource: `asset-${created.body.id}`, scopes: ['*'] }])
    await expect(204, `DELETE ${assets}/${created.body.id}`)
    assert.deepEqual([...(await grants())], [])
  })
})
