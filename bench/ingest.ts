/** Measures searches over ten million documents, and the rate of device messages with and without documents. */
import { devices } from './ingest/devices.ts'
import { searches } from './ingest/searches.ts'
import type { Figure } from './report.ts'

const parts: Record<string, () => Promise<Figure[]>> = { searches, devices }

/** Runs all parts, or the parts that BENCH_PARTS names. */
export async function ingest(): Promise<Figure[]> {
  const requested = process.env.BENCH_PARTS?.split(',') ?? Object.keys(parts)
  const figures: Figure[] = []
  for (const name of requested) {
    const part = parts[name]
    if (!part) throw new Error(`no part ${name}; there are ${Object.keys(parts).join(', ')}`)
    figures.push(...(await part()))
  }
  return figures
}
