/** Sends requests from a separate process on the second core, so that the server has the first core to itself. */
import { spawn, spawnSync } from 'node:child_process'
import { cpuSeconds } from '../test/harness/processes.ts'

export interface LoadResult {
  perSecond: number
  /** Processor time of the server per request. On a busy machine this figure is more stable than the rate. */
  cpuMicroseconds: number
  p99Ms: number
}

export const pinToCore = (pid: number, core: number) => {
  const { status } = spawnSync('taskset', ['-apc', String(core), String(pid)], { stdio: 'ignore' })
  if (status !== 0) throw new Error(`taskset could not pin process ${pid} (Debian: util-linux)`)
}

export async function measureLoad(
  serverPid: number,
  url: string,
  headers: Record<string, string>,
  seconds = 6,
): Promise<LoadResult> {
  await sendRequests(url, headers, 2) // warm up
  const cpu = cpuSeconds(serverPid)
  const result = await sendRequests(url, headers, seconds)
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.total} requests to ${url} failed`)
  return {
    perSecond: result.total / seconds,
    cpuMicroseconds: ((cpuSeconds(serverPid) - cpu) / result.total) * 1e6,
    p99Ms: result.p99Ms,
  }
}

interface RequestCounts {
  total: number
  failed: number
  p99Ms: number
}

function sendRequests(url: string, headers: Record<string, string>, seconds: number): Promise<RequestCounts> {
  const child = spawn('taskset', [
    '-c',
    '1',
    process.execPath,
    import.meta.filename,
    JSON.stringify({ url, headers, seconds }),
  ])
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  child.stderr.pipe(process.stderr)
  return new Promise((resolve, reject) =>
    child.on('close', (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`the load ended with ${code}`)),
    ),
  )
}

if (process.argv[1] === import.meta.filename) {
  const { url, headers, seconds } = JSON.parse(process.argv[2]!) as {
    url: string
    headers: Record<string, string>
    seconds: number
  }
  const { default: autocannon } = await import('autocannon')
  const result = await autocannon({ url, headers, duration: seconds, connections: 32 })
  const total = result.requests.total
  process.stdout.write(JSON.stringify({ total, failed: result.non2xx + result.errors, p99Ms: result.latency.p99 }))
}
