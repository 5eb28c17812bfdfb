/** Applies the same three loads and the same idle connections to every server. */
import { sleep } from '../../src/kernel/clock.ts'
import { memoryMb } from '../../test/harness/processes.ts'
import type { Generator } from './generator.ts'
import type { RunResult } from './load.ts'
import type { PayloadName } from './payloads.ts'
import type { Server } from './servers.ts'

export interface Load {
  name: string
  connections: number
  window: number
  payload?: PayloadName
}

export const loads: Load[] = [
  { name: '10 connections, pipelined', connections: 10, window: 20 },
  { name: '1,000 connections', connections: 1000, window: 1 },
  { name: '10,000 connections', connections: 10_000, window: 1 },
]

const connectConcurrency = 200
/** Milliseconds to wait until the background work of first messages is done. */
const settlingMs = 3000

export interface LoadFigures {
  load: Load
  /** Messages per second of processor time. On a busy machine this figure is more stable than the rate. */
  perCore: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

export interface ConnectRates {
  connectsPerSecond: number
  firstMessagesPerSecond?: number
}

export const orderOf = (
  { port, expecting, subscribes, versionName, tokens }: Server,
  { connections, window, payload }: Load,
) => ({
  port,
  count: connections,
  expecting,
  window,
  concurrency: connectConcurrency,
  versionName: versionName ?? 'bench-v1',
  payload: payload ?? ('note' as const),
  // With the first message, the gateway identifies the endpoint and records its connection. This work is not measured here.
  ...(tokens && { tokens, firstMessage: true }),
  ...(subscribes && { subscribes }),
})

export async function measure(generator: Generator, server: Server, load: Load, seconds: number): Promise<LoadFigures> {
  await generator.connect(orderOf(server, load))
  if (server.tokens) await sleep(settlingMs)
  const ran = await generator.run({ seconds, warmUpSeconds: seconds / 3, pids: server.pids })
  await generator.close()
  requireNoFailures(server, load, ran)
  const used = sum(ran.cpuSeconds)
  const measured = {
    load,
    perCore: ran.messages / used,
    perSecond: ran.messages / ran.seconds,
    p50Ms: ran.p50Ms,
    p99Ms: ran.p99Ms,
  }
  const share = (value: number) => `${Math.round((value / ran.seconds) * 100)} %`
  console.error(
    `${server.name}, ${load.name}: ${Math.round(measured.perCore)} for one core, ${Math.round(measured.perSecond)}/s, ` +
      `p50 ${ran.p50Ms.toFixed(2)} ms, p99 ${ran.p99Ms.toFixed(2)} ms (server ${share(used)}, load ${share(ran.loadCpuSeconds)} of a core)`,
  )
  return measured
}

function requireNoFailures({ name }: Server, load: Load, { lost, refused, messages }: RunResult) {
  if (lost > 0) throw new Error(`${name}, ${load.name}: ${lost} connections were lost`)
  if (refused > 0) throw new Error(`${name}, ${load.name}: ${refused} messages were refused`)
  if (messages === 0) throw new Error(`${name}, ${load.name}: no message was answered`)
}

/** Measures at a steady rate below the maximum, so that the latency does not include waiting behind other messages. */
export async function atRate(generator: Generator, server: Server, rate: number, seconds: number): Promise<RunResult> {
  const load = { name: `${rate} messages/s`, connections: 1000, window: 8 }
  await generator.connect(orderOf(server, load))
  if (server.tokens) await sleep(settlingMs)
  const ran = await generator.run({ seconds, warmUpSeconds: seconds / 3, rate, pids: server.pids })
  await generator.close()
  requireNoFailures(server, load, ran)
  return ran
}

/**
 * Returns the memory of 10,000 idle connections, in kilobytes each. The server runs with a small young generation (`smallYoungGeneration`),
 * because V8 does not shrink it again after a burst.
 */
export async function measureIdle(generator: Generator, server: Server, connections = 10_000): Promise<number> {
  const order = orderOf(server, { name: 'idle', connections, window: 1 })
  // These connections warm up the server, so that memory for compiled code does not count.
  await generator.connect({ ...order, count: Math.min(200, connections) })
  await generator.close()
  const before = await settledMemoryMb(server)
  await generator.connect(order)
  const after = await settledMemoryMb(server)
  await generator.close()
  const kilobytes = ((after - before) * 1024) / connections
  console.error(`${server.name}: ${kilobytes.toFixed(1)} KB idle`)
  return kilobytes
}

export const smallYoungGeneration = { NODE_OPTIONS: '--max-semi-space-size=2' }

/** Measures how fast connections are opened: with CONNECT alone, and with a first message if this message identifies the endpoint. */
export async function measureConnects(
  generator: Generator,
  server: Server,
  connections = 10_000,
): Promise<ConnectRates> {
  const order = orderOf(server, { name: 'connecting', connections, window: 1 })
  const rate = async (firstMessage: boolean) => {
    const { seconds } = await generator.connect({ ...order, firstMessage })
    await generator.close()
    if (firstMessage) await sleep(settlingMs)
    return connections / seconds
  }
  const result: ConnectRates = { connectsPerSecond: await rate(false) }
  if (order.firstMessage) result.firstMessagesPerSecond = await rate(true)
  console.error(
    `${server.name}: ${Object.values(result).map(Math.round).join('/s, with the first message ')}/s connects`,
  )
  return result
}

async function settledMemoryMb({ collectGarbage, pids }: Server): Promise<number> {
  for (let n = 0; n < 3; n++) {
    await sleep(500)
    await collectGarbage()
  }
  return memoryMb(pids)
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
