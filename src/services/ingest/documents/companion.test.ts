/** Tests writes that are repeated or partly rejected: every document is stored exactly once, and no sample is rejected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openIngest } from '../../../../test/harness/ingest.ts'
import { messageOf } from '../../../../test/harness/time-series.ts'
import { createCompanion } from './companion.ts'
import { createPartitions } from './partitions.ts'
import type { DocumentRow } from './rows.ts'

const { waypost, aCollectingEndpoint, documents } = await openIngest({ environment: { WAYPOST_LOG_LEVEL: 'silent' } })
const { kit } = waypost
const companion = createCompanion({
  kit,
  partitions: createPartitions(kit, 30, async () => {}),
  queue: { run: async () => [] },
})

async function aPreparedGroup(samples: unknown[]) {
  const { app, version, endpointId, index } = await aCollectingEndpoint()
  const endpoint = { tenantId: 'default', applicationName: app, versionName: version, endpointId }
  const rows = await companion.prepare(messageOf(endpoint), samples)
  return { index, rows: rows as NonNullable<typeof rows> & { rows: DocumentRow[] } }
}
const store = (rows: Parameters<typeof companion.store>[1], isRepeated: boolean) =>
  kit.db.tx((sql) => companion.store(sql, rows, isRepeated))

test('when a group of samples is written twice, each document is stored once', async () => {
  const { index, rows } = await aPreparedGroup([{ n: 1 }, { n: 2 }])
  await store([rows], false)
  await store([rows], true)
  assert.equal((await documents(index)).length, 2)
})

test('a document that PostgreSQL does not accept is stored with its error instead, and the other documents are stored', async () => {
  const { index, rows } = await aPreparedGroup([{ n: 1 }, { n: 2 }])
  rows.rows[0]!.doc = '{"text":"\\u0000"}'
  await assert.rejects(store([rows], false), { message: /one by one/ })
  await store([rows], true)
  const found = await documents(index)
  assert.equal(found.length, 2)
  assert.equal(found.filter(({ ingestError }: { ingestError?: object }) => ingestError).length, 1)
})
