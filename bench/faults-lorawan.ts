/** Kills one of two nodes repeatedly while a LoRaWAN network publishes uplinks. An uplink that is lost or stored twice is an error. */
import { killLorawanRounds } from '../test/faults/lorawan.ts'
import type { Figure } from './report.ts'

const requiredRounds = 30

export async function faultsLorawan(): Promise<Figure[]> {
  const rounds = Number(process.env.BENCH_ROUNDS ?? requiredRounds)
  const report = await killLorawanRounds({ rounds, seed: Number(process.env.BENCH_SEED ?? 1) })
  return [
    {
      name: 'Rounds of kill -9 of one of two nodes under load; each uplink is one sample',
      value: report.rounds,
      unit: 'rounds',
      limit: { min: requiredRounds },
    },
    { name: '… uplinks', value: report.uplinks, unit: '' },
    { name: '… commands, all published', value: report.commands, unit: '' },
    { name: '… rounds in which the other node took over the session', value: report.takeovers, unit: '' },
    {
      name: '… longest time until uplinks are stored again',
      value: report.slowestTakeoverSeconds,
      unit: 's',
      limit: { max: 10 },
    },
  ]
}
