import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { createSandbox, type Sandbox } from '../src/sandbox/sandbox.ts'
import { type Figure, median } from './report.ts'
import { runHostile } from './sandbox/hostile.ts'
import { measureNeighbour } from './sandbox/neighbour.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 9)
const count = 4000

const input = JSON.stringify({
  tenantId: 'acme',
  endpoint: { endpointId: 'ep-1', metadata: { place: 'north bench', battery: { level: 71, status: 'good' } } },
  trigger: {
    endpointDataSamplesReceived: {
      dataSamples: Array.from({ length: 12 }, (_, index) => ({
        temperature: 20.5 + index,
        humidity: 44,
        co2: 400 + index,
        name: `s-${index}`,
      })),
    },
  },
})
const script = `const samples = ctx.trigger.endpointDataSamplesReceived.dataSamples
return samples.some(({ temperature }) => temperature > 40) ? true : null`

/**
 * Measures the speed of the sandbox and the effect of a tenant on other tenants, and runs hostile scripts with the limits of production.
 */
export async function sandbox(): Promise<Figure[]> {
  return [...(await compareSpeed()), ...(await compareNeighbour()), ...(await tryHostile())]
}

async function compareNeighbour(): Promise<Figure[]> {
  const { unloaded, withLoops, withFlood } = await measureNeighbour()
  return [
    { name: 'Short scripts of a tenant, p99', value: unloaded, unit: 'ms' },
    { name: 'The same while another tenant loops', value: withLoops / unloaded, unit: 'times', limit: { max: 2 } },
    {
      name: 'The same while another tenant floods its queue',
      value: withFlood / unloaded,
      unit: 'times',
      limit: { max: 2 },
    },
  ]
}

async function tryHostile(): Promise<Figure[]> {
  const { count, unexpected, longestSeconds, growthMb } = await runHostile()
  return [
    {
      name: `Hostile scripts that end in an unexpected way, of ${count}`,
      value: unexpected,
      unit: '',
      limit: { max: 0 },
    },
    { name: 'Longest hostile script', value: longestSeconds, unit: 's', limit: { max: 10 } },
    { name: 'Growth of memory during all hostile scripts', value: growthMb, unit: 'MB', limit: { max: 64 } },
  ]
}

/** Compares the speed of scripts in the sandbox with their speed in quickjs-wasi alone (the bare library), in alternating rounds. */
async function compareSpeed(): Promise<Figure[]> {
  const platform = createSandbox({ active: 1, queuePerTenant: 2 * count })
  const bare = new Worker(new URL('./sandbox/bare.ts', import.meta.url))
  await once(bare, 'message')
  const measured: { bare: Rate; ours: Rate; alternating: Rate; several: Rate }[] = []
  for (let round = -1; round < rounds; round++) {
    const result = {
      bare: await measureBare(bare),
      ours: await measureOurs(platform, () => 'acme'),
      alternating: await measureOurs(platform, (index) => `tenant-${index % 50}`),
      several: await measureSeveral(platform),
    }
    if (round >= 0) measured.push(result) // the first round warms up
  }
  await bare.terminate()
  await platform.stop()
  const ratio = (name: 'ours' | 'alternating' | 'several', figure: keyof Rate) =>
    median(measured.map((round) => round[name][figure] / round.bare[figure]))
  const rate = (name: 'bare' | 'ours', figure: keyof Rate) => median(measured.map((round) => round[name][figure]))
  const atLeast = { min: 0.7 }
  // All figures except the last use the processor time of all threads of the process. This includes dispatching, but no other work of the
  // machine.
  return [
    { name: 'Bare library, context of 1 KB, one core', value: rate('bare', 'perCpuSecond'), unit: '/s' },
    { name: 'Sandbox, context of 1 KB, one core', value: rate('ours', 'perCpuSecond'), unit: '/s' },
    { name: 'Sandbox against the bare library', value: ratio('ours', 'perCpuSecond'), unit: 'times', limit: atLeast },
    {
      name: 'The same with 50 tenants that take turns',
      value: ratio('alternating', 'perCpuSecond'),
      unit: 'times',
      limit: atLeast,
    },
    {
      name: 'The same with ten scripts for each context',
      value: ratio('several', 'perCpuSecond'),
      unit: 'times',
      limit: atLeast,
    },
    { name: 'Sandbox against the bare library, by elapsed time', value: ratio('ours', 'perSecond'), unit: 'times' },
  ]
}

interface Rate {
  perSecond: number
  perCpuSecond: number
}

async function measureBare(bare: Worker): Promise<Rate> {
  bare.postMessage({ count, input, script })
  const [{ result, seconds, cpuSeconds }] = await once(bare, 'message')
  if (result !== 'null') throw new Error(`the bare library returned ${result}`)
  return { perSecond: count / seconds, perCpuSecond: count / cpuSeconds }
}

async function measureOurs(platform: Sandbox, tenantOf: (index: number) => string): Promise<Rate> {
  return await measured(() =>
    Array.from({ length: count }, (_, index) => platform.run({ tenantId: tenantOf(index), input, script })),
  )
}

async function measureSeveral(platform: Sandbox): Promise<Rate> {
  const scripts = Array.from({ length: 10 }, () => ({ text: script }))
  return await measured(() =>
    Array.from({ length: count / 10 }, () => platform.runAll({ tenantId: 'acme', input, scripts })).flat(),
  )
}

async function measured(start: () => Promise<{ ok: boolean; json?: string }>[]): Promise<Rate> {
  const began = performance.now()
  const cpu = process.cpuUsage()
  for (const outcome of await Promise.all(start()))
    if (outcome.json !== 'null') throw new Error(JSON.stringify(outcome))
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: count / ((performance.now() - began) / 1000), perCpuSecond: count / ((user + system) / 1e6) }
}
