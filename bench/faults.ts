import { killRounds } from '../test/faults/kill.ts'
import { seriesRounds } from '../test/faults/series.ts'
import { uploadLoad } from '../test/faults/uploads.ts'
import { inRounds, roundsFigure } from './kill-rounds.ts'
import type { Figure } from './report.ts'

/**
 * Runs fifty rounds of kill -9 at random moments, and fifty rounds while time series are packed. The run fails if an acknowledged row is
 * lost.
 */
export async function faults(): Promise<Figure[]> {
  const additionalLoad = uploadLoad()
  const report = await inRounds((options) => killRounds({ ...options, additionalLoad }))
  const series = await inRounds(seriesRounds)
  return [
    roundsFigure('Rounds of kill -9 without a loss', report),
    { name: 'Tenants acknowledged and found AVAILABLE', value: report.tenants, unit: '' },
    { name: 'Applications acknowledged and found', value: report.applications, unit: '' },
    { name: 'Blobs acknowledged and found', value: additionalLoad.blobs, unit: '' },
    roundsFigure('Rounds of kill -9 while time series are packed', series),
    { name: 'Samples acknowledged and found', value: series.acknowledged, unit: '' },
    { name: 'Slowest start after a kill', value: report.slowestStartSeconds, unit: 's', limit: { max: 10 } },
  ]
}
