/** Fixture for the traffic log tests: the service over a real database. Records are packed in the thread of the test. */
import identity from '../../src/identity/index.ts'
import { newId } from '../../src/kernel/ids.ts'
import applications from '../../src/services/applications/index.ts'
import { TrafficLog, type TrafficRecord } from '../../src/services/traffic-log/contract.ts'
import trafficLog from '../../src/services/traffic-log/index.ts'
import { packRecords } from '../../src/services/traffic-log/pack/pack-records.ts'
import { createPacker } from '../../src/services/traffic-log/pack/packer.ts'
import { createPartitions } from '../../src/services/traffic-log/partitions.ts'
import { aTenantAdmin } from './builders.ts'
import { storedTraffic } from './stored-traffic.ts'
import { openTestPlatform, type TestPlatformOptions } from './test-platform.ts'

export const root = '/api/v1/al'

export const aRecord = (over: Partial<TrafficRecord> = {}): TrafficRecord => ({
  correlationId: newId(),
  direction: 'INBOUND',
  tenantId: 'default',
  applicationName: 'app',
  versionName: 'app-v1',
  endpointId: 'ep-1',
  extension: 'dcx',
  resourcePath: '/json',
  requestId: 42,
  payload: Buffer.from('{"t":21}'),
  additionalMetadata: { transport: 'mqtt' },
  createdAt: new Date(),
  ...over,
})

export async function openTrafficLog(options: Partial<TestPlatformOptions> = {}) {
  const waypost = await openTestPlatform({ ...options, services: [identity, applications, trafficLog] })
  const log = waypost.ask(TrafficLog)
  const built = waypost.built.get('traffic-log')!
  const periodicTask = (name: string) => built.periodic!.find((task) => task.name === `traffic-log.${name}`)!
  const run = (name: string) => waypost.kit.db.tx((sql) => periodicTask(name).run(sql))
  const { db, now } = waypost.kit
  const partitions = createPartitions({ db, now }, 7)
  const packer = createPacker({
    db,
    now,
    thread: { pack: async (sources) => packRecords(sources), stop: async () => {} },
    ensureDays: partitions.ensure,
    invalidateDays: partitions.invalidate,
  })
  return {
    waypost,
    log,
    /** Runs a periodic task of the service, such as the deletion of old records. */
    run,
    device: built.device![0]!,
    admin: waypost.as(aTenantAdmin()),
    /** Records messages in this order and waits until the database has stored all of them. */
    async record(records: Partial<TrafficRecord>[]) {
      await Promise.all(records.map((record) => log.record(aRecord(record))))
    },
    /** Packs all records into blocks. */
    pack: () => packer.round({ all: true }),
    /** Returns the records of a tenant, oldest first. */
    stored: (tenantId: string) => storedTraffic(waypost.kit.db.sql, { tenantId }),
  }
}
