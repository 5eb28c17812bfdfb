import { prepareData } from './gateway/bench-platform.ts'
import { removeDirectory } from './platform.ts'
import type { Figure } from './report.ts'
import { recent } from './time-series/recent.ts'

const devices = 1000

/** Compares queries on samples that are not packed yet with the same queries on packed points. */
export async function recentData(): Promise<Figure[]> {
  const prepared = await prepareData(devices)
  return await recent(prepared).finally(() => removeDirectory(prepared.directory))
}
