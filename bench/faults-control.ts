/**
 * Runs commands, configurations, rollouts and uploads while one of two nodes is killed (kill -9) thirty times. The run ends with an error
 * if an acknowledged change is lost or a command is repeated.
 */
import { killControlRounds } from '../test/faults/control.ts'
import { withTemporaryDirectory } from './platform.ts'
import type { Figure } from './report.ts'

const requiredRounds = 30
/** BENCH_ROUNDS sets fewer rounds for a quick run. The report then shows a missed limit, because all rounds are required. */
const rounds = Number(process.env.BENCH_ROUNDS ?? requiredRounds)

export async function faultsControl(): Promise<Figure[]> {
  const seed = Number(process.env.BENCH_SEED ?? 1)
  const report = await withTemporaryDirectory((directory) => killControlRounds({ rounds, seed, directory }))
  const count = (name: string, value: number): Figure => ({ name, value, unit: '' })
  return [
    {
      name: 'Rounds of kill -9 of one of two nodes under load',
      value: report.rounds,
      unit: 'rounds',
      limit: { min: requiredRounds },
    },
    count(
      'Acknowledged commands: each is found, none is delivered after its expiry or again after its result',
      report.commands,
    ),
    count('Commands with the result of their device', report.executed),
    count('Commands that expired', report.expired),
    count('Callers that got their own result', report.awaited),
    count('Acknowledged configurations; each device has the last one of its endpoint', report.configurations),
    count('Released software versions; all devices have the newest', report.versions),
    count('Uploads of 1.5 MB, each complete', report.uploads),
    count('Downloads by devices, each complete', report.downloads),
  ]
}
