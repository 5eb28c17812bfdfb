/**
 * Runs a job and an export over many endpoints while the node is killed (kill -9). The run ends with an error if the counts do not add up,
 * or if an endpoint is lost or changed twice.
 */
import { killDuringJobs } from '../test/faults/jobs.ts'
import { runCleanups } from '../test/harness/database.ts'
import type { Figure } from './report.ts'

const requiredRounds = 10
const requiredEndpoints = 100_000
/** BENCH_ROUNDS and BENCH_ENDPOINTS set smaller values for a quick run. The report then shows missed limits. */
const rounds = Number(process.env.BENCH_ROUNDS ?? requiredRounds)
const endpoints = Number(process.env.BENCH_ENDPOINTS ?? requiredEndpoints)

export async function faultsJobs(): Promise<Figure[]> {
  try {
    const report = await killDuringJobs({ endpoints, rounds })
    return [
      {
        name: 'Rounds of kill -9 during one job and one export; the counts add up after each',
        value: report.rounds,
        unit: 'rounds',
        limit: { min: requiredRounds },
      },
      {
        name: 'Endpoints that a filter selects; each is changed once and exported once',
        value: report.exportedLines,
        unit: 'endpoints',
        limit: { min: requiredEndpoints },
      },
      { name: 'From the request to the preview with counts and samples', value: report.previewSeconds, unit: 's' },
      { name: 'From the request to the end of the job, with all kills', value: report.seconds, unit: 's' },
      {
        name: 'Canceled after a kill: endpoints whose items are done, all of them changed',
        value: report.canceled.changed,
        unit: 'endpoints',
      },
      {
        name: 'Canceled after a kill: endpoints whose items are pending, none of them changed',
        value: report.canceled.pending,
        unit: 'endpoints',
      },
      {
        name: 'Memory of the node during the job against before the job',
        value: report.memoryMb.most / report.memoryMb.before,
        unit: 'times',
      },
    ]
  } finally {
    await runCleanups()
  }
}
