/** Tests pipelines that make documents large. Without limits, one message of a device could grow to gigabytes in the memory of a node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asf, openIngest } from '../../../test/harness/ingest.ts'

const { expectOk, aCollectingEndpoint, send, documents, search } = await openIngest()

const pipelines = `${asf}/_ingest/pipeline`

test('in a simulation whose documents grow to more than 32 MiB, the remaining documents fail with the reason', async () => {
  const large = { set: { field: 'text', value: 'x'.repeat(900_000) } }
  const { docs } = await expectOk(`POST ${pipelines}/simulate/`, {
    pipeline: { processors: [large] },
    docs: Array.from({ length: 1000 }, () => ({ _source: {} })),
  })
  assert.equal(docs.length, 1000)
  assert.equal(docs.filter((one: { doc?: object }) => one.doc).length, 38)
  assert.match(docs[999].error.reason, /more than 32 MiB/)
})

test('if the documents of a message grow to more than 32 MiB, the remaining documents are stored unprocessed with the reason', async () => {
  await expectOk(`PUT ${pipelines}/grows`, { processors: [{ set: { field: 'text', value: 'x'.repeat(900_000) } }] })
  const endpoint = await aCollectingEndpoint({ settings: { index: { default_pipeline: 'grows' } } })
  await send(
    endpoint,
    Array.from({ length: 500 }, (_, n) => ({ n })),
  )
  const count = async (query: object) => (await search(endpoint.index, { query, size: 0 })).hits.total.value
  assert.equal(await count({ exists: { field: 'text' } }), 38)
  const failed = { exists: { field: 'ingestError' } }
  assert.equal(await count(failed), 462)
  const [document] = await documents(endpoint.index, { query: failed, size: 1 })
  assert.match(document.ingestError.reason, /more than 32 MiB/)
})
