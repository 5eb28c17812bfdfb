/**
 * Time series in one process: samples through `collect` as the gateway hands them over, then packing. Processor time of Node and
 * of PostgreSQL apart, because the machine is shared.
 *
 *   tools/run bench/time-series.ts [seconds] [messages a second, 0: as fast as it goes]
 */
import { join } from 'node:path'
import { buildHouse } from '../src/assembly/build.ts'
import { loadConfig } from '../src/config.ts'
import identity from '../src/identity/index.ts'
import type { DeviceMessage } from '../src/kernel/device.ts'
import { startEmbeddedPostgres } from '../src/kernel/embedded-postgres.ts'
import { createLog } from '../src/kernel/log.ts'
import applications from '../src/services/applications/index.ts'
import register from '../src/services/register/index.ts'
import timeSeries from '../src/services/time-series/index.ts'
import { createTimeSeries, type TimeSeriesService } from '../src/services/time-series/service.ts'
import tokens from '../src/services/tokens/index.ts'
import { cpuSeconds, nameOf, treeOf } from '../test/harness/processes.ts'
import { freshDirectory, removeDirectory } from './platform.ts'

const seconds = Number(process.argv[2] ?? 8)
const rate = Number(process.argv[3] ?? 0)
const endpoints = 1000
const inFlight = 2000
const valuesOfSample = 5

const directory = freshDirectory()
const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
const config = loadConfig({ WAYPOST_DATA: directory, WAYPOST_LOG_LEVEL: 'error' })
let service!: TimeSeriesService
const house = await buildHouse({
  config,
  connection: postgres.connection,
  log: await createLog(config.log),
  services: [
    identity,
    applications,
    tokens,
    register,
    {
      ...timeSeries,
      build(kit, given) {
        service = createTimeSeries(kit, given as never)
        return { api: service.api }
      },
    },
  ],
  baseUrl: () => 'http://localhost',
})
await house.kit.jobs.start({ workers: false })
await service.slots.current()
await service.latest.start()

/** Our own children that are PostgreSQL: what ended meanwhile is not counted, so connections are opened before. */
const databaseSeconds = () =>
  treeOf(process.pid)
    .filter((pid) => nameOf(pid).startsWith('postgres'))
    .reduce((sum, pid) => sum + cpuSeconds(pid), 0)
const nodeSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const origin = (index: number) => ({
  tenantId: 'default',
  applicationName: 'bench',
  versionName: 'bench-v1',
  endpointId: `endpoint-${index}`,
})
const origins = Array.from({ length: endpoints }, (_, index) => origin(index))
const start = Date.UTC(2026, 10, 14)
const steps = new Int32Array(endpoints)

/** Every ten seconds, two decimals, as a thermometer has them. */
function sampleOf(index: number) {
  const step = steps[index]!++
  const wave = Math.sin(step / 300 + index) + (Math.imul(step + index, 2654435761) >>> 28) / 400
  return {
    timestamp: start + step * 10_000,
    temperature: Math.round(2000 + 500 * wave) / 100,
    humidity: Math.round(4500 + 1000 * wave + (step % 7)) / 100,
    pressure: Math.round(101_325 + 300 * wave) / 100,
    voltage: Math.round(330 + 3 * wave) / 100,
    level: Math.round(5000 - (step % 500) * 10) / 100,
  }
}

const messageOf = (index: number): DeviceMessage => ({
  endpoint: origins[index]!,
  extension: 'dcx',
  resourcePath: '/json',
  payload: Buffer.alloc(0),
  receivedAt: new Date(),
  correlationId: '',
})

let [sent, stored, next] = [0, 0, 0]
async function sender(until: number, began: number) {
  while (performance.now() < until) {
    if (rate > 0 && sent > ((performance.now() - began) / 1000) * rate) {
      await new Promise((done) => setTimeout(done, 2))
      continue
    }
    sent++
    const index = next++ % endpoints
    await service.api.collect(messageOf(index), [sampleOf(index)])
    stored++
  }
}
const senders = (ms: number) => {
  const began = performance.now()
  return Promise.all(Array.from({ length: inFlight }, () => sender(began + ms, began)))
}

await senders(1500)
;[sent, stored] = [0, 0]
const before = { node: nodeSeconds(), database: databaseSeconds(), at: performance.now() }
await senders(seconds * 1000)
const took = (performance.now() - before.at) / 1000
const values = stored * valuesOfSample
const node = nodeSeconds() - before.node
const database = databaseSeconds() - before.database
await service.latest.flush(true)

await service.slots.rotate(true)
const packing = { node: nodeSeconds(), database: databaseSeconds(), at: performance.now() }
await service.packer.round()
const packed = {
  node: nodeSeconds() - packing.node,
  database: databaseSeconds() - packing.database,
  took: (performance.now() - packing.at) / 1000,
}
const [sum] = await house.kit.db.sql`
  select sum(n)::float8 as points, sum(octet_length(data))::float8 as bytes, count(*)::float8 as chunks,
    (select sum(pg_total_relation_size(inhrelid))::float8 from pg_inherits
      where inhparent = 'time_series.chunks'::regclass) as whole
  from time_series.chunks`
const micros = (value: number, per: number) => Math.round((value / per) * 1e8) / 100
console.log({
  messagesPerSecond: Math.round(stored / took),
  valuesPerSecond: Math.round(values / took),
  nodeMicrosPerValue: micros(node, values),
  databaseMicrosPerValue: micros(database, values),
  coresFor15000Messages: Math.round(((node + database) / stored) * 15_000 * 100) / 100,
  packNodeMicrosPerValue: micros(packed.node, sum!.points),
  packDatabaseMicrosPerValue: micros(packed.database, sum!.points),
  packSeconds: Math.round(packed.took * 10) / 10,
  points: sum!.points,
  chunks: sum!.chunks,
  bytesPerValue: Math.round((sum!.bytes / sum!.points) * 100) / 100,
  bytesPerValueWithTable: Math.round((sum!.whole / sum!.points) * 100) / 100,
})
await service.stop()
await house.kit.jobs.stop()
await house.close()
await postgres.stop()
removeDirectory(directory)
