import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { asf, openIngest } from '../../../test/harness/ingest.ts'
import { TenantDeleted } from '../tenants/events.ts'

const { waypost, admin, aCollectingEndpoint, anApplication, anEndpoint, send, search } = await openIngest()

const everything = {
  aggs: {
    endpoints: { terms: { field: 'endpointId' } },
    sum: { sum: { field: 'dataSample.n' } },
    hours: { date_histogram: { field: '@timestamp', calendar_interval: 'hour' } },
  },
}

suite('documents that the caller may not read', () => {
  test('documents that the caller may not read are not found, counted or aggregated', async () => {
    const mine = await aCollectingEndpoint()
    const theirs = { ...(await anEndpoint(mine.version)), version: mine.version }
    await send(mine, { n: 1 })
    await send(theirs, [{ n: 10 }, { n: 100 }])
    const on = { [`application-${mine.app}`]: ['application:read'], [`endpoint-${mine.endpointId}`]: ['endpoint:read'] }
    const { body } = await waypost.as(aCaller({ on }))(`POST ${asf}/${mine.index}/_search`, everything)
    assert.equal(body.hits.total.value, 1)
    assert.deepEqual(body.aggregations.endpoints.buckets, [{ key: mine.endpointId, doc_count: 1 }])
    assert.equal(body.aggregations.endpoints.sum_other_doc_count, 0)
    assert.equal(body.aggregations.sum.value, 1)
    assert.equal(body.aggregations.hours.buckets[0].doc_count, 1)
    const { aggregations } = await search(mine.index, everything)
    assert.equal(aggregations.sum.value, 111)
    const without = await waypost.as(aCaller({ on: { [`application-${mine.app}`]: ['application:read'] } }))(
      `POST ${asf}/${mine.index}/_search`,
    )
    assert.equal(without.status, 403)
  })

  test('a caller who may read an endpoint cannot read documents of an earlier endpoint with the same id', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, { n: 1 })
    const { endpointId, version } = endpoint
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
    await waypost.kit.bus.settled()
    const body = { endpointId, appVersion: { name: version } }
    const created = await admin('POST /epr/api/v1/endpoints', body)
    assert.equal(created.status, 201, created.text)
    await send({ version, token: created.body.token }, { n: 2 })
    const on = { [`application-${endpoint.app}`]: ['application:read'], [`endpoint-${endpointId}`]: ['endpoint:read'] }
    const seen = await waypost.as(aCaller({ on }))(`POST ${asf}/${endpoint.index}/_search`, everything)
    assert.equal(seen.body.aggregations.sum.value, 2)
    assert.equal((await search(endpoint.index, everything)).aggregations.sum.value, 3)
  })
})

suite('a search in all applications', () => {
  test('a search in all applications finds only documents of applications that the caller may read', async () => {
    const [one, two, three] = [await aCollectingEndpoint(), await aCollectingEndpoint(), await aCollectingEndpoint()]
    await send(one, { n: 1 })
    await send(two, { n: 10 })
    await send(three, { n: 100 })
    const apps = { query: { terms: { appName: [one.app, two.app, three.app] } }, ...everything }
    assert.equal((await search('default-*', apps)).aggregations.sum.value, 111)
    const on = {
      [`application-${one.app}`]: ['application:read', 'endpoint:read'],
      [`application-${two.app}`]: ['application:read'],
      [`endpoint-${two.endpointId}`]: ['endpoint:read'],
      [`endpoint-${three.endpointId}`]: ['endpoint:read'],
    }
    const { body } = await waypost.as(aCaller({ on }))(`POST ${asf}/default-*/_search`, apps)
    assert.equal(body.aggregations.sum.value, 11)
    assert.deepEqual(
      new Set(body.hits.hits.map(({ _index }: { _index: string }) => _index.slice(0, -11))),
      new Set([one.index, two.index]),
    )
    assert.equal((await waypost.as(aCaller())(`POST ${asf}/default-*/_search`)).body.hits.total.value, 0)
    assert.equal((await waypost.as(aTenantAdmin('other'))(`POST ${asf}/default-*/_search`)).status, 404)
    assert.equal((await waypost.as(aTenantAdmin('other'))(`POST ${asf}/other-*/_search`)).body.hits.total.value, 0)
  })
})

suite('deletions', () => {
  test('template and documents are deleted with their application, and a new application with this name has no template and no documents', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, { n: 1 })
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpoint.endpointId}`)).status, 204)
    assert.equal((await admin(`DELETE /api/v1/applications/${endpoint.app}`)).status, 204)
    assert.equal((await admin(`POST ${asf}/${endpoint.index}/_search`)).status, 404)
    const { sql } = waypost.kit.db
    await eventually(
      async () => {
        const left = await sql`select 1 from ingest.documents where endpoint_id = ${endpoint.endpointId}`
        assert.equal(left.length, 0)
      },
      { withinMs: 15_000 },
    )
    assert.equal((await admin('POST /api/v1/applications', { name: endpoint.app })).status, 201)
    assert.equal((await admin(`GET ${asf}/${endpoint.index}/_template`)).status, 404)
    assert.equal((await search(endpoint.index)).hits.total.value, 0)
  })
})

test('when a tenant is deleted, its documents, pipelines and templates are deleted', async () => {
  const other = waypost.as(aTenantAdmin('other'))
  const { version, app } = await anApplication(['v1'], other)
  const { token, endpointId } = await anEndpoint(version, other)
  assert.equal((await other(`PUT ${asf}/_ingest/pipeline/p`, { processors: [] })).status, 200)
  assert.equal((await other(`PUT ${asf}/other-${app}/_template`, {})).status, 200)
  await send({ version, token }, { n: 1 })
  const { db, bus } = waypost.kit
  await db.tx((sql) => bus.publish(sql, TenantDeleted, { tenantId: 'other' }))
  await eventually(
    async () => {
      const { sql } = db
      assert.equal((await sql`select 1 from ingest.documents where endpoint_id = ${endpointId}`).length, 0)
      for (const table of ['pipelines', 'templates', 'indices'])
        assert.equal((await sql.unsafe(`select 1 from ingest.${table} where tenant_id = 'other'`)).length, 0, table)
    },
    { withinMs: 15_000 },
  )
})

suite('traffic statistics', () => {
  test('a search for traffic statistics returns a document for each version, direction and hour', async () => {
    const endpoint = await aCollectingEndpoint()
    const payload = JSON.stringify({ n: 1 })
    for (let count = 0; count < 3; count++) await send(endpoint, payload)
    for (const word of ['platform', 'kaa'])
      await eventually(async () => {
        const { hits } = await search(`default-${word}-system-traffic-statistics`, {
          query: { bool: { must: [{ term: { appName: endpoint.app } }, { term: { direction: 'INBOUND' } }] } },
        })
        const [{ _source }] = hits.hits
        const { '@timestamp': at, ...rest } = _source
        assert.deepEqual(rest, {
          appName: endpoint.app,
          appVersionName: endpoint.version,
          direction: 'INBOUND',
          messages: 3,
          bytes: payload.length * 3,
        })
        assert.match(at, /T\d\d:00:00\.000Z$/)
      })
    const { aggregations } = await search('default-platform-system-traffic-statistics', {
      query: { term: { appVersionName: endpoint.version } },
      aggs: { messages: { sum: { field: 'messages' } } },
    })
    assert.ok(aggregations.messages.value >= 3)
  })

  test('a search for traffic statistics requires endpoint:read on the tenant', async () => {
    const path = `${asf}/default-platform-system-traffic-statistics/_search`
    const on = { 'application-a': ['application:read', 'endpoint:read'] }
    assert.equal((await waypost.as(aCaller({ on }))(`POST ${path}`)).status, 403)
    assert.equal((await waypost.as(aTenantAdmin('other'))(`POST ${path}`)).status, 404)
  })
})
