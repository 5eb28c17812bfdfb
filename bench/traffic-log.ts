import { measure, type Timing } from './register/measure.ts'
import { openSite, type Site } from './register/site.ts'
import { openWire } from './register/wire.ts'
import type { Figure } from './report.ts'
import { fill, settle } from './traffic-log/filling.ts'
import { pagesOf, plainTotal } from './traffic-log/pages.ts'
import { writing } from './traffic-log/writing.ts'

/** Set fewer for a quick run. */
const records = Number(process.env.BENCH_RECORDS ?? 10_000_000)

/**
 * Compares pages of a busy tenant's week of traffic with the plain statement for the same rows, without its total, through the same
 * driver; and measures what writing a record costs, by COPY and by unnest.
 */
export async function trafficLog(): Promise<Figure[]> {
  const written = await writing()
  const site = await openSite()
  try {
    const until = new Date(Date.now() - 60_000)
    await fill(site, records, until)
    await settle(site, until)
    const total = await plainTotal(site)
    return [...written, ...(await pages(site, until)).flatMap(figuresOf), total]
  } finally {
    await site.close()
  }
}

async function pages(site: Site, until: Date): Promise<Timing[]> {
  const wire = await openWire(site.platform.baseUrl)
  const timings: Timing[] = []
  for (const kind of pagesOf(site, until)) {
    const timing = await measure(site, wire, kind)
    console.error(`${kind.name}: ${timing.p50.toFixed(2)} ms, ${timing.ratio.toFixed(2)} times the statement`)
    timings.push(timing)
  }
  wire.close()
  return timings
}

const figuresOf = ({ kind: { name, limited }, p50, p99, ratio }: Timing): Figure[] => [
  { name: `${name}, ${records} records: p50`, value: p50, unit: 'ms' },
  { name: `${name}: p99`, value: p99, unit: 'ms', ...(limited && { limit: { most: 50 } }) },
  { name: `${name}: p50 against the statement for its rows`, value: ratio, unit: 'times' },
]
