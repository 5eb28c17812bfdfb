import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { openRegister, root } from '../../../../test/harness/register.ts'
import { Register } from '../contract.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const register = waypost.ask(Register)
const other = waypost.as(aTenantAdmin('other'))
const { app, version } = await anApplication()
const metadataPath = (id: string, key?: string) =>
  `${root}/endpoints/${id}/metadata${key === undefined ? '' : `/${encodeURIComponent(key)}`}`
const aDevice = (metadata: object = {}) => anEndpoint(version, { metadata })
const metadataOf = async (id: string) => (await admin(`GET ${metadataPath(id)}`)).body
const eventsOf = (id: string) =>
  publishedEvents
    .filter(({ event, payload }) => event === 'register.endpoint.metadata-updated' && payload.endpointId === id)
    .map(({ payload: { added, updated, removed } }) => ({ added, updated, removed }))
const patchType = { 'content-type': 'application/json-patch+json' }
const patch = (id: string, operations: unknown, headers: Record<string, string> = patchType, ask = admin) =>
  ask(`PATCH ${metadataPath(id)}`, operations, headers)

suite('replacing metadata', () => {
  test('replacing metadata stores exactly the given keys, and publishes the added, updated and removed keys as JSON texts', async () => {
    const id = await aDevice({ stays: [1, { a: null }], changes: 'x', goes: true })
    const answer = await admin(`PUT ${metadataPath(id)}`, { stays: [1, { a: null }], changes: { y: 2 }, comes: 'Kyiv' })
    assert.equal(answer.status, 204)
    assert.deepEqual(await metadataOf(id), { stays: [1, { a: null }], changes: { y: 2 }, comes: 'Kyiv' })
    assert.deepEqual(eventsOf(id), [
      {
        added: { comes: '"Kyiv"' },
        updated: { changes: { newValue: '{"y":2}', oldValue: '"x"' } },
        removed: { goes: 'true' },
      },
    ])
  })

  test('replacing metadata with equal metadata changes nothing, not even the ETag', async () => {
    const id = await aDevice({ a: 1, b: { c: [1, 2], d: 3 } })
    const before = await admin(`GET ${metadataPath(id)}`)
    const answer = await admin(`PUT ${metadataPath(id)}`, { b: { d: 3, c: [1, 2] }, a: 1 })
    assert.equal(answer.headers.etag, before.headers.etag)
    assert.deepEqual(eventsOf(id), [])
  })

  test('replacing metadata honours If-Match and ignores an empty If-Match', async () => {
    const id = await aDevice({ a: 1 })
    const { etag } = (await admin(`GET ${metadataPath(id)}`)).headers
    const first = await admin(`PUT ${metadataPath(id)}`, { a: 2 }, { 'if-match': etag! })
    assert.equal(first.status, 204)
    assert.equal(first.headers.etag, (await admin(`GET ${metadataPath(id)}`)).headers.etag)
    assert.equal((await admin(`PUT ${metadataPath(id)}`, { a: 3 }, { 'if-match': etag! })).status, 412)
    assert.equal((await admin(`PUT ${metadataPath(id)}`, { a: 4 }, { 'if-match': '' })).status, 204)
    assert.deepEqual(await metadataOf(id), { a: 4 })
  })

  test('replacing metadata rejects invalid keys and sizes', async () => {
    const id = await aDevice({ a: 1 })
    const cases: unknown[] = [
      { 'a-b': 1 },
      { 'a.b': 1 },
      { é: 1 },
      { '': 1 },
      { ['k'.repeat(129)]: 1 },
      { a: 'x'.repeat(66_000) },
      [],
      'null',
      '7',
      '',
    ]
    for (const body of cases)
      assert.equal((await admin(`PUT ${metadataPath(id)}`, body)).status, 400, JSON.stringify(body))
    assert.deepEqual(await metadataOf(id), { a: 1 })
  })

  test('replacing metadata accepts names of JavaScript properties as keys', async () => {
    const id = await aDevice()
    const text = '{"__proto__":{"admin":true},"constructor":1,"toString":{"__proto__":[]}}'
    assert.equal((await admin(`PUT ${metadataPath(id)}`, text)).status, 204)
    assert.deepEqual(Object.keys(await metadataOf(id)).sort(), ['__proto__', 'constructor', 'toString'])
    assert.equal((await admin(`GET ${metadataPath(id, '__proto__')}`)).text, '{"admin":true}')
    assert.equal((await admin(`DELETE ${metadataPath(id, '__proto__')}`)).status, 204)
    assert.equal((await admin(`GET ${metadataPath(id, '__proto__')}`)).status, 404)
    assert.equal((await admin(`GET ${metadataPath(id, 'hasOwnProperty')}`)).status, 404)
  })
})

suite('setting a key without a body', () => {
  test('setting a key without a body gets 400, with chunked encoding or Content-Length 0; the body null is a value', async () => {
    const id = await aDevice()
    for (const headers of [{ 'transfer-encoding': 'chunked' }, {}] as Record<string, string>[])
      assert.equal((await admin(`PUT ${metadataPath(id, 'a')}`, '', headers)).status, 400)
    assert.deepEqual(await metadataOf(id), {})
    assert.equal((await admin(`PUT ${metadataPath(id, 'a')}`, 'null')).status, 204)
    assert.deepEqual(await metadataOf(id), { a: null })
  })
})

suite('property names that every object inherits', () => {
  const metadata = '{"__proto__":{"a":1},"constructor":2,"x":{"__proto__":[3]}}'
  const same = (text: string) => assert.deepEqual(Object.entries(JSON.parse(text)).sort(), entries)
  const entries = Object.entries(JSON.parse(metadata)).sort()

  test('property names that every object inherits can be metadata keys in registrations, searches and filters', async () => {
    const registration = `{"appVersion":{"name":"${version}"},"metadata":${metadata}}`
    const registered = await admin(`POST ${root}/endpoints`, registration)
    assert.equal(registered.status, 201, registered.text)
    const id = registered.body.endpointId
    same((await admin(`GET ${metadataPath(id)}`)).text)
    assert.equal((await admin(`PUT ${metadataPath(id)}`, metadata)).status, 204)
    same((await admin(`GET ${metadataPath(id)}`)).text)
    const value = '{"__proto__":[3]}'
    const search = `{"and":[{"key":"x","operator":"IN","values":[${value}]}],"endpointIds":["${id}"]}`
    assert.equal((await admin(`POST ${root}/endpoints/search`, search)).body.totalElements, 1)
    const filter = `{"name":"by proto","documentQuery":{"metadata.x":${value}}}`
    const created = await admin(`POST ${root}/applications/${app}/filters`, filter)
    assert.equal(created.status, 201, created.text)
    assert.ok(created.text.includes(value))
  })
})

suite('patching metadata', () => {
  test('patching metadata follows RFC 6902: all operations are applied, or no operation', async () => {
    const id = await aDevice({ a: 1, list: [1, 2], nested: { x: { y: 1 } } })
    const answer = await patch(id, [
      { op: 'test', path: '/a', value: 1 },
      { op: 'add', path: '/list/1', value: 'between' },
      { op: 'add', path: '/list/-', value: 'last' },
      { op: 'replace', path: '/nested/x/y', value: null },
      { op: 'copy', from: '/nested/x', path: '/copied' },
      { op: 'move', from: '/a', path: '/b' },
      { op: 'add', path: '/odd~1name~0', value: 1 },
      { op: 'remove', path: '/odd~1name~0' },
    ])
    assert.equal(answer.status, 204, answer.text)
    assert.deepEqual(await metadataOf(id), {
      list: [1, 'between', 2, 'last'],
      nested: { x: { y: null } },
      copied: { y: null },
      b: 1,
    })
    const half = [
      { op: 'add', path: '/c', value: 1 },
      { op: 'remove', path: '/nothing' },
    ]
    assert.equal((await patch(id, half)).status, 400)
    assert.equal('c' in (await metadataOf(id)), false)
    assert.equal((await patch(id, [{ op: 'replace', path: '', value: { whole: 1 } }])).status, 204)
    assert.deepEqual(await metadataOf(id), { whole: 1 })
  })

  test('a metadata patch without a body is answered with 400', async () => {
    const { status, body } = await patch(await aDevice(), '')
    assert.deepEqual([status, body.message], [400, 'body: expected an array of operations'])
    assert.equal((await patch('unknown', '')).status, 404)
  })

  test('a metadata patch is answered with 409 if a test operation fails and 415 for another content type', async () => {
    const id = await aDevice({ a: 1 })
    const operations = [{ op: 'test', path: '/a', value: 2 }]
    assert.equal((await patch(id, operations)).status, 409)
    assert.equal((await patch(id, operations, { 'content-type': 'application/json' })).status, 415)
    const asText = await patch(id, operations, { 'content-type': 'text/plain' })
    assert.equal(asText.status, 415)
    assert.match(asText.body.message, /send application\/json-patch\+json$/)
    const merge = await patch(id, { a: 2 }, { 'content-type': 'application/merge-patch+json' })
    assert.equal(merge.status, 415)
    assert.match(merge.body.message, /send application\/json-patch\+json/)
    assert.equal((await patch(id, operations, { 'content-type': 'application/json' }, other)).status, 404)
  })

  test('patching metadata rejects invalid patches', async () => {
    const id = await aDevice({ a: 1, list: [1] })
    const cases: unknown[] = [
      {},
      [1],
      [null],
      [{ op: 'burn', path: '/a' }],
      [{ op: 'add', path: '/b' }],
      [{ op: 'add', value: 1 }],
      [{ op: 'add', path: 'b', value: 1 }],
      [{ op: 'add', path: '/~2', value: 1 }],
      [{ op: 'add', path: '/x/y', value: 1 }],
      [{ op: 'add', path: '/list/7', value: 1 }],
      [{ op: 'add', path: '/list/01', value: 1 }],
      [{ op: 'remove', path: '/list/1' }],
      [{ op: 'remove', path: '/list/-' }],
      [{ op: 'move', path: '/b' }],
      [{ op: 'move', path: '/a/b', from: '/a' }],
      [{ op: 'remove', path: '' }],
      [{ op: 'replace', path: '', value: [1] }],
      [{ op: 'add', path: '/__proto__/admin', value: 1 }],
      [{ op: 'add', path: '/with-dash', value: 1 }],
      Array.from({ length: 1001 }, () => ({ op: 'test', path: '/a', value: 1 })),
    ]
    for (const operations of cases) {
      const answer = await patch(id, operations)
      assert.equal(answer.status, 400, `${JSON.stringify(operations).slice(0, 80)} ${answer.text}`)
    }
    assert.deepEqual(await metadataOf(id), { a: 1, list: [1] })
  })

  test('patching metadata rejects patches that would make metadata too large or too deep', async () => {
    const id = await aDevice({ a: 'x'.repeat(30_000) })
    const doubling = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '', path: `/c${i}` }))
    assert.equal((await patch(id, doubling)).status, 400)
    const deepening = Array.from({ length: 70 }, () => ({ op: 'copy', from: '', path: '/a' }))
    const small = await aDevice()
    assert.equal((await patch(small, deepening)).status, 400)
    assert.match((await patch(small, deepening)).body.message, /nested deeper than 64 levels/)
    assert.equal((await patch(small, deepening.slice(0, 63))).status, 204)
    assert.equal((await patch(small, deepening.slice(0, 1))).status, 400)
    assert.deepEqual(Object.keys(await metadataOf(small)), ['a'])
  })

  test('patching metadata never fails with 500, for any JSON pointer', async () => {
    const id = await aDevice({ city: 'Kyiv' })
    for (const path of ['/city/district', '/city/0', '/toString/a'])
      assert.equal((await patch(id, [{ op: 'add', path, value: 1 }])).status, 400, path)
    const proto = '[{"op":"add","path":"/x","value":{"__proto__":{"p":1}}},{"op":"copy","from":"/x","path":"/y"}]'
    assert.equal((await patch(id, proto)).status, 204)
    const { text } = await admin(`GET ${metadataPath(id)}`)
    assert.equal(text.split('"__proto__":{"p":1}').length, 3, text)
  })

  test('of twenty concurrent patches with the same ETag, one patch succeeds and nineteen are rejected', async () => {
    const id = await aDevice({ counter: 0 })
    const { etag } = (await admin(`GET ${metadataPath(id)}`)).headers
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, value) =>
        patch(id, [{ op: 'replace', path: '/counter', value: value + 1 }], { ...patchType, 'if-match': etag! }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, ...Array(19).fill(412)])
    assert.equal(eventsOf(id).length, 1)
  })

  test('patching metadata loses none of twenty concurrent patches without an ETag', async () => {
    const id = await aDevice()
    await Promise.all(Array.from({ length: 20 }, (_, i) => patch(id, [{ op: 'add', path: `/k${i}`, value: i }])))
    assert.equal(Object.keys(await metadataOf(id)).length, 20)
  })
})

suite('single keys', () => {
  test('single keys can have any JSON value', async () => {
    const id = await aDevice()
    for (const text of ['"Kyiv"', '7', 'true', 'null', '[]', '{"a":{}}', '""', '1.5e3']) {
      const answer = await admin(`PUT ${metadataPath(id, 'city')}`, text)
      assert.equal(answer.status, 204, text)
      const read = await admin(`GET ${metadataPath(id, 'city')}`)
      assert.deepEqual(read.body, JSON.parse(text))
      assert.match(read.headers['content-type']!, /json/)
    }
    assert.equal((await admin(`DELETE ${metadataPath(id, 'city')}`)).status, 204)
    assert.equal((await admin(`DELETE ${metadataPath(id, 'city')}`)).status, 404)
    assert.equal((await admin(`GET ${metadataPath(id, 'city')}`)).status, 404)
  })

  test('single keys reject invalid names and values', async () => {
    const id = await aDevice()
    for (const key of ['a-b', 'a.b', 'é', 'a b'])
      assert.equal((await admin(`PUT ${metadataPath(id, key)}`, '1')).status, 400, key)
    for (const text of ['Kyiv', '{', ''])
      assert.equal((await admin(`PUT ${metadataPath(id, 'a')}`, text)).status, 400, text)
    assert.equal((await admin(`PUT ${metadataPath('nobody', 'a')}`, '1')).status, 404)
  })

  test('single keys are listed, and reads can be limited to some keys', async () => {
    const id = await aDevice({ a: 1, b: 2, c: 3 })
    assert.deepEqual((await admin(`GET ${root}/endpoints/${id}/metadata-keys`)).body.sort(), ['a', 'b', 'c'])
    assert.deepEqual((await admin(`GET ${metadataPath(id)}?include=a,%20c&include=x`)).body, { a: 1, c: 3 })
    assert.deepEqual((await admin(`GET ${metadataPath(id)}?include=`)).body, { a: 1, b: 2, c: 3 })
    assert.equal((await admin(`GET ${metadataPath(id)}?include=a-b`)).status, 400)
  })

  test('writing a single key is answered with 403 for callers who may only read, and 404 for callers without permissions', async () => {
    const id = await aDevice({ a: 1 })
    const reader = waypost.as(aCaller({ on: { [`endpoint-${id}`]: ['endpoint:read'] } }))
    const calls: [string, string, unknown?, Record<string, string>?][] = [
      ['PUT', metadataPath(id), {}],
      ['PATCH', metadataPath(id), [], patchType],
      ['PUT', metadataPath(id, 'a'), '1'],
      ['DELETE', metadataPath(id, 'a')],
    ]
    for (const [method, url, body, headers] of calls) {
      assert.equal((await reader(`${method} ${url}`, body, headers)).status, 403, method)
      assert.equal((await other(`${method} ${url}`, body, headers)).status, 404, method)
    }
    assert.equal((await reader(`GET ${metadataPath(id)}`)).status, 200)
    for (const url of [metadataPath(id), metadataPath(id, 'a'), `${root}/endpoints/${id}/metadata-keys`])
      assert.equal((await other(`GET ${url}`)).status, 404)
  })
})

suite('connectivity', () => {
  const moment = new Date('2026-01-02T03:04:05.678Z')
  const connectivity = { connected: true, connectivity_ts: '2026-01-02T03:04:05.678Z' }

  test('connectivity is metadata that only the platform sets, and does not change the ETag', async () => {
    const id = await aDevice({ a: 1 })
    const { etag } = (await admin(`GET ${metadataPath(id)}`)).headers
    await register.setConnectivity([{ endpointId: id, connected: true, at: moment, number: 1 }])
    const read = await admin(`GET ${metadataPath(id)}`)
    assert.deepEqual(read.body, { a: 1, ...connectivity })
    assert.equal(read.headers.etag, etag)
    assert.deepEqual((await admin(`GET ${root}/endpoints/${id}?include=metadata`)).body.metadata, read.body)
    assert.equal((await admin(`GET ${metadataPath(id, 'connected')}`)).text, 'true')
    assert.deepEqual(eventsOf(id), [
      { added: { connected: 'true', connectivity_ts: `"${connectivity.connectivity_ts}"` }, updated: {}, removed: {} },
    ])
  })

  test('connectivity is kept when metadata is replaced, and cannot be set or deleted', async () => {
    const id = await aDevice({ a: 1 })
    await register.setConnectivity([{ endpointId: id, connected: true, at: moment, number: 1 }])
    assert.equal((await admin(`PUT ${metadataPath(id)}`, { b: 1, connected: false })).status, 204)
    assert.deepEqual(await metadataOf(id), { b: 1, ...connectivity })
    assert.equal((await patch(id, [{ op: 'replace', path: '', value: { c: 1 } }])).status, 204)
    assert.deepEqual(await metadataOf(id), { c: 1, ...connectivity })
    for (const key of ['connected', 'connectivity_ts']) {
      assert.equal((await admin(`PUT ${metadataPath(id, key)}`, 'false')).status, 400)
      assert.equal((await admin(`DELETE ${metadataPath(id, key)}`)).status, 400)
      assert.equal((await patch(id, [{ op: 'replace', path: `/${key}`, value: false }])).status, 400)
      assert.equal((await patch(id, [{ op: 'move', from: `/${key}`, path: '/mine' }])).status, 400)
    }
    assert.equal((await patch(id, [{ op: 'test', path: '/connected', value: true }])).status, 204)
    assert.deepEqual(await metadataOf(id), { c: 1, ...connectivity })
  })

  test('connectivity is not overwritten by an older change', async () => {
    const id = await aDevice()
    const later = new Date(moment.getTime() + 1000)
    await register.setConnectivity([
      { endpointId: id, connected: true, at: moment, number: 1 },
      { endpointId: id, connected: false, at: later, number: 3 },
      { endpointId: 'nobody', connected: true, at: later, number: 4 },
    ])
    // The number of a change decides which change is newer, not the clock of the node.
    await register.setConnectivity([
      { endpointId: id, connected: true, at: new Date(later.getTime() + 5000), number: 2 },
    ])
    assert.deepEqual(await metadataOf(id), { connected: false, connectivity_ts: later.toISOString() })
    await register.setConnectivity([{ endpointId: id, connected: true, at: moment, number: 5 }])
    assert.deepEqual(await metadataOf(id), { connected: true, connectivity_ts: moment.toISOString() })
    // The number also decides if one call contains several changes, in any order.
    await register.setConnectivity([
      { endpointId: id, connected: false, at: moment, number: 7 },
      { endpointId: id, connected: true, at: later, number: 6 },
    ])
    assert.deepEqual(await metadataOf(id), { connected: false, connectivity_ts: moment.toISOString() })
  })
})

suite('a device changes its own metadata', () => {
  test('a device changes its own metadata by replacing all, merging and deleting keys', async () => {
    const id = await aDevice({ a: 1, locked: 2 })
    assert.equal(await register.updateMetadata(id, { replace: { b: 1 }, keep: ['locked'] }), true)
    assert.deepEqual(await register.metadataOf(id), { b: 1, locked: 2 })
    assert.equal(await register.updateMetadata(id, { replace: { c: 1, d: 1 }, only: ['b', 'c'] }), true)
    assert.deepEqual(await register.metadataOf(id), { c: 1, locked: 2 })
    await register.updateMetadata(id, { merge: { b: 2, c: 3 } })
    await register.updateMetadata(id, { remove: ['locked', 'nothing'] })
    assert.deepEqual(await register.metadataOf(id), { b: 2, c: 3 })
    assert.equal(await register.updateMetadata('nobody', { merge: { a: 1 } }), false)
    await assert.rejects(register.updateMetadata(id, { merge: { 'a-b': 1 } }), /metadata: key/)
    await assert.rejects(register.updateMetadata(id, { merge: { connected: true } }), /maintained by the platform/)
  })
})

suite('metadata keys of an application', () => {
  test('the list of metadata keys contains the current keys of the endpoints of an application, by version', async () => {
    const mine = await anApplication(admin, ['v1', 'v2'])
    const keys = async () => (await admin(`GET ${root}/applications/${mine.app}/metadata-keys`)).body
    assert.deepEqual(await keys(), { [mine.version]: [], [`${mine.app}-v2`]: [] })
    const [one, two] = [
      await anEndpoint(mine.version, { metadata: { a: 1, b: 1 } }),
      await anEndpoint(mine.version, { metadata: { b: 1 } }),
    ]
    await anEndpoint(`${mine.app}-v2`)
    assert.deepEqual(await keys(), { [mine.version]: ['a', 'b'], [`${mine.app}-v2`]: [] })
    await admin(`DELETE ${metadataPath(two, 'b')}`)
    await admin(`PUT ${metadataPath(two, 'c')}`, '1')
    assert.deepEqual((await keys())[mine.version], ['a', 'b', 'c'])
    await admin(`DELETE ${root}/endpoints/${one}`)
    assert.deepEqual((await keys())[mine.version], ['c'])
  })

  test('the list of metadata keys gets 404 for an unknown application and for an application that the caller may not read', async () => {
    const url = (name: string) => `GET ${root}/applications/${name}/metadata-keys`
    assert.equal((await admin(url('no-such-app'))).status, 404)
    assert.equal((await other(url(app))).status, 404)
    const caller = (...scopes: string[]) => waypost.as(aCaller({ on: { [`application-${app}`]: scopes } }))
    assert.equal((await caller()(url(app))).status, 404)
    assert.equal((await caller('application:read')(url(app))).status, 403)
    assert.equal((await caller('application:endpoints-metadata-keys:read')(url(app))).status, 200)
  })
})
