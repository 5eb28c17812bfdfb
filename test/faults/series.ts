/**
 * Kills the process that writes time series, its PostgreSQL, or both with SIGKILL at random moments while slots are packed. Asserts that
 * for each acknowledged value, this value or a value that was sent later for the same time is stored.
 */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { copyInitializedServer } from '../harness/database.ts'
import { environmentOfWorker } from '../harness/processes.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import type { WorkerTask } from './series-worker.ts'

const program = resolve(import.meta.dirname, 'series-worker.ts')
const endpoints = 40
const times = 30

export interface SeriesReport {
  rounds: number
  acknowledged: number
  points: number
}

type Points = [time: number, value: number][]

export async function seriesRounds(options: {
  rounds: number
  seed: number
  directory: string
}): Promise<SeriesReport> {
  const random = seededRandom(options.seed)
  const link = join(options.directory, 's')
  /** Endpoint and time → the greatest value that was acknowledged. */
  const acknowledged = new Map<string, number>()
  let count = 0
  await copyInitializedServer(join(options.directory, 'postgres'))
  let database: EmbeddedPostgres = await openDatabase()

  async function openDatabase() {
    const opened = await startEmbeddedPostgres({ directory: join(options.directory, 'postgres'), log: () => {} })
    // PostgreSQL gets a new socket directory at each start. The worker connects by a symbolic link that points to this directory.
    rmSync(link, { force: true })
    symlinkSync(opened.connection.host, link)
    return opened
  }

  async function killDatabase() {
    for (const pid of database.pids()) process.kill(pid, 'SIGKILL')
    await database.exited
  }

  function run(task: WorkerTask['task'], from: number) {
    const connection = { ...database.connection, host: link }
    const argument: WorkerTask = { connection, directory: options.directory, task, endpoints, from, times }
    const child = spawn(process.execPath, [program, JSON.stringify(argument)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: environmentOfWorker(),
    })
    const lines: string[] = []
    let rest = ''
    child.stdout!.on('data', (text) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop()!
      lines.push(...parts)
    })
    return { child, lines, closed: new Promise<void>((done) => child.on('close', () => done())) }
  }

  const waitUntil = async (description: string, holds: () => boolean, child: ChildProcess) => {
    const deadline = performance.now() + 60_000
    while (!holds()) {
      if (performance.now() > deadline || child.exitCode !== null) throw new Error(`${description} did not happen`)
      await sleep(20)
    }
  }

  for (let round = 0; round < options.rounds; round++) {
    const { child, lines, closed } = run('write', round * 1e9)
    await waitUntil('the first acknowledgement', () => lines.length > 0, child)
    await sleep(200 + random() * 1500)
    const kind = round % 3
    if (kind === 1) {
      await killDatabase()
      await sleep(random() * 300)
      database = await openDatabase()
      const before = lines.length
      await waitUntil('an acknowledgement after the database came back', () => lines.length > before + endpoints, child)
    }
    if (kind === 2) await killDatabase()
    child.kill('SIGKILL')
    await closed
    if (kind === 2) database = await openDatabase()
    for (const line of lines) {
      const [index, time, value] = line.split(' ') as [string, string, string]
      const key = `${index} ${time}`
      acknowledged.set(key, Math.max(acknowledged.get(key) ?? -1, Number(value)))
    }
    count += lines.length
  }

  const { lines, closed } = run('read', 0)
  await closed
  assert.equal(lines.length, endpoints)
  let points = 0
  for (const line of lines) {
    const {
      index,
      points: own,
      latest,
    } = JSON.parse(line) as {
      index: number
      points: Points
      latest: { timestamp: number; value: number }[]
    }
    const found = new Map(own)
    assert.equal(found.size, own.length)
    points += own.length
    for (const [key, value] of acknowledged) {
      const [endpoint, time] = key.split(' ').map(Number) as [number, number]
      if (endpoint !== index) continue
      const stored = found.get(time)
      assert.ok(stored !== undefined && stored >= value, `endpoint ${key}: acknowledged ${value}, found ${stored}`)
    }
    if (own.length > 0) assert.deepEqual([latest[0]?.timestamp, latest[0]?.value], own.at(-1))
  }
  await database.stop()
  return { rounds: options.rounds, acknowledged: count, points }
}
