import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { openTrafficLog, root } from '../../../../test/harness/traffic-log.ts'
import { decodeColumns, encodeColumns } from '../codec/block-codec.ts'
import { createColumns, recordAt, type StoredRecord } from '../codec/columns.ts'
import { numbersOf } from '../store/blocks.ts'
import { packRecords } from './pack-records.ts'
import { createPackThread } from './pack-thread.ts'

const hourMicros = 3_600_000_000
const base = Math.floor((Date.now() * 1000) / hourMicros) * hourMicros - hourMicros

const aStored = (over: Partial<StoredRecord> = {}): StoredRecord => {
  const payload = over.payload ?? Buffer.from('{"t":21}')
  return {
    micros: base,
    applicationName: 'app',
    versionName: 'app-v1',
    extension: 'dcx',
    outbound: false,
    endpointId: 'ep-1',
    correlationId: 'abcdef0123456789-1z',
    resourcePath: '/json',
    requestId: undefined,
    metadata: '{"transport":"mqtt"}',
    payload,
    isText: true,
    payloadBytes: payload.length,
    ...over,
  }
}

const encoded = (records: StoredRecord[]) => {
  const columns = createColumns()
  for (const record of records) columns.add(record)
  return encodeColumns(columns, { withEndpoints: true })
}

suite('encoded records', () => {
  const text = fc.string({ unit: 'binary', maxLength: 40 }).map((value) => value.toWellFormed())
  const correlationId = fc.oneof(
    text,
    fc
      .tuple(fc.constantFrom('a-', '0123456789abcdef-', ''), fc.string({ unit: fc.constantFrom(...'01z-') }))
      .map((parts) => parts.join('')),
    fc.bigInt({ min: 0n, max: 2n ** 60n }).map((number) => `abcdef0123456789-${number.toString(36)}`),
  )
  const record = fc
    .record({
      micros: fc.integer({ min: 0, max: 4e15 }),
      applicationName: text,
      versionName: text,
      extension: text,
      outbound: fc.boolean(),
      endpointId: text,
      correlationId,
      resourcePath: text,
      requestId: fc.option(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), { nil: undefined }),
      metadata: fc.option(text, { nil: undefined }),
      payload: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      isText: fc.boolean(),
      bytesLeftOut: fc.integer({ min: 0, max: 100_000 }),
    })
    .map(({ bytesLeftOut, ...one }) => ({ ...one, payloadBytes: one.payload.length + bytesLeftOut }))

  test('encoded records are decoded unchanged', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 40 }), (records) => {
        const columns = decodeColumns(encoded(records))
        assert.deepEqual(
          records.map((_, index) => recordAt(columns, index)),
          records,
        )
      }),
    )
  })

  test('encoded records of an unknown format are rejected', () => {
    const data = encoded([aStored()])
    data[0] = 9
    assert.throws(() => decodeColumns(data), /unknown format 9/)
  })
})

suite('packing', () => {
  test('packing turns all records into blocks, each within an hour and in the order of time', () => {
    const records = Array.from({ length: 1000 }, (_, n) =>
      aStored({ micros: base + ((n * 7919) % 1000) * 7_200_000, correlationId: `c-${n.toString(36)}` }),
    )
    const { blocks } = packRecords([{ data: encoded(records.slice(0, 300)) }, { data: encoded(records.slice(300)) }])
    assert.equal(
      blocks.reduce((sum, { n }) => sum + n, 0),
      1000,
    )
    const times = blocks.flatMap(({ data, n }) => {
      const columns = decodeColumns(Buffer.from(data))
      return Array.from({ length: n }, (_, index) => columns.micros[index]!)
    })
    assert.deepEqual(
      times,
      records.map(({ micros }) => micros).sort((a, b) => a - b),
    )
    for (const { firstAt, lastAt } of blocks)
      assert.equal(Math.floor(firstAt / hourMicros), Math.floor(lastAt / hourMicros))
  })

  test('packing in a thread has the same result as packing in the main thread', async () => {
    const thread = createPackThread()
    const sources = [{ data: encoded(Array.from({ length: 600 }, (_, n) => aStored({ micros: base + n }))) }]
    const result = await thread.pack(sources, 600)
    assert.deepEqual(
      { ...result, blocks: result.blocks.map(({ data, ...block }) => ({ ...block, data: Buffer.from(data) })) },
      packRecords(sources),
    )
    await assert.rejects(thread.pack([{ data: Buffer.alloc(3) }], 600), /packing records of the traffic log failed/)
    await thread.stop()
  })

  test('packing takes less than 30 bytes for a message with a payload of 150 bytes and five values', () => {
    let seed = 7
    const random = (from: number, to: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return (from + ((to - from) * seed) / 2 ** 32).toFixed(2)
    }
    const records = Array.from({ length: 5000 }, (_, n) => {
      const payload = Buffer.from(
        `{"temperature":${random(11, 40)},"humidity":${random(20, 90)},"pressure":${random(1001, 1099)},"voltage":${random(3, 4)},` +
          `"level":${random(10, 99)},"deviceName":"sensor","site":"plant-one-north","firmware":"1.2.3"}`,
      )
      return aStored({
        micros: base + n * 100,
        endpointId: `${1_000_000 + (n % 1000)}-4000-8000-abcdef012345`,
        correlationId: `abcdef0123456789-${(n + 1_000_000).toString(36)}`,
        payload,
        payloadBytes: payload.length,
      })
    })
    const { blocks } = packRecords([{ data: encoded(records) }])
    const bytes = blocks.reduce((sum, { data, n }) => sum + data.length + n * 4, 0)
    assert.ok(bytes / records.length < 30, `${bytes / records.length} bytes`)
  })
})

const environment = { WAYPOST_MASTER_KEY: 'm'.repeat(40) }
const { waypost, record, pack, stored, run, admin } = await openTrafficLog({ environment })
const { sql } = waypost.kit.db
const total = async (query = '') => {
  const answer = await admin(`GET ${root}/endpoint-traffic?${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.totalElements
}

suite('blocks', () => {
  test('small blocks of an hour are packed again into one block', async () => {
    for (let n = 0; n < 5; n++) {
      await record([
        { tenantId: 'slow', correlationId: `c-${n}`, endpointId: `ep-${n}`, createdAt: new Date(base / 1000 + n) },
      ])
      await pack()
    }
    const [row] =
      await sql`select count(*)::int as blocks, sum(n)::int as records from traffic_log.blocks where tenant_id = 'slow'`
    assert.deepEqual({ ...row }, { blocks: 1, records: 5 })
    assert.deepEqual(
      (await stored('slow')).map(({ correlationId, endpointId }) => [correlationId, endpointId]),
      Array.from({ length: 5 }, (_, n) => [`c-${n}`, `ep-${n}`]),
    )
    const [counted] = await sql`
      select sum(count) filter (where minutes = 60)::int as hours, sum(count) filter (where minutes = 5)::int as minutes
      from traffic_log.counts where tenant_id = 'slow'`
    assert.deepEqual({ ...counted }, { hours: 5, minutes: 5 })
    const [size] = await sql`select sum(records)::int as records from traffic_log.stored where tenant_id = 'slow'`
    assert.equal(size?.records, 5)
  })

  test('the small columns of a block are compressed and stay in its row', async () => {
    const records = Array.from({ length: 150 }, (_, n) => ({
      tenantId: 'compressed',
      correlationId: `c-${n}`,
      endpointId: `ep-${n % 3}`,
      createdAt: new Date(base / 1000 + n),
      payload: randomBytes(60),
    }))
    await record(records)
    await pack()
    const [block] = await sql`
      select n, pg_column_size(endpoints) as bytes, pg_column_compression(endpoints) as compression
      from traffic_log.blocks where tenant_id = 'compressed'`
    assert.equal(block?.n, 150)
    assert.ok(block.compression, 'the column of endpoints must be compressed')
    assert.ok(block.bytes < 150, `${block.bytes} bytes`)
    assert.equal((await stored('compressed')).length, 150)
  })

  test('the day of the last use of an endpoint number is written only once in eight days, and is never before the actual last use', async () => {
    const first = 8 * 4000
    const rowAfterUseOn = async (day: number) => {
      await sql.begin((inner) => numbersOf(inner, 'numbered', ['ep'], day))
      const [row] =
        await sql`select ctid::text as ctid, used_day from traffic_log.endpoints where tenant_id = 'numbered'`
      assert.ok(row?.usedDay >= day)
      return row?.ctid
    }
    const written = await rowAfterUseOn(first)
    for (let day = first + 1; day < first + 8; day++) assert.equal(await rowAfterUseOn(day), written)
    assert.notEqual(await rowAfterUseOn(first + 8), written)
  })

  test('the periodic task packs batches that are old or have many records, and no other batches', async () => {
    const tenants = async () =>
      (await sql`select distinct tenant_id from traffic_log.batches order by 1`).map(({ tenantId }) => tenantId)
    await pack()
    const justNow = new Date(Date.now() - 3000)
    await record([{ tenantId: 'few', createdAt: justNow }])
    await record([{ tenantId: 'old', createdAt: new Date(Date.now() - 360_000) }])
    await record(Array.from({ length: 2100 }, () => ({ tenantId: 'much', createdAt: justNow })))
    await record(Array.from({ length: 2100 }, () => ({ tenantId: 'new' })))
    await run('pack')
    assert.deepEqual(await tenants(), ['few', 'new'])
    assert.equal((await stored('much')).length, 2100)
  })

  test('two nodes record and pack at the same time; every search finds each acknowledged record once', async () => {
    const second = await openTrafficLog({ connection: waypost.connection, environment })
    let [acknowledged, isOver] = [0, false]
    const writing = [record, second.record].map(async (write, node) => {
      for (let round = 0; round < 30; round++) {
        const records = Array.from({ length: 50 }, (_, n) => ({ correlationId: `${node}-${round}-${n}` }))
        await write(records)
        acknowledged += records.length
      }
    })
    const packing = [pack, second.pack].map(async (packAll) => {
      while (!isOver) await packAll()
    })
    const reading = [admin, second.admin].map(async (ask) => {
      while (!isOver) {
        const before = acknowledged
        const { body } = await ask(`GET ${root}/endpoint-traffic?size=1000`)
        assert.ok(
          body.totalElements >= before,
          `at least ${before} records must be found, and ${body.totalElements} were found`,
        )
        const ids = new Set(body.content.map(({ correlationId }: { correlationId: string }) => correlationId))
        assert.equal(ids.size, Math.min(1000, body.totalElements))
      }
    })
    await Promise.all(writing)
    isOver = true
    await Promise.all([...packing, ...reading])
    assert.equal(await total(), 3000)
    await pack()
    assert.equal(await total(), 3000)
    assert.equal(await total('endpointIds=ep-1'), 3000)
  })
})

suite('rows of an earlier version', () => {
  test('rows of an earlier version become blocks with the same records, and are counted once', async () => {
    await sql.unsafe('create table traffic_log.records_rest partition of traffic_log.records default')
    const at = new Date(base / 1000)
    await sql`
      insert into traffic_log.records
      select ${at}::timestamptz + make_interval(secs => n * 0.001), case when n % 2 = 0 then n end, n % 3 = 0, 'before', 'ep-' || n % 7, 'app',
        'app-v1', 'dcx', 'c-' || n, '/json', case when n = 5 then '{"encoding":"base64"}' when n = 6 then null else '{"transport":"mqtt"}' end,
        case when n = 5 then '/w==' else 'p' || n end
      from generate_series(1, 6000) as n`
    await sql`
      insert into traffic_log.hourly values ('before', ${at}, 'app', 'app-v1', false, 4000, 1), ('before', ${at}, 'app', 'app-v1', true, 2000, 1)`
    await run('convert')
    const records = await stored('before')
    assert.equal(records.length, 6000)
    const [third, fifth, sixth] = [records[2]!, records[4]!, records[5]!]
    assert.deepEqual(
      [third.outbound, third.requestId, third.payload.toString(), third.endpointId],
      [true, undefined, 'p3', 'ep-3'],
    )
    assert.deepEqual([fifth.isText, fifth.payload], [false, Buffer.from([0xff])])
    assert.deepEqual([sixth.metadata, sixth.requestId], [undefined, 6])
    const [left] = await sql`
      select (select count(*)::int from traffic_log.records) as rows,
        (select sum(messages)::int from traffic_log.hourly where tenant_id = 'before') as hourly,
        (select sum(count)::int from traffic_log.counts where tenant_id = 'before' and minutes = 60) as counted`
    assert.deepEqual({ ...left }, { rows: 0, hourly: 6000, counted: 6000 })
  })
})
