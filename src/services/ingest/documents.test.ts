import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { asf, openIngest } from '../../../test/harness/ingest.ts'

const { admin, expectOk, aCollectingEndpoint, anApplication, anEndpoint, send, documents, search } = await openIngest()

suite('documents', () => {
  test('if the application has a template, a search finds a sample as soon as the device has got the acknowledgement', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, { temperature: 21.5, place: { room: 'lab' } })
    const { hits, timed_out: timedOut } = await search(endpoint.index)
    assert.equal(timedOut, false)
    assert.deepEqual(hits.total, { value: 1, relation: 'eq' })
    const [{ _source, _index, _id }] = hits.hits
    const { '@timestamp': at, ...rest } = _source
    assert.deepEqual(rest, {
      tenantId: 'default',
      appName: endpoint.app,
      appVersionName: endpoint.version,
      endpointId: endpoint.endpointId,
      dataSample: { temperature: 21.5, place: { room: 'lab' } },
    })
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
    assert.equal(_index, `${endpoint.index}-${at.slice(0, 10).replaceAll('-', '.')}`)
    assert.match(_id, /^[0-9a-f-]{36}$/)
  })

  test('each sample of a batch becomes a document, even a sample without a number', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, [{ a: 1 }, { text: 'x' }, 7, 'word', { 'with "quotes"': null }])
    const found = await documents(endpoint.index)
    assert.deepEqual(
      found.map(({ dataSample }: { dataSample: unknown }) => dataSample),
      [{ a: 1 }, { text: 'x' }, 7, 'word', { 'with "quotes"': null }],
    )
  })

  test('integers in documents keep 64 bits', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, '{"id":9223372036854775807,"list":[1,-9007199254740993]}')
    const answer = await admin(`POST ${asf}/${endpoint.index}/_search`, {})
    assert.match(answer.text, /"id": ?9223372036854775807/)
    assert.match(answer.text, /-9007199254740993/)
    const query = '{"query":{"term":{"dataSample.id":9223372036854775807}}}'
    assert.equal(
      (await admin(`POST ${asf}/${endpoint.index}/_search`, query, { 'content-type': 'application/json' })).body.hits
        .total.value,
      1,
    )
    const other = '{"query":{"term":{"dataSample.id":9223372036854775806}}}'
    assert.equal(
      (await admin(`POST ${asf}/${endpoint.index}/_search`, other, { 'content-type': 'application/json' })).body.hits
        .total.value,
      0,
    )
  })

  test('samples of an application without a template, or with a deleted template, do not become documents', async () => {
    const { app, version } = await anApplication()
    const endpoint = { ...(await anEndpoint(version)), version }
    const index = `default-${app}`
    await send(endpoint, { a: 1 })
    assert.deepEqual(await documents(index), [])
    await expectOk(`PUT ${asf}/${index}/_template`, {})
    await send(endpoint, { a: 2 })
    await expectOk(`DELETE ${asf}/${index}/_template`)
    await send(endpoint, { a: 3 })
    assert.deepEqual(
      (await documents(index)).map(({ dataSample }: { dataSample: unknown }) => dataSample),
      [{ a: 2 }],
    )
  })

  test('a sample that is rejected creates no document', async () => {
    const endpoint = await aCollectingEndpoint()
    await assert.rejects(send(endpoint, '{"a":'))
    assert.deepEqual(await documents(endpoint.index), [])
  })

  test('a sample that becomes a document is also stored in its time series', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, { a: 1 })
    const { text } = await admin(`GET /epts/api/v1/applications/${endpoint.app}/time-series/last?timeSeriesName=auto~a`)
    assert.match(text, /"value":1/)
  })
})
