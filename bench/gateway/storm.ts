/** Measures how fast all devices reconnect at the same time and send a message, while callers use the API. */
import { cpuSeconds } from '../../test/harness/processes.ts'
import type { Figure } from '../report.ts'
import { applicationName, type BenchPlatform } from './bench-platform.ts'
import type { Generator } from './generator.ts'
import { startProbe } from './probe.ts'

const devices = 10_000

export async function reconnectAll(generator: Generator, bench: BenchPlatform): Promise<Figure[]> {
  const order = {
    port: bench.port,
    count: devices,
    expecting: bench.expecting,
    window: 1,
    versionName: bench.versionName!,
    payload: 'note' as const,
    tokens: bench.tokens!,
    firstMessage: true,
  }
  await generator.connect({ ...order, concurrency: 200 })
  const probe = await startProbe(bench.platform.baseUrl, `/api/v1/applications/${applicationName}`, await bench.token())
  await generator.close()
  const before = cpuSeconds(bench.platform.pid)
  const back = await generator.connect({ ...order, concurrency: devices })
  const milliseconds = ((cpuSeconds(bench.platform.pid) - before) * 1000) / devices
  const { requests, p99Ms, slowestMs } = await probe.stop()
  await generator.close()
  console.error(
    `${devices} reconnected in ${back.seconds.toFixed(1)} s (p50 ${Math.round(back.p50Ms)} ms, slowest ${Math.round(back.slowestMs)} ms, ${back.retries} retries); ` +
      `${requests} requests meanwhile, p99 ${p99Ms.toFixed(1)} ms, slowest ${slowestMs.toFixed(1)} ms`,
  )
  return [
    {
      name: `${devices} devices reconnect at the same time: time until the last is served`,
      value: back.seconds,
      unit: 's',
      limit: { max: 30 },
    },
    { name: 'Connections that were refused or closed during the reconnects', value: back.retries, unit: '' },
    { name: 'Processor time of the platform for each device', value: milliseconds, unit: 'ms' },
    { name: 'GET one application during the reconnects: p99', value: p99Ms, unit: 'ms', limit: { max: 500 } },
  ]
}
