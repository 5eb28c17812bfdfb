/**
 * Defines endpoint number n, which is the same whether the API or SQL creates it. 0.1 % of all endpoints have the same city, and a fifth
 * have the same model. Each date in `installed` has 100 endpoints: every hundredth of 10,000 consecutive endpoints.
 */
import { sleep } from '../../src/kernel/clock.ts'
import type { Sql } from '../../src/kernel/db.ts'
import { applicationName, type BenchPlatform, root, versionNames } from './bench-platform.ts'
import { openHttpConnection } from './http-connection.ts'

export const idOf = (n: number) => `bench-${String(n).padStart(8, '0')}`
export const cityOf = (n: number) => `City ${String((n * 7919) % 1000).padStart(3, '0')}`
export const modelOf = (n: number) => `WP-${Math.floor(n / 1000) % 5}`
export const isOnline = (n: number) => (n + Math.floor(n / 1000)) % 2 === 0
export const dayOf = (n: number) =>
  new Date(Date.UTC(2000, 0, 1 + Math.floor(n / 10_000) * 100 + (n % 100))).toISOString().slice(0, 10)

export const metadataOf = (n: number) => ({
  name: `Sensor ${n}`,
  serial: `SN-${String(n).padStart(8, '0')}`,
  model: modelOf(n),
  city: cityOf(n),
  firmware: `1.${n % 7}.${n % 13}`,
  battery: n % 101,
  online: isOnline(n),
  tags: [`floor-${n % 20}`, `line-${n % 8}`],
  location: { lat: 50 + (n % 1000) / 1000, lon: 30 + (n % 997) / 1000, alt: n % 200 },
  installed: dayOf(n),
})

const metadataSql = (sql: Sql) => sql`jsonb_build_object(
  'name', 'Sensor ' || n, 'serial', 'SN-' || lpad(n::text, 8, '0'), 'model', 'WP-' || n / 1000 % 5,
  'city', 'City ' || lpad((n::bigint * 7919 % 1000)::text, 3, '0'), 'firmware', concat('1.', n % 7, '.', n % 13),
  'battery', n % 101, 'online', (n + n / 1000) % 2 = 0,
  'tags', jsonb_build_array('floor-' || n % 20, 'line-' || n % 8),
  'location', jsonb_build_object('lat', 50 + trim_scale(n % 1000 / 1000.0), 'lon', 30 + trim_scale(n % 997 / 1000.0),
    'alt', n % 200),
  'installed', (date '2000-01-01' + n / 10000 * 100 + n % 100)::text)`

const batchSize = 100_000

/**
 * All indexes of the table of endpoints, except those of constraints. They are built after the rows are inserted, because this is faster.
 */
const indexes = ['endpoints_of_application', 'endpoints_of_version', 'endpoints_of_tenant', 'endpoints_metadata']

/**
 * Inserts endpoints, a token for each, and their counts with SQL, without the API. Their date of creation is 30 days ago, so that a search
 * for inactive endpoints finds those that were never active.
 */
export async function fill({ sql, tenantId }: BenchPlatform, from: number, to: number, { tokens = true } = {}) {
  const definitions = await sql<{ indexdef: string }[]>`
    select indexdef from pg_indexes where schemaname = 'register' and indexname = any(${indexes})`
  for (const name of indexes) await sql`drop index ${sql(`register.${name}`)}`
  for (let first = from; first <= to; first += batchSize) {
    const last = Math.min(first + batchSize - 1, to)
    await sql`
      insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date,
        created_date, metadata, metadata_updated_date)
      select 'bench-' || lpad(n::text, 8, '0'), ${tenantId}, ${applicationName}, (${versionNames}::text[])[1 + n % 3],
        now(), now() - interval '30 days', ${metadataSql(sql)}, now()
      from generate_series(${first}::integer, ${last}::integer) as n`
  }
  await sql.begin(async (tx) => {
    await tx.unsafe("set local maintenance_work_mem = '512MB'")
    for (const { indexdef } of definitions) await tx.unsafe(indexdef)
  })
  const filled = sql`from generate_series(${from}::integer, ${to}::integer) as n`
  if (tokens)
    await sql`
    insert into tokens.endpoints (endpoint_id, tenant_id, application_name)
    select 'bench-' || lpad(n::text, 8, '0'), ${tenantId}, ${applicationName} ${filled}`
  if (tokens)
    await sql`
    insert into tokens.tokens (endpoint_id, endpoint_token_id, tenant_id, application_name, token_hash, status, created_date)
    select 'bench-' || lpad(n::text, 8, '0'), 'token-' || n, ${tenantId}, ${applicationName},
      encode(sha256(n::text::bytea), 'base64'), 'Inactive', now() ${filled}`
  const keys = ['', ...Object.keys(metadataOf(0))]
  await sql`
    insert into register.counts as known (tenant_id, metadata_key, application_name, version_name, count)
    select ${tenantId}, key, ${applicationName}, (${versionNames}::text[])[1 + part], count
    from (select n % 3 as part, count(*) ${filled} group by 1) parts, unnest(${keys}::text[]) as key
    on conflict (tenant_id, metadata_key, application_name, version_name)
      do update set count = known.count + excluded.count`
}

/** Waits until the background work of registrations is done, so that it does not disturb the measurement of pages. */
export async function settle({ sql }: BenchPlatform) {
  for (let left = 1; left > 0; await sleep(100))
    left = (
      await sql`
        select (select count(*) from register.count_differences) + (select count(*) from register.directory_queue) as left`
    )[0]?.left
  for (const table of [
    'register.endpoints',
    'register.counts',
    'register.count_differences',
    'tokens.endpoints',
    'tokens.tokens',
  ])
    await sql.unsafe(`vacuum analyze ${table}`)
  await sql`checkpoint`
}

const versionOf = (n: number) => versionNames[n % 3]!

/**
 * Registers endpoints in batches of a thousand. Returns the number of endpoints per second. All endpoints of a batch have the same version.
 * The requests are prepared before the measurement, because the platform shares the processor with the bench.
 */
export async function registerInBatches(bench: BenchPlatform, from: number, batches: number): Promise<number> {
  const token = await bench.token()
  const requests = await Promise.all(
    Array.from({ length: batches }, async (_, batch) => {
      const numbers = Array.from({ length: 1000 }, (_, index) => from + batch * 1000 + index)
      const endpoints = numbers.map((n) => ({ endpointId: idOf(n), metadata: metadataOf(n) }))
      const body = JSON.stringify({ appVersion: { name: versionOf(batch) }, endpoints })
      return { body, connection: await openHttpConnection(bench.platform.baseUrl) }
    }),
  )
  const began = performance.now()
  const tasks = await Promise.all(
    requests.map(async ({ body, connection }) => {
      const text = await connection.send('POST', `${root}/endpoints/batch`, token, body, 202)
      connection.close()
      return JSON.parse(text).taskId as string
    }),
  )
  for (;;) {
    const [row] = await bench.sql`
      select count(*) from kernel.bulk_tasks where task_id = any(${tasks}) and state <> 'finished'`
    if (row?.count === 0) break
    await sleep(20)
  }
  const seconds = (performance.now() - began) / 1000
  for (const taskId of tasks) {
    const { body } = await bench.ask(`GET ${root}/endpoints/batch/status?taskId=${taskId}`)
    if (body.createdCount !== 1000) throw new Error(`a batch has created ${body.createdCount} of 1000`)
  }
  return (batches * 1000) / seconds
}

/** Number of requests at the same time. */
export const callers = 16

/** Registers endpoints with one request each. Returns the number of endpoints per second. */
export async function registerSingly(bench: BenchPlatform, from: number, count: number): Promise<number> {
  const token = await bench.token()
  let next = from
  const began = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      const connection = await openHttpConnection(bench.platform.baseUrl)
      while (next < from + count) {
        const n = next++
        await connection.ask('POST', `${root}/endpoints`, token, registrationOf(n), 201)
      }
      connection.close()
    }),
  )
  return count / ((performance.now() - began) / 1000)
}

export const registrationOf = (n: number) => ({
  endpointId: idOf(n),
  appVersion: { name: versionOf(n) },
  metadata: metadataOf(n),
})
