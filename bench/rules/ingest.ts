/** Compares the rate of samples with and without rules. */
import { applicationName, type PreparedData } from '../gateway/bench-platform.ts'
import { type Generator, startGenerator } from '../gateway/generator.ts'
import { type Figure, median } from '../report.ts'
import { startBenchPlatform } from '../time-series/bench-platform.ts'
import type { Cost } from '../time-series/cost.ts'
import { type LoadResult, runWithCost, withConnections } from '../time-series/load.ts'
import { deleteRules, insertRules } from './definitions.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const load = { name: 'samples', connections: 1000, window: 4, payload: 'sample' as const }
/** The expression returns null for every message, so no action runs. The trace of the run is still written. */
const expression = 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].temperature > 1000 ? true : null'

const cases = {
  without: undefined,
  'on other applications': { rules: 1000, application: undefined, expression },
  'triggers on other applications': { rules: 100_000, application: undefined, expression },
  'on every message': { rules: 1, application: applicationName, expression },
}
type Case = keyof typeof cases
type Measured = LoadResult & { cost: Cost }

/** Returns the processor time of a message in the platform and its database. Other work on the machine does not change this figure. */
const costOf = ({ cost }: Measured) => cost.node + cost.database

/** Measures the cases in turns, because the speed of the machine varies. */
async function measureCases<C extends Case>(
  names: C[],
  prepared: PreparedData,
  seconds: number,
): Promise<Record<C, Measured>[]> {
  const generator = startGenerator('any')
  const results: Record<C, Measured>[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      const measuredInRound: Partial<Record<C, Measured>> = {}
      // The order alternates, so that no case always runs first.
      for (const name of round % 2 === 0 ? names : names.toReversed())
        measuredInRound[name] = await measure(generator, prepared, name, seconds)
      results.push(measuredInRound as Record<C, Measured>)
    }
  } finally {
    generator.stop()
  }
  return results
}

async function measure(generator: Generator, prepared: PreparedData, name: Case, seconds: number): Promise<Measured> {
  const preparing = await startBenchPlatform(prepared)
  await deleteRules(preparing.db)
  if (cases[name]) await insertRules(preparing.db, preparing.tenantId, cases[name])
  await preparing.stop()
  const bench = await startBenchPlatform(prepared)
  try {
    const result = await withConnections(generator, bench, load, () => runWithCost(generator, bench, name, { seconds }))
    const [row] = await bench.db.sql`
      select (select count(*) from rules.events)::int as waiting, (select count(*) from rules.traces)::int as traces`
    console.error(
      `${name}: ${Math.round(result.perSecond)}/s, p99 ${result.p99Ms.toFixed(1)} ms, ${JSON.stringify(row)}`,
    )
    return result
  } finally {
    await bench.stop()
  }
}

const perSecond = (result: Measured) => result.perSecond

/** Measures messages when rules exist, but no message triggers them. */
export async function withOtherRules(prepared: PreparedData, seconds: number): Promise<Figure[]> {
  const names = ['without', 'on other applications', 'triggers on other applications'] as const
  const results = await measureCases([...names], prepared, seconds)
  const ratio = (name: (typeof names)[number], figureOf: (result: Measured) => number) =>
    median(results.map((turn) => figureOf(turn[name]) / figureOf(turn.without)))
  return [
    { name: 'Samples without rules', value: median(results.map((turn) => turn.without.perSecond)), unit: 'messages/s' },
    {
      name: 'With 1,000 rules on other applications: rate against no rules',
      value: ratio('on other applications', perSecond),
      unit: 'times',
      limit: { min: 0.95 },
    },
    {
      name: 'With 1,000 rules on other applications: cost of a message against no rules',
      value: ratio('on other applications', costOf),
      unit: 'times',
    },
    {
      name: 'With 100,000 triggers on other applications: cost of a message against no rules',
      value: ratio('triggers on other applications', costOf),
      unit: 'times',
      limit: { max: 1.1 },
    },
  ]
}

/** Measures messages when every message triggers a rule. */
export async function withOneRule(prepared: PreparedData, seconds: number): Promise<Figure[]> {
  const results = await measureCases(['without', 'on every message'], prepared, seconds)
  const ratio = (figureOf: (result: Measured) => number) =>
    median(results.map((turn) => figureOf(turn['on every message']) / figureOf(turn.without)))
  return [
    {
      name: 'With one rule on every message',
      value: median(results.map((turn) => turn['on every message'].perSecond)),
      unit: 'messages/s',
    },
    {
      name: 'With one rule on every message: rate against no rules',
      value: ratio(perSecond),
      unit: 'times',
      limit: { min: 0.4 },
    },
    {
      name: 'With one rule on every message: p99 of acknowledgements against no rules',
      value: ratio(({ p99Ms }) => p99Ms),
      unit: 'times',
      limit: { max: 1.5 },
    },
  ]
}
