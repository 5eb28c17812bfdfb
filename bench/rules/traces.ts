/**
 * Measures how fast traces are written, compared with plain COPY of the same rows, and how long a request for the newest traces of one of
 * many rules takes.
 */
import { copyIn } from '../../src/kernel/copy-in.ts'
import type { Db } from '../../src/kernel/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { createLog } from '../../src/kernel/log.ts'
import { createMetrics } from '../../src/kernel/metrics.ts'
import { derivedId } from '../../src/services/rules/engine/derived-ids.ts'
import { createLedger } from '../../src/services/rules/engine/ledger.ts'
import { createTraceRows, traceColumns } from '../../src/services/rules/engine/trace-rows.ts'
import type { NewTrace } from '../../src/services/rules/engine/traces.ts'
import { bearer, client } from '../../test/harness/client.ts'
import { type Figure, median } from '../report.ts'
import type { BenchPlatform } from '../time-series/bench-platform.ts'

/** Number of stored traces while a page is measured. BENCH_TRACES sets another number. */
const stored = Number(process.env.BENCH_TRACES ?? 4_000_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const count = 40_000
const perCopy = 2000
const ruleIds = Array.from({ length: 100 }, newId)

const traceOf = (tenantId: string, index: number): NewTrace => {
  const at = Date.now()
  const id = derivedId(at, index, 'trace')
  return {
    id,
    traceId: derivedId(at, index, 'chain'),
    tenantId,
    entityType: 'RULE',
    entityId: ruleIds[index % ruleIds.length]!,
    raisedOn: { entityType: 'ENDPOINT', entityId: `endpoint-${index % 1000}` },
    outcome: 'SUCCESS',
    metadata: {
      ruleVersion: 1,
      triggerId: id,
      triggerType: 'ENDPOINT_DATA_SAMPLES_RECEIVED',
      eventId: id,
      durationMs: 1,
      returnedValue: 'null',
    },
    durationMs: 1.25,
    event: JSON.stringify({ trigger: { endpointDataSamplesReceived: { dataSamples: [{ temperature: 21.5 }] } } }),
  }
}

export async function writtenTraces(bench: BenchPlatform): Promise<Figure[]> {
  const { db, tenantId } = bench
  await db.sql.unsafe(`create unlogged table if not exists rules.bench_traces (like rules.traces)`)
  await db.sql.unsafe('alter table rules.bench_traces set logged')
  const log = await createLog({ level: 'error', format: 'json' })
  const ledger = createLedger({
    db,
    log,
    metrics: createMetrics(),
    now: () => new Date(),
    quota: { allowsDetails: () => true },
  })
  const measured: { copy: number; ours: number }[] = []
  for (let round = -1; round < rounds; round++) {
    const batch = Array.from({ length: count }, (_, index) => traceOf(tenantId, index))
    const rates = { copy: await copyAlone(db, batch), ours: await writeAll(ledger, batch) }
    if (round >= 0) measured.push(rates)
  }
  await db.sql`drop table rules.bench_traces`
  return [
    {
      name: 'Plain COPY of traces into a table without indexes',
      value: median(measured.map(({ copy }) => copy)),
      unit: '/s',
    },
    { name: 'Traces with indexes and statistics', value: median(measured.map(({ ours }) => ours)), unit: '/s' },
    {
      name: 'Writing traces against plain COPY',
      value: median(measured.map(({ copy, ours }) => ours / copy)),
      unit: 'times',
      limit: { min: 0.5 },
    },
  ]
}

async function copyAlone(db: Db, batch: NewTrace[]): Promise<number> {
  const began = performance.now()
  let micros = Date.now() * 1000
  for (let from = 0; from < batch.length; from += perCopy) {
    const rows = createTraceRows()
    for (const trace of batch.slice(from, from + perCopy)) rows.add(trace, micros++)
    await copyIn(db.sql.unsafe(`copy rules.bench_traces (${traceColumns.join(', ')}) from stdin (format binary)`), () =>
      rows.finish(),
    )
  }
  return batch.length / ((performance.now() - began) / 1000)
}

async function writeAll(ledger: ReturnType<typeof createLedger>, batch: NewTrace[]): Promise<number> {
  const began = performance.now()
  const writes: Promise<void>[] = []
  for (let index = 0; index < batch.length; index++) {
    writes.push(ledger.write({ traces: [batch[index]!] }))
    if (index % perCopy === perCopy - 1) await writes.at(-1)
  }
  await Promise.all(writes)
  return batch.length / ((performance.now() - began) / 1000)
}

/**
 * Measures the newest page of one rule in a table and in a ten times larger table. The page must not become slower. Larger tables are not
 * measured, because inserting 50,000,000 rows takes an hour.
 */
export async function newestPages(bench: BenchPlatform): Promise<Figure[]> {
  const few = Math.round(stored / 10)
  await insertTraces(bench, 0, few)
  const among = { few: await newestPage(bench), all: 0 }
  await insertTraces(bench, few, stored)
  among.all = await newestPage(bench)
  return [
    { name: `Newest page of one rule among ${few} traces`, value: among.few, unit: 'ms' },
    { name: `Newest page of one rule among ${stored} traces`, value: among.all, unit: 'ms', limit: { max: 30 } },
    {
      name: '… among all traces against a tenth of them',
      value: among.all / among.few,
      unit: 'times',
      limit: { max: 1.5 },
    },
  ]
}

async function insertTraces({ db, tenantId }: BenchPlatform, from: number, to: number) {
  await db.tx(async (sql) => {
    await sql.withoutTimeLimit()
    await sql`
      insert into rules.traces (created_at, id, trace_id, entity_id, is_failure, is_on_demand, duration_ms, tenant_id,
        entity_type, raised_on_id, metadata)
      select date_trunc('day', now()) + n * interval '1 second' * (86399.0 / ${stored}::int), gen_random_uuid(), gen_random_uuid(),
        (${ruleIds}::uuid[])[1 + n % ${ruleIds.length}::int], false, false, 1, ${tenantId}, 'RULE',
        'endpoint-' || n % 1000, '{"ruleVersion":1}'
      from generate_series(${from}::int, ${to}::int - 1) as n`
    await sql`
      insert into rules.trace_sums (day, tenant_id, entity_id, count)
      select current_date, ${tenantId}, unnest(${ruleIds}::uuid[]), ${Math.floor(stored / ruleIds.length)}
      on conflict do nothing`
  })
  await db.sql.unsafe('vacuum analyze rules.traces')
}

/** Returns the median time of a page over the API. */
async function newestPage({ platform, token }: BenchPlatform): Promise<number> {
  const ask = client(platform.baseUrl, bearer(await token()))
  const times: number[] = []
  for (let index = -20; index < 100; index++) {
    const began = performance.now()
    const { status } = await ask(`GET /re/api/v1/traces?entityId=${ruleIds[(index + 20) % ruleIds.length]}`)
    if (status !== 200) throw new Error(`traces: ${status}`)
    if (index >= 0) times.push(performance.now() - began)
  }
  return median(times)
}
