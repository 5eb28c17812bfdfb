/** Compares the size of a packed value on disk with its size in InfluxDB and VictoriaMetrics, for the same samples. */
import { cpuSeconds, nameOf, processTree } from '../../test/harness/processes.ts'
import type { Figure } from '../report.ts'
import type { BenchPlatform } from './bench-platform.ts'
import { type Dataset, fields, valuesOf } from './dataset.ts'
import { fillWithRecentSamples, packAll, storeIds } from './fill.ts'
import type { Peer } from './peers.ts'

interface Packing {
  bytes: number
  dataBytes: number
  nodeMicroseconds: number
  databaseMicroseconds: number
}

/** Writes samples and lets the platform pack them. */
export async function fillAndPack(bench: BenchPlatform, dataset: Dataset): Promise<Packing> {
  const { sql } = bench.db
  await fillWithRecentSamples(bench, await storeIds(bench, dataset.endpoints), dataset)
  const before = [nodeSeconds(bench), databaseSeconds(bench)]
  await packAll(bench)
  const [node, database] = [nodeSeconds(bench) - before[0]!, databaseSeconds(bench) - before[1]!]
  const [sum] = await sql`
    select sum(n)::float8 as points, sum(octet_length(data))::float8 as data,
      (select sum(pg_total_relation_size(inhrelid))::float8 from pg_inherits
        where inhparent = 'time_series.chunks'::regclass) as whole
    from time_series.chunks`
  const values = valuesOf(dataset)
  if (sum!.points !== values) throw new Error(`${sum!.points} of ${values} values were packed`)
  await sql.unsafe('vacuum analyze time_series.chunks, time_series.latest, time_series.endpoints')
  return {
    bytes: sum!.whole / values,
    dataBytes: sum!.data / values,
    nodeMicroseconds: (node * 1e6) / values,
    databaseMicroseconds: (database * 1e6) / values,
  }
}

const nodeSeconds = ({ platform }: BenchPlatform) => cpuSeconds(platform.pid)
const databaseSeconds = ({ platform }: BenchPlatform) =>
  processTree(platform.pid)
    .filter((pid) => nameOf(pid).startsWith('postgres'))
    .reduce((sum, pid) => sum + cpuSeconds(pid), 0)

export function storageFigures(dataset: Dataset, ours: Packing, peers: Peer[]): Figure[] {
  const contents = `${dataset.endpoints} endpoints, ${fields.length} series of ${dataset.points} points each`
  const figures: Figure[] = [
    {
      name: `${contents}: packed, with indexes and overhead of the table`,
      value: ours.bytes,
      unit: 'bytes a value',
      limit: { max: 4 },
    },
    { name: `${contents}: packed, the data alone`, value: ours.dataBytes, unit: 'bytes a value' },
    ...peers.map((peer) => ({
      name: `${contents}: ${peer.name}`,
      value: peer.bytes() / valuesOf(dataset),
      unit: 'bytes a value',
    })),
    { name: `${contents}: packing, processor time of Node.js for a value`, value: ours.nodeMicroseconds, unit: 'µs' },
    {
      name: `${contents}: packing, processor time of PostgreSQL for a value`,
      value: ours.databaseMicroseconds,
      unit: 'µs',
    },
  ]
  for (const { name, value, unit } of figures) console.error(`${name}: ${value.toFixed(2)} ${unit}`)
  return figures
}
