/** The measured pages, each with the plain SQL statement for the same rows. */
import type { Fragment } from '../../src/kernel/db.ts'
import { applicationName, type BenchPlatform, root, versionNames } from './bench-platform.ts'
import { cityOf, dayOf, idOf, modelOf } from './endpoints.ts'
import type { Filter } from './filters.ts'
import type { PageKind, PageResult } from './measure.ts'

const limit = 100
const shared = [
  'endpoint_id',
  'created_date',
  'application_name',
  'version_name',
  'version_registered_date',
  'pool_ids',
]
const withMetadata = [...shared, 'metadata', 'metadata_updated_date']
/** The columns of the plain statement for one endpoint. */
export const columnsOfOne = withMetadata

/**
 * Returns the number of an endpoint. Numbers of successive rounds are far apart. The smaller of the measured registers also contains these
 * endpoints.
 */
const numberOf = (round: number) => 1 + ((round * 6151) % 5000)

/** Returns the number of an endpoint whose version is the version that the round requests. Every third endpoint has the same version. */
const inVersion = (round: number) => numberOf(round) - (numberOf(round) % 3) + 3 + (round % 3)

interface Readable {
  filter: Filter
  readerToken(): Promise<string>
  readable: string[]
}

function list(parameters: Record<string, unknown>): string {
  const texts = Object.entries({ limit, ...parameters }).map(([name, value]): [string, string] => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ])
  return `${root}/endpoints?${new URLSearchParams(texts)}`
}

/** Reads the rows and their total number at the same time. */
async function readPage(
  { sql, tenantId }: BenchPlatform,
  columns: string[],
  where: Fragment,
  offset = 0,
): Promise<PageResult> {
  const [rows, [counted]] = await Promise.all([
    sql<{ endpointId: string }[]>`
      select ${sql(columns)} from register.endpoints where tenant_id = ${tenantId} and ${where}
      order by seq offset ${offset} limit ${limit}`,
    sql`select count(*) from register.endpoints where tenant_id = ${tenantId} and ${where}`,
  ])
  return { total: counted?.count, ids: rows.map(({ endpointId }) => endpointId) }
}

async function readMembers(
  { sql, tenantId }: BenchPlatform,
  { memberSet }: Filter,
  offset: number,
): Promise<PageResult> {
  const [rows, [counted]] = await Promise.all([
    sql<{ endpointId: string }[]>`
      select ${sql(withMetadata.map((column) => `e.${column}`))}
      from register.filter_members m join register.endpoints e on e.tenant_id = m.tenant_id and e.seq = m.seq
      where m.tenant_id = ${tenantId} and m.member_set = ${memberSet} and m.matched
      order by m.seq offset ${offset} limit ${limit}`,
    sql`select (select coalesce(sum(count), 0)::bigint from register.filter_counts
        where tenant_id = ${tenantId} and member_set = ${memberSet})
      + (select coalesce(sum(difference), 0) from register.filter_count_differences
        where tenant_id = ${tenantId} and member_set = ${memberSet})::bigint as count`,
  ])
  return { total: counted?.count, ids: rows.map(({ endpointId }) => endpointId) }
}

const include = 'metadata'
const threeCities = (round: number) => [0, 1, 2].map((step) => cityOf(numberOf(round) + step))
const offsetOf = (round: number) => round % 50

export const getById = 'Get by id'

export function pagesOf(bench: BenchPlatform, reader: Readable): PageKind[] {
  const { sql } = bench
  const plainPage = (columns: string[], where: Fragment, offset?: number) => readPage(bench, columns, where, offset)
  const contains = (value: object) => sql`metadata @> ${sql.json(value as never)}`

  return [
    {
      name: getById,
      comparable: true,
      path: (round) => `${root}/endpoints/${idOf(numberOf(round))}?include=metadata`,
      async plain(round) {
        const [row] = await sql<{ endpointId: string }[]>`
          select ${sql(withMetadata)} from register.endpoints where endpoint_id = ${idOf(numberOf(round))}`
        return { ids: [row?.endpointId ?? ''] }
      },
    },
    {
      name: 'Page of an application',
      comparable: true,
      path: (round) => list({ applicationName, offset: offsetOf(round) }),
      plain: (round) => plainPage(shared, sql`application_name = ${applicationName}`, offsetOf(round)),
    },
    {
      name: 'Page of a version',
      comparable: true,
      path: (round) => list({ applicationVersionName: versionNames[round % 3], offset: offsetOf(round) }),
      plain: (round) => plainPage(shared, sql`version_name = ${versionNames[round % 3]!}`, offsetOf(round)),
    },
    {
      name: 'Equality (0.1 % of all)',
      limited: true,
      path: (round) => list({ include, metadataFilter: { city: cityOf(numberOf(round)) } }),
      plain: (round) => plainPage(withMetadata, contains({ city: cityOf(numberOf(round)) })),
    },
    {
      name: 'Equality (100 endpoints)',
      limited: true,
      comparable: true,
      path: (round) => list({ include, metadataFilter: { installed: dayOf(100 + numberOf(round)) } }),
      plain: (round) => plainPage(withMetadata, contains({ installed: dayOf(100 + numberOf(round)) })),
    },
    {
      name: 'multiFilter IN of three (0.3 %)',
      path: (round) =>
        list({ include, multiFilter: { or: [{ key: 'city', operator: 'IN', values: threeCities(round) }] } }),
      plain: (round) => {
        const documents = threeCities(round).map((city) => JSON.stringify({ city }))
        return plainPage(withMetadata, sql`metadata @> any(${documents}::text[]::jsonb[])`)
      },
    },
    {
      name: 'multiFilter and of two (0.02 %)',
      path: (round) =>
        list({
          include,
          multiFilter: {
            and: [
              { key: 'model', operator: 'IN', values: [modelOf(numberOf(round))] },
              { key: 'city', operator: 'IN', values: [cityOf(numberOf(round))] },
            ],
          },
        }),
      plain: (round) =>
        plainPage(withMetadata, contains({ model: modelOf(numberOf(round)), city: cityOf(numberOf(round)) })),
    },
    {
      name: 'Active filter (1 %)',
      limited: true,
      comparable: true,
      path: (round) => list({ include, filterId: reader.filter.filterId, offset: round % 10 }),
      plain: (round) => readMembers(bench, reader.filter, round % 10),
    },
    {
      // The platform ends a scan with a regular expression after 10 s. A scan of one version, which a third of the endpoints have, is
      // enough to measure the cost of one endpoint.
      name: 'Regular expression in a version',
      path: (round) => list({ applicationVersionName: versionNames[round % 3], regex: `^SN-0*${inVersion(round)}$` }),
      plain: (round) =>
        plainPage(
          shared,
          sql`version_name = ${versionNames[round % 3]!} and metadata::text ~ ${`"SN-0*${inVersion(round)}"`}`,
        ),
    },
    {
      name: 'Page of a caller who may read 10 endpoints',
      comparable: true,
      token: reader.readerToken,
      path: (round) => list({ limit: limit - (round % 50) }),
      plain: () => plainPage(shared, sql`endpoint_id = any(${reader.readable}::text[])`),
    },
  ]
}
