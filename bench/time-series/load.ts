/** Loads a server with samples and measures the cost. */
import { sleep } from '../../src/kernel/clock.ts'
import type { Generator } from '../gateway/generator.ts'
import type { RunResult } from '../gateway/load.ts'
import { type Load, orderOf } from '../gateway/measure.ts'
import type { Server } from '../gateway/servers.ts'
import type { BenchPlatform } from './bench-platform.ts'
import { type Cost, costOf, costText, type Process, processesOf } from './cost.ts'

export interface LoadResult extends RunResult {
  perSecond: number
}

const settlingMs = 1500

/** Runs work while all connections of the load are open and their endpoints are identified. */
export async function withConnections<T>(generator: Generator, server: Server, load: Load, work: () => Promise<T>) {
  await generator.connect(orderOf(server, load))
  if (server.tokens) await sleep(settlingMs)
  try {
    return await work()
  } finally {
    await generator.close()
  }
}

export interface Pace {
  seconds: number
  /** Messages per second. Without a rate, messages are sent as fast as possible. */
  rate?: number
  /** If given, the figures of each period of this length are reported. */
  periodSeconds?: number
}

export async function run(generator: Generator, server: Server, pace: Pace, processes: Process[] = []) {
  const pids = processes.length > 0 ? processes.map(({ pid }) => pid) : server.pids
  const ran = await generator.run({ ...pace, warmUpSeconds: Math.min(3, pace.seconds / 2), pids })
  if (ran.lost > 0) throw new Error(`${server.name}: ${ran.lost} connections were lost`)
  if (ran.refused > 0) throw new Error(`${server.name}: ${ran.refused} messages were refused`)
  if (ran.messages === 0) throw new Error(`${server.name}: no message was answered`)
  return { ...ran, perSecond: ran.messages / ran.seconds } satisfies LoadResult
}

/** Runs the load and measures the processor time of every process. */
export async function runWithCost(generator: Generator, bench: BenchPlatform, name: string, pace: Pace) {
  const processes = await processesOf(bench)
  const ran = await run(generator, bench, pace, processes)
  const cost: Cost = costOf(processes, ran)
  console.error(
    `${name}: ${Math.round(ran.perSecond)}/s, p50 ${ran.p50Ms.toFixed(1)} ms, p99 ${ran.p99Ms.toFixed(1)} ms; ${costText(cost)}`,
  )
  return { ...ran, cost }
}
