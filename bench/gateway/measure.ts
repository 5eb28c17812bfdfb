/** The same three loads and the same idle fleet for every server. */
import { sleep } from '../../src/kernel/clock.ts'
import { memoryMb } from '../../test/harness/processes.ts'
import { type Generator, startGenerator } from './generator.ts'
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

export interface Idle {
  /** Of a connection that has said who it is. */
  kilobytes: number
  /** CONNECT and CONNACK. */
  connectsPerSecond: number
  /** With the first message, where that is when it is found out and written who is connected. */
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

/** What connections that say nothing (any more) cost, and how fast they were made. */
export async function idle(generator: Generator, server: Server, connections = 10_000): Promise<Idle> {
  const half = connections / 2
  const order = orderOf(server, { name: 'idle', connections: half, window: 1 })
  const second = startGenerator()
  try {
    // What the second half adds: a heap that has grown once, and compiled code, are not theirs.
    await generator.connect(order)
    const before = await settled(server)
    const { seconds } = await second.connect({ ...order, first: half })
    const after = await settled(server)
    await Promise.all([generator.close(), second.close()])
    await settled(server)
    const { seconds: connecting } = await generator.connect({ ...order, count: connections, greets: false })
    await generator.close()
    const result = {
      kilobytes: ((after - before) * 1024) / half,
      connectsPerSecond: connections / connecting,
      ...(order.greets && { firstMessagesPerSecond: half / seconds }),
    }
    const first = result.firstMessagesPerSecond
    console.error(
      `${server.name}: ${result.kilobytes.toFixed(1)} KB idle, ${Math.round(result.connectsPerSecond)} connects/s` +
        (first ? `, ${Math.round(first)}/s with the first message` : ''),
    )
    return result
  } finally {
    second.stop()
  }
}

async function settled({ collect, pids }: Server): Promise<number> {
  for (let n = 0; n < 3; n++) {
    await sleep(500)
    await collect()
  }
  return memoryMb(pids)
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
