/** Nodes of the kernel alone, several of them in one process over one database. */
import type { TestContext } from 'node:test'
import { createBus } from '../../src/kernel/bus.ts'
import type { Db } from '../../src/kernel/db.ts'
import { type ConnectionOptions, connect, createDb } from '../../src/kernel/db.ts'
import { createLog } from '../../src/kernel/log.ts'
import { createMembers, type usualTiming } from '../../src/kernel/members.ts'
import { createMetrics } from '../../src/kernel/metrics.ts'
import { createAssembler, openFrame } from '../../src/kernel/signals/frames.ts'
import { createSignals, postgresTransport, type Transport } from '../../src/kernel/signals.ts'
import { atTheEnd, kernelMigrated, preparedDatabase } from './database.ts'

const stops = new Map<ConnectionOptions, (() => Promise<void>)[]>()

/** A database with the kernel's tables; nodes on it stop with the test. */
export async function kernelDatabase(
  test: TestContext,
  make = () => preparedDatabase('kernel', kernelMigrated),
): Promise<ConnectionOptions> {
  const connection = await make()
  stops.set(connection, [])
  test.after(async () => {
    for (const stop of stops.get(connection)!) await stop()
  })
  return connection
}

export async function aNode(
  connection: ConnectionOptions,
  options: {
    connections?: number
    workers?: number
    transport?: (db: Db) => Transport
    level?: string
    timing?: typeof usualTiming
  } = {},
) {
  const db = createDb(connection, { max: options.connections ?? 4 })
  const log = await createLog({ level: options.level ?? 'silent', format: 'json' })
  const metrics = createMetrics()
  const { timing } = options
  const members = createMembers({ db, version: 'test', log, metrics, ...(timing && { timing }) })
  const signals = createSignals({ db, members, transport: (options.transport ?? postgresTransport)(db), log, metrics })
  const bus = createBus({ db, signals, nodeId: members.nodeId, log, metrics, workers: options.workers ?? 2 })
  let open = true
  const stop = async () => {
    if (!open) return
    open = false
    await bus.stop()
    await db.close()
  }
  stops.get(connection)!.push(stop)
  return {
    db,
    log,
    metrics,
    members,
    signals,
    bus,
    nodeId: members.nodeId,
    stop,
    start: () => bus.start({ workers: true }),
  }
}

export type TestNode = Awaited<ReturnType<typeof aNode>>

/** Events that nodes send each other, as anybody with access to the database can read them. */
export async function overheardEvents(connection: ConnectionOptions) {
  // biome-ignore lint/suspicious/noExplicitAny: payloads of every event
  const events: { event: string; payload: any }[] = []
  const pool = connect(connection, { max: 1 })
  const [row] = await pool<{ key: Uint8Array }[]>`select key from kernel.signal_key`
  const assembler = createAssembler()
  await pool.listen('waypost_all', (text) => {
    const frame = openFrame(Buffer.from(row!.key), 'all', text)
    for (const { topic, payload } of (frame && assembler.add('all', frame)) ?? []) {
      if (topic !== 'kernel.event') continue
      const { event, payloads } = payload as { event: string; payloads: unknown[] }
      events.push(...payloads.map((one) => ({ event, payload: one })))
    }
  })
  atTheEnd(() => pool.end())
  return events
}
