/** Runs rules while one of two nodes is killed (kill -9) thirty times. The run ends with an error if an event is lost or repeated. */
import { killEffectRounds } from '../test/faults/rule-effects.ts'
import type { Figure } from './report.ts'

const requiredRounds = 30
/** BENCH_ROUNDS sets fewer rounds for a quick run. The report then shows a missed limit, because all rounds are required. */
const rounds = Number(process.env.BENCH_ROUNDS ?? requiredRounds)

export async function faultsRules(): Promise<Figure[]> {
  const seed = Number(process.env.BENCH_SEED ?? 1)
  const report = await killEffectRounds({ rounds, seed })
  return [
    {
      name: 'Rounds of kill -9 of one of two nodes under load',
      value: report.rounds,
      unit: 'rounds',
      limit: { min: requiredRounds },
    },
    { name: 'Acknowledged samples, each with its webhook', value: report.samples, unit: '' },
    { name: 'Samples that were sent more than once', value: report.retransmitted, unit: '' },
    { name: 'Webhooks', value: report.webhooks, unit: '' },
    { name: 'Webhooks that were sent once more after a kill', value: report.repeatedWebhooks, unit: '' },
    { name: 'Ticks of a schedule, none of them twice', value: report.ticks, unit: '' },
    { name: 'Alerts, none of them open twice', value: report.alerts, unit: '' },
    { name: 'Traces, equal to the statistics', value: report.traces, unit: '' },
  ]
}
