/**
 * Measures how fast the platform determines targets. The target of an endpoint is the version that it should install. Measures the targets
 * of all endpoints after a change of a rollout, and the target of one endpoint, each compared with a plain read of the same table.
 */
import { planOf, targetOf } from '../../src/services/software/plan.ts'
import { findState } from '../../src/services/software/store/endpoints.ts'
import { findPlan } from '../../src/services/software/store/versions.ts'
import { memoryMb, nameOf, processTree } from '../../test/harness/processes.ts'
import { applicationName, type BenchPlatform } from '../register/bench-platform.ts'
import { type Figure, median } from '../report.ts'
import { expectStatus } from './expect-status.ts'

/** BENCH_ENDPOINTS sets fewer endpoints for a quick run. */
const endpoints = Number(process.env.BENCH_ENDPOINTS ?? 1_000_000)
/** Number of endpoints that one statement inserts. */
const batchSize = 50_000
const versions = 50
const filterCount = 10
/**
 * Number of the first version with the strategy `targeted`. This and all later versions target one filter each; earlier versions are
 * `general`.
 */
const firstTargeted = 46
const warmUps = 3
const changes = 11
const reads = 3000
const software = `/otao/api/v1/applications/${applicationName}/software`
const newest = `${software}/${versions}.0.0`
const idOf = (n: number) => `bench-${String(n).padStart(8, '0')}`

const strategyOf = (number: number) => (number < firstTargeted ? 'general' : 'targeted')
const fieldsOf = (number: number, filterIds: string[], rolloutStrategy = strategyOf(number)) => ({
  rolloutStrategy,
  upgradableFrom: Array.from({ length: number - 1 }, (_, n) => `${n + 1}.0.0`),
  filters: [{ filterId: filterIds[number % filterCount] }],
})

/**
 * Creates the versions by the API and the rows of endpoints by SQL. Returns the ids of the filters. Each filter matches a tenth of the
 * endpoints.
 */
export async function fill({ ask, sql, tenantId }: BenchPlatform): Promise<string[]> {
  const filterIds: string[] = []
  const filters = `/epr/api/v1/applications/${applicationName}/filters`
  for (let n = 0; n < filterCount; n++) {
    const { id } = await expectStatus(ask, 201, `POST ${filters}`, {
      name: `filter ${n}`,
      documentQuery: { 'metadata.n': n },
    })
    while ((await expectStatus(ask, 200, `GET ${filters}/${id}`)).status !== 'active')
      await new Promise((resolve) => setTimeout(resolve, 50))
    filterIds.push(id)
  }
  for (let number = 1; number <= versions; number++)
    await expectStatus(ask, 201, `POST ${software}/${number}.0.0`, fieldsOf(number, filterIds))
  for (let first = 1; first <= endpoints; first += batchSize)
    await sql`
      insert into software.endpoints (tenant_id, application_name, endpoint_id, current, filter_mask, matched, status_code,
        reported_date, updated_date)
      select ${tenantId}, ${applicationName}, 'bench-' || lpad(n::text, 8, '0'), 1 + n % ${versions}::integer,
        1::bigint << (n / ${versions}::integer % ${filterCount}::integer), true, 200, now(), now()
      from generate_series(${first}::integer, ${Math.min(first + batchSize - 1, endpoints)}::integer) as n`
  await sql`vacuum analyze software.endpoints`
  return filterIds
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Changes the newest version from targeted to general and back, and reads each time how many endpoints have it as their target. */
export async function targetsOfAll({ ask, sql, platform }: BenchPlatform, filterIds: string[]): Promise<Figure[]> {
  const [filter] = await sql`
    select bit from software.filters
    where application_name = ${applicationName} and filter_id = ${filterIds[versions % filterCount]!}`
  const waitingFor = async (strategy: string) =>
    (
      await sql`select count(*) from software.endpoints where application_name = ${applicationName} and current < ${versions}
        ${strategy === 'general' ? sql`` : sql`and filter_mask & (1::bigint << ${filter!.bit}::integer) <> 0`}`
    )[0]!.count
  const expected = { general: await waitingFor('general'), targeted: await waitingFor('targeted') }
  const scan = () =>
    sql.begin(async (tx) => {
      for (const name of ['indexscan', 'indexonlyscan', 'bitmapscan']) await tx.unsafe(`set local enable_${name} = off`)
      return await timed(() => tx`select count(*) from software.endpoints`)
    })
  const change = async (strategy: 'general' | 'targeted') => {
    const taken = await timed(() => expectStatus(ask, 204, `PUT ${newest}`, fieldsOf(versions, filterIds, strategy)))
    let waiting = -1
    const counted = await timed(
      async () => (waiting = (await expectStatus(ask, 200, `GET ${newest}/rollout`)).counts.waiting),
    )
    if (waiting !== expected[strategy]) throw new Error(`${strategy}: ${waiting} wait instead of ${expected[strategy]}`)
    return taken + counted
  }

  const nodeMemory = () => memoryMb(processTree(platform.pid).filter((pid) => nameOf(pid) !== 'postgres'))
  const times: number[] = []
  const scans: number[] = []
  let before = 0
  let highestMb = 0
  for (let round = -warmUps; round < changes; round++) {
    const scanned = await scan()
    const changed = await change(round % 2 === 0 ? 'general' : 'targeted')
    highestMb = Math.max(highestMb, nodeMemory())
    if (round < 0) before = highestMb
    else {
      times.push(changed)
      scans.push(scanned)
    }
  }
  const ratio = median(times) / median(scans)
  return [
    {
      name: `targets of ${endpoints} endpoints × ${versions} versions after a change`,
      value: median(times),
      unit: 'ms',
    },
    { name: 'one sequential scan of the table of these endpoints', value: median(scans), unit: 'ms' },
    { name: '… targets against a sequential scan', value: ratio, unit: 'times', limit: { max: 5 } },
    {
      name: '… highest additional memory of the program (PSS)',
      value: highestMb - before,
      unit: 'MB',
      limit: { max: 20 },
    },
  ]
}

/**
 * Measures how long it takes to determine the target of a device request, with the plan in the cache, compared with a read of the row of
 * the endpoint.
 */
export async function targetOfOne({ sql, tenantId }: BenchPlatform): Promise<Figure[]> {
  const application = { tenantId, applicationName }
  const found = (await findPlan(sql, application))!
  const plan = planOf(found.revision, found.versions)
  const select = async (endpointId: string) => {
    const { revision, state } = (await findState(sql, { ...application, endpointId }))!
    if (revision !== plan.revision) throw new Error('the plan has changed')
    return targetOf(plan, state!.current, { mask: state!.filterMask, more: state!.moreFilters }, Date.now())
  }
  const read = (endpointId: string) => sql`
    select endpoint_id, current, offered, failed, reported_date, filter_mask, more_filters, matched from software.endpoints
    where tenant_id = ${tenantId} and application_name = ${applicationName} and endpoint_id = ${endpointId}`
  const times: number[] = []
  const plain: number[] = []
  let targets = 0
  for (let round = -reads / 10; round < reads; round++) {
    const endpointId = idOf(1 + Math.floor(Math.random() * endpoints))
    const both = [
      () => timed(async () => (targets += (await select(endpointId)) ? 1 : 0)),
      () => timed(() => read(endpointId)),
    ] as const
    // The order alternates, because the second of the two reads finds the row in the cache.
    const [one, other] =
      round % 2 === 0 ? [await both[0](), await both[1]()] : [await both[1](), await both[0]()].reverse()
    if (round < 0) continue
    times.push(one!)
    plain.push(other!)
  }
  if (targets < reads / 2) throw new Error(`only ${targets} of ${reads} endpoints have a target`)
  return [
    { name: 'target of one endpoint, p50', value: median(times), unit: 'ms' },
    { name: 'read of the row of an endpoint by primary key, p50', value: median(plain), unit: 'ms' },
    { name: '… target against a plain read', value: median(times) / median(plain), unit: 'times', limit: { max: 2 } },
  ]
}
