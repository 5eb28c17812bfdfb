/** Fault tests with a full disk and a slow disk while devices send: every acknowledged message must be stored. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { connect } from '../../src/kernel/db.ts'
import { connectEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { startPlatform } from '../harness/platform.ts'
import { type Fleet, type FleetReport, startFleet } from './fleet.ts'
import { startPlatformWithDatabase } from './kill-under-device-load.ts'

const mebibyte = 1024 * 1024
const load = { devices: 6, window: 10 }

export interface FullDiskReport extends FleetReport {
  /** Messages that were acknowledged while the disk was full, because PostgreSQL still had allocated space. */
  acknowledgedWhileFull: number
  slowestRecoverySeconds: number
}

/**
 * Runs the platform with its own PostgreSQL on a filesystem of 300 MB. First the disk is too full for data, which PostgreSQL survives. Then
 * it is too full for the WAL, which stops PostgreSQL. In both cases, the platform must recover when the space is freed after 10 s.
 */
export async function fullDisk({ directory }: { directory: string }): Promise<FullDiskReport> {
  mount(directory)
  try {
    const platform = await startPlatform({ directory, environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
    const ask = await platform.asService(platform.bootstrap.default)
    const fleet = await startFleet({ ask, mqttUrl: platform.mqttUrl, httpUrl: platform.baseUrl, ...load })
    await fleet.waitForAcknowledgements()
    await sleep(2000)
    const connection = (await connectEmbeddedPostgres(join(directory, 'postgres')))!
    const ballast = join(directory, 'ballast')
    let [acknowledgedWhileFull, slowestRecoverySeconds] = [0, 0]
    for (const fill of [() => fillDisk(directory, ballast), () => exhaustWal(directory, ballast, connection)]) {
      await fill()
      const before = fleet.acknowledged()
      await sleep(10_000)
      acknowledgedWhileFull += fleet.acknowledged() - before
      await assertWriteOr503(ask)
      rmSync(ballast)
      slowestRecoverySeconds = Math.max(slowestRecoverySeconds, await recoverySeconds(fleet))
      await sleep(3000)
    }
    await fleet.finish()
    const report = await fleet.verify(connection, await platform.asService(platform.bootstrap.default))
    assert.equal(await platform.kill('SIGTERM'), 0)
    return { ...report, acknowledgedWhileFull, slowestRecoverySeconds }
  } finally {
    spawnSync('umount', ['-l', directory])
  }
}

function mount(directory: string) {
  const command = ['-t', 'tmpfs', '-o', 'size=300m', 'tmpfs', directory]
  const { status, stderr } = spawnSync('mount', command, { encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`A full disk needs a small filesystem. As root: mount ${command.join(' ')}\n${stderr}`)
}

const freeBytes = (directory: string) => {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

function fillDisk(directory: string, ballast: string, remainingBytes = 0) {
  try {
    for (;;) {
      const more = Math.min(mebibyte, freeBytes(directory) - remainingBytes)
      if (more <= 0) return
      appendFileSync(ballast, Buffer.alloc(more))
    }
  } catch (error) {
    // The write of the ballast failed, because another process used the remaining space.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/** Leaves less space than a WAL segment and starts new segments, until PostgreSQL stops. */
async function exhaustWal(directory: string, ballast: string, connection: { host: string }) {
  fillDisk(directory, ballast, 6 * mebibyte)
  const sql = connect(connection, { max: 1 })
  const isStopped = async () => (await connectEmbeddedPostgres(join(directory, 'postgres'))) === undefined
  for (let tries = 0; !(await isStopped()); tries++) {
    assert.ok(tries < 200, 'PostgreSQL still runs without space for its WAL')
    await sql`select pg_switch_wal()`.catch(() => {})
    await sleep(50)
  }
  await sql.end({ timeout: 0 })
}

/**
 * Asserts that a small write either succeeds, in space that PostgreSQL has already allocated, or is answered with 503, but never with 500.
 */
async function assertWriteOr503(ask: (operation: string, body: object) => Promise<{ status: number; text: string }>) {
  const { status, text } = await ask('POST /api/v1/applications', {
    name: `app-${performance.now()}`.replace('.', '-'),
  })
  assert.ok(status === 201 || status === 503, `${status} ${text}`)
}

async function recoverySeconds(fleet: Fleet) {
  const began = performance.now()
  await fleet.waitForAcknowledgements()
  return (performance.now() - began) / 1000
}

export interface SlowDiskReport extends FleetReport {
  /** Milliseconds that the commit of one row takes without the fault. */
  usualCommitMs: number
  slowCommitMs: number
  acknowledgedPerSecond: number
  slowestRecoverySeconds: number
}

/**
 * Runs the platform on a slow disk: each WAL flush takes 100 ms longer (`commit_delay` with `commit_siblings = 0`), and PostgreSQL is
 * suspended several times (SIGSTOP), once for longer than the time-out of writes.
 */
export async function slowDisk({ directory }: { directory: string }): Promise<SlowDiskReport> {
  const { database, platform } = await startPlatformWithDatabase(directory)
  const ask = await platform.asService(platform.bootstrap.default)
  const sql = connect(database.administration(), { max: 1 })
  await sql`create table public.slow (n integer)`
  const commitMs = async () => {
    const took: number[] = []
    for (let n = 0; n < 11; n++) {
      const began = performance.now()
      await sql`insert into public.slow values (${n})`
      took.push(performance.now() - began)
    }
    return took.toSorted((a, b) => a - b)[5]!
  }
  const usualCommitMs = await commitMs()
  await sql`alter system set commit_delay = 100000`
  await sql`alter system set commit_siblings = 0`
  await sql`select pg_reload_conf()`
  await sleep(500)
  const slowCommitMs = await commitMs()
  assert.ok(slowCommitMs >= 100, `the commit must take at least 100 ms, and it took ${slowCommitMs} ms`)
  const fleet = await startFleet({ ask, mqttUrl: platform.mqttUrl, httpUrl: platform.baseUrl, ...load })
  await fleet.waitForAcknowledgements()
  const before = fleet.acknowledged()
  await sleep(8000)
  const acknowledgedPerSecond = (fleet.acknowledged() - before) / 8
  let slowestRecoverySeconds = 0
  // PostgreSQL is suspended for 40 s, which is longer than the time-out of a write (30 s).
  for (const seconds of [1, 3, 5, 40]) {
    database.signal('SIGSTOP')
    await sleep(seconds * 1000)
    database.signal('SIGCONT')
    slowestRecoverySeconds = Math.max(slowestRecoverySeconds, await recoverySeconds(fleet))
    await sleep(1000)
  }
  await fleet.finish()
  const report = await fleet.verify(database.connection(), await platform.asService(platform.bootstrap.default))
  await sql.end()
  assert.equal(await platform.kill('SIGTERM'), 0)
  await database.stop()
  return { ...report, usualCommitMs, slowCommitMs, acknowledgedPerSecond, slowestRecoverySeconds }
}
