/**
 * Kills the platform, its PostgreSQL, or both with SIGKILL at random moments, while devices send samples and a process packs slots.
 * Asserts that each acknowledged sample is stored once, and that no sample of a rejected message is stored.
 */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { afterAllTests } from '../harness/database.ts'
import { freePort } from '../harness/free-port.ts'
import { startPlatform } from '../harness/platform.ts'
import { type PostgresServer, startPostgresServer } from '../harness/postgres-server.ts'
import { environmentOfWorker } from '../harness/processes.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { type FleetReport, startFleet } from './fleet.ts'
import { killAll } from './kill.ts'

const program = resolve(import.meta.dirname, 'packer.ts')

export interface DeviceKillReport extends FleetReport {
  rounds: number
  /** Number of times that slots were packed during the test. */
  packed: number
  slowestRecoverySeconds: number
}

/**
 * Starts the platform with a PostgreSQL server of its own, on a new or an initialized data directory. The platform keeps its ports when it
 * is restarted.
 */
export async function startPlatformWithDatabase(directory: string, environment: Record<string, string> = {}) {
  const database = await startPostgresServer(directory)
  const ports = { WAYPOST_MQTT_PORT: String(await freePort()), WAYPOST_PORT: String(await freePort()) }
  const start = () =>
    startPlatform({
      directory,
      environment: { WAYPOST_LOG_LEVEL: 'error', WAYPOST_DATABASE_URL: database.url, ...ports, ...environment },
    })
  return { database, start, platform: await start() }
}

export async function killDeviceRounds(options: {
  rounds: number
  seed: number
  directory: string
}): Promise<DeviceKillReport> {
  const { rounds, directory } = options
  const random = seededRandom(options.seed)
  const started = await startPlatformWithDatabase(directory)
  const { database, start } = started
  let { platform } = started
  let packed = 0
  let packer = startPacker(database, () => packed++)
  const ask = await platform.asService(platform.bootstrap.default)
  const fleet = await startFleet({ ask, mqttUrl: platform.mqttUrl, httpUrl: platform.baseUrl, devices: 6, window: 10 })
  await fleet.waitForAcknowledgements()
  let slowest = 0
  for (let round = 0; round < rounds; round++) {
    await sleep(100 + random() * 900)
    fleet.longestSilenceSeconds()
    const [server, data] = kinds[round % kinds.length]!
    if (server) await Promise.all([killAll(platform), kill(packer)])
    if (data) {
      await database.kill()
      await sleep(random() * 300)
      await database.start()
    }
    if (server) {
      platform = await start()
      packer = startPacker(database, () => packed++)
    }
    await fleet.waitForAcknowledgements().catch((error) => {
      throw new Error(`round ${round}: ${error.message}; output of the platform:\n${platform.output().slice(-5000)}`)
    })
    slowest = Math.max(slowest, fleet.longestSilenceSeconds())
  }
  await fleet.finish()
  await kill(packer)
  const report = await fleet.verify(database.connection(), await platform.asService(platform.bootstrap.default))
  assert.equal(await platform.kill('SIGTERM'), 0)
  await database.stop()
  return { rounds, packed, slowestRecoverySeconds: slowest, ...report }
}

const kinds: [server: boolean, database: boolean][] = [
  [false, true],
  [true, true],
  [true, false],
]

function startPacker({ url }: PostgresServer, packed: () => void): ChildProcess {
  const child = spawn(process.execPath, [program, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: environmentOfWorker(),
  })
  child.stdout!.on('data', packed)
  afterAllTests(() => void child.kill('SIGKILL'))
  return child
}

async function kill(child: ChildProcess) {
  const ended = new Promise((done) => child.once('close', done))
  assert.ok(child.kill('SIGKILL'), 'the packing process must still run when it is killed')
  await ended
}
