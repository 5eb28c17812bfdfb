/** Measures how fast points are read as JSON over HTTP, compared with InfluxDB and VictoriaMetrics on the same data. */
import { type Figure, median } from '../report.ts'
import { measureAlternately, measureMemory } from './alternate.ts'
import type { BenchPlatform } from './bench-platform.ts'
import { began, type Dataset, endpointIdOf, fields, timeOf, valuesOf } from './dataset.ts'
import { fillPacked, fillWithRecentSamples, type StoredIds, seriesNameOf, storeIds } from './fill.ts'
import type { Peers } from './peers.ts'
import {
  type Contender,
  createQuery,
  hourly,
  idsOf,
  influxHourly,
  influxReading,
  platformReading,
  pointsOf,
  victoriaHourly,
} from './queries.ts'

const rounds = 5
const million = 1_000_000

export async function readMillion(bench: BenchPlatform, peers: Peers, dataset: Dataset): Promise<Figure[]> {
  const points = million / (dataset.endpoints * fields.length)
  const us = platformReading(bench, dataset, points)
  const theirs = influxReading(peers.influx, dataset, points)
  const [own, ...others] = await measureAlternately([us, ...theirs], rounds, million)
  const name = `${million} points of ${dataset.endpoints * fields.length} series as JSON`
  return [
    { name, value: own!.ms, unit: 'ms' },
    ...theirs.flatMap((peer, index): Figure[] => [
      { name: `${name}, ${peer.name}`, value: others[index]!.ms, unit: 'ms' },
      {
        name: `${name}: faster than ${peer.name}`,
        value: others[index]!.ms / own!.ms,
        unit: 'times',
        // The limit applies only to the default response format of the peer.
        ...(index === 0 && { limit: { min: 4 } }),
      },
    ]),
  ]
}

/** Checks that memory does not grow with the number of points. Must run first on a new process, because every query raises its memory. */
export async function memoryOfReading(bench: BenchPlatform, dataset: Dataset): Promise<Figure[]> {
  const reading = async (points: number) => {
    const { ask } = platformReading(bench, dataset, points)
    const memory = await measureMemory(bench.platform.pid, () => ask(false))
    const { beforeMb, peakMb, afterMb } = memory
    console.error(
      `memory for ${points * dataset.endpoints * fields.length} points: ` +
        `${beforeMb.toFixed(0)} MB before, ${peakMb.toFixed(0)} at most, ${afterMb.toFixed(0)} after`,
    )
    return memory
  }
  await reading(10)
  const few = await reading(million / (dataset.endpoints * fields.length))
  const all = [await reading(dataset.points), await reading(dataset.points)]
  const most = Math.max(...all.map(({ peakMb }) => peakMb))
  const name = `${valuesOf(dataset)} points as JSON`
  return [
    { name: 'Memory of the server before anything is read', value: few.beforeMb, unit: 'MB' },
    { name: `${million} points as JSON: memory of the server at most`, value: few.peakMb, unit: 'MB' },
    { name: `${name}: memory of the server at most`, value: most, unit: 'MB' },
    { name: `${name}: memory of the server afterwards`, value: all[1]!.afterMb, unit: 'MB' },
    {
      name: `${name}: highest memory against ${million} points`,
      value: most / few.peakMb,
      unit: 'times',
      limit: { max: 1.2 },
    },
  ]
}

const long: Dataset = { endpoints: 1, points: 100_000, stepMs: 10_000 }

/** Reads one packed series and one series that is not packed yet. Each series belongs to an endpoint without other series. */
export async function readOne(bench: BenchPlatform, firstFree: number): Promise<Figure[]> {
  const { numbers, set } = await storeIds(bench, firstFree + 2)
  const only = (endpoint: number): StoredIds => ({ numbers: [numbers[endpoint]!], set })
  await fillPacked(bench, only(firstFree), long)
  await fillWithRecentSamples(bench, only(firstFree + 1), long)
  await bench.db.sql.unsafe('vacuum analyze time_series.chunks')
  const ask = createQuery(bench)
  const contender = (name: string, endpoint: number): Contender => ({
    name,
    ask: (whole) =>
      ask(
        'data',
        {
          timeSeriesNames: [seriesNameOf(fields[0]!)],
          endpointIDs: [endpointIdOf(endpoint)],
          fromDate: new Date(began - 1).toISOString(),
          toDate: new Date(timeOf(long, long.points)).toISOString(),
        },
        whole,
      ),
    totalsOf: pointsOf,
  })
  const both = [contender('one series, packed', firstFree), contender('one series, not packed yet', firstFree + 1)]
  const [packed, unpacked] = await measureAlternately(both, 15, long.points)
  const name = `One series of ${long.points} points`
  return [
    { name, value: packed!.ms, unit: 'ms', limit: { max: 150 } },
    { name: `${name}, not packed yet`, value: unpacked!.ms, unit: 'ms' },
  ]
}

const asks = 60
const warmUps = 20

/** Returns the median time of a request for the latest points, in milliseconds. */
export async function latestOf(bench: BenchPlatform, dataset: Dataset, timeSeriesNames?: string[]): Promise<number> {
  const ask = createQuery(bench)
  const body = { endpointIDs: idsOf(dataset), ...(timeSeriesNames && { timeSeriesNames }) }
  const { text } = await ask('last', body, true)
  const found = Object.values(JSON.parse(text) as Record<string, Record<string, unknown[]>>)
  const points = found.flatMap((series) => Object.values(series).flat()).length
  const expected = dataset.endpoints * (timeSeriesNames?.length ?? fields.length)
  if (points !== expected) throw new Error(`${points} latest values instead of ${expected}`)
  const times: number[] = []
  for (let n = -warmUps; n < asks; n++) {
    const { ms } = await ask('last', body)
    if (n >= 0) times.push(ms)
  }
  return median(times)
}

export async function latest(bench: BenchPlatform, dataset: Dataset): Promise<Figure[]> {
  const one = await latestOf(bench, dataset, [seriesNameOf(fields[0]!)])
  const all = await latestOf(bench, dataset)
  const name = `Latest value of ${dataset.endpoints} endpoints`
  console.error(`${name}: ${one.toFixed(1)} ms, of all ${fields.length} series ${all.toFixed(1)} ms`)
  return [
    { name, value: one, unit: 'ms', limit: { max: 20 } },
    { name: `${name}, of ${fields.length} series each`, value: all, unit: 'ms' },
  ]
}

const hourMs = 3_600_000

export async function aggregation(bench: BenchPlatform, peers: Peers, dataset: Dataset): Promise<Figure[]> {
  const hours = Math.ceil((dataset.points * dataset.stepMs) / hourMs)
  const series = dataset.endpoints * fields.length
  const all = [
    platformReading(bench, dataset, dataset.points, hourly),
    victoriaHourly(peers.victoria, dataset),
    influxHourly(peers.influx, dataset),
  ]
  // The databases begin an hour at different milliseconds, so a point on the boundary can belong to different hours. The sums may therefore
  // differ by 0.1 %.
  const [own, victoria, influx] = await measureAlternately(all, rounds, hours * series, 1e-3)
  const name = `${valuesOf(dataset)} points of ${series} series by hour`
  return [
    { name, value: own!.ms, unit: 'ms' },
    { name: `${name}, VictoriaMetrics`, value: victoria!.ms, unit: 'ms' },
    { name: `${name}, InfluxDB`, value: influx!.ms, unit: 'ms' },
    { name: `${name}: against VictoriaMetrics`, value: own!.ms / victoria!.ms, unit: 'times', limit: { max: 4 } },
    { name: `${name}: faster than InfluxDB`, value: influx!.ms / own!.ms, unit: 'times' },
  ]
}
