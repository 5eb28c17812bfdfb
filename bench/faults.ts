import { killRounds } from '../test/faults/kill.ts'
import { seriesRounds } from '../test/faults/series.ts'
import { uploads } from '../test/faults/uploads.ts'
import { freshDirectory, removeDirectory } from './platform.ts'
import type { Figure } from './report.ts'

/** Fifty rounds of kill -9 at random moments, and fifty while time series are packed; anything acknowledged and lost ends the run with an error. */
export async function faults(): Promise<Figure[]> {
  const directory = freshDirectory()
  const seed = Number(process.env.BENCH_SEED ?? 1)
  const beside = uploads()
  const report = await killRounds({ rounds: 50, seed, directory, beside })
  removeDirectory(directory)
  const place = freshDirectory()
  const series = await seriesRounds({ rounds: 50, seed, directory: place })
  removeDirectory(place)
  return [
    { name: 'Rounds of kill -9 survived', value: report.rounds, unit: 'rounds', limit: { least: 50 } },
    { name: 'Tenants acknowledged and found AVAILABLE', value: report.tenants, unit: '' },
    { name: 'Applications acknowledged and found', value: report.applications, unit: '' },
    { name: 'Blobs acknowledged and found', value: beside.blobs, unit: '' },
    {
      name: 'Rounds of kill -9 while time series are packed',
      value: series.rounds,
      unit: 'rounds',
      limit: { least: 50 },
    },
    { name: 'Samples acknowledged and found', value: series.acknowledged, unit: '' },
    { name: 'Slowest start after a kill', value: report.slowestStartSeconds, unit: 's', limit: { most: 10 } },
  ]
}
