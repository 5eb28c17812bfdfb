/** Pages of the traffic log that are measured, each with a plain SQL query for comparison. */
import type { Fragment } from '../../src/kernel/db.ts'
import type { BenchPlatform } from '../register/bench-platform.ts'
import type { PageKind, PageResult } from '../register/measure.ts'
import type { Figure } from '../report.ts'
import { endpointOf, rareVersion } from './fill.ts'

const root = '/api/v1/al/endpoint-traffic'
const hourMs = 3_600_000

export function pagesOf({ sql, tenantId }: BenchPlatform, until: Date): PageKind[] {
  const pageResult = (rows: Iterable<{ endpointId: string }>, total?: number): PageResult => ({
    total,
    ids: [...rows].map(({ endpointId }) => endpointId),
  })
  const totals = new Map<string, number>()
  /** Returns a total. It is counted only once for each key, because this part does not measure totals. */
  async function totalOf(key: string, ask: () => Promise<readonly { count?: number }[]>) {
    const total = totals.get(key) ?? (await ask())[0]?.count
    totals.set(key, total!)
    return total
  }
  const hour = (round: number) => {
    const from = new Date(until.getTime() - ((round % 100) + 2) * hourMs)
    return { from, to: new Date(from.getTime() + hourMs) }
  }
  const columns = sql`
    created_at, request_id, outbound, tenant_id, endpoint_id, version_name, extension, correlation_id, resource_path,
    additional_metadata, payload`
  const order = sql`order by created_at desc, correlation_id desc, outbound desc`
  const ofTenant = sql`from bench.records where tenant_id = ${tenantId}`
  const ofEndpoint = (round: number) => sql`
    ${ofTenant} and hashtextextended(endpoint_id, 0) = hashtextextended(${endpointOf(round * 37)}, 0)
    and endpoint_id = ${endpointOf(round * 37)}`
  const page = async (key: string, from: Fragment, offset = 0) => {
    const total = await totalOf(key, () => sql<{ count: number }[]>`select count(*) ${from}`)
    return {
      total,
      rows: () => sql<{ endpointId: string }[]>`select ${columns} ${from} ${order} offset ${offset} limit 100`,
    }
  }
  const plain =
    (name: string, from: (round: number) => Fragment, offset = (_round: number) => 0) =>
    async (round: number) => {
      const { total, rows } = await page(name, from(round), offset(round))
      return pageResult(await rows(), total)
    }
  return [
    { name: 'Newest', path: () => root, plain: plain('all', () => ofTenant), limited: true },
    {
      name: 'Newest of an extension',
      path: () => `${root}?extension=cex`,
      plain: plain('cex', () => sql`${ofTenant} and extension = 'cex'`),
    },
    {
      name: 'Newest of a version with one of a thousand records',
      path: () => `${root}?appVersionName=${rareVersion}`,
      plain: plain('rare', () => sql`${ofTenant} and version_name = ${rareVersion}`),
    },
    {
      name: 'Newest of an endpoint',
      path: (round) => `${root}?endpointIds=${endpointOf((round % 5) * 37)}`,
      plain: (round) => plain(`endpoint ${round % 5}`, () => ofEndpoint(round % 5))(round),
    },
    {
      name: 'Page 5000',
      path: () => `${root}?page=5000`,
      plain: plain(
        'all',
        () => ofTenant,
        () => 500_000,
      ),
    },
    {
      name: 'An hour',
      path: (round) =>
        `${root}?fromCreatedAt=${hour(round % 5).from.toISOString()}&toCreatedAt=${hour(round % 5).to.toISOString()}`,
      plain: (round) => {
        const { from, to } = hour(round % 5)
        const within = sql`${ofTenant} and created_at >= ${from} and created_at < ${new Date(to.getTime() + 1)}`
        return plain(`hour ${round % 5}`, () => within)(round)
      },
    },
  ]
}

/** Compares the disk space of a record as a row and in a block, with all indexes. */
export async function sizes({ sql }: BenchPlatform, records: number): Promise<Figure[]> {
  const [row] = await sql`
    select pg_total_relation_size('bench.records')::float8 as rows, (
      select sum(pg_total_relation_size(inhrelid))::float8 from pg_inherits where inhparent = 'traffic_log.blocks'::regclass) as blocks,
      pg_total_relation_size('traffic_log.endpoints')::float8 as endpoints`
  return [
    {
      name: 'A record with a payload of 146 bytes, packed, with all tables and indexes',
      value: (row!.blocks + row!.endpoints) / records,
      unit: 'bytes',
      limit: { max: 40 },
    },
    {
      name: 'The same record as one row with its indexes, as in earlier versions',
      value: row!.rows / records,
      unit: 'bytes',
    },
  ]
}

/** Measures how long PostgreSQL takes to count the rows of the tenant. The traffic log reads stored counts instead. */
export async function plainTotal({ sql, tenantId }: BenchPlatform): Promise<Figure> {
  const began = performance.now()
  await sql`select count(*) from bench.records where tenant_id = ${tenantId}`
  return { name: 'count(*) of the tenant, for comparison', value: performance.now() - began, unit: 'ms' }
}
