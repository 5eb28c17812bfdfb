import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import { Register } from '../contract.ts'
import { foldCounts } from '../endpoints/store/counts.ts'

const { waypost, admin, anApplication, anEndpoint } = await openRegister()
const other = waypost.as(aTenantAdmin('other'))
const platform = waypost.as(aPlatformAdmin())
const list = (parameters: Record<string, unknown>, ask = admin) => ask(`GET ${root}/endpoints${query(parameters)}`)
const search = (body: object, ask = admin) => ask(`POST ${root}/endpoints/search`, body)

/** Application a has endpoints 1 and 2 in version v1 and 3 in v2. Application b has endpoint 4. */
const a = await anApplication(admin, ['v1', 'v2'])
const b = await anApplication()
const metadata: Record<string, object> = {
  e1: { city: 'Kyiv', level: 1, tags: ['x', 'y'], nested: { deep: { on: true } }, note: 'no "quotes" here' },
  e2: { city: 'Lviv', level: 20, tags: 'x', nested: { deep: { on: false, more: 1 } } },
  e3: { city: 'Kyiv', level: 3, empty: null, name: 'pump-17' },
  e4: { city: 'kyiv' },
}
for (const [endpointId, version] of [
  ['e1', a.version],
  ['e2', a.version],
  ['e3', `${a.app}-v2`],
  ['e4', b.version],
] as const)
  await anEndpoint(version, { endpointId, metadata: metadata[endpointId] })
const foreign = await anApplication(other)
await anEndpoint(foreign.version, { endpointId: 'f1', metadata: { city: 'Kyiv' } }, other)

const idsOf = async (parameters: Record<string, unknown>, ask = admin) => {
  const answer = await list(parameters, ask)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.totalElements, answer.body.content.length, 'the total must be exact')
  return ids(answer)
}
const matching = async (multiFilter: object) => idsOf({ multiFilter })
const condition = (key: string, operator: string, ...values: unknown[]) => ({ and: [{ key, operator, values }] })

suite('listing endpoints', () => {
  test('listing endpoints returns all endpoints of the tenant in the order of registration, without metadata', async () => {
    const answer = await list({})
    assert.deepEqual(ids(answer), ['e1', 'e2', 'e3', 'e4'])
    assert.equal(answer.body.totalElements, 4)
    for (const endpoint of answer.body.content) {
      assert.deepEqual(Object.keys(endpoint).sort(), [
        'appName',
        'appVersion',
        'createdDate',
        'endpointId',
        'filters',
        'poolIds',
      ])
      assert.deepEqual(endpoint.filters, [])
    }
  })

  test('listing endpoints accepts one or several ids, applications and versions, repeated or separated by commas', async () => {
    assert.deepEqual(await idsOf({ applicationName: a.app }), ['e1', 'e2', 'e3'])
    assert.deepEqual(await idsOf({ applicationName: `${b.app}, ${a.app}` }), ['e1', 'e2', 'e3', 'e4'])
    const repeated = await admin(`GET ${root}/endpoints?applicationName=${a.app}&applicationName=${a.app},${b.app}`)
    assert.deepEqual([ids(repeated).length, repeated.body.totalElements], [4, 4])
    assert.deepEqual(await idsOf({ applicationName: 'nothing' }), [])
    assert.deepEqual(await idsOf({ applicationVersionName: a.version }), ['e1', 'e2'])
    assert.deepEqual(await idsOf({ applicationVersionName: `${a.version},${b.version}` }), ['e1', 'e2', 'e4'])
    assert.deepEqual(await idsOf({ applicationName: b.app, applicationVersionName: a.version }), [])
    assert.deepEqual(await idsOf({ endpointId: 'e3,e1,nobody,f1' }), ['e1', 'e3'])
    assert.deepEqual(await idsOf({ endpointId: 'e3,e1', applicationVersionName: a.version }), ['e1'])
  })

  test('listing endpoints treats an empty parameter as absent', async () => {
    for (const name of ['endpointId', 'applicationName', 'applicationVersionName', 'filterId'])
      assert.deepEqual(await idsOf({ [name]: '' }), ['e1', 'e2', 'e3', 'e4'], name)
  })

  test('listing endpoints returns pages with the total of all endpoints', async () => {
    for (const parameters of [{}, { metadataFilter: {} }, { regex: '^e' }] as Record<string, unknown>[]) {
      const page = await list({ ...parameters, offset: 1, limit: 2 })
      assert.deepEqual([ids(page), page.body.totalElements], [['e2', 'e3'], 4], JSON.stringify(parameters))
      const beyond = await list({ ...parameters, offset: 10 })
      assert.deepEqual(beyond.body, { totalElements: 4, content: [] }, JSON.stringify(parameters))
      const all = await list({ ...parameters, limit: 0, offset: 1 })
      assert.deepEqual([ids(all), all.body.totalElements], [['e2', 'e3', 'e4'], 4], JSON.stringify(parameters))
      const large = await list({ ...parameters, limit: 5000 })
      assert.deepEqual([ids(large), large.body.totalElements], [['e1', 'e2', 'e3', 'e4'], 4])
    }
  })

  test('listing endpoints includes metadata, or some of its keys, on request', async () => {
    const all = await list({ include: 'metadata', endpointId: 'e1' })
    assert.deepEqual(all.body.content[0].metadata, metadata.e1)
    assert.equal(typeof all.body.content[0].metadataUpdatedDate, 'string')
    const some = await admin(`GET ${root}/endpoints?metadataKeys=city,nothing&metadataKeys=level`)
    assert.deepEqual(
      some.body.content.map((endpoint: { metadata: object }) => endpoint.metadata),
      [{ city: 'Kyiv', level: 1 }, { city: 'Lviv', level: 20 }, { city: 'Kyiv', level: 3 }, { city: 'kyiv' }],
    )
    const streamed = await list({ include: 'metadata,filters', limit: 0 })
    assert.deepEqual(streamed.body.content[2].metadata, metadata.e3)
  })

  test('listing endpoints returns an ETag that changes with the content of the page', async () => {
    const first = await list({ applicationName: b.app, include: 'metadata' })
    const listTwice = (parameters: Record<string, unknown>) =>
      admin(`GET ${root}/endpoints${query(parameters)}`, undefined, { 'if-none-match': first.headers.etag! })
    assert.equal((await listTwice({ applicationName: b.app, include: 'metadata' })).status, 304)
    assert.equal((await listTwice({ applicationName: b.app })).status, 200)
    for (const parameters of [{ limit: 0 }, { limit: 5000, metadataFilter: { city: 'Kyiv' } }]) {
      const url = `GET ${root}/endpoints${query(parameters)}`
      const { etag } = (await admin(url)).headers
      assert.equal((await admin(url, undefined, { 'if-none-match': etag! })).status, 304, url)
    }
    await admin(`PUT ${root}/endpoints/e4/metadata/level`, '1')
    assert.equal((await listTwice({ applicationName: b.app, include: 'metadata' })).status, 200)
    await admin(`DELETE ${root}/endpoints/e4/metadata/level`)
  })

  test('listing endpoints returns exact totals, before and after the stored count differences are added to the totals', async () => {
    const { app, version } = await anApplication()
    for (let i = 0; i < 3; i++) await anEndpoint(version)
    const total = async () => (await list({ applicationName: app, limit: 1 })).body.totalElements
    assert.equal(await total(), 3)
    await waypost.kit.db.tx((sql) => foldCounts(sql))
    assert.equal(await total(), 3)
    const id = await anEndpoint(version, { metadata: { a: 1 } })
    assert.equal(await total(), 4)
    await admin(`DELETE ${root}/endpoints/${id}`)
    await waypost.kit.db.tx((sql) => foldCounts(sql))
    assert.equal(await total(), 3)
    assert.deepEqual((await admin(`GET ${root}/applications/${app}/metadata-keys`)).body, { [version]: [] })
    await admin(`POST ${root}/endpoints/delete`, { endpointIds: ids(await list({ applicationName: app })) })
    await waypost.kit.db.tx((sql) => foldCounts(sql))
    assert.equal(await total(), 0)
  })
})

suite('metadataFilter', () => {
  test('metadataFilter compares for equality, with dots for nested keys', async () => {
    assert.deepEqual(await idsOf({ metadataFilter: { city: 'Kyiv' } }), ['e1', 'e3'])
    assert.deepEqual(await idsOf({ metadataFilter: { city: 'Kyiv', level: 3 } }), ['e3'])
    assert.deepEqual(await idsOf({ metadataFilter: { level: 1.0 } }), ['e1'])
    assert.deepEqual(await idsOf({ metadataFilter: { level: '1' } }), [])
    assert.deepEqual(await idsOf({ metadataFilter: { 'nested.deep.on': true } }), ['e1'])
    assert.deepEqual(await idsOf({ metadataFilter: { nested: { deep: { on: false } } } }), [])
    assert.deepEqual(await idsOf({ metadataFilter: { nested: { deep: { more: 1, on: false } } } }), ['e2'])
    assert.deepEqual(await idsOf({ metadataFilter: { tags: ['x'] } }), [])
    assert.deepEqual(await idsOf({ metadataFilter: { tags: ['x', 'y'] } }), ['e1'])
    assert.deepEqual(await idsOf({ metadataFilter: { empty: null } }), ['e3'])
    assert.deepEqual(await idsOf({ metadataFilter: { note: 'no "quotes" here' } }), ['e1'])
    assert.deepEqual(await idsOf({ metadataFilter: {}, applicationName: b.app }), ['e4'])
  })

  test('metadataFilter accepts the connectivity keys', async () => {
    const at = new Date('2026-01-01T00:00:00Z')
    await waypost.ask(Register).setConnectivity([{ endpointId: 'e2', connected: true, at, number: 1 }])
    assert.deepEqual(await idsOf({ metadataFilter: { connected: true } }), ['e2'])
    assert.deepEqual(await idsOf({ metadataFilter: { connectivity_ts: at.toISOString() } }), ['e2'])
    assert.deepEqual(await matching(condition('connected', 'NOT_IN', true)), ['e1', 'e3', 'e4'])
    for (const regex of ['^connected$', '^true$', '^2026-01-01T00'])
      assert.deepEqual((await idsOf({ regex })).at(-1), 'e2', regex)
    const keys = await list({ endpointId: 'e2', metadataKeys: 'connected,level' })
    assert.deepEqual(keys.body.content[0].metadata, { level: 20, connected: true })
  })

  test('metadataFilter rejects invalid input', async () => {
    for (const text of [
      '{"city":1e400}',
      '{"city":[-1e999]}',
      '{',
      '[]',
      '7',
      'null',
      '{"a-b":1}',
      '{"a..b":1}',
      '{"a":"\\u0000"}',
      'x'.repeat(8193),
    ]) {
      const answer = await admin(`GET ${root}/endpoints?metadataFilter=${encodeURIComponent(text)}`)
      assert.equal(answer.status, 400, text)
      assert.match(answer.body.message, /^metadataFilter/)
    }
  })
})

suite('multiFilter', () => {
  test('multiFilter supports IN, NOT_IN, IN_REGEX and NOT_IN_REGEX', async () => {
    assert.deepEqual(await matching(condition('city', 'IN', 'Kyiv', 'Lviv')), ['e1', 'e2', 'e3'])
    assert.deepEqual(await matching(condition('city', 'IN')), [])
    assert.deepEqual(await matching(condition('tags', 'IN', 'x', ['x', 'y'])), ['e1', 'e2'])
    assert.deepEqual(await matching(condition('level', 'NOT_IN', 1, 3)), ['e2', 'e4'])
    assert.deepEqual(await matching(condition('city', 'IN_REGEX', '^K', '^L')), ['e1', 'e2', 'e3'])
    assert.deepEqual(await matching(condition('city', 'IN_REGEX', '(?i)^kyiv$')), ['e1', 'e3', 'e4'])
    assert.deepEqual(await matching(condition('level', 'IN_REGEX', '^[0-9]$')), ['e1', 'e3'])
    assert.deepEqual(await matching(condition('name', 'NOT_IN_REGEX', 'pump-[0-9]+')), ['e1', 'e2', 'e4'])
    assert.deepEqual(await matching(condition('nested.deep.on', 'IN', false, 7)), ['e2'])
    assert.deepEqual(await matching(condition('tags.1', 'IN', 'y')), ['e1'])
    assert.deepEqual(await matching(condition('tags.1', 'IN', 'x', ['z'])), [])
    assert.deepEqual(await matching(condition('tags.-1', 'IN', 'y', ['z'])), ['e1'])
    assert.deepEqual(await matching(condition('tags.1', 'NOT_IN', 'y')), ['e2', 'e3', 'e4'])
  })

  test('multiFilter combines conditions with and and or, and sorts', async () => {
    const kyiv = { key: 'city', operator: 'IN', values: ['Kyiv'] }
    const low = { key: 'level', operator: 'IN', values: [1, 20] }
    assert.deepEqual(await matching({ and: [kyiv, low] }), ['e1'])
    assert.deepEqual(await matching({ or: [kyiv, low] }), ['e1', 'e2', 'e3'])
    assert.deepEqual(await matching({ and: [] }), ['e1', 'e2', 'e3', 'e4'])
    assert.deepEqual(await matching({ and: [], sort: 'level' }), ['e1', 'e3', 'e2', 'e4'])
    assert.deepEqual(await matching({ and: [], sort: 'level', sortOrder: 'desc' }), ['e2', 'e3', 'e1', 'e4'])
    const page = await list({ multiFilter: { and: [], sort: 'level' }, offset: 1, limit: 1 })
    assert.deepEqual([ids(page), page.body.totalElements], [['e3'], 4])
    const all = await list({ multiFilter: { and: [], sort: 'level', sortOrder: 'desc' }, limit: 0 })
    assert.deepEqual(ids(all), ['e2', 'e3', 'e1', 'e4'])
  })

  test('multiFilter rejects invalid input', async () => {
    const criterion = { key: 'a', operator: 'IN', values: [] }
    const cases: unknown[] = [
      {},
      [],
      { and: [criterion], or: [criterion] },
      { and: criterion },
      { or: [] },
      { and: [1] },
      { and: [{ ...criterion, key: 7 }] },
      { and: [{ ...criterion, key: 'a-b' }] },
      { and: [{ ...criterion, key: 'a.1.2.3.4' }] },
      { and: [{ ...criterion, operator: 'LIKE' }] },
      { and: [{ ...criterion, values: 'x' }] },
      { and: [{ ...criterion, operator: 'IN_REGEX', values: ['('] }] },
      { and: [{ ...criterion, operator: 'IN_REGEX', values: [7] }] },
      { and: [], sort: 7 },
      { and: [], sort: 'a', sortOrder: 'up' },
      { and: Array(101).fill(criterion) },
    ]
    for (const multiFilter of cases) {
      const answer = await list({ multiFilter })
      assert.equal(answer.status, 400, JSON.stringify(multiFilter).slice(0, 100))
      assert.match(answer.body.message, /^multiFilter/)
    }
  })
})

suite('regex', () => {
  test('regex searches ids, metadata keys and values, and version names', async () => {
    assert.deepEqual(await idsOf({ regex: '^e[23]$' }), ['e2', 'e3'])
    assert.deepEqual(await idsOf({ regex: '^empty$' }), ['e3'])
    assert.deepEqual(await idsOf({ regex: '^Lviv$' }), ['e2'])
    assert.deepEqual(await idsOf({ regex: '-v2$' }), ['e3'])
    assert.deepEqual(await idsOf({ regex: 'pump-\\d+', applicationName: a.app }), ['e3'])
    assert.deepEqual(await idsOf({ regex: '"deep"' }), ['e1', 'e2'])
    assert.deepEqual(await idsOf({ regex: '^no "quotes" h' }), ['e1'])
    assert.deepEqual(await idsOf({ regex: '^(^|\\b)+3$' }), ['e3'])
    assert.deepEqual(await idsOf({ regex: '^y' }), [])
    assert.deepEqual(await idsOf({ regex: '' }), ['e1', 'e2', 'e3', 'e4'])
  })

  test('regex rejects invalid and too complex regular expressions', async () => {
    for (const regex of ['(', '[a', '(?<=x)y', '(a)\\1', '((a{1,50}){1,50}){1,50}', 'x'.repeat(501)]) {
      const answer = await list({ regex })
      assert.equal(answer.status, 400, regex)
      assert.match(answer.body.message, /^regex/)
    }
  })

  test('regex responds quickly to a pattern for which other engines backtrack exponentially', async () => {
    const started = performance.now()
    assert.equal((await list({ regex: '(x+x+)+y' })).status, 200)
    assert.ok(performance.now() - started < 2000)
  })
})

suite('permissions of the caller', () => {
  const reader = (on: Record<string, string[]>) => waypost.as(aCaller({ on }))
  const read = ['endpoint:read']

  test('permissions restrict the content and the total of a list', async () => {
    const both = reader({ 'endpoint-e2': read, 'endpoint-e4': read, [`application-${b.app}`]: read })
    const single = reader({ 'endpoint-e3': read, 'endpoint-f1': read, 'endpoint-e1': ['endpoint:update'] })
    const nothing = reader({ 'tenant-system': ['application:read'] })
    for (const parameters of [{}, { limit: 0 }, { regex: '.' }, { metadataFilter: {}, limit: 0 }] as Record<
      string,
      unknown
    >[]) {
      const label = JSON.stringify(parameters)
      assert.deepEqual(await idsOf(parameters, both), ['e2', 'e4'], label)
      assert.deepEqual(await idsOf(parameters, single), ['e3'], label)
      assert.deepEqual(await idsOf(parameters, nothing), [], label)
    }
    assert.deepEqual(await idsOf({ applicationName: a.app }, both), ['e2'])
    assert.deepEqual(await idsOf({ applicationVersionName: a.version }, both), ['e2'])
    assert.deepEqual(await idsOf({ endpointId: 'e1,e2,e3' }, both), ['e2'])
    assert.deepEqual(await idsOf({ metadataFilter: { city: 'Kyiv' } }, both), [])
    const page = await list({ limit: 1, offset: 1 }, both)
    assert.deepEqual([ids(page), page.body.totalElements], [['e4'], 2])
  })

  test('lists of another tenant need the scope on the platform', async () => {
    assert.equal((await list({ tenantId: 'other' })).status, 403)
    assert.equal((await list({ tenantId: 'default' })).status, 200)
    assert.deepEqual(await idsOf({ tenantId: 'other' }, platform), ['f1'])
    assert.deepEqual(await idsOf({}, platform), [])
    assert.deepEqual(await idsOf({}, other), ['f1'])
  })
})

suite('searching', () => {
  test('searching supports fields of the endpoint and its metadata', async () => {
    const hits = async (body: object) => {
      const answer = await search({ and: [], ...body })
      assert.equal(answer.status, 200, answer.text)
      return ids(answer)
    }
    const is = (key: string, ...values: unknown[]) => ({ key, operator: 'IN', values })
    assert.deepEqual(await hits({}), ['e1', 'e2', 'e3', 'e4'])
    assert.deepEqual(await hits({ and: [is('endpointId', 'e1', 'e3')] }), ['e1', 'e3'])
    assert.deepEqual(await hits({ and: [is('appName', b.app)] }), ['e4'])
    assert.deepEqual(await hits({ and: [{ key: 'appVersion.name', operator: 'IN_REGEX', values: ['-v2$'] }] }), ['e3'])
    assert.deepEqual(await hits({ and: [is('city', 'Kyiv'), { or: [is('level', 3), is('level', 20)] }] }), ['e3'])
    assert.deepEqual(await hits({ and: [is('city', 'Kyiv')], or: [is('level', 1), is('level', 20)] }), ['e1'])
    const { createdDate } = (await admin(`GET ${root}/endpoints/e1`)).body
    assert.deepEqual((await hits({ and: [is('createdDate', createdDate)] }))[0], 'e1')
    assert.deepEqual(await hits({ and: [{ ...is('endpointId', 'e1'), operator: 'NOT_IN' }] }), ['e2', 'e3', 'e4'])
    assert.deepEqual(await hits({ applicationName: [a.app], applicationVersionName: a.version }), ['e1', 'e2'])
    assert.deepEqual(await hits({ endpointIds: ['e4', 'e1'], sort: 'endpointId', sortOrder: 'desc' }), ['e4', 'e1'])
    assert.deepEqual(await hits({ regex: '^Lviv$', limit: 1 }), ['e2'])
    assert.deepEqual(await hits({ limit: 0 }), ['e1', 'e2', 'e3', 'e4'])
    assert.deepEqual(await hits({ filterIds: [] }), ['e1', 'e2', 'e3', 'e4'])
    assert.deepEqual(await hits({ endpointIds: [] }), [])
    const answer = await search({ and: [], include: ['metadata'], endpointIds: ['e2'], metadataKeys: ['city'] })
    assert.deepEqual(answer.body.content[0].metadata, { city: 'Lviv' })
    assert.equal((await search({ and: [is('city', 'Kyiv')], limit: 1 })).body.totalElements, 2)
  })

  test('searching rejects invalid input', async () => {
    const cases: object[] = [
      {},
      { and: {} },
      { and: [{}] },
      { and: [{ key: 'createdDate', operator: 'IN', values: ['yesterday'] }] },
      { and: [{ key: 'createdDate', operator: 'IN', values: ['2026-02-30T00:00:00Z'] }] },
      { and: [{ key: 'endpointId', operator: 'IN', values: [7] }] },
      { and: [], or: [] },
      { and: [], limit: -1 },
      { and: [], include: ['all'] },
      { and: [], sortOrder: 'up' },
      { and: [], metadataKeys: ['a-b'] },
      { and: [], regex: '(' },
      { and: [], filterIds: ['nothing'] },
    ]
    for (const body of cases) assert.equal((await search(body)).status, 400, JSON.stringify(body))
    assert.match((await search({ and: [], filterIds: ['nothing'] })).body.message, /^filterIds: /)
  })
})

suite('query parameters', () => {
  test('query parameters that are invalid are rejected with their name', async () => {
    const cases = { limit: -1, offset: -1, include: 'all', metadataKeys: 'a-b', filterId: 'nothing', tenantId: '' }
    for (const [name, value] of Object.entries(cases)) {
      const answer = await list({ [name]: value })
      assert.equal(answer.status, 400, name)
      assert.match(answer.body.message, new RegExp(`^${name}`))
    }
  })
})
