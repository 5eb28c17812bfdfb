/** Tests with two nodes: a template or pipeline that is written on one node soon applies on the other node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { asf, openIngest } from '../../../test/harness/ingest.ts'

const options = { connection: await freshDatabase(), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const one = await openIngest(options)
const two = await openIngest(options)
const within = { withinMs: 5000 }

test('a template and a pipeline that node one stores apply to samples that arrive at node two', async () => {
  const { app, version } = await one.anApplication()
  const endpoint = { ...(await one.anEndpoint(version)), version }
  const index = `default-${app}`
  // A first sample makes node two cache that the application has no template.
  await two.send(endpoint, { n: 0 })
  const pipeline = (value: number) => ({ processors: [{ set: { field: 'v', value } }] })
  await one.expectOk(`PUT ${asf}/_ingest/pipeline/p`, pipeline(1))
  await one.expectOk(`PUT ${asf}/${index}/_template`, { settings: { index: { default_pipeline: 'p' } } })
  const lastValue = async () => {
    await two.send(endpoint, { n: 1 })
    const [last] = await two.documents(index, { sort: [{ '@timestamp': 'desc' }], size: 1 })
    return last?.v
  }
  await eventually(async () => assert.equal(await lastValue(), 1), within)
  await one.expectOk(`PUT ${asf}/_ingest/pipeline/p`, pipeline(2))
  await eventually(async () => assert.equal(await lastValue(), 2), within)
  await one.expectOk(`DELETE ${asf}/${index}/_template`)
  await eventually(async () => {
    const before = (await one.search(index)).hits.total.value
    await two.send(endpoint, { n: 2 })
    assert.equal((await one.search(index)).hits.total.value, before)
  }, within)
})

test('node two can simulate a pipeline as soon as node one has acknowledged its write', async () => {
  for (const value of [1, 2, 3]) {
    await one.expectOk(`PUT ${asf}/_ingest/pipeline/s`, { processors: [{ set: { field: 'v', value } }] })
    const { docs } = await two.expectOk(`POST ${asf}/_ingest/pipeline/simulate/s`, { docs: [{ _source: {} }] })
    assert.equal(docs[0].doc._source.v, value)
  }
})
