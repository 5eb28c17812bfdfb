/** Reads the number of rounds and the seed of a bench with kill -9, and builds the figure of its result. */
import { withTemporaryDirectory } from './platform.ts'
import type { Figure } from './report.ts'

const requiredRounds = 50
/** BENCH_ROUNDS sets fewer rounds for a quick run. The report then shows a missed limit, because all rounds are required. */
const rounds = Number(process.env.BENCH_ROUNDS ?? requiredRounds)
const seed = Number(process.env.BENCH_SEED ?? 1)

export interface Rounds {
  rounds: number
  seed: number
  directory: string
}

export const inRounds = <T>(work: (options: Rounds) => Promise<T>): Promise<T> =>
  withTemporaryDirectory((directory) => work({ rounds, seed, directory }))

export const roundsFigure = (name: string, report: { rounds: number }): Figure => ({
  name,
  value: report.rounds,
  unit: 'rounds',
  limit: { min: requiredRounds },
})
