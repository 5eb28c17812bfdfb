/**
 * Measures requests to a tenant with a million alerts: lists with totals, metadata keys, and deletions of 1000 alerts. Compares the times
 * with the times of the same requests among a hundred thousand alerts.
 */
import { type Ask, bearer, client } from '../../test/harness/client.ts'
import { type Figure, median } from '../report.ts'
import type { BenchPlatform } from '../time-series/bench-platform.ts'

/** BENCH_ALERTS sets fewer alerts for a quick run. */
const stored = Number(process.env.BENCH_ALERTS ?? 1_000_000)
const perStatement = 50_000
const rounds = 60

const paths = {
  'Newest page with its total': '/alerts?size=20',
  'Open alerts of a severity with their total': '/alerts?state=OPEN&severityLevel=HIGH&size=20',
  'Alerts of one endpoint with their total': '/alerts?entityIds=endpoint-4711&size=20',
  'Keys of metadata': '/alerts/metadata-keys?metadataKeysType=ALERT',
}
const deletedPerRequest = 1000
const deletion = 'Deletion of 1000 alerts in one request'
type Name = keyof typeof paths | typeof deletion
const names = [...(Object.keys(paths) as (keyof typeof paths)[]), deletion] as Name[]

/** Returns the limit in milliseconds. All pages have the same limit, and the deletion has a higher limit. */
const limitOf = (name: Name) => (name === deletion ? 500 : 30)
const deletions = 5

export async function manyAlerts(bench: BenchPlatform): Promise<Figure[]> {
  const few = Math.round(stored / 10)
  await insertAlerts(bench, 0, few)
  const amongFew = await measure(bench)
  await insertAlerts(bench, few, stored)
  const amongAll = await measure(bench)
  return names.flatMap((name): Figure[] => [
    { name: `${name} among ${stored} alerts: p50`, value: amongAll[name], unit: 'ms', limit: { max: limitOf(name) } },
    {
      name: `${name}: against a tenth of the alerts`,
      value: amongAll[name] / amongFew[name],
      unit: 'times',
      limit: { max: 1.5 },
    },
  ])
}

async function insertAlerts({ db, tenantId }: BenchPlatform, from: number, to: number) {
  for (let at = from; at < to; at += perStatement)
    await db.tx(async (sql) => {
      await sql.withoutTimeLimit()
      await sql`
        insert into rules.alerts (id, tenant_id, alert_type, severity, entity_type, entity_id, application_name, state,
          is_acknowledged, message, started_at, last_active_at, resolved_at, metadata, entity_metadata)
        select gen_random_uuid(), ${tenantId}, 'TYPE_' || n % 20, n % 5, 'ENDPOINT', 'endpoint-' || n % 100000, 'bench',
          case when n % 50 = 0 then 'OPEN' else 'RESOLVED' end, n % 3 = 0, 'too hot', now() - n * interval '1 second',
          now() - n * interval '1 second', case when n % 50 = 0 then null else now() end,
          jsonb_build_object('temperature', n % 100, 'k' || n % 30, n), jsonb_build_object('room', n % 500)
        from generate_series(${at}::int, ${Math.min(at + perStatement, to)}::int - 1) as n on conflict do nothing`
    })
  await db.sql.unsafe('vacuum analyze rules.alerts')
  // The loop waits until the periodic task has added up the counts.
  for (;;) {
    const [row] = await db.sql<
      { left: number }[]
    >`select count(*)::int as left from rules.alert_counts where not is_sum`
    if (row!.left === 0) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Returns the median time of each kind of request to the API. */
async function measure(bench: BenchPlatform): Promise<Record<Name, number>> {
  const { platform, token } = bench
  const ask = client(platform.baseUrl, bearer(await token()))
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = -10; round < rounds; round++)
    for (const [name, path] of Object.entries(paths) as [Name, string][]) {
      const began = performance.now()
      const { status, text } = await ask(`GET /re/api/v1${path}`)
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
      if (round >= 0) times[name].push(performance.now() - began)
    }
  for (let n = 0; n < deletions; n++) times[deletion].push(await deleteSome(bench, ask))
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)])) as Record<Name, number>
}

/** Deletes alerts that are spread over the table; returns the time. */
async function deleteSome({ db, tenantId }: BenchPlatform, ask: Ask): Promise<number> {
  const rows = await db.sql<{ id: string }[]>`
    select id from rules.alerts where tenant_id = ${tenantId} and id > gen_random_uuid() order by id limit ${deletedPerRequest}`
  const began = performance.now()
  const { status, text } = await ask('POST /re/api/v1/alerts/delete', { alertIds: rows.map(({ id }) => id) })
  if (status !== 200) throw new Error(`deletion: ${status} ${text}`)
  return performance.now() - began
}
