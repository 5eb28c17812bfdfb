import { type BenchPlatform, openBenchPlatform } from './register/bench-platform.ts'
import { openHttpConnection } from './register/http-connection.ts'
import { measure, type Timing } from './register/measure.ts'
import type { Figure } from './report.ts'
import { fill } from './traffic-log/fill.ts'
import { pagesOf, plainTotal, sizes } from './traffic-log/pages.ts'
import { writing } from './traffic-log/writing.ts'

/** BENCH_RECORDS sets fewer records for a quick run. */
const records = Number(process.env.BENCH_RECORDS ?? 2_000_000)

/**
 * Compares pages of a week of traffic of a busy tenant with a plain SQL statement on a table with one row for each record. This statement
 * does not count the total. Also measures the cost of storing a record as a row, and in a batch.
 */
export async function trafficLog(): Promise<Figure[]> {
  const written = await writing()
  const bench = await openBenchPlatform()
  try {
    const until = new Date(Date.now() - 60_000)
    await fill(bench, records, until)
    const total = await plainTotal(bench)
    const size = await sizes(bench, records)
    return [...size, ...written, ...(await pages(bench, until)).flatMap(figuresOf), total]
  } finally {
    await bench.close()
  }
}

async function pages(bench: BenchPlatform, until: Date): Promise<Timing[]> {
  const connection = await openHttpConnection(bench.platform.baseUrl)
  const timings: Timing[] = []
  for (const kind of pagesOf(bench, until)) {
    const timing = await measure(bench, connection, kind)
    console.error(`${kind.name}: ${timing.p50.toFixed(2)} ms, ${timing.ratio.toFixed(2)} times the statement`)
    timings.push(timing)
  }
  connection.close()
  return timings
}

const figuresOf = ({ kind: { name, limited }, p50, p99, ratio }: Timing): Figure[] => [
  { name: `${name}, ${records} records: p50`, value: p50, unit: 'ms' },
  { name: `${name}: p99`, value: p99, unit: 'ms', ...(limited && { limit: { max: 50 } }) },
  { name: `${name}: p50 against the plain statement for the same rows`, value: ratio, unit: 'times' },
]
