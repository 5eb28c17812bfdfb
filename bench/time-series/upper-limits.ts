/**
 * Measures what the ingestion of samples could reach at most, in the same run as the ingestion itself: sockets alone, the gateway with an
 * extension that does nothing, and COPY alone.
 */
import { partitionOf } from '../../src/services/time-series/store/slots.ts'
import { columns, createRows, numbersOfGroup } from '../../src/services/time-series/write/rows.ts'
import type { PreparedData } from '../gateway/bench-platform.ts'
import { startCore } from '../gateway/contenders.ts'
import type { Generator } from '../gateway/generator.ts'
import type { Load } from '../gateway/measure.ts'
import { valuesOfSample } from '../gateway/payloads.ts'
import { type Server, startPeer } from '../gateway/servers.ts'
import type { BenchPlatform } from './bench-platform.ts'
import { type LoadResult, type Pace, run, withConnections } from './load.ts'

export const echo = (generator: Generator, load: Load, pace: Pace) =>
  loaded(generator, startPeer('node:net echo', 'echo.ts', 'echo', {}, 'any'), load, pace)

export const core = (generator: Generator, prepared: PreparedData, load: Load, pace: Pace) =>
  loaded(generator, startCore(prepared, 'acknowledged', { core: 'any' }), load, pace)

async function loaded(generator: Generator, starting: Promise<Server>, load: Load, pace: Pace): Promise<LoadResult> {
  const server = await starting
  try {
    const ran = await withConnections(generator, server, load, () => run(generator, server, pace))
    const rate = `${Math.round(ran.perSecond)}/s`
    console.error(
      `${server.name}, ${load.name}: ${rate}, p50 ${ran.p50Ms.toFixed(1)} ms, p99 ${ran.p99Ms.toFixed(1)} ms`,
    )
    return ran
  } finally {
    await server.stop()
  }
}

const rowsOfWrite = 1000
const writers = 4
const differentWrites = 16

/** Returns the values per second of COPY into a table like the table of samples, with a commit for each thousand samples. */
export async function copyAlone({ db }: BenchPlatform, seconds: number): Promise<number> {
  const table = partitionOf(0)
  await db.sql.unsafe(`drop table if exists ${table}`)
  await db.sql.unsafe(`create table ${table} (like time_series.samples including all)`)
  try {
    const writes = Array.from({ length: differentWrites }, (_, write) => encoded(write))
    let [written, next] = [0, 0]
    const began = performance.now()
    const until = began + seconds * 1000
    const writer = async () => {
      while (performance.now() < until) {
        const bytes = writes[next++ % differentWrites]!
        await db.copyIn(`copy ${table} (${columns.join(', ')}) from stdin (format binary)`, () => bytes)
        written += rowsOfWrite * valuesOfSample
      }
    }
    await Promise.all(Array.from({ length: writers }, writer))
    const perSecond = (written / (performance.now() - began)) * 1000
    console.error(`COPY alone: ${Math.round(perSecond)} values/s`)
    return perSecond
  } finally {
    await db.sql.unsafe(`drop table ${table}`)
  }
}

function encoded(write: number): Buffer {
  const rows = createRows(Number.POSITIVE_INFINITY)
  rows.first = write * numbersOfGroup
  const set = { setId: 1, seriesIds: [1, 2, 3, 4, 5] }
  const origin = { tenantId: '', applicationName: '', versionName: '', endpointId: '' }
  for (let row = 0; row < rowsOfWrite; row++) {
    const values = Array.from({ length: valuesOfSample }, (_, index) => Math.round(row * 37 + index * 1000) / 100)
    rows.add(row + 1, Date.now() + write, false, [set], values, origin)
  }
  return rows.encode(0)
}
