/** Writes a week of traffic of one busy tenant, mixed with a hundredth of another's. */
import { createPartitionsOfDays } from '../../src/services/traffic-log/store/partitions.ts'
import type { BenchPlatform } from '../register/bench-platform.ts'

const dayMs = 86_400_000
export const weekMs = 6.9 * dayMs
const batchSize = 500_000
export const endpointsOfTenant = 10_000
/** One in a thousand records has this version. */
export const rareVersion = 'bench-v3'

export const endpointOf = (number: number) =>
  `00000000-0000-4000-8000-${String(number % endpointsOfTenant).padStart(12, '0')}`

export async function fill({ sql, tenantId }: BenchPlatform, records: number, until: Date) {
  const since = until.getTime() - weekMs
  const days = Array.from({ length: 8 }, (_, back) => Math.floor(until.getTime() / dayMs) - back)
  await sql.begin((inner) => createPartitionsOfDays(inner, days))
  const payload = JSON.stringify({ temperature: 21.5, humidity: 48, battery: 3.71, state: 'running', rounds: 1200 })
  // Drop the indexes and create them again when all rows are there, which takes a fraction of the time.
  const indexes = await sql`
    select indexname::text as name, indexdef as definition from pg_indexes
    where schemaname = 'traffic_log' and tablename = 'records' and indexdef like '%btree%'`
  for (const { name } of indexes) await sql.unsafe(`drop index traffic_log.${name}`)
  for (let from = 0; from < records; from += batchSize) {
    await sql`
      insert into traffic_log.records
      select ${new Date(since)}::timestamptz + make_interval(secs => n * ${weekMs / 1000 / records}::float8), n % 100000, n % 2 = 1,
        case when n % 101 = 0 then 'other' else ${tenantId} end,
        '00000000-0000-4000-8000-' || lpad(((hashint8(n / 2) & 2147483647) % ${endpointsOfTenant}::int)::text, 12, '0'), 'bench',
        case when n % 1000 = 7 then ${rareVersion} else 'bench-v1' end, case when n % 10 < 8 then 'dcx' else 'cex' end,
        'c' || n / 2, '/json', '{"transport":"mqtt"}', ${payload}
      from generate_series(${from}::bigint, ${Math.min(from + batchSize, records) - 1}::bigint) as n`
    console.error(`${Math.min(from + batchSize, records)} records`)
  }
  for (const { definition } of indexes) await sql.unsafe(definition.replace(' ON ONLY ', ' ON '))
  await sql.unsafe('vacuum analyze traffic_log.records')
  // The records did not come through the platform, so counting starts again.
  await sql.begin(async (inner) => {
    await inner`delete from traffic_log.counts`
    await inner`update traffic_log.counting set closed_until = to_timestamp(0), counted_until = to_timestamp(0), barrier = null`
  })
}

/** Waits until all records are counted. */
export async function settle({ sql }: BenchPlatform, until: Date) {
  for (;;) {
    const [state] = await sql`select counted_until >= ${until} as done from traffic_log.counting`
    if (state?.done) return
    await new Promise((done) => setTimeout(done, 500))
  }
}
