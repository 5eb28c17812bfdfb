/** Compares searched, sorted, counted and mapped endpoints with the plain statement for the same rows, through the same driver. */
import { sleep } from '../src/kernel/clock.ts'
import type { Pending } from '../src/kernel/db/sql.ts'
import { gramsOfWords } from '../src/services/register/directory/document.ts'
import {
  applicationName,
  type BenchPlatform,
  createReaderOf,
  openBenchPlatform,
  root,
} from './register/bench-platform.ts'
import { fill, idOf, settle } from './register/endpoints.ts'
import { type HttpConnection, openHttpConnection } from './register/http-connection.ts'
import { quantile } from './register/measure.ts'
import type { Figure } from './report.ts'

/** Set fewer for a quick run. */
const endpoints = Number(process.env.BENCH_ENDPOINTS ?? 1_000_000)
/** A directory for the data of several runs. */
const keptDirectory = process.env.BENCH_KEPT_DIRECTORY
const rounds = 100
const warmUps = 10
const budgetMs = 15_000
/** Endpoints that have been active, and those of them that are connected. */
const activeEvery = 3
const connectedEvery = 1000

export async function directory(): Promise<Figure[]> {
  const bench = await openBenchPlatform({}, keptDirectory)
  try {
    await prepare(bench)
    const readable = Array.from({ length: 10 }, (_, index) => idOf(100 + index * 571))
    const readerToken = keptDirectory ? bench.token : await createReaderOf(bench, readable)
    const connection = await openHttpConnection(bench.platform.baseUrl)
    const figures: Figure[] = []
    for (const kind of kindsOf(bench, readerToken)) figures.push(...(await measure(bench, connection, kind)))
    connection.close()
    return figures
  } finally {
    await bench.close()
  }
}

async function prepare(bench: BenchPlatform) {
  const { sql, tenantId } = bench
  const [row] = await sql`select count(*) from register.endpoints`
  if (row?.count >= endpoints) return
  await fill(bench, 1, endpoints)
  await sql`
    update register.endpoints set connected = seq % ${connectedEvery} = 0, connectivity_ts = now() - make_interval(secs => seq % 500000)
    where seq % ${activeEvery} = 0`
  await sql`
    insert into register.directory_queue (tenant_id, application_name, seq, whole)
    select ${tenantId}, ${applicationName}, seq, true from register.endpoints`
  const began = performance.now()
  for (let left = 1; left > 0; await sleep(1000))
    left = (await sql`select count(*) from register.directory_queue`)[0]?.count
  console.error(`the directory was complete after ${Math.round((performance.now() - began) / 1000)} s`)
  for (const table of ['documents', 'sort_values', 'activity', 'places', 'place_cells', 'endpoints'])
    await sql.unsafe(`vacuum analyze register.${table}`)
  await settle(bench)
}

interface Kind {
  name: string
  /** The part of the path after the directory; each round requests another one. */
  path(round: number): string
  /** Reads the same rows. */
  plain?: (round: number) => Pending
  token?: (() => Promise<string>) | undefined
  /** Number of endpoints that the response must have. */
  rows?: number
  isUnlimited?: true
}

function kindsOf(bench: BenchPlatform, readerToken: () => Promise<string>): Kind[] {
  const { sql, tenantId } = bench
  const columns = sql`e.endpoint_id, e.created_date, e.application_name, e.version_name, e.version_registered_date, e.connected,
    e.connectivity_ts`
  const ofTenant = sql`e.tenant_id = ${tenantId}`
  const byKey = (key: string, descending: boolean) => sql`
    select ${columns}, a.at from register.sort_values s join register.endpoints e on ${ofTenant} and e.seq = s.seq
      left join register.activity a on a.tenant_id = s.tenant_id and a.application_name = s.application_name and a.seq = s.seq
    where s.tenant_id = ${tenantId} and s.application_name = ${applicationName} and s.key = ${key}
    order by s.value ${descending ? sql`desc` : sql``}, s.seq ${descending ? sql`desc` : sql``} limit 100`
  const searched = (word: string) => sql`
    select ${columns}, a.at from register.documents d join register.endpoints e on ${ofTenant} and e.seq = d.seq
      left join register.activity a on a.tenant_id = d.tenant_id and a.application_name = d.application_name and a.seq = d.seq
    where d.tenant_id = ${tenantId} and d.grams @> ${gramsOfWords([word])}::integer[] and strpos(d.text, ${word}) > 0
    order by d.seq limit 100`
  const serialOf = (round: number) => `sn-${String(1 + ((round * 61_511) % endpoints)).padStart(8, '0')}`
  const lastTenth = `bench-${String(Math.floor(endpoints * 0.9))
    .padStart(8, '0')
    .slice(0, 4)}`
  const list = (parameters: Record<string, string | number>) =>
    `?${new URLSearchParams(Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]))}`
  const sortedAt = (field: string, value: string, seq: number) =>
    Buffer.from(JSON.stringify([1, `${field} asc`, value, seq, 0])).toString('base64url')
  const deepId = idOf(Math.floor(endpoints * 0.9))
  return [
    { name: 'sorted by id', path: () => list({ sort: 'endpointId' }), plain: () => byKey('', false), rows: 100 },
    {
      name: 'sorted by id, behind 90 %',
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
    {
      name: 'search of one endpoint',
      path: (round) => list({ search: serialOf(round) }),
      plain: (round) => searched(serialOf(round)),
      rows: 1,
    },
    {
      name: 'search of one endpoint, sorted by name',
      path: (round) => list({ search: serialOf(round), sort: 'name' }),
      plain: (round) => searched(serialOf(round)),
      rows: 1,
    },
    {
      name: 'search of two letters that all have',
      path: () => list({ search: 'sn' }),
      plain: () => searched('sn'),
      rows: 100,
    },
    {
      name: 'search of two letters that all have, sorted by name',
      path: () => list({ search: 'sn', sort: 'name' }),
      rows: 100,
    },
    {
      name: 'search of two letters that none has',
      path: () => list({ search: 'zq' }),
      plain: () => searched('zq'),
      rows: 0,
    },
    {
      name: 'search of two letters that none has, sorted by name',
      path: () => list({ search: 'zq', sort: 'name' }),
      plain: () => searched('zq'),
      rows: 0,
    },
    {
      name: 'search of one letter that none has',
      path: () => list({ search: 'q' }),
      plain: () => searched('q'),
      rows: 0,
    },
    { name: 'search of a common part', path: () => list({ search: 'wp-3' }), plain: () => searched('wp-3'), rows: 100 },
    {
      name: 'search of the last tenth',
      path: () => list({ search: lastTenth }),
      plain: () => searched(lastTenth),
      rows: 100,
    },
    {
      name: 'search of the last tenth, sorted by last activity',
      path: () => list({ search: lastTenth, sort: 'lastActivity' }),
    },
    { name: 'search of two words', path: () => list({ search: `${lastTenth} wp-3` }) },
    { name: 'search of all parts but not their order', path: () => list({ search: '01sn' }) },
    {
      name: 'connected ones (0.03 %)',
      path: () => list({ connection: 'connected', sort: 'lastActivity', sortOrder: 'desc' }),
      rows: 100,
      plain: () => sql`
        select ${columns}, a.at from register.activity a join register.endpoints e on ${ofTenant} and e.seq = a.seq
        where a.tenant_id = ${tenantId} and a.application_name = ${applicationName} and a.connection = 2
        order by a.at desc, a.seq desc limit 100`,
    },
    { name: 'connected ones, by registration', path: () => list({ connection: 'connected' }), rows: 100 },
    { name: 'silent for a day, by name', path: () => list({ activeBefore: 'now-1d', sort: 'name' }), rows: 100 },
    {
      name: 'metadata filter (0.1 %), by name',
      path: () => list({ metadataFilter: '{"city":"City 077"}', sort: 'name' }),
      rows: 100,
    },
    { name: 'a caller who may read 10', path: () => list({ search: 'sn', sort: 'name' }), token: readerToken },
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
      isUnlimited: true,
      path: () => '/counts?by=model,connection',
      plain: () =>
        sql`select metadata ->> 'model', connected, count(*) from register.endpoints where tenant_id = ${tenantId} group by 1, 2`,
    },
    ...[
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
    ),
  ]
}

async function measure({ token }: BenchPlatform, connection: HttpConnection, kind: Kind): Promise<Figure[]> {
  const [ours, theirs]: [number[], number[]] = [[], []]
  const began = performance.now()
  const isOver = () => performance.now() - began > budgetMs
  let rows = 0
  for (let round = -warmUps; round < rounds && !(isOver() && ours.length > 8); round++) {
    const callerToken = await (kind.token ?? token)()
    let text = ''
    const time = await timed(async () => {
      text = await connection.ask('GET', `${root}/directory${kind.path(round + warmUps)}`, callerToken)
    })
    const plainTime = kind.plain && (await timed(() => kind.plain!(round + warmUps)))
    rows = JSON.parse(text).content?.length ?? 0
    if (kind.rows !== undefined && rows !== kind.rows)
      throw new Error(`${kind.name}: ${rows} endpoints: ${text.slice(0, 200)}`)
    if (round < 0 && !isOver()) continue
    ours.push(time)
    if (plainTime !== undefined) theirs.push(plainTime)
  }
  const [p50, p99] = [quantile(ours, 0.5), quantile(ours, 0.99)]
  const plain = theirs.length > 0 ? quantile(theirs, 0.5) : undefined
  console.error(
    `${kind.name}: ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, plain ${plain?.toFixed(1)} ms, ${rows} rows`,
  )
  return [
    { name: `${kind.name}, p50`, value: p50, unit: 'ms' },
    { name: `${kind.name}, p99`, value: p99, unit: 'ms', ...(!kind.isUnlimited && { limit: { max: 50 } }) },
    ...(plain === undefined
      ? []
      : [{ name: `${kind.name}, against the plain statement`, value: p50 / plain, unit: 'times' }]),
  ]
}

async function timed(work: () => PromiseLike<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
