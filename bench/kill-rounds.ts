/** What the measurements with kill -9 share: how many rounds, with which seed, and the figure that says so. */
import { inDirectory } from './platform.ts'
import type { Figure } from './report.ts'

const wanted = 50
/** Fewer for a quick look, which is not within the limit then. */
const rounds = Number(process.env.BENCH_ROUNDS ?? wanted)
const seed = Number(process.env.BENCH_SEED ?? 1)

export interface Rounds {
  rounds: number
  seed: number
  directory: string
}

export const inRounds = <T>(work: (options: Rounds) => Promise<T>): Promise<T> =>
  inDirectory((directory) => work({ rounds, seed, directory }))

export const roundsFigure = (name: string, report: { rounds: number }): Figure => ({
  name,
  value: report.rounds,
  unit: 'rounds',
  limit: { least: wanted },
})
