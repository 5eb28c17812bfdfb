import {
  applicationName,
  type BenchPlatform,
  createReaderOf,
  openBenchPlatform,
  root,
} from './register/bench-platform.ts'
import { callers, cityOf, fill, idOf, registerInBatches, registerSingly, settle } from './register/endpoints.ts'
import { activation, createFilter, removeFilter } from './register/filters.ts'
import { openHttpConnection } from './register/http-connection.ts'
import { measure, type Timing } from './register/measure.ts'
import { getById, pagesOf } from './register/pages.ts'
import type { Figure } from './report.ts'

const small = 10_000
/** BENCH_ENDPOINTS sets fewer endpoints for a quick run. */
const large = Number(process.env.BENCH_ENDPOINTS ?? 1_000_000)
const batches = 2
const singles = 1000

/**
 * Compares lists and searches over 10,000 and 1,000,000 endpoints with a plain SQL statement that finds the same rows, through the same
 * driver. For pages whose number of rows is the same in both registers, the bench also compares the times of both sizes.
 */
export async function register(): Promise<Figure[]> {
  const bench = await openBenchPlatform()
  try {
    const readable = Array.from({ length: 10 }, (_, index) => idOf(100 + index * 571))
    const before = await grow(bench, 0, small)
    const readerToken = await createReaderOf(bench, readable)
    const few = await pages(bench, { readable, readerToken })
    const after = await grow(bench, small, large)
    const many = await pages(bench, { readable, readerToken })
    const growth = few.flatMap(({ kind, aloneP50: before }, index): Figure[] => {
      const { aloneP50: now } = many[index]!
      if (before === undefined || now === undefined) return []
      const name = `${kind.name}, without other load: p50`
      return [
        { name: `${name} with ${small} endpoints`, value: before, unit: 'ms' },
        { name: `${name} with ${large} endpoints`, value: now, unit: 'ms' },
        {
          name: `${name} with ${large} endpoints against ${small}`,
          value: now / before,
          unit: 'times',
          limit: { max: 1.25 },
        },
      ]
    })
    return [
      ...rates(small, before),
      ...few.flatMap((timing) => figuresOf(timing, small)),
      ...rates(large, after),
      ...many.flatMap((timing) => figuresOf(timing, large)),
      ...growth,
      ...(await activation(bench, large)),
    ]
  } finally {
    await bench.close()
  }
}

interface Rates {
  inBatches: number
  singly: number
}

/** Fills the register. The last endpoints are registered through the API, to measure registration when all other endpoints exist. */
async function grow(bench: BenchPlatform, from: number, to: number): Promise<Rates> {
  const byApi = batches * 1000 + singles
  await fill(bench, from + 1, to - byApi)
  await settle(bench)
  const inBatches = await registerInBatches(bench, to - byApi + 1, batches)
  const singly = await registerSingly(bench, to - singles + 1, singles)
  await settle(bench)
  const { body } = await bench.ask(`GET ${root}/endpoints?applicationName=${applicationName}&limit=1`)
  const [row] = await bench.sql`select count(*) from register.endpoints`
  if (body.totalElements !== to || row?.count !== to)
    throw new Error(`${body.totalElements} endpoints are counted, ${row?.count} exist, ${to} are expected`)
  return { inBatches, singly }
}

async function pages(
  bench: BenchPlatform,
  reader: { readable: string[]; readerToken(): Promise<string> },
): Promise<Timing[]> {
  const cities = Array.from({ length: 10 }, (_, index) => cityOf(index))
  const filter = await createFilter(bench, 'Ten cities', { 'metadata.city': { $in: cities } })
  const connection = await openHttpConnection(bench.platform.baseUrl)
  const timings: Timing[] = []
  for (const kind of pagesOf(bench, { ...reader, filter })) {
    const timing = await measure(bench, connection, kind)
    console.error(`${kind.name}: ${timing.p50.toFixed(2)} ms, ${timing.ratio.toFixed(2)} times the statement`)
    timings.push(timing)
  }
  connection.close()
  await removeFilter(bench, filter)
  return timings
}

const rates = (size: number, { inBatches, singly }: Rates): Figure[] => [
  { name: `${size} endpoints: registration in batches`, value: inBatches, unit: '/s' },
  {
    name: `${size} endpoints: registration of single endpoints, ${callers} at a time`,
    value: singly,
    unit: '/s',
  },
]

/**
 * Limits apply only to the large register, because in the small register most of the time of a page is network time. The limit of the ratio
 * of a read by id applies to both registers.
 */
function figuresOf({ kind, p50, p99, plainP50, ratio }: Timing, size: number): Figure[] {
  const limited = kind.limited && size === large
  return [
    { name: `${size} endpoints: ${kind.name}, p50`, value: p50, unit: 'ms' },
    { name: `${size} endpoints: ${kind.name}, p99`, value: p99, unit: 'ms', ...(limited && { limit: { max: 30 } }) },
    { name: `${size} endpoints: ${kind.name}, the plain statement`, value: plainP50, unit: 'ms' },
    {
      name: `${size} endpoints: ${kind.name}, against the plain statement`,
      value: ratio,
      unit: 'times',
      ...((limited || kind.name === getById) && { limit: { max: 1.5 } }),
    },
  ]
}
