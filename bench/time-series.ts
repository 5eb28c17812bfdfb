import { type PreparedData, prepareData } from './gateway/bench-platform.ts'
import { removeDirectory } from './platform.ts'
import type { Figure } from './report.ts'
import { type BenchPlatform, startBenchPlatform } from './time-series/bench-platform.ts'
import { type Dataset, fleet, plant } from './time-series/dataset.ts'
import { growth } from './time-series/growth.ts'
import { batches, ingest } from './time-series/ingest.ts'
import { type Peers, withPeers } from './time-series/peers.ts'
import { aggregation, latest, memoryOfReading, readMillion, readOne } from './time-series/reading.ts'
import { fillAndPack, storageFigures } from './time-series/storage.ts'
import { sustained } from './time-series/sustained.ts'

/** Duration of one load. BENCH_SECONDS sets a shorter duration for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 4)
const devices = 1000

const parts: Record<string, () => Promise<Figure[]>> = {
  ingest: () => withDevices((prepared) => ingest(prepared, seconds)),
  batches: () => withDevices((prepared) => batches(prepared, seconds)),
  /** Measures storage, latest values and averages of many short series. */
  fleet: () =>
    compareWithPeers(fleet, async (bench, peers) => [
      ...(await latest(bench, fleet)),
      ...(await aggregation(bench, peers, fleet)),
    ]),
  /** Measures reading and averages of fewer, longer series. */
  plant: () =>
    compareWithPeers(plant, async (bench, peers) => [
      ...(await memoryOfReading(bench, plant)),
      ...(await readMillion(bench, peers, plant)),
      ...(await readOne(bench, plant.endpoints)),
      ...(await aggregation(bench, peers, plant)),
    ]),
  growth: () => growth(seconds),
  sustained: () => withDevices(sustained),
}

/** Runs all parts, or the parts that BENCH_PARTS names. */
export async function timeSeries(): Promise<Figure[]> {
  const requested = process.env.BENCH_PARTS?.split(',') ?? Object.keys(parts)
  const unknown = requested.find((name) => !parts[name])
  if (unknown) throw new Error(`no part ${unknown}; there are ${Object.keys(parts).join(', ')}`)
  const figures: Figure[] = []
  for (const name of requested) {
    const began = performance.now()
    figures.push(...(await parts[name]!()))
    console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  return figures
}

async function withDevices(work: (prepared: PreparedData) => Promise<Figure[]>) {
  const prepared = await prepareData(devices)
  return await work(prepared).finally(() => removeDirectory(prepared.directory))
}

/** Compares the platform with other databases for time series (its peers) on the same samples. */
function compareWithPeers(
  dataset: Dataset,
  measure: (bench: BenchPlatform, peers: Peers) => Promise<Figure[]>,
): Promise<Figure[]> {
  return withDevices(async (prepared) => {
    const packing = await withBenchPlatform(prepared, (bench) => fillAndPack(bench, dataset))
    return await withPeers(dataset, async (peers) => [
      ...storageFigures(dataset, packing, [peers.influx, peers.victoria]),
      // Reading is measured in a new process, so that memory that packing used does not count.
      ...(await withBenchPlatform(prepared, (bench) => measure(bench, peers))),
    ])
  })
}

async function withBenchPlatform<T>(prepared: PreparedData, work: (bench: BenchPlatform) => Promise<T>): Promise<T> {
  const bench = await startBenchPlatform(prepared)
  return await work(bench).finally(bench.stop)
}
