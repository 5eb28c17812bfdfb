/**
 * Measures the rate of evaluations that get the context of rules, compared with the rate of the bare library QuickJS. Both rates are per
 * second of processor time.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { createHost, type HostDeps } from '../../src/services/rules/engine/context/host.ts'
import { ruleWorld } from '../../src/services/rules/engine/context/world.ts'
import { runScript } from '../../src/services/rules/engine/script-run.ts'
import { type Figure, median } from '../report.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const count = 4000

/** A context of 1 KB. */
const input = {
  tenantId: 'acme',
  endpoint: { endpointId: 'ep-1', appName: 'sensors', appVersionName: 'sensors-v1' },
  trigger: {
    id: 't-1',
    name: 'samples',
    type: 'ENDPOINT_DATA_SAMPLES_RECEIVED',
    endpointDataSamplesReceived: {
      dataSamples: Array.from({ length: 12 }, (_, index) => ({
        temperature: 20.5 + index,
        humidity: 44,
        co2: 400 + index,
        name: `s-${index}`,
      })),
    },
  },
  data: {},
}
const script = `const samples = ctx.trigger.endpointDataSamplesReceived.dataSamples
return samples.some(({ temperature }) => temperature > 40) ? true : null`

interface Rates {
  bare: number
  ours: number
}

/** Returns the results, and the time of one evaluation in the bare library, in milliseconds. */
export async function evaluations(): Promise<{ figures: Figure[]; bareMs: number }> {
  const sandbox = createSandbox({ worlds: { rule: ruleWorld }, active: 1, queuePerTenant: 2 * count })
  const bare = new Worker(new URL('../sandbox/bare.ts', import.meta.url))
  await once(bare, 'message')
  const measured: Rates[] = []
  for (let round = -1; round < rounds; round++) {
    const rates = { bare: await measureBare(bare), ours: await measureOurs(sandbox) }
    if (round >= 0) measured.push(rates) // the first round warms up
  }
  await bare.terminate()
  await sandbox.stop()
  const rate = (figure: keyof Rates) => median(measured.map((rates) => rates[figure]))
  const ratio = median(measured.map(({ bare: alone, ours }) => ours / alone))
  return {
    bareMs: 1000 / rate('bare'),
    figures: [
      { name: 'Evaluations, context of 1 KB: bare library, one core', value: rate('bare'), unit: '/s' },
      { name: 'Evaluations, context of 1 KB: context of rules, one core', value: rate('ours'), unit: '/s' },
      {
        name: 'Evaluations with the context of rules against the bare library',
        value: ratio,
        unit: 'times',
        limit: { min: 0.7 },
      },
    ],
  }
}

async function measureBare(bare: Worker): Promise<number> {
  bare.postMessage({ count, input: JSON.stringify(input), script })
  const [{ cpuSeconds }] = await once(bare, 'message')
  return count / cpuSeconds
}

async function measureOurs(sandbox: ReturnType<typeof createSandbox>): Promise<number> {
  const cpu = process.cpuUsage()
  const access = {
    tenantId: 'acme',
    endpoint: undefined,
    caller: async () => undefined,
    hasSecrets: false,
    isTry: false,
    cause: '',
  }
  const runs = Array.from({ length: count }, () => {
    const { call } = createHost({} as HostDeps, access)
    return runScript(sandbox, { tenantId: 'acme', input: JSON.stringify(input), script, call })
  })
  for (const outcome of await Promise.all(runs))
    if (!outcome.ok || outcome.json !== 'null') throw new Error(JSON.stringify(outcome))
  const { user, system } = process.cpuUsage(cpu)
  return count / ((user + system) / 1e6)
}
