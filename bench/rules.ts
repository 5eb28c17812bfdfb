/** Measures the rules engine: evaluations, executions, samples with rules, and traces. */
import { bearer, client } from '../test/harness/client.ts'
import { prepareData } from './gateway/bench-platform.ts'
import { once, runParts } from './parts.ts'
import { removeDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'
import { manyAlerts } from './rules/alerts.ts'
import { evaluations } from './rules/evaluations.ts'
import { withOneRule, withOtherRules } from './rules/ingest.ts'
import { neighbour } from './rules/neighbour.ts'
import { newestPages, writtenTraces } from './rules/traces.ts'
import { type BenchPlatform, startBenchPlatform } from './time-series/bench-platform.ts'

/** Duration of one load. BENCH_SECONDS sets a shorter duration for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 5)
const devices = 1000
const executionsCount = 400

export async function rules(): Promise<Figure[]> {
  const evaluated = once(evaluations)
  const prepared = once(() => prepareData(devices))
  const onPlatform = async (work: (bench: BenchPlatform) => Promise<Figure[]>) => {
    const bench = await startBenchPlatform(await prepared())
    return await work(bench).finally(bench.stop)
  }
  try {
    return await runParts({
      evaluations: async () => (await evaluated()).figures,
      executions: () => onPlatform(async (bench) => await measureExecutions(bench, (await evaluated()).bareMs)),
      traces: () => onPlatform(writtenTraces),
      pages: () => onPlatform(newestPages),
      others: async () => await withOtherRules(await prepared(), seconds),
      every: async () => await withOneRule(await prepared(), seconds),
      neighbour,
      alerts: () => onPlatform(manyAlerts),
    })
  } finally {
    if (prepared.isCalled()) removeDirectory((await prepared()).directory)
  }
}

/** Compares an execution of a rule with the sum of an authenticated read and one evaluation in the bare library QuickJS. */
async function measureExecutions(bench: BenchPlatform, bareMs: number): Promise<Figure[]> {
  const ask = client(bench.platform.baseUrl, bearer(await bench.token()))
  const created = await ask('POST /re/api/v1/rules', { name: 'bench', expression: 'return ctx.limit > 5' })
  const path = `/re/api/v1/rules/${created.headers.get('location')?.split('/').at(-1)}`
  const times = { read: [] as number[], execute: [] as number[] }
  for (let index = -50; index < executionsCount; index++) {
    const read = await timeOf(() => ask(`GET ${path}`))
    const execute = await timeOf(() => ask(`POST ${path}/execute`, { limit: index }))
    if (index < 0) continue
    times.read.push(read)
    times.execute.push(execute)
  }
  const [read, execute] = [median(times.read), median(times.execute)]
  return [
    { name: 'Authenticated read of a rule, p50', value: read, unit: 'ms' },
    { name: 'Execution of a rule without actions, p50', value: execute, unit: 'ms' },
    {
      name: 'Execution of a rule against a read and a bare evaluation',
      value: execute / (read + bareMs),
      unit: 'times',
      limit: { max: 3 },
    },
  ]
}

async function timeOf(request: () => Promise<{ status: number; text: string }>): Promise<number> {
  const began = performance.now()
  const { status, text } = await request()
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return performance.now() - began
}
