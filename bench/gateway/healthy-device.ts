/** Measures the latency of a well-behaved client twice, alone and while other clients misbehave, and compares the two. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { quantile } from '../register/measure.ts'
import type { Figure } from '../report.ts'
import { type PreparedData, versionName } from './bench-platform.ts'
import { startCore } from './contenders.ts'
import { loadCore, onCore } from './generator.ts'

const seconds = 15
const harness = join(import.meta.dirname, '../../test/harness')

const startChild = ([command, ...args]: readonly string[]) =>
  spawn(command!, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })

/** Measures the gateway with an extension that does nothing. The misbehaving clients also have a valid token. */
export async function healthyDevice(prepared: PreparedData): Promise<Figure[]> {
  const server = await startCore(prepared, 'acknowledged', { core: 'any', limits: true })
  const [healthyTopic, abusiveTopic] = prepared.tokens.map((token) => `kp1/${versionName}/dcx/${token}/json`)
  const { execPath } = process
  const port = String(server.port)
  const healthy = startChild(onCore(loadCore, [execPath, join(harness, 'mqtt-latency-probe.ts'), port, healthyTopic!]))
  // Misbehaving clients get the lowest priority, so that they do not take processor time from the measurement.
  const others = startChild(['nice', '-n', '19', execPath, join(harness, 'mqtt-abuse-process.ts'), port, abusiveTopic!])
  try {
    await nextMessage(healthy)
    await sleep(1000)
    const unloaded = await p99(healthy)
    others.send('begin')
    const attacked = await p99(healthy)
    if (healthy.exitCode !== null) throw new Error('the healthy device lost its connection')
    if (others.exitCode !== null) throw new Error('the misbehaving clients have exited')
    console.error(`p99 of a healthy device: ${unloaded.toFixed(2)} ms, under attack ${attacked.toFixed(2)} ms`)
    return [
      { name: 'A healthy device alone: p99', value: unloaded, unit: 'ms' },
      { name: 'A healthy device while others misbehave: p99', value: attacked, unit: 'ms' },
      {
        name: 'A healthy device while others misbehave: p99 against alone',
        value: attacked / unloaded,
        unit: 'times',
        limit: { max: 2 },
      },
    ]
  } finally {
    for (const child of [healthy, others]) if (child.connected) child.disconnect()
    await server.stop()
  }
}

/** Returns the p99 latency of responses in the next seconds. */
async function p99(child: ChildProcess): Promise<number> {
  await takeLatencies(child)
  await sleep(seconds * 1000)
  return quantile(await takeLatencies(child), 0.99)
}

/** Returns the latencies since the last call. */
function takeLatencies(child: ChildProcess): Promise<number[]> {
  child.send('report')
  return nextMessage(child) as Promise<number[]>
}

const nextMessage = (child: ChildProcess) =>
  new Promise<unknown>((resolve, reject) => {
    const lost = () => reject(new Error('the healthy device lost its connection'))
    child.once('exit', lost)
    child.once('message', (message) => {
      child.off('exit', lost)
      resolve(message)
    })
  })
