import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { afterAllTests } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { asf, openIngest } from '../../../test/harness/ingest.ts'
import { openSearchEngine } from '../../../test/harness/search-engine.ts'

const engine = await openSearchEngine()
const { waypost, admin, aCollectingEndpoint, anEndpoint, send, search } = await openIngest({
  environment: { WAYPOST_SEARCH_URL: engine.url, WAYPOST_SEARCH_QUEUE_DOCUMENTS: '20', WAYPOST_LOG_LEVEL: 'silent' },
})
afterAllTests(engine.close)

const { sql } = waypost.kit.db
const within = { withinMs: 20_000 }
const sampleNumbers = ({ hits }: { hits: { hits: { _source: { dataSample: { n: number } } }[] } }) =>
  hits.hits.map(({ _source }) => _source.dataSample.n)

suite('an external search engine', () => {
  test('the search engine gets the same documents as PostgreSQL and answers searches', async () => {
    const endpoint = await aCollectingEndpoint({
      mappings: { properties: { dataSample: { properties: { n: { type: 'long' } } } } },
    })
    for (const n of [1, 2, 3]) await send(endpoint, { n })
    await eventually(async () => assert.deepEqual(sampleNumbers(await search(endpoint.index)), [1, 2, 3]), within)
    const found = await search(endpoint.index, {
      query: { bool: { must: [{ range: { 'dataSample.n': { gte: 2 } } }], must_not: { term: { 'dataSample.n': 3 } } } },
    })
    assert.deepEqual(sampleNumbers(found), [2])
    assert.deepEqual(Object.keys(found.hits.hits[0]._source).sort(), [
      '@timestamp',
      'appName',
      'appVersionName',
      'dataSample',
      'endpointId',
      'tenantId',
    ])
    const [stored] =
      await sql`select id::text as id, doc from ingest.documents where endpoint_id = ${endpoint.endpointId} order by id`
    assert.equal(found.hits.hits[0]._index.startsWith(`${endpoint.index}-2`), true)
    assert.ok(engine.documents.has(`${found.hits.hits[0]._index}/${stored!.id}`))
    const template = engine.state.templates.get(`waypost-${endpoint.index}`) as never as {
      template: { mappings: { properties: Record<string, unknown> } }
    }
    assert.deepEqual(template.template.mappings.properties.dataSample, { properties: { n: { type: 'long' } } })
    assert.deepEqual([...engine.state.authorizations], [`Basic ${Buffer.from('elastic:pass word').toString('base64')}`])
    await eventually(async () => assert.equal((await sql`select 1 from ingest.outgoing`).length, 0), within)
  })

  test('the query to the search engine contains conditions for the permissions of the caller', async () => {
    const endpoint = await aCollectingEndpoint()
    const other = { ...(await anEndpoint(endpoint.version)), version: endpoint.version }
    await send(endpoint, { n: 1 })
    await send(other, { n: 2 })
    await eventually(async () => assert.equal((await search(endpoint.index)).hits.total.value, 2), within)
    const on = {
      [`application-${endpoint.app}`]: ['application:read'],
      [`endpoint-${other.endpointId}`]: ['endpoint:read'],
    }
    const caller = waypost.as(aCaller({ on }))
    const { body } = await caller(`POST ${asf}/${endpoint.index}/_search`)
    assert.deepEqual(sampleNumbers(body), [2])
    const unknown = await admin(`POST ${asf}/${endpoint.index}/_search`, { aggs: { a: { global: {} } } })
    assert.equal(unknown.status, 400)
  })

  test('documents of two applications are separate, even if one name is a prefix of the other', async () => {
    const endpoint = await aCollectingEndpoint()
    const longer = `${endpoint.app}-2`
    assert.equal((await admin('POST /api/v1/applications', { name: longer })).status, 201)
    assert.equal((await admin(`POST /api/v1/applications/${longer}/app-versions`, { nameSuffix: 'v1' })).status, 201)
    const other = { ...(await anEndpoint(`${longer}-v1`)), version: `${longer}-v1` }
    assert.equal((await admin(`PUT ${asf}/default-${longer}/_template`, {})).status, 200)
    await send(endpoint, { n: 1 })
    await send(other, { n: 2 })
    await eventually(async () => assert.deepEqual(sampleNumbers(await search(`default-${longer}`)), [2]), within)
    assert.deepEqual(sampleNumbers(await search(endpoint.index)), [1])
  })

  test('while the search engine answers 503, samples are acknowledged; their documents wait and are then sent in order', async () => {
    const endpoint = await aCollectingEndpoint()
    engine.state.isUnavailable = true
    const answer = await admin(`POST ${asf}/${endpoint.index}/_search`)
    assert.equal(answer.status, 503)
    assert.match(answer.body.message, /the engine is unavailable/)
    for (let n = 1; n <= 15; n++) await send(endpoint, { n })
    assert.equal((await sql`select 1 from ingest.outgoing`).length, 15)
    engine.state.isUnavailable = false
    await eventually(async () => assert.equal((await search(endpoint.index)).hits.total.value, 15), within)
    assert.deepEqual(
      sampleNumbers(await search(endpoint.index, { size: 20 })),
      Array.from({ length: 15 }, (_, index) => index + 1),
    )
  })

  const allDelivered = () =>
    eventually(async () => assert.equal((await sql`select 1 from ingest.outgoing`).length, 0), { withinMs: 40_000 })
  const numbersIn = (app: string) =>
    engine.state.written.flatMap((id) => {
      const found = [...engine.documents.values()].find(({ _id }) => _id === id)
      return found?._source.appName === app ? [(found._source.dataSample as { n: number }).n] : []
    })

  test('while the process of the search engine is dead, samples are acknowledged; their documents are sent after its restart', async () => {
    const endpoint = await aCollectingEndpoint()
    await engine.stop()
    const answer = await admin(`POST ${asf}/${endpoint.index}/_search`)
    assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '5'])
    assert.ok(!answer.text.includes('pass'), answer.text)
    for (const n of [1, 2, 3]) await send(endpoint, { n })
    await engine.start()
    await allDelivered()
    assert.deepEqual(numbersIn(endpoint.app), [1, 2, 3])
  })

  test('a bulk request whose connection breaks is sent again and creates no second document', async () => {
    const endpoint = await aCollectingEndpoint()
    engine.state.cutsNextBulk = true
    await send(endpoint, { n: 1 })
    await allDelivered()
    assert.deepEqual(numbersIn(endpoint.app), [1, 1], 'the request must be sent twice')
    assert.equal((await search(endpoint.index)).hits.total.value, 1)
  })

  test('a document that the search engine rejects is skipped, and later documents are sent', async () => {
    const endpoint = await aCollectingEndpoint()
    engine.state.refuse = ({ dataSample }) => ((dataSample as { n: number }).n === 2 ? 400 : undefined)
    for (const n of [1, 2, 3]) await send(endpoint, { n })
    await allDelivered()
    engine.state.refuse = () => undefined
    assert.deepEqual(numbersIn(endpoint.app), [1, 3])
    const stored = await sql`select 1 from ingest.documents where endpoint_id = ${endpoint.endpointId}`
    assert.equal(stored.length, 3, 'PostgreSQL must keep all documents')
  })

  test('documents that the search engine rejects with 429 are sent again, in order, until the search engine has accepted all documents', async () => {
    const endpoint = await aCollectingEndpoint()
    let attempts = 0
    engine.state.refuse = ({ dataSample }) => ((dataSample as { n: number }).n >= 3 && attempts++ < 4 ? 429 : undefined)
    for (const n of [1, 2, 3, 4]) await send(endpoint, { n })
    await allDelivered()
    engine.state.refuse = () => undefined
    assert.deepEqual([...new Set(numbersIn(endpoint.app))], [1, 2, 3, 4])
    assert.equal((await search(endpoint.index)).hits.total.value, 4)
  })

  test('bulk requests that are answered with 429 or 502 are retried', async () => {
    const endpoint = await aCollectingEndpoint()
    engine.state.bulkStatuses.push(429, 502)
    for (const n of [1, 2]) await send(endpoint, { n })
    await allDelivered()
    assert.deepEqual(numbersIn(endpoint.app), [1, 2])
  })

  test('a bulk request that is too large for the search engine is split into two halves', async () => {
    const endpoint = await aCollectingEndpoint()
    engine.state.isUnavailable = true
    for (let n = 1; n <= 6; n++) await send(endpoint, { n })
    engine.state.bulkBytesMax = 1200
    engine.state.bulkSizes.length = 0
    engine.state.isUnavailable = false
    await allDelivered()
    engine.state.bulkBytesMax = Number.POSITIVE_INFINITY
    assert.deepEqual(numbersIn(endpoint.app), [1, 2, 3, 4, 5, 6])
    assert.ok(Math.max(...engine.state.bulkSizes) <= 3, String(engine.state.bulkSizes))
  })

  test('documents above the limit of the queue are not sent to the search engine', async () => {
    const endpoint = await aCollectingEndpoint()
    engine.state.isUnavailable = true
    for (let n = 1; n <= 25; n++) await send(endpoint, { n })
    // The node reads the number of waiting documents once a second.
    await eventually(async () => {
      await send(endpoint, { n: 0 })
      const [{ waiting } = { waiting: 0 }] = await sql`select count(*)::int as waiting from ingest.outgoing`
      const [{ stored } = { stored: 0 }] = await sql`
        select count(*)::int as stored from ingest.documents where endpoint_id = ${endpoint.endpointId}`
      assert.ok(waiting < stored, `fewer than ${stored} documents must be queued, and ${waiting} are`)
    }, within)
    engine.state.isUnavailable = false
    await eventually(async () => assert.equal((await sql`select 1 from ingest.outgoing`).length, 0), within)
  })

  test('documents of a deleted application are also deleted in the search engine', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, { n: 1 })
    const documentsOfApplication = () =>
      [...engine.documents.values()].filter(({ _source }) => _source.appName === endpoint.app)
    await eventually(() => assert.equal(documentsOfApplication().length, 1), within)
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpoint.endpointId}`)).status, 204)
    assert.equal((await admin(`DELETE /api/v1/applications/${endpoint.app}`)).status, 204)
    await eventually(() => assert.equal(documentsOfApplication().length, 0), within)
  })
})
