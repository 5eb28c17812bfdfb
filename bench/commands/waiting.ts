/** Measures ten thousand callers that wait for results of commands: the memory for each caller, and the latency of other requests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { startProbe } from '../gateway/probe.ts'
import { type HttpConnection, openHttpConnection } from '../register/http-connection.ts'
import type { Figure } from '../report.ts'
import { settledMemoryMb, withGarbageCollection } from '../settled-memory.ts'
import { type BenchNodes, pathOf, probePath } from './nodes.ts'

const batchMax = 250
const warmUpSeconds = 3

export async function waitingCallers(
  bench: BenchNodes,
  tokens: string[],
  callers: number,
  seconds: number,
): Promise<Figure[]> {
  const accessToken = await bench.token()
  const { kb, unloadedMs, busyMs } = await measureWaiting(bench, accessToken, tokens, callers, seconds)
  return [
    { name: `Memory of each of ${callers} callers that wait`, value: kb, unit: 'KB', limit: { max: 10 } },
    {
      name: `… of each of ${callers} requests that a bare HTTP server holds`,
      value: await heldByBareServer(callers, accessToken),
      unit: 'KB',
    },
    { name: 'GET one application before the callers wait: p99', value: unloadedMs, unit: 'ms' },
    { name: 'GET one application while the callers wait: p99', value: busyMs, unit: 'ms' },
    {
      name: '… p99 while the callers wait, against before',
      value: busyMs / unloadedMs,
      unit: 'times',
      limit: { max: 2 },
    },
  ]
}

/** Returns the memory of each waiting caller in KB, and the p99 latency of other requests before and during the wait. */
async function measureWaiting(
  { node, connect }: BenchNodes,
  accessToken: string,
  tokens: string[],
  callers: number,
  seconds: number,
) {
  const connections: HttpConnection[] = []
  const sql = connect(1)
  const probed = async (forSeconds = seconds) => {
    const probe = await startProbe(node.baseUrl, probePath, accessToken)
    await sleep(forSeconds * 1000)
    return (await probe.stop()).p99Ms
  }
  let failure: Error | undefined
  let closing = false
  try {
    await openConnections(node.baseUrl, callers, accessToken, connections)
    await probed()
    const unloadedMs = await probed()
    const before = await settledMemoryMb(node.pid)
    for (const [n, connection] of connections.entries()) {
      connection.ask('POST', `${pathOf(tokens[n % tokens.length]!)}?awaitTimeout=60`, accessToken).catch((error) => {
        if (!closing) failure ??= error
      })
      if (n % batchMax === 0) await sleep(20)
    }
    for (let waiting = 0; waiting < callers; await sleep(50)) {
      if (failure) throw failure
      const [row] = await sql<{ count: number }[]>`
        select count(*)::integer from commands.commands where status_code is null and waiting_node is not null`
      waiting = row!.count
    }
    const after = await settledMemoryMb(node.pid)
    // The garbage collection also removes compiled code. These requests are not measured, because they compile the code again.
    await probed(warmUpSeconds)
    const busyMs = await probed()
    if (failure) throw failure
    return { kb: ((after - before) * 1024) / callers, unloadedMs, busyMs }
  } finally {
    closing = true
    for (const connection of connections) connection.close()
    await sql.end({ timeout: 5 })
  }
}

/** Opens connections and sends one request on each, so that the memory of the connections is already in use when the wait is measured. */
async function openConnections(baseUrl: string, count: number, token: string, connections: HttpConnection[]) {
  while (connections.length < count) {
    const opened = Array.from({ length: batchMax }, async () => {
      const connection = await openHttpConnection(baseUrl)
      await connection.ask('GET', probePath, token)
      return connection
    })
    connections.push(...(await Promise.all(opened)))
  }
}

/** Returns the memory in KB of a request with the same headers that waits at a bare HTTP server, measured in the same way. */
async function heldByBareServer(count: number, token: string): Promise<number> {
  const server = spawn(process.execPath, [join(import.meta.dirname, 'bare-server.ts')], {
    env: { ...process.env, ...withGarbageCollection },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const connections: HttpConnection[] = []
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    await openConnections(`http://127.0.0.1:${Number(port)}`, count, token, connections)
    const before = await settledMemoryMb(server.pid!)
    for (const connection of connections) connection.ask('POST', '/held', token).catch(() => {}) // The server never answers.
    const after = await settledMemoryMb(server.pid!)
    return ((after - before) * 1024) / count
  } finally {
    for (const connection of connections) connection.close()
    server.kill()
  }
}
