/**
 * Process that writes and packs time series in a loop. It prints a line for each acknowledged sample: endpoint, time and value.
 * With the task `read`, it prints all stored points instead.
 */
import { writeSync } from 'node:fs'
import { buildServices } from '../../src/assembly/build.ts'
import { loadConfig } from '../../src/config.ts'
import identity from '../../src/identity/index.ts'
import { sleep } from '../../src/kernel/clock.ts'
import { createLog } from '../../src/kernel/log.ts'
import { Applications } from '../../src/services/applications/contract.ts'
import applications from '../../src/services/applications/index.ts'
import { Register } from '../../src/services/register/contract.ts'
import register from '../../src/services/register/index.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import { createTimeSeries, type TimeSeriesService } from '../../src/services/time-series/service.ts'
import tokens from '../../src/services/tokens/index.ts'
import { readPoints } from '../harness/series-reader.ts'

export interface WorkerTask {
  connection: object
  directory: string
  task: 'write' | 'read'
  endpoints: number
  /** The first value that the process writes. Each later process gets a greater first value. */
  from: number
  /** Number of different timestamps. It is small, so that the process writes many timestamps more than once. */
  times: number
}

const { connection, directory, task, endpoints, from, times } = JSON.parse(process.argv[2]!) as WorkerTask
const config = loadConfig({ WAYPOST_DATA: directory, WAYPOST_LOG_LEVEL: 'silent' })
let service!: TimeSeriesService
const waypost = await buildServices({
  config,
  connection,
  log: await createLog(config.log),
  services: [
    identity,
    applications,
    tokens,
    register,
    {
      ...timeSeries,
      needs: { applications: Applications, register: Register },
      build(kit, given) {
        service = createTimeSeries(kit, given as never)
        return { api: service.api }
      },
    },
  ],
  baseUrl: () => 'http://localhost',
})
await service.slots.current()
await service.latest.start()

const endpointOf = (index: number) => ({
  tenantId: 'default',
  applicationName: 'faults',
  versionName: 'faults-v1',
  endpointId: `endpoint-${index}`,
})

/** Sends samples of one endpoint in sequence, like a device that waits for each acknowledgement. */
async function send(index: number) {
  for (let value = from; ; value++) {
    // Timestamps are 6 hours apart and in random order, so that some samples are older than the samples before them.
    const time = Math.floor(Math.random() * times) * 21_600_000
    const message = {
      endpoint: endpointOf(index),
      extension: 'dcx',
      resourcePath: '/json',
      payload: Buffer.alloc(0),
      receivedAt: new Date(),
      correlationId: '',
    }
    try {
      await service.api.collect(message, [{ timestamp: time, v: value }])
    } catch {
      continue // The sample was rejected, because the database was down for too long.
    }
    writeSync(1, `${index} ${time} ${value}\n`)
  }
}

async function pack() {
  for (;;) {
    try {
      await service.slots.rotate(true)
      await service.packer.round()
    } catch {}
    await sleep(20)
  }
}

if (task === 'write') {
  pack()
  for (let index = 0; index < endpoints; index++) send(index)
} else {
  await service.packer.round()
  for (let index = 0; index < endpoints; index++) {
    const [no] = await waypost.kit.db.sql`
      select endpoint_no from time_series.endpoints where endpoint_id = ${`endpoint-${index}`}`
    const latest = no ? ((await service.latest.read([no.endpointNo])).get(no.endpointNo) ?? []) : []
    const points = (await readPoints(waypost.kit.db.sql, `endpoint-${index}`))['auto~v/value'] ?? []
    writeSync(1, `${JSON.stringify({ index, points, latest })}\n`)
  }
  process.exit(0)
}
