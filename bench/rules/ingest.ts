/** Compares the rate of samples with and without rules. */
import { applicationName, type PreparedData } from '../gateway/bench-platform.ts'
import { type Generator, startGenerator } from '../gateway/generator.ts'
import { type Figure, median } from '../report.ts'
import { startBenchPlatform } from '../time-series/bench-platform.ts'
import type { Cost } from '../time-series/cost.ts'
import { type LoadResult, runWithCost, withConnections } from '../time-series/load.ts'
import { deleteRules, insertRules } from './definitions.ts'

const turns = Number(process.env.BENCH_TURNS ?? 3)
const load = { name: 'samples', connections: 1000, window: 4, payload: 'sample' as const }
/** Does not match, as most messages do: the trace of a run is written anyway. */
const expression = 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].temperature > 1000 ? true : null'

const cases = {
  without: undefined,
  'on other applications': { rules: 1000, application: undefined, expression },
  'triggers on other applications': { rules: 100_000, application: undefined, expression },
  'on every message': { rules: 1, application: applicationName, expression },
}
type Case = keyof typeof cases
type Measured = LoadResult & { cost: Cost }

/** Processor time of a message in the platform and its database; other work on the machine does not change it. */
const costOf = ({ cost }: Measured) => cost.node + cost.database

export async function ingestWithRules(prepared: PreparedData, seconds: number): Promise<Figure[]> {
  const generator = startGenerator('any')
  const results: Record<Case, Measured>[] = []
  try {
    for (let turn = 0; turn < turns; turn++) {
      const ofTurn: Partial<Record<Case, Measured>> = {}
      for (const name of Object.keys(cases) as Case[]) ofTurn[name] = await measure(generator, prepared, name, seconds)
      results.push(ofTurn as Record<Case, Measured>)
    }
  } finally {
    generator.stop()
  }
  return figuresOf(results)
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

function figuresOf(results: Record<Case, Measured>[]): Figure[] {
  const rate = (name: Case) => median(results.map((turn) => turn[name].perSecond))
  const ratio = (name: Case, of: (result: Measured) => number) =>
    median(results.map((turn) => of(turn[name]) / of(turn.without)))
  const perSecond = (result: Measured) => result.perSecond
  const times = 'times'
  return [
    { name: 'Samples without rules', value: rate('without'), unit: 'messages/s' },
    {
      name: 'With 1,000 rules on other applications against without',
      value: ratio('on other applications', perSecond),
      unit: times,
      limit: { min: 0.95 },
    },
    {
      name: 'With 100,000 triggers on other applications: cost of a message against without',
      value: ratio('triggers on other applications', costOf),
      unit: times,
      limit: { max: 1.1 },
    },
    {
      name: 'The same with 1,000 rules on other applications',
      value: ratio('on other applications', costOf),
      unit: times,
    },
    { name: 'With one rule on every message', value: rate('on every message'), unit: 'messages/s' },
    {
      name: 'With one rule on every message against without',
      value: ratio('on every message', perSecond),
      unit: times,
      limit: { min: 0.4 },
    },
    {
      name: 'The same: p99 of acknowledgements against without',
      value: ratio('on every message', ({ p99Ms }) => p99Ms),
      unit: times,
      limit: { max: 1.5 },
    },
  ]
}
