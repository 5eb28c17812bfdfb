/** Measures the processor time of Node.js and PostgreSQL per record, by COPY as the log does, and by inserting arrays. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDb, type Db } from '../../src/kernel/db.ts'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { newId } from '../../src/kernel/ids.ts'
import type { TrafficRecord } from '../../src/services/traffic-log/contract.ts'
import { createRows } from '../../src/services/traffic-log/rows.ts'
import { createPartitionsOfDays, dayMs } from '../../src/services/traffic-log/store/partitions.ts'
import { copyRecords } from '../../src/services/traffic-log/store/records.ts'
import { cpuSeconds, processTree } from '../../test/harness/processes.ts'
import { removeDirectory, temporaryDirectory } from '../platform.ts'
import { type Figure, median } from '../report.ts'

const perWrite = 5000
const writes = 20
const rounds = 3
const migration = new URL('../../src/services/traffic-log/migrations/0001_traffic_log.sql', import.meta.url)

type Write = (db: Db, records: TrafficRecord[]) => Promise<unknown>

const byCopy: Write = (db, records) => {
  const rows = createRows(16_384, 4_000_000)
  for (const record of records) rows.add(record, record.createdAt.getTime() * 1000)
  return copyRecords(db, rows)
}

const byArrays: Write = ({ sql }, records) => {
  const texts = (of: (record: TrafficRecord) => string) => sql`${records.map(of)}::text[]`
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
  correlationId: newId(),
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
    await db.sql.unsafe(readFileSync(migration, 'utf8'))
    const today = Math.floor(Date.now() / dayMs)
    await db.tx((sql) => createPartitionsOfDays(sql, [today, today + 1]))
    const [backend] = await db.sql`select pg_backend_pid() as pid`
    const server = Number(readFileSync(`/proc/${backend?.pid}/stat`, 'utf8').match(/\) \S (\d+)/)?.[1])
    const measured = { copy: [] as Cost[], arrays: [] as Cost[] }
    for (let round = 0; round < rounds; round++) {
      measured.copy.push(await costOf(db, server, byCopy))
      measured.arrays.push(await costOf(db, server, byArrays))
    }
    return Object.entries(measured).flatMap(([name, costs]) => [
      { name: `A record by ${name}: Node.js`, value: median(costs.map(({ node }) => node)), unit: 'µs' },
      { name: `A record by ${name}: PostgreSQL`, value: median(costs.map((cost) => cost.postgres)), unit: 'µs' },
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

/** Writes two batches at a time, as the log does. */
async function costOf(db: Db, server: number, write: Write): Promise<Cost> {
  const batches = Array.from({ length: writes }, () => Array.from({ length: perWrite }, (_, n) => aRecord(n)))
  await Promise.all(batches.splice(0, 2).map((batch) => write(db, batch)))
  const number = batches.length * perWrite
  const serverTime = () => processTree(server).reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const [ours, theirs] = [process.cpuUsage(), serverTime()]
  const writer = async () => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) await write(db, batch)
  }
  await Promise.all([writer(), writer()])
  const { user, system } = process.cpuUsage(ours)
  return { node: (user + system) / number, postgres: ((serverTime() - theirs) * 1e6) / number }
}
