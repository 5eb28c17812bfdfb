/** Compares searches through the API with plain SQL statements that find the same documents in the same tables. */
import { applicationName, type BenchPlatform, openBenchPlatform, versionNames } from '../register/bench-platform.ts'
import { type HttpConnection, openHttpConnection } from '../register/http-connection.ts'
import { quantile } from '../register/measure.ts'
import type { Figure } from '../report.ts'

/** BENCH_DOCUMENTS sets fewer documents for a quick run. */
const documents = Number(process.env.BENCH_DOCUMENTS ?? 10_000_000)
const aggregated = Math.min(1_000_000, documents)
const endpoints = Math.max(100, documents / 1000)
/** Directory that keeps the documents for further runs. The first run fills it; the next runs only measure. */
const keptDirectory = process.env.BENCH_DIRECTORY
const days = 10
const dayMs = 86_400_000
const warmUps = 5
const roundsMax = 100
const budgetMs = 20_000

interface Comparison {
  name: string
  body(round: number): object
  /** Runs the plain statement. Returns its result, which the search must also return. */
  plain(round: number): Promise<string>
  /** Extracts the result from the response of a search, to compare it with the result of `plain`. */
  found(answer: Answer): string
}

interface Answer {
  hits: { total: { value: number }; hits: { _id: string }[] }
  aggregations?: { hours: { buckets: { key: number; doc_count: number; average: { value: number } }[] } }
}

const endpointOf = (round: number) => `endpoint-${(round * 37) % endpoints}`

export async function searches(): Promise<Figure[]> {
  const bench = await openBenchPlatform({ WAYPOST_DOCUMENT_DAYS: '0' }, keptDirectory)
  try {
    const [filled] = await bench.sql<{ indexNo: number; last: Date }[]>`
      select index_no, (select max(arrived_at) from ingest.documents) as last from ingest.indices limit 1`
    if (filled && keptDirectory === undefined) throw new Error('there are documents already')
    const until = filled ? nextDay(filled.last) : Math.floor(Date.now() / dayMs) * dayMs
    const indexNo = filled ? filled.indexNo : await fill(bench, until)
    if (!filled && keptDirectory !== undefined) return []
    const connection = await openHttpConnection(bench.platform.baseUrl)
    const figures: Figure[] = []
    for (const comparison of comparisons(bench, indexNo, until))
      figures.push(...(await compare(bench, connection, comparison)))
    connection.close()
    return figures
  } finally {
    await bench.close()
  }
}

const nextDay = (date: Date) => (Math.floor(date.getTime() / dayMs) + 1) * dayMs

/** Inserts documents of ten days by SQL, distributed evenly over endpoints and time. */
async function fill({ ask, sql, tenantId }: BenchPlatform, until: number): Promise<number> {
  const answer = await ask(`PUT /asf/api/v1/${tenantId}-${applicationName}/_template`, {
    settings: { index: { retention_days: 0 } },
  })
  if (answer.status !== 200) throw new Error(answer.text)
  const [row] = await sql<
    { indexNo: number }[]
  >`select index_no from ingest.indices where application_name = ${applicationName}`
  const indexNo = row!.indexNo
  const first = until - days * dayMs
  for (let day = 0; day < days; day++) {
    await fillDay(sql, { from: first + day * dayMs, indexNo, tenantId })
    console.error(`${((day + 1) * documents) / days} documents`)
  }
  await sql.unsafe(`insert into ingest.fields (index_no, path, type, listed) values
    (${indexNo}, 'dataSample.temperature', 'double', false), (${indexNo}, 'dataSample.humidity', 'long', false),
    (${indexNo}, 'dataSample.room', 'text', false) on conflict do nothing`)
  await sql.unsafe('analyze ingest.documents')
  return indexNo
}

/** Fills a separate table and then attaches it as a partition, so that its indexes are built once, from all rows. */
async function fillDay(
  sql: BenchPlatform['sql'],
  { from, indexNo, tenantId }: { from: number; indexNo: number; tenantId: string },
) {
  const [begin, end] = [new Date(from).toISOString(), new Date(from + dayMs).toISOString()]
  const name = `ingest.documents_${begin.slice(0, 10).replaceAll('-', '')}`
  const count = documents / days
  await sql.unsafe(`drop table if exists ${name}; create table ${name} (like ingest.documents including defaults)`)
  await sql.unsafe(`set statement_timeout = 0;
    insert into ${name} (arrived_at, ts, index_no, id, endpoint_id, version_name, doc)
    select at, at, ${indexNo}, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid,
      'endpoint-' || n % ${endpoints}, '${versionNames[0]}', jsonb_build_object('@timestamp', at, 'tenantId', '${tenantId}',
        'appName', '${applicationName}', 'appVersionName', '${versionNames[0]}', 'endpointId', 'endpoint-' || n % ${endpoints},
        'dataSample', jsonb_build_object('temperature', 20 + (n::bigint * 7919 % 1000) / 100.0, 'humidity', n % 100, 'room', 'r' || n % 10))
    from (select n, timestamptz '${begin}' + n * interval '${dayMs / count} milliseconds' as at
      from generate_series(0, ${count - 1}) n) rows`)
  await sql.unsafe(`set statement_timeout = 0;
    alter table ingest.documents attach partition ${name} for values from ('${begin}') to ('${end}')`)
  await sql.unsafe(`vacuum analyze ${name}`)
}

function comparisons({ sql }: BenchPlatform, indexNo: number, until: number): Comparison[] {
  const spanMs = 2 * dayMs
  const span = (round: number) => {
    const from = until - spanMs - (round % 8) * dayMs
    return { from: new Date(from), to: new Date(from + spanMs) }
  }
  const aggregatedMs = (days * dayMs * aggregated) / documents
  return [
    {
      name: `Search by endpoint and time, ${documents} documents`,
      body: (round) => ({
        query: {
          bool: {
            filter: [
              { term: { endpointId: endpointOf(round) } },
              { range: { '@timestamp': { gte: span(round).from.toISOString(), lt: span(round).to.toISOString() } } },
            ],
          },
        },
        sort: [{ '@timestamp': 'desc' }],
        size: 100,
      }),
      async plain(round) {
        const { from, to } = span(round)
        const where = sql`
          from ingest.documents where index_no = ${indexNo}
            and hashtextextended(endpoint_id, 0) = hashtextextended(${endpointOf(round)}::text, 0) and endpoint_id = ${endpointOf(round)}
            and ts >= ${from} and ts < ${to}`
        const rows = await sql<{ id: string; total: number }[]>`
          select id::text as id, doc::text as doc, total from (select id, doc, ts ${where} order by ts desc, id desc limit 100) page
          cross join (select count(*)::float8 as total ${where}) counted`
        return `${rows[0]?.total} ${rows.map(({ id }) => id).join()}`
      },
      found: ({ hits }) => `${hits.total.value} ${hits.hits.map(({ _id }) => _id).join()}`,
    },
    {
      name: `Hourly averages of ${aggregated} documents`,
      body: () => ({
        query: {
          range: {
            '@timestamp': { gte: new Date(until - aggregatedMs).toISOString(), lt: new Date(until).toISOString() },
          },
        },
        size: 0,
        track_total_hits: false,
        aggs: {
          hours: {
            date_histogram: { field: '@timestamp', calendar_interval: 'hour', min_doc_count: 1 },
            aggs: { average: { avg: { field: 'dataSample.temperature' } } },
          },
        },
      }),
      async plain() {
        const rows = await sql<{ hour: Date; count: number; average: number }[]>`
          select date_trunc('hour', ts) as hour, count(*)::float8 as count, avg((doc -> 'dataSample' ->> 'temperature')::float8) as average
          from ingest.documents
          where index_no = ${indexNo} and ts >= ${new Date(until - aggregatedMs)} and ts < ${new Date(until)}
          group by hour order by hour`
        return rows.map(({ hour, count, average }) => `${hour.getTime()} ${count} ${average.toFixed(6)}`).join()
      },
      found: ({ aggregations }) =>
        aggregations!.hours.buckets
          .map(({ key, doc_count, average }) => `${key} ${doc_count} ${average.value.toFixed(6)}`)
          .join(),
    },
  ]
}

async function compare(
  { token, tenantId }: BenchPlatform,
  connection: HttpConnection,
  { name, body, plain, found }: Comparison,
): Promise<Figure[]> {
  const path = `/asf/api/v1/${tenantId}-${applicationName}/_search`
  const [ours, theirs]: [number[], number[]] = [[], []]
  const began = performance.now()
  for (let round = -warmUps; round < roundsMax && (performance.now() - began < budgetMs || ours.length < 5); round++) {
    const callerToken = await token()
    let [answer, expected] = ['', '']
    const api = () =>
      timed(async () => (answer = await connection.ask('POST', path, callerToken, body(round + warmUps))))
    const statement = () => timed(async () => (expected = await plain(round + warmUps)))
    // The order alternates, because the second of the two reads finds the rows in the cache.
    const times = round % 2 === 0 ? [await api(), await statement()] : [await statement(), await api()].reverse()
    if (found(JSON.parse(answer)) !== expected) throw new Error(`${name}: other documents than the statement finds`)
    if (round < 0) continue
    ours.push(times[0]!)
    theirs.push(times[1]!)
  }
  const [p50, plainP50] = [quantile(ours, 0.5), quantile(theirs, 0.5)]
  console.error(`${name}: ${p50.toFixed(2)} ms, the statement ${plainP50.toFixed(2)} ms`)
  return [
    { name: `${name}: p50`, value: p50, unit: 'ms' },
    { name: `${name}: p50 against the plain statement`, value: p50 / plainP50, unit: 'times', limit: { max: 1.5 } },
  ]
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
