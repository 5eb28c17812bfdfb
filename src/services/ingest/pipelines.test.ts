import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { asf, openIngest } from '../../../test/harness/ingest.ts'

const { waypost, admin, expectOk, aCollectingEndpoint, send, documents } = await openIngest()

const pipelines = `${asf}/_ingest/pipeline`
const json = { 'content-type': 'application/json' }
const toFahrenheit = {
  description: 'adds Fahrenheit',
  processors: [{ script: { source: 'ctx.dataSample.fahrenheit = ctx.dataSample.celsius * 1.8 + 32' } }],
}

suite('pipelines', () => {
  test('pipelines are stored, shown under their key, listed, replaced and deleted', async () => {
    const put = await admin(`PUT ${pipelines}/first`, { ...toFahrenheit, version: 3 })
    assert.deepEqual([put.status, put.body], [200, { acknowledged: true }], put.text)
    assert.deepEqual(await expectOk(`GET ${pipelines}/first`), { 'default-first': { ...toFahrenheit, version: 3 } })
    await expectOk(`PUT ${pipelines}/first`, { processors: [] })
    await expectOk(`PUT ${pipelines}/second.one_2-b`, toFahrenheit)
    assert.deepEqual(await expectOk(`GET ${pipelines}`), {
      'default-first': { processors: [] },
      'default-second.one_2-b': toFahrenheit,
    })
    assert.deepEqual((await admin(`DELETE ${pipelines}/first`)).body, { acknowledged: true })
    assert.equal((await admin(`GET ${pipelines}/first`)).status, 404)
    assert.equal((await admin(`DELETE ${pipelines}/first`)).status, 404)
  })

  test('pipelines are neither replaced nor deleted if If-Match names an old ETag', async () => {
    const path = `${pipelines}/matched`
    assert.equal((await admin(`PUT ${path}`, toFahrenheit, { 'if-match': '"x"' })).status, 412)
    assert.equal((await admin(`GET ${path}`)).status, 404)
    await expectOk(`PUT ${path}`, toFahrenheit)
    const { etag = '' } = (await admin(`GET ${path}`)).headers
    assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': etag })).status, 304)
    assert.equal((await admin(`PUT ${path}`, { processors: [] }, { 'if-match': etag })).status, 200)
    for (const operation of [`PUT ${path}`, `DELETE ${path}`]) {
      const late = await admin(operation, operation.startsWith('PUT') ? toFahrenheit : undefined, { 'if-match': etag })
      assert.equal(late.status, 412, late.text)
    }
    assert.deepEqual(await expectOk(`GET ${path}`), { 'default-matched': { processors: [] } })
    const now = (await admin(`GET ${path}`)).headers.etag ?? ''
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': now })).status, 200)
  })

  test('a pipeline may have the id __proto__', async () => {
    await expectOk(`PUT ${pipelines}/__proto__`, { processors: [{ set: { field: 'a', value: 1 } }] })
    const { docs } = await expectOk(`POST ${pipelines}/simulate/__proto__`, { docs: [{ _source: {} }] })
    assert.deepEqual(docs[0].doc._source, { a: 1 })
    await expectOk(`DELETE ${pipelines}/__proto__`)
  })

  test('pipelines keep integers of 64 bits', async () => {
    const text = '{"processors":[{"set":{"field":"a","value":9223372036854775807}}]}'
    assert.equal((await admin(`PUT ${pipelines}/large`, text, json)).status, 200)
    assert.equal((await admin(`GET ${pipelines}/large`)).text, `{"default-large":${text}}`)
  })

  const wrong: [what: string, id: string, body: unknown, problem: RegExp][] = [
    ['an id with other characters', 'a%20b', toFahrenheit, /pipelineID/],
    ['the id simulate', 'simulate', toFahrenheit, /simulate/],
    ['no processors', 'x', {}, /processors/],
    ['processors that are not a list', 'x', { processors: {} }, /processors/],
    [
      'an unknown processor',
      'x',
      { processors: [{ set: { field: 'a', value: 1 } }, { dance: {} }] },
      /processors\.1.*dance/,
    ],
    ['a missing option', 'x', { processors: [{ set: { value: 1 } }] }, /processors\.0\.set.*/],
    [
      'a script that does not compile',
      'x',
      { processors: [{ script: { source: 'ctx.a = ' } }] },
      /processors\.0\.script/,
    ],
    [
      'a condition that does not compile',
      'x',
      { processors: [{ set: { if: 'ctx.a ==', field: 'a', value: 1 } }] },
      /processors\.0\.set/,
    ],
    ['a stored script', 'x', { processors: [{ script: { id: 'stored' } }] }, /processors\.0\.script/],
    ['another language', 'x', { processors: [{ script: { lang: 'groovy', source: '1' } }] }, /processors\.0\.script/],
  ]
  for (const [what, id, body, problem] of wrong)
    test(`the API rejects a pipeline with ${what}`, async () => {
      const answer = await admin(`PUT ${pipelines}/${id}`, body)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.message, problem)
      assert.ok(answer.body.error.root_cause[0].reason)
      assert.equal((await admin(`GET ${pipelines}/x`)).status, 404)
    })

  test('pipelines need their scopes on the tenant', async () => {
    await expectOk(`PUT ${pipelines}/scoped`, toFahrenheit)
    const onApplication = waypost.as(aCaller({ on: { 'application-a': ['application:read', 'application:update'] } }))
    for (const operation of [`GET ${pipelines}/scoped`, `GET ${pipelines}`, `DELETE ${pipelines}/scoped`])
      assert.equal((await onApplication(operation)).status, 403)
    assert.equal((await onApplication(`PUT ${pipelines}/scoped`, toFahrenheit)).status, 403)
    const reader = waypost.as(aCaller({ on: { 'tenant-system': ['application:read'] } }))
    assert.equal((await reader(`GET ${pipelines}/scoped`)).status, 200)
    assert.equal((await reader(`POST ${pipelines}/simulate/scoped`, { docs: [{ _source: {} }] })).status, 403)
    assert.equal((await waypost.as(aTenantAdmin('other'))(`GET ${pipelines}/scoped`)).status, 404)
    assert.deepEqual((await waypost.as(aTenantAdmin('other'))(`GET ${pipelines}`)).body, {})
  })
})

suite('simulation', () => {
  test('a simulation by id returns one outcome for each document, in order: an error if it fails, null if it is dropped', async () => {
    await expectOk(`PUT ${pipelines}/mixed`, {
      processors: [{ drop: { if: 'ctx.skip == true' } }, { script: { source: 'ctx.b = ctx.a * 2' } }],
    })
    const docs = [
      { _source: { a: 2 } },
      { _source: { a: 'x' } },
      { _source: { skip: true } },
      { _index: 'i', _id: '7', _source: { a: 1 } },
    ]
    const { docs: results } = await expectOk(`POST ${pipelines}/simulate/mixed`, { docs })
    assert.deepEqual(results[0].doc, { _index: '_index', _type: '_doc', _id: '_id', _source: { a: 2, b: 4 } })
    assert.ok(Date.parse(results[0]._ingest.timestamp))
    assert.ok(results[1].error.reason)
    assert.equal(results[1].error.root_cause[0].type, results[1].error.type)
    assert.equal(results[2], null)
    assert.deepEqual(results[3].doc, { _index: 'i', _type: '_doc', _id: '7', _source: { a: 1, b: 2 } })
  })

  test('an inline simulation keeps integers of 64 bits from the request to the response', async () => {
    const body =
      '{"pipeline":{"processors":[{"set":{"field":"copy","copy_from":"id"}}]},"docs":[{"_source":{"id":9223372036854775807}}]}'
    const answer = await admin(`POST ${pipelines}/simulate/`, body, json)
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.text, /"copy":9223372036854775807/)
  })

  test('a verbose simulation returns the document after each processor, up to a failure, and after each failure handler', async () => {
    const pipeline = {
      processors: [
        { set: { tag: 'first', field: 'a', value: 1 } },
        { set: { if: 'ctx.a == 2', field: 'b', value: 2 } },
        { rename: { field: 'none', target_field: 'c', ignore_failure: true } },
        { pipeline: { name: 'inner', if: 'ctx.inner == true' } },
        { drop: { if: 'ctx.gone == true' } },
        { script: { source: 'ctx.n = ctx.n * 2' } },
        { set: { field: 'never', value: true } },
      ],
      on_failure: [{ set: { field: 'why', value: '{{_ingest.on_failure_processor_type}}' } }],
    }
    await expectOk(`PUT ${pipelines}/inner`, {
      processors: [{ set: { if: 'false', field: 'x', value: 1 } }, { set: { field: '_index', value: 'other' } }],
    })
    const docs = [{ _source: { n: 'x', inner: true } }, { _source: { gone: true } }]
    const { docs: results } = await expectOk(`POST ${pipelines}/simulate/?verbose=true`, { pipeline, docs })
    const [first, second] = results.map(
      ({ processor_results }: { processor_results: { processor_type: string; status: string }[] }) =>
        processor_results.map(({ processor_type, status }) => `${processor_type} ${status}`),
    )
    const before = ['set success', 'set skipped', 'rename error_ignored']
    assert.deepEqual(first, [...before, 'pipeline success', 'drop skipped', 'script error', 'set success'])
    assert.deepEqual(second, [...before, 'pipeline skipped', 'drop dropped'])
    const [set, , rename, inner, , script, handler] = results[0].processor_results
    assert.deepEqual([set.tag, set.doc._source], ['first', { n: 'x', inner: true, a: 1 }])
    assert.match(rename.ignored_error.error.reason, /none/)
    assert.deepEqual([set.doc._index, inner.doc._index], ['_index', 'other'])
    assert.ok(script.error.reason)
    assert.deepEqual(handler.doc._source, { n: 'x', inner: true, a: 1, why: 'script' })
    const stored = await expectOk(`POST ${pipelines}/simulate/inner?verbose=true`, { docs: [{ _source: {} }] })
    assert.equal(stored.docs[0].processor_results.length, 2)
  })

  test('a verbose simulation omits documents if the response would be too large, and rejects more than 10 documents', async () => {
    const pipeline = { processors: Array.from({ length: 6 }, () => ({ set: { field: 'a', value: 1 } })) }
    const large = [{ _source: { text: 'x'.repeat(500_000) } }]
    const { docs } = await expectOk(`POST ${pipelines}/simulate/?verbose=true`, { pipeline, docs: large })
    const omitted = docs[0].processor_results.map((one: object) => 'doc_omitted' in one)
    assert.deepEqual(omitted, [false, false, false, false, true, true])
    const many = { pipeline, docs: Array.from({ length: 11 }, () => ({ _source: {} })) }
    assert.match((await admin(`POST ${pipelines}/simulate/?verbose=true`, many)).body.message, /docs/)
    assert.equal((await admin(`POST ${pipelines}/simulate/?verbose=perhaps`, many)).status, 400)
  })

  const wrong: [what: string, path: string, body: unknown, status: number, problem: RegExp][] = [
    ['an unknown pipeline', '/none', { docs: [{ _source: {} }] }, 404, /none/],
    ['no documents', '/', { pipeline: toFahrenheit }, 400, /docs/],
    ['an empty list of documents', '/', { pipeline: toFahrenheit, docs: [] }, 400, /docs/],
    ['a document without _source', '/', { pipeline: toFahrenheit, docs: [{}] }, 400, /_source/],
    ['no pipeline', '/', { docs: [{ _source: {} }] }, 400, /pipeline/],
    [
      'an unusable pipeline',
      '/',
      { pipeline: { processors: [{ odd: {} }] }, docs: [{ _source: {} }] },
      400,
      /processors\.0/,
    ],
  ]
  for (const [what, path, body, status, problem] of wrong)
    test(`a simulation with ${what} is rejected`, async () => {
      const answer = await admin(`POST ${pipelines}/simulate${path}`, body)
      assert.equal(answer.status, status, answer.text)
      assert.match(answer.body.message, problem)
    })

  test('an endless loop in a simulation fails only the document that loops, and other requests are processed meanwhile', async () => {
    const pipeline = {
      processors: [{ script: { source: 'if (ctx.loop == true) { while (true) { ctx.a = 1 } } ctx.done = true' } }],
    }
    const running = admin(`POST ${pipelines}/simulate/`, {
      pipeline,
      docs: [{ _source: { loop: true } }, { _source: { loop: false } }],
    })
    assert.equal((await admin(`GET ${pipelines}`)).status, 200)
    const { body, text } = await running
    assert.ok(body.docs[0].error, text)
    assert.equal(body.docs[1].doc._source.done, true)
  })
})

suite('documents of a pipeline', () => {
  test('if the template of an application names a pipeline, documents are stored with the changes of the pipeline', async () => {
    await expectOk(`PUT ${pipelines}/to-fahrenheit`, toFahrenheit)
    const endpoint = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'to-fahrenheit' } } })
    await send(endpoint, [{ celsius: 100 }, { celsius: -40 }])
    const found = await documents(endpoint.index, { query: { range: { 'dataSample.fahrenheit': { gte: 212 } } } })
    assert.deepEqual(
      found.map((one: { dataSample: unknown }) => one.dataSample),
      [{ celsius: 100, fahrenheit: 212 }],
    )
    assert.equal((await documents(endpoint.index)).length, 2)
  })

  test('a document is stored unprocessed with the error if its pipeline fails, and is not stored if its pipeline drops it', async () => {
    await expectOk(`PUT ${pipelines}/fails`, {
      processors: [
        { drop: { if: "ctx.dataSample.kind == 'noise'" } },
        { set: { field: 'changed', value: true } },
        { fail: { if: "ctx.dataSample.kind == 'bad'", message: 'this one is bad' } },
      ],
    })
    const endpoint = await aCollectingEndpoint({ settings: { 'index.default_pipeline': 'default-fails' } })
    await send(endpoint, [{ kind: 'good' }, { kind: 'bad' }, { kind: 'noise' }])
    const [good, bad, ...more] = await documents(endpoint.index)
    assert.deepEqual([good.changed, good.ingestError, more], [true, undefined, []])
    assert.equal(bad.changed, undefined)
    assert.deepEqual(bad.dataSample, { kind: 'bad' })
    assert.match(bad.ingestError.processor, /processors\.2/)
    assert.match(bad.ingestError.reason, /this one is bad/)
    assert.ok(bad.ingestError.type)
  })

  test('a change of the pipeline applies to the next sample', async () => {
    await expectOk(`PUT ${pipelines}/changing`, { processors: [{ set: { field: 'v', value: 1 } }] })
    const endpoint = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'changing' } } })
    await send(endpoint, { n: 1 })
    await expectOk(`PUT ${pipelines}/changing`, { processors: [{ set: { field: 'v', value: 2 } }] })
    await send(endpoint, { n: 2 })
    assert.deepEqual(
      (await documents(endpoint.index)).map(({ v }: { v: number }) => v),
      [1, 2],
    )
  })

  test('if a pipeline changes time and endpoint of a document, a search uses the changed fields, and permissions apply to the real endpoint', async () => {
    await expectOk(`PUT ${pipelines}/moves`, {
      processors: [
        { set: { field: '@timestamp', value: '2020-01-02T03:04:05.006Z' } },
        { set: { field: 'endpointId', value: 'renamed' } },
        { remove: { field: 'tenantId' } },
      ],
    })
    const endpoint = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'moves' } } })
    await send(endpoint, { n: 1 })
    const found = await documents(endpoint.index, {
      query: {
        bool: { must: [{ term: { endpointId: 'renamed' } }, { range: { '@timestamp': { lte: '2020-01-02' } } }] },
      },
    })
    assert.equal(found.length, 1)
    assert.equal(found[0].tenantId, undefined)
    const scopes = { [`application-${endpoint.app}`]: ['application:read'] }
    const owner = waypost.as(aCaller({ on: { ...scopes, [`endpoint-${endpoint.endpointId}`]: ['endpoint:read'] } }))
    const otherReader = waypost.as(aCaller({ on: { ...scopes, 'endpoint-renamed': ['endpoint:read'] } }))
    assert.equal((await owner(`POST ${asf}/${endpoint.index}/_search`)).body.hits.total.value, 1)
    assert.equal((await otherReader(`POST ${asf}/${endpoint.index}/_search`)).body.hits.total.value, 0)
  })

  test('if a pipeline creates a value that PostgreSQL cannot store, the document is stored with an error', async () => {
    await expectOk(`PUT ${pipelines}/nul`, { processors: [{ script: { source: 'ctx.text = "a" + (char) 0 + "b"' } }] })
    const endpoint = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'nul' } } })
    await send(endpoint, { n: 1 })
    const [document] = await documents(endpoint.index)
    assert.match(document.ingestError.reason, /NUL/)
  })

  test('a document is stored unprocessed if the error of its pipeline is long or contains characters that PostgreSQL cannot store', async () => {
    const source = "throw new RuntimeException('a' + (char) 0 + (char) 0xD800 + 'x'.repeat(100000))"
    await expectOk(`PUT ${pipelines}/odd-error`, { processors: [{ script: { source } }] })
    const endpoint = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'odd-error' } } })
    await send(endpoint, { n: 1 })
    const [document] = await documents(endpoint.index)
    assert.deepEqual(document.dataSample, { n: 1 })
    assert.match(document.ingestError.reason, /a\ufffd\ufffdx+…$/)
    assert.ok(document.ingestError.reason.length < 11_000)
  })

  test('an endless loop in a pipeline delays only its own application, and no document is lost', async () => {
    await expectOk(`PUT ${pipelines}/endless`, { processors: [{ script: { source: 'while (true) { ctx.a = 1 }' } }] })
    const slow = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'endless' } } })
    const quick = await aCollectingEndpoint()
    const sent = Promise.all([send(slow, { n: 1 }), send(slow, { n: 2 })])
    await send(quick, { n: 3 })
    assert.equal((await documents(quick.index)).length, 1)
    await sent
    const kept = await documents(slow.index)
    assert.deepEqual(kept.map(({ dataSample }: { dataSample: { n: number } }) => dataSample.n).sort(), [1, 2])
    assert.ok(kept.every(({ ingestError }: { ingestError?: object }) => ingestError))
  })
})
