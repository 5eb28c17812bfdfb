/** Starts InfluxDB 1.x and VictoriaMetrics from Debian, each with a temporary directory. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { freePort } from '../../test/harness/free-port.ts'
import { exited, isInstalled } from '../gateway/servers.ts'
import { type Dataset, linesOf } from './dataset.ts'
import { sendRequest } from './http.ts'

export interface Peer {
  name: string
  url: string
  pid: number
  /** Writes the samples and waits until the peer has finished merging its files. */
  fill(dataset: Dataset): Promise<void>
  /** Returns the size on disk. */
  bytes(): number
  stop(): Promise<void>
}

export interface Peers {
  influx: Peer
  victoria: Peer
}

/** Runs work with both peers, filled with these samples. */
export async function withPeers<T>(dataset: Dataset, work: (peers: Peers) => Promise<T>): Promise<T> {
  ensurePeers()
  const influx = await startInflux()
  const victoria = await startVictoria()
  try {
    for (const peer of [influx, victoria]) await peer.fill(dataset)
    return await work({ influx, victoria })
  } finally {
    await influx.stop()
    await victoria.stop()
  }
}

const packages = { influxd: 'influxdb', 'victoria-metrics': 'victoria-metrics' }

function ensurePeers() {
  const missing = Object.entries(packages).filter(([command]) => !isInstalled(command))
  if (missing.length === 0) return
  const names = missing.map(([, name]) => name).join(' ')
  throw new Error(
    `the bench needs ${names}; on Debian, run as root: apt-get install -y --no-install-recommends ${names}`,
  )
}

async function startInflux(): Promise<Peer> {
  const directory = mkdtempSync(join(tmpdir(), 'waypost-influxdb-'))
  const [port, rpc] = [await freePort(), await freePort()]
  const file = join(directory, 'influxdb.conf')
  writeFileSync(file, influxSettings(directory, port, rpc))
  const child = spawn('influxd', ['-config', file], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await waitForAnswer(child, `${url}/ping`)
  await sendRequest(`${url}/query?q=${encodeURIComponent('create database bench')}`, { method: 'POST' })
  const folders = ['data', 'wal'].map((name) => join(directory, name))
  return {
    name: 'InfluxDB 1.6',
    url,
    pid: child.pid!,
    async fill(dataset) {
      await write(`${url}/write?db=bench&precision=ms`, dataset)
      // InfluxDB merges its files when nothing was written for a second (see the settings). Its write-ahead log is nearly empty then.
      await settled(
        () => size(folders[0]!),
        () => size(folders[1]!) < 1_000_000,
      )
    },
    bytes: () => folders.reduce((sum, folder) => sum + size(folder), 0),
    stop: () => stopPeer(child, directory),
  }
}

const influxSettings = (directory: string, port: number, rpc: number) => `
reporting-disabled = true
bind-address = "127.0.0.1:${rpc}"
[meta]
  dir = "${directory}/meta"
[data]
  dir = "${directory}/data"
  wal-dir = "${directory}/wal"
  index-version = "tsi1"
  query-log-enabled = false
  cache-snapshot-write-cold-duration = "1s"
  compact-full-write-cold-duration = "1s"
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:${port}"
  log-enabled = false
[continuous_queries]
  enabled = false
[logging]
  level = "error"
`

async function startVictoria(): Promise<Peer> {
  const directory = mkdtempSync(join(tmpdir(), 'waypost-victoria-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const options = [
    `-storageDataPath=${directory}`,
    `-httpListenAddr=127.0.0.1:${port}`,
    '-retentionPeriod=100y',
    '-search.latencyOffset=0s',
    '-loggerLevel=ERROR',
  ]
  const child = spawn('victoria-metrics', options, { stdio: 'ignore' })
  await waitForAnswer(child, `${url}/health`)
  const folders = ['data', 'indexdb'].map((name) => join(directory, name))
  const bytes = () => folders.reduce((sum, folder) => sum + size(folder), 0)
  return {
    name: 'VictoriaMetrics',
    url,
    pid: child.pid!,
    async fill(dataset) {
      await write(`${url}/write?precision=ms`, dataset)
      await sendRequest(`${url}/internal/force_flush`)
      await sendRequest(`${url}/internal/force_merge`)
      await settled(bytes)
    },
    bytes,
    stop: () => stopPeer(child, directory),
  }
}

const concurrentWrites = 2

async function write(url: string, dataset: Dataset) {
  const lines = linesOf(dataset)
  const writer = async () => {
    for (let next = lines.next(); !next.done; next = lines.next())
      await sendRequest(url, { method: 'POST', body: next.value })
  }
  await Promise.all(Array.from({ length: concurrentWrites }, writer))
}

const quietMs = 3000
const timeoutMs = 60_000

/** Waits until the size has not changed for a while. */
async function settled(bytes: () => number, also = () => true) {
  const deadline = performance.now() + timeoutMs
  let [last, since] = [bytes(), performance.now()]
  while (!also() || performance.now() - since < quietMs) {
    if (performance.now() > deadline) throw new Error('a peer did not finish merging in time')
    await sleep(250)
    const now = bytes()
    if (now !== last) [last, since] = [now, performance.now()]
  }
}

/**
 * Returns the disk usage of all files. It counts allocated blocks, because some files are sparse. Some files may disappear during the scan.
 */
function size(directory: string): number {
  let sum = 0
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    sum += (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) * 512
  }
  return sum
}

async function waitForAnswer(child: ChildProcess, url: string) {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`)
    const open = await sendRequest(url).then(
      () => true,
      () => false,
    )
    if (open) return
    await sleep(50)
  }
  throw new Error(`${child.spawnfile} does not answer`)
}

async function stopPeer(child: ChildProcess, directory: string) {
  child.kill()
  await exited(child)
  rmSync(directory, { recursive: true, force: true })
}
