/**
 * Sends samples over MQTT with QoS 1 to a complete platform in three cases: no application has a template; another application has a
 * template; the application itself has a template with a pipeline. Each PUBACK follows the commit of the sample and its document.
 */
import { bearer, client } from '../../test/harness/client.ts'
import { applicationName, prepareData } from '../gateway/bench-platform.ts'
import { type Generator, startGenerator } from '../gateway/generator.ts'
import type { Load } from '../gateway/measure.ts'
import { removeDirectory } from '../platform.ts'
import { type Figure, median } from '../report.ts'
import { type BenchPlatform, startBenchPlatform } from '../time-series/bench-platform.ts'
import { runWithCost, withConnections } from '../time-series/load.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 4)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const connections = 1000
const load: Load = { name: 'devices', connections, window: 4, payload: 'sample' }

const asf = '/asf/api/v1'
const otherApplication = 'other'
const pipeline = {
  processors: [
    { set: { if: 'ctx.dataSample.temperature > 30', field: 'hot', value: true } },
    { script: { source: 'ctx.dataSample.fahrenheit = ctx.dataSample.temperature * 1.8 + 32' } },
    { rename: { field: 'dataSample.level', target_field: 'dataSample.fill' } },
  ],
}
const template = { settings: { index: { default_pipeline: 'bench' } } }

type Setting = 'none' | 'other' | 'own'

export async function devices(): Promise<Figure[]> {
  const prepared = await prepareData(connections)
  const generator = startGenerator('any')
  try {
    const bench = await startBenchPlatform(prepared)
    try {
      return await measureSettings(generator, bench)
    } finally {
      await bench.stop()
    }
  } finally {
    generator.stop()
    removeDirectory(prepared.directory)
  }
}

async function measureSettings(generator: Generator, bench: BenchPlatform): Promise<Figure[]> {
  const expectOk = async (operation: string, body?: unknown) => {
    const answer = await client(bench.platform.baseUrl, bearer(await bench.token()))(operation, body)
    if (answer.status >= 300) throw new Error(`${operation}: ${answer.status} ${answer.text}`)
  }
  const indexOf = (name: string) => `${asf}/${bench.tenantId}-${name}/_template`
  await expectOk('POST /api/v1/applications', { name: otherApplication })
  await expectOk(`PUT ${asf}/_ingest/pipeline/bench`, pipeline)
  const change: Record<Setting, () => Promise<void>> = {
    none: async () => {},
    other: () => expectOk(`PUT ${indexOf(otherApplication)}`, template),
    own: () => expectOk(`PUT ${indexOf(applicationName)}`, template),
  }
  const restore: Record<Setting, () => Promise<void>> = {
    none: async () => {},
    other: () => expectOk(`DELETE ${indexOf(otherApplication)}`),
    own: () => expectOk(`DELETE ${indexOf(applicationName)}`),
  }
  const rates: Record<Setting, number[]> = { none: [], other: [], own: [] }
  // The cases alternate, so that disturbances of the machine affect all of them; the first round warms up.
  for (let round = 0; round <= rounds; round++)
    for (const setting of ['none', 'other', 'own'] as const) {
      await change[setting]()
      const { perSecond } = await withConnections(generator, bench, load, () =>
        runWithCost(generator, bench, `template: ${setting}`, { seconds }),
      )
      if (round > 0) rates[setting].push(perSecond)
      await restore[setting]()
    }
  const [none, other, own] = [median(rates.none), median(rates.other), median(rates.own)]
  return [
    { name: 'Samples of an application without a template', value: none, unit: '/s' },
    { name: 'Samples of an application with a template and a pipeline of three steps', value: own, unit: '/s' },
    {
      name: 'Rate with a template and pipeline against neither',
      value: own / none,
      unit: 'times',
      limit: { min: 0.5 },
    },
    {
      name: 'Samples of an application without a template, while another application has a template: rate against no template at all',
      value: other / none,
      unit: 'times',
      limit: { min: 0.97 },
    },
  ]
}
