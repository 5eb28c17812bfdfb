/**
 * Kills one of two nodes with SIGKILL at random moments while both nodes publish and deliver events. Asserts that each event of a committed
 * transaction was delivered once, that the events of each key were delivered in order, and that the surviving node received each event,
 * or a reset as the notice that events may have been lost.
 */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { type ConnectionOptions, connect, type Pool } from '../../src/kernel/db.ts'
import { eventually } from '../harness/eventually.ts'
import { environmentOfWorker } from '../harness/processes.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import type { WorkerReport, WorkerTask } from './events-shared.ts'

const program = resolve(import.meta.dirname, 'events-worker.ts')

export interface EventsReport {
  rounds: number
  published: number
  /** Events whose publishing node was killed before the delivery, so that the other node delivered them. */
  deliveredByOthers: number
}

interface Worker {
  name: string
  child: ChildProcess
  received: Set<string>
  resets: number
  started: boolean
  settled: boolean
  closed: Promise<void>
}

function startWorker(connection: ConnectionOptions, name: string): Worker {
  const argument: WorkerTask = { connection, name }
  const child = spawn(process.execPath, [program, JSON.stringify(argument)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: environmentOfWorker(),
  })
  const closed = new Promise<void>((done) => child.on('close', () => done()))
  const worker: Worker = { name, child, received: new Set(), resets: 0, started: false, settled: false, closed }
  child.on('message', (message: WorkerReport) => {
    if ('events' in message) for (const event of message.events) worker.received.add(event)
    else if ('reset' in message) worker.resets++
    else if ('started' in message) worker.started = true
    else worker.settled = true
  })
  return worker
}

const runs = ({ child }: Worker) => child.exitCode === null && child.signalCode === null

async function waitUntil(worker: Worker, description: string, holds: () => boolean) {
  await eventually(
    () => {
      assert.ok(runs(worker), `${worker.name} ended before it ${description}`)
      assert.ok(holds(), `${worker.name} has not ${description}`)
    },
    { withinMs: 60_000 },
  )
}

export async function eventRounds(options: {
  rounds: number
  seed: number
  connection: ConnectionOptions
}): Promise<EventsReport> {
  const { connection, rounds } = options
  const random = seededRandom(options.seed)
  const pool = connect(connection, { max: 2 })
  await pool.unsafe(`
    create schema faults;
    create table faults.keys (key text primary key, n int not null);
    create table faults.published (key text, n int, by text);
    create table faults.delivered (at bigint generated always as identity, key text, n int, by text)`)
  let workers = [startWorker(connection, 'a0'), startWorker(connection, 'b0')]
  try {
    for (const worker of workers) await waitUntil(worker, 'started', () => worker.started)
    for (let round = 1; round <= rounds; round++) {
      await sleep(100 + random() * 500)
      const index = random() < 0.5 ? 0 : 1
      const [victim, survivor] = [workers[index]!, workers[1 - index]!]
      victim.child.kill('SIGKILL')
      await victim.closed
      await assertSurvivorNotified(pool, victim, survivor)
      const next = startWorker(connection, `${'ab'[index]}${round}`)
      workers = workers.with(index, next)
      await waitUntil(next, 'started', () => next.started)
    }
    for (const { child } of workers) child.send('stop')
    for (const worker of workers) await waitUntil(worker, 'settled', () => worker.settled)
    return { rounds, ...(await assertDeliveredOnce(pool)) }
  } finally {
    for (const { child } of workers) child.kill('SIGKILL')
    await Promise.all(workers.map(({ closed }) => closed))
    await pool.end()
  }
}

/**
 * Asserts that the surviving node received all committed events of the killed node, including events that the killed node committed but
 * did not send. A node that got a reset is not checked, because it may have lost events.
 */
async function assertSurvivorNotified(pool: Pool, victim: Worker, survivor: Worker) {
  const rows = await pool<{ key: string; n: number }[]>`
    select key, n from faults.published where by = ${victim.name}`
  await eventually(
    () => {
      if (survivor.resets > 0) return
      const missing = rows.filter(({ key, n }) => !survivor.received.has(`${key} ${n}`))
      assert.equal(missing.length, 0, `${survivor.name} did not receive ${missing.length} events of ${victim.name}`)
    },
    { withinMs: 15_000 },
  )
}

async function assertDeliveredOnce(pool: Pool) {
  const published = await pool<{ key: string; n: number; by: string }[]>`
    select key, n, by from faults.published order by key, n`
  const delivered = await pool<{ key: string; n: number; by: string }[]>`
    select key, n, by from faults.delivered order by key, at`
  const plain = ({ key, n }: { key: string; n: number }) => `${key} ${n}`
  assert.deepEqual(
    delivered.map(plain),
    published.map(plain),
    'each event must be delivered once, and the events of a key in the order of their numbers',
  )
  const [remaining] = await pool<{ events: number; heads: number }[]>`
    select (select count(*)::int from kernel.outbox) as events, (select count(*)::int from kernel.outbox_heads) as heads`
  assert.deepEqual({ ...remaining }, { events: 0, heads: 0 })
  const deliveredBy = new Map(delivered.map((event) => [plain(event), event.by]))
  const deliveredByOthers = published.filter((event) => deliveredBy.get(plain(event)) !== event.by).length
  return { published: published.length, deliveredByOthers }
}
