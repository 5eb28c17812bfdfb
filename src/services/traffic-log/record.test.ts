import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { openTrafficLog } from '../../../test/harness/traffic-log.ts'
import type { Ctx } from '../../kernel/contract.ts'

const {
  waypost,
  log,
  record,
  stored: storedRecords,
  pack,
} = await openTrafficLog({ environment: { WAYPOST_TRAFFIC_LOG_PAYLOAD_BYTES: '64' } })
const { sql } = waypost.kit.db

/** Returns the records of a tenant, and checks that packing changes none of them. */
async function stored(tenantId: string) {
  const before = await storedRecords(tenantId)
  await pack()
  assert.deepEqual(await storedRecords(tenantId), before)
  return before.map(({ micros, metadata, payload, isText, ...record }) => ({
    ...record,
    createdAt: new Date(micros / 1000),
    metadata: metadata === undefined ? null : JSON.parse(metadata),
    payload: payload.toString(isText ? 'utf8' : 'base64'),
  }))
}

const metadataOf = (record: { metadata: unknown } | undefined) => record?.metadata

test('a record can be read when its promise resolves', async () => {
  const createdAt = new Date()
  await record([{ tenantId: 'one', correlationId: 'c-1', requestId: 4_294_967_295, createdAt }])
  const [row] = await stored('one')
  assert.equal(row?.correlationId, 'c-1')
  assert.equal(row?.requestId, 4_294_967_295)
  assert.equal(row?.outbound, false)
  assert.equal(row?.payload, '{"t":21}')
  assert.equal(row?.createdAt.getTime(), createdAt.getTime())
  assert.deepEqual(metadataOf(row), { transport: 'mqtt' })
})

test('of ten thousand concurrent records, no record is lost and the first 900 records keep their order', async () => {
  const createdAt = new Date()
  await record(Array.from({ length: 10_000 }, (_, n) => ({ tenantId: 'many', correlationId: String(n), createdAt })))
  const rows = await stored('many')
  assert.equal(rows.length, 10_000)
  const first = rows.slice(0, 900).map(({ correlationId }) => correlationId)
  assert.deepEqual(
    first,
    Array.from({ length: 900 }, (_, n) => String(n)),
  )
})

test('an export has each record once, even if more than a page of records have the same microsecond', async () => {
  const [createdAt, tenantId] = [new Date(), 'exported']
  const ids = Array.from({ length: 2000 }, (_, n) => String(n))
  await record(ids.map((correlationId) => ({ tenantId, correlationId, createdAt })))
  const ctx = { tenantId, caller: aTenantAdmin(tenantId) } as Ctx
  const span = { from: createdAt.getTime(), to: createdAt.getTime() + 1 }
  const exported: string[] = []
  let position: number | undefined
  do {
    const { records, next } = await log.exportPage(ctx, span, position)
    exported.push(...records.map(({ correlationId }) => correlationId))
    position = next
  } while (position !== undefined)
  assert.deepEqual(exported.toSorted(), ids.toSorted())
})

test('messages that are read in pages are read once each, even if messages with the same microsecond do not fit on a page', async () => {
  const [createdAt, tenantId] = [new Date(), 'paged']
  const ids = Array.from({ length: 2000 }, (_, n) => String(n))
  await record(ids.map((correlationId) => ({ tenantId, correlationId, createdAt })))
  const read: string[] = []
  const [to, limit] = [new Date(createdAt.getTime() + 1), 7]
  for (let afterMicros = createdAt.getTime() * 1000 - 1; ; ) {
    const messages = await log.inbound({ tenantId, extension: 'dcx', afterMicros, to, limit })
    read.push(...messages.map(({ correlationId }) => correlationId))
    if (messages.length < limit) break
    afterMicros = messages.at(-1)!.micros
  }
  assert.deepEqual(read.toSorted(), ids.toSorted())
})

test('absent, empty, long and non-ASCII values are stored unchanged; NUL, which PostgreSQL cannot store, is replaced', async () => {
  const long = `/json/${'ä€😀'.repeat(3000)}`
  await record([
    {
      tenantId: 'texts',
      correlationId: '',
      endpointId: 'größe',
      resourcePath: long,
      payload: Buffer.from('"größe 😀"'),
      requestId: undefined as never,
      additionalMetadata: undefined as never,
    },
    { tenantId: 'texts', resourcePath: 'a\0b', requestId: 0, payload: Buffer.alloc(0), direction: 'OUTBOUND' },
  ])
  const [one, two] = await stored('texts')
  assert.equal(one?.endpointId, 'größe')
  assert.equal(one?.resourcePath, long)
  assert.equal(one?.payload, '"größe 😀"')
  assert.equal(one?.requestId, undefined)
  assert.equal(one?.metadata, null)
  assert.equal(two?.resourcePath, 'a\ufffdb')
  assert.equal(two?.requestId, 0)
  assert.equal(two?.payload, '')
  assert.equal(two?.outbound, true)
})

test('a payload that is not text is stored as base64 and marked', async () => {
  const binary = Buffer.from([0xff, 0x00, 0xfe])
  await record([
    { tenantId: 'binary', payload: binary },
    { tenantId: 'binary', payload: Buffer.from('a\0b') },
  ])
  const rows = await stored('binary')
  assert.deepEqual(
    rows.map((row) => Buffer.from(row.payload, 'base64')),
    [binary, Buffer.from('a\0b')],
  )
  for (const row of rows) assert.deepEqual(metadataOf(row), { transport: 'mqtt', encoding: 'base64' })
})

test('a long payload is truncated between two characters and marked', async () => {
  const binary = Buffer.alloc(100, 0xff)
  await record([
    { tenantId: 'long', payload: Buffer.from('x'.repeat(64)) },
    { tenantId: 'long', payload: Buffer.from('x'.repeat(65)) },
    { tenantId: 'long', payload: Buffer.from(`${'x'.repeat(62)}😀`) },
    { tenantId: 'long', payload: binary },
  ])
  const rows = await stored('long')
  assert.deepEqual(
    rows.map((row) => row.payload),
    ['x'.repeat(64), 'x'.repeat(64), 'x'.repeat(62), binary.subarray(0, 64).toString('base64')],
  )
  assert.deepEqual(rows.map(metadataOf), [
    { transport: 'mqtt' },
    { transport: 'mqtt', payloadTruncated: true, payloadBytes: 65 },
    { transport: 'mqtt', payloadTruncated: true, payloadBytes: 66 },
    { transport: 'mqtt', encoding: 'base64', payloadTruncated: true, payloadBytes: 100 },
  ])
})

test('the caller can reuse its buffer immediately', async () => {
  const payload = Buffer.from('before')
  const recorded = record([{ tenantId: 'copied', payload }])
  payload.fill('x')
  await recorded
  assert.equal((await stored('copied'))[0]?.payload, 'before')
})

test('a record with an invalid, very old or far future time gets the current time', async () => {
  const today = Date.now()
  await record([
    { tenantId: 'times', createdAt: new Date(Number.NaN) },
    { tenantId: 'times', createdAt: new Date(0) },
    { tenantId: 'times', createdAt: new Date('2999-01-01T00:00:00Z') },
    { tenantId: 'times' },
  ])
  const rows = await stored('times')
  assert.equal(rows.length, 4)
  for (const { createdAt } of rows) assert.ok(Math.abs(createdAt.getTime() - today) < 60_000)
})

test('a missing partition is created when records are packed', async () => {
  await sql.unsafe(`do $$ declare name text; begin
    for name in select inhrelid::regclass::text from pg_inherits where inhparent = 'traffic_log.blocks'::regclass loop
      execute 'drop table ' || name; end loop; end $$`)
  await record([{ tenantId: 'again' }])
  assert.equal((await stored('again')).length, 1)
})
