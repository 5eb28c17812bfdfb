/** Fixture of the traffic log tests. */
import assert from 'node:assert/strict'
import identity from '../../src/identity/index.ts'
import { newId } from '../../src/kernel/ids.ts'
import applications from '../../src/services/applications/index.ts'
import { TrafficLog, type TrafficRecord } from '../../src/services/traffic-log/contract.ts'
import trafficLog from '../../src/services/traffic-log/index.ts'
import { aTenantAdmin } from './builders.ts'
import { eventually } from './eventually.ts'
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
  const task = (name: string) => built.periodic!.find((one) => one.name === `traffic-log.${name}`)!
  const run = (name: string) => waypost.kit.db.tx((sql) => task(name).run(sql))
  return {
    waypost,
    log,
    run,
    device: built.device![0]!,
    admin: waypost.as(aTenantAdmin()),
    /** Records messages in this order and waits until all are durable. */
    async record(records: Partial<TrafficRecord>[]) {
      await Promise.all(records.map((one) => log.record(aRecord(one))))
    },
    /** Runs the counting task until all records older than 3 s are counted; transactions of other tests can delay it. */
    async count() {
      const [goal] = await waypost.kit.db.sql`select now() - interval '3 seconds' as moment`
      await eventually(async () => {
        await run('count')
        const [state] = await waypost.kit.db.sql`
          select counted_until >= ${goal?.moment} as reached from traffic_log.counting`
        assert.ok(state?.reached)
      })
    },
  }
}
