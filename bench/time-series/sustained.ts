/**
 * Sends samples at a steady rate for minutes, while slots change, samples and traffic are packed and checkpoints run. Prints the figures of
 * each minute. BENCH_MINUTES, BENCH_RATE and BENCH_SLOT_SECONDS (more slot changes) are for quick runs. BENCH_WAITS=1 lists wait events of
 * the database sessions.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createSlots } from '../../src/services/time-series/write/slots.ts'
import type { PreparedData } from '../gateway/bench-platform.ts'
import { type Generator, startGenerator } from '../gateway/generator.ts'
import type { Period } from '../gateway/load.ts'
import type { Load } from '../gateway/measure.ts'
import type { Figure } from '../report.ts'
import { type BenchPlatform, startBenchPlatform } from './bench-platform.ts'
import { runWithCost, withConnections } from './load.ts'

const minutes = Number(process.env.BENCH_MINUTES ?? 10)
const rate = Number(process.env.BENCH_RATE ?? 10_500)
const slotSeconds = Number(process.env.BENCH_SLOT_SECONDS ?? 0)
const load: Load = { name: '1,000 connections', connections: 1000, window: 8, payload: 'changing' }
const MB = 1_000_000

interface Observed {
  slots: number
  packed: number
  checkpoints: number
  walBytes: number
  walFilesMb: number
  trafficRecords: number
}

export async function sustained(prepared: PreparedData): Promise<Figure[]> {
  const generator = startGenerator('any')
  const bench = await startBenchPlatform(prepared)
  const before = await observe(bench, prepared)
  const observations: Observed[] = []
  const periods: Period[] = []
  generator.onPeriod((period) => {
    periods.push(period)
    void report(bench, prepared, period, periods.length, observations)
  })
  const stopWork = startSlotChanges(bench)
  const stopWaits = startWaits(bench)
  try {
    await runFor(generator, bench)
    stopWork()
    stopWaits()
    return await figuresOf(bench, prepared, periods, before, observations)
  } finally {
    await bench.stop()
    generator.stop()
  }
}

const runFor = (generator: Generator, bench: BenchPlatform) =>
  withConnections(generator, bench, load, () =>
    runWithCost(generator, bench, `${rate}/s`, {
      seconds: minutes * 60,
      rate,
      periodSeconds: Number(process.env.BENCH_PERIOD_SECONDS ?? 60),
    }),
  )

/** Starts a new slot every BENCH_SLOT_SECONDS, before the present slot is full. */
function startSlotChanges({ db }: BenchPlatform): () => void {
  if (slotSeconds === 0) return () => {}
  const slots = createSlots({ db, now: () => new Date() })
  const timer = setInterval(
    () => void slots.rotate(true).catch((error) => console.error(`slot: ${error.message}`)),
    slotSeconds * 1000,
  )
  return () => clearInterval(timer)
}

/** Samples the wait events of active database sessions, and prints the most frequent events at the end. */
function startWaits({ db }: BenchPlatform): () => void {
  if (!process.env.BENCH_WAITS) return () => {}
  const counts = new Map<string, number>()
  const timer = setInterval(async () => {
    const rows = await db.sql`
      select application_name || ' ' || wait_event_type || ':' || wait_event as name, count(*)::int as n from pg_stat_activity
      where wait_event is not null and state = 'active' and application_name <> 'bench' group by 1`
    for (const { name, n } of rows) counts.set(name, (counts.get(name) ?? 0) + n)
  }, 50)
  return () => {
    clearInterval(timer)
    for (const [name, n] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 20)) console.error(`${n} ${name}`)
  }
}

function walFilesMb({ directory }: PreparedData): number {
  const folder = readdirSync(join(directory, 'postgres')).map((name) => join(directory, 'postgres', name, 'pg_wal'))
  for (const path of folder)
    try {
      return readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0) / MB
    } catch {} // The folder has no write-ahead log, so it is not the data directory of PostgreSQL.
  return Number.NaN
}

async function observe({ db }: BenchPlatform, prepared: PreparedData): Promise<Observed> {
  const [row] = await db.sql`
    select (select coalesce(max(slot), 0) from time_series.slots where state <> 'ready') as slots,
      (select coalesce(sum(n), 0)::float8 from time_series.chunks) as packed,
      (select num_timed + num_requested from pg_stat_checkpointer)::float8 as checkpoints,
      (select wal_bytes from pg_stat_wal)::float8 as wal_bytes,
      (select coalesce(sum(n), 0)::float8 from traffic_log.blocks) as traffic_records`
  return { ...(row as Omit<Observed, 'walFilesMb'>), walFilesMb: walFilesMb(prepared) }
}

async function report(
  bench: BenchPlatform,
  prepared: PreparedData,
  { messages, p50Ms, p99Ms, maxMs }: Period,
  minute: number,
  observations: Observed[],
) {
  const observed = await observe(bench, prepared)
  observations.push(observed)
  const text = await (await fetch(`${bench.platform.managementUrl}/metrics`)).text()
  const lag = Number(text.match(/^waypost_nodejs_eventloop_lag_p99_seconds (\S+)/m)?.[1]) * 1000
  console.error(
    `minute ${minute}: ${messages} messages, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(0)} ms; ` +
      `event loop p99 ${lag.toFixed(0)} ms, slot ${observed.slots}, ${observed.packed} values packed, ` +
      `${observed.trafficRecords} traffic records packed, ${observed.checkpoints} checkpoints, WAL ${(observed.walBytes / MB).toFixed(0)} MB ` +
      `written, ${observed.walFilesMb.toFixed(0)} MB on disk`,
  )
}

async function figuresOf(
  { db }: BenchPlatform,
  prepared: PreparedData,
  periods: Period[],
  before: Observed,
  observations: Observed[],
): Promise<Figure[]> {
  const [size] = await db.sql`
    select (select coalesce(sum(pg_total_relation_size(inhrelid)), 0)::float8 from pg_inherits
      where inhparent = 'traffic_log.blocks'::regclass) as blocks`
  const last = await observe({ db } as BenchPlatform, prepared)
  const messages = periods.reduce((sum, period) => sum + period.messages, 0)
  const name = `${rate} messages/s of 5 values for ${minutes} minutes`
  return [
    ...periods.map(
      (period, index): Figure => ({
        name: `${name}: p99 of the PUBACK, minute ${index + 1}`,
        value: period.p99Ms,
        unit: 'ms',
        limit: { max: 60 },
      }),
    ),
    { name: `${name}: messages a second`, value: messages / (minutes * 60), unit: '/s', limit: { min: rate * 0.99 } },
    { name: `${name}: slot changes`, value: last.slots - before.slots, unit: '' },
    { name: `${name}: checkpoints`, value: last.checkpoints - before.checkpoints, unit: '' },
    {
      name: `${name}: write-ahead log on disk, at most`,
      value: Math.max(...observations.map((observed) => observed.walFilesMb)),
      unit: 'MB',
      limit: { max: 1000 },
    },
    {
      name: `${name}: write-ahead log for a message`,
      value: (last.walBytes - before.walBytes) / messages,
      unit: 'bytes',
    },
    {
      name: `${name}: traffic log for a message`,
      value: size!.blocks / last.trafficRecords,
      unit: 'bytes',
      limit: { max: 40 },
    },
  ]
}
