import { type BenchPlatform, openBenchPlatform } from './register/bench-platform.ts'
import { callers, fill, registerInBatches, registerSingly, settle } from './register/endpoints.ts'
import { activation } from './register/filters.ts'
import { bareRead, plainInserts } from './register/floors.ts'
import { openHttpConnection } from './register/http-connection.ts'
import { measure } from './register/measure.ts'
import { getById, pagesOf } from './register/pages.ts'
import type { Figure } from './report.ts'

/** Number of endpoints that are registered before the measurement. BENCH_ENDPOINTS sets fewer for a quick run. */
const size = Number(process.env.BENCH_ENDPOINTS ?? 200_000)
const batches = 20
const warmUpBatches = 5
const singles = 6000
const warmUps = 3000

/** Measures how fast endpoints are registered, singly, in batches, and while a filter of half of all endpoints becomes active. */
export async function registration(): Promise<Figure[]> {
  const bench = await openBenchPlatform()
  try {
    const byApi = (warmUpBatches + batches) * 1000 + singles
    await fill(bench, 1, size - byApi)
    await settle(bench)
    const from = size - byApi + 1
    await registerSingly(bench, from, 1000) // warm up
    const singly = await registerSingly(bench, from + 1000, singles - 1000)
    await registerInBatches(bench, from + singles, warmUpBatches)
    const inBatches = await registerInBatches(bench, from + singles + warmUpBatches * 1000, batches)
    const plain = await plainInserts(bench, size, 10_000)
    await settle(bench)
    return [
      {
        name: `Registration of single endpoints, ${callers} at a time`,
        value: singly,
        unit: '/s',
        limit: { min: 1500 },
      },
      { name: 'Registration in batches of 1000', value: inBatches, unit: '/s', limit: { min: 15_000 } },
      { name: 'Plain inserts of the same endpoints and tokens, two connections', value: plain, unit: '/s' },
      { name: 'Registration in batches against plain inserts', value: inBatches / plain, unit: 'times' },
      ...(await readingOne(bench)),
      ...(await activation(bench, size)),
    ]
  } finally {
    await bench.close()
  }
}

async function readingOne(bench: BenchPlatform): Promise<Figure[]> {
  const connection = await openHttpConnection(bench.platform.baseUrl)
  const filter = { filterId: '', memberSet: 0, count: 0, seconds: 0 }
  const kind = pagesOf(bench, { readable: [], readerToken: bench.token, filter }).find(({ name }) => name === getById)!
  // These requests warm up the code, because functions that were called only a few times run in the interpreter of V8.
  for (let round = 0; round < warmUps; round++) await connection.ask('GET', kind.path(round), await bench.token())
  const { p50, plainP50, ratio } = await measure(bench, connection, kind)
  connection.close()
  const bareP50 = await bareRead(bench)
  return [
    { name: `${getById}, p50`, value: p50, unit: 'ms' },
    { name: `${getById}, the plain statement`, value: plainP50, unit: 'ms' },
    { name: `${getById}, against the plain statement`, value: ratio, unit: 'times', limit: { max: 1.5 } },
    {
      name: 'A bare HTTP server that sends the plain statement, against the statement alone',
      value: bareP50 / plainP50,
      unit: 'times',
    },
  ]
}
