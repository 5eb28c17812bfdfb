import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { asf, openIngest, searchedSamples as samples } from '../../../test/harness/ingest.ts'

const { waypost, admin, aCollectingEndpoint, anEndpoint, send, search } = await openIngest()

let [index, first, second] = ['', '', '']
before(async () => {
  const endpoint = await aCollectingEndpoint({
    mappings: { properties: { dataSample: { properties: { code: { type: 'keyword' } } } } },
  })
  const other = { ...(await anEndpoint(endpoint.version)), version: endpoint.version }
  ;[index, first, second] = [endpoint.index, endpoint.endpointId, other.endpointId]
  for (const sample of samples) await send(sample.n % 2 === 1 ? endpoint : other, sample)
})

type Hit = { _source: { dataSample: { n: number } } }
const numbersOf = ({ hits }: { hits: { hits: Hit[] } }) => hits.hits.map(({ _source }) => _source.dataSample.n)

suite('queries', () => {
  const f = (name: string) => `dataSample.${name}`
  const cases: [what: string, query: () => object, found: number[]][] = [
    ['match_all', () => ({ match_all: {} }), [1, 2, 3, 4, 5]],
    ['match_none', () => ({ match_none: {} }), []],
    ['term of a number', () => ({ term: { [f('temperature')]: 20.5 } }), [2]],
    ['term of a number that is text', () => ({ term: { [f('temperature')]: 40 } }), [4]],
    ['term of a text', () => ({ term: { [f('room')]: { value: 'office' } } }), [3]],
    ['term of .keyword', () => ({ term: { [`${f('room')}.keyword`]: 'Office' } }), [4]],
    ['term of a boolean', () => ({ term: { [f('on')]: true } }), [1, 3]],
    ['term of a boolean as text', () => ({ term: { [f('on')]: 'false' } }), [2]],
    ['term of an item of a list', () => ({ term: { [f('tags')]: 'b' } }), [1, 2]],
    ['term within a list of objects', () => ({ term: { [f('items.v')]: 'two' } }), [5]],
    ['term of an endpoint', () => ({ term: { endpointId: second } }), [2, 4]],
    ['terms of endpoints', () => ({ terms: { endpointId: [first, second, 'x'] } }), [1, 2, 3, 4, 5]],
    ['terms', () => ({ terms: { [f('n')]: [1, '5', 9] } }), [1, 5]],
    ['terms of nothing', () => ({ terms: { [f('n')]: [] } }), []],
    ['term of an unknown field', () => ({ term: { 'no.such.field': 1 } }), []],
    ['range of numbers', () => ({ range: { [f('temperature')]: { gte: 10, lt: 30 } } }), [1, 2]],
    [
      'range with from and to',
      () => ({ range: { [f('temperature')]: { from: 10, to: 30, include_upper: false } } }),
      [1, 2],
    ],
    [
      'range with from, without it',
      () => ({ range: { [f('temperature')]: { from: 10, to: null, include_lower: false } } }),
      [2, 3],
    ],
    ['range of numbers as text', () => ({ range: { [f('temperature')]: { gt: '10' } } }), [2, 3, 4]],
    ['range of dates', () => ({ range: { [f('at')]: { gte: '2026-01-01', lte: '2026-01-01' } } }), [1, 2, 3]],
    [
      'range of date math',
      () => ({ range: { [f('at')]: { gte: '2026-01-01T01:00:00Z||/d', lt: '2026-01-01||+90m' } } }),
      [1, 2],
    ],
    ['range of a time zone', () => ({ range: { [f('at')]: { gte: '2026-01-03T06:00', time_zone: '+01:00' } } }), [4]],
    ['range of @timestamp', () => ({ range: { '@timestamp': { gte: 'now-5m', lte: 'now+5m' } } }), [1, 2, 3, 4, 5]],
    ['range of @timestamp in the past', () => ({ range: { '@timestamp': { lt: 'now-1h' } } }), []],
    ['range of texts', () => ({ range: { [f('room')]: { gte: 'o' } } }), [3]],
    ['exists', () => ({ exists: { field: f('on') } }), [1, 2, 3]],
    ['exists of an object', () => ({ exists: { field: f('nested') } }), [3, 4]],
    [
      'exists leaves out null and empty lists',
      () => ({ bool: { should: [{ exists: { field: f('tags') } }, { exists: { field: f('nested.deep') } }] } }),
      [1, 2, 3],
    ],
    ['prefix', () => ({ prefix: { [f('room')]: 'lab' } }), [2]],
    ['prefix without case', () => ({ prefix: { [f('room')]: { value: 'LAB', case_insensitive: true } } }), [1, 2]],
    ['prefix takes % and _ literally', () => ({ prefix: { [f('room')]: '%' } }), []],
    ['match of words', () => ({ match: { [f('room')]: 'LAB office' } }), [1, 2, 3, 4]],
    ['match of all words', () => ({ match: { [f('room')]: { query: 'two lab', operator: 'and' } } }), [2]],
    ['match of a number', () => ({ match: { [f('n')]: 3 } }), [3]],
    ['match of a keyword', () => ({ match: { [f('code')]: 'A' } }), []],
    ['match of a whole keyword', () => ({ match: { [f('code')]: 'A-1' } }), [5]],
    ['ids of no document', () => ({ ids: { values: ['x', '00000000-0000-0000-0000-000000000000'] } }), []],
    [
      'must and must_not',
      () => ({ bool: { must: { exists: { field: f('on') } }, must_not: [{ term: { [f('n')]: 1 } }] } }),
      [2, 3],
    ],
    ['should', () => ({ bool: { should: [{ term: { [f('n')]: 1 } }, { term: { [f('n')]: 4 } }] } }), [1, 4]],
    [
      'should is optional if the query has a filter',
      () => ({ bool: { filter: [{ term: { [f('on')]: true } }], should: [{ term: { [f('n')]: 4 } }] } }),
      [1, 3],
    ],
    [
      'minimum_should_match',
      () => ({
        bool: { should: [{ term: { [f('on')]: true } }, { term: { [f('tags')]: 'b' } }], minimum_should_match: 2 },
      }),
      [1],
    ],
    [
      'minimum_should_match in percent',
      () => ({
        bool: { should: [{ term: { [f('on')]: true } }, { term: { [f('tags')]: 'b' } }], minimum_should_match: '50%' },
      }),
      [1, 2, 3],
    ],
    ['an empty bool', () => ({ bool: {} }), [1, 2, 3, 4, 5]],
    [
      'must_not of a missing field',
      () => ({ bool: { must_not: { range: { [f('temperature')]: { gt: 0 } } } } }),
      [4, 5],
    ],
  ]
  for (const [what, query, found] of cases)
    test(`a search finds the expected documents by ${what}`, async () => {
      const answer = await search(index, { query: query() })
      assert.deepEqual(numbersOf(answer), found)
      assert.equal(answer.hits.total.value, found.length)
    })

  test('documents are found by ids', async () => {
    const { hits } = await search(index)
    const ids = hits.hits.slice(1, 3).map(({ _id }: { _id: string }) => _id)
    assert.deepEqual(numbersOf(await search(index, { query: { ids: { values: ids } } })), [2, 3])
    assert.deepEqual(numbersOf(await search(index, { query: { term: { _id: ids[0] } } })), [2])
  })

  const wrong: [what: string, body: object, problem: RegExp][] = [
    ['an unknown query', { query: { fuzzy: { a: 'b' } } }, /unknown query \[fuzzy\]/],
    ['an unknown query inside', { query: { bool: { must: [{ script: {} }] } } }, /query\.bool\.must\.0.*\[script\]/],
    ['two queries', { query: { match_all: {}, match_none: {} } }, /exactly one query/],
    ['a query that is a text', { query: 'x' }, /query: expected an object/],
    ['an unknown aggregation', { aggs: { a: { top_hits: {} } } }, /aggs\.a: unknown aggregation \[top_hits\]/],
    ['a global aggregation', { aggs: { a: { global: {} } } }, /unknown aggregation/],
    ['an aggregation without a field', { aggs: { a: { avg: {} } } }, /aggs\.a\.avg\.field/],
    ['a window beyond 10,000', { from: 9999, size: 2 }, /from \+ size/],
    ['pages by the last hit', { search_after: [1], sort: ['@timestamp'] }, /search_after: is not supported/],
    ['a negative size', { size: -1 }, /size/],
    ['a wrong order', { sort: [{ a: 'up' }] }, /sort\.0\.a/],
    ['a term of an object', { query: { term: { a: { value: {} } } } }, /query\.term\.a/],
    ['a wrong time zone', { query: { range: { a: { gte: 1, time_zone: 'Mars/Base' } } } }, /time_zone/],
    [
      'an unknown bound of a range',
      { query: { range: { a: { gtee: 1 } } } },
      /query\.range\.a: unknown field \[gtee\]/,
    ],
    ['a wrong include_lower', { query: { range: { a: { from: 1, include_lower: 1 } } } }, /include_lower/],
    ['an interval of 0', { aggs: { a: { histogram: { field: 'x', interval: 0 } } } }, /interval/],
    [
      'an unknown interval',
      { aggs: { a: { date_histogram: { field: 'x', calendar_interval: '2d' } } } },
      /calendar_interval/,
    ],
    [
      'an interval with the name of a built-in member',
      { aggs: { a: { date_histogram: { field: 'x', calendar_interval: 'constructor' } } } },
      /calendar_interval/,
    ],
    ['a _source of a number', { _source: 5 }, /_source/],
    ['terms that are not a list', { query: { terms: { a: 'x' } } }, /query\.terms\.a/],
  ]
  for (const [what, body, problem] of wrong)
    test(`a search rejects ${what}`, async () => {
      const answer = await admin(`POST ${asf}/${index}/_search`, body)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.message, problem)
      assert.equal(answer.body.error.reason, answer.body.message)
      assert.equal(answer.body.error.root_cause[0].type, answer.body.error.type)
      assert.equal(answer.body.status, 400)
    })

  test('a search rejects ten thousand clauses, and deep nesting', async () => {
    const clauses = Array.from({ length: 10_000 }, () => ({ match_all: {} }))
    const many = await admin(`POST ${asf}/${index}/_search`, { query: { bool: { must: clauses } } })
    assert.equal(many.status, 400)
    assert.match(many.body.message, /at most 1024 clauses/)
    let deep: object = { match_all: {} }
    for (let depth = 0; depth < 25; depth++) deep = { bool: { must: deep } }
    const nested = await admin(`POST ${asf}/${index}/_search`, { query: deep })
    assert.equal(nested.status, 400)
    assert.match(nested.body.message, /20 levels/)
  })

  test('a search with a thousand clauses succeeds', async () => {
    const should = Array.from({ length: 1000 }, (_, n) => ({ term: { 'dataSample.n': n + 3 } }))
    assert.deepEqual(numbersOf(await search(index, { query: { bool: { should } } })), [3, 4, 5])
  })
})

suite('pages, order and fields of the results', () => {
  test('from and size limit the hits, but not the total', async () => {
    const answer = await search(index, { from: 1, size: 2, sort: [{ 'dataSample.n': 'desc' }] })
    assert.deepEqual(numbersOf(answer), [4, 3])
    assert.equal(answer.hits.total.value, 5)
    assert.deepEqual(answer.hits.hits[0].sort, [4])
    assert.equal((await search(index, { size: 0 })).hits.total.value, 5)
    const counted = await search(index, { size: 0, track_total_hits: 2 })
    assert.deepEqual(counted.hits.total, { value: 2, relation: 'gte' })
    assert.equal((await search(index, { size: 1, track_total_hits: false })).hits.total, undefined)
  })

  test('documents without the sorted field are last, or first if the search requests it', async () => {
    const by = (options: object) => search(index, { sort: [{ 'dataSample.on': options }, { 'dataSample.n': 'asc' }] })
    assert.deepEqual(numbersOf(await by({ order: 'desc' })), [1, 3, 2, 4, 5])
    assert.deepEqual(numbersOf(await by({ order: 'asc', missing: '_first' })), [4, 5, 2, 1, 3])
  })

  test('hits are sorted by time and by endpoint', async () => {
    assert.deepEqual(numbersOf(await search(index, { sort: [{ '@timestamp': { order: 'desc' } }] })), [5, 4, 3, 2, 1])
    const [one] = [first, second].sort()
    const sorted = await search(index, { sort: ['endpointId', { 'dataSample.n': 'asc' }] })
    assert.deepEqual(numbersOf(sorted), one === first ? [1, 3, 5, 2, 4] : [2, 4, 1, 3, 5])
  })

  test('repeated searches of one endpoint find its documents, also when PostgreSQL keeps the plan of these searches', async () => {
    const query = (endpointId: string, range: object) => ({
      bool: { filter: [{ term: { endpointId } }, { range: { '@timestamp': range } }] },
    })
    const recent = { gte: 'now-5m', lte: 'now+5m' }
    const sort = [{ '@timestamp': 'desc' }]
    // A search of one endpoint keeps its plan after twenty searches.
    for (let round = 0; round < 30; round++) {
      const newest = await search(index, { query: query(first, recent), sort, size: 2 })
      assert.deepEqual(numbersOf(newest), [5, 3])
      assert.deepEqual(newest.hits.total, { value: 3, relation: 'eq' })
      assert.deepEqual(newest.hits.hits[0].sort, [Date.parse(newest.hits.hits[0]._source['@timestamp'])])
      assert.match(newest.hits.hits[0]._index, new RegExp(`^${index}-\\d{4}\\.\\d\\d\\.\\d\\d$`))
      assert.deepEqual(numbersOf(await search(index, { query: query(second, recent) })), [2, 4])
      assert.deepEqual(numbersOf(await search(index, { query: query(second, { lt: 'now-1h' }) })), [])
      const beyond = await search(index, { query: query(second, recent), from: 2 })
      assert.deepEqual([numbersOf(beyond), beyond.hits.total.value], [[], 2])
      const counted = await search(index, { query: query(first, recent), size: 1, from: 1, track_total_hits: 1 })
      assert.deepEqual([numbersOf(counted), counted.hits.total], [[3], { value: 1, relation: 'gte' }])
    }
  })

  test('_source selects the returned fields', async () => {
    const query = { term: { 'dataSample.n': 5 } }
    const sourceWith = async (_source: unknown) => (await search(index, { query, _source })).hits.hits[0]._source
    assert.equal(await sourceWith(false), undefined)
    assert.deepEqual(await sourceWith('dataSample.n'), { dataSample: { n: 5 } })
    assert.deepEqual(await sourceWith(['dataSample.items.k', 'endpointId']), {
      endpointId: first,
      dataSample: { items: [{ k: 1 }, { k: 2 }] },
    })
    assert.deepEqual(await sourceWith({ includes: ['dataSample.*'], excludes: ['*.items'] }), {
      dataSample: { n: 5, code: 'A-1' },
    })
    assert.deepEqual(Object.keys(await sourceWith({ excludes: ['dataSample'] })).sort(), [
      '@timestamp',
      'appName',
      'appVersionName',
      'endpointId',
      'tenantId',
    ])
  })

  test('parameters of the URL take precedence over the body', async () => {
    const { body } = await admin(`POST ${asf}/${index}/_search?size=1&sort=dataSample.n:desc&_source=dataSample.n`, {
      size: 3,
    })
    assert.deepEqual(numbersOf(body), [5])
    assert.equal((await admin(`POST ${asf}/${index}/_search?rest_total_hits_as_int=true`)).body.hits.total, 5)
  })
})

suite('several searches', () => {
  const bodies = [
    {},
    { query: { term: { 'dataSample.n': 1 } } },
    { index: 'default-no-such-app' },
    {},
    {},
    { query: { odd: {} } },
  ]
  const expectAnswers = (body: { responses: { status: number; hits?: object }[] }) => {
    assert.deepEqual(
      body.responses.map(({ status }) => status),
      [200, 404, 400],
    )
    assert.deepEqual(numbersOf(body.responses[0] as never), [1])
  }

  test('a request can contain several searches as lines of JSON', async () => {
    const lines = `${bodies.map((body) => JSON.stringify(body)).join('\n')}\n`
    const answer = await admin(`POST ${asf}/${index}/_msearch`, lines, { 'content-type': 'application/x-ndjson' })
    assert.equal(answer.status, 200, answer.text)
    expectAnswers(answer.body)
  })

  test('a request can contain several searches as an array', async () => {
    const answer = await admin(`POST ${asf}/${index}/_msearch`, bodies)
    assert.equal(answer.status, 200, answer.text)
    expectAnswers(answer.body)
  })

  test('a request can contain one search as its body', async () => {
    const { body } = await admin(`POST ${asf}/${index}/_msearch`, { query: { term: { 'dataSample.n': 2 } } })
    assert.deepEqual(body.responses.map(numbersOf), [[2]])
  })

  test('a multi-search with a header line but without its search gets 400', async () => {
    const answer = await admin(`POST ${asf}/${index}/_msearch`, [{}, {}, {}])
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, /the last search has no body/)
  })
})

test('searches are rejected if the documents that they return have more than 64 MiB together', async () => {
  const endpoint = await aCollectingEndpoint()
  await send(endpoint, { text: 'x'.repeat(900_000) })
  await waypost.kit.db.sql`
    insert into ingest.documents (arrived_at, ts, index_no, id, endpoint_id, version_name, doc)
    select arrived_at, ts, index_no, gen_random_uuid(), endpoint_id, version_name, doc
    from ingest.documents, generate_series(1, 79) where endpoint_id = ${endpoint.endpointId}`
  const ask = (body: object) => admin(`POST ${asf}/${endpoint.index}/_search`, body)
  const refused = await ask({ size: 1000 })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /have more than 67108864 bytes together; ask for fewer documents/)
  const searches = Array.from({ length: 8 }, () => [{}, { size: 10 }]).flat()
  const many = await admin(`POST ${asf}/${endpoint.index}/_msearch`, searches)
  assert.deepEqual([many.status, many.headers['x-waypost-error']], [400, 'search_too_large'])
  assert.equal((await search(endpoint.index, { size: 10 })).hits.hits.length, 10)
  const { hits } = await search(endpoint.index, { size: 1000, _source: false })
  assert.deepEqual([hits.hits.length, hits.total.value], [80, 80])
})
