/** Measures the processor time of Node.js and PostgreSQL per record: in a batch, as the log stores it, and as a row. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDb, type Db } from '../../src/kernel/db.ts'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { newId } from '../../src/kernel/ids.ts'
import { createPendingBatches } from '../../src/services/traffic-log/batch.ts'
import type { TrafficRecord } from '../../src/services/traffic-log/contract.ts'
import { insertBatches } from '../../src/services/traffic-log/store/batches.ts'
import { cpuSeconds, processTree } from '../../test/harness/processes.ts'
import { removeDirectory, temporaryDirectory } from '../platform.ts'
import { type Figure, median } from '../report.ts'

const perWrite = 5000
const writes = 20
const rounds = 3
const migrations = new URL('../../src/services/traffic-log/migrations/', import.meta.url)

type Write = (db: Db, records: TrafficRecord[]) => Promise<unknown>

const inBatches: Write = (db, records) => {
  const pending = createPendingBatches({ batchId: newId(), payloadBytesMax: 16_384 })
  for (const record of records) pending.add(record, record.createdAt.getTime() * 1000)
  return insertBatches(db, pending.finish())
}

/** Writes a row for each record. The table has the indexes that lists of records need. */
const asRows: Write = ({ sql }, records) => {
  const texts = (textOf: (record: TrafficRecord) => string) => sql`${records.map(textOf)}::text[]`
  return sql`
    insert into traffic_log.records (created_at, request_id, outbound, tenant_id, endpoint_id, application_name, version_name,
      extension, correlation_id, resource_path, additional_metadata, payload)
    select * from unnest(${texts(({ createdAt }) => createdAt.toISOString())}::timestamptz[],
      ${records.map(({ requestId }) => requestId ?? null)}::bigint[],
      ${texts(({ direction }) => String(direction === 'OUTBOUND'))}::boolean[], ${texts(({ tenantId }) => tenantId)},
      ${texts(({ endpointId }) => endpointId)}, ${texts(({ applicationName }) => applicationName)},
      ${texts(({ versionName }) => versionName)}, ${texts(({ extension }) => extension)},
      ${texts(({ correlationId }) => correlationId)}, ${texts(({ resourcePath }) => resourcePath)},
      ${texts(({ additionalMetadata }) => JSON.stringify(additionalMetadata))}, ${texts(({ payload }) => payload.toString())})`
}

const endpoints = Array.from({ length: 10_000 }, newId)
const sample = { temperature: 21.5, humidity: 48, battery: 3.71 }
const payload = Buffer.from(JSON.stringify(Array.from({ length: 5 }, () => sample)))

const aRecord = (number: number): TrafficRecord => ({
  // The gateway creates correlation ids of this form.
  correlationId: `abcdef0123456789-${(1_000_000 + number).toString(36)}`,
  direction: number % 2 === 0 ? 'INBOUND' : 'OUTBOUND',
  tenantId: `tenant-${number % 10}`,
  applicationName: 'application-1',
  versionName: 'application-1-v1',
  endpointId: endpoints[number % endpoints.length]!,
  extension: 'dcx',
  resourcePath: '/json',
  requestId: number,
  payload,
  additionalMetadata: { transport: 'mqtt' },
  createdAt: new Date(),
})

export async function writing(): Promise<Figure[]> {
  const directory = temporaryDirectory()
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  const db = createDb(postgres.connection, { max: 2 })
  try {
    for (const name of readdirSync(migrations).sort())
      await db.sql.unsafe(readFileSync(new URL(name, migrations), 'utf8'))
    await db.sql.unsafe('create table traffic_log.records_all partition of traffic_log.records default')
    const [backend] = await db.sql`select pg_backend_pid() as pid`
    const server = Number(readFileSync(`/proc/${backend?.pid}/stat`, 'utf8').match(/\) \S (\d+)/)?.[1])
    const measured = { 'in a batch': [] as Cost[], 'as a row': [] as Cost[] }
    for (let round = 0; round < rounds; round++) {
      measured['in a batch'].push(await costOf(db, server, inBatches))
      measured['as a row'].push(await costOf(db, server, asRows))
    }
    return Object.entries(measured).flatMap(([name, costs]) => [
      { name: `A record ${name}: Node.js`, value: median(costs.map(({ node }) => node)), unit: 'µs' },
      { name: `A record ${name}: PostgreSQL`, value: median(costs.map((cost) => cost.postgres)), unit: 'µs' },
    ])
  } finally {
    await db.close()
    await postgres.stop()
    removeDirectory(directory)
  }
}

interface Cost {
  node: number
  postgres: number
}

/** Returns the processor time for each record, in microseconds. Two batches are written at a time, as the log does. */
async function costOf(db: Db, server: number, write: Write): Promise<Cost> {
  const batches = Array.from({ length: writes }, () => Array.from({ length: perWrite }, (_, n) => aRecord(n)))
  await Promise.all(batches.splice(0, 2).map((batch) => write(db, batch)))
  const number = batches.length * perWrite
  const serverTime = () => processTree(server).reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const [nodeBefore, postgresBefore] = [process.cpuUsage(), serverTime()]
  const writer = async () => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) await write(db, batch)
  }
  await Promise.all([writer(), writer()])
  const { user, system } = process.cpuUsage(nodeBefore)
  return { node: (user + system) / number, postgres: ((serverTime() - postgresBefore) * 1e6) / number }
}
