/** Measures how fast the versions that endpoints should install (their targets) are determined, and downloads by many devices. */
import { openBenchPlatform } from './register/bench-platform.ts'
import type { Figure } from './report.ts'
import { downloads } from './software/downloads.ts'
import { fill, targetOfOne, targetsOfAll } from './software/targets.ts'

export async function software(): Promise<Figure[]> {
  const bench = await openBenchPlatform()
  try {
    const rates = await downloads(bench)
    const filterIds = await fill(bench)
    return [...(await targetsOfAll(bench, filterIds)), ...(await targetOfOne(bench)), ...rates]
  } finally {
    await bench.close()
  }
}
