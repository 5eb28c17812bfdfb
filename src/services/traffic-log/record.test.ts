import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { openHouse, type TestHouse } from '../../../test/harness/house.ts'
import { newId } from '../../kernel/ids.ts'
import { TrafficLog, type TrafficRecord } from './contract.ts'
import trafficLog from './index.ts'

let house: TestHouse
let log: TrafficLog
before(async () => {
  house = await openHouse({ services: [trafficLog], environment: { WAYPOST_TRAFFIC_LOG_PAYLOAD_BYTES: '64' } })
  log = house.ask(TrafficLog)
})

const aRecord = (over: Partial<TrafficRecord> = {}): TrafficRecord => ({
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

const stored = async (tenantId: string) =>
  await house.kit.db.sql`select * from traffic_log.records where tenant_id = ${tenantId} order by created_at`

test('a record is there when its promise resolves', async () => {
  const record = aRecord({ tenantId: 'one', requestId: 4294967295 })
  await log.record(record)
  const [row] = await stored('one')
  assert.equal(row?.correlationId, record.correlationId)
  assert.equal(row?.requestId, 4294967295)
  assert.equal(row?.payload, '{"t":21}')
  assert.equal(row?.createdAt.getTime(), record.createdAt.getTime())
  assert.deepEqual(JSON.parse(row?.additionalMetadata), { transport: 'mqtt' })
})

test('ten thousand in one go, in their order', async () => {
  const createdAt = new Date()
  await Promise.all(
    Array.from({ length: 10_000 }, (_, n) =>
      log.record(aRecord({ tenantId: 'many', correlationId: String(n), createdAt })),
    ),
  )
  const rows = await stored('many')
  assert.equal(rows.length, 10_000)
  assert.deepEqual(
    rows.slice(0, 900).map((row) => row.correlationId),
    Array.from({ length: 900 }, (_, n) => String(n)),
  )
})
