/** The same three loads and the same idle fleet for every server. */
import { sleep } from '../../src/kernel/clock.ts'
import { memoryMb } from '../../test/harness/processes.ts'
import type { Generator } from './generator.ts'
import type { Ran } from './load.ts'
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

const connectingAtOnce = 200
/** Until what the first messages left to be done in the background is done. */
const settlingMs = 3000

export interface Measured {
  load: Load
  /** Messages for a second of processor time: on a noisy machine this holds, the rate does not. */
  perCore: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

export interface Connecting {
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
  atOnce: connectingAtOnce,
  versionName: versionName ?? 'bench-v1',
  payload: payload ?? ('note' as const),
  // Who an endpoint is and that it is connected now is found out and written at its first message: not what is measured here.
  ...(tokens && { tokens, greets: true }),
  ...(subscribes && { subscribes }),
})

export async function measure(generator: Generator, server: Server, load: Load, seconds: number): Promise<Measured> {
  await generator.connect(orderOf(server, load))
  if (server.tokens) await sleep(settlingMs)
  const ran = await generator.run({ seconds, warmUpSeconds: seconds / 3, pids: server.pids })
  await generator.close()
  check(server, load, ran)
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

function check({ name }: Server, load: Load, { lost, refused, messages }: Ran) {
  if (lost > 0) throw new Error(`${name}, ${load.name}: ${lost} connections were lost`)
  if (refused > 0) throw new Error(`${name}, ${load.name}: ${refused} messages were refused`)
  if (messages === 0) throw new Error(`${name}, ${load.name}: no message was answered`)
}

/** At a steady rate, where the time of an answer is not that of the queue before it. */
export async function atRate(generator: Generator, server: Server, rate: number, seconds: number): Promise<Ran> {
  const load = { name: `${rate} messages/s`, connections: 1000, window: 8 }
  await generator.connect(orderOf(server, load))
  if (server.tokens) await sleep(settlingMs)
  const ran = await generator.run({ seconds, warmUpSeconds: seconds / 3, rate, pids: server.pids })
  await generator.close()
  check(server, load, ran)
  return ran
}

/**
 * What 10,000 connections that say nothing any more cost, in kilobytes for each. In a process whose young generation is held
 * small (`youngHeld`): once a burst has enlarged it, it stays, however few connections there are.
 */
export async function idle(generator: Generator, server: Server, connections = 10_000): Promise<number> {
  const order = orderOf(server, { name: 'idle', connections, window: 1 })
  // So that compiled code does not count as theirs.
  await generator.connect({ ...order, count: Math.min(200, connections) })
  await generator.close()
  const before = await settled(server)
  await generator.connect(order)
  const after = await settled(server)
  await generator.close()
  const kilobytes = ((after - before) * 1024) / connections
  console.error(`${server.name}: ${kilobytes.toFixed(1)} KB idle`)
  return kilobytes
}

export const youngHeld = { NODE_OPTIONS: '--max-semi-space-size=2' }

/** How fast connections are made: CONNECT alone, and with the first message where that is when it is found out who it is. */
export async function connecting(generator: Generator, server: Server, connections = 10_000): Promise<Connecting> {
  const order = orderOf(server, { name: 'connecting', connections, window: 1 })
  const rate = async (greets: boolean) => {
    const { seconds } = await generator.connect({ ...order, greets })
    await generator.close()
    if (greets) await sleep(settlingMs)
    return connections / seconds
  }
  const result: Connecting = { connectsPerSecond: await rate(false) }
  if (order.greets) result.firstMessagesPerSecond = await rate(true)
  console.error(
    `${server.name}: ${Object.values(result).map(Math.round).join('/s, with the first message ')}/s connects`,
  )
  return result
}

async function settled({ collect, pids }: Server): Promise<number> {
  for (let n = 0; n < 3; n++) {
    await sleep(500)
    await collect()
  }
  return memoryMb(pids)
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
