/**
 * Sends requests with the paths, methods and content types that the clients of Elasticsearch (6 to 9) and OpenSearch use. The clients need
 * no other paths.
 */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { asf, openIngest } from '../../../test/harness/ingest.ts'

const { waypost, admin, expectOk, aCollectingEndpoint, send } = await openIngest()

let index = ''
before(async () => {
  const endpoint = await aCollectingEndpoint()
  index = endpoint.index
  for (const n of [1, 2, 3]) await send(endpoint, { n, room: `room ${n}` })
})

interface Options {
  body?: string
  type?: string
}

async function ask(operation: string, { body, type = 'application/json' }: Options = {}) {
  const [method, path = ''] = operation.split(' ')
  const { headers, ...answer } = await admin(
    `${method} ${asf}${path}`,
    body,
    body === undefined ? {} : { 'content-type': type },
  )
  return { ...answer, product: (headers as unknown as Record<string, string>)['x-elastic-product'] }
}

async function found(operation: string, options?: Options) {
  const { status, product, text, body } = await ask(operation, options)
  assert.equal(status, 200, `${operation}: ${text}`)
  assert.equal(
    product,
    'Elasticsearch',
    `${operation}: the response needs this header, because clients ignore responses without it`,
  )
  return body
}

const one = JSON.stringify({ query: { term: { 'dataSample.n': 2 } } })

test('the root of the API returns the version of the server, which clients read before their first request', async () => {
  for (const path of ['', '/']) {
    const { version, tagline } = await found(`GET ${path}`)
    assert.deepEqual([version.number, version.build_flavor, tagline], ['7.17.0', 'default', 'You Know, for Search'])
  }
  const { status, product } = await ask('HEAD /')
  assert.deepEqual([status, product], [200, 'Elasticsearch'])
  assert.equal((await waypost.as(undefined)(`GET ${asf}/`)).status, 401)
})

test('a request to a path that the platform does not have gets 404 in the format of the search engine', async () => {
  for (const operation of ['GET /_cat/indices', `PUT /${index}`, `POST /${index}/_bulk`]) {
    const { status, body } = await ask(operation)
    assert.equal(status, 404, operation)
    assert.equal(body.status, 404)
    assert.equal(body.error.root_cause[0].type, 'resource_not_found_exception')
    assert.equal(body.error.reason, body.message)
  }
})

suite('searches', () => {
  test('a client may search with GET, with or without a body', async () => {
    assert.equal((await found(`GET /${index}/_search`)).hits.total.value, 3)
    assert.equal((await found(`GET /${index}/_search`, { body: one })).hits.total.value, 1)
    assert.equal((await found(`GET /${index}/_search?size=1`)).hits.hits.length, 1)
    assert.equal((await ask(`GET /${index}/_search`, { body: '{"query"' })).status, 400)
    assert.equal((await ask(`GET /${index}/_search`, { body: one, type: 'text/plain' })).status, 415)
    const large = JSON.stringify({ query: { match: { x: 'x'.repeat(1024 * 1024) } } })
    assert.equal((await ask(`GET /${index}/_search`, { body: large })).status, 413)
  })

  test('the content types that clients of versions 8 and 9 send are accepted as JSON', async () => {
    const type = 'application/vnd.elasticsearch+json; compatible-with=9'
    assert.equal((await found(`POST /${index}/_search`, { body: one, type })).hits.total.value, 1)
  })

  test('a search without an index searches all applications that the caller may read', async () => {
    const names = (body: { hits: { hits: { _index: string }[] } }) => body.hits.hits.map(({ _index }) => _index)
    const query = JSON.stringify({ query: { term: { appName: index.replace('default-', '') } } })
    for (const method of ['GET', 'POST']) {
      const indices = names(await found(`${method} /_search`, { body: query }))
      assert.equal(indices.length, 3)
      assert.ok(indices.every((name) => name.startsWith(`${index}-`)))
    }
    const lines = [{ index }, JSON.parse(one), {}, JSON.parse(query)]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('')
    const type = 'application/vnd.elasticsearch+x-ndjson; compatible-with=8'
    const { responses } = await found('POST /_msearch', { body: lines, type })
    assert.deepEqual(
      responses.map(({ hits }: { hits: { total: { value: number } } }) => hits.total.value),
      [1, 3],
    )
  })

  test('a count is exact, with a query and without', async () => {
    const counts: [operation: string, body: string | undefined, count: number][] = [
      [`GET /${index}/_count`, undefined, 3],
      [`GET /${index}/_count`, one, 1],
      [`POST /${index}/_count`, one, 1],
      ['POST /_count', JSON.stringify({ query: { match_none: {} } }), 0],
    ]
    for (const [operation, body, count] of counts) {
      const answer = await found(operation, body === undefined ? {} : { body })
      assert.deepEqual(answer, { count, _shards: { total: 1, successful: 1, skipped: 0, failed: 0 } }, operation)
    }
  })

  test('query parameters select the returned fields of documents', async () => {
    const shown = async (parameters: string) =>
      (await found(`GET /${index}/_search?sort=dataSample.n&size=1&${parameters}`)).hits.hits[0]._source
    assert.deepEqual(await shown('_source_includes=dataSample&_source_excludes=dataSample.room'), {
      dataSample: { n: 1 },
    })
    assert.deepEqual(Object.keys(await shown('_source_includes=appName&_source_includes=tenantId')).sort(), [
      'appName',
      'tenantId',
    ])
    assert.equal('dataSample' in (await shown('_source_excludes=dataSample,appName')), false)
  })

  test('unsupported parameters that would change which documents are found are rejected', async () => {
    for (const parameter of ['q=room', 'scroll=1m', 'min_score=2'])
      assert.equal((await ask(`GET /${index}/_search?${parameter}`)).status, 400, parameter)
  })
})

test('a pipeline can also be simulated with the path that the search engine has for simulations', async () => {
  const set = { processors: [{ set: { field: 'a', value: 1 } }] }
  const docs = [{ _source: { x: 1 } }]
  const body = JSON.stringify({ pipeline: set, docs })
  const inline = await found('POST /_ingest/pipeline/_simulate', { body })
  assert.deepEqual(inline.docs[0].doc._source, { x: 1, a: 1 })
  await expectOk(`PUT ${asf}/_ingest/pipeline/of-client`, set)
  const stored = await found('POST /_ingest/pipeline/of-client/_simulate?verbose=true', {
    body: JSON.stringify({ docs }),
  })
  assert.equal(stored.docs[0].processor_results[0].doc._source.a, 1)
})

test('HEAD returns whether an index exists', async () => {
  assert.equal((await ask(`HEAD /${index}`)).status, 200)
  assert.equal((await ask('HEAD /default-missing')).status, 404)
  assert.deepEqual(Object.keys(await found(`GET /${index}`)), [index])
})

test('callers of another tenant and callers without permission find nothing at the paths of clients of the search engine', async () => {
  for (const caller of [aTenantAdmin('other'), aCaller()]) {
    const as = waypost.as(caller)
    for (const operation of [`GET ${asf}/${index}`, `GET ${asf}/${index}/_search`, `GET ${asf}/${index}/_count`])
      assert.equal((await as(operation)).status, 404, operation)
    const everywhere = await as(`GET ${asf}/_count`)
    assert.deepEqual([everywhere.status, everywhere.body.count], [200, 0], everywhere.text)
  }
  const reader = waypost.as(aCaller({ on: { 'tenant-system': ['application:read'] } }))
  assert.equal((await reader(`POST ${asf}/_ingest/pipeline/_simulate`, { docs: [] })).status, 403)
  assert.equal((await admin(`GET ${asf}/_search`)).status, 200)
})
