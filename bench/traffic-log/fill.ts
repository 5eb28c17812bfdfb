/**
 * Writes a week of traffic of one busy tenant, and a hundredth of that traffic for another tenant. The same records are written as blocks
 * and, for comparison, as one row each.
 */
import type { Pool } from '../../src/kernel/db.ts'
import { encodeColumns } from '../../src/services/traffic-log/codec/block-codec.ts'
import { createColumns } from '../../src/services/traffic-log/codec/columns.ts'
import { packRecords } from '../../src/services/traffic-log/pack/pack-records.ts'
import { writeBlocks } from '../../src/services/traffic-log/pack/packer.ts'
import { createPartitionsOfDays } from '../../src/services/traffic-log/store/partitions.ts'
import type { BenchPlatform } from '../register/bench-platform.ts'

const dayMs = 86_400_000
/** Slightly less than the seven days after which the traffic log deletes its records. */
export const weekMs = 6.9 * dayMs
const batchSize = 100_000
export const endpointsOfTenant = 10_000
/** One in a thousand records has this version. */
export const rareVersion = 'bench-v3'

export const endpointOf = (number: number) =>
  `00000000-0000-4000-8000-${String(number % endpointsOfTenant).padStart(12, '0')}`

/** SQL expression of a payload of 146 bytes, whose values differ from record to record. */
const payloadSql = `'{"temperature":' || round((11 + 29 * random())::numeric, 2) || ',"humidity":' || round((20 + 70 * random())::numeric, 2)
  || ',"pressure":' || round((1001 + 98 * random())::numeric, 2) || ',"voltage":' || round((3 + random())::numeric, 2)
  || ',"level":' || round((10 + 89 * random())::numeric, 2) || ',"deviceName":"sensor","site":"plant-one-north","firmware":"1.2.3"}'`

export async function fill({ sql, tenantId }: BenchPlatform, records: number, until: Date) {
  const since = until.getTime() - weekMs
  const days = Array.from({ length: 8 }, (_, back) => Math.floor(until.getTime() / dayMs) - back)
  await sql.begin((inner) => createPartitionsOfDays(inner, days))
  await sql.unsafe('create schema bench; create table bench.records (like traffic_log.records)')
  for (let from = 0; from < records; from += batchSize) {
    const to = Math.min(from + batchSize, records)
    const rows = await sql<Row[]>`
      insert into bench.records
      select ${new Date(since)}::timestamptz + make_interval(secs => n * ${weekMs / 1000 / records}::float8), n % 100000, n % 2 = 1,
        case when n % 101 = 0 then 'other' else ${tenantId} end,
        '00000000-0000-4000-8000-' || lpad(((hashint8(n / 2) & 2147483647) % ${endpointsOfTenant}::int)::text, 12, '0'), 'bench',
        case when n % 1000 = 7 then ${rareVersion} else 'bench-v1' end, case when n % 10 < 8 then 'dcx' else 'cex' end,
        'abcdef0123456789-' || to_hex(n / 2 + 16), '/json', '{"transport":"mqtt"}', ${sql.unsafe(payloadSql)}
      from generate_series(${from}::bigint, ${to - 1}::bigint) as n
      returning tenant_id, (extract(epoch from created_at) * 1000000)::bigint as micros, request_id, outbound, endpoint_id,
        application_name, version_name, extension, correlation_id, resource_path, additional_metadata as metadata, payload`
    for (const [tenant, ofTenant] of Map.groupBy(rows, (row) => row.tenantId)) await pack(sql, tenant, ofTenant)
    console.error(`${to} records`)
  }
  await sql.unsafe(`
    create index on bench.records (tenant_id, created_at);
    create index on bench.records (hashtextextended(endpoint_id, 0), created_at);
    create index on bench.records using brin (created_at) with (pages_per_range = 16)`)
  await sql.unsafe('vacuum analyze bench.records')
  await sql.unsafe('vacuum analyze traffic_log.blocks')
  await sql.unsafe('analyze traffic_log.endpoints')
}

interface Row {
  tenantId: string
  micros: number
  requestId: number
  outbound: boolean
  endpointId: string
  applicationName: string
  versionName: string
  extension: string
  correlationId: string
  resourcePath: string
  metadata: string
  payload: string
}

async function pack(sql: Pool, tenantId: string, rows: Row[]) {
  const columns = createColumns()
  for (const { payload: text, ...row } of rows) {
    const payload = Buffer.from(text)
    columns.add({ ...row, payload, isText: true, payloadBytes: payload.length })
  }
  const packed = packRecords([{ data: encodeColumns(columns, { withEndpoints: true }) }])
  await sql.begin((inner) => writeBlocks(inner, tenantId, packed))
}
