import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { asf, openIngest } from '../../../test/harness/ingest.ts'

const { waypost, admin, expectOk, anApplication, aCollectingEndpoint, send } = await openIngest()

const pipelines = `${asf}/_ingest/pipeline`

suite('templates', () => {
  test('templates are stored, returned under their key, replaced and deleted; a date in the index name has no effect', async () => {
    const { app } = await anApplication()
    const index = `default-${app}`
    const mappings = { properties: { dataSample: { properties: { celsius: { type: 'double' } } } }, dynamic: true }
    assert.equal((await admin(`GET ${asf}/${index}/_template`)).status, 404)
    const put = await admin(`PUT ${asf}/${index}-*/_template`, { mappings })
    assert.deepEqual([put.status, put.body], [200, { acknowledged: true }], put.text)
    const shown = await expectOk(`GET ${asf}/${index}-2026.01/_template`)
    assert.deepEqual(shown, {
      [index]: { order: 0, index_patterns: [`${index}-*`], settings: { index: {} }, mappings, aliases: {} },
    })
    await expectOk(`PUT ${asf}/${index}/_template`, { settings: { index: { number_of_shards: 1 } }, order: 2 })
    const [again] = Object.values(await expectOk(`GET ${asf}/${index}/_template`)) as [Record<string, unknown>]
    assert.deepEqual([again.order, again.settings, again.mappings], [2, { index: { number_of_shards: 1 } }, {}])
    assert.deepEqual((await admin(`DELETE ${asf}/${index}/_template`)).body, { acknowledged: true })
    assert.equal((await admin(`DELETE ${asf}/${index}/_template`)).status, 404)
  })

  test('an index name such as `app-2026` refers to the application `app-2026` if it exists, and not to documents of `app` from 2026', async () => {
    const { app } = await anApplication()
    const dated = `${app}-2026`
    assert.equal((await admin('POST /api/v1/applications', { name: dated })).status, 201)
    await expectOk(`PUT ${asf}/default-${dated}/_template`, { order: 1 })
    assert.equal((await admin(`GET ${asf}/default-${app}/_template`)).status, 404)
    assert.deepEqual(Object.keys(await expectOk(`GET ${asf}/default-${dated}-2026/_template`)), [`default-${dated}`])
  })

  const wrong: [what: string, body: unknown, problem: RegExp][] = [
    ['mappings that are not an object', { mappings: [] }, /mappings/],
    ['properties that are not an object', { mappings: { properties: 5 } }, /properties/],
    ['a field that is not an object', { mappings: { properties: { a: 'text' } } }, /mappings\.properties\.a/],
    ['settings that are not an object', { settings: 'x' }, /settings/],
    ['settings.index that is not an object', { settings: { index: 5 } }, /settings\.index/],
    ['an unknown pipeline', { settings: { index: { default_pipeline: 'none' } } }, /default_pipeline.*none/],
    ['an unknown pipeline in flat form', { settings: { 'index.default_pipeline': 'none' } }, /default_pipeline/],
    ['a pipeline of a wrong type', { settings: { index: { default_pipeline: 7 } } }, /default_pipeline/],
    ['a negative retention', { settings: { index: { retention_days: -1 } } }, /retention_days/],
    ['a retention in words', { settings: { index: { retention_days: 'long' } } }, /retention_days/],
  ]
  for (const [what, body, problem] of wrong)
    test(`the API rejects ${what}`, async () => {
      const { app } = await anApplication()
      const answer = await admin(`PUT ${asf}/default-${app}/_template`, body)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.message, problem)
      assert.equal((await admin(`GET ${asf}/default-${app}/_template`)).status, 404)
    })

  test('a pipeline that a template names cannot be deleted', async () => {
    await expectOk(`PUT ${pipelines}/used`, { processors: [] })
    const { index, app } = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'used' } } })
    const answer = await admin(`DELETE ${pipelines}/used`)
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, new RegExp(`used.*${app}`))
    await expectOk(`DELETE ${asf}/${index}/_template`)
    await expectOk(`DELETE ${pipelines}/used`)
  })

  test('other tenants and callers without permission find no index', async () => {
    const { app } = await anApplication()
    await expectOk(`PUT ${asf}/default-${app}/_template`, {})
    const operations = [`GET _template`, `DELETE _template`, 'GET _mapping', 'POST _search', 'POST _msearch']
    const missing = await admin(`GET ${asf}/default-missing/_template`)
    for (const caller of [aTenantAdmin('other'), aCaller()])
      for (const operation of operations) {
        const [method, name] = operation.split(' ')
        const answer = await waypost.as(caller)(
          `${method} ${asf}/default-${app}/${name}`,
          method === 'POST' ? {} : undefined,
        )
        assert.equal(answer.status, 404, `${operation}: ${answer.text}`)
      }
    assert.equal(missing.body.error.type, 'index_not_found_exception')
    const reader = waypost.as(aCaller({ on: { [`application-${app}`]: ['application:read'] } }))
    assert.equal((await reader(`GET ${asf}/default-${app}/_template`)).status, 200)
    assert.equal((await reader(`PUT ${asf}/default-${app}/_template`, {})).status, 403)
    assert.equal((await reader(`DELETE ${asf}/default-${app}/_template`)).status, 403)
  })
})

suite('mappings', () => {
  test('mappings contain the fields of the template and the fields that documents had', async () => {
    const properties = { dataSample: { properties: { celsius: { type: 'double' } } }, declared: { type: 'keyword' } }
    const endpoint = await aCollectingEndpoint({ mappings: { properties } })
    await send(endpoint, [
      { celsius: 20, on: true, list: [1, 2.5], at: '2026-01-01T00:00:00Z' },
      { name: 'x', __proto: 1 },
    ])
    const { [endpoint.index]: found } = await expectOk(`GET ${asf}/${endpoint.index}/_mapping`)
    const text = { type: 'text', fields: { keyword: { type: 'keyword', ignore_above: 256 } } }
    assert.deepEqual(found.mappings.properties.dataSample.properties, {
      celsius: { type: 'double' },
      on: { type: 'boolean' },
      list: { type: 'double' },
      at: { type: 'date' },
      name: text,
      __proto: { type: 'long' },
    })
    assert.deepEqual(found.mappings.properties.declared, { type: 'keyword' })
    assert.deepEqual(found.mappings.properties['@timestamp'], { type: 'date' })
    assert.ok(Object.keys(await expectOk(`GET ${asf}/default-*/_mapping`)).includes(endpoint.index))
  })

  test('a mapping contains fields of documents that are named like members of every object', async () => {
    const endpoint = await aCollectingEndpoint()
    await send(endpoint, JSON.parse('{"__proto__": {"a": 1, "b": {"c": 2}}, "constructor": {"d": 3}, "toString": "x"}'))
    const { [endpoint.index]: found } = await expectOk(`GET ${asf}/${endpoint.index}/_mapping`)
    assert.ok(!('properties' in {}), 'the fields must not be written into the prototype of all objects')
    const { properties } = found.mappings.properties.dataSample
    const field = (name: string) => Object.getOwnPropertyDescriptor(properties, name)?.value
    assert.deepEqual(field('__proto__').properties.a, { type: 'long' })
    assert.deepEqual(field('__proto__').properties.b.properties.c, { type: 'long' })
    assert.deepEqual(field('constructor').properties.d, { type: 'long' })
    assert.equal(field('toString').type, 'text')
  })
})
