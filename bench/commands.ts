/**
 * Measures commands: the round trip, many devices, callers that wait, and a device that is connected to a different node than its caller.
 */
import type { Pool } from '../src/kernel/db.ts'
import { cpuSeconds } from '../test/harness/processes.ts'
import { openCallers } from './commands/callers.ts'
import { type AnsweringDevice, openBareDevice, openDevice } from './commands/devices.ts'
import { type BenchNodes, openBenchNodes, pathOf } from './commands/nodes.ts'
import { waitingCallers } from './commands/waiting.ts'
import { type PreparedData, prepareData } from './gateway/bench-platform.ts'
import { startCore } from './gateway/contenders.ts'
import { once, runParts } from './parts.ts'
import { removeDirectory } from './platform.ts'
import { quantile } from './register/measure.ts'
import type { Figure } from './report.ts'

/** BENCH_SECONDS and BENCH_CALLERS set smaller values for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 6)
const callersThatWait = Number(process.env.BENCH_CALLERS ?? 10_000)
const rounds = seconds * 100
const warmUps = 150
const deviceCount = 1000
const commandsPerSecond = 2000
const concurrentCallers = 256
const concurrentConnects = 50
const concurrentCommits = 64

export async function commands(): Promise<Figure[]> {
  const bench = await openBenchNodes(2 * deviceCount, callersThatWait + 500)
  const sql = bench.connect(concurrentCommits)
  const prepared = await prepareData(1)
  try {
    await sql.unsafe(
      'create table public.bench_commits (n bigint generated always as identity primary key, at timestamptz)',
    )
    const unloaded = once(() => roundTrip(bench, sql, prepared))
    return await runParts({
      'round-trip': async () => roundTripFigures(await unloaded()),
      devices: async () => await manyDevices(bench, sql, quantile((await unloaded()).command, 0.99)),
      waiting: () => waitingCallers(bench, bench.tokens.slice(deviceCount), callersThatWait, seconds),
      nodes: () => otherNode(bench),
    })
  } finally {
    await sql.end({ timeout: 5 })
    await bench.close()
    removeDirectory(prepared.directory)
  }
}

const commit = (sql: Pool) => sql`insert into public.bench_commits (at) values (now())`

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

interface RoundTrips {
  /** Milliseconds from a device request to its response at a gateway without traffic log, with an extension that does nothing. */
  request: number[]
  commit: number[]
  /** The sum of `request` and `commit`. */
  bare: number[]
  command: number[]
}

/** Measures commands, and alternately the minimum work of a command: one device request and one commit. */
async function roundTrip({ node, tokens, token }: BenchNodes, sql: Pool, prepared: PreparedData): Promise<RoundTrips> {
  const gateway = await startCore(prepared, 'answered', { core: 'any' })
  const bareDevice = await openBareDevice(gateway.port, prepared.tokens[0]!)
  const device = await openDevice(node.mqttUrl, tokens[0]!)
  const caller = await openCallers(node.baseUrl, 1, await token())
  const times: RoundTrips = { request: [], commit: [], bare: [], command: [] }
  for (let round = -warmUps; round < rounds; round++) {
    const requestMs = await timed(bareDevice.request)
    const commitMs = await timed(() => commit(sql))
    const [command] = await caller.asFastAsPossible(single(pathOf(tokens[0]!)))
    if (round < 0) continue
    times.request.push(requestMs)
    times.commit.push(commitMs)
    times.bare.push(requestMs + commitMs)
    times.command.push(command!)
  }
  for (const opened of [device, bareDevice, caller]) opened.close()
  await gateway.stop()
  return times
}

function single(path: string) {
  let next: string | undefined = path
  return () => {
    const index = next
    next = undefined
    return index
  }
}

const roundTripFigures = ({ request, commit, bare, command }: RoundTrips): Figure[] => [
  { name: 'Bare gateway request and answer: p50', value: quantile(request, 0.5), unit: 'ms' },
  { name: 'One durable commit: p50', value: quantile(commit, 0.5), unit: 'ms' },
  { name: 'Bare gateway request and answer, and one commit: p50', value: quantile(bare, 0.5), unit: 'ms' },
  { name: 'Bare gateway request and answer, and one commit: p99', value: quantile(bare, 0.99), unit: 'ms' },
  { name: 'Command round trip: p50', value: quantile(command, 0.5), unit: 'ms' },
  { name: 'Command round trip: p99', value: quantile(command, 0.99), unit: 'ms', limit: { max: 15 } },
  ratio('… p50 against bare request, answer and commit', quantile(command, 0.5) / quantile(bare, 0.5), { max: 4 }),
  ratio('… p99 against bare request, answer and commit', quantile(command, 0.99) / quantile(bare, 0.99), { max: 5 }),
]

const ratio = (name: string, value: number, limit: { max: number } | { min: number }): Figure => ({
  name,
  value,
  unit: 'times',
  limit,
})

async function openDevices({ node, tokens }: BenchNodes): Promise<AnsweringDevice[]> {
  const devices: AnsweringDevice[] = []
  for (let from = 0; from < deviceCount; from += concurrentConnects) {
    const some = tokens.slice(from, from + concurrentConnects)
    devices.push(...(await Promise.all(some.map((token) => openDevice(node.mqttUrl, token)))))
  }
  return devices
}

async function manyDevices(bench: BenchNodes, sql: Pool, unloadedP99: number): Promise<Figure[]> {
  const { node, tokens, token } = bench
  const devices = await openDevices(bench)
  const callers = await openCallers(node.baseUrl, concurrentCallers, await token())
  const path = (n: number) => pathOf(tokens[n % deviceCount]!)
  await callers.atRate(commandsPerSecond / 4, 2, path)
  // The highest rate is measured before the latencies, because V8 compiles the code during the first commands. Compiling takes a fifth of
  // their processor time and would lengthen the latencies.
  const end = performance.now() + seconds * 1000
  let n = 0
  const cpu = cpuSeconds(node.pid)
  const fastest = await callers.asFastAsPossible(() => (performance.now() < end ? path(n++) : undefined))
  const cpuMs = ((cpuSeconds(node.pid) - cpu) * 1000) / fastest.length

  const began = performance.now()
  const times = await callers.atRate(commandsPerSecond, seconds, path)
  const reached = times.length / ((performance.now() - began) / 1000)
  for (const opened of [callers, ...devices]) opened.close()
  const commits = await commitsPerSecond(sql)
  const p99 = quantile(times, 0.99)
  const name = `${commandsPerSecond} commands/s through ${deviceCount} devices`
  return [
    { name: `${name}: reached`, value: reached, unit: '/s', limit: { min: commandsPerSecond * 0.95 } },
    { name: `${name}: p50`, value: quantile(times, 0.5), unit: 'ms' },
    { name: `${name}: p99`, value: p99, unit: 'ms' },
    ratio('… p99 against one command at a time', p99 / unloadedP99, { max: 3 }),
    { name: `Commands of ${concurrentCallers} callers`, value: fastest.length / seconds, unit: '/s' },
    { name: 'Processor time of the node for each command', value: cpuMs, unit: 'ms' },
    { name: `Durable commits of one row over ${concurrentCommits} connections`, value: commits, unit: '/s' },
    ratio('… commands of the callers against these commits', fastest.length / seconds / commits, { min: 0.5 }),
  ]
}

async function commitsPerSecond(sql: Pool): Promise<number> {
  const end = performance.now() + 3000
  let count = 0
  const commitRepeatedly = async () => {
    while (performance.now() < end) {
      await commit(sql)
      count++
    }
  }
  await Promise.all(Array.from({ length: concurrentCommits }, commitRepeatedly))
  return count / 3
}

/** Measures commands to a device at the node of the caller, and alternately to a device at another node. */
async function otherNode({ node, startOther, tokens, token }: BenchNodes): Promise<Figure[]> {
  const other = await startOther()
  try {
    const [here, there] = [await openDevice(node.mqttUrl, tokens[0]!), await openDevice(other.mqttUrl, tokens[1]!)]
    const connection = await openCallers(node.baseUrl, 1, await token())
    const times = [[], []] as [number[], number[]]
    for (let round = -warmUps; round < rounds; round++) {
      for (const n of [0, 1] as const) {
        const [ms] = await connection.asFastAsPossible(single(pathOf(tokens[n]!)))
        if (round >= 0) times[n].push(ms!)
      }
    }
    here.close()
    there.close()
    connection.close()
    const [same, different] = times.map((one) => quantile(one, 0.5)) as [number, number]
    return [
      { name: 'Two nodes, device at the node of the caller: p50', value: same, unit: 'ms' },
      { name: 'Two nodes, device at the other node: p50', value: different, unit: 'ms' },
      { name: 'Two nodes, device at the other node: p99', value: quantile(times[1], 0.99), unit: 'ms' },
      ratio('… p50 against the same node', different / same, { max: 2 }),
    ]
  } finally {
    await other.stop()
  }
}
