/** A node with the kernel only: members, signals and event bus, without services. */
import { createBus } from '../../src/kernel/bus.ts'
import { type ConnectionOptions, createDb, type Db } from '../../src/kernel/db.ts'
import { createLog } from '../../src/kernel/log.ts'
import { createMembers, type defaultTiming } from '../../src/kernel/members.ts'
import { createMetrics } from '../../src/kernel/metrics.ts'
import { createSignals, type defaultJoinTimes, postgresTransport, type Transport } from '../../src/kernel/signals.ts'

export interface NodeOptions {
  connections?: number
  workers?: number
  transport?: (db: Db) => Transport
  level?: string
  timing?: typeof defaultTiming
  joining?: typeof defaultJoinTimes
}

export async function openNode(connection: ConnectionOptions, options: NodeOptions = {}) {
  const db = createDb(connection, { max: options.connections ?? 4 })
  const log = await createLog({ level: options.level ?? 'silent', format: 'json' })
  const metrics = createMetrics()
  const { timing, joining, transport = postgresTransport } = options
  const members = createMembers({ db, version: 'test', log, metrics, ...(timing && { timing }) })
  const signals = createSignals({
    db,
    members,
    transport: transport(db),
    log,
    metrics,
    ...(joining && { joining }),
  })
  const { nodeId } = members
  const bus = createBus({ db, signals, nodeId, log, metrics, workers: options.workers ?? 2 })
  let open = true
  const stop = async () => {
    if (!open) return
    open = false
    await bus.stop()
    await db.close()
  }
  return { db, log, metrics, members, signals, bus, nodeId, stop, start: () => bus.start({ workers: true }) }
}
