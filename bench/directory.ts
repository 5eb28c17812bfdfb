/**
 * Compares searches, sorted lists, counts and map requests of the directory with a plain SQL statement that finds the same rows, through
 * the same driver.
 */
import { type BenchPlatform, createReaderOf, openBenchPlatform, root } from './register/bench-platform.ts'
import { directoryKinds, type Kind } from './register/directory-kinds.ts'
import { fill, idOf, settle } from './register/endpoints.ts'
import { fillDirectory } from './register/fill-directory.ts'
import { type HttpConnection, openHttpConnection } from './register/http-connection.ts'
import { quantile } from './register/measure.ts'
import type { Figure } from './report.ts'

/** BENCH_ENDPOINTS sets fewer endpoints for a quick run. */
const endpoints = Number(process.env.BENCH_ENDPOINTS ?? 1_000_000)
/** Directory in which the data is kept for further runs. Without this setting, each run fills a new database. */
const keptDirectory = process.env.BENCH_KEPT_DIRECTORY
const rounds = 100
const warmUps = 10
const budgetMs = 6000
/**
 * Time limit for all runs of the plain statement of one kind of request. A statement that takes seconds runs fewer times, but at least
 * once.
 */
const plainBudgetMs = 2000
/** Every third endpoint has been active. Of the active endpoints, every thousandth is connected. */
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
    for (const kind of directoryKinds(bench, endpoints, readerToken))
      figures.push(...(await measure(bench, connection, kind)))
    connection.close()
    return figures
  } finally {
    await bench.close()
  }
}

/** Fills the database and prints the duration, because this takes longer than the measurement. */
async function prepare(bench: BenchPlatform) {
  const { sql } = bench
  const began = performance.now()
  const [row] = await sql`
    select (select count(*) from register.endpoints) as endpoints, (select count(*) from register.documents) as documents`
  if (row?.documents >= endpoints) return
  if (row?.endpoints < endpoints) await fill(bench, 1, endpoints, { tokens: false })
  await sql`
    update register.endpoints set connected = seq % ${connectedEvery} = 0, connectivity_ts = now() - make_interval(secs => seq % 500000)
    where seq % ${activeEvery} = 0`
  await fillDirectory(bench)
  await settle(bench)
  console.error(
    `filled ${endpoints} endpoints and their directory in ${Math.round((performance.now() - began) / 1000)} s`,
  )
}

async function measure({ token }: BenchPlatform, connection: HttpConnection, kind: Kind): Promise<Figure[]> {
  const [ours, theirs]: [number[], number[]] = [[], []]
  const began = performance.now()
  let plainMs = 0
  const isOver = () => performance.now() - began - plainMs > budgetMs
  let rows = 0
  for (let round = -warmUps; round < rounds && !(isOver() && ours.length > 8); round++) {
    const callerToken = await (kind.token ?? token)()
    let text = ''
    const time = await timed(async () => {
      text = await connection.ask('GET', `${root}/directory${kind.path(round + warmUps)}`, callerToken)
    })
    const isPlainOver = plainMs > plainBudgetMs
    const plainTime = kind.plain && !isPlainOver ? await timed(() => kind.plain!(round + warmUps)) : undefined
    plainMs += plainTime ?? 0
    rows = JSON.parse(text).content?.length ?? 0
    if (kind.rows !== undefined && rows !== kind.rows)
      throw new Error(`${kind.name}: ${rows} endpoints: ${text.slice(0, 200)}`)
    if (plainTime !== undefined && (round >= 0 || isPlainOver || plainMs > plainBudgetMs)) theirs.push(plainTime)
    if (round < 0 && !isOver()) continue
    ours.push(time)
  }
  const [p50, p99] = [quantile(ours, 0.5), quantile(ours, 0.99)]
  const plain = theirs.length > 0 ? quantile(theirs, 0.99) : undefined
  console.error(
    `${kind.name}: ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, plain p99 ${plain?.toFixed(1)} ms, ${rows} rows`,
  )
  return [
    { name: `${kind.name}, p50`, value: p50, unit: 'ms' },
    { name: `${kind.name}, p99`, value: p99, unit: 'ms', ...(!kind.isUnlimited && { limit: { max: 50 } }) },
    ...(plain === undefined
      ? []
      : [
          {
            name: `${kind.name}, p99 against the plain statement`,
            value: p99 / plain,
            unit: 'times',
            limit: { max: 1.5 },
          },
        ]),
  ]
}

async function timed(work: () => PromiseLike<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
