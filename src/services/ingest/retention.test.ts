import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openIngest } from '../../../test/harness/ingest.ts'
import ingest from './index.ts'

let today = new Date('2026-06-01T12:00:00Z')
const { waypost, aCollectingEndpoint, send, search } = await openIngest({
  now: () => today,
  environment: { WAYPOST_DOCUMENT_DAYS: '10' },
})
const dayMs = 86_400_000

const runPartitionTask = () => {
  const [task] = waypost.built.get(ingest.name)!.periodic!.filter(({ name }) => name === 'ingest.partitions')
  return waypost.kit.db.tx(task!.run)
}

test('documents of whole days are deleted after the retention of the template, or of the settings if the template has no retention', async () => {
  const plain = await aCollectingEndpoint()
  const short = await aCollectingEndpoint({ settings: { index: { retention_days: 3 } } })
  const total = async (index: string) => (await search(index)).hits.total.value
  for (const endpoint of [plain, short]) await send(endpoint, { n: 1 })
  today = new Date(today.getTime() + 4 * dayMs)
  await runPartitionTask()
  for (const endpoint of [plain, short]) await send(endpoint, { n: 2 })
  await runPartitionTask()
  const totals = async () => [await total(plain.index), await total(short.index)]
  await eventually(async () => assert.deepEqual(await totals(), [2, 1]), { withinMs: 15_000 })
  today = new Date(today.getTime() + 7 * dayMs)
  await runPartitionTask()
  await eventually(async () => assert.deepEqual(await totals(), [1, 0]), { withinMs: 15_000 })
  const days = await waypost.kit.db.sql`
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'ingest.documents'::regclass`
  assert.ok(!days.some(({ relname }) => relname === 'documents_20260601'))
})

test('an index name with a date finds the documents of that date', async () => {
  const endpoint = await aCollectingEndpoint()
  await send(endpoint, { n: 1 })
  today = new Date(today.getTime() + dayMs)
  await send(endpoint, { n: 2 })
  const date = today.toISOString().slice(0, 10)
  const total = async (tail: string) => (await search(`${endpoint.index}${tail}`)).hits.total.value
  assert.deepEqual([await total(''), await total('-*'), await total(`-${date.slice(0, 7)}*`)], [2, 2, 2])
  assert.deepEqual(
    [await total(`-${date}`), await total(`-${date.replaceAll('-', '.')}`), await total('-2020')],
    [1, 1, 0],
  )
})
