import { prepareGround } from './gateway/site.ts'
import { removeDirectory } from './platform.ts'
import type { Figure } from './report.ts'
import { batches, ingest } from './time-series/ingest.ts'

/** Of one load; fewer for a quick look. */
const seconds = Number(process.env.BENCH_SECONDS ?? 4)
const devices = 1000

const parts: Record<string, () => Promise<Figure[]>> = {
  ingest: () => withDevices((ground) => ingest(ground, seconds)),
  batches: () => withDevices((ground) => batches(ground, seconds)),
}

/** All of it, or the parts that BENCH_PARTS names. */
export async function timeSeries(): Promise<Figure[]> {
  const asked = process.env.BENCH_PARTS?.split(',') ?? Object.keys(parts)
  const unknown = asked.find((name) => !parts[name])
  if (unknown) throw new Error(`no part ${unknown}; there are ${Object.keys(parts).join(', ')}`)
  const figures: Figure[] = []
  for (const name of asked) figures.push(...(await parts[name]!()))
  return figures
}

async function withDevices(work: (ground: Awaited<ReturnType<typeof prepareGround>>) => Promise<Figure[]>) {
  const ground = await prepareGround(devices)
  return await work(ground).finally(() => removeDirectory(ground.directory))
}
