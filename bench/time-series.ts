import { type Ground, prepareGround } from './gateway/site.ts'
import { removeDirectory } from './platform.ts'
import type { Figure } from './report.ts'
import { type Dataset, fleet, plant } from './time-series/dataset.ts'
import { growth } from './time-series/growth.ts'
import { batches, ingest } from './time-series/ingest.ts'
import { type Peers, withPeers } from './time-series/peers.ts'
import { aggregation, latest, memoryOfReading, readMillion, readOne } from './time-series/reading.ts'
import { type Site, startSite } from './time-series/site.ts'
import { fillOurs, storageFigures } from './time-series/storage.ts'

/** Duration of one load; set a shorter one for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 4)
const devices = 1000

const parts: Record<string, () => Promise<Figure[]>> = {
  ingest: () => withDevices((ground) => ingest(ground, seconds)),
  batches: () => withDevices((ground) => batches(ground, seconds)),
  /** Storage, latest values and averages of many short series. */
  fleet: () =>
    compared(fleet, async (site, peers) => [
      ...(await latest(site, fleet)),
      ...(await aggregation(site, peers, fleet)),
    ]),
  /** Reading and averages of fewer, longer series. */
  plant: () =>
    compared(plant, async (site, peers) => [
      ...(await memoryOfReading(site, plant)),
      ...(await readMillion(site, peers, plant)),
      ...(await readOne(site, plant.endpoints)),
      ...(await aggregation(site, peers, plant)),
    ]),
  growth: () => growth(seconds),
}

/** Runs all parts, or those in BENCH_PARTS. */
export async function timeSeries(): Promise<Figure[]> {
  const asked = process.env.BENCH_PARTS?.split(',') ?? Object.keys(parts)
  const unknown = asked.find((name) => !parts[name])
  if (unknown) throw new Error(`no part ${unknown}; there are ${Object.keys(parts).join(', ')}`)
  const figures: Figure[] = []
  for (const name of asked) {
    const began = performance.now()
    figures.push(...(await parts[name]!()))
    console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  return figures
}

async function withDevices(work: (ground: Ground) => Promise<Figure[]>) {
  const ground = await prepareGround(devices)
  return await work(ground).finally(() => removeDirectory(ground.directory))
}

/** Compares the platform with its peers on the same samples. */
function compared(dataset: Dataset, ask: (site: Site, peers: Peers) => Promise<Figure[]>): Promise<Figure[]> {
  return withDevices(async (ground) => {
    const packing = await withSite(ground, (site) => fillOurs(site, dataset))
    return await withPeers(dataset, async (peers) => [
      ...storageFigures(dataset, packing, [peers.influx, peers.victoria]),
      // A new process, so that memory of packing does not count for reading.
      ...(await withSite(ground, (site) => ask(site, peers))),
    ])
  })
}

async function withSite<T>(ground: Ground, work: (site: Site) => Promise<T>): Promise<T> {
  const site = await startSite(ground)
  return await work(site).finally(site.stop)
}
