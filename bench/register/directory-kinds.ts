/** The measured requests to the directory, each with the plain SQL statement for the same rows. */
import type { Pending } from '../../src/kernel/db/sql.ts'
import { applicationName, type BenchPlatform } from './bench-platform.ts'
import { idOf } from './endpoints.ts'

export interface Kind {
  name: string
  /** The part of the path after `/directory`. It can depend on the round, so that rounds search for different endpoints. */
  path(round: number): string
  /** Reads the same rows with a plain SQL statement. */
  plain?: (round: number) => Pending
  token?: (() => Promise<string>) | undefined
  /** Number of endpoints that the response must have. */
  rows?: number
  isUnlimited?: true
}

const list = (parameters: Record<string, string | number>) =>
  `?${new URLSearchParams(Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]))}`

const columnsOf = ({ sql }: BenchPlatform) => sql`e.endpoint_id, e.created_date, e.application_name, e.version_name,
  e.version_registered_date, e.connected, e.connectivity_ts`

export const directoryKinds = (bench: BenchPlatform, endpoints: number, readerToken: () => Promise<string>): Kind[] => [
  ...sorted(bench, endpoints),
  ...searches(bench, endpoints),
  ...filtered(bench, endpoints, readerToken),
  ...counts(bench),
  ...maps(bench),
]

function sorted(bench: BenchPlatform, endpoints: number): Kind[] {
  const { sql, tenantId } = bench
  const columns = columnsOf(bench)
  const ofTenant = sql`e.tenant_id = ${tenantId}`
  const byKey = (key: string, descending: boolean) => sql`
    select ${columns}, a.at from register.sort_values s join register.endpoints e on ${ofTenant} and e.seq = s.seq
      left join register.activity a on a.tenant_id = s.tenant_id and a.application_name = s.application_name and a.seq = s.seq
    where s.tenant_id = ${tenantId} and s.application_name = ${applicationName} and s.key = ${key}
    order by s.value ${descending ? sql`desc` : sql``}, s.seq ${descending ? sql`desc` : sql``} limit 100`
  const sortedAt = (field: string, value: string, seq: number) =>
    Buffer.from(JSON.stringify([1, `${field} asc`, value, seq, 0])).toString('base64url')
  const deepId = idOf(Math.floor(endpoints * 0.9))
  return [
    { name: 'sorted by id', path: () => list({ sort: 'endpointId' }), plain: () => byKey('', false), rows: 100 },
    {
      name: 'sorted by id, after the first 90 %',
      path: () => list({ sort: 'endpointId', cursor: sortedAt('endpointId', deepId, 0) }),
      rows: 100,
    },
    {
      name: 'sorted by name, descending',
      path: () => list({ sort: 'name', sortOrder: 'desc' }),
      plain: () => byKey('name', true),
      rows: 100,
    },
    {
      name: 'sorted by last activity, descending',
      path: () => list({ sort: 'lastActivity', sortOrder: 'desc' }),
      rows: 100,
      plain: () => sql`
        select ${columns}, a.at from register.activity a join register.endpoints e on ${ofTenant} and e.seq = a.seq
        where a.tenant_id = ${tenantId} and a.application_name = ${applicationName} order by a.at desc, a.seq desc limit 100`,
    },
  ]
}

function searches(bench: BenchPlatform, endpoints: number): Kind[] {
  const { sql, tenantId } = bench
  const columns = columnsOf(bench)
  const ofTenant = sql`e.tenant_id = ${tenantId}`
  const searched = (word: string) => sql`
    select ${columns}, a.at from register.documents d join register.endpoints e on ${ofTenant} and e.seq = d.seq
      left join register.activity a on a.tenant_id = d.tenant_id and a.application_name = d.application_name and a.seq = d.seq
    where d.tenant_id = ${tenantId} and d.text like ${`%${word}%`}
    order by d.seq limit 100`
  const serialOf = (round: number) => `sn-${String(1 + ((round * 61_511) % endpoints)).padStart(8, '0')}`
  const lastTenth = `bench-${String(Math.floor(endpoints * 0.9))
    .padStart(8, '0')
    .slice(0, 4)}`
  return [
    {
      name: 'search that matches one endpoint',
      path: (round) => list({ search: serialOf(round) }),
      plain: (round) => searched(serialOf(round)),
      rows: 1,
    },
    {
      name: 'search that matches one endpoint, sorted by name',
      path: (round) => list({ search: serialOf(round), sort: 'name' }),
      plain: (round) => searched(serialOf(round)),
      rows: 1,
    },
    {
      name: 'search for two letters that all endpoints have',
      path: () => list({ search: 'sn' }),
      plain: () => searched('sn'),
      rows: 100,
    },
    {
      name: 'search for two letters that all endpoints have, sorted by name',
      path: () => list({ search: 'sn', sort: 'name' }),
      rows: 100,
    },
    {
      name: 'search for two letters that no endpoint has',
      path: () => list({ search: 'zq' }),
      plain: () => searched('zq'),
      rows: 0,
    },
    {
      name: 'search for two letters that no endpoint has, sorted by name',
      path: () => list({ search: 'zq', sort: 'name' }),
      plain: () => searched('zq'),
      rows: 0,
    },
    {
      name: 'search for one letter that no endpoint has',
      path: () => list({ search: 'q' }),
      plain: () => searched('q'),
      rows: 0,
    },
    {
      name: 'search for a text that many endpoints have',
      path: () => list({ search: 'wp-3' }),
      plain: () => searched('wp-3'),
      rows: 100,
    },
    {
      name: 'search that matches the last tenth of the endpoints',
      path: () => list({ search: lastTenth }),
      plain: () => searched(lastTenth),
      rows: 100,
    },
    {
      name: 'search that matches the last tenth of the endpoints, sorted by last activity',
      path: () => list({ search: lastTenth, sort: 'lastActivity' }),
    },
    { name: 'search for two words', path: () => list({ search: `${lastTenth} wp-3` }) },
    { name: 'search for a text whose n-grams all occur, but in another order', path: () => list({ search: '01sn' }) },
  ]
}

function filtered(bench: BenchPlatform, endpoints: number, readerToken: () => Promise<string>): Kind[] {
  const { sql, tenantId } = bench
  const [page, connected] = [100, Math.floor(endpoints / 3000)]
  const columns = columnsOf(bench)
  const ofTenant = sql`e.tenant_id = ${tenantId}`
  return [
    {
      name: 'connected endpoints (0.03 %)',
      path: () => list({ connection: 'connected', sort: 'lastActivity', sortOrder: 'desc' }),
      rows: Math.min(page, connected),
      plain: () => sql`
        select ${columns}, a.at from register.activity a join register.endpoints e on ${ofTenant} and e.seq = a.seq
        where a.tenant_id = ${tenantId} and a.application_name = ${applicationName} and a.connection = 2
        order by a.at desc, a.seq desc limit 100`,
    },
    {
      name: 'connected endpoints, by registration',
      path: () => list({ connection: 'connected' }),
      rows: Math.min(page, connected),
    },
    { name: 'silent for a day, by name', path: () => list({ activeBefore: 'now-1d', sort: 'name' }), rows: 100 },
    {
      name: 'metadata filter (0.1 %), by name',
      path: () => list({ metadataFilter: '{"city":"City 077"}', sort: 'name' }),
      rows: 100,
    },
    {
      name: 'list of a caller who may read 10 endpoints',
      path: () => list({ search: 'sn', sort: 'name' }),
      token: readerToken,
    },
  ]
}

const counts = ({ sql, tenantId }: BenchPlatform): Kind[] => [
  {
    name: 'counts by version',
    path: () => '/counts?by=version',
    plain: () => sql`select version_name, count(*) from register.endpoints where tenant_id = ${tenantId} group by 1`,
  },
  {
    name: 'counts by connection',
    path: () => '/counts?by=connection',
    plain: () => sql`select connected, count(*) from register.endpoints where tenant_id = ${tenantId} group by 1`,
  },
  {
    name: 'counts by model and connection',
    path: () => '/counts?by=model,connection',
    plain: () =>
      sql`select metadata ->> 'model', connected, count(*) from register.endpoints where tenant_id = ${tenantId} group by 1, 2`,
  },
  { name: 'counts by a key that is not counted in advance', isUnlimited: true, path: () => '/counts?by=city' },
]

const maps = ({ sql, tenantId }: BenchPlatform): Kind[] =>
  [
    { name: 'the world', south: -90, west: -180, north: 90, east: 180 },
    { name: 'a country', south: 44, west: 22, north: 53, east: 41 },
    { name: 'a city', south: 50.2, west: 30.2, north: 50.6, east: 30.8 },
    { name: 'a street', south: 50.4, west: 30.5, north: 50.41, east: 30.51 },
  ].map(
    ({ name, south, west, north, east }): Kind => ({
      name: `map of ${name}`,
      path: () => `/places${list({ south, west, north, east, limit: 2000 })}`,
      plain: () => sql`
        select floor(longitude / 10000.0), floor(latitude / 10000.0), count(*), avg(longitude), avg(latitude) from register.places
        where tenant_id = ${tenantId} and longitude between ${west * 1e6} and ${east * 1e6}
          and latitude between ${south * 1e6} and ${north * 1e6} group by 1, 2`,
    }),
  )
